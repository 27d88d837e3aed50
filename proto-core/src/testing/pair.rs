//! A client's and a server's connection joined by a link, on a clock that jumps.

use super::{
    Probe,
    link::{Link, LinkConfig},
    places::{Place, Places},
    referee::{CLIENT, Referee, SERVER},
    rng::Rng,
    transcript::Transcript,
};
use crate::{Config, Connection, Endpoint, Event, Routes, Timestamp};
use alloc::{format, string::String, vec::Vec};
use bytes::{Buf, Bytes};
use core::time::Duration;

/// Octets that `transmit` is asked for at once.
const BUDGET: usize = 64 << 10;

/// One end of a pair.
#[derive(Debug)]
struct End {
    conn: Connection,
    /// Taken out by `pop` and not on the line yet.
    popped: Bytes,
    eof: bool,
    rng: Rng,
    /// The oldest entry of its HPACK encoder's table, when last looked at.
    oldest: Option<(Vec<u8>, Vec<u8>)>,
}

/// What [`Pair::step`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Octets moved.
    Moved,
    /// Nothing could move, so the clock jumped to the next arrival or deadline.
    Waited,
    /// Nothing is on the way and nobody waits for a deadline.
    Idle,
}

/// See the module. The octets pass a [`Referee`]; what it and the pair find wrong is in
/// [`violations`](Self::violations).
#[derive(Debug)]
pub struct Pair {
    ends: [End; 2],
    link: Link,
    now: Timestamp,
    /// Judges what passes.
    pub referee: Referee,
    /// What happened.
    pub transcript: Transcript,
    places: Places,
    broken: Vec<String>,
    scratch: Vec<u8>,
}

impl Pair {
    /// Two connections of `configs` (client's, server's) over a link; `seed` decides everything that is random.
    #[must_use]
    pub fn new(configs: [&Config; 2], routes: Routes, link: LinkConfig, seed: u64) -> Self {
        let now = Timestamp::from_micros(1_000_000);
        let mut rng = Rng::new(seed);
        let mut end = |conn| End { conn, popped: Bytes::new(), eof: false, rng: rng.fork(), oldest: None };
        let ends = [end(Connection::client(configs[CLIENT], now)), end(Connection::server(configs[SERVER], routes, now))];
        Self {
            ends,
            link: Link::new(link, rng.next_u64()),
            now,
            referee: Referee::new(configs.map(|config| i64::from(config.connection_window))),
            transcript: Transcript::default(),
            places: Places::default(),
            broken: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The virtual clock.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The connection at this end.
    pub fn conn(&mut self, end: usize) -> &mut Connection {
        &mut self.ends[end].conn
    }

    /// The client's connection.
    pub fn client(&mut self) -> &mut Connection {
        self.conn(CLIENT)
    }

    /// The server's connection.
    pub fn server(&mut self) -> &mut Connection {
        self.conn(SERVER)
    }

    /// The inside of one end.
    #[must_use]
    pub fn probe(&self, end: usize) -> Probe {
        self.ends[end].conn.probe()
    }

    /// Both ends in a few lines, for a message about a failure.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = format!("at {} us, link closed: {}\n", self.now.as_micros(), self.link.is_closed());
        for end in [CLIENT, SERVER] {
            let (conn, mut probe) = (&self.ends[end].conn, self.probe(end));
            (probe.encoder.entries, probe.decoder.entries) = (Vec::new(), Vec::new());
            text += &format!("{}: {:?} {:?} {:?}\n  {probe:?}\n", name(end), conn.close_reason(), conn.wants(), conn.stats());
        }
        text
    }

    /// The HPACK encoder's oldest entry is another than in the probe before: it was evicted.
    pub fn table_moved(&mut self, end: usize, probe: &Probe) -> bool {
        let oldest = probe.encoder.entries.last().cloned();
        let before = core::mem::replace(&mut self.ends[end].oldest, oldest);
        before.is_some() && before != self.ends[end].oldest
    }

    /// The transport between them.
    pub fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Rules broken so far, by anybody.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.broken.iter().chain(&self.referee.violations).cloned().collect()
    }

    /// Situations seen so far.
    #[must_use]
    pub fn places(&self) -> Places {
        let mut places = self.places.clone();
        places.add(&self.referee.places);
        places
    }

    /// Counts a situation that the caller saw.
    pub fn hit(&mut self, place: Place) {
        self.places.hit(place);
    }

    /// The next event of one end; checks that `wants` announced it.
    pub fn poll_event(&mut self, end: usize) -> Option<Event> {
        let announced = self.ends[end].conn.wants().event;
        let event = self.ends[end].conn.poll_event();
        if announced != event.is_some() {
            self.broken.push(format!("{}: wants().event was {announced}, poll_event answered {event:?}", name(end)));
        }
        if let Some(event) = event {
            self.transcript.note(format_args!("{} {} {event:?}", self.now.as_micros(), name(end)));
        }
        event
    }

    /// Slips a frame into what `end` sends.
    pub fn slip(&mut self, end: usize, frame: Vec<u8>) {
        if self.link.is_closed() {
            return;
        }
        let mut line = Vec::new();
        self.referee.slip(end, frame, &mut line);
        self.link.from(end).push(self.now, &line);
    }

    /// Moves octets both ways as far as link and connections let them; where nothing moves, lets time
    /// pass up to the next arrival or deadline.
    pub fn step(&mut self) -> Step {
        self.step_within(Duration::MAX)
    }

    /// The same, but a wait longer than `patience` counts as idle.
    pub fn step_within(&mut self, patience: Duration) -> Step {
        if self.exchange() {
            return Step::Moved;
        }
        let limit = self.now.saturating_add(patience);
        match self.next_wake().filter(|&at| at <= limit) {
            Some(at) => {
                self.advance_to(at);
                Step::Waited
            }
            None => Step::Idle,
        }
    }

    /// Steps until nothing moves and nothing is on the way; deadlines farther than `patience` are not waited for.
    /// Returns the steps taken.
    pub fn settle(&mut self, patience: Duration) -> usize {
        let end = self.now.saturating_add(patience);
        let mut steps = 0;
        while self.step_within(end.saturating_since(self.now)) != Step::Idle {
            steps += 1;
        }
        steps
    }

    /// When time alone changes something: an arrival or a deadline. What has arrived and is not read waits for no time.
    fn next_wake(&self) -> Option<Timestamp> {
        let deadlines = self.ends.iter().filter_map(|end| end.conn.wants().deadline);
        deadlines.chain(self.link.arrivals()).filter(|&at| at > self.now).min()
    }

    /// One exchange in each direction; true if an octet moved.
    pub fn exchange(&mut self) -> bool {
        let mut moved = false;
        for end in [CLIENT, SERVER] {
            moved |= self.write(end);
            moved |= self.read(end);
            if self.ends[end].conn.is_finished() && self.ends[end].popped.is_empty() && !self.link.is_dead() {
                // A driver drops the transport of a connection that is finished.
                self.link.close();
                moved = true;
            }
        }
        moved
    }

    /// Lets time pass and what is due happen.
    pub fn advance(&mut self, time: Duration) {
        self.advance_to(self.now.saturating_add(time));
    }

    /// The same, up to an instant; the clock never goes back.
    pub fn advance_to(&mut self, at: Timestamp) {
        self.now = self.now.max(at);
        for end in [CLIENT, SERVER] {
            let conn = &mut self.ends[end].conn;
            let due = conn.wants().deadline.is_some_and(|deadline| deadline <= self.now);
            self.places.hit_if(due, Place::TimerFired);
            conn.handle_timeout(self.now);
            if let Some(deadline) = conn.wants().deadline
                && deadline <= self.now
            {
                self.broken.push(format!("{}: a timer did not advance: {deadline:?} at {:?}", name(end), self.now));
            }
        }
    }

    /// Writes what `end` wants to write; true if an octet went on the line.
    fn write(&mut self, end: usize) -> bool {
        let mut moved = false;
        loop {
            if self.link.from(end).is_closed() {
                // Its write fails.
                self.ends[end].popped.clear();
            }
            let room = self.link.from(end).room();
            let wanted = !self.ends[end].popped.is_empty() || self.ends[end].conn.wants().write;
            if wanted && room == 0 && !self.link.is_closed() {
                self.places.hit(Place::TransportFull);
            }
            self.scratch.clear();
            let more = self.take_output(end, room);
            if self.scratch.is_empty() {
                return moved;
            }
            moved = true;
            self.places.hit_if(more, Place::ShortWrite);
            self.transcript.note(format_args!("{} {} writes {}", self.now.as_micros(), name(end), self.scratch.len()));
            self.transcript.octets(&self.scratch);
            let mut line = Vec::new();
            self.referee.now = self.now;
            self.referee.written(end, &self.scratch, &mut line);
            self.link.from(end).push(self.now, &line);
        }
    }

    /// Moves up to `room` octets of `end`'s output to `scratch`, in one of the three ways; true if more was lent.
    fn take_output(&mut self, end: usize, room: usize) -> bool {
        let state = &mut self.ends[end];
        if !state.popped.is_empty() {
            let n = state.popped.len().min(room);
            self.scratch.extend_from_slice(&state.popped[..n]);
            state.popped.advance(n);
            return !state.popped.is_empty();
        }
        let wanted = state.conn.wants().write;
        let mut out = state.conn.transmit(self.now, BUDGET);
        if out.is_empty() == wanted {
            self.broken.push(format!("{}: wants().write was {wanted}, transmit lent {}", name(end), out.len()));
        }
        if room == 0 {
            return false;
        }
        let lent = out.len();
        match state.rng.below(8) {
            0 => {
                self.scratch.resize(room.min(lent), 0);
                let n = out.copy_to(&mut self.scratch);
                self.scratch.truncate(n);
            }
            1 => {
                if let Some(octets) = out.pop() {
                    let n = octets.len().min(room);
                    self.scratch.extend_from_slice(&octets[..n]);
                    state.popped = octets.slice(n..);
                }
            }
            _ => {
                let mut slices: [&[u8]; 16] = [&[]; 16];
                let used = out.chunks(&mut slices);
                for slice in &slices[..used] {
                    let n = slice.len().min(room - self.scratch.len());
                    self.scratch.extend_from_slice(&slice[..n]);
                }
                let written = self.scratch.len();
                out.advance(written);
            }
        }
        self.scratch.len() < lent
    }

    /// Reads what has arrived at `end`; true if an octet or the end was read.
    fn read(&mut self, end: usize) -> bool {
        let mut moved = false;
        loop {
            let waiting = self.link.to(end).readable(self.now);
            if !self.ends[end].conn.wants().read {
                self.places.hit_if(waiting > 0, Place::ReadPaused);
                if self.link.is_closed() && !core::mem::replace(&mut self.ends[end].eof, true) {
                    // A driver that does not read learns of the end by a write that fails.
                    self.ends[end].conn.recv_eof(self.now);
                    moved = true;
                }
                if self.ends[end].eof || self.ends[end].conn.is_finished() {
                    // Nobody reads any more: what arrives is lost, as on a closed socket.
                    self.scratch.clear();
                    return self.link.to(end).read(self.now, usize::MAX, &mut self.scratch) > 0 || moved;
                }
                return moved;
            }
            if waiting == 0 {
                let ended = self.link.to(end).is_closed() && self.link.to(end).is_empty() && !self.ends[end].eof;
                if ended {
                    self.ends[end].eof = true;
                    self.ends[end].conn.recv_eof(self.now);
                }
                return moved || ended;
            }
            moved = true;
            self.scratch.clear();
            self.link.to(end).read(self.now, usize::MAX, &mut self.scratch);
            let octets = core::mem::take(&mut self.scratch);
            let idle = self.ends[end].popped.is_empty() && self.ends[end].conn.staged() == 0;
            self.referee.arrived(1 - end, &octets, idle);
            self.give(end, &octets);
            self.scratch = octets;
        }
    }

    /// As a driver does it: `readv([read_target, scratch])`, or everything to the scratch buffer.
    fn give(&mut self, end: usize, octets: &[u8]) {
        let End { conn, rng, .. } = &mut self.ends[end];
        let mut rest = octets;
        if rng.chance(700)
            && let Some(target) = conn.read_target()
        {
            let (front, back) = rest.split_at(target.len().min(rest.len()));
            target[..front.len()].copy_from_slice(front);
            conn.filled(self.now, front.len());
            self.places.hit_if(!front.is_empty(), Place::ReadTarget);
            rest = back;
        }
        if !rest.is_empty() {
            conn.recv_slice(self.now, rest);
        }
    }
}

const fn name(end: usize) -> &'static str {
    if end == CLIENT { "client" } else { "server" }
}
