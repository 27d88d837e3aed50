//! What a call's handles and the owner of its connection share: a mailbox each way under one short lock.
//!
//! Handles never see the connection and the owner never runs user code under this lock. A handle that changed
//! something marks the cell; a marked cell is in the command queue exactly once.

use crate::{
    fifo::Fifo,
    queue::{Command, Queue},
};
use pintle_core::{Code, Message, Metadata, Payload, Status};
use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Octets of messages that a call may have on their way to the connection. One message is always taken.
pub(crate) const SEND_PERMIT: usize = 64 << 10;
/// Octets of received messages that the owner puts into a mailbox ahead of the reader.
pub(crate) const PREFETCH: usize = 64 << 10;

/// The slot of a call that its owner has not started yet.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// See the module's head.
pub(crate) struct CallCell {
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) queue: Arc<Queue>,
    /// Where the owner keeps this call.
    pub(crate) slot: u32,
    /// In the command queue, or about to be looked at by the owner.
    pub(crate) dirty: bool,

    /// Messages for the peer, and their octets: the permit that is in use.
    pub(crate) outbox: Fifo<Payload>,
    pub(crate) queued: usize,
    pub(crate) closing: Closing,
    /// Client: nobody wants this call any more.
    pub(crate) abandoned: bool,

    /// Messages from the peer.
    pub(crate) inbox: Fifo<Message>,
    pub(crate) inbox_octets: usize,
    /// The owner stopped filling the inbox because it was full.
    pub(crate) stalled: bool,
    /// The peer sends no more messages than those in the inbox.
    pub(crate) input_ended: bool,
    /// Client: the reader wants the outcome, not single messages.
    pub(crate) wake_at_end_only: bool,
    /// Client: the response's head was seen.
    pub(crate) head: Option<Metadata>,
    /// The call is over. Client: its outcome. Server: why the handler should stop.
    pub(crate) over: Option<Status>,
    /// Client: the trailing metadata of the outcome.
    pub(crate) trailers: Metadata,

    sender: Option<Waker>,
    reader: Option<Waker>,
    handler: Option<Waker>,
    pub(crate) extra: Option<Box<Extra>>,
}

/// How the sending half shall end, after the outbox.
#[derive(Debug, Default)]
pub(crate) enum Closing {
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
pub(crate) struct Extra {
    pub(crate) headers: Metadata,
    pub(crate) headers_sent: bool,
    pub(crate) flush_headers: bool,
    pub(crate) trailers: Metadata,
    pub(crate) extensions: Vec<Arc<dyn Any + Send + Sync>>,
    pub(crate) listeners: Vec<Waker>,
    /// Client: what `start` needs.
    pub(crate) start: Option<Start>,
}

/// Client: the head of a call that has not started.
pub(crate) struct Start {
    pub(crate) path: &'static str,
    pub(crate) shape: pintle_core::Shape,
    pub(crate) metadata: Metadata,
    pub(crate) deadline: Option<pintle_core::Timestamp>,
}

impl CallCell {
    /// Server: the cell of a call in `slot`.
    pub(crate) fn accepted(queue: &Arc<Queue>, slot: u32, input_ended: bool) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { input_ended, ..State::new(Arc::clone(queue), slot, false) }) })
    }

    /// Client: the cell of a call to be started. It counts as marked until the owner has a slot for it.
    pub(crate) fn starting(queue: Arc<Queue>, start: Start) -> State {
        let mut state = State::new(queue, NO_SLOT, true);
        state.extra = Some(Box::new(Extra { start: Some(start), ..Extra::default() }));
        state
    }

    pub(crate) fn from_state(state: State) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Owner: makes a cell that nobody else holds as new, keeping its memory. False: somebody holds it.
    pub(crate) fn recycle(cell: &mut Arc<Self>, slot: u32, input_ended: bool) -> bool {
        let Some(cell) = Arc::get_mut(cell) else { return false };
        let state = cell.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.reset(slot, input_ended);
        true
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock runs foreign code, so a poisoned one is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and tells the owner.
    pub(crate) fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        mark(state);
    }

    /// Puts `message` on its way once the permit allows, and takes it out of the option then.
    pub(crate) fn poll_send(&self, message: &mut Option<Payload>, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        let mut state = self.lock();
        if let Some(status) = &state.over {
            return Poll::Ready(Err(stopped(status)));
        }
        if !matches!(state.closing, Closing::Open) {
            return Poll::Ready(Err(Status::new(Code::Internal, "a message was sent after the sender was closed")));
        }
        let octets = message.as_ref().map_or(0, Payload::len);
        if state.queued > 0 && state.queued + octets > SEND_PERMIT {
            store(&mut state.sender, cx.waker());
            return Poll::Pending;
        }
        if let Some(message) = message.take() {
            state.queued += octets;
            state.outbox.push(message);
            mark(state);
        }
        Poll::Ready(Ok(()))
    }

    /// The next message; `None` after the last.
    pub(crate) fn poll_message(&self, cx: &mut Context<'_>) -> Poll<Result<Option<Message>, Status>> {
        let mut state = self.lock();
        if let Some(message) = state.inbox.pop() {
            state.inbox_octets -= message.payload.len();
            if state.stalled && state.inbox_octets < PREFETCH / 2 {
                state.stalled = false;
                mark(state);
            }
            return Poll::Ready(Ok(Some(message)));
        }
        match &state.over {
            Some(status) if status.code() == Code::Ok => return Poll::Ready(Ok(None)),
            Some(status) => return Poll::Ready(Err(status.clone())),
            None if state.input_ended => return Poll::Ready(Ok(None)),
            None => {}
        }
        store(&mut state.reader, cx.waker());
        Poll::Pending
    }

    /// Ready when `ready` says so, asked again whenever the owner has news for the reader.
    pub(crate) fn poll_news<T>(&self, cx: &mut Context<'_>, ready: impl FnOnce(&mut State) -> Option<T>) -> Poll<T> {
        let mut state = self.lock();
        match ready(&mut state) {
            Some(value) => Poll::Ready(value),
            None => {
                store(&mut state.reader, cx.waker());
                Poll::Pending
            }
        }
    }

    /// Handler's task: the status to stop with, else wakes the task when there is one.
    pub(crate) fn poll_stop(&self, cx: &mut Context<'_>) -> Poll<Status> {
        let mut state = self.lock();
        match &state.over {
            Some(status) => Poll::Ready(status.clone()),
            None => {
                store(&mut state.handler, cx.waker());
                Poll::Pending
            }
        }
    }

    /// Anybody: ready when the call is over.
    pub(crate) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.over.is_some() {
            return Poll::Ready(());
        }
        let listeners = &mut state.extra().listeners;
        if !listeners.iter().any(|known| known.will_wake(cx.waker())) {
            listeners.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Owner: the call is over; handles see `status`. What waits to go out is dropped.
    pub(crate) fn end(&self, status: Status, trailers: Metadata) {
        let mut state = self.lock();
        if state.over.is_some() {
            return;
        }
        state.over = Some(status);
        state.trailers = trailers;
        state.outbox.clear();
        state.queued = 0;
        let listeners = state.extra.as_mut().map(|extra| std::mem::take(&mut extra.listeners)).unwrap_or_default();
        let wakers = [state.sender.take(), state.reader.take(), state.handler.take()];
        drop(state);
        wakers.into_iter().flatten().chain(listeners).for_each(Waker::wake);
    }
}

impl State {
    fn new(queue: Arc<Queue>, slot: u32, dirty: bool) -> Self {
        Self {
            queue,
            slot,
            dirty,
            outbox: Fifo::default(),
            queued: 0,
            closing: Closing::Open,
            abandoned: false,
            inbox: Fifo::default(),
            inbox_octets: 0,
            stalled: false,
            input_ended: false,
            wake_at_end_only: false,
            head: None,
            over: None,
            trailers: Metadata::new(),
            sender: None,
            reader: None,
            handler: None,
            extra: None,
        }
    }

    fn reset(&mut self, slot: u32, input_ended: bool) {
        let queue = Arc::clone(&self.queue);
        let (mut outbox, mut inbox) = (std::mem::take(&mut self.outbox), std::mem::take(&mut self.inbox));
        outbox.clear();
        inbox.clear();
        *self = Self { outbox, inbox, input_ended, ..Self::new(queue, slot, false) };
    }

    pub(crate) fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Server: the handler is gone; its last message, if any, and its status go out.
    pub(crate) fn end_handler(&mut self, result: Result<Option<Payload>, Status>) {
        let status = match result {
            Ok(None) => Status::ok(),
            Ok(Some(message)) if self.over.is_none() => {
                self.queued += message.len();
                self.outbox.push(message);
                Status::ok()
            }
            Ok(Some(_)) => Status::ok(),
            Err(status) => status,
        };
        self.closing = Closing::Finish(status);
    }

    /// Owner: a sender that waits for its permit, if there is room now.
    pub(crate) fn sender_to_wake(&mut self) -> Option<Waker> {
        if self.queued < SEND_PERMIT { self.sender.take() } else { None }
    }

    /// Owner: the reader, if what has come concerns it.
    pub(crate) fn reader_to_wake(&mut self) -> Option<Waker> {
        if self.wake_at_end_only && self.over.is_none() { None } else { self.reader.take() }
    }
}

/// Puts the cell into the queue unless it is there. Both locks are taken in this order only; the waker runs under none.
fn mark(mut state: MutexGuard<'_, State>) {
    if state.dirty {
        return;
    }
    state.dirty = true;
    let owner = state.queue.push_quietly(Command::Call(state.slot));
    drop(state);
    if let Some(owner) = owner {
        owner.wake();
    }
}

/// What a sender is told when the call ended: OK means that the peer wants nothing more.
fn stopped(status: &Status) -> Status {
    match status.code() {
        Code::Ok => Status::new(Code::Cancelled, "the peer ended the call and takes no more messages"),
        _ => status.clone(),
    }
}

fn store(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(known) if known.will_wake(waker) => {}
        _ => *place = Some(waker.clone()),
    }
}
