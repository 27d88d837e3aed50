//! A call sees the fields of its own head and nothing of whoever had its slot before, whichever way that one went, and whichever
//! way the head was recognised: decoded, remembered, or the same as the last.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    Endpoint, Event, Metadata, Recv, Status, Token,
    hpack::{Encoder, Indexing},
    testing::{Cut, wire::*},
};

/// xorshift64
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
}

/// A head, and what a call must make of it.
#[derive(Clone)]
struct Given {
    path: &'static str,
    authority: Option<String>,
    agent: Option<String>,
    timeout: bool,
    metadata: Vec<(String, String)>,
}

fn heads(chance: &mut Chance) -> Vec<Given> {
    let any = |chance: &mut Chance, what: &str| Some(format!("{what}-{}", chance.below(3))).filter(|_| chance.below(3) > 0);
    let mut head = |n: usize| Given {
        path: ["/S/M", "/S/U", "/S/C", "/S/R"][chance.below(4)],
        authority: any(chance, "host"),
        agent: any(chance, "agent"),
        timeout: chance.below(4) == 0,
        metadata: (0..[0, 0, 1, 3][chance.below(4)]).map(|m| (format!("key-{m}"), format!("of head {n}"))).collect(),
    };
    (0..7).map(&mut head).collect()
}

fn encode(encoder: &mut Encoder, given: &Given, indexing: Indexing) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    let mut add = |name: &str, value: &str| encoder.field(&mut block, name.as_bytes(), value.as_bytes(), indexing);
    add(":method", "POST");
    add(":scheme", "http");
    add(":path", given.path);
    if let Some(authority) = &given.authority {
        add(":authority", authority);
    }
    add("te", "trailers");
    add("content-type", "application/grpc");
    if let Some(agent) = &given.agent {
        add("user-agent", agent);
    }
    if given.timeout {
        add("grpc-timeout", "100S");
    }
    for (key, value) in &given.metadata {
        add(key, value);
    }
    block
}

/// What the server said on each stream, and what it should have.
fn check_answer(said: &[Said], stream: u32, metadata: &[(&str, String)]) {
    let mine: Vec<_> = said.iter().filter(|said| said.stream() == stream && said.kind() == HEADERS).collect();
    let fields: Vec<_> = mine.iter().flat_map(|said| said.fields.clone()).collect();
    let mut expected = vec![(":status", "200".to_owned()), ("content-type", "application/grpc".to_owned())];
    expected.push(("grpc-status", "0".to_owned()));
    expected.extend(metadata.iter().cloned());
    let expected: Vec<_> = expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(fields, expected, "stream {stream}");
    let data: Vec<_> = said.iter().filter(|said| said.stream() == stream && said.kind() == DATA).collect();
    assert_eq!(data.iter().flat_map(|said| said.frame.payload.clone()).collect::<Vec<_>>(), message(b"answer"));
}

fn run(seed: u64) -> [usize; 4] {
    let mut chance = Chance(seed * 2 + 0x9e37_79b9_7f4a_7c15);
    let mut peer = to_server([Cut::Whole, Cut::Random(40)][chance.below(2)]);
    let given = heads(&mut chance);
    let mut encoder = Encoder::new(4_096);
    let (mut stream, mut kept, mut reached) = (1, Vec::new(), [0; 4]);
    for turn in 0..400 {
        if chance.below(40) == 0 {
            // Both tables lose what they have; the encoder's next block says so.
            encoder.set_peer_limit([0, 60, 300, 4_096][chance.below(4)]);
            reached[0] += 1;
        }
        if chance.below(40) == 0 {
            peer.send(&settings(&[(1, [0, 60, 4_096][chance.below(3)])]));
        }
        let head = &given[chance.below(given.len())];
        let indexing = if chance.below(4) == 0 { Indexing::Without } else { Indexing::Add };
        let block = encode(&mut encoder, head, indexing);
        let id = stream;
        stream += 2;
        match chance.below(8) {
            // Nothing comes of these, but their fields were in a slot.
            0 => {
                peer.headers(id, false, &block).send(&rst_stream(id, 8));
                reached[1] += 1;
            }
            1 => {
                let mut bad = literal_block(&[(":method", b"POST"), ("secret", b"of nobody"), ("Upper", b"x")]);
                bad.extend(literal_block(&[("another", b"secret")]));
                // The block above was encoded, so it must be decoded; a second one, on the next stream, is malformed.
                peer.headers(id, false, &block).send(&rst_stream(id, 8)).headers(stream, true, &bad);
                stream += 2;
            }
            2 => {
                peer.headers(id, false, &block).send(&rst_stream(id, 8));
                peer.request(stream, "/S/Unknown", true, &[("secret", b"of nobody"), ("user-agent", b"nobody")]);
                stream += 2;
            }
            _ => {
                peer.headers(id, false, &block).data(id, true, &message(b"x"));
                let call = peer.accept();
                reached[2] += 1;
                let seen = peer.call(call);
                assert_eq!(seen.path(), head.path);
                assert_eq!(seen.authority(), head.authority.as_deref(), "turn {turn} of seed {seed}");
                assert_eq!(seen.user_agent(), head.agent.as_deref(), "turn {turn} of seed {seed}");
                assert_eq!(seen.deadline().is_some(), head.timeout);
                let metadata: Vec<_> =
                    seen.metadata().iter().map(|(k, v)| (k.to_owned(), String::from_utf8_lossy(v).into_owned())).collect();
                assert_eq!(metadata, head.metadata, "turn {turn} of seed {seed}");
                kept.push((call, id));
            }
        }
        if kept.len() < 8 && chance.below(3) > 0 {
            continue;
        }
        peer.said();
        while !kept.is_empty() && chance.below(4) > 0 {
            let (call, id) = kept.swap_remove(chance.below(kept.len()));
            if chance.below(5) == 0 {
                peer.send(&rst_stream(id, 8));
                if let Ok(mut call) = peer.conn.call(call) {
                    assert!(matches!(call.recv(), Recv::Message(_) | Recv::End));
                    call.finish(&Status::ok(), None);
                }
                reached[3] += 1;
                continue;
            }
            if chance.below(2) == 0 {
                assert_eq!(peer.messages(call).0.len(), 1);
            }
            // Small and short: head, message and trailers go out in one piece, from what is kept of the last such answer.
            peer.call(call).send_with(6, |out| out.extend_from_slice(b"answer")).expect("room");
            let mut metadata = Vec::new();
            if chance.below(3) == 0 {
                metadata.push(("of-answer", format!("{}", chance.below(3))));
            }
            let trailers = Metadata::from_pairs(metadata.iter().map(|(name, value)| (*name, value.as_str()))).unwrap();
            peer.call(call).finish(&Status::ok(), Some(&trailers));
            check_answer(&peer.said(), id, &metadata);
        }
    }
    for (call, _) in kept {
        peer.call(call).cancel();
    }
    peer.said();
    while let Some(event) = peer.event() {
        if let Event::Incoming { call } = event {
            let _ = peer.conn.accept(call, Token(0));
            peer.call(call).cancel();
        }
    }
    assert_eq!(peer.conn.close_reason(), None);
    peer.assert_whole();
    reached
}

#[test]
fn nothing_is_left_of_who_had_the_slot_before() {
    let mut reached = [0; 4];
    for seed in 0..60 {
        let more = run(seed);
        (0..4).for_each(|n| reached[n] += more[n]);
    }
    assert!(reached.iter().all(|n| *n > 100), "hard places: table emptied, reset, taken, reset while held: {reached:?}");
}

/// A call that was refused room and then ended with a small message leaves no entry behind among those who wait.
#[test]
fn who_does_not_wait_any_more_is_forgotten() {
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(4, i32::MAX as u32)])).send(&window_update(0, 1 << 30));
    peer.request(1, "/S/R", false, &[]).data(1, true, &message(b"x"));
    let large = peer.accept();
    peer.put(large, vec![7; 20 << 20]);
    let mut out = vec![0; 1 << 20];
    for number in 0..200 {
        peer.request(2 * number + 3, "/S/R", false, &[]).data(2 * number + 3, true, &message(b"x"));
        let call = peer.accept();
        assert!(is_blocked(&peer.call(call).send_with(20_000, |_| {})), "the large message waits for the transport");
        peer.call(call).send_with(1, |out| out.push(1)).expect("a small one is always taken");
        peer.finish_ok(call);
        while peer.conn.call(large).is_ok() && peer.conn.probe().slots > 1 {
            let now = peer.now;
            assert_ne!(peer.conn.transmit(now, 64 << 10).copy_to(&mut out), 0);
        }
        let probe = peer.conn.probe();
        assert!(probe.waiting_for_room <= probe.slots, "{} entries for {} calls", probe.waiting_for_room, probe.slots);
    }
    assert!(peer.conn.probe().queued > 1 << 20, "it waits still");
}
