//! A connection of a server: its endpoint, and the driver's own state of those calls that need any.

use crate::{
    Stack,
    mailbox::Mailbox,
    outflow::{Backlog, Permit, Sent},
};
use pintle_core::{
    Call, CallId, Code, Connection, Endpoint, Message, Metadata, Payload, Recv, SendError, Status, codec, codec::Codec, http::Exchange,
};
use pintle_net::Peer;
use std::{cell::Cell, fmt, mem::ManuallyDrop, sync::Arc, time::Duration};

/// Where a connection is: its loop's mailbox, the loop's own number for it, and who is at the other end.
#[derive(Debug)]
pub struct Place {
    /// Where handles that are used elsewhere send their orders.
    pub mailbox: Arc<Mailbox<Command>>,
    /// Never used again by the loop, so that a late order does not meet another connection.
    pub key: u64,
    /// Who is at the other end.
    pub peer: Peer,
}

/// What other threads, and other connections' callbacks, ask of a loop.
#[derive(Debug)]
pub enum Command {
    /// For [`Services::execute`](super::Services::execute), if the connection still exists.
    Call {
        /// The connection's [`Place::key`].
        key: u64,
        /// What to do.
        order: Order,
    },
    /// Stop listening, drain every connection, end when all are closed, and after this time in any case.
    Drain {
        /// How long running calls may take.
        grace: Duration,
    },
}

/// Something that a handle wants done to its call.
pub struct Order {
    pub(crate) call: CallId,
    pub(crate) act: Act,
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Order({:?})", self.call)
    }
}

/// Told how a call ended that the application has not finished.
pub(crate) type OnCancel = Box<dyn FnOnce(Code) + Send>;

/// What happens to one call.
pub(crate) enum Act {
    Headers(Metadata),
    Send(Payload, Permit),
    Reply(Payload, Status),
    Finish(Status),
    Pause(bool),
    OnCancel(OnCancel),
}

/// The application's side of a call that more than one callback is for.
pub(crate) trait Sink {
    fn message(&mut self, message: Message) -> Result<(), Status>;
    fn end(&mut self);
    fn ready(&mut self);
    fn cancel(&mut self, code: Code);
}

/// A call that the driver keeps something for. Unary calls that are answered in their callback have none.
pub(crate) struct Live {
    id: CallId,
    /// `None`: nobody listens, or it is being called just now.
    sink: Option<Box<dyn Sink>>,
    paused: bool,
    /// The client's last message, or its end, was passed on.
    input_over: bool,
    /// Sent from elsewhere.
    backlog: Backlog,
    /// How it ends once the backlog is empty.
    last: Option<Status>,
    /// It ended without the application.
    ended: Option<Code>,
    on_cancel: Vec<OnCancel>,
}

/// One connection of a server.
pub struct Session {
    /// What the loop moves octets for.
    pub endpoint: Stack,
    place: Arc<Place>,
    /// By slot of the call.
    lives: Vec<Option<Box<Live>>>,
    /// Plain requests on their way.
    pub(crate) exchanges: Vec<Exchange>,
    /// Calls that take messages again.
    pub(crate) resumed: Vec<CallId>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?})", self.place)
    }
}

thread_local! {
    /// The connection whose callback this thread is in: handles that belong to it act on it directly. It is there only
    /// while the callback runs, so there is nothing to drop when the thread ends.
    static HERE: Cell<Option<ManuallyDrop<Box<Session>>>> = const { Cell::new(None) };
}

/// Runs `f` on the connection of the callback that this thread is in, if it is the one at `place`.
#[inline]
pub(crate) fn here<R>(place: &Arc<Place>, f: impl FnOnce(&mut Session) -> R) -> Option<R> {
    /// Puts it back whatever happens: `f` runs the application's encoder.
    struct Borrowed<'a>(&'a Cell<Option<ManuallyDrop<Box<Session>>>>, Option<ManuallyDrop<Box<Session>>>);
    impl Drop for Borrowed<'_> {
        fn drop(&mut self) {
            self.0.set(self.1.take());
        }
    }
    HERE.with(|cell| {
        let mut borrowed = Borrowed(cell, cell.take());
        let session = borrowed.1.as_deref_mut()?;
        Arc::ptr_eq(&session.place, place).then(|| f(session))
    })
}

/// In a call's callback: what its receiver should be told next.
#[inline]
pub(crate) fn next_here(id: CallId) -> Option<Option<Message>> {
    HERE.with(|cell| {
        let mut session = cell.take()?;
        let next = session.next_input(id, true);
        cell.set(Some(session));
        next
    })
}

/// Runs a callback with `session` as the connection that handles find here.
#[inline]
pub(crate) fn inside<R>(session: Box<Session>, callback: impl FnOnce() -> R) -> (Box<Session>, R) {
    HERE.set(Some(ManuallyDrop::new(session)));
    let result = callback();
    let session = HERE.take().expect("every borrower puts the connection back");
    (ManuallyDrop::into_inner(session), result)
}

impl Session {
    /// A connection of the loop at `place`.
    #[must_use]
    pub fn new(endpoint: Stack, place: Arc<Place>) -> Self {
        Self { endpoint, place, lives: Vec::new(), exchanges: Vec::new(), resumed: Vec::new() }
    }

    /// The connection at the heart.
    #[inline]
    pub fn core(&mut self) -> &mut Connection {
        self.endpoint.conn_mut()
    }

    pub(crate) fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// The state of a call, if it has any.
    pub(crate) fn live(&mut self, call: CallId) -> Option<&mut Live> {
        self.lives.get_mut(call.slot())?.as_deref_mut().filter(|live| live.id == call)
    }

    /// The state of a call. `None`: it is over, and another call may have its slot by now.
    fn live_or_new(&mut self, call: CallId) -> Option<&mut Live> {
        self.core().call(call).ok()?;
        let slot = call.slot();
        if self.lives.len() <= slot {
            self.lives.resize_with(slot + 1, || None);
        }
        let live = self.lives[slot].get_or_insert_with(|| Box::new(Live::new(call)));
        if live.id != call {
            **live = Live::new(call);
        }
        Some(live)
    }

    /// Forgets a call that the application has finished with.
    #[inline]
    fn forget(&mut self, call: CallId) {
        if !self.lives.is_empty() && self.live(call).is_some() {
            self.lives[call.slot()] = None;
        }
    }

    /// Gives a call its sink; the loop then delivers what has come in. `Some`: the call is over already, drop it.
    #[must_use]
    pub(crate) fn attach(&mut self, call: CallId, sink: Box<dyn Sink>) -> Option<Box<dyn Sink>> {
        match self.live_or_new(call).filter(|live| live.ended.is_none()) {
            Some(live) => live.sink.replace(sink),
            None => Some(sink),
        }
    }

    /// The sink of a call for a callback that is about to run; `give_back` afterwards.
    pub(crate) fn take_sink(&mut self, call: CallId) -> Option<Box<dyn Sink>> {
        self.live(call)?.sink.take()
    }

    /// After its callback. `Some`: drop it, the callback ended the call or attached another (a producer).
    pub(crate) fn give_back(&mut self, call: CallId, sink: Box<dyn Sink>) -> Option<Box<dyn Sink>> {
        match self.live(call).filter(|live| live.last.is_none() && live.ended.is_none() && live.sink.is_none()) {
            Some(live) => {
                live.sink = Some(sink);
                None
            }
            None => Some(sink),
        }
    }

    /// The next thing that a call's receiver should be told, if it listens: a message, or (`None`) the end of messages.
    /// `called`: it is being told something just now.
    pub(crate) fn next_input(&mut self, id: CallId, called: bool) -> Option<Option<Message>> {
        let live = self.live(id)?;
        if live.paused || live.input_over || live.sink.is_none() != called || live.last.is_some() || live.ended.is_some() {
            return None;
        }
        match self.core().call(id).ok()?.recv() {
            Recv::Message(message) => Some(Some(message)),
            Recv::Pending => None,
            Recv::End => {
                self.live(id)?.input_over = true;
                Some(None)
            }
        }
    }

    /// The one message of an answer, and its end. A call with nothing queued takes one message whatever its size.
    #[inline]
    pub(crate) fn reply(&mut self, id: CallId, status: &Status, send: impl FnOnce(&mut Call<'_>) -> Result<(), SendError<()>>) {
        let Ok(mut call) = self.core().call(id) else { return };
        match send(&mut call) {
            Err(SendError::Refused((), why)) => call.finish(&Status::resource_exhausted(why.0), None),
            // Ended by itself meanwhile: this only lets go of it.
            _ => call.finish(status, None),
        }
        self.forget(id);
    }

    /// The same with OK, at the price of one step.
    #[inline]
    pub(crate) fn answer<C: Codec>(&mut self, id: CallId, message: &C::Item) {
        if let Ok(call) = self.core().call(id) {
            codec::reply::<C>(call, message);
            self.forget(id);
        }
    }

    /// One message of many. It comes back as `Blocked` also while others, from elsewhere, wait before it.
    pub(crate) fn send<C: Codec>(&mut self, id: CallId, message: &C::Item) -> Result<(), SendError<()>> {
        if self.live(id).is_some_and(|live| !live.backlog.is_empty()) {
            return Err(SendError::Blocked(()));
        }
        let mut call = self.core().call(id).map_err(|_| SendError::Ended(()))?;
        codec::send::<C>(&mut call, message)
    }

    /// Ends a call, after what waits to be sent.
    pub(crate) fn finish(&mut self, id: CallId, status: &Status) {
        if let Some(live) = self.live(id).filter(|live| !live.backlog.is_empty() && live.ended.is_none()) {
            live.last = Some(status.clone());
            live.sink = None;
            return;
        }
        if let Ok(call) = self.core().call(id) {
            call.finish(status, None);
        }
        self.forget(id);
    }

    /// Its end is on its way through the mailbox: its receiver is told no more messages.
    pub(crate) fn stop_input(&mut self, id: CallId) {
        if let Some(live) = self.live(id) {
            live.input_over = true;
        }
    }

    /// Does what a handle asked for. `Some`: and then call this back, the call is over already.
    pub(crate) fn obey(&mut self, Order { call: id, act }: Order) -> Option<(OnCancel, Code)> {
        match act {
            Act::Headers(metadata) => {
                if let Ok(mut call) = self.core().call(id) {
                    // Too late is the application's slip, and harmless: the head is on its way.
                    let _ = call.send_headers(&metadata, true);
                }
            }
            Act::Send(payload, permit) => {
                // If the call is over, its permit ends the sender's flow.
                if let Some(live) = self.live_or_new(id) {
                    live.backlog.push(payload, Some(permit));
                    self.send_queued(id);
                }
            }
            Act::Reply(payload, status) => self.reply(id, &status, |call| call.send(payload).map_err(without_message)),
            Act::Finish(status) => self.finish(id, &status),
            Act::Pause(paused) => {
                if let Some(live) = self.live_or_new(id) {
                    live.paused = paused;
                    self.resumed.extend((!paused).then_some(id));
                }
            }
            Act::OnCancel(callback) => match self.live_or_new(id) {
                Some(Live { ended: None, on_cancel, .. }) => on_cancel.push(callback),
                Some(Live { ended: Some(code), .. }) => return Some((callback, *code)),
                None => return Some((callback, Code::Cancelled)),
            },
        }
        None
    }

    /// Hands on what was sent from elsewhere, as far as the core takes it. True: all of it.
    pub(crate) fn send_queued(&mut self, id: CallId) -> bool {
        let Some(live) = self.lives.get_mut(id.slot()).and_then(Option::as_mut).filter(|live| live.id == id) else { return true };
        let sent = live.backlog.send(self.endpoint.conn_mut(), id);
        let status = match sent {
            Sent::Blocked => return false,
            Sent::All => live.last.take(),
            Sent::Refused(why) => Some(Status::resource_exhausted(why.0)),
            Sent::Ended => None,
        };
        if !matches!(sent, Sent::All) {
            live.backlog.clear();
        }
        if let Some(status) = status {
            self.finish(id, &status);
        }
        true
    }

    /// The call ended without the application. Its state, to be told; what is left of it here only remembers how it ended.
    pub(crate) fn end(&mut self, id: CallId, code: Code) -> (Option<Box<dyn Sink>>, Vec<OnCancel>) {
        let Some(live) = self.live_or_new(id) else { return (None, Vec::new()) };
        live.ended = Some(code);
        live.backlog.clear();
        let told = (live.sink.take(), std::mem::take(&mut live.on_cancel));
        if live.last.is_some() {
            // The application had finished: nobody else will give the slot back.
            self.finish(id, &Status::ok());
        }
        told
    }
}

/// The same error without the message, which nobody wants back.
fn without_message<T>(error: SendError<T>) -> SendError<()> {
    match error {
        SendError::Blocked(_) => SendError::Blocked(()),
        SendError::Refused(_, why) => SendError::Refused((), why),
        _ => SendError::Ended(()),
    }
}

impl Live {
    fn new(id: CallId) -> Self {
        Self {
            id,
            sink: None,
            paused: false,
            input_over: false,
            backlog: Backlog::default(),
            last: None,
            ended: None,
            on_cancel: Vec::new(),
        }
    }
}
