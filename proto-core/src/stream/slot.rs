//! What is known of one stream. Slots are recycled with their buffers, so a steady state allocates nothing.

use crate::{
    Config, Metadata, Payload, Shape, Status, Timestamp, Token,
    conn::prefix,
    error::ErrorCode,
    flow::{Credit, Window},
    shape::{recv::RecvState, send::SendState},
    store::{Fifo, Links, NIL, Which},
    stream::Run,
};
use alloc::{boxed::Box, vec::Vec};
use bytes::{Buf, Bytes};

/// One bit each of a [`Slot`]'s `flags`.
pub(crate) mod flag {
    /// A raw stream, not a gRPC call.
    pub(crate) const HTTP: u32 = 1;
    /// The application holds it: the slot stays until it lets go.
    pub(crate) const HELD: u32 = 1 << 1;
    /// Server: `Incoming` was queued.
    pub(crate) const OFFERED: u32 = 1 << 2;
    /// The peer ended its side (END_STREAM).
    pub(crate) const REMOTE_END: u32 = 1 << 3;
    /// Nothing more goes over the wire in either direction.
    pub(crate) const CLOSED: u32 = 1 << 4;
    /// Our head was framed.
    pub(crate) const HEAD_SENT: u32 = 1 << 5;
    /// Our head shall go out now, message or not.
    pub(crate) const HEAD_DUE: u32 = 1 << 6;
    /// We queued our end: nothing may be sent behind it.
    pub(crate) const SEND_ENDED: u32 = 1 << 7;
    /// END_STREAM was framed.
    pub(crate) const END_SENT: u32 = 1 << 8;
    /// Client: the response's head came.
    pub(crate) const HEAD_RECEIVED: u32 = 1 << 9;
    /// An event of this kind is queued.
    pub(crate) const EVENT_READABLE: u32 = 1 << 10;
    pub(crate) const EVENT_WRITABLE: u32 = 1 << 11;
    pub(crate) const EVENT_HEADERS: u32 = 1 << 12;
    pub(crate) const EVENTS: u32 = EVENT_READABLE | EVENT_WRITABLE | EVENT_HEADERS;
    /// `send` answered `Blocked`: owe a `Writable`.
    pub(crate) const WANTS_ROOM: u32 = 1 << 13;
    /// Stream credit waits to be announced (is in `Connection::credits`).
    pub(crate) const CREDIT_DUE: u32 = 1 << 14;
    /// A message larger than the window waits for receive budget (is in `Connection::starved`).
    pub(crate) const STARVED: u32 = 1 << 15;
    /// Server: ended before the application finished it; what it does now is moot.
    pub(crate) const CUT_SHORT: u32 = 1 << 16;
    /// Received octets are dropped: the rest of a message over the limit, a body nobody reads.
    pub(crate) const DISCARD: u32 = 1 << 17;
    /// The queued end is END_STREAM on trailers (server, raw trailers), not on DATA.
    pub(crate) const TRAILERS: u32 = 1 << 18;
    /// Raw: the peer reset it; `reset` has the code.
    pub(crate) const PEER_RESET: u32 = 1 << 19;
    /// Client: the response is not gRPC; the first octets of its body will say more. `ending` has the status.
    pub(crate) const SNIPPET: u32 = 1 << 21;
    /// Is in `Connection::waiting`.
    pub(crate) const WAITING: u32 = 1 << 22;
    /// Server: it ended by what the peer did, not by its handler.
    pub(crate) const ENDED_EARLY: u32 = 1 << 23;
    /// The end of its stall was put off, since a window had come.
    pub(crate) const PUT_OFF: u32 = 1 << 24;
    /// Client: the server certainly did not process it.
    pub(crate) const UNPROCESSED: u32 = 1 << 20;
}

/// A call with nothing queued may always queue a message up to this.
pub(crate) const LONE: usize = 16 << 10;
/// So many times the connection's send buffer may wait behind streams' windows before large messages wait at their senders.
pub(crate) const STUCK: usize = 8;

/// Something queued behind the head.
#[derive(Debug)]
pub(crate) enum Out {
    /// Messages with their prefixes, in the connection's shared segment: one, or several of a call that lie there one behind the other.
    Segment { start: u32, len: u32, run: Run },
    /// The same in memory of their own. `lent` as below.
    Run { octets: Bytes, run: Run, lent: bool },
    /// A message of its own; `prefix_left` octets of the prefix are not framed yet.
    /// `lent`: its present segment was lent to the transport in part, so the rest of it is, too.
    Message { payload: Payload, prefix: [u8; 5], prefix_left: u8, lent: bool },
    /// Octets of a raw body.
    Raw { octets: Bytes, lent: bool },
}

impl Out {
    /// A message in the shared segment, there and so long.
    #[inline]
    pub(crate) const fn segment((start, len): (u32, u32)) -> Self {
        Self::Segment { start, len, run: Run::ONE }
    }

    /// A message that nothing was framed of.
    pub(crate) fn message(payload: Payload) -> Self {
        let prefix = prefix(payload.len());
        Self::Message { payload, prefix, prefix_left: 5, lent: false }
    }

    /// Octets not yet framed.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Segment { len, .. } => *len as usize,
            Self::Message { payload, prefix_left, .. } => payload.len() + *prefix_left as usize,
            Self::Run { octets, .. } | Self::Raw { octets, .. } => octets.len(),
        }
    }
}

/// A whole message that waits for the application, or a run of small ones.
#[derive(Debug)]
pub(crate) struct Inbound {
    pub(crate) payload: Payload,
    pub(crate) credit: Credit,
    /// Octets that were granted beyond the stream's window for it.
    pub(crate) extra: u32,
    /// Not 0: so many messages lie in the payload, each behind its prefix.
    pub(crate) run: u32,
}

impl Inbound {
    /// Takes the first message out of a run of several, and the credit for it.
    #[inline(always)]
    pub(crate) fn next_of_run(&mut self) -> Option<(Bytes, Credit)> {
        let run = self.payload.as_flat().filter(|_| self.run > 1)?;
        let &[_, a, b, c, d] = run.first_chunk().unwrap_or(&[0; 5]);
        let n = (u32::from_be_bytes([a, b, c, d]) as usize + 5).min(run.len());
        let mut message = run.split_to(n);
        message.advance(n.min(5));
        let credit;
        (credit, self.credit) = core::mem::take(&mut self.credit).split(n as u32);
        self.run -= 1;
        Some((message, credit))
    }

    /// The message itself, also if it is the last of a run and has its prefix.
    #[inline]
    pub(crate) fn last_of_run(mut self) -> Self {
        if self.run == 1 {
            self.payload.advance(5.min(self.payload.len()));
        }
        self
    }
}

/// The message that is being received.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    pub(crate) prefix: [u8; 5],
    pub(crate) prefix_len: u8,
    pub(crate) left: u32,
    pub(crate) octets: Vec<u8>,
    pub(crate) credit: Credit,
    pub(crate) extra: u32,
    /// Octets counted in `Connection::ahead` for it.
    pub(crate) reserved: u32,
    /// `left` when its progress was last looked at; 0: never.
    pub(crate) seen: u32,
}

impl Assembly {
    pub(crate) const fn is_empty(&self) -> bool {
        self.prefix_len == 0
    }
}

/// A server's end that is more than "OK, no trailers".
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    pub(crate) trailers: Metadata,
    /// `:status` of a Trailers-Only answer.
    pub(crate) http_status: u16,
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) generation: u32,
    pub(crate) live: bool,
    pub(crate) shape: Shape,
    pub(crate) receive: RecvState,
    pub(crate) sent: SendState,
    /// Stream identifier; 0: none yet.
    pub(crate) id: u32,
    pub(crate) flags: u32,
    pub(crate) links: Links,
    pub(crate) route: u32,
    pub(crate) token: Token,
    pub(crate) deadline: Option<Timestamp>,
    /// Server: when an answer that waits for the peer's window is given up, and the octets that must go out until then to put it off.
    pub(crate) stall: Option<Timestamp>,
    pub(crate) stall_len: usize,
    /// What the connection had sent when that wait began.
    pub(crate) stall_sent: u64,

    pub(crate) recv_window: Window,
    /// Taken octets not yet announced by WINDOW_UPDATE.
    pub(crate) credit_due: u32,
    /// Messages the application asked for and has not got.
    pub(crate) demand: u32,
    pub(crate) assembly: Assembly,
    pub(crate) inbox: Fifo<Inbound>,
    /// Octets behind a full inbox, and the bodies of raw streams; charged to `backlog_credit`.
    pub(crate) backlog: Vec<u8>,
    /// Octets at its front that were read already.
    pub(crate) backlog_at: usize,
    pub(crate) backlog_credit: Credit,
    pub(crate) content_length: Option<u64>,

    /// Counted from the peer's initial window: `Peer::window` has the whole.
    pub(crate) send_window: Window,
    pub(crate) out: Fifo<Out>,
    pub(crate) out_len: usize,
    /// So many at the front of `out` are known not to be in the shared segment.
    pub(crate) spilled: usize,
    /// Metadata of our head (client: custom metadata; server: initial metadata; raw: the fields).
    pub(crate) out_head: Metadata,
    /// Client: `:path`. Raw: unused.
    pub(crate) path: Bytes,
    /// `:status` of a raw response.
    pub(crate) http_status: u16,
    pub(crate) ending: Option<Box<Ending>>,

    /// The peer's head, its pseudo-fields and other fields of the call, its trailers.
    pub(crate) metadata: Metadata,
    pub(crate) extra: Metadata,
    /// The remembered head that `extra` is a copy of; 0: of none. Most calls of a client have the same head, so the copy
    /// stays with the slot.
    pub(crate) extra_of: u64,
    pub(crate) trailers: Metadata,
    /// Client: how it ended.
    pub(crate) outcome: Option<Status>,
    pub(crate) reset: ErrorCode,
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self {
            generation: 0,
            live: false,
            shape: Shape::Bidi,
            receive: RecvState::Open,
            sent: SendState::Open,
            id: 0,
            flags: 0,
            links: Links::UNLINKED,
            route: NIL,
            token: Token(0),
            deadline: None,
            stall: None,
            stall_len: 0,
            stall_sent: 0,
            recv_window: Window::new(0),
            credit_due: 0,
            demand: 0,
            assembly: Assembly::default(),
            inbox: Fifo::new(),
            backlog: Vec::new(),
            backlog_at: 0,
            backlog_credit: Credit::default(),
            content_length: None,
            send_window: Window::new(0),
            out: Fifo::new(),
            out_len: 0,
            spilled: 0,
            out_head: Metadata::new(),
            path: Bytes::new(),
            http_status: 0,
            ending: None,
            metadata: Metadata::new(),
            extra: Metadata::new(),
            extra_of: 0,
            trailers: Metadata::new(),
            outcome: None,
            reset: ErrorCode::NO_ERROR,
        }
    }

    #[inline]
    pub(crate) const fn has(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }

    #[inline]
    pub(crate) const fn set(&mut self, flags: u32) {
        self.flags |= flags;
    }

    #[inline]
    pub(crate) const fn unset(&mut self, flags: u32) {
        self.flags &= !flags;
    }

    /// Back to the state of `new`, but for the generation and the buffers. Credits must have been settled.
    #[inline(always)]
    pub(crate) fn recycle(&mut self) {
        debug_assert!(self.inbox.is_empty() && self.out.is_empty() && self.assembly.is_empty());
        self.receive = RecvState::Open;
        self.sent = SendState::Open;
        self.id = 0;
        self.flags = 0;
        self.route = NIL;
        self.token = Token(0);
        self.deadline = None;
        self.stall = None;
        self.credit_due = 0;
        self.demand = 0;
        self.content_length = None;
        self.out_len = 0;
        self.spilled = 0;
        self.out_head.clear();
        self.metadata.clear();
        if self.extra_of == 0 {
            self.extra.clear();
        }
        self.trailers.clear();
        if !self.path.is_empty() {
            self.path = Bytes::new();
        }
        self.ending = None;
        self.outcome = None;
        self.reset = ErrorCode::NO_ERROR;
        // Buffers of an ordinary size stay for the next stream; large ones were one stream's affair.
        self.backlog.clear();
        self.backlog_at = 0;
        if self.backlog.capacity() > 4096 {
            self.backlog = Vec::new();
        }
        self.inbox.slim();
        self.out.slim();
    }

    /// May a message of `len` octets be queued? `state`: of the sending half once it is; `initial`: the peer's initial window.
    ///
    /// One message is always let in where only one may come, or where it is small: a call must not stand still because
    /// others do. Large ones wait while the transport is behind, and while very much is stuck behind streams' windows,
    /// unless their own stream's window takes them.
    #[inline]
    pub(crate) fn admits(&self, len: usize, state: SendState, crowded: bool, queued: usize, initial: u32, cfg: &Config) -> bool {
        if self.out_len > 0 {
            return !crowded && self.out_len + len + 5 <= cfg.send_buffer as usize;
        }
        // What waits counts, not the message: one that is larger than all of this must go some time.
        let stuck = queued > STUCK * cfg.connection_send_buffer as usize;
        state == SendState::Sent || len <= LONE || (!crowded && (!stuck || (len + 5) as i64 <= i64::from(initial) + self.send_window.get()))
    }

    /// Octets that it adds to `Connection::pressing`.
    #[inline]
    pub(crate) const fn pressing(&self) -> usize {
        if matches!(self.links.which, Which::Ready | Which::Blocked) { self.out_len } else { 0 }
    }

    /// More messages were asked for than are here.
    pub(crate) fn asks(&self) -> bool {
        self.demand as usize > self.inbox.iter().map(|inbound| inbound.run.max(1) as usize).sum()
    }

    /// The first message of `out` was framed in part: the stream can only go on with the rest of it, or be reset.
    pub(crate) fn mid_message(&self) -> bool {
        match self.out.front() {
            Some(Out::Message { prefix_left, .. }) => self.has(flag::HEAD_SENT) && *prefix_left < 5,
            Some(Out::Segment { run, .. } | Out::Run { run, .. }) => run.cut > 0,
            _ => false,
        }
    }
}
