//! Answers in one step, in two, and with the flight recorder on, under the same events in the same random order: windows that shrink and
//! open, table sizes, PINGs, resets, calls that read on, a transport that takes a few octets at a time, a drain at the end. The octets must be the
//! same at every moment, and so must the inside of the connection.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    CallId, CloseReason, Code, Config, Connection, Endpoint, Event, Metadata, Status, Timestamp, Token,
    hpack::Decoder,
    tape::{self, Detail},
    testing::{Rng, raw::frames, wire::*},
};
use std::{collections::BTreeMap, time::Duration};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    OneStep,
    TwoSteps,
    Taped,
}

struct Side {
    conn: Connection,
    way: Way,
    sent: Vec<u8>,
}

/// What the test knows of a call.
#[derive(Clone, Default)]
struct Known {
    stream: u32,
    ended: bool,
    reset: bool,
    /// It returns many messages: these were sent.
    many: bool,
    data: Vec<u8>,
    /// Octets of DATA of the whole answer; `None`: not answered, or not with OK.
    answer: Option<Vec<u8>>,
}

struct World {
    now: Timestamp,
    sides: Vec<Side>,
    calls: Vec<(CallId, u32)>,
    known: BTreeMap<u32, Known>,
    next: u32,
}

impl World {
    fn new(rng: &mut Rng) -> Self {
        let mut config = Config::default();
        config.connection_send_buffer = rng.pick(&[2_000, 10_000, 1 << 20]);
        // What the test does at random, an attacker does on purpose: those budgets have tests of their own.
        config.permit_keepalive_time = Duration::ZERO;
        config.max_ping_strikes = 1_000;
        (config.limits.window_updates, config.limits.settings_burst, config.limits.useless_burst) = (10_000, 10_000, 10_000);
        let now = Timestamp::from_micros(1_000_000);
        let sides = [Way::OneStep, Way::TwoSteps, Way::Taped].map(|way| {
            let mut conn = Connection::server(&config, routes(), now);
            if way == Way::Taped {
                conn.start_tape(Detail::Octets).expect("it is fresh");
            }
            Side { conn, way, sent: Vec::new() }
        });
        let mut world = Self { now, sides: sides.into(), calls: Vec::new(), known: BTreeMap::new(), next: 1 };
        world.send(PREFACE);
        world.send(&[settings(&[(4, rng.pick(&[0, 40, 65_535]))]), settings_ack()].concat());
        world
    }

    fn send(&mut self, octets: &[u8]) {
        let now = self.now;
        self.sides.iter_mut().for_each(|side| side.conn.recv_slice(now, octets));
    }

    /// Takes the requests that are there; the events must be the same on all sides.
    fn events(&mut self) {
        loop {
            let mut events: Vec<Option<Event>> = self.sides.iter_mut().map(|side| side.conn.poll_event()).collect();
            let event = events.pop().flatten();
            assert!(events.iter().all(|other| *other == event), "{event:?} and {events:?}");
            match event {
                None => return,
                Some(Event::Incoming { call }) => {
                    let taken = self.sides.iter_mut().map(|side| side.conn.accept(call, Token(9)).is_some()).collect::<Vec<_>>();
                    assert!(taken.iter().all(|one| *one == taken[0]));
                    // Which stream it is, its metadata says.
                    if taken[0] {
                        let call_now = self.sides[0].conn.call(call).expect("it was just taken");
                        let stream = call_now.metadata().get("stream").and_then(|text| text.parse().ok()).expect("the test's own header");
                        self.calls.push((call, stream));
                    }
                }
                Some(Event::Finished { call, .. }) => {
                    // Sometimes the application is told before it answers.
                    self.sides.iter_mut().for_each(|side| side.conn.call(call).expect("held").finish(&Status::ok(), None));
                    self.calls.retain(|(id, _)| *id != call);
                }
                Some(_) => {}
            }
        }
    }

    /// Some messages of many; the end may follow.
    fn send_some(&mut self, at: usize, rng: &mut Rng, end: bool) {
        let (id, stream) = self.calls[at];
        for _ in 0..rng.below(9) {
            let octets = rng.pick(&[0, 1, 8, 8, 8, 300, 4_097]);
            let sent: Vec<bool> = self
                .sides
                .iter_mut()
                .map(|side| {
                    let mut call = side.conn.call(id).expect("the application holds it");
                    call.send_with(octets, |out| out.extend((0..octets).map(|n| n as u8))).is_ok()
                })
                .collect();
            assert!(sent.iter().all(|one| *one == sent[0]));
            if sent[0] {
                let octets: Vec<u8> = (0..octets).map(|n| n as u8).collect();
                self.known.get_mut(&stream).expect("it was opened").data.extend(message(&octets));
            }
        }
        if end {
            self.calls.swap_remove(at);
            self.sides.iter_mut().for_each(|side| side.conn.call(id).expect("held").finish(&Status::ok(), None));
            let known = self.known.get_mut(&stream).expect("it was opened");
            known.answer = Some(std::mem::take(&mut known.data));
        }
    }

    fn answer(&mut self, at: usize, rng: &mut Rng, last: bool) {
        if self.known[&self.calls[at].1].many {
            let end = last || rng.chance(300);
            return self.send_some(at, rng, end);
        }
        let (id, stream) = self.calls.swap_remove(at);
        let octets = rng.pick(&[0, 1, 8, 90, 300, 2_000, 4_096, 4_097, 9_000]);
        let (headers, flush) = (rng.chance(60), rng.chance(500));
        let fails = rng.chance(80);
        for side in &mut self.sides {
            let mut call = side.conn.call(id).expect("the application holds it");
            if headers {
                let mut metadata = Metadata::new();
                metadata.insert("x-more", "yes").expect("a good field");
                let _ = call.send_headers(&metadata, flush);
            }
            if fails {
                call.finish(&Status::new(Code::NotFound, "no"), None);
                continue;
            }
            let fill = |out: &mut Vec<u8>| out.extend((0..octets).map(|n| n as u8));
            match side.way {
                Way::OneStep | Way::Taped => call.reply_with(octets, fill),
                Way::TwoSteps => {
                    let _ = call.send_with(octets, fill);
                    side.conn.call(id).expect("not finished yet").finish(&Status::ok(), None);
                }
            }
        }
        let known = self.known.get_mut(&stream).expect("it was opened");
        let octets: Vec<u8> = (0..octets).map(|n| n as u8).collect();
        known.answer = (!fails).then(|| message(&octets));
    }

    /// The transport takes some.
    fn write(&mut self, budget: usize, most: usize) -> usize {
        let now = self.now;
        let mut taken = Vec::new();
        for side in &mut self.sides {
            let mut out = side.conn.transmit(now, budget);
            let mut octets = vec![0; out.len().min(most)];
            // It advances by what it copied.
            let n = out.copy_to(&mut octets);
            side.sent.extend_from_slice(&octets[..n]);
            taken.push(n);
        }
        self.compare();
        assert!(taken.iter().all(|n| *n == taken[0]), "{taken:?}");
        taken[0]
    }

    fn compare(&self) {
        let (one, rest) = self.sides.split_first().expect("three");
        for other in rest {
            assert!(one.sent == other.sent, "other octets: {:?}", other.way);
            assert_eq!(one.conn.probe(), other.conn.probe(), "{:?}", other.way);
            assert_eq!(one.conn.stats(), other.conn.stats(), "{:?}", other.way);
            let (a, b) = (one.conn.wants(), other.conn.wants());
            assert_eq!((a.read, a.write, a.event), (b.read, b.write, b.event), "{:?}", other.way);
            assert_eq!(one.conn.close_reason(), other.conn.close_reason());
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        let open: Vec<u32> = self.known.values().filter(|known| !known.reset && known.answer.is_none()).map(|known| known.stream).collect();
        match rng.below(100) {
            0..=34 if open.len() < 60 => {
                let stream = self.next;
                self.next += 2;
                let path = rng.pick(&["/S/U", "/S/U", "/S/U", "/S/C", "/S/R"]);
                let text = stream.to_string();
                let mut octets = frame(HEADERS, END_HEADERS, stream, &request_block(path, &[("stream", text.as_bytes())]));
                let ended = rng.chance(800);
                if ended || path == "/S/C" {
                    octets.extend(frame(DATA, u8::from(ended), stream, &message(b"ask")));
                }
                self.known.insert(stream, Known { stream, ended, many: path == "/S/R", ..Known::default() });
                self.send(&octets);
            }
            35..=39 if !open.is_empty() => {
                let stream = rng.pick(&open);
                let known = self.known.get_mut(&stream).expect("open");
                if !known.ended {
                    known.ended = true;
                    self.send(&frame(DATA, END_STREAM, stream, &message(b"late")));
                }
            }
            40..=42 if !open.is_empty() => {
                let stream = rng.pick(&open);
                self.known.get_mut(&stream).expect("open").reset = true;
                self.send(&rst_stream(stream, 8));
            }
            43..=46 => self.send(&settings(&[(4, rng.pick(&[0, 30, 100, 1_000, 65_535]))])),
            47 => self.send(&settings(&[(1, rng.pick(&[0, 64, 4_096]))])),
            48..=50 => self.send(&window_update(0, rng.pick(&[10, 5_000, 60_000]))),
            51..=53 if !open.is_empty() => self.send(&window_update(rng.pick(&open), rng.pick(&[10, 500, 5_000]))),
            54..=55 => self.send(&frame(PING, 0, 0, b"12345678")),
            56..=65 => self.events(),
            66..=87 => {
                // With an event of its call still queued, an answer in one step waits for the transport, and one in two does not.
                self.events();
                if !self.calls.is_empty() {
                    let at = rng.below(self.calls.len() as u64) as usize;
                    self.answer(at, rng, false);
                }
            }
            88..=97 => {
                let (budget, most) = (rng.pick(&[300, 2_000, 64 << 10]), rng.pick(&[0, 7, 200, 1 << 20, 1 << 20]));
                self.write(budget, most);
            }
            _ => {
                self.now = self.now.saturating_add(Duration::from_millis(20));
                let now = self.now;
                self.sides.iter_mut().for_each(|side| side.conn.handle_timeout(now));
            }
        }
        self.compare();
    }
}

/// Every answer is whole, once, and as it was given.
fn check(world: &World, sent: &[u8]) -> usize {
    let mut decoder = Decoder::new(4_096);
    let mut heard: BTreeMap<u32, (Vec<u8>, Option<String>)> = BTreeMap::new();
    for frame in frames(sent) {
        let stream = frame.head.stream;
        match frame.head.kind {
            HEADERS => {
                let mut list = List::default();
                decoder.decode(&frame.payload, &mut list).expect("its own block decodes");
                let entry = heard.entry(stream).or_default();
                assert!(entry.1.is_none(), "HEADERS behind the end of {stream}");
                if frame.head.ends_stream() {
                    entry.1 = list.0.into_iter().find(|field| field.0 == "grpc-status").map(|field| field.1);
                }
            }
            DATA => {
                let entry = heard.entry(stream).or_default();
                assert!(entry.1.is_none(), "DATA behind the end of {stream}");
                entry.0.extend_from_slice(&frame.payload);
            }
            _ => {}
        }
    }
    let mut whole = 0;
    for (stream, known) in &world.known {
        let (false, Some(expected)) = (known.reset, &known.answer) else { continue };
        let (data, status) = heard.get(stream).unwrap_or_else(|| panic!("{stream} was not answered"));
        assert_eq!(status.as_deref(), Some("0"), "{stream}, {} octets of {}", data.len(), expected.len());
        assert!(data == expected, "{stream} has other octets");
        whole += 1;
    }
    whole
}

#[test]
fn every_way_to_answer_says_the_same() {
    let seeds = std::env::var("PINTLE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut whole = 0;
    for seed in 0..seeds {
        let mut rng = Rng::new(seed);
        let mut world = World::new(&mut rng);
        for _ in 0..400 {
            world.step(&mut rng);
        }
        if rng.chance(500) {
            let now = world.now;
            world.sides.iter_mut().for_each(|side| side.conn.drain(now, None));
        }
        // The peer takes everything now, and ends what it began.
        world.send(&settings(&[(4, 65_535)]));
        let unended: Vec<u32> = world.known.values().filter(|known| !known.ended && !known.reset).map(|known| known.stream).collect();
        for stream in unended {
            if world.known[&stream].answer.is_none() {
                world.send(&frame(DATA, END_STREAM, stream, &message(b"late")));
            }
        }
        for _ in 0..200 {
            world.events();
            while let Some(at) = world.calls.len().checked_sub(1) {
                world.answer(at, &mut rng, true);
            }
            if world.sides[0].conn.probe().send_window < 50_000 {
                world.send(&window_update(0, 50_000));
            }
            while world.write(64 << 10, 1 << 20) > 0 {}
        }
        assert_eq!(world.sides[0].conn.probe().slots, 0, "seed {seed}");
        let mut octets = Vec::new();
        let taped = &mut world.sides[2].conn;
        taped
            .drain_tape(|some| {
                octets.extend_from_slice(some);
                Ok::<(), ()>(())
            })
            .expect("nobody refuses");
        assert!(
            matches!(world.sides[0].conn.close_reason(), None | Some(CloseReason::Local)),
            "seed {seed}: {:?}",
            world.sides[0].conn.close_reason()
        );
        whole += check(&world, &world.sides[0].sent);
        if let Err(error) = tape::replay(&octets) {
            panic!("seed {seed}: {error}");
        }
    }
    assert!(whole > seeds as usize * 20, "{whole} whole answers");
}
