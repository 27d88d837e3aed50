//! What a service holds of a call: [`Unary`] and [`Replies`] to answer with, [`Receiver`] to be told with.

use super::session::{Act, Command, Order, Place, Session, Sink, here};
use crate::outflow::{NoPermit, Outflow};
use pintle_core::{
    CallId, Code, Message, Metadata, Recv, SendError, Shape, Status, Timestamp,
    codec::{Codec, Prost, send, to_payload},
};
use pintle_net::Peer;
use std::{marker::PhantomData, mem, ops::Deref, sync::Arc, thread, time::Duration};

/// A method of a service: path and shape. Generated code has one list of them per service.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// `/package.Service/Method`.
    pub path: &'static str,
    /// How many messages go each way.
    pub shape: Shape,
}

impl Method {
    /// A method.
    #[must_use]
    pub const fn new(path: &'static str, shape: Shape) -> Self {
        Self { path, shape }
    }
}

/// A service as a loop sees it; generated code implements it for `…Server`.
pub trait Service: 'static {
    /// Its methods. [`call`](Self::call) is told the index in this list.
    fn methods(&self) -> &'static [Method];
    /// A call of the method with this index has come in.
    fn call(&mut self, method: usize, call: Incoming);
}

/// Told of what happens on a call with a stream of requests. Its methods run on the loop's thread: they must not block.
///
/// Messages come one by one as they arrive. Who cannot take more says [`Handle::pause`], and the client is held back until
/// [`Handle::resume`]. To answer each message as it comes, [`Replies::answer_each`] makes a receiver that does so; to gather them for
/// one reply:
///
/// ```
/// # use pintle_callback::Receiver;
/// # use pintle_core::codec::Raw;
/// # type Unary = pintle_callback::Unary<bytes::Bytes, Raw>;
/// # type Letter = bytes::Bytes;
/// struct Counter {
///     letters: u32,
///     call: Option<Unary>, // taken when it is answered
/// }
///
/// impl Receiver<Letter> for Counter {
///     fn on_message(&mut self, _: Letter) {
///         self.letters += 1;
///     }
///     fn on_end(&mut self) {
///         if let Some(call) = self.call.take() {
///             call.reply(self.letters.to_string().into());
///         }
///     }
/// }
/// ```
pub trait Receiver<T>: 'static {
    /// The next request message.
    fn on_message(&mut self, message: T);
    /// The client has sent its last message.
    fn on_end(&mut self);
    /// A message that came back `Blocked` may be sent now.
    fn on_ready(&mut self) {}
    /// The call ended before it was answered: the client cancelled it or went away (`Cancelled`), or its deadline passed
    /// (`DeadlineExceeded`). Nothing is called after this, and the receiver is dropped.
    fn on_cancel(&mut self, code: Code) {
        let _ = code;
    }
}

/// A call that has come in, not yet passed to the service's method. Generated code calls the method for its shape.
#[derive(Debug)]
pub struct Incoming {
    handle: Handle,
    /// The request, for the shapes that have one.
    request: Recv,
}

impl Incoming {
    #[inline]
    pub(crate) fn new(place: &Arc<Place>, call: CallId, deadline: Option<Timestamp>, metadata: Metadata, request: Recv) -> Self {
        Self { handle: Handle { place: Arc::clone(place), call, deadline, metadata, open: true }, request }
    }

    /// One request, one reply.
    pub fn unary<Q: Codec, R: Codec>(mut self, method: impl FnOnce(Q::Item, Unary<R::Item, R>)) {
        match self.request::<Q>() {
            Ok(request) => method(request, Unary { handle: self.handle, codec: PhantomData }),
            Err(status) => self.handle.finish(status),
        }
    }

    /// One request, many replies.
    pub fn server_streaming<Q: Codec, R: Codec>(mut self, method: impl FnOnce(Q::Item, Replies<R::Item, R>)) {
        match self.request::<Q>() {
            Ok(request) => method(request, Replies::new(self.handle)),
            Err(status) => self.handle.finish(status),
        }
    }

    /// Many requests, one reply.
    pub fn client_streaming<Q: Codec + 'static, R: Codec>(self, method: impl FnOnce(Unary<R::Item, R>) -> Box<dyn Receiver<Q::Item>>)
    where
        Q::Item: 'static,
    {
        let (place, call) = (Arc::clone(&self.handle.place), self.handle.call);
        attach::<Q>(&place, call, method(Unary { handle: self.handle, codec: PhantomData }));
    }

    /// Many requests, many replies.
    pub fn bidi<Q: Codec + 'static, R: Codec>(self, method: impl FnOnce(Replies<R::Item, R>) -> Box<dyn Receiver<Q::Item>>)
    where
        Q::Item: 'static,
    {
        let (place, call) = (Arc::clone(&self.handle.place), self.handle.call);
        attach::<Q>(&place, call, method(Replies::new(self.handle)));
    }

    /// The index is none of the service's.
    pub fn unimplemented(mut self) {
        self.handle.finish(Status::new(Code::Unimplemented, "the service has no such method"));
    }

    #[inline]
    fn request<Q: Codec>(&mut self) -> Result<Q::Item, Status> {
        match mem::replace(&mut self.request, Recv::Pending) {
            Recv::Message(message) => Q::decode(message.payload),
            _ => Err(Status::internal("the request has no message")),
        }
    }
}

fn attach<Q: Codec + 'static>(place: &Arc<Place>, call: CallId, receiver: Box<dyn Receiver<Q::Item>>)
where
    Q::Item: 'static,
{
    let over = here(place, |session| session.attach(call, Box::new(Decoding::<Q>(receiver))));
    // Dropped only now, when the connection is in its place again: its handle may have to let go of the call.
    drop(over);
}

/// What every call's handle can do; [`Unary`] and [`Replies`] lead here. Works from any thread.
///
/// Dropped unanswered, it ends the call with INTERNAL (UNKNOWN in a panic).
#[derive(Debug)]
pub struct Handle {
    place: Arc<Place>,
    call: CallId,
    deadline: Option<Timestamp>,
    metadata: Metadata,
    /// We have not ended it yet.
    open: bool,
}

impl Handle {
    /// The request's metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// When the client gives up; calls made for this one should end then too.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// Time left until then.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_since(pintle_net::now()))
    }

    /// Who calls.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.place.peer
    }

    /// Sends initial metadata now, ahead of the first message. Once a message was sent it is too late, and nothing happens.
    pub fn send_headers(&self, metadata: &Metadata) {
        self.act(Act::Headers(metadata.clone()));
    }

    /// Delivers no more request messages until [`resume`](Self::resume); the client is held back by flow control.
    pub fn pause(&self) {
        self.act(Act::Pause(true));
    }

    /// Delivers request messages again.
    pub fn resume(&self) {
        self.act(Act::Pause(false));
    }

    /// Calls `f` back, on the loop's thread, if the call ends before it is answered: with `Cancelled` (the client cancelled it
    /// or went away) or `DeadlineExceeded`. If it has ended already, at once.
    pub fn on_cancel(&self, f: impl FnOnce(Code) + Send + 'static) {
        self.act(Act::OnCancel(Box::new(f)));
    }

    #[inline]
    fn here<R>(&self, f: impl FnOnce(&mut Session) -> R) -> Option<R> {
        here(&self.place, f)
    }

    fn act(&self, act: Act) {
        let mut order = Some(Order { call: self.call, act });
        let late = self.here(|session| order.take().and_then(|order| session.obey(order)));
        if let Some((callback, code)) = late.flatten() {
            callback(code);
        }
        if let Some(order) = order {
            self.post(order);
        }
    }

    fn post(&self, order: Order) {
        self.place.mailbox.post(Command::Call { key: self.place.key, order });
    }

    fn finish(&mut self, status: Status) {
        if mem::replace(&mut self.open, false) {
            self.act(Act::Finish(status));
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.open {
            self.finish(if thread::panicking() {
                Status::new(Code::Unknown, "the handler panicked")
            } else {
                Status::internal("the handler dropped the call without an answer")
            });
        }
    }
}

/// A call that wants one reply. Answer now, or keep it and answer later from any thread.
#[derive(Debug)]
#[must_use = "dropped, it ends the call with INTERNAL"]
pub struct Unary<T, C: Codec<Item = T> = Prost<T>> {
    handle: Handle,
    codec: PhantomData<fn(C, T)>,
}

impl<T, C: Codec<Item = T>> Unary<T, C> {
    /// Answers, and ends the call with OK.
    #[inline]
    pub fn reply(mut self, message: T) {
        self.handle.open = false;
        let call = self.handle.call;
        if self.handle.here(|session| session.answer::<C>(call, &message)).is_none() {
            self.handle.act(Act::Reply(to_payload::<C>(&message), Status::ok()));
        }
    }

    /// Answers, and ends the call with this status: `Status::ok().with_metadata(..)` sends trailing metadata.
    #[inline]
    pub fn reply_with(mut self, message: T, status: Status) {
        self.handle.open = false;
        let call = self.handle.call;
        let direct = self.handle.here(|session| session.reply(call, &status, |call| send::<C>(call, &message)));
        if direct.is_none() {
            self.handle.act(Act::Reply(to_payload::<C>(&message), status));
        }
    }

    /// Ends the call with a status that is not OK; its metadata travels as trailers.
    pub fn fail(mut self, status: Status) {
        self.handle.finish(status);
    }
}

impl<T, C: Codec<Item = T>> Deref for Unary<T, C> {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// A call that wants many replies. Keep it and send from any thread.
#[derive(Debug)]
#[must_use = "dropped, it ends the call with INTERNAL"]
pub struct Replies<T, C: Codec<Item = T> = Prost<T>> {
    handle: Handle,
    /// Made when it is first used away from its loop.
    flow: Option<Arc<Outflow>>,
    codec: PhantomData<fn(C, T)>,
}

impl<T, C: Codec<Item = T>> Replies<T, C> {
    fn new(handle: Handle) -> Self {
        Self { handle, flow: None, codec: PhantomData }
    }

    /// Sends a message, if there is room. In a callback it goes to the connection directly, elsewhere by way of the loop.
    ///
    /// # Errors
    /// The message comes back. `Blocked`: the client is slow; you are told when there is room ([`Receiver::on_ready`],
    /// [`produce`](Self::produce)), other threads may [`wait_ready`](Self::wait_ready). `Ended`: the call is over. `Refused`: the
    /// message is larger than may be sent.
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        self.send_or_wait(message, false)
    }

    /// Sends a message and waits for room if need be; for threads other than the loop's (there it answers `Blocked`).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_wait(&mut self, message: T) -> Result<(), SendError<T>> {
        self.send_or_wait(message, true)
    }

    /// Waits until all that this thread sent is with the connection. `false`: the call has ended. In a callback it does not wait.
    pub fn wait_ready(&mut self) -> bool {
        self.handle.open && (self.handle.here(|_| ()).is_some() || self.flow.as_ref().is_none_or(|flow| flow.wait_idle()))
    }

    /// Sends as fast as the client takes: `more` is called now, and again whenever there is room after a send came back
    /// `Blocked`, until it calls [`finish`](Self::finish) or the call ends. Called in a callback, `more` runs on the loop's thread;
    /// called elsewhere, it runs here, and this waits.
    pub fn produce(mut self, mut more: impl FnMut(&mut Self) + 'static)
    where
        T: 'static,
        C: 'static,
    {
        more(&mut self);
        let (place, call) = (Arc::clone(&self.handle.place), self.handle.call);
        if here(&place, |_| ()).is_none() {
            while self.wait_ready() {
                more(&mut self);
            }
        } else if self.handle.open {
            let sink = Box::new(Producer { out: self, more });
            let over = here(&place, |session| session.attach(call, sink));
            drop(over);
        }
    }

    /// Ends the call after what was sent; a status that is not OK carries its metadata as trailers. Later sends answer `Ended`.
    pub fn finish(&mut self, status: Status) {
        if self.flow.as_ref().is_none_or(|flow| flow.is_idle()) {
            self.handle.finish(status);
        } else if mem::replace(&mut self.handle.open, false) {
            // What went by way of the loop must not be overtaken by the end.
            let call = self.handle.call;
            self.handle.here(|session| session.stop_input(call));
            self.handle.post(Order { call, act: Act::Finish(status) });
        }
    }

    fn send_or_wait(&mut self, message: T, wait: bool) -> Result<(), SendError<T>> {
        if !self.handle.open {
            return Err(SendError::Ended(message));
        }
        // What went by way of the loop must not be overtaken.
        let direct = self.flow.as_ref().is_none_or(|flow| flow.is_idle());
        let call = self.handle.call;
        match self.handle.here(|session| if direct { session.send::<C>(call, &message) } else { Err(SendError::Blocked(())) }) {
            Some(sent) => sent.map_err(|error| give_back(error, message)),
            None => self.send_away(message, wait),
        }
    }

    fn send_away(&mut self, message: T, wait: bool) -> Result<(), SendError<T>> {
        let flow = self.flow.get_or_insert_default();
        match flow.permit(C::encoded_len(&message), wait) {
            Ok(permit) => {
                self.handle.act(Act::Send(to_payload::<C>(&message), permit));
                Ok(())
            }
            Err(NoPermit::Full) => Err(SendError::Blocked(message)),
            Err(NoPermit::Ended) => Err(SendError::Ended(message)),
        }
    }
}

impl<T, C: Codec<Item = T>> Deref for Replies<T, C> {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// The same error with the message in it.
pub(crate) fn give_back<T>(error: SendError<()>, message: T) -> SendError<T> {
    match error {
        SendError::Blocked(()) => SendError::Blocked(message),
        SendError::Refused((), why) => SendError::Refused(message, why),
        _ => SendError::Ended(message),
    }
}

/// A receiver behind its codec.
struct Decoding<Q: Codec>(Box<dyn Receiver<Q::Item>>);

impl<Q: Codec> Sink for Decoding<Q>
where
    Q::Item: 'static,
{
    fn message(&mut self, message: Message) -> Result<(), Status> {
        self.0.on_message(Q::decode(message.payload)?);
        Ok(())
    }
    fn end(&mut self) {
        self.0.on_end();
    }
    fn ready(&mut self) {
        self.0.on_ready();
    }
    fn cancel(&mut self, code: Code) {
        self.0.on_cancel(code);
    }
}

/// A producer with the call that it sends on.
struct Producer<T, C: Codec<Item = T>, F> {
    out: Replies<T, C>,
    more: F,
}

impl<T, C: Codec<Item = T>, F: FnMut(&mut Replies<T, C>)> Sink for Producer<T, C, F> {
    fn message(&mut self, _: Message) -> Result<(), Status> {
        Ok(())
    }
    fn end(&mut self) {}
    fn ready(&mut self) {
        (self.more)(&mut self.out);
    }
    fn cancel(&mut self, _: Code) {}
}
