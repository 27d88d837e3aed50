//! The connection: its state, and one-line delegations to the files that hold its parts.
//!
//! Input flows `recv` → `headers` | `data` | `control` → slots and events. Output flows from calls to `send`,
//! which frames it at the last moment into the outbox. `life` opens, ends and drains.

mod answer;
mod control;
mod data;
mod grants;
mod guard;
mod headers;
mod late;
mod life;
mod lists;
#[cfg(any(test, feature = "testing"))]
mod probe;
mod recv;
mod send;
mod settings;
mod stage_head;
mod stats;
#[cfg(feature = "record")]
mod tap;
mod target;
mod timeout;
mod timer;
mod whole;

pub use life::Accepted;
pub use stats::Stats;

pub(crate) use guard::Fatal;
use guard::Guard;
use headers::{Block, RequestMemo};
use send::Segment;
pub(crate) use send::prefix;
use settings::{Local, Peer};
use stage_head::HeadMemos;
use timer::{Timer, Timers};

use crate::{
    CallId, CallOptions, CloseReason, Config, Endpoint, Event, RequestHead, Routes, StartError, StreamId, Timestamp, Token, UnknownCall,
    Wants,
    call::Call,
    flow::{RecvBudget, Window},
    hpack,
    steps::Steps,
    store::{Burst, List, NIL, Slab, StreamMap, Which},
    stream::Stream,
    tx::{Outbox, Transmit},
};
use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use bytes::BytesMut;
use control::Control;
use core::time::Duration;
use h2_frame::{Head, Scanner};

/// Which end of the connection we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// How far the connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Server: octets of the client's preface are awaited.
    Preface,
    /// The peer's first SETTINGS are awaited.
    Handshake,
    Open,
    /// Nothing more is read; what is staged may still go out.
    Closed,
}

/// GOAWAYs, ours and the peer's.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    /// We began to drain.
    ours: bool,
    /// The highest peer stream that we will process, once the final GOAWAY was queued.
    last_accepted: Option<u32>,
    /// Last-Stream-ID of the peer's GOAWAY.
    peer_last: Option<u32>,
    peer_code: Option<h2_frame::ErrorCode>,
}

/// One HTTP/2 connection, client or server, that carries gRPC calls: bytes and time in, bytes and events out.
///
/// It does nothing by itself. A driver reads and writes octets through [`Endpoint`], drains
/// [`poll_event`](Self::poll_event) and works on calls; in any order, as often as it likes.
///
/// ```
/// use pintle_core::{Config, Connection, Endpoint, RequestHead, CallOptions, Routes, Shape, Timestamp};
/// let now = Timestamp::from_micros(0);
/// let mut client = Connection::client(&Config::default(), now);
/// let mut server = Connection::server(&Config::default(), Routes::new([("/echo.Echo/Unary", Shape::Unary)]).unwrap(), now);
/// let call = client.start(now, RequestHead::new("/echo.Echo/Unary", Shape::Unary), CallOptions::default()).unwrap();
/// client.call(call).unwrap().send(bytes::Bytes::from_static(b"hi").into()).unwrap();
/// // Octets go across: by a socket, a UART, or here by hand.
/// let mut wire = [0; 1024];
/// let n = client.transmit(now, 1024).copy_to(&mut wire);
/// server.recv_slice(now, &wire[..n]);
/// assert!(server.wants().event);
/// ```
#[derive(Debug)]
pub struct Connection {
    role: Role,
    pub(crate) cfg: Box<Config>,
    pub(crate) phase: Phase,
    /// The latest time that the driver told.
    pub(crate) now: Timestamp,
    close_reason: Option<CloseReason>,

    // Input.
    scanner: Scanner,
    /// Frame whose payload is coming.
    rx_head: Head,
    /// Slot that takes the DATA that is coming, or `NIL`: dropped.
    rx_slot: u32,
    /// Octets of the DATA frame that is coming that went to the slot; the rest is padding.
    rx_data: u32,
    /// Octets lent by `read_target` and not reported yet.
    target: u32,
    /// What is left of the segment that small messages are cut from.
    small: BytesMut,
    /// Payload of a frame that is not DATA and comes in pieces; the preface.
    rx_partial: Vec<u8>,
    /// The connection's first octets, to tell what a peer speaks that does not speak HTTP/2.
    first: [u8; 24],
    first_len: u8,
    block: Block,
    decoder: hpack::Decoder,
    memo: RequestMemo,
    routes: Routes,

    // Streams.
    pub(crate) slots: Slab,
    map: StreamMap,
    /// Streams open on the wire.
    open: u32,
    /// Highest stream of the peer that was or might be processed: what a GOAWAY names.
    last_peer_id: u32,
    /// Highest stream of the peer seen, ignored ones included: everything above is idle.
    highest_peer_id: u32,
    /// Server: ids below it that the client left out.
    skipped: Vec<core::ops::Range<u32>>,
    /// Client: id of the next stream.
    next_id: u32,
    events: Burst<Event>,
    /// Some of them may be of calls that are gone.
    events_gone: bool,
    pub(crate) ready: List,
    opening: List,
    blocked: List,
    stalled: List,
    opening_len: u32,
    at_capacity: bool,

    // Flow.
    recv_window: Window,
    /// Connection credit not yet announced.
    recv_credit: u32,
    send_window: Window,
    pub(crate) budget: RecvBudget,
    /// Calls whose stream credit is due. Entries may be stale; the slot's flag decides.
    credits: Vec<u32>,
    /// Calls that wait for receive budget, first come first served. Entries may be stale.
    starved: VecDeque<CallId>,
    /// Octets set aside for messages announced and not received yet.
    ahead: u32,

    // Output.
    control: Control,
    encoder: hpack::Encoder,
    heads: HeadMemos,
    block_out: Vec<u8>,
    pub(crate) segment: Segment,
    /// Octets of messages that wait to be framed.
    pub(crate) queued: usize,
    /// Those of them that wait for the transport or the connection's window, not for their own stream's.
    pub(crate) pressing: usize,
    /// Calls with nothing queued whose `send` was refused because others press; the slot's flag says so.
    pub(crate) waiting: VecDeque<CallId>,
    /// Octets of DATA framed so far.
    data_sent: u64,
    /// Octets of DATA that came for streams that are gone, since the guard was last told.
    late: u32,
    outbox: Outbox,
    /// When the staged octets last moved, and how many had been written by then.
    moved: (Timestamp, u64),
    /// All of them are answers that were framed when they were given, and none was lent yet.
    early: bool,
    /// When they were staged, and how many.
    staged: (Timestamp, usize),

    local: Local,
    peer: Peer,
    guard: Guard,
    timers: Timers,
    drain: Drain,
    stats: Stats,
    pub(crate) steps: Steps,
    #[cfg(feature = "record")]
    pub(crate) tap: Option<Box<crate::tape::Tap>>,
}

impl Connection {
    fn new(role: Role, config: &Config, routes: Routes, now: Timestamp) -> Self {
        let server = role == Role::Server;
        let config = config.fitted();
        let spare = config.recv_budget.saturating_sub(u64::from(config.max_concurrent_streams) * u64::from(config.initial_window));
        let mut timers = Timers::default();
        timers.set(Timer::Handshake, now.saturating_add(config.handshake_timeout));
        Self {
            role,
            phase: if server { Phase::Preface } else { Phase::Handshake },
            now,
            close_reason: None,
            scanner: Scanner::new(),
            rx_head: Head { len: 0, kind: 0, flags: 0, stream: 0 },
            rx_slot: NIL,
            rx_data: 0,
            target: 0,
            small: BytesMut::new(),
            rx_partial: Vec::new(),
            first: [0; 24],
            first_len: 0,
            block: Block::default(),
            decoder: hpack::Decoder::new(config.header_table as usize),
            memo: RequestMemo::default(),
            routes,
            slots: Slab::default(),
            map: StreamMap::new(config.max_concurrent_streams as usize),
            open: 0,
            last_peer_id: 0,
            highest_peer_id: 0,
            skipped: Vec::new(),
            next_id: 1,
            events: Burst::new(),
            events_gone: false,
            ready: List::new(Which::Ready),
            opening: List::new(Which::Opening),
            blocked: List::new(Which::Blocked),
            stalled: List::new(Which::Stalled),
            opening_len: 0,
            at_capacity: false,
            recv_window: Window::new(config.connection_window),
            recv_credit: 0,
            send_window: Window::new(settings::DEFAULT_WINDOW),
            budget: RecvBudget::new(spare),
            credits: Vec::new(),
            starved: VecDeque::new(),
            ahead: 0,
            control: Control::default(),
            encoder: hpack::Encoder::new(config.encoder_table as usize),
            heads: HeadMemos::default(),
            block_out: Vec::new(),
            segment: Segment::default(),
            queued: 0,
            pressing: 0,
            waiting: VecDeque::new(),
            data_sent: 0,
            late: 0,
            outbox: Outbox::default(),
            moved: (now, 0),
            early: false,
            staged: (now, 0),
            local: Local::default(),
            peer: Peer::default(),
            guard: Guard::new(server, &config.limits, config.permit_keepalive_time.as_micros() as u64, config.max_ping_strikes),
            timers,
            drain: Drain::default(),
            stats: Stats::default(),
            steps: Steps::new(),
            #[cfg(feature = "record")]
            tap: None,
            cfg: Box::new(config),
        }
    }

    /// The client's end. Its preface and SETTINGS wait in `transmit`; calls may start at once.
    #[must_use]
    pub fn client(config: &Config, now: Timestamp) -> Self {
        let mut conn = Self::new(Role::Client, config, Routes::none(), now);
        conn.owe_preface();
        conn
    }

    /// The server's end, for the methods in `routes`. It answers once the client's preface is in.
    #[must_use]
    pub fn server(config: &Config, routes: Routes, now: Timestamp) -> Self {
        Self::new(Role::Server, config, routes, now)
    }

    /// The next event, oldest first. Events of calls that are gone are dropped on the way.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        tap!(self => return self.tape_event());
        self.next_event()
    }

    /// Server: the application takes the request over and owes it `finish` or `cancel`. `None`: the peer took it back.
    pub fn accept(&mut self, call: CallId, token: Token) -> Option<Accepted> {
        tap!(self => return self.tape_accept(call, token));
        self.take_over(call, token)
    }

    /// [`accept`](Self::accept), and the call with it: it needs not be looked up again.
    #[inline]
    pub fn accept_call(&mut self, call: CallId, token: Token) -> Option<(Accepted, Call<'_>)> {
        let accepted = self.accept(call, token)?;
        Some((accepted, Call::new(self, call.slot)))
    }

    /// Client: starts a call. Above the peer's stream limit it is queued, its deadline running.
    ///
    /// # Errors
    /// See [`StartError`]; nothing was sent.
    pub fn start(&mut self, now: Timestamp, head: RequestHead<'_>, options: CallOptions) -> Result<CallId, StartError> {
        tap!(self => return self.tape_start(now, head, options));
        self.start_call(now, head, options)
    }

    /// A view of a call, to work on it.
    ///
    /// # Errors
    /// The id is stale: the call was finished, cancelled or taken back before it was accepted.
    #[inline]
    pub fn call(&mut self, id: CallId) -> Result<Call<'_>, UnknownCall> {
        match self.reachable(id.slot, id.generation) {
            NIL => Err(UnknownCall),
            s => Ok(Call::new(self, s)),
        }
    }

    /// A view of a raw stream, to work on it.
    ///
    /// # Errors
    /// The id is stale.
    pub fn stream(&mut self, id: StreamId) -> Result<Stream<'_>, UnknownCall> {
        match self.reachable(id.slot, id.generation) {
            NIL => Err(UnknownCall),
            s => Ok(Stream::new(self, s)),
        }
    }

    /// Begins a graceful end. A server sends GOAWAY, waits one round trip for calls on their way, sends the final
    /// GOAWAY (RFC 9113 §6.8) and closes when the running calls have ended; a client takes no new calls and closes
    /// when it is idle. `within`: when to end at the latest, calls or not; `None` leaves that to the calls.
    pub fn drain(&mut self, now: Timestamp, within: Option<Duration>) {
        tap!(self, Record::Drain { now, within });
        self.begin_drain(now, within);
    }

    /// Closes at once: GOAWAY(NO_ERROR) waits in `transmit`; calls end with UNAVAILABLE (client) or CANCELLED (server).
    pub fn close(&mut self, now: Timestamp) {
        tap!(self, Record::Close { now });
        self.tick(now);
        self.close_local();
    }

    /// Why the connection ended, once it has.
    #[must_use]
    pub fn close_reason(&self) -> Option<&CloseReason> {
        self.close_reason.as_ref()
    }

    /// Nothing more will come in and nothing waits to go out: drop the transport.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Closed && self.outbox.is_empty() && !self.control.is_due()
    }

    /// No stream is open, no call is queued, and the application holds none.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.slots.len() == 0
    }

    /// The first octets (at most 24) of a peer that does not speak HTTP/2.
    #[must_use]
    pub fn foreign(&self) -> Option<&[u8]> {
        match self.close_reason {
            Some(CloseReason::Foreign { .. }) => Some(&self.first[..self.first_len as usize]),
            _ => None,
        }
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { octets_sent: self.outbox.written(), ..self.stats }
    }

    /// The server's routes.
    #[must_use]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    #[inline]
    pub(crate) const fn peer_initial_window(&self) -> u32 {
        self.peer.initial_window
    }

    #[inline]
    pub(crate) fn is_client(&self) -> bool {
        self.role == Role::Client
    }

    /// The clock only goes forward, whatever the driver says.
    #[inline]
    fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }
}

impl Endpoint for Connection {
    #[inline]
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        tap!(self, Record::In { now, octets: octets.into() });
        self.tick(now);
        self.receive(octets);
    }

    fn recv_eof(&mut self, now: Timestamp) {
        tap!(self, Record::Eof { now });
        self.tick(now);
        self.receive_eof();
        tap!(self => tape_settle());
    }

    #[inline]
    fn read_target(&mut self) -> Option<&mut [u8]> {
        tap!(self, Record::Target);
        self.message_target()
    }

    fn filled(&mut self, now: Timestamp, n: usize) {
        tap!(self => tape_filled(now, n));
        self.tick(now);
        self.message_filled(n);
    }

    #[inline]
    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        self.tick(now);
        self.stage(budget);
        tap!(self => tape_transmit(now, budget));
        self.outbox.lend()
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        tap!(self, Record::Timeout { now });
        self.tick(now);
        self.time_out();
        tap!(self => tape_settle());
    }

    // `always`: drivers ask after everything that they do.
    #[inline(always)]
    fn wants(&self) -> Wants {
        Wants { read: self.wants_read(), write: self.wants_write(), event: !self.events.is_empty(), deadline: self.next_deadline() }
    }

    fn conn(&self) -> &Connection {
        self
    }

    fn conn_mut(&mut self) -> &mut Connection {
        self
    }
}
