//! gRPC calls: what an application does with one.

mod recv;
mod send;

pub use recv::Recv;

use crate::{CallId, Connection, Metadata, Shape, Status, Timestamp, Token, grpc::head, store::NIL};
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
    pub fn new(path: impl Into<Bytes>, shape: Shape) -> Self {
        Self { path: path.into(), shape, metadata: None }
    }

    /// With custom metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: &'a Metadata) -> Self {
        self.metadata = Some(metadata);
        self
    }
}

/// Options of a call.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// When the call ends with DEADLINE_EXCEEDED, on both sides: `grpc-timeout` is written from what remains when the
    /// head is framed. `None`: never.
    pub deadline: Option<Timestamp>,
    /// The driver's word, echoed in events.
    pub token: Token,
}

impl CallOptions {
    /// With a deadline.
    #[must_use]
    pub fn deadline(mut self, at: Option<Timestamp>) -> Self {
        self.deadline = at;
        self
    }

    /// With a token.
    #[must_use]
    pub fn token(mut self, token: Token) -> Self {
        self.token = token;
        self
    }
}

/// How a client's call ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The status; [`Status::origin`] says who made it.
    pub status: Status,
    /// The trailing metadata.
    pub trailers: Metadata,
    /// The server certainly did not process the call: it may be repeated elsewhere, whatever it does.
    pub unprocessed: bool,
}

/// A borrowed view of one call, from [`Connection::call`]. No allocation, no lock; look it up again by id whenever needed.
#[derive(Debug)]
pub struct Call<'a> {
    conn: &'a mut Connection,
    s: u32,
}

impl<'a> Call<'a> {
    #[inline]
    pub(crate) fn new(conn: &'a mut Connection, s: u32) -> Self {
        Self { conn, s }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.conn.call_id(self.s)
    }

    /// The driver's word.
    #[must_use]
    pub fn token(&self) -> Token {
        self.conn.slots[self.s].token
    }

    /// Changes the driver's word, for events from now on.
    pub fn set_token(&mut self, token: Token) {
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::SetToken(token) });
        self.conn.slots[self.s].token = token;
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.conn.slots[self.s].shape
    }

    /// `/package.Service/Method`.
    #[must_use]
    pub fn path(&self) -> &str {
        let slot = &self.conn.slots[self.s];
        if slot.route != NIL {
            return self.conn.routes().path(crate::RouteId(slot.route));
        }
        let path = if slot.path.is_empty() { slot.extra.find(b":path").unwrap_or_default() } else { &slot.path };
        core::str::from_utf8(path).unwrap_or_default()
    }

    /// Server: `:authority`, or `host` where that is missing.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        head::authority(&self.conn.slots[self.s].extra)
    }

    /// Server: the client's `user-agent`.
    #[must_use]
    pub fn user_agent(&self) -> Option<&str> {
        self.conn.slots[self.s].extra.find(b"user-agent").and_then(|value| core::str::from_utf8(value).ok())
    }

    /// When it ends by itself.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.conn.slots[self.s].deadline
    }

    /// The peer's metadata: of the request (server), of the response's head (client; empty before `Event::Headers`).
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.conn.slots[self.s].metadata
    }

    /// The same, taken out.
    pub fn take_metadata(&mut self) -> Metadata {
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::TakeMetadata });
        core::mem::take(&mut self.conn.slots[self.s].metadata)
    }
}
