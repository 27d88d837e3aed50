//! Known attacks on HTTP/2 and gRPC by what frames say: header blocks, lengths, settings, deadlines, silence. The heap is counted.

#[path = "support/attack.rs"]
mod attack;
#[path = "support/heap.rs"]
mod heap;
#[path = "support/peer.rs"]
mod peer;

use attack::*;
use heap::measure;
use peer::*;
use pintle_core::{
    CloseReason, Code, Config, Endpoint, ErrorCode, Event, Metadata, Recv, Shape,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE},
        wire::*,
    },
};
use std::time::Duration;

/// X10 fields without name and value (CVE-2019-9516).
#[test]
fn x10_empty_fields() {
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
