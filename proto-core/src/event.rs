//! Ids and events: small, `Copy`, never carrying data. Data is pulled.

use crate::grpc::Code;

/// Names one gRPC call of one connection. Generational: an id of a call that is gone answers
/// [`UnknownCall`](crate::UnknownCall), never another call's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl CallId {
    /// The slot in the connection's table, dense from 0: drivers may index their own state by it.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Names one raw HTTP/2 stream of one connection (the floor under gRPC). Generational like [`CallId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl StreamId {
    /// The slot in the connection's table, dense from 0 and shared with calls.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

/// A word of the driver's choice, echoed in every event of the call it was given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Token(pub u64);

/// What happened. At most one event of each kind is pending per call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Server: a request is waiting for [`Connection::accept`](crate::Connection::accept). For methods that
    /// take one message it comes when that message is complete, so `recv` answers it at once.
    /// Implies `Readable`.
    Incoming {
        /// The call.
        call: CallId,
    },
    /// Server: a request that is not gRPC, on the raw floor. Only with `Config::accept_http`.
    IncomingHttp {
        /// The stream.
        stream: StreamId,
    },
    /// Client: the response's initial metadata can be taken.
    Headers {
        /// The call.
        call: CallId,
        /// The driver's word.
        token: Token,
    },
    /// A message, the end of the stream or (client) the outcome can be taken with `recv`.
    Readable {
        /// The call.
        call: CallId,
        /// The driver's word.
        token: Token,
    },
    /// A send that answered `Blocked` may be tried again.
    Writable {
        /// The call.
        call: CallId,
        /// The driver's word.
        token: Token,
    },
    /// Server: an accepted call ended before the application finished it (the peer reset it, its
    /// deadline passed, the connection went). The application still owes `finish` or `cancel`,
    /// which only release the slot then.
    Finished {
        /// The call.
        call: CallId,
        /// The driver's word.
        token: Token,
        /// `Cancelled`, `DeadlineExceeded`, or what the client's messages were refused with.
        code: Code,
    },
    /// A raw stream has headers, octets, its end or its reset to take.
    StreamReadable {
        /// The stream.
        stream: StreamId,
        /// The driver's word.
        token: Token,
    },
    /// A raw stream has room for `send_bytes` again.
    StreamWritable {
        /// The stream.
        stream: StreamId,
        /// The driver's word.
        token: Token,
    },
    /// Client: `start` may succeed again after `StartError::AtCapacity`.
    Available,
    /// The peer sent GOAWAY, or we began to drain: no new calls here.
    Draining,
    /// The peer's first octets are not HTTP/2; they are kept in `Connection::foreign`.
    Foreign,
    /// Nothing more will happen; see `Connection::close_reason`. What is waiting in `transmit` may still be sent.
    Closed,
}
