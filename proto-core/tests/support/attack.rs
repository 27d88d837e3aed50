//! What every attack needs: how large it is, how it must end, what it may cost in octets of heap and in steps of work.

use super::{
    heap::{Use, measure},
    peer::Peer,
};
use pintle_core::{
    CallId, CloseReason, Config, Endpoint, ErrorCode, Event, Shape, Status, Token,
    testing::{Cut, raw::REQUEST, wire::*},
};

pub(crate) const KIB: usize = 1 << 10;
pub(crate) const MIB: usize = 1 << 20;
/// Streams that are open before an attack begins have lower ids than its own, which begin here.
pub(crate) const FIRST: u32 = 1_001;

/// A hundredth of what is stated; all of it with `PINTLE_ATTACKS=full`.
pub(crate) fn size(full: usize) -> usize {
    if std::env::var("PINTLE_ATTACKS").is_ok_and(|value| value == "full") { full } else { full.div_ceil(100) }
}

/// How an attack must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// GOAWAY with this code and this debug text, after at most so many rounds.
    Away(ErrorCode, &'static str, usize),
    /// `Wants::read` becomes false and stays so while the peer does not read, after at most so many rounds.
    Paused(usize),
    /// The connection lives, and serves the next call.
    Lives,
}

/// GOAWAY(ENHANCE_YOUR_CALM) that names a budget.
pub(crate) const fn calm(budget: &'static str, most: usize) -> End {
    End::Away(ErrorCode::ENHANCE_YOUR_CALM, budget, most)
}

/// A flood on one connection. `begin` makes the victim; `round` is one turn of the attack, what the victim's application does included.
pub(crate) struct Flood<'a> {
    pub(crate) name: &'a str,
    /// Rounds at full size.
    pub(crate) rounds: usize,
    pub(crate) end: End,
    /// Octets of heap, of the connection and what the test keeps of it, at the worst moment.
    pub(crate) bound: usize,
    /// The attacker reads what it is sent.
    pub(crate) reads: bool,
    /// The victim is a server, on which idle calls can be opened before.
    pub(crate) crowd: bool,
    pub(crate) begin: &'a dyn Fn(Cut) -> Peer,
    pub(crate) round: &'a mut dyn FnMut(&mut Peer, usize),
}

impl Flood<'_> {
    /// All of it: the end and the heap, whole and in single octets; the cost at two sizes, and beside one stream and beside ninety.
    pub(crate) fn check(&mut self) {
        let least = most(self.end) + 100;
        self.once(Cut::Whole, size(self.rounds).max(least));
        // Octet by octet it is some ten times as slow; the end comes no later.
        self.once(Cut::Octet, size(self.rounds).div_ceil(10).max(least));
        self.check_cost();
    }

    /// The end and the heap: where an attack is over within a few frames, there is no cost to compare.
    pub(crate) fn once_only(&mut self) {
        let least = most(self.end) + 100;
        self.once(Cut::Whole, least);
        self.once(Cut::Octet, least);
    }

    fn once(&mut self, cut: Cut, rounds: usize) {
        let (used, done) = freed_with(|| {
            let mut peer = (self.begin)(cut);
            let done = self.run(&mut peer, rounds);
            self.judge(&mut peer, done);
            (peer, done)
        });
        assert!(
            used.peak < self.bound,
            "{} {cut:?}: {} octets of heap after {done} rounds, {} are allowed",
            self.name,
            used.peak,
            self.bound
        );
    }

    /// Until the connection ends or pauses, or `rounds` have passed; how many there were.
    fn run(&mut self, peer: &mut Peer, rounds: usize) -> usize {
        for n in 0..rounds {
            if self.is_over(peer) {
                return n;
            }
            (self.round)(peer, n);
            if self.reads && peer.conn.close_reason().is_none() {
                drain(peer);
            }
        }
        rounds
    }

    fn is_over(&self, peer: &Peer) -> bool {
        peer.conn.close_reason().is_some() || (!peer.conn.wants().read && !self.reads)
    }

    fn judge(&self, peer: &mut Peer, done: usize) {
        match self.end {
            End::Away(code, text, most) => {
                assert!(done <= most, "{}: it took {done} rounds, {most} are allowed", self.name);
                assert_away(self.name, peer, code, text);
            }
            End::Paused(most) => {
                assert!(done <= most, "{}: it took {done} rounds, {most} are allowed", self.name);
                assert_eq!(peer.conn.close_reason(), None, "{}", self.name);
                assert!(!peer.conn.wants().read, "{}: it still reads", self.name);
                let now = peer.now;
                assert!(!peer.conn.transmit(now, 64 * KIB).is_empty(), "{}: nothing waits", self.name);
                let patience = Config::default().write_timeout;
                peer.advance(patience).advance(patience);
                assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Timeout { .. })), "{}: nobody reads", self.name);
                assert!(peer.conn.is_finished(), "{}", self.name);
            }
            End::Lives => assert_eq!(peer.conn.close_reason(), None, "{}", self.name),
        }
    }

    /// Steps for each octet of the attacker: no more than half as many again when the attack is ten times as long, or when ninety streams are open.
    fn check_cost(&mut self) {
        let large = size(self.rounds).max(200);
        let costs = [(large / 10, 1), (large, 1), (large, 90)].map(|(rounds, streams)| self.cost(rounds, streams));
        assert_flat(self.name, costs, SLACK);
    }

    fn cost(&mut self, rounds: usize, streams: u32) -> f64 {
        let mut peer = (self.begin)(Cut::Whole);
        if self.crowd {
            open_streams(&mut peer, streams);
        }
        let before = spent(&peer);
        let mut after = before;
        for n in 0..rounds {
            (self.round)(&mut peer, n);
            if self.reads && peer.conn.close_reason().is_none() {
                drain(&mut peer);
            }
            if self.is_over(&peer) && n > 0 {
                // The end itself costs something for each stream, once.
                break;
            }
            after = spent(&peer);
        }
        (after.0 - before.0) as f64 / (after.1 - before.1) as f64
    }
}

/// Steps for each octet of something short, of the same ten times as long, and of that beside ninety idle calls: no more than half as many again.
/// `slack` may come on top.
pub(crate) fn assert_flat(name: &str, [short, long, crowded]: [f64; 3], slack: f64) {
    println!("{name}: {short:.4} steps an octet, {long:.4} when it is ten times as long, {crowded:.4} beside ninety calls");
    assert!(long <= 1.5 * short + slack, "{name}: {short:.4} steps an octet, {long:.4} when it is ten times as long");
    assert!(crowded <= 1.5 * long + slack, "{name}: {long:.4} steps an octet beside one call, {crowded:.4} beside ninety");
    assert!(short > 0.0 && long > 0.0 && crowded > 0.0, "{name}: nothing was counted");
}

/// An attack that is no flood of one round: what it costs at some length, at ten times that, and beside ninety idle calls.
pub(crate) struct Growth<'a> {
    pub(crate) name: &'a str,
    /// The short length, in whatever `attack` makes more of; the long one is ten times that.
    pub(crate) length: usize,
    /// Octets of heap, of the connection and what the test keeps of it, at the worst moment of the longest; idle calls come on top.
    pub(crate) bound: usize,
    pub(crate) begin: &'a dyn Fn() -> Peer,
    /// The whole attack, of so many; how many octets the cost is spread over: those that the attacker sent, or those that it had sent to it.
    pub(crate) attack: &'a mut dyn FnMut(&mut Peer, usize) -> usize,
}

impl Growth<'_> {
    /// Steps for each octet, and the heap, which is all free again after the connection.
    pub(crate) fn check(&mut self) {
        let cases = [(self.length, 1), (10 * self.length, 1), (10 * self.length, 90)];
        assert_flat(self.name, cases.map(|(length, calls)| self.cost(length, calls)), 0.0);
    }

    fn cost(&mut self, length: usize, calls: u32) -> f64 {
        let (used, cost) = freed_with(|| {
            let mut peer = (self.begin)();
            crowd(&mut peer, calls);
            let before = peer.conn.steps();
            let octets = (self.attack)(&mut peer, length);
            let steps = peer.conn.steps() - before;
            (peer, steps as f64 / octets as f64)
        });
        println!("{} {length} beside {calls}: {} octets of heap", self.name, used.peak);
        let bound = self.bound + calls as usize * IDLE;
        assert!(used.peak < bound, "{} of {length}: {} octets of heap, {bound} are allowed", self.name, used.peak);
        cost
    }
}

/// Octets of heap that an idle call may take.
const IDLE: usize = KIB;

/// Idle calls, with handlers or callers that wait: of the peer's at a server, of its own at a client.
fn crowd(peer: &mut Peer, calls: u32) {
    if peer.is_client() {
        return open_streams(peer, calls);
    }
    for _ in 0..calls {
        peer.start(Shape::Bidi);
    }
    drain(peer);
}

/// Octets that the peer has sent.
pub(crate) fn received(peer: &Peer) -> usize {
    peer.conn.stats().octets_received as usize
}

/// Steps, and the octets that they were made for.
fn spent(peer: &Peer) -> (u64, u64) {
    (peer.conn.steps(), peer.conn.stats().octets_received)
}

/// Steps an octet that may come on top: an attack that ends within a few frames has nothing to spread its start over.
const SLACK: f64 = 0.02;

const fn most(end: End) -> usize {
    match end {
        End::Away(_, _, most) | End::Paused(most) => most,
        End::Lives => 0,
    }
}

/// Idle calls of a well-behaved client, with handlers that wait.
pub(crate) fn open_streams(peer: &mut Peer, streams: u32) {
    for n in 0..streams {
        peer.headers(1 + 2 * n, false, REQUEST);
        accept(peer).expect("below the limit");
    }
    drain(peer);
}

/// Takes over the next request, if there is one.
pub(crate) fn accept(peer: &mut Peer) -> Option<CallId> {
    while let Some(event) = peer.event() {
        if let Event::Incoming { call } = event
            && peer.conn.accept(call, Token(1)).is_some()
        {
            return Some(call);
        }
    }
    None
}

/// Takes over the next request and answers it with OK.
pub(crate) fn serve(peer: &mut Peer) -> bool {
    let Some(id) = accept(peer) else { return false };
    peer.call(id).finish(&Status::ok(), None);
    true
}

/// Reads what the connection says and forgets it, without allocating.
pub(crate) fn drain(peer: &mut Peer) {
    let now = peer.now;
    loop {
        let mut out = peer.conn.transmit(now, 64 * KIB);
        let n = out.len();
        if n == 0 {
            return;
        }
        out.advance(n);
    }
}

/// GOAWAY with this code and debug text is the last that the peer reads.
pub(crate) fn assert_away(name: &str, peer: &mut Peer, code: ErrorCode, text: &str) {
    let reason = peer.conn.close_reason().cloned();
    match &reason {
        Some(CloseReason::Protocol { code: was, what }) => assert_eq!((*was, *what), (code, text), "{name}"),
        Some(CloseReason::Timeout { what }) => assert_eq!(*what, text, "{name}"),
        _ => panic!("{name}: {reason:?}"),
    }
    let octets = peer.output_octets();
    let last = [&code.0.to_be_bytes()[..], text.as_bytes()].concat();
    let head = octets.len().checked_sub(last.len() + 4 + 9).map(|at| octets[at + 3]);
    assert!(octets.ends_with(&last) && head == Some(GOAWAY), "{name}: the last that was said is no GOAWAY({code:?}, {text:?})");
    assert!(peer.conn.is_finished() && !peer.conn.wants().read, "{name}: the transport may be dropped");
}

/// Runs an attack, and drops the connection: everything about it must be freed with it. What it cost until then.
pub(crate) fn freed<P>(work: impl FnOnce() -> P) -> Use {
    freed_with(|| (work(), ())).0
}

/// The same, with what else came of it.
pub(crate) fn freed_with<P, T>(work: impl FnOnce() -> (P, T)) -> (Use, T) {
    let ((peer, result), used) = measure(work);
    let ((), after) = measure(|| drop(peer));
    let kept = used.kept + after.kept;
    assert!(kept <= 1 << 10, "{kept} octets were kept after the connection was dropped");
    (used, result)
}
