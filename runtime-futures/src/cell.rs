//! What a call's handles and the owner of its connection share: a mailbox each way under one short lock.
//!
//! Handles never see the connection, and no foreign code runs under this lock. A handle that changed something marks
//! the cell; a marked cell is in the command queue exactly once, and the owner serves it.

use crate::{
    fifo::Fifo,
    queue::{Command, Queue},
};
use pintle_core::{
    Call, Code, Message, Metadata, Payload, Recv, SendError, Shape, Status, Timestamp,
    codec::{self, Codec},
    grpc::Origin,
};
use pintle_net::Peer;
use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Octets of messages that a call may have on their way to the connection. One message is always taken.
const SEND_PERMIT: usize = 64 << 10;
/// Octets of received messages that the owner puts into a mailbox ahead of the reader.
const PREFETCH: usize = 64 << 10;
/// What a waiting message costs beside its octets: empty ones take memory too.
const COST: usize = 64;
/// Messages up to this size are copied once more rather than linked.
const COPY: usize = 4 << 10;
/// Octets of memory that a cell keeps for its replies.
const KEEP: usize = 512;
/// The slot of a call that its owner has not started yet.
const NO_SLOT: u32 = u32::MAX;

/// See the module's head.
pub struct CallCell {
    state: Mutex<State>,
    request: Option<Request>,
}

/// Server: what a handler is told of its request. It is here, because what moves with the handler is copied again and again.
pub struct Request {
    /// `/package.Service/Method`.
    pub method: &'static str,
    /// Its metadata.
    pub metadata: Metadata,
    /// When the call ends with DEADLINE_EXCEEDED.
    pub deadline: Option<Timestamp>,
    /// The client.
    pub peer: Arc<Peer>,
}

struct State {
    side: Side,
    queue: Arc<Queue>,
    /// Where the owner keeps this call.
    slot: u32,
    /// In the command queue, or about to be looked at by the owner.
    dirty: bool,

    /// Messages for the peer, and what they [`weigh`]: the permit that is in use.
    outbox: Fifo<Payload>,
    queued: usize,
    /// Server: the one reply of a call, if it is small and there; its memory serves later calls.
    reply: Vec<u8>,
    replied: bool,
    closing: Closing,
    /// Client: nobody wants this call any more.
    abandoned: bool,

    /// Messages from the peer, and what they [`weigh`].
    inbox: Fifo<Message>,
    inbox_weight: usize,
    /// The owner stopped filling the inbox because it was full.
    stalled: bool,
    /// The peer sends no more messages than those in the inbox.
    input_ended: bool,
    /// Client: the reader wants the outcome, not single messages.
    whole: bool,
    /// Server: the handler runs in a task of its own and has not come to its first rest.
    runnable: bool,
    /// Server: the handler reads the request as a stream.
    streams: bool,
    /// Server: the owner answered past the cell, or with no more than its one reply: it is as it was made, unless it is not plain.
    unused: bool,
    /// Client: the response's head, once it was seen.
    head: Option<Metadata>,
    /// The call is over. Client: its outcome. Server: why the handler should stop.
    over: Option<Status>,
    /// Client: the trailing metadata of the outcome.
    trailers: Metadata,

    sender: Option<Waker>,
    reader: Option<Waker>,
    handler: Option<Waker>,
    extra: Option<Box<Extra>>,
}

/// Which side of the call an end belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// How the sending half shall end, after the outbox.
#[derive(Default)]
enum Closing {
    #[default]
    Open,
    /// Client: END_STREAM.
    Half,
    /// Server: the handler is gone and this is its status.
    Finish(Status),
    /// The owner has done it.
    Done,
}

/// What few calls need.
#[derive(Default)]
pub struct Extra {
    /// Server: the response's initial metadata.
    pub headers: Metadata,
    /// Server: send it now.
    pub flush_headers: bool,
    /// Server: the response's trailing metadata.
    pub trailers: Metadata,
    /// Values that the application keeps with the call.
    pub extensions: Vec<Arc<dyn Any + Send + Sync>>,
    headers_sent: bool,
    listeners: Vec<Waker>,
    start: Option<Start>,
}

/// Client: the head of a call that has not started.
pub(crate) struct Start {
    pub(crate) path: &'static str,
    pub(crate) shape: Shape,
    pub(crate) metadata: Metadata,
    pub(crate) deadline: Option<Timestamp>,
}

/// How far [`CallCell::serve`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// The call goes on.
    Running,
    /// Server: the call is over for a reason of ours; its handler must stop.
    Stopped,
    /// The connection has given up the call's slot.
    Finished,
}

/// For the owner.
impl CallCell {
    /// Server: the cell of a call in `slot`. `streams`: its handler reads the request as a stream.
    #[must_use]
    pub fn accepted(queue: &Arc<Queue>, slot: u32, streams: bool, request: Request) -> Arc<Self> {
        let state = State { slot, streams, input_ended: !streams, ..State::new(Side::Server, Arc::clone(queue)) };
        Arc::new(Self { state: Mutex::new(state), request: Some(request) })
    }

    /// Server: makes a cell that nobody else holds as new, keeping its memory and its slot.
    /// What it says of the request is the caller's to set. `None`: somebody holds it.
    #[inline]
    pub fn recycle(cell: &mut Arc<Self>, streams: bool) -> Option<&mut Request> {
        let cell = Arc::get_mut(cell)?;
        let state = cell.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        (state.streams, state.input_ended) = (streams, !streams);
        if std::mem::take(&mut state.unused) && state.is_plain() {
            return cell.request.as_mut();
        }
        state.renew();
        cell.request.as_mut()
    }

    /// Does whatever the cell and the connection allow now.
    pub fn serve(&self, mut call: Call<'_>) -> Served {
        let mut state = self.lock();
        state.dirty = false;
        if state.replied && matches!(&state.closing, Closing::Finish(status) if status.is_ok()) {
            state.closing = Closing::Open;
            call.reply_with(state.reply.len(), |out| out.extend_from_slice(&state.reply));
            (state.replied, state.unused) = (false, !state.streams && state.handler.is_none());
            if state.reply.capacity() > KEEP {
                state.reply = Vec::new();
            }
            return Served::Finished;
        }
        if state.abandoned {
            call.cancel();
            drop(state);
            self.end(local(Code::Cancelled, "cancelled by the caller"), Metadata::new());
            return Served::Finished;
        }
        if let Err(refused) = state.push_out(&mut call) {
            let served = match (state.side, &state.closing) {
                (Side::Client, _) => {
                    call.cancel();
                    Served::Finished
                }
                // It was the handler's last message.
                (Side::Server, Closing::Finish(_)) => {
                    call.finish(&refused, None);
                    Served::Finished
                }
                (Side::Server, _) => Served::Stopped,
            };
            drop(state);
            self.end(refused, Metadata::new());
            return served;
        }
        match std::mem::take(&mut state.closing) {
            Closing::Finish(status) if state.outbox.is_empty() => {
                call.finish(&status, state.extra.as_ref().map(|extra| &extra.trailers));
                return Served::Finished;
            }
            Closing::Half if state.outbox.is_empty() => {
                state.closing = Closing::Done;
                // A call that has ended needs no closing.
                let _ = call.close_send();
            }
            later => state.closing = later,
        }
        state.pull(&mut call, PREFETCH);
        if state.side == Side::Client
            && state.input_ended
            && let Some(outcome) = call.take_outcome()
        {
            drop(state);
            self.end(outcome.status, outcome.trailers);
            return Served::Finished;
        }
        let sender = if state.queued < SEND_PERMIT { state.sender.take() } else { None };
        let reader = if state.whole { None } else { state.reader.take() };
        drop(state);
        sender.into_iter().chain(reader).for_each(Waker::wake);
        Served::Running
    }

    /// The call is over; handles see `status`. What waits to go out is dropped.
    pub fn end(&self, status: Status, trailers: Metadata) {
        let mut state = self.lock();
        if state.over.is_some() {
            return;
        }
        // Who gets an error gets only that: the metadata is in it.
        let bare = status.is_ok() || trailers.is_empty();
        state.over = Some(if bare { status } else { status.with_metadata(trailers.clone()) });
        state.trailers = trailers;
        state.outbox.clear();
        state.queued = 0;
        let listeners = state.extra.as_mut().map(|extra| std::mem::take(&mut extra.listeners)).unwrap_or_default();
        let wakers = [state.sender.take(), state.reader.take(), state.handler.take()];
        drop(state);
        wakers.into_iter().flatten().chain(listeners).for_each(Waker::wake);
    }

    /// Client: the connection is gone. What it still has of this call is taken, its outcome included, however slow the
    /// reader is; a call without an outcome ends with `status`.
    pub(crate) fn bequeath(&self, mut call: Call<'_>, status: &Status) {
        let mut state = self.lock();
        state.pull(&mut call, usize::MAX);
        drop(state);
        match call.take_outcome() {
            Some(outcome) => self.end(outcome.status, outcome.trailers),
            None => self.end(status.clone(), Metadata::new()),
        }
    }

    /// Client: the response's head is here.
    pub(crate) fn head(&self, metadata: Metadata) {
        let mut state = self.lock();
        state.head = Some(metadata);
        let reader = if state.whole { None } else { state.reader.take() };
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    /// Client: starts the call by `start`, which answers its slot. Not if nobody waits for it any more.
    pub(crate) fn start<T, E>(&self, start: impl FnOnce(&Start) -> Result<(u32, T), E>) -> Option<Result<T, E>> {
        let mut state = self.lock();
        if state.abandoned || state.over.is_some() {
            return None;
        }
        let started = start(state.extra.as_ref()?.start.as_ref()?);
        Some(started.map(|(slot, value)| {
            state.extra = None;
            state.slot = slot;
            value
        }))
    }

    /// Client: another connection shall start the call.
    pub(crate) fn move_to(&self, queue: &Arc<Queue>) {
        self.lock().queue = Arc::clone(queue);
    }

    /// Client: whether somebody still waits for a call that has not started, and until when.
    pub(crate) fn waits(&self) -> (bool, Option<Timestamp>) {
        let state = self.lock();
        let start = state.extra.as_ref().and_then(|extra| extra.start.as_ref());
        (!state.abandoned && state.over.is_none(), start.and_then(|start| start.deadline))
    }
}

/// For handlers and what surrounds them.
impl CallCell {
    /// A handler was made runnable in a task of its own: the owner waits a turn for what it says.
    #[inline]
    pub fn handler_started(&self) {
        let mut state = self.lock();
        state.runnable = true;
        state.queue.handler_started();
    }

    /// The handler is gone; its last message, if any, and its status go out.
    pub fn end_handler(&self, result: Result<Option<Payload>, Status>) {
        let mut state = self.lock();
        let status = match result {
            Ok(message) => {
                let small = (state.replied && !state.is_plain()).then(|| Payload::from(std::mem::take(&mut state.reply)));
                if small.is_some() {
                    state.replied = false;
                }
                if let Some(message) = small.or(message).filter(|_| state.over.is_none()) {
                    state.queued += weigh(message.len());
                    state.outbox.push(message);
                }
                Status::ok()
            }
            Err(status) => status,
        };
        state.closing = Closing::Finish(status);
        state.handler_rested();
        mark(state);
    }

    /// Encodes the handler's one message. A small one waits in here for the handler's [end](Self::end_handler), another is given back for it.
    #[must_use]
    pub fn encode_reply<C: Codec>(&self, item: &C::Item) -> Option<Payload> {
        let len = C::encoded_len(item);
        if len >= COPY {
            return Some(codec::to_payload::<C>(item));
        }
        // Not under the lock: it is foreign code.
        let mut octets = std::mem::take(&mut self.lock().reply);
        octets.clear();
        C::encode_flat(item, &mut octets);
        let mut state = self.lock();
        (state.reply, state.replied) = (octets, true);
        None
    }

    /// Server: what is known of the request.
    ///
    /// # Panics
    /// On a client's.
    #[must_use]
    pub fn request(&self) -> &Request {
        self.request.as_ref().expect("a server's cell has it")
    }

    /// The status to stop with, else wakes the handler's task when there is one.
    pub fn poll_stop(&self, cx: &mut Context<'_>) -> Poll<Status> {
        let mut state = self.lock();
        state.handler_rested();
        match &state.over {
            Some(status) => Poll::Ready(status.clone()),
            None => {
                store(&mut state.handler, cx.waker());
                Poll::Pending
            }
        }
    }

    /// Anybody: ready when the call is over.
    pub fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.over.is_some() {
            return Poll::Ready(());
        }
        let listeners = &mut state.extra.get_or_insert_default().listeners;
        if !listeners.iter().any(|known| known.will_wake(cx.waker())) {
            listeners.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Why the call is over, if it is.
    #[must_use]
    pub fn over(&self) -> Option<Status> {
        self.lock().over.clone()
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().over.is_some()
    }

    /// Neither over nor with anything but a message to send: if so, the owner answers the call past its cell.
    #[must_use]
    #[inline]
    pub fn answers_plainly(&self) -> bool {
        let mut state = self.lock();
        state.unused = !state.streams;
        state.is_plain()
    }

    /// Looks at or changes what few calls need. `change` runs under the lock and must not call foreign code.
    pub fn extra<T>(&self, change: impl FnOnce(&mut Extra) -> T) -> T {
        let mut state = self.lock();
        let extra = state.extra.get_or_insert_default();
        let value = change(extra);
        if extra.flush_headers && !extra.headers_sent {
            mark(state);
        }
        value
    }

    /// The queue of the call's connection.
    #[must_use]
    pub fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.lock().queue)
    }
}

/// For handles.
impl CallCell {
    /// Client: a call to be started, with its one message or with none yet. It counts as marked until it has a slot.
    pub(crate) fn starting(queue: Arc<Queue>, start: Start, request: Option<Payload>) -> Arc<Self> {
        let mut state = State { dirty: true, ..State::new(Side::Client, queue) };
        state.whole = matches!(start.shape, Shape::Unary | Shape::ClientStreaming);
        state.extra = Some(Box::new(Extra { start: Some(start), ..Extra::default() }));
        if let Some(request) = request {
            state.queued = weigh(request.len());
            state.outbox.push(request);
            state.closing = Closing::Half;
        }
        Arc::new(Self { state: Mutex::new(state), request: None })
    }

    /// Puts `message` on its way once the permit allows, and takes it out of the option then.
    pub(crate) fn poll_send(&self, message: &mut Option<Payload>, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        let mut state = self.lock();
        if let Some(status) = &state.over {
            return Poll::Ready(Err(match status.code() {
                Code::Ok => local(Code::Cancelled, "the peer ended the call and takes no more messages"),
                _ => status.clone(),
            }));
        }
        let weight = weigh(message.as_ref().map_or(0, Payload::len));
        if state.queued > 0 && state.queued + weight > SEND_PERMIT {
            store(&mut state.sender, cx.waker());
            return Poll::Pending;
        }
        if let Some(message) = message.take() {
            state.queued += weight;
            state.outbox.push(message);
            mark(state);
        }
        Poll::Ready(Ok(()))
    }

    /// Client: no more messages follow.
    pub(crate) fn close_send(&self) {
        let mut state = self.lock();
        if state.side == Side::Client && matches!(state.closing, Closing::Open) {
            state.closing = Closing::Half;
            mark(state);
        }
    }

    /// Client: nobody waits for this call any more; RST_STREAM(CANCEL) follows if it still runs.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        if state.side == Side::Client && state.over.is_none() {
            state.abandoned = true;
            mark(state);
        }
    }

    /// The next message; `None` after the last.
    pub(crate) fn poll_message(&self, cx: &mut Context<'_>) -> Poll<Result<Option<Message>, Status>> {
        let mut state = self.lock();
        if let Some(message) = state.inbox.pop() {
            state.inbox_weight -= weigh(message.payload.len());
            if state.stalled && state.inbox_weight < PREFETCH / 2 {
                state.stalled = false;
                mark(state);
            }
            return Poll::Ready(Ok(Some(message)));
        }
        match &state.over {
            Some(status) if !status.is_ok() => return Poll::Ready(Err(status.clone())),
            None if !state.input_ended => {}
            _ => return Poll::Ready(Ok(None)),
        }
        store(&mut state.reader, cx.waker());
        Poll::Pending
    }

    /// Client: the response's head (empty if the call ended without). Server: empty.
    pub(crate) fn poll_head(&self, cx: &mut Context<'_>) -> Poll<Metadata> {
        let mut state = self.lock();
        if state.head.is_none() && state.over.is_none() && state.side == Side::Client {
            store(&mut state.reader, cx.waker());
            return Poll::Pending;
        }
        Poll::Ready(state.head.clone().unwrap_or_default())
    }

    /// Client: the trailing metadata, once the call is over.
    pub(crate) fn take_trailers(&self) -> Option<Metadata> {
        let mut state = self.lock();
        state.over.is_some().then(|| std::mem::take(&mut state.trailers))
    }

    /// Client: the one message of a call that is over, between its head and its trailers.
    pub(crate) fn poll_response(&self, cx: &mut Context<'_>) -> Poll<Result<(Message, Metadata, Metadata), Status>> {
        let mut state = self.lock();
        match &state.over {
            None => {
                store(&mut state.reader, cx.waker());
                return Poll::Pending;
            }
            Some(status) if !status.is_ok() => return Poll::Ready(Err(status.clone())),
            Some(_) => {}
        }
        let message = state.inbox.pop().ok_or_else(|| Status::internal("the call ended with OK and without a message"))?;
        Poll::Ready(Ok((message, state.head.take().unwrap_or_default(), std::mem::take(&mut state.trailers))))
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock runs foreign code, so a poisoned one is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(side: Side, queue: Arc<Queue>) -> Self {
        Self {
            side,
            queue,
            slot: NO_SLOT,
            dirty: false,
            outbox: Fifo::default(),
            queued: 0,
            reply: Vec::new(),
            replied: false,
            closing: Closing::Open,
            abandoned: false,
            inbox: Fifo::default(),
            inbox_weight: 0,
            stalled: false,
            input_ended: false,
            whole: false,
            runnable: false,
            streams: false,
            unused: false,
            head: None,
            over: None,
            trailers: Metadata::new(),
            sender: None,
            reader: None,
            handler: None,
            extra: None,
        }
    }

    /// As it was made, with the memory it has.
    fn renew(&mut self) {
        // Field by field, because most are as they were made.
        self.outbox.clear();
        self.inbox.clear();
        self.trailers.clear();
        (self.dirty, self.abandoned, self.stalled) = (false, false, false);
        (self.queued, self.inbox_weight, self.replied) = (0, 0, false);
        self.closing = Closing::Open;
        (self.over, self.head, self.extra) = (None, None, None);
        (self.sender, self.reader, self.handler) = (None, None, None);
    }

    /// The first poll is over: the connection need not wait for this handler any more.
    fn handler_rested(&mut self) {
        if std::mem::take(&mut self.runnable) {
            self.queue.handler_rested();
        }
    }

    fn is_plain(&self) -> bool {
        self.extra.is_none() && self.over.is_none()
    }

    /// Moves headers and messages to the connection, as far as it takes them. `Err`: a message can never be sent.
    fn push_out(&mut self, call: &mut Call<'_>) -> Result<(), Status> {
        let ending = !self.outbox.is_empty() || matches!(self.closing, Closing::Finish(_));
        if let Some(extra) = &mut self.extra
            && !extra.headers_sent
            && (extra.flush_headers || ending)
        {
            extra.headers_sent = true;
            // The call may have ended meanwhile; keys and values were checked when they were added.
            let _ = call.send_headers(&extra.headers, extra.flush_headers);
        }
        while let Some(message) = self.outbox.pop() {
            let weight = weigh(message.len());
            match send(call, message) {
                Ok(()) => self.queued -= weight,
                Err(SendError::Blocked(message)) => {
                    self.outbox.put_back(message);
                    return Ok(());
                }
                Err(SendError::Refused(_, misuse)) => return Err(local(Code::ResourceExhausted, misuse.0)),
                Err(_) => {
                    // The call is over, which the owner will learn from the connection.
                    self.outbox.clear();
                    self.queued = 0;
                }
            }
        }
        Ok(())
    }

    /// Moves messages from the connection to the mailbox, until those weigh `limit`.
    fn pull(&mut self, call: &mut Call<'_>, limit: usize) {
        while !self.input_ended {
            if self.inbox_weight >= limit && !self.whole {
                self.stalled = true;
                return;
            }
            match call.recv() {
                Recv::Message(message) => {
                    self.inbox_weight += weigh(message.payload.len());
                    self.inbox.push(message);
                }
                Recv::Pending => return,
                Recv::End => self.input_ended = true,
            }
        }
    }
}

/// What a message of so many octets counts in a mailbox.
fn weigh(octets: usize) -> usize {
    octets + COST
}

/// Small messages are copied into the connection's own segment, where a reply is framed in one go with its head and trailers.
fn send(call: &mut Call<'_>, message: Payload) -> Result<(), SendError<Payload>> {
    if message.len() > COPY {
        return call.send(message);
    }
    let copied = call.send_with(message.len(), |out| message.segments().for_each(|run| out.extend_from_slice(run)));
    copied.map_err(|error| match error {
        SendError::Blocked(()) => SendError::Blocked(message),
        SendError::Refused((), misuse) => SendError::Refused(message, misuse),
        _ => SendError::Ended(message),
    })
}

/// Puts the cell into the queue unless it is there. Both locks are taken in this order only; the waker runs under none.
#[inline]
fn mark(mut state: MutexGuard<'_, State>) {
    if state.dirty {
        return;
    }
    state.dirty = true;
    let owner = state.queue.push_quietly(Command::Call(state.slot));
    drop(state);
    owner.into_iter().for_each(Waker::wake);
}

fn store(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(known) if known.will_wake(waker) => {}
        _ => *place = Some(waker.clone()),
    }
}

pub(crate) fn local(code: Code, message: &str) -> Status {
    Status::new(code, message).with_origin(Origin::Local)
}

crate::opaque!(CallCell, Extra, Request);
