//! What generated client methods return: requests to be refined and started, and the streams that come of them.

use super::{Caller, Calling, Client, End, Head, Next};
use crate::server::give_back;
use pintle_core::{Message, Metadata, SendError, Shape, Status, codec::Codec, grpc::InvalidMetadata};
use pintle_net::now;
use std::{fmt, marker::PhantomData, mem, thread, time::Duration};

/// The four call shapes as types.
pub mod kind {
    /// One message each way.
    #[derive(Debug)]
    pub enum Unary {}
    /// One request, many replies.
    #[derive(Debug)]
    pub enum ServerStreaming {}
    /// Many requests, one reply.
    #[derive(Debug)]
    pub enum ClientStreaming {}
    /// Many each way.
    #[derive(Debug)]
    pub enum Bidi {}
}

/// A [`Request`] with one message each way: [`wait`](Request::wait) for the reply.
pub type UnaryRequest<'c, C, Q, R> = Request<'c, C, Q, R, kind::Unary>;
/// A [`Request`] with many replies: [`open`](Request::open) gives [`Messages`].
pub type ServerStreamingRequest<'c, C, Q, R> = Request<'c, C, Q, R, kind::ServerStreaming>;
/// A [`Request`] with many messages and one reply: [`open`](Request::open) gives an [`Upload`].
pub type ClientStreamingRequest<'c, C, Q, R> = Request<'c, C, Q, R, kind::ClientStreaming>;
/// A [`Request`] with many messages each way: [`open`](Request::open) gives [`Requests`] and [`Messages`].
pub type BidiRequest<'c, C, Q, R> = Request<'c, C, Q, R, kind::Bidi>;

/// A call that has not started: add a deadline and metadata, then start it.
#[must_use = "nothing is sent until `wait`, `on_done` or `open`"]
pub struct Request<'c, C, Q: Codec, R, K> {
    caller: &'c C,
    path: &'static str,
    message: Option<Q::Item>,
    deadline: Option<Duration>,
    metadata: Metadata,
    invalid: Option<InvalidMetadata>,
    kind: PhantomData<fn(R, K)>,
}

impl<C, Q: Codec, R, K> fmt::Debug for Request<'_, C, Q, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({})", self.path)
    }
}

impl<'c, C, Q: Codec, R> UnaryRequest<'c, C, Q, R> {
    /// For generated code.
    pub const fn unary(caller: &'c C, path: &'static str, message: Q::Item) -> Self {
        Self::new(caller, path, Some(message))
    }
}
impl<'c, C, Q: Codec, R> ServerStreamingRequest<'c, C, Q, R> {
    /// For generated code.
    pub const fn server_streaming(caller: &'c C, path: &'static str, message: Q::Item) -> Self {
        Self::new(caller, path, Some(message))
    }
}
impl<'c, C, Q: Codec, R> ClientStreamingRequest<'c, C, Q, R> {
    /// For generated code.
    pub const fn client_streaming(caller: &'c C, path: &'static str) -> Self {
        Self::new(caller, path, None)
    }
}
impl<'c, C, Q: Codec, R> BidiRequest<'c, C, Q, R> {
    /// For generated code.
    pub const fn bidi(caller: &'c C, path: &'static str) -> Self {
        Self::new(caller, path, None)
    }
}

impl<'c, C, Q: Codec, R, K> Request<'c, C, Q, R, K> {
    const fn new(caller: &'c C, path: &'static str, message: Option<Q::Item>) -> Self {
        Self { caller, path, message, deadline: None, metadata: Metadata::new(), invalid: None, kind: PhantomData }
    }

    /// How long the call may take from its start; then it ends with DEADLINE_EXCEEDED on both sides.
    pub const fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Adds a field of metadata. What cannot be sent (see [`Metadata::append`]) ends the call with INVALID_ARGUMENT when it
    /// starts.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        let appended = self.metadata.append(key, value);
        self.invalid = self.invalid.or(appended.err());
        self
    }

    /// Adds a binary field; its key ends in `-bin`.
    pub fn metadata_bin(mut self, key: &str, value: &[u8]) -> Self {
        let appended = self.metadata.append_bin(key, value);
        self.invalid = self.invalid.or(appended.err());
        self
    }

    fn head(&mut self, shape: Shape) -> Result<Head, Status> {
        if let Some(invalid) = self.invalid.take() {
            return Err(invalid.call_status());
        }
        let deadline = self.deadline.map(|after| now().saturating_add(after));
        Ok(Head { path: self.path, shape, metadata: mem::take(&mut self.metadata), deadline })
    }
}

impl<C: Caller, Q: Codec, R: Codec, K> Request<'_, C, Q, R, K> {
    fn start(mut self, shape: Shape) -> Result<C::Call, Status> {
        let head = self.head(shape)?;
        self.caller.start::<Q>(head, self.message.as_ref())
    }
}

impl<C: Caller, Q: Codec, R: Codec> UnaryRequest<'_, C, Q, R> {
    /// Starts the call and waits for the reply.
    ///
    /// # Errors
    /// How the call ended, if not with OK.
    pub fn wait(self) -> Result<R::Item, Status> {
        finish::<R>(&self.start(Shape::Unary)?).map(|(message, _)| message)
    }

    /// Starts the call and returns; many may so be on their way at once. On a client that this thread drives it is written when the thread
    /// waits for something, with those that were started by then.
    ///
    /// # Errors
    /// It did not start.
    pub fn open(self) -> Result<Pending<C::Call, R>, Status> {
        let call = self.start(Shape::Unary)?;
        Ok(Pending(Upload { call, finished: false, closed: true, reply: None, codecs: PhantomData }))
    }

    /// The same, with the metadata that came with the reply.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_response(self) -> Result<Response<R::Item>, Status> {
        let call = self.start(Shape::Unary)?;
        let headers = call.headers();
        let (message, trailers) = finish::<R>(&call)?;
        Ok(Response { message, headers, trailers })
    }
}

impl<Q: Codec, R: Codec> UnaryRequest<'_, Client, Q, R> {
    /// Starts the call and returns; `done` is called with the reply, or with how the call ended, on the client's background
    /// thread (on this one, if it cannot start). It must not block: waiting for another call of the same client there fails.
    pub fn on_done(mut self, done: impl FnOnce(Result<R::Item, Status>) + Send + 'static) {
        let head = match self.head(Shape::Unary) {
            Ok(head) => head,
            Err(status) => return done(Err(status)),
        };
        let Some(message) = &self.message else { return done(Err(Status::internal("a unary call without a message"))) };
        self.caller.start_with_callback::<Q>(head, message, move |message, end| {
            done(match message {
                Some(message) if end.status.is_ok() => R::decode(message.payload),
                _ => Err(failure(end)),
            });
        });
    }
}

impl<C: Caller, Q: Codec, R: Codec> ServerStreamingRequest<'_, C, Q, R> {
    /// Starts the call.
    ///
    /// # Errors
    /// It did not start.
    pub fn open(self) -> Result<Messages<C::Call, R>, Status> {
        self.start(Shape::ServerStreaming).map(Messages::new)
    }
}

impl<C: Caller, Q: Codec, R: Codec> ClientStreamingRequest<'_, C, Q, R> {
    /// Starts the call.
    ///
    /// # Errors
    /// It did not start.
    pub fn open(self) -> Result<Upload<C::Call, Q, R>, Status> {
        let call = self.start(Shape::ClientStreaming)?;
        Ok(Upload { call, finished: false, closed: false, reply: None, codecs: PhantomData })
    }
}

impl<C: Caller, Q: Codec, R: Codec> BidiRequest<'_, C, Q, R> {
    /// Starts the call. The two halves may go to different threads (of a [`Client`]).
    ///
    /// # Errors
    /// It did not start.
    #[allow(clippy::type_complexity, reason = "a pair of two types that users name")]
    pub fn open(self) -> Result<(Requests<C::Call, Q>, Messages<C::Call, R>), Status> {
        let call = self.start(Shape::Bidi)?;
        Ok((Requests { call: call.clone(), open: true, codec: PhantomData }, Messages::new(call)))
    }
}

/// A reply with the metadata that came with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Response<T> {
    /// The reply.
    pub message: T,
    /// Initial metadata.
    pub headers: Metadata,
    /// Trailing metadata.
    pub trailers: Metadata,
}

/// The replies of a call, in order. Dropped before the end, it cancels the call.
#[derive(Debug)]
#[must_use = "dropped, it cancels the call"]
pub struct Messages<C: Calling, R: Codec> {
    call: C,
    end: Option<End>,
    codec: PhantomData<fn(R)>,
}

impl<C: Calling, R: Codec> Messages<C, R> {
    const fn new(call: C) -> Self {
        Self { call, end: None, codec: PhantomData }
    }

    /// Waits for the next message. `None`: there are no more, and the call ended with OK.
    ///
    /// # Errors
    /// How the call ended, if not with OK.
    #[allow(clippy::should_implement_trait, reason = "as the async streams' `next`")]
    pub fn next(&mut self) -> Result<Option<R::Item>, Status> {
        loop {
            if let Some(next) = self.step(true)? {
                return Ok(next);
            }
        }
    }

    /// The same without waiting: `None`: nothing has come yet; `Some(None)`: there are no more.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&mut self) -> Result<Option<Option<R::Item>>, Status> {
        self.step(false)
    }

    /// Waits for the response's initial metadata and takes it (empty if the call ended without).
    pub fn headers(&mut self) -> Metadata {
        self.call.headers()
    }

    /// The trailing metadata, after the end.
    #[must_use]
    pub fn trailers(&self) -> Option<&Metadata> {
        self.end.as_ref().map(|end| &end.trailers)
    }

    fn step(&mut self, wait: bool) -> Result<Option<Option<R::Item>>, Status> {
        if self.end.is_none() {
            match self.call.next(wait) {
                Next::Message(message) => match R::decode(message.payload) {
                    Ok(item) => return Ok(Some(Some(item))),
                    Err(status) => {
                        self.call.cancel();
                        self.end = Some(status.into());
                    }
                },
                Next::Pending => return Ok(None),
                Next::End(end) => self.end = Some(end),
            }
        }
        match &self.end {
            Some(end) if !end.status.is_ok() => Err(end.status.clone()),
            _ => Ok(Some(None)),
        }
    }
}

impl<C: Calling, R: Codec> Drop for Messages<C, R> {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.call.cancel();
        }
    }
}

/// The requests of a call with many messages each way. Dropped, it ends them as [`close`](Self::close) does; in a panic it cancels
/// the call, so that half a stream does not look whole.
#[derive(Debug)]
pub struct Requests<C: Calling, Q: Codec> {
    call: C,
    open: bool,
    codec: PhantomData<fn(Q)>,
}

impl<C: Calling, Q: Codec> Requests<C, Q> {
    /// Sends a message; waits while the server is slow.
    ///
    /// # Errors
    /// The message comes back. `Ended`: the call is over, [`Messages`] says how. `Refused`: it is larger than may be sent.
    pub fn send(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, true, false).map_err(|e| give_back(e, message))
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// As [`send`](Self::send), and `Blocked`: the server is slow.
    pub fn try_send(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, false, false).map_err(|e| give_back(e, message))
    }

    /// As [`send`](Self::send), for a message that others follow at once: a client that this thread drives writes it with them, when the
    /// thread waits for something or sends without `feed`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn feed(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, true, true).map_err(|e| give_back(e, message))
    }

    /// As [`try_send`](Self::try_send) and [`feed`](Self::feed): without waiting, and without writing.
    ///
    /// # Errors
    /// As [`try_send`](Self::try_send).
    pub fn try_feed(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, false, true).map_err(|e| give_back(e, message))
    }

    /// No more messages: the server is told.
    pub fn close(mut self) {
        self.open = false;
        self.call.close_send();
    }
}

impl<C: Calling, Q: Codec> Drop for Requests<C, Q> {
    fn drop(&mut self) {
        match (self.open, thread::panicking()) {
            (true, true) => self.call.cancel(),
            (true, false) => self.call.close_send(),
            (false, _) => {}
        }
    }
}

/// A call with many requests and one reply. Dropped unfinished, it cancels the call.
#[derive(Debug)]
#[must_use = "dropped, it cancels the call"]
pub struct Upload<C: Calling, Q: Codec, R: Codec> {
    call: C,
    finished: bool,
    /// The server was told that there are no more messages.
    closed: bool,
    /// It has come, its end has not.
    reply: Option<Message>,
    codecs: PhantomData<fn(Q, R)>,
}

impl<C: Calling, Q: Codec, R: Codec> Upload<C, Q, R> {
    /// Sends a message; waits while the server is slow.
    ///
    /// # Errors
    /// The message comes back. `Ended`: the server has answered already, [`finish`](Self::finish) says what. `Refused`: it is larger
    /// than may be sent.
    pub fn send(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, true, false).map_err(|e| give_back(e, message))
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// As [`send`](Self::send), and `Blocked`: the server is slow.
    pub fn try_send(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, false, false).map_err(|e| give_back(e, message))
    }

    /// As [`send`](Self::send), for a message that others follow at once: a client that this thread drives writes it with them, when the
    /// thread waits for something or sends without `feed`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn feed(&mut self, message: Q::Item) -> Result<(), SendError<Q::Item>> {
        self.call.send::<Q>(&message, true, true).map_err(|e| give_back(e, message))
    }

    /// Ends the requests and waits for the reply.
    ///
    /// # Errors
    /// How the call ended, if not with OK.
    pub fn finish(mut self) -> Result<R::Item, Status> {
        self.conclude(true).unwrap_or_else(|| Err(Status::internal("a call that waits does not pend")))
    }

    /// The same without waiting. `None`: the reply has not come yet, ask again.
    pub fn try_finish(&mut self) -> Option<Result<R::Item, Status>> {
        self.conclude(false)
    }

    fn conclude(&mut self, wait: bool) -> Option<Result<R::Item, Status>> {
        if !mem::replace(&mut self.closed, true) {
            self.call.close_send();
        }
        loop {
            match self.call.next(wait) {
                Next::Pending => return None,
                Next::Message(_) if self.reply.is_some() => return Some(Err(Status::internal("more than one reply"))),
                Next::Message(message) => self.reply = Some(message),
                Next::End(end) => {
                    self.finished = true;
                    return Some(match self.reply.take() {
                        Some(message) if end.status.is_ok() => R::decode(message.payload),
                        _ => Err(failure(end)),
                    });
                }
            }
        }
    }
}

impl<C: Calling, Q: Codec, R: Codec> Drop for Upload<C, Q, R> {
    fn drop(&mut self) {
        if !self.finished {
            self.call.cancel();
        }
    }
}

/// A unary call on its way. Dropped before its reply was taken, it is cancelled.
#[derive(Debug)]
#[must_use = "dropped, it cancels the call"]
pub struct Pending<C: Calling, R: Codec>(Upload<C, R, R>);

impl<C: Calling, R: Codec> Pending<C, R> {
    /// Waits for the reply.
    ///
    /// # Errors
    /// How the call ended, if not with OK.
    pub fn wait(self) -> Result<R::Item, Status> {
        self.0.finish()
    }

    /// The same without waiting. `None`: the reply has not come yet, ask again.
    pub fn try_wait(&mut self) -> Option<Result<R::Item, Status>> {
        self.0.try_finish()
    }
}

/// Waits for the one reply and the end.
fn finish<R: Codec>(call: &impl Calling) -> Result<(R::Item, Metadata), Status> {
    let message = match call.next(true) {
        Next::Message(message) => message,
        Next::End(end) => return Err(failure(end)),
        Next::Pending => return Err(Status::internal("a call that waits does not pend")),
    };
    match call.next(true) {
        Next::End(end) if end.status.is_ok() => Ok((R::decode(message.payload)?, end.trailers)),
        Next::End(end) => Err(end.status),
        _ => {
            call.cancel();
            Err(Status::internal("more than one reply"))
        }
    }
}

fn failure(end: End) -> Status {
    if end.status.is_ok() { Status::internal("the call ended with OK but without a reply") } else { end.status }
}
