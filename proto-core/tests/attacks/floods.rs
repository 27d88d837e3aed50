//! Attacks by numbers of frames: X01 to X09, X32.

use crate::{attack::*, peer::*};
use pintle_core::{
    CloseReason, Config, Endpoint, ErrorCode, Recv, Status,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::{collections::VecDeque, time::Duration};

const fn id(n: usize) -> u32 {
    FIRST + 2 * n as u32
}

/// A request and its reset, again and again. The server takes each request over first where `handlers`, and ends it a thousand rounds later.
fn rapid_reset(handlers: bool) {
    let mut running = VecDeque::with_capacity(128);
    Flood {
        name: "a request and its reset",
        rounds: 1_000_000,
        end: calm("too_many_resets", 1_100),
        bound: MIB,
        reads: true,
        crowd: true,
        begin: &to_server,
        round: &mut |peer, n| {
            if n == 0 {
                running.clear();
            }
            peer.headers(id(n), false, REQUEST);
            if handlers && let Some(call) = accept(peer) {
                running.push_back((n, call));
            }
            peer.send(&rst_stream(id(n), 8));
            if running.front().is_some_and(|(began, _)| began + 1_000 < n)
                && let Some((_, call)) = running.pop_front()
            {
                peer.call(call).finish(&Status::ok(), None);
            }
            assert!(running.len() <= 100, "{} handlers at once", running.len());
        },
    }
    .check();
}

#[test]
fn x01_rapid_reset() {
    rapid_reset(false);
    rapid_reset(true);
    // In one read, so that the application sees nothing in between: what was taken back is never shown.
    let mut peer = to_server(Cut::Whole);
    let octets: Vec<u8> = (0..900).flat_map(|n| [frame(HEADERS, END_HEADERS, id(n), REQUEST), rst_stream(id(n), 8)].concat()).collect();
    peer.send(&octets);
    assert_eq!((accept(&mut peer), peer.conn.probe().slots), (None, 0));
}

#[test]
fn x01_twin_thirty_cancels_a_second() {
    let mut peer = to_server(Cut::Whole);
    for n in 0..size(1_800_000) as u32 {
        peer.headers(1 + 2 * n, false, REQUEST);
        let call = accept(&mut peer).expect("a request");
        peer.send(&rst_stream(1 + 2 * n, 8));
        peer.call(call).cancel();
        drain(&mut peer);
        peer.advance(Duration::from_micros(33_334));
    }
    peer.assert_usable(4_000_001);
}

#[test]
fn x02_made_you_reset() {
    type Primitive = (&'static str, fn(u32) -> Vec<u8>);
    // Six, and requests whose body is longer or shorter than their content-length.
    let primitives: [Primitive; 7] = [
        ("WINDOW_UPDATE of 0", |stream| window_update(stream, 0)),
        ("WINDOW_UPDATE beyond 2^31-1", |stream| window_update(stream, i32::MAX as u32)),
        ("PRIORITY of 4 octets", |stream| frame(PRIORITY, 0, stream, &[0; 4])),
        ("PRIORITY on itself", |stream| frame(PRIORITY, 0, stream, &[&stream.to_be_bytes()[..], &[1]].concat())),
        ("DATA after END_STREAM", |stream| frame(DATA, 0, stream, &[0; 256])),
        ("HEADERS after END_STREAM", |stream| frame(HEADERS, END_HEADERS, stream, REQUEST)),
        ("content-length", |_| Vec::new()),
    ];
    let lying = request_block("/S/M", &[("content-length", b"3")]);
    for (name, primitive) in primitives {
        let mut running = 0;
        Flood {
            name,
            rounds: 100_000,
            end: calm("too_many_resets", 1_200),
            bound: MIB,
            reads: true,
            crowd: true,
            begin: &to_server,
            round: &mut |peer, n| {
                running = if n == 0 { 0 } else { running };
                if name == "content-length" {
                    match n % 3 {
                        0 => peer.headers(id(n), true, &lying),
                        1 => peer.headers(id(n), false, &lying).data(id(n), true, b"ab"),
                        _ => peer.headers(id(n), false, &lying).data(id(n), true, b"abcd"),
                    };
                } else {
                    peer.headers(id(n), true, REQUEST);
                }
                // Handlers that never end: the server may start no more than its limit.
                running += usize::from(accept(peer).is_some());
                peer.send(&primitive(id(n)));
                assert!(running <= 100, "{name}: {running} handlers");
            },
        }
        .check();
    }
}

#[test]
fn x02_twin_faults_now_and_then() {
    // A client with a bug in one request of ten, 300 a second for ten minutes; answered calls give back what the others take.
    let mut peer = to_server(Cut::Whole);
    for n in 0..size(180_000) {
        peer.headers(id(n), true, REQUEST);
        if n % 10 == 0 {
            peer.send(&window_update(id(n), 0));
        }
        serve(&mut peer);
        peer.said();
        peer.advance(Duration::from_micros(3_333));
    }
    peer.assert_usable(id(180_001));
}

#[test]
fn x03_reset_flood_without_a_reader() {
    let bad = request_block("/S/M", &[("connection", b"close")]);
    let mut flood = Flood {
        name: "bad requests, resets unread",
        rounds: 10_000_000,
        end: End::Paused(51),
        bound: 256 * KIB,
        reads: false,
        crowd: true,
        begin: &to_server,
        round: &mut |peer, n| {
            peer.headers(id(n), false, &bad);
        },
    };
    flood.check();
    // A driver that reads on all the same has a server that ends it.
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        for n in 0..size(10_000_000) {
            peer.headers(id(n), false, &bad);
        }
        assert_away("read on", &mut peer, ErrorCode::ENHANCE_YOUR_CALM, "too_many_resets");
        peer
    });
    assert!(used.peak < 256 * KIB, "{used:?}");
}

#[test]
fn x03_twin_a_slow_reader() {
    // Half of a hundred calls are cancelled by the server at once, and the client reads late.
    let mut peer = to_server(Cut::Whole);
    for turn in 0..100 {
        for n in 0..40 {
            peer.headers(id(turn * 40 + n), false, REQUEST);
            let call = accept(&mut peer).expect("a request");
            peer.call(call).cancel();
        }
        peer.advance(Duration::from_secs(2));
        assert!(peer.conn.wants().read);
        drain(&mut peer);
    }
    peer.assert_usable(id(5_000));
}

#[test]
fn x04_streams_before_the_acknowledgement() {
    let unaware = |cut| {
        let mut peer = fresh_to_server(&Config::default(), cut);
        peer.send(PREFACE).send(&settings(&[]));
        peer
    };
    let mut running = 0;
    Flood {
        name: "streams without an acknowledgement",
        rounds: 1_000_000,
        end: calm("too_many_resets", 1_101),
        bound: 2 * MIB,
        reads: true,
        crowd: true,
        begin: &unaware,
        round: &mut |peer, n| {
            running = if n == 0 { 0 } else { running };
            peer.headers(id(n), false, REQUEST);
            running += usize::from(accept(peer).is_some());
            assert!(running <= 100, "{running} handlers");
        },
    }
    .check();
    let mut peer = unaware(Cut::Whole);
    drain(&mut peer);
    peer.advance(Config::default().settings_timeout);
    assert_away("no acknowledgement", &mut peer, ErrorCode::SETTINGS_TIMEOUT, "our SETTINGS were not acknowledged");
}

#[test]
fn x04_twin_a_client_that_races() {
    // It does not know the limit yet: what is above is refused, and may be tried again.
    let mut peer = fresh_to_server(&Config::default(), Cut::Whole);
    peer.send(PREFACE).send(&settings(&[]));
    let mut calls = Vec::new();
    for n in 0..300 {
        peer.headers(id(n), true, REQUEST);
        calls.extend(accept(&mut peer));
    }
    let said = peer.said();
    let refused = said.iter().filter(|said| said.reset_of(said.stream()) == Some(ErrorCode::REFUSED_STREAM)).count();
    assert_eq!((calls.len(), refused), (100, 200));
    peer.send(&settings_ack());
    for call in calls {
        peer.finish_ok(call);
    }
    peer.said();
    peer.assert_usable(id(301));
}

const PING_FRAME: &[u8] = b"\0\0\x08\x06\0\0\0\0\x0012345678";

#[test]
fn x05_ping_flood() {
    let rows = [("PING, answers unread", false, 0, calm("too_many_pings", 4)), ("PING, answers read", true, 0, calm("too_many_pings", 4))];
    for (name, reads, flags, end) in rows {
        let octets = frame(PING, flags, 0, b"12345678");
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&octets);
        };
        Flood { name, rounds: 1_000_000, end, bound: 64 * KIB, reads, crowd: true, begin: &to_server, round }.check();
    }
    // A client answers at any rate that the server reads; one that does not read stops it.
    let round = &mut |peer: &mut Peer, _| {
        peer.send(PING_FRAME);
    };
    let flood =
        Flood { name: "", rounds: 1_000_000, end: End::Lives, bound: 64 * KIB, reads: true, crowd: false, begin: &to_client, round };
    Flood { name: "PING to a client, unread", end: End::Paused(51), reads: false, ..flood }.check();
    let flood =
        Flood { name: "", rounds: 1_000_000, end: End::Lives, bound: 64 * KIB, reads: true, crowd: false, begin: &to_client, round };
    Flood { name: "PING to a client, read", ..flood }.check();
    // Acknowledgements of nothing.
    let ack = frame(PING, ACK, 0, b"12345678");
    for (name, begin) in [("PING ACK to a server", &to_server as &dyn Fn(Cut) -> Peer), ("PING ACK to a client", &to_client)] {
        let end = calm("too_many_useless_frames", 10_001);
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&ack);
        };
        Flood { name, rounds: 1_500_000, end, bound: 64 * KIB, reads: true, crowd: false, begin, round }.check();
    }
}

#[test]
fn x05_twin_keepalive_and_bandwidth_probes() {
    // Every five minutes for a week, with a call open; and one with each answer, as clients that measure the bandwidth do.
    let mut peer = to_server(Cut::Whole);
    open_streams(&mut peer, 1);
    for _ in 0..7 * 24 * 12 {
        peer.advance(Duration::from_secs(300));
        peer.send(PING_FRAME);
        drain(&mut peer);
    }
    for n in 0..size(100_000) {
        peer.headers(id(n), true, REQUEST);
        serve(&mut peer);
        drain(&mut peer);
        peer.send(PING_FRAME);
    }
    assert_eq!(peer.conn.close_reason(), None);
}

#[test]
fn x06_settings_flood() {
    type Octets<'a> = &'a dyn Fn(usize) -> Vec<u8>;
    let rows: [(&str, Octets<'_>); 4] = [
        ("SETTINGS without a value", &|_| settings(&[])),
        ("SETTINGS with another window each", &|n| settings(&[(4, 65_535 + n as u32 % 2)])),
        ("SETTINGS with another table each", &|n| settings(&[(1, 4_096 * (n as u32 % 2))])),
        ("SETTINGS with windows up and down in each", &|_| settings(&[(4, 0), (4, 65_535), (4, 1)].repeat(60))),
    ];
    for (name, octets) in rows {
        let round = &mut |peer: &mut Peer, n| {
            peer.send(&octets(n));
        };
        let end = calm("too_many_settings", 101);
        Flood { name, rounds: 1_000_000, end, bound: 64 * KIB, reads: true, crowd: true, begin: &to_server, round }.check();
    }
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(0x99, 1)].repeat(2_730)));
    assert_away("2,730 entries", &mut peer, ErrorCode::ENHANCE_YOUR_CALM, "too_many_settings_in_a_frame");
}

#[test]
fn x06_twin_windows_that_are_tuned() {
    // A client that doubles its window as it learns the bandwidth, then once a second for ever.
    let mut peer = to_server(Cut::Whole);
    open_streams(&mut peer, 50);
    for n in 0..size(36_000) {
        peer.send(&settings(&[(4, 65_535 << (n % 9))]));
        drain(&mut peer);
        peer.advance(Duration::from_millis(if n < 20 { 50 } else { 1_000 }));
    }
    peer.assert_open();
}

#[test]
fn x07_priority_flood() {
    let round = &mut |peer: &mut Peer, n| {
        peer.send(&frame(PRIORITY, 0, id(n), &[0, 0, 0, 0, 5]));
        assert!(n % 1_000 > 0 || peer.conn.probe().slots <= 90);
    };
    let end = calm("too_many_useless_frames", 10_001);
    Flood { name: "PRIORITY", rounds: 10_000_000, end, bound: 64 * KIB, reads: true, crowd: true, begin: &to_server, round }.check();
}

#[test]
fn x07_twin_a_client_with_priorities() {
    // One PRIORITY for each request and five at first, as clients of RFC 7540 send them, 300 requests a second.
    let mut peer = to_server(Cut::Whole);
    for n in 0..5 {
        peer.send(&frame(PRIORITY, 0, 3 + 2 * n, &[0, 0, 0, 0, 200]));
    }
    for n in 0..size(2_000_000) {
        peer.headers(id(n), true, REQUEST);
        peer.send(&frame(PRIORITY, 0, id(n), &[0, 0, 0, 3, 5]));
        serve(&mut peer);
        drain(&mut peer);
        peer.advance(Duration::from_micros(3_333));
    }
    assert_eq!(peer.conn.close_reason(), None);
}

/// A server with `calls` answers that wait for a window, each of `messages` messages of `octets`.
fn answers(calls: u32, messages: usize, octets: usize, entries: &[(u16, u32)]) -> Peer {
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(entries));
    if !entries.is_empty() {
        peer.send(&window_update(0, i32::MAX as u32 - 65_535));
    }
    for n in 0..calls {
        peer.headers(FIRST + 2 * n, true, REQUEST);
        let call = accept(&mut peer).expect("a request");
        for _ in 0..messages {
            peer.call(call).send_with(octets, |buffer| buffer.resize(buffer.len() + octets, 7)).expect("room");
        }
    }
    drain(&mut peer);
    peer
}

/// Steps for each update of one octet, which brings out one DATA frame.
fn dribble(peer: &mut Peer, updates: usize, stream: u32) -> f64 {
    let before = peer.conn.steps();
    for _ in 0..updates {
        peer.send(&window_update(stream, 1));
        assert_eq!(peer.output().iter().filter(|frame| frame.head.kind == DATA && frame.head.len == 1).count(), 1);
    }
    assert_eq!(peer.conn.close_reason(), None);
    (peer.conn.steps() - before) as f64 / updates as f64
}

#[test]
fn x08_windows_of_one_octet() {
    // Slow, not wrong: each update brings out one DATA frame, at the same cost however much waits, and however many.
    let (updates, long) = (size(1_000_000).min(15_000), size(16_000_000));
    let flat = dribble(&mut answers(1, 1, 16_000, &[(4, 0)]), updates / 10, FIRST);
    let rows = [
        ("a long answer", answers(1, 1, long, &[(4, 0)]), FIRST),
        ("many small messages", answers(1, 8_000, 3, &[(4, 0)]), FIRST),
        ("ninety answers, the stream's window", answers(90, 1, 16_000, &[(4, 0)]), FIRST),
        ("ninety answers, the connection's window", answers(90, 1, 16_000, &[]), 0),
        ("ninety answers of many messages", answers(90, 1_000, 3, &[]), 0),
    ];
    for (name, mut peer, stream) in rows {
        let cost = dribble(&mut peer, if name == "a long answer" { long } else { updates }, stream);
        assert!(cost <= 1.5 * flat, "{name}: {cost} steps an update, {flat} alone");
    }
    // A finished answer that is dribbled like that slower than 4 KiB a minute is given up.
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(4, 0)])).headers(FIRST, true, REQUEST);
    let call = accept(&mut peer).expect("a request");
    peer.put(call, vec![1; 5_000]);
    peer.finish_ok(call);
    for _ in 0..70 {
        peer.send(&window_update(FIRST, 1)).advance(Duration::from_secs(1));
        drain(&mut peer);
    }
    assert_eq!(peer.conn.probe().slots, 0);
    peer.assert_open();
}

#[test]
fn x08_updates_of_no_use() {
    for (name, stream) in [("updates of a stream", 1), ("updates of the connection", 0)] {
        let begin = |cut| {
            let mut peer = to_server(cut);
            open_streams(&mut peer, 1);
            peer.send(&settings(&[(4, 0)]));
            peer
        };
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&window_update(stream, 1));
        };
        let end = calm("too_many_window_updates", 1_100);
        Flood { name, rounds: 100_000, end, bound: 64 * KIB, reads: true, crowd: false, begin: &begin, round }.check();
    }
}

#[test]
fn x08_a_window_that_nobody_reads() {
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        peer.send(&settings(&[(4, i32::MAX as u32)])).send(&window_update(0, i32::MAX as u32 - 65_535)).headers(1, true, REQUEST);
        let id = accept(&mut peer).expect("a request");
        for _ in 0..10_000 {
            let sent = peer.call(id).send_with(16 * KIB, |buffer| buffer.resize(buffer.len() + 16 * KIB, 7));
            // A driver that asks, but whose socket takes nothing.
            let now = peer.now;
            let lent = peer.conn.transmit(now, 64 * KIB).len();
            assert!(lent > 0);
            if is_blocked(&sent) {
                break;
            }
        }
        peer.advance(Config::default().write_timeout).advance(Config::default().write_timeout);
        assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Timeout { .. })), "{:?}", peer.conn.close_reason());
        peer
    });
    assert!(used.peak < MIB, "{used:?}");
}

#[test]
fn x08_twin_a_client_that_grants_each_message() {
    // Two updates, of the stream and of the connection, for each message of a long stream.
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, true, REQUEST);
    let call = accept(&mut peer).expect("a request");
    for _ in 0..size(10_000_000) {
        peer.call(call).send_with(100, |buffer| buffer.resize(buffer.len() + 100, 1)).expect("room");
        drain(&mut peer);
        peer.send(&window_update(1, 105)).send(&window_update(0, 105));
    }
    peer.assert_open();
}

#[test]
fn x09_small_data() {
    // Five zero octets are an empty message, which is of use, and may come in four frames: until no more of them are held, one in five counts.
    let rows: [(&str, &[u8], &str, usize); 2] =
        [("empty DATA", b"", "too_many_empty_data_frames", 101), ("DATA of one octet", b"\0", "too_many_short_data_frames", 230)];
    for (name, octets, budget, most) in rows {
        let begin = |cut| {
            let mut peer = to_server(cut);
            peer.headers(id(0), false, REQUEST);
            peer
        };
        let round = &mut |peer: &mut Peer, _| {
            peer.data(id(0), false, octets);
        };
        let end = calm(budget, most);
        Flood { name, rounds: 10_000_000, end, bound: 64 * KIB, reads: true, crowd: false, begin: &begin, round }.check();
    }
    // Ends of streams that are over: each may be on its way once.
    let refused = |cut| {
        let mut peer = to_server(cut);
        open_streams(&mut peer, 100);
        peer.headers(id(0), false, REQUEST);
        peer
    };
    for (name, octets) in [
        ("ends of a refused stream", frame(DATA, END_STREAM, id(0), b"")),
        ("heads of a refused stream", frame(HEADERS, END_HEADERS, id(0), b"\x82")),
    ] {
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&octets);
        };
        let end = calm("too_many_useless_frames", 10_004);
        Flood { name, rounds: 10_000_000, end, bound: MIB, reads: true, crowd: false, begin: &refused, round }.check();
    }
}

#[test]
fn x09_twin_small_messages_that_are_read() {
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, false, REQUEST);
    let call = accept(&mut peer).expect("a request");
    for _ in 0..size(10_000_000) {
        peer.data(1, false, &message(b""));
        assert!(matches!(peer.call(call).recv(), Recv::Message(_)));
        drain(&mut peer);
    }
    peer.assert_open();
}

#[test]
fn x32_useless_frames() {
    let rows = [
        ("ALTSVC", 0x0a, 0),
        ("PRIORITY_UPDATE", 0x10, 0),
        ("an unknown type", 0xff, 0),
        ("RST_STREAM of an old stream", RST_STREAM, 4),
        ("WINDOW_UPDATE of an old stream", WINDOW_UPDATE, 4),
    ];
    for (name, kind, len) in rows {
        let begin = |cut| {
            let mut peer = to_server(cut);
            peer.headers(999, true, REQUEST);
            serve(&mut peer);
            drain(&mut peer);
            peer
        };
        let octets = if len == 0 { frame(kind, 0, 0, &[7; 100]) } else { frame(kind, 0, 999, &[0, 0, 0, 8]) };
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&octets);
        };
        let end = calm("too_many_useless_frames", 10_010);
        Flood { name, rounds: 10_000_000, end, bound: 64 * KIB, reads: true, crowd: false, begin: &begin, round }.check();
    }
    // What a client may be sent for calls that it has cancelled, and for none.
    let rows = [
        ("heads for a cancelled call", frame(HEADERS, END_HEADERS, 1, RESPONSE)),
        ("informational heads", frame(HEADERS, END_HEADERS, 3, b"\x08\x03103")),
    ];
    for (name, octets) in rows {
        let begin = |cut| {
            let mut peer = to_client(cut);
            let call = peer.unary(b"");
            peer.unary(b"");
            drain(&mut peer);
            peer.call(call).cancel();
            drain(&mut peer);
            peer
        };
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&octets);
        };
        let end = calm("too_many_useless_frames", 10_010);
        Flood { name, rounds: 10_000_000, end, bound: 64 * KIB, reads: true, crowd: false, begin: &begin, round }.check();
    }
}

#[test]
fn x32_after_our_goaway() {
    // Requests, bodies and their ends that a server will not look at any more, while one call keeps the connection open.
    let begin = |cut| {
        let mut peer = to_server(cut);
        peer.headers(1, false, REQUEST);
        accept(&mut peer).expect("a request");
        let now = peer.now;
        peer.conn.drain(now, None);
        drain(&mut peer);
        peer.send(&frame(PING, ACK, 0, b"drain\0\0\0"));
        drain(&mut peer);
        peer
    };
    let round = &mut |peer: &mut Peer, n| {
        peer.headers(id(n), false, REQUEST).data(id(n), true, b"");
    };
    let end = calm("too_many_useless_frames", 5_010);
    Flood { name: "requests after GOAWAY", rounds: 1_000_000, end, bound: 64 * KIB, reads: true, crowd: false, begin: &begin, round }
        .check();
    // What was on its way, from a client that had ten thousand requests a second in flight for 100 ms.
    let mut peer = begin(Cut::Whole);
    (0..1_000).for_each(|n| _ = peer.headers(id(n), false, REQUEST).data(id(n), true, &message(b"x")));
    assert_eq!(peer.conn.close_reason(), None);
}

#[test]
fn x32_twin_cancels_on_a_long_fast_link() {
    // A client that cancels 200 calls a second for ten minutes, while each answer is on its way: a head, 60 MB/s of DATA in all, and trailers.
    let mut peer = to_client(Cut::Whole);
    let seconds = size(60_000) / 100;
    for n in 0..200 * seconds as u32 {
        let (call, stream) = (peer.unary(b""), 1 + 2 * n);
        drain(&mut peer);
        peer.call(call).cancel();
        peer.headers(stream, false, RESPONSE);
        for _ in 0..18 {
            peer.data(stream, false, &[7; 16_384]);
            drain(&mut peer);
        }
        peer.headers(stream, true, TRAILERS_OK);
        drain(&mut peer);
        peer.advance(Duration::from_millis(5));
    }
    assert_eq!(peer.conn.close_reason(), None);
    peer.assert_whole();
}
