//! Calls.
use crate::*;
use bytes::Bytes;

/// What a client sends first.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequestHead<'a> {
    /// `/package.Service/Method`; a `Bytes::from_static` costs nothing.
    pub path: Bytes,
    /// The method's shape.
    pub shape: Shape,
    /// Custom metadata.
    pub metadata: Option<&'a Metadata>,
}

impl<'a> RequestHead<'a> {
    /// A head without metadata.
    #[must_use]
    pub fn new(path: impl Into<Bytes>, shape: Shape) -> Self { Self { path: path.into(), shape, metadata: None } }
    /// With metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: &'a Metadata) -> Self { self.metadata = Some(metadata); self }
}

/// Options of a call.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// When the call ends with DEADLINE_EXCEEDED, on both sides (`grpc-timeout` is written from what remains when the head is framed).
    pub deadline: Option<Timestamp>,
    /// The driver's word.
    pub token: Token,
}
impl CallOptions {
    /// With a deadline.
    #[must_use]
    pub fn deadline(mut self, at: Option<Timestamp>) -> Self { self.deadline = at; self }
    /// With a token.
    #[must_use]
    pub fn token(mut self, token: Token) -> Self { self.token = token; self }
}

/// What `recv` answers.
#[derive(Debug)]
#[must_use]
pub enum Recv {
    /// The next message.
    Message(Message),
    /// Nothing yet: wait for `Readable`.
    Pending,
    /// No more messages. Server: the client closed its side. Client: take the outcome.
    End,
}

/// How a client's call ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The status.
    pub status: Status,
    /// The trailing metadata.
    pub trailers: Metadata,
    /// The server certainly did not process the call: it may be repeated elsewhere.
    pub unprocessed: bool,
}

/// A borrowed view of one call.
#[derive(Debug)]
pub struct Call<'a> { #[allow(dead_code)] conn: &'a mut Connection }

impl Call<'_> {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> CallId { todo!() }
    /// The driver's word.
    #[must_use]
    pub fn token(&self) -> Token { todo!() }
    /// Changes the driver's word.
    pub fn set_token(&mut self, token: Token) { let _ = token; todo!() }
    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> Shape { todo!() }
    /// `/package.Service/Method`.
    #[must_use]
    pub fn path(&self) -> &str { todo!() }
    /// `:authority` (server).
    #[must_use]
    pub fn authority(&self) -> Option<&str> { todo!() }
    /// When it ends.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> { todo!() }
    /// The peer's metadata: of the request (server), of the response's head (client; empty before `Headers`).
    #[must_use]
    pub fn metadata(&self) -> &Metadata { todo!() }
    /// The same, taken out.
    pub fn take_metadata(&mut self) -> Metadata { todo!() }

    /// The next message. `Pending` counts as asking for one.
    pub fn recv(&mut self) -> Recv { todo!() }
    /// Asks for `n` more messages ahead of `recv`: a message larger than the stream's window is only let in when it was asked for.
    pub fn demand(&mut self, n: u32) { let _ = n; todo!() }

    /// Queues a message.
    ///
    /// # Errors
    /// The message comes back, see [`SendError`].
    pub fn send(&mut self, payload: Payload) -> Result<(), SendError<Payload>> { let _ = payload; todo!() }
    /// Queues a message of exactly `len` octets that `fill` appends to the buffer it is given; the cheapest way for small ones.
    ///
    /// # Errors
    /// See [`SendError`]; `fill` was not called.
    pub fn send_with(&mut self, len: usize, fill: impl FnOnce(&mut alloc::vec::Vec<u8>)) -> Result<(), SendError<()>> { let _ = (len, fill); todo!() }
    /// Octets that `send` takes before it answers `Blocked` (0: it would).
    #[must_use]
    pub fn send_room(&self) -> usize { todo!() }
    /// Octets queued and not framed yet.
    #[must_use]
    pub fn send_queued(&self) -> usize { todo!() }
    /// Client: no more messages (END_STREAM).
    ///
    /// # Errors
    /// A server ends with `finish`; closed already.
    pub fn close_send(&mut self) -> Result<(), Misuse> { todo!() }

    /// Server: initial metadata, before the first message. Sent with the first message, or at once when `flush`.
    ///
    /// # Errors
    /// The head was framed already, or this is a client.
    pub fn send_headers(&mut self, metadata: &Metadata, flush: bool) -> Result<(), Misuse> { let _ = (metadata, flush); todo!() }
    /// Server: ends the call and gives the slot back; what was sent before goes out first. On a call that ended already
    /// (`Event::Finished`) it only gives the slot back.
    pub fn finish(self, status: &Status, trailers: Option<&Metadata>) { let _ = (status, trailers); todo!() }

    /// Client: the outcome, once `recv` answered `End`; gives the slot back. `None`: not yet.
    pub fn take_outcome(self) -> Option<Outcome> { todo!() }
    /// Ends the call at once: RST_STREAM(CANCEL) where a stream exists, output not yet framed is dropped, the slot is given back.
    pub fn cancel(self) { todo!() }
}
