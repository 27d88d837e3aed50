//! Known attacks on HTTP/2 by numbers of frames: floods. Sizes run in a second; the heap is counted.

#[path = "support/attack.rs"]
mod attack;
#[path = "support/heap.rs"]
mod heap;
#[path = "support/peer.rs"]
mod peer;

use attack::*;
use peer::*;
use pintle_core::{
    CloseReason, Config, Endpoint, ErrorCode, Event, Recv,
    testing::{
        Cut,
        raw::{REQUEST, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

/// X01 rapid reset (CVE-2023-44487): a request and its reset, again and again.
#[test]
fn x01_rapid_reset() {
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        let (mut running, mut stream) = (Vec::new(), 1);
        let rounds = flood(&mut peer, 20_000, true, |_| {
            stream += 2;
            [frame(HEADERS, END_HEADERS, stream - 2, REQUEST), rst_stream(stream - 2, 8)].concat()
        });
        assert!(rounds <= 1_100, "closed after {rounds} pairs");
        while let Some(event) = peer.event() {
            if let Event::Incoming { call } = event {
                running.extend(peer.conn.accept(call, pintle_core::Token(0)));
            }
        }
        assert!(running.len() <= 20, "{} requests were shown though they had been taken back", running.len());
        calm(&peer);
        peer
    });
    assert!(used.peak < MIB, "{used:?}");
    // Running handlers are what counts, not open streams: resets free no slot.
    let mut peer = to_server(Cut::Whole);
    let mut running = 0;
    for n in 0..900 {
        let stream = 1 + 2 * n;
        peer.headers(stream, false, REQUEST);
        running += usize::from(peer.try_accept().is_some());
        peer.send(&rst_stream(stream, 8));
        peer.said();
        assert!(running <= 100, "{running} handlers at once");
    }
    // Legitimate: 30 cancels a second for ten minutes.
    let mut peer = to_server(Cut::Whole);
    for n in 0..18_000 {
        peer.headers(1 + 2 * n, false, REQUEST);
        let id = peer.accept();
        peer.send(&rst_stream(1 + 2 * n, 8));
        peer.call(id).cancel();
        peer.said();
        peer.advance(Duration::from_micros(33_334));
    }
    peer.assert_usable(36_001);
}

/// X02 MadeYouReset (CVE-2025-8671): the server is made to reset.
#[test]
fn x02_made_you_reset() {
    let primitives: [fn(u32) -> Vec<u8>; 6] = [
        |stream| window_update(stream, 0),
        |stream| window_update(stream, i32::MAX as u32),
        |stream| frame(PRIORITY, 0, stream, &[0; 4]),
        |stream| frame(PRIORITY, 0, stream, &[&stream.to_be_bytes()[..], &[1]].concat()),
        |stream| frame(DATA, 0, stream, b"late"),
        |stream| frame(HEADERS, END_HEADERS, stream, REQUEST),
    ];
    for (number, primitive) in primitives.iter().enumerate() {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            let mut running = Vec::new();
            let mut stream = 1;
            for _ in 0..15_000 {
                if peer.conn.close_reason().is_some() || !peer.conn.wants().read {
                    break;
                }
                peer.send(&[frame(HEADERS, END_HEADERS | END_STREAM, stream, REQUEST), primitive(stream)].concat());
                running.extend(peer.try_accept());
                peer.output_octets();
                assert!(running.len() <= 100, "primitive {number}: {} handlers", running.len());
                stream += 2;
            }
            // A PRIORITY frame that names its own stream is no error any more (RFC 9113 §5.3): refused streams end it.
            assert!(peer.conn.close_reason().is_some(), "primitive {number} went on for {stream}");
            assert!(stream <= 2 * 1_300, "primitive {number}: {stream}");
            peer
        });
        assert!(used.peak < MIB, "primitive {number}: {used:?}");
    }
}

/// X03: bad requests from a peer that never reads the resets.
#[test]
fn x03_reset_flood_without_a_reader() {
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        let bad = request_block("/S/M", &[("connection", b"close")]);
        let rounds = flood(&mut peer, 100_000, false, |n| frame(HEADERS, END_HEADERS, 1 + 2 * n as u32, &bad));
        assert!(rounds <= 1_100, "{rounds} resets were queued");
        assert!(!peer.conn.wants().read);
        // The driver tries; the peer takes nothing.
        let now = peer.now;
        assert!(!peer.conn.transmit(now, 64 * KIB).is_empty());
        peer.advance(Config::default().write_timeout).advance(Config::default().write_timeout);
        assert!(peer.conn.close_reason().is_some());
        peer
    });
    assert!(used.peak < 256 * KIB, "{used:?}");
}

/// X04: streams above the limit before our SETTINGS are acknowledged.
#[test]
fn x04_the_stream_limit_needs_no_acknowledgement() {
    let used = freed(|| {
        let mut peer = fresh_to_server(&Config::default(), Cut::Whole);
        peer.send(PREFACE).send(&settings(&[]));
        let mut accepted = 0;
        for n in 0..10_000 {
            if !peer.conn.wants().read {
                break;
            }
            peer.headers(1 + 2 * n, false, REQUEST);
            accepted += usize::from(peer.try_accept().is_some());
            if accepted == 100 && n == 150 {
                assert!(peer.said().iter().any(|said| said.reset_of(301) == Some(ErrorCode::REFUSED_STREAM)), "safe to try again");
            }
            peer.output_octets();
        }
        assert_eq!(accepted, 100);
        assert!(peer.conn.close_reason().is_some(), "the refused ones have a budget");
        peer
    });
    assert!(used.peak < 2 * MIB, "{used:?}");
    let mut peer = fresh_to_server(&Config::default(), Cut::Whole);
    peer.send(PREFACE).send(&settings(&[]));
    peer.said();
    peer.advance(Config::default().settings_timeout);
    let said = peer.said();
    assert!(said.iter().any(|said| said.kind() == GOAWAY && ErrorCode(said.frame.word(4)) == ErrorCode::SETTINGS_TIMEOUT), "{said:?}");
}

/// X05 ping flood (CVE-2019-9512), with and without a reader.
#[test]
fn x05_ping_flood() {
    for reads in [false, true] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            let rounds = flood(&mut peer, 1_000, reads, |_| frame(PING, 0, 0, b"12345678"));
            assert!(rounds <= 4, "{rounds} pings");
            calm(&peer);
            let said = peer.said();
            let goaway = said.iter().find(|said| said.kind() == GOAWAY).map(|said| said.frame.payload[8..].to_vec());
            assert!(reads || goaway.as_deref() == Some(b"too_many_pings"), "{goaway:?}");
            peer
        });
        assert!(used.peak < 128 * KIB, "{used:?}");
    }
    // A client answers pings at any rate that it can write.
    let used = freed(|| {
        let mut peer = to_client(Cut::Whole);
        flood(&mut peer, 100_000, false, |_| frame(PING, 0, 0, b"12345678"));
        assert!(!peer.conn.wants().read, "answers that nobody takes stop the reading");
        peer
    });
    assert!(used.peak < 128 * KIB, "{used:?}");
}

/// X06 settings flood (CVE-2019-9515): with 1 stream and with 100.
#[test]
fn x06_settings_flood() {
    for streams in [1, 100] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            for n in 0..streams {
                peer.headers(1 + 2 * n, false, REQUEST);
            }
            let rounds = flood(&mut peer, 10_000, true, |n| settings(&[(4, 65_535 + n as u32 % 2)]));
            assert!(rounds <= 110, "{rounds} SETTINGS");
            calm(&peer);
            peer
        });
        assert!(used.peak < MIB, "{used:?}");
    }
}

/// X07 PRIORITY flood (CVE-2019-9513): no state, and an end.
#[test]
fn x07_priority_flood() {
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        let rounds = flood(&mut peer, 100_000, true, |n| frame(PRIORITY, 0, 1 + 2 * n as u32, &[0, 0, 0, 0, 5]));
        assert!((1_000..=10_100).contains(&rounds), "{rounds} PRIORITY frames");
        assert_eq!(peer.conn.probe().slots, 0);
        calm(&peer);
        peer
    });
    assert!(used.peak < 128 * KIB, "{used:?}");
}

/// X08: windows of one octet, updates without end, and a huge window that nobody reads (CVE-2019-9511, -9517).
#[test]
fn x08_windows() {
    // One octet at a time is slow, not wrong: each update brings out one DATA frame.
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(4, 0)])).headers(1, true, REQUEST);
    let id = peer.accept();
    peer.put(id, vec![1; 5_000]);
    peer.said();
    for _ in 0..5_000 {
        peer.send(&window_update(1, 1));
        assert_eq!(peer.said().iter().filter(|said| said.kind() == DATA).count(), 1);
    }
    peer.assert_open();
    // Updates that bring nothing out.
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, true, REQUEST);
    let rounds = flood(&mut peer, 100_000, true, |_| window_update(1, 1));
    assert!(rounds <= 2_000, "{rounds} updates");
    calm(&peer);
    // All the window in the world, but nobody reads.
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        peer.send(&settings(&[(4, i32::MAX as u32)])).send(&window_update(0, i32::MAX as u32 - 65_535)).headers(1, true, REQUEST);
        let id = peer.accept();
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

/// X09 empty and tiny DATA (CVE-2019-9518, RUSTSEC-2026-0258).
#[test]
fn x09_small_data() {
    // Five zero octets are an empty message, which is of use: 125 frames instead of 101.
    for (octets, most) in [(&b""[..], 110), (b"\0", 130)] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            peer.headers(1, false, REQUEST);
            let rounds = flood(&mut peer, 60_000, true, |_| frame(DATA, 0, 1, octets));
            assert!(rounds <= most, "{rounds} frames of {} octets", octets.len());
            calm(&peer);
            peer
        });
        assert!(used.peak < 128 * KIB, "{used:?}");
    }
    // A healthy client with messages of five octets that are read at once.
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, false, REQUEST);
    let id = peer.accept();
    for _ in 0..100_000 {
        peer.data(1, false, &message(b""));
        assert!(matches!(peer.call(id).recv(), Recv::Message(_)));
        peer.output_octets();
    }
    peer.assert_open();
}

/// X32 frames of no use: no memory, an end, and a legitimate stream of cancels next to it that goes on.
#[test]
fn x32_useless_frames() {
    for kind in [0x0a_u8, 0x10, 0xff] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            let rounds = flood(&mut peer, 100_000, true, |_| frame(kind, 0, 0, &[7; 100]));
            assert!((5_000..=10_100).contains(&rounds), "{rounds} frames");
            calm(&peer);
            peer
        });
        assert!(used.peak < 64 * KIB, "{used:?}");
    }
    let mut peer = to_server(Cut::Whole);
    for n in 0..2_000_u32 {
        peer.send(&frame(0x0a, 0, 0, b"x")).headers(1 + 2 * n, true, REQUEST);
        let id = peer.accept();
        peer.finish_ok(id);
        peer.said();
        peer.advance(Duration::from_millis(5));
    }
    peer.headers(5_001, false, TRAILERS_OK);
    peer.said();
    peer.assert_usable(5_003);
}
