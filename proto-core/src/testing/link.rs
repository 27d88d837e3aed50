//! A transport that exists in memory: two pipes with latency, rate, a socket buffer, cuts, stalls and an end.

use super::rng::Rng;
use crate::Timestamp;
use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;

/// How a pipe cuts what passes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// As much as there is room for.
    Whole,
    /// One octet at a time.
    Octet,
    /// A random length from 1 to this many octets.
    Random(usize),
}

impl Cut {
    /// How much of `available` octets passes now; at least one where there is one.
    pub fn take(self, rng: &mut Rng, available: usize) -> usize {
        match self {
            Self::Whole => available,
            Self::Octet => available.min(1),
            Self::Random(most) => available.min(rng.length(most)),
        }
    }
}

/// What a [`Link`] is like. Both directions are alike, each with its own random sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// Time from one end to the other.
    pub latency: Duration,
    /// Octets per second; 0 is without limit.
    pub rate: u64,
    /// Octets that may be on the way or unread in one direction before a write is refused. At least 1.
    pub buffer: usize,
    /// How writes are cut.
    pub writes: Cut,
    /// How reads are cut.
    pub reads: Cut,
    /// How often, in a thousand writes, the direction then stops for `stall`.
    pub stall_per_mille: u64,
    /// How long a stall lasts.
    pub stall: Duration,
    /// Client to server, server to client: the link closes once this many octets were written.
    pub close_after: [Option<u64>; 2],
}

impl LinkConfig {
    /// No latency, no cuts, a megabyte of buffer.
    #[must_use]
    pub const fn ideal() -> Self {
        Self {
            latency: Duration::ZERO,
            rate: 0,
            buffer: 1 << 20,
            writes: Cut::Whole,
            reads: Cut::Whole,
            stall_per_mille: 0,
            stall: Duration::ZERO,
            close_after: [None; 2],
        }
    }

    /// One of many kinds of link: fast, slow, far, narrow, cut to single octets. It does not close by itself.
    #[must_use]
    pub fn random(rng: &mut Rng) -> Self {
        let cuts = [Cut::Whole, Cut::Whole, Cut::Random(20), Cut::Random(3_000), Cut::Random(70_000), Cut::Octet];
        let writes = rng.pick(&cuts);
        let tiny = matches!(writes, Cut::Octet | Cut::Random(20));
        Self {
            latency: Duration::from_micros(rng.pick(&[0, 0, 50, 2_000, 40_000])),
            // A rate spaces every write: with tiny ones a run would take a step for each.
            rate: if tiny { 0 } else { rng.pick(&[0, 0, 0, 20_000_000, 2_000_000]) },
            buffer: rng.pick(&[1 << 20, 200_000, 65_536, 9_000, 700]),
            writes,
            reads: rng.pick(&cuts),
            stall_per_mille: if tiny { rng.below(2) } else { rng.pick(&[0, 0, 30]) },
            stall: Duration::from_millis(rng.pick(&[1, 20])),
            close_after: [None; 2],
        }
    }
}

/// One direction.
#[derive(Debug)]
pub struct Pipe {
    config: LinkConfig,
    rng: Rng,
    octets: VecDeque<u8>,
    /// Runs of octets still on the way: when they arrive and how many they are.
    on_the_way: VecDeque<(Timestamp, usize)>,
    arrived: usize,
    /// When the line is free for the next run (rate).
    free_at: Timestamp,
    /// Nothing arrives before this (stall).
    blocked_until: Timestamp,
    written: u64,
    close_after: Option<u64>,
    closed: bool,
}

impl Pipe {
    fn new(config: LinkConfig, close_after: Option<u64>, rng: Rng) -> Self {
        let start = Timestamp::from_micros(0);
        Self {
            config,
            rng,
            octets: VecDeque::new(),
            on_the_way: VecDeque::new(),
            arrived: 0,
            free_at: start,
            blocked_until: start,
            written: 0,
            close_after,
            closed: false,
        }
    }

    /// Octets that a write would take now; draws a new cut each time.
    pub fn room(&mut self) -> usize {
        let free = self.config.buffer.saturating_sub(self.octets.len());
        let until_close = self.close_after.map_or(u64::MAX, |at| at.saturating_sub(self.written));
        let free = free.min(usize::try_from(until_close).unwrap_or(usize::MAX));
        if self.closed { 0 } else { self.config.writes.take(&mut self.rng, free) }
    }

    /// Puts octets on the line. Takes all of them: ask [`room`](Self::room) first.
    pub fn push(&mut self, now: Timestamp, octets: &[u8]) {
        if self.closed || octets.is_empty() {
            return;
        }
        self.octets.extend(octets);
        self.written += octets.len() as u64;
        let start = self.free_at.max(now);
        let on_line = (octets.len() as u64 * 1_000_000).checked_div(self.config.rate).unwrap_or(0);
        self.free_at = start.saturating_add(Duration::from_micros(on_line));
        let arrival = self.free_at.saturating_add(self.config.latency);
        self.on_the_way.push_back((arrival, octets.len()));
        if self.rng.chance(self.config.stall_per_mille) {
            self.stall(now, self.config.stall);
        }
        if self.close_after.is_some_and(|at| self.written >= at) {
            self.closed = true;
        }
    }

    /// Nothing arrives for `time`.
    pub fn stall(&mut self, now: Timestamp, time: Duration) {
        self.blocked_until = self.blocked_until.max(now.saturating_add(time));
    }

    /// Octets that may be read at `now`.
    pub fn readable(&mut self, now: Timestamp) -> usize {
        if now < self.blocked_until {
            return 0;
        }
        while let Some(&(at, len)) = self.on_the_way.front() {
            if at > now {
                break;
            }
            self.arrived += len;
            self.on_the_way.pop_front();
        }
        self.arrived
    }

    /// Moves one cut of what has arrived to the end of `into`; at most `most` octets.
    pub fn read(&mut self, now: Timestamp, most: usize, into: &mut Vec<u8>) -> usize {
        let ready = self.readable(now).min(most);
        let n = self.config.reads.take(&mut self.rng, ready);
        into.extend(self.octets.drain(..n));
        self.arrived -= n;
        n
    }

    /// When more may be readable than at `now`; `None`: nothing is on the way.
    #[must_use]
    pub fn next_arrival(&self) -> Option<Timestamp> {
        if self.arrived > 0 {
            return Some(self.blocked_until);
        }
        self.on_the_way.front().map(|&(at, _)| at.max(self.blocked_until))
    }

    /// Nothing is on the way and nothing waits to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Octets written so far.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Nothing more is taken; what is on the way still arrives.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes nothing more.
    pub const fn close(&mut self) {
        self.closed = true;
    }

    fn lose(&mut self) {
        self.closed = true;
        self.octets.clear();
        self.on_the_way.clear();
        self.arrived = 0;
    }
}

/// Two pipes.
#[derive(Debug)]
pub struct Link {
    pipes: [Pipe; 2],
}

impl Link {
    /// A link; the same seed gives the same cuts and stalls.
    #[must_use]
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (up, down) = (rng.fork(), rng.fork());
        Self { pipes: [Pipe::new(config, config.close_after[0], up), Pipe::new(config, config.close_after[1], down)] }
    }

    /// The direction that this end writes to: 0 is the client, 1 the server.
    pub fn from(&mut self, end: usize) -> &mut Pipe {
        &mut self.pipes[end]
    }

    /// The direction that this end reads from.
    pub fn to(&mut self, end: usize) -> &mut Pipe {
        &mut self.pipes[1 - end]
    }

    /// Ends both directions; what is on the way still arrives.
    pub fn close(&mut self) {
        for pipe in &mut self.pipes {
            pipe.closed = true;
        }
    }

    /// Ends both directions at once: what is on the way is lost, as after a reset of the transport.
    pub fn lose(&mut self) {
        for pipe in &mut self.pipes {
            pipe.lose();
        }
    }

    /// Both directions have ended.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.closed)
    }

    /// One direction has ended, so the transport soon has.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.pipes.iter().any(|pipe| pipe.closed)
    }

    /// When the next octets arrive in each direction that has some on the way.
    pub fn arrivals(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.pipes.iter().filter_map(Pipe::next_arrival)
    }

    /// Nothing is on the way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pipes.iter().all(Pipe::is_empty)
    }

    /// From now on without cuts, stalls and limits: for the end of a run. What is on the way arrives in one run.
    pub fn calm(&mut self) {
        for pipe in &mut self.pipes {
            pipe.config = LinkConfig { latency: pipe.config.latency, ..LinkConfig::ideal() };
            pipe.blocked_until = Timestamp::from_micros(0);
            let octets = pipe.on_the_way.iter().map(|run| run.1).sum();
            if let Some(&(last, _)) = pipe.on_the_way.back() {
                pipe.on_the_way = VecDeque::from([(last, octets)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_000);

    fn config() -> LinkConfig {
        LinkConfig { latency: Duration::from_micros(10), buffer: 8, ..LinkConfig::ideal() }
    }

    #[test]
    fn octets_arrive_after_the_latency_and_the_buffer_is_bounded() {
        let mut link = Link::new(config(), 1);
        assert_eq!(link.from(0).room(), 8);
        link.from(0).push(START, b"12345678");
        assert_eq!(link.from(0).room(), 0);
        let mut got = Vec::new();
        assert_eq!(link.to(1).read(START, 100, &mut got), 0);
        let arrival = link.arrivals().next().expect("octets are on the way");
        assert_eq!(arrival, START.saturating_add(Duration::from_micros(10)));
        assert_eq!(link.to(1).read(arrival, 5, &mut got), 5);
        assert_eq!((got.as_slice(), link.from(0).room()), (&b"12345"[..], 5));
    }

    #[test]
    fn the_rate_spaces_runs() {
        let mut link = Link::new(LinkConfig { rate: 1_000_000, ..config() }, 1);
        link.from(1).push(START, b"1234");
        link.from(1).push(START, b"5678");
        let first = START.saturating_add(Duration::from_micros(14));
        assert_eq!(link.to(0).readable(first), 4);
        assert_eq!(link.to(0).readable(first.saturating_add(Duration::from_micros(4))), 8);
    }

    #[test]
    fn a_link_closes_at_its_octet_and_what_was_written_arrives() {
        let mut link = Link::new(LinkConfig { close_after: [Some(3), None], ..config() }, 1);
        assert_eq!(link.from(0).room(), 3);
        link.from(0).push(START, b"abc");
        assert!(link.is_closed());
        assert_eq!(link.from(0).room(), 0);
        assert_eq!(link.to(1).readable(START.saturating_add(Duration::from_millis(1))), 3);
    }

    #[test]
    fn a_stall_holds_what_has_arrived() {
        let mut link = Link::new(config(), 1);
        link.from(0).push(START, b"a");
        link.from(0).stall(START, Duration::from_millis(1));
        assert_eq!(link.arrivals().next(), Some(START.saturating_add(Duration::from_millis(1))));
        assert_eq!(link.to(1).readable(START.saturating_add(Duration::from_micros(999))), 0);
        assert_eq!(link.to(1).readable(START.saturating_add(Duration::from_millis(1))), 1);
    }
}
