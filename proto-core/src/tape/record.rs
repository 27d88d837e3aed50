//! What a tape holds: one [`Record`] per input, per operation, and per question whose answer may change something.

use crate::{Config, Event, Message, Metadata, Payload, Recv, Shape, Status, StreamRecv, Timestamp, Token};
use alloc::{borrow::Cow, boxed::Box, string::String, vec::Vec};
use core::time::Duration;

/// The first record: everything that a fresh connection is made of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Begin {
    /// A client's end; else a server's.
    pub client: bool,
    /// Staged octets are kept as a hash only: [`Detail::Hash`](super::Detail::Hash).
    pub hashed: bool,
    /// When it was made.
    pub now: Timestamp,
    /// Its settings.
    pub config: Config,
    /// The server's methods.
    pub routes: Vec<(String, Shape)>,
}

/// Octets that `transmit` framed and that no `transmit` had lent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Staged<'a> {
    /// The octets.
    Octets(Cow<'a, [u8]>),
    /// How many, and their hash: see the [format](super).
    Hash {
        /// How many.
        len: u64,
        /// Their hash.
        hash: u64,
    },
}

impl Staged<'_> {
    /// How many octets.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Octets(octets) => octets.len() as u64,
            Self::Hash { len, .. } => *len,
        }
    }

    /// No octet was framed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An event, as far as it is compared: its kind and the slot of its call or stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    kind: u8,
    /// The slot, where the event has one.
    pub slot: Option<u32>,
}

const EVENTS: [&str; 12] = [
    "Incoming",
    "IncomingHttp",
    "Headers",
    "Readable",
    "Writable",
    "Finished",
    "StreamReadable",
    "StreamWritable",
    "Available",
    "Draining",
    "Foreign",
    "Closed",
];

impl Told {
    pub(crate) fn new(event: Event) -> Self {
        let (kind, slot) = match event {
            Event::Incoming { call } => (0, Some(call.slot)),
            Event::IncomingHttp { stream } => (1, Some(stream.slot)),
            Event::Headers { call, .. } => (2, Some(call.slot)),
            Event::Readable { call, .. } => (3, Some(call.slot)),
            Event::Writable { call, .. } => (4, Some(call.slot)),
            Event::Finished { call, .. } => (5, Some(call.slot)),
            Event::StreamReadable { stream, .. } => (6, Some(stream.slot)),
            Event::StreamWritable { stream, .. } => (7, Some(stream.slot)),
            Event::Available => (8, None),
            Event::Draining => (9, None),
            Event::Foreign => (10, None),
            Event::Closed => (11, None),
        };
        Self { kind, slot }
    }

    pub(super) const fn number(self) -> u8 {
        self.kind
    }

    pub(super) fn from_parts(kind: u8, slot: Option<u32>) -> Option<Self> {
        ((kind as usize) < EVENTS.len()).then_some(Self { kind, slot })
    }

    /// The event's name, as [`Event`] spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        EVENTS.get(self.kind as usize).copied().unwrap_or_default()
    }
}

/// What `recv` and its like answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    /// Nothing yet.
    Pending,
    /// The end.
    End,
    /// A reset (raw streams).
    Reset,
    /// A message, or a part of a body, of so many octets.
    Octets(u64),
}

impl From<&Recv> for Got {
    fn from(got: &Recv) -> Self {
        match got {
            Recv::Message(message) => Self::Octets(message.payload.len() as u64),
            Recv::Pending => Self::Pending,
            Recv::End => Self::End,
        }
    }
}

impl From<Option<&Message>> for Got {
    fn from(message: Option<&Message>) -> Self {
        message.map_or(Self::Pending, |message| Self::Octets(message.payload.len() as u64))
    }
}

impl From<&StreamRecv> for Got {
    fn from(got: &StreamRecv) -> Self {
        match got {
            StreamRecv::Bytes(octets) => Self::Octets(octets.len() as u64),
            StreamRecv::Pending => Self::Pending,
            StreamRecv::End => Self::End,
            StreamRecv::Reset(_) => Self::Reset,
        }
    }
}

/// A payload's octets in one run.
pub(crate) fn flat(payload: &Payload) -> Cow<'_, [u8]> {
    let mut segments = payload.segments();
    match (segments.next(), segments.next()) {
        (first, None) => first.unwrap_or_default().into(),
        _ => payload.segments().flatten().copied().collect::<Vec<u8>>().into(),
    }
}

/// An operation on a call: methods of [`Call`](crate::Call).
#[derive(Debug, Clone)]
pub enum CallOp<'a> {
    /// `set_token`.
    SetToken(Token),
    /// `take_metadata`.
    TakeMetadata,
    /// `recv` and its answer.
    Recv(Got),
    /// `try_recv` and its answer.
    TryRecv(Got),
    /// `demand`.
    Demand(u32),
    /// `take_outcome`, and the number of the status code where there was an outcome.
    TakeOutcome(Option<u8>),
    /// `cancel`.
    Cancel,
    /// `send` of a message that was taken.
    Send(Cow<'a, [u8]>),
    /// `send` or `send_with` of so many octets, which was not taken.
    SendRefused(u64),
    /// `send_with`, and the octets that it was given.
    SendWith {
        /// The length that was announced.
        len: u64,
        /// What was written.
        octets: Cow<'a, [u8]>,
    },
    /// `close_send`.
    CloseSend,
    /// `send_headers`.
    SendHeaders {
        /// At once.
        flush: bool,
        /// The fields.
        metadata: Cow<'a, Metadata>,
    },
    /// `finish`.
    Finish {
        /// With this status.
        status: Cow<'a, Status>,
        /// And these trailers.
        trailers: Option<Cow<'a, Metadata>>,
    },
}

/// An operation on a raw stream: methods of [`Stream`](crate::Stream).
#[derive(Debug, Clone)]
pub enum StreamOp<'a> {
    /// `set_token`.
    SetToken(Token),
    /// `limit`.
    Limit(Option<Duration>),
    /// `recv_bytes` and its answer.
    RecvBytes(Got),
    /// `send_headers`.
    SendHeaders {
        /// The status.
        status: u16,
        /// No body follows.
        end: bool,
        /// The fields.
        metadata: Cow<'a, Metadata>,
    },
    /// `send_bytes` that was taken.
    SendBytes {
        /// The last of the body.
        end: bool,
        /// The octets.
        octets: Cow<'a, [u8]>,
    },
    /// `send_bytes` of so many octets, which was not taken.
    SendRefused(u64),
    /// `send_trailers`.
    SendTrailers(Cow<'a, Metadata>),
    /// `refuse`.
    Refuse,
    /// `reset` with this code.
    Reset(u32),
    /// `release`.
    Release,
}

/// One record. What a call is named by is its slot: the number in the connection's table, used again when a call is gone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Record<'a> {
    /// The connection was made. The first record of every tape.
    Begin(Box<Begin>),
    /// `recv_slice`.
    In {
        /// When.
        now: Timestamp,
        /// The octets, as they were cut.
        octets: Cow<'a, [u8]>,
    },
    /// `recv_eof`.
    Eof {
        /// When.
        now: Timestamp,
    },
    /// `read_target`.
    Target,
    /// `filled`.
    Filled {
        /// When.
        now: Timestamp,
        /// The octets that were read to the target.
        octets: Cow<'a, [u8]>,
    },
    /// `transmit`, and what it framed.
    Transmit {
        /// When.
        now: Timestamp,
        /// With this budget.
        budget: u64,
        /// What was not lent before.
        staged: Staged<'a>,
    },
    /// So many octets were written: `advance`, `copy_to` or `pop` on what `transmit` lent.
    Advance {
        /// How many.
        n: u64,
    },
    /// `handle_timeout`.
    Timeout {
        /// When.
        now: Timestamp,
    },
    /// `poll_event` and its answer.
    Event {
        /// The event.
        told: Option<Told>,
    },
    /// Client: `start`.
    Start {
        /// When.
        now: Timestamp,
        /// The call's shape.
        shape: Shape,
        /// Its deadline.
        deadline: Option<Timestamp>,
        /// The driver's word.
        token: Token,
        /// Custom metadata.
        metadata: Option<Cow<'a, Metadata>>,
        /// The method.
        path: Cow<'a, [u8]>,
    },
    /// What the `start` before answered: the call's slot, or none for an error.
    Started {
        /// The slot.
        slot: Option<u32>,
    },
    /// Server: `accept` that answered `Some`.
    Accept {
        /// The call.
        slot: u32,
        /// The driver's word.
        token: Token,
    },
    /// `drain`.
    Drain {
        /// When.
        now: Timestamp,
        /// The limit.
        within: Option<Duration>,
    },
    /// `close`.
    Close {
        /// When.
        now: Timestamp,
    },
    /// An operation on a call.
    Call {
        /// The call.
        slot: u32,
        /// What was done.
        op: CallOp<'a>,
    },
    /// An operation on a raw stream.
    Stream {
        /// The stream.
        slot: u32,
        /// What was done.
        op: StreamOp<'a>,
    },
    /// Recording stopped here, although the connection went on: more was held back than
    /// [`BUFFER`](super::BUFFER) octets.
    Stopped,
}
