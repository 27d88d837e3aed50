//! Known attacks on HTTP/2 and gRPC, at sizes that run in a second: what they cost us, and how they end. The heap is counted.

#[path = "support/heap.rs"]
mod heap;
#[path = "support/peer.rs"]
mod peer;

use heap::{Use, lock, measure};
use peer::*;
use pintle_core::{
    CloseReason, Code, Config, Endpoint, ErrorCode, Event, Metadata, Recv, Shape,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Feeds `octets` again and again until the connection closes or `most` rounds have passed; output is read where `reads`. Returns the rounds.
fn flood(peer: &mut Peer, most: usize, reads: bool, mut octets: impl FnMut(usize) -> Vec<u8>) -> usize {
    for round in 0..most {
        if peer.conn.close_reason().is_some() {
            return round;
        }
        if peer.conn.wants().read {
            peer.send(&octets(round));
        } else if !reads {
            // The second answer to output that nobody takes: reads stop, and the write timer ends it.
            return round;
        }
        if reads {
            peer.output_octets();
        }
    }
    most
}

fn calm(peer: &Peer) {
    assert!(
        matches!(peer.conn.close_reason(), Some(CloseReason::Protocol { code: ErrorCode::ENHANCE_YOUR_CALM, .. })),
        "{:?}",
        peer.conn.close_reason()
    );
}

/// A connection and everything about it is freed with it.
fn freed(work: impl FnOnce() -> Peer) -> Use {
    let (_, whole) = measure(|| {
        let (peer, used) = measure(work);
        drop(peer);
        used
    });
    let (peer, used) = measure(|| ());
    let () = peer;
    assert!(whole.kept <= 64 * KIB as isize, "{} octets were kept after the connection was dropped", whole.kept);
    Use { kept: whole.kept, peak: whole.peak.max(used.peak), ..whole }
}

/// X01 rapid reset (CVE-2023-44487): a request and its reset, again and again.
#[test]
fn x01_rapid_reset() {
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
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
    let _turn = lock();
    for (octets, most) in [(&b""[..], 110), (b"\0", 110)] {
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

/// X10 fields without name and value (CVE-2019-9516).
#[test]
fn x10_empty_fields() {
    let _turn = lock();
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        let mut block = REQUEST.to_vec();
        // 22 KB by the +32 rule: over the limit of 16, but not so far that the connection ends.
        (0..700).for_each(|_| block.extend(b"\x00\x80\x80"));
        peer.headers(1, true, &block);
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == 1), "{said:?}");
        assert_eq!(peer.try_accept(), None);
        peer.assert_usable(3);
        peer
    });
    assert!(used.peak < 256 * KIB, "{used:?}");
}

/// X11 CONTINUATION flood (VU#421644), with full and with empty frames; and a block that never ends.
#[test]
fn x11_continuation_flood() {
    let _turn = lock();
    for piece in [vec![0x82; 16_384], Vec::new(), vec![0x00]] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            peer.send(&frame(HEADERS, 0, 1, &[]));
            let rounds = flood(&mut peer, 1_000, true, |_| frame(CONTINUATION, 0, 1, &piece));
            assert!(rounds <= 9, "{rounds} CONTINUATION frames of {}", piece.len());
            peer
        });
        assert!(used.peak < 300 * KIB, "{used:?}");
    }
    let mut peer = to_server(Cut::Whole);
    peer.send(&frame(HEADERS, 0, 1, REQUEST));
    peer.advance(Config::default().header_block_timeout);
    assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Timeout { .. })), "{:?}", peer.conn.close_reason());
}

/// X12 HPACK bombs: a large entry, or a tiny one, named again and again (CVE-2016-6581, CVE-2026-49975).
#[test]
fn x12_hpack_bombs() {
    let _turn = lock();
    for value in [vec![b'v'; 3_900], vec![b'v'; 1]] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            peer.send(&settings(&[(4, 0)]));
            let mut first = REQUEST.to_vec();
            literal(&mut first, 0x40, b"bomb", &value);
            peer.headers(1, false, &first);
            for n in 1..100 {
                let block = [&request_block("/S/M", &[])[..], &vec![0xbe; 16_000]].concat();
                if peer.conn.wants().read {
                    peer.headers(1 + 2 * n, false, &block);
                    peer.output_octets();
                }
            }
            assert!(peer.conn.probe().open_streams <= 1, "none of these is a request");
            peer
        });
        assert!(used.peak < 2_560 * KIB, "{used:?}");
    }
}

/// X13 HPACK's traps: a literal in single octets is linear, lengths are checked before anything is kept (CVE-2022-41723, CVE-2023-33953).
#[test]
fn x13_hpack_cpu_traps() {
    let _turn = lock();
    let used = freed(|| {
        let mut peer = to_server(Cut::Octet);
        let mut block = REQUEST.to_vec();
        literal(&mut block, 0x00, b"a", &vec![b'x'; 12_000]);
        peer.headers(1, true, &block);
        let id = peer.accept();
        peer.finish_ok(id);
        peer.said();
        peer.assert_usable(3);
        peer
    });
    assert!(used.peak < 128 * KIB, "{used:?}");
    for bad in [&b"\x00\x01a\x7f\xff\xff\xff\xff\x0f"[..], b"\x00\x7f\xff\xff\xff\xff\x0f", b"\x7f\x80\x80\x80\x80\x80\x80"] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            peer.headers(1, true, bad);
            peer.assert_closed(&[ErrorCode::COMPRESSION_ERROR]);
            peer
        });
        assert!(used.peak < 64 * KIB, "{used:?}");
    }
}

/// X14: whatever became of a request, its block has changed the table, and the next request still decodes right (CVE-2024-7246).
#[test]
fn x14_tables_stay_in_step() {
    let _turn = lock();
    let bad: [&[(&str, &[u8])]; 5] =
        [&[("x-bin", b"!!!")], &[("connection", b"close")], &[("A", b"b")], &[("big", &[b'v'; 20_000])], &[("content-type", b"text/html")]];
    for (number, fields) in bad.iter().enumerate() {
        let mut peer = to_server(Cut::Random(100));
        // The bad request also inserts a field that the next one refers to, behind and before the fault.
        for before in [false, true] {
            let stream = if before { 5 } else { 1 };
            let mut block = request_block("/S/M", &[]);
            let name = if before { &b"x-before"[..] } else { b"x-after" };
            if before {
                literal(&mut block, 0x40, name, b"kept");
            }
            for (field, value) in *fields {
                literal(&mut block, 0x00, field.as_bytes(), value);
            }
            if !before {
                literal(&mut block, 0x40, name, b"kept");
            }
            let mut pieces = block.chunks(16_384).peekable();
            let mut kind = HEADERS;
            while let Some(piece) = pieces.next() {
                let flags = if pieces.peek().is_none() { END_HEADERS } else { 0 } | if kind == HEADERS { END_STREAM } else { 0 };
                peer.send(&frame(std::mem::replace(&mut kind, CONTINUATION), flags, stream, piece));
            }
            while let Some(id) = peer.try_accept() {
                peer.finish_ok(id);
            }
            peer.said();
            assert_eq!(peer.conn.probe().decoder.entries[0], (name.to_vec(), b"kept".to_vec()), "fault {number}");
            peer.headers(stream + 2, true, &[&request_block("/S/M", &[])[..], &[0xbe]].concat());
            let id = peer.accept();
            assert_eq!(peer.call(id).metadata().get(std::str::from_utf8(name).expect("ASCII")), Some("kept"), "fault {number}");
            peer.finish_ok(id);
            peer.said();
        }
        peer.assert_usable(9);
    }
}

/// X15, X16 header tricks: long known fields, and fields that smuggle, in requests and in trailers (CVE-2023-1428).
#[test]
fn x15_x16_header_tricks() {
    let _turn = lock();
    let long = vec![b'x'; 9_000];
    let heads: [&[(&str, &[u8])]; 4] =
        [&[("te", &long)], &[(":unknown", &long)], &[("transfer-encoding", b"chunked")], &[("host", b"a"), ("host", b"b")]];
    let mut peer = to_server(Cut::Random(1_000));
    for (n, head) in heads.iter().enumerate() {
        let stream = 1 + 4 * n as u32;
        peer.request(stream, "/S/M", true, head);
        assert_eq!(peer.try_accept(), None, "{:?}", head[0].0);
        peer.said();
        peer.assert_usable(stream + 2);
    }
    let scheme =
        [literal_block(&[(":method", b"POST"), (":scheme", &long), (":path", b"/S/M")]), request_block("/", &[])[2..].to_vec()].concat();
    peer.headers(101, true, &scheme);
    assert_eq!(peer.try_accept(), None);
    peer.said();
    peer.assert_usable(103);
    // Trailers of a response.
    let mut peer = to_client(Cut::Whole);
    for (n, (name, value)) in [("connection", "close"), (":status", "200"), ("a", "b\nc"), ("A", "b")].into_iter().enumerate() {
        let id = peer.unary(b"");
        peer.said();
        let stream = 1 + 2 * n as u32;
        peer.headers(stream, false, RESPONSE).data(stream, false, &message(b""));
        peer.headers(stream, true, &[&block(&[("grpc-status", "0")])[..], &block(&[(name, value)])].concat());
        assert_eq!(peer.outcome(id).status.code(), Code::Internal, "{name}");
        peer.said();
    }
    peer.assert_usable(9);
}

/// X17 the slow ones: no preface, half a preface, an idle connection's memory.
#[test]
fn x17_slow_and_silent_peers() {
    let _turn = lock();
    let config = Config::default();
    for start in [&b""[..], b"PRI * HT", PREFACE] {
        let mut peer = fresh_to_server(&config, Cut::Whole);
        peer.send(start);
        peer.advance(config.handshake_timeout - Duration::from_millis(2));
        assert_eq!(peer.conn.close_reason(), None);
        let deadline = peer.conn.wants().deadline.expect("a handshake has a deadline");
        assert!(deadline.saturating_since(peer.now) <= Duration::from_millis(2));
        peer.advance(Duration::from_millis(2));
        assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Timeout { .. })));
        peer.said();
        assert!(peer.conn.is_finished());
    }
    let ((), used) = measure(|| {
        let mut idle: Vec<Peer> = (0..100).map(|_| to_server(Cut::Whole)).collect();
        idle.iter_mut().for_each(|peer| _ = peer.said());
    });
    assert!(used.peak < 100 * 8 * KIB, "{} octets for an idle connection, its peer included", used.peak / 100);
    // One octet of a body per minute on 100 calls: held by their deadlines only, and nothing grows.
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        for n in 0..100 {
            peer.request(1 + 2 * n, "/S/M", false, &[("grpc-timeout", b"10M")]);
            peer.accept();
        }
        for _ in 0..10 {
            for n in 0..100 {
                peer.data(1 + 2 * n, false, &[0; 300]);
            }
            peer.advance(Duration::from_secs(60));
            peer.output_octets();
        }
        let ended = peer.events().into_iter().filter(|event| matches!(event, Event::Finished { code: Code::DeadlineExceeded, .. })).count();
        assert_eq!(ended, 100);
        peer
    });
    assert!(used.peak < 2 * MIB, "{used:?}");
}

/// X18: a window of zero, and never more; answers without messages still go out.
#[test]
fn x18_zero_window() {
    let _turn = lock();
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        peer.send(&settings(&[(4, 0)]));
        for n in 0..99 {
            peer.headers(1 + 2 * n, true, REQUEST);
            let id = peer.accept();
            let _ = peer.call(id).send_with(1_000, |buffer| buffer.resize(buffer.len() + 1_000, 1));
            peer.finish_ok(id);
        }
        peer.headers(199, true, REQUEST);
        let id = peer.accept();
        peer.finish_ok(id);
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == 199 && said.field("grpc-status") == Some("0")), "trailers need no window");
        peer.send(&frame(PING, 0, 0, b"12345678"));
        assert!(peer.said().iter().any(|said| said.kind() == PING && said.frame.head.has(ACK)));
        assert_eq!(peer.conn.probe().slots, 99);
        peer.advance(Duration::from_secs(61));
        peer.said();
        assert_eq!(peer.conn.probe().slots, 0, "an answer that nobody takes is given up");
        peer.assert_open();
        peer
    });
    assert!(used.peak < MIB, "{used:?}");
}

/// X21: lengths that are announced and never come (CVE-2024-37168).
#[test]
fn x21_declared_lengths() {
    let _turn = lock();
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        for n in 0..100 {
            peer.headers(1 + 2 * n, false, REQUEST);
            let id = peer.accept();
            assert!(matches!(peer.call(id).recv(), Recv::Pending));
            // The limit, 4 MiB, and one octet of it.
            peer.data(1 + 2 * n, false, b"\x00\x00\x40\x00\x00\x07");
            peer.output_octets();
        }
        peer
    });
    assert!(used.peak < 12 * MIB, "{used:?}");
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        peer.headers(1, false, REQUEST);
        peer.accept();
        peer.data(1, false, b"\x00\xff\xff\xff\xff");
        let said = peer.said();
        assert!(said.iter().any(|said| said.field("grpc-status") == Some("8")), "{said:?}");
        peer
    });
    assert!(used.peak < 64 * KIB, "{used:?}");
}

/// X22 huge metadata, in both directions: one call fails, and far too much ends the connection.
#[test]
fn x22_huge_metadata() {
    let _turn = lock();
    let used = freed(|| {
        let mut peer = to_client(Cut::Whole);
        let large = "m".repeat(15_000);
        let two = [RESPONSE, &block(&[("grpc-status", "0"), ("a", &large)])].concat();
        let id = peer.unary(b"");
        peer.said();
        peer.send(&frame(HEADERS, END_STREAM, 1, &two)).send(&frame(CONTINUATION, END_HEADERS, 1, &block(&[("b", &large)])));
        assert_ne!(peer.outcome(id).status.code(), Code::Ok);
        peer.said();
        peer.assert_usable(3);
        let id = peer.unary(b"");
        peer.said();
        peer.send(&frame(HEADERS, 0, 5, RESPONSE));
        let rounds = flood(&mut peer, 1_000, true, |_| frame(CONTINUATION, 0, 5, &block(&[("b", &large)])));
        assert!(rounds <= 9, "{rounds}");
        assert_eq!(peer.outcome(id).status.code(), Code::Unavailable);
        peer
    });
    assert!(used.peak < 400 * KIB, "{used:?}");
    // What we send is checked against the peer's limit.
    let mut peer = to_client_with(&Config::default(), Cut::Whole, &[(6, 1_000)]);
    let mut metadata = Metadata::new();
    metadata.append("a", &"v".repeat(2_000)).expect("a valid field");
    let (now, head) = (peer.now, pintle_core::RequestHead::new("/S/M", Shape::Unary).with_metadata(&metadata));
    let refused = peer.conn.start(now, head, pintle_core::CallOptions::default()).err();
    assert_eq!(refused, Some(pintle_core::StartError::HeadTooLarge));
}

/// X23 deadlines by the thousand, at both ends of what can be written, and clocks that jump.
#[test]
fn x23_deadlines() {
    let _turn = lock();
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        let mut ended = 0;
        for n in 0..20_000 {
            let timeout: &[u8] = if n % 2 == 0 { b"1n" } else { b"99999999H" };
            peer.request(1 + 2 * n, "/S/M", false, &[("grpc-timeout", timeout)]);
            let id = peer.try_accept();
            peer.advance(Duration::from_millis(1 + u64::from(n % 3)));
            for event in peer.events() {
                ended += usize::from(matches!(event, Event::Finished { .. }));
            }
            if let Some(id) = id {
                peer.call(id).finish(&pintle_core::Status::ok(), None);
            }
            peer.output_octets();
            peer.send(&rst_stream(1 + 2 * n, 8));
            peer.advance(Duration::from_millis(30));
        }
        assert!(ended <= 10_000, "each call ends once");
        assert_eq!(peer.conn.probe().slots, 0);
        peer.now = pintle_core::Timestamp::MAX;
        peer.advance(Duration::MAX);
        peer
    });
    assert!(used.peak < MIB, "{used:?}");
}

/// X24 path tricks: see `bugs_calls::b70`; here the encodings of the path (CVE-2026-33186).
#[test]
fn x24_path_tricks() {
    let _turn = lock();
    let mut peer = to_server(Cut::Whole);
    let paths = [
        "/S\\M",
        "/./S/M",
        "/S/../S/M",
        "/S%2FM",
        "/S/M%00",
        "/S/M ",
        "/S /M",
        "/\u{53}\u{301}/M",
        "http://x/S/M",
        "/S/M;a=b",
        "/S/M/..",
        "/S/m",
        "/%53/M",
    ];
    for (n, path) in paths.iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        peer.request(stream, path, true, &[]);
        assert_eq!(peer.try_accept(), None, "{path}");
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == stream), "{path}");
    }
    peer.assert_usable(101);
}

/// X29 settings that hang or blow up the sender: a call that cannot go on ends at its deadline.
#[test]
fn x29_settings_that_hang() {
    let _turn = lock();
    for entries in [&[(3, 0)][..], &[(4, 0)], &[(6, 0)], &[(1, u32::MAX)], &[(1, 0)], &[(5, 16_777_215)]] {
        let mut peer = to_client_with(&Config::default(), Cut::Whole, entries);
        let deadline = peer.now.saturating_add(Duration::from_secs(1));
        let head = pintle_core::RequestHead::new("/S/M", Shape::Unary);
        let now = peer.now;
        let options = pintle_core::CallOptions::default().deadline(Some(deadline));
        let started = peer.conn.start(now, head, options);
        let Ok(id) = started else { continue };
        peer.put(id, vec![5; 1_000]);
        peer.said();
        peer.said();
        peer.advance(Duration::from_secs(1));
        assert_eq!(peer.outcome(id).status.code(), Code::DeadlineExceeded, "{entries:?}");
        peer.said();
        peer.assert_open();
    }
}

/// X30 PUSH_PROMISE, to both roles.
#[test]
fn x30_push_promise() {
    let _turn = lock();
    for (stream, promised) in [(1, 2_u32), (0, 2), (1, 0), (1, 3)] {
        for flags in [0, END_HEADERS] {
            let octets = frame(PUSH_PROMISE, flags, stream, &[&promised.to_be_bytes(), REQUEST].concat());
            let mut peer = to_client(Cut::Random(5));
            peer.unary(b"");
            peer.said();
            peer.send(&octets);
            peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
            let mut peer = to_server(Cut::Random(5));
            peer.headers(1, true, REQUEST).send(&octets);
            peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
        }
    }
}

/// X32 frames of no use: no memory, an end, and a legitimate stream of cancels next to it that goes on.
#[test]
fn x32_useless_frames() {
    let _turn = lock();
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
