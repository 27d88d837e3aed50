//! How a report is run: in every cut, with the state looked at afterwards.

use crate::heap::measure;
pub(crate) use crate::peer::{Peer, Said, block, decode, request_block};
use crate::peer::{seeded_to_client, seeded_to_server};
use pintle_core::{
    CallId, Config, Endpoint, ErrorCode, Event, Token,
    testing::{
        Cut,
        raw::{RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::{
    cell::Cell,
    ops::{Deref, DerefMut},
};

/// One way to run a report: how the connection's input is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) cut: Cut,
    pub(crate) seed: u64,
}

/// Whole, octet by octet, and by chance; `PINTLE_SEED` moves the seeds.
pub(crate) fn ways() -> impl Iterator<Item = Way> {
    let base = std::env::var("PINTLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0_u64);
    let cuts = [Cut::Whole, Cut::Octet, Cut::Random(3), Cut::Random(40), Cut::Random(40), Cut::Random(5_000), Cut::Random(5_000)];
    cuts.into_iter().zip(base..).map(|(cut, seed)| Way { cut, seed })
}

impl Way {
    /// A number of rounds: fewer where the octets come one by one, unless `PINTLE_FULL` is set.
    pub(crate) fn some_of(self, rounds: usize) -> usize {
        let share = match self.cut {
            Cut::Octet | Cut::Random(..=3) => 50,
            Cut::Random(_) => 5,
            Cut::Whole => 1,
        };
        if std::env::var_os("PINTLE_FULL").is_some() { rounds } else { rounds.div_ceil(share) }
    }

    /// A step through every case: larger where the octets come one by one, unless `PINTLE_FULL` is set.
    pub(crate) fn step(self, small: usize, large: usize) -> usize {
        let slow = matches!(self.cut, Cut::Octet | Cut::Random(..=3));
        if slow && std::env::var_os("PINTLE_FULL").is_none() { large } else { small }
    }
}

thread_local! {
    /// Connections of [our server, our client] that the present run has made.
    static MADE: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
}

/// Runs a test in every cut; how many connections of our server and our client it made. A failure names the way.
pub(crate) fn run(id: &str, name: &str, test: fn(Way)) -> [usize; 2] {
    struct Told<'a>(&'a str, &'a str, Way);
    impl Drop for Told<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("{}, {}, failed with {:?}, seed {}", self.0, self.1, self.2.cut, self.2.seed);
            }
        }
    }
    MADE.set([0; 2]);
    for way in ways() {
        let told = Told(id, name, way);
        let ((), used) = measure(|| test(way));
        assert!(used.kept <= 1 << 10, "{} octets of heap were kept", used.kept);
        drop(told);
    }
    MADE.get()
}

/// A peer by hand whose connection must, in the end, have nothing left of what was done to it.
pub(crate) struct Subject(Option<Peer>);

impl Subject {
    fn new(peer: Peer, role: usize) -> Self {
        let mut made = MADE.get();
        made[role] += 1;
        MADE.set(made);
        Self(Some(peer))
    }
}

impl Deref for Subject {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        self.0.as_ref().expect("it is taken out only by drop")
    }
}

impl DerefMut for Subject {
    fn deref_mut(&mut self) -> &mut Peer {
        self.0.as_mut().expect("it is taken out only by drop")
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some(mut peer) = self.0.take()
            && !std::thread::panicking()
        {
            let slots = peer.calls.len();
            settle(&mut peer);
            let ((), dropped) = measure(|| drop(peer));
            let most = HELD + PER_CALL * slots as isize;
            assert!(-dropped.kept <= most, "a connection without calls held {} octets, {most} are enough", -dropped.kept);
        }
    }
}

/// Heap of a connection on which nothing happens, its peer by hand included, and what each slot that was ever used may keep.
const HELD: isize = 80 << 10;
const PER_CALL: isize = 1_300;

/// A client by hand against our server, after the handshake.
pub(crate) fn to_server(way: Way) -> Subject {
    to_server_with(&Config::default(), way)
}

/// The same with another configuration of the server.
pub(crate) fn to_server_with(config: &Config, way: Way) -> Subject {
    let mut peer = fresh_to_server(config, way);
    peer.handshake(&[]);
    peer
}

/// Before any octet.
pub(crate) fn fresh_to_server(config: &Config, way: Way) -> Subject {
    Subject::new(seeded_to_server(config, way.cut, way.seed), 0)
}

/// A server by hand against our client, after the handshake.
pub(crate) fn to_client(way: Way) -> Subject {
    to_client_with(&Config::default(), way, &[])
}

/// The same with another configuration of the client and other SETTINGS of the server.
pub(crate) fn to_client_with(config: &Config, way: Way, settings: &[(u16, u32)]) -> Subject {
    let mut peer = fresh_to_client(config, way);
    peer.handshake(settings);
    peer
}

/// Before any octet.
pub(crate) fn fresh_to_client(config: &Config, way: Way) -> Subject {
    Subject::new(seeded_to_client(config, way.cut, way.seed), 1)
}

/// The state afterwards: the application lets go of every call; then no stream, timer, octet or credit is left of them, and
/// the connection carries a call, or is closed and finished.
fn settle(peer: &mut Peer) {
    let_go(peer);
    // The limits that the peer set in the case: what waits for them shall not wait for ever.
    if peer.conn.close_reason().is_none() {
        peer.send(&settings(&[(3, 100), (4, 65_535)]));
        if peer.conn.probe().send_window < 1_000 {
            peer.send(&window_update(0, 1_000));
        }
    }
    peer.said();
    no_timer_is_left(peer);
    while peer.event().is_some() {}
    nothing_is_left(peer);
    if peer.conn.close_reason().is_some() {
        assert!(peer.conn.is_finished(), "the transport may be dropped");
        let wants = peer.conn.wants();
        assert_eq!((wants.read, wants.write, wants.event, wants.deadline), (false, false, false, None));
        return;
    }
    // The highest stream id is always a new one.
    peer.assert_usable(i32::MAX as u32);
    let_go(peer);
    no_timer_is_left(peer);
    nothing_is_left(peer);
    peer.assert_open();
}

fn let_go(peer: &mut Peer) {
    while let Some(event) = peer.event() {
        match event {
            Event::Incoming { call } => {
                peer.conn.accept(call, Token(1));
                peer.calls.push(call);
            }
            Event::IncomingHttp { stream } => peer.conn.stream(stream).expect("it was just offered").reset(ErrorCode::CANCEL),
            _ => {}
        }
    }
    for id in std::mem::take(&mut peer.calls) {
        if let Ok(call) = peer.conn.call(id) {
            call.cancel();
        }
    }
    peer.said();
    while peer.event().is_some() {}
}

/// Every deadline that is still set is one of a call that is gone, and does nothing when it comes.
fn no_timer_is_left(peer: &mut Peer) {
    for _ in 0..8 {
        let Some(at) = peer.conn.wants().deadline else { return };
        let time = at.saturating_since(peer.now);
        peer.advance(time);
        peer.said();
    }
    panic!("timers are left: {:?}", peer.conn.wants());
}

fn nothing_is_left(peer: &Peer) {
    let probe = peer.conn.probe();
    let counts = (probe.open_streams, probe.slots, probe.queued_calls, probe.waiting_for_room, probe.streams.len());
    assert_eq!(counts, (0, 0, 0, 0, 0), "calls are left: {probe:?}");
    let octets = (probe.staged, probe.queued, probe.recv_held, probe.recv_budget_used);
    assert_eq!(octets, (0, 0, 0, 0), "octets are left: {probe:?}");
    assert!(peer.conn.is_idle());
    if peer.conn.close_reason().is_none() {
        assert_eq!(probe.recv_window + probe.recv_pending, probe.recv_target, "credit was lost: {probe:?}");
    }
}

/// A unary call of our client, after its request has gone out.
pub(crate) fn called(peer: &mut Peer) -> CallId {
    let id = peer.unary(b"");
    peer.said();
    id
}

/// A whole successful answer of one message.
pub(crate) fn answer(peer: &mut Peer, stream: u32) {
    peer.headers(stream, false, RESPONSE).data(stream, false, &message(b"x")).headers(stream, true, TRAILERS_OK);
}

/// The `grpc-status` of the answer on `stream` that was said.
pub(crate) fn status_of(said: &[Said], stream: u32) -> Option<&str> {
    said.iter().filter(|said| said.stream() == stream).find_map(|said| said.field("grpc-status"))
}
