//! Attacks by header blocks: X10 to X13.

use crate::{attack::*, heap::measure, peer::*};
use pintle_core::{
    Code, Config, ErrorCode,
    testing::{Cut, raw::REQUEST, wire::*},
};
use std::time::Duration;

/// Sends a block as HEADERS and CONTINUATION frames of up to `most` octets.
pub(crate) fn send_block(peer: &mut Peer, stream: u32, end: bool, block: &[u8], most: usize) {
    let mut kind = HEADERS;
    let mut rest = block;
    while kind == HEADERS || !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.len().min(most));
        rest = more;
        let flags = if rest.is_empty() { END_HEADERS } else { 0 } | if kind == HEADERS && end { END_STREAM } else { 0 };
        peer.send(&frame(std::mem::replace(&mut kind, CONTINUATION), flags, stream, piece));
    }
}

/// A block of so many octets or more: a request, and fields by `field`.
fn padded(octets: usize, mut field: impl FnMut(&mut Vec<u8>, usize)) -> Vec<u8> {
    let mut block = REQUEST.to_vec();
    let mut n = 0;
    while block.len() < octets {
        field(&mut block, n);
        n += 1;
    }
    block
}

/// Steps for each octet of one block on a fresh connection.
fn block_cost(block: &[u8], cut: Cut) -> f64 {
    let mut peer = to_server(cut);
    let before = (peer.conn.steps(), peer.conn.stats().octets_received);
    send_block(&mut peer, 1, true, block, 16_384);
    (peer.conn.steps() - before.0) as f64 / (peer.conn.stats().octets_received - before.1) as f64
}

/// Name and value without an octet, Huffman-coded.
const EMPTY: &[u8] = b"\x00\x80\x80";

#[test]
fn x10_empty_fields() {
    for cut in [Cut::Whole, Cut::Octet] {
        let used = freed(|| {
            let mut peer = to_server(cut);
            // 22 KB by the +32 rule: over the limit of 16, but not so far that the connection ends.
            send_block(&mut peer, 1, true, &[REQUEST, &EMPTY.repeat(700)].concat(), 16_384);
            assert_eq!(accept(&mut peer), None);
            assert!(peer.said().iter().any(|said| said.reset_of(1) == Some(ErrorCode::PROTOCOL_ERROR)));
            peer.assert_usable(3);
            peer
        });
        assert!(used.peak < 64 * KIB, "{used:?}");
        let used = freed(|| {
            let mut peer = to_server(cut);
            send_block(&mut peer, 1, true, &EMPTY.repeat(16_000), 16_384);
            assert_away("16,000 empty fields", &mut peer, ErrorCode::ENHANCE_YOUR_CALM, "header_list_too_large");
            peer
        });
        assert!(used.peak < 256 * KIB, "{used:?}");
    }
    // Nothing of a block stays with the connection.
    let mut peer = to_server(Cut::Whole);
    let block = [REQUEST, &EMPTY.repeat(600)].concat();
    let mut stream = -1_i32;
    let mut round = |peer: &mut Peer| {
        stream += 2;
        peer.headers(stream as u32, true, &block);
        drain(peer);
        peer.advance(Duration::from_secs(1));
    };
    // What is remembered of streams that were reset has its full size after so many.
    (0..1_100).for_each(|_| round(&mut peer));
    let ((), used) = measure(|| (0..size(50_000)).for_each(|_| round(&mut peer)));
    assert!(used.kept < 1 << 10, "{used:?}");
    let (few, many) = (block_cost(&EMPTY.repeat(200), Cut::Whole), block_cost(&EMPTY.repeat(2_000), Cut::Whole));
    assert!(many <= 1.5 * few, "{few} steps an octet of 200 fields, {many} of 2,000");
}

#[test]
fn x10_twin_empty_values() {
    let names: Vec<String> = (0..100).map(|n| format!("x-{n}")).collect();
    let fields: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let mut peer = to_server(Cut::Random(50));
    peer.request(1, "/S/M", true, &fields);
    let call = accept(&mut peer).expect("a request");
    assert!(names.iter().all(|name| peer.call(call).metadata().get(name) == Some("")));
}

#[test]
fn x11_continuation_flood() {
    let rows = [
        ("full", vec![0x82; 16_384], "header_block_too_large", 5),
        ("empty", Vec::new(), "too_many_continuations", 9),
        ("one octet", vec![0x00], "too_many_continuations", 9),
        ("Huffman", [&b"\x00\x01a\xff\xf1\x7e"[..], &[0x55; 16_378]].concat(), "header_block_too_large", 5),
    ];
    for (name, piece, budget, most) in rows {
        let begin = |cut| {
            let mut peer = to_server(cut);
            peer.send(&frame(HEADERS, 0, 1, &[]));
            peer
        };
        let octets = frame(CONTINUATION, 0, 1, &piece);
        let round = &mut |peer: &mut Peer, _| {
            peer.send(&octets);
        };
        Flood { name, rounds: 100_000, end: calm(budget, most), bound: 100 * KIB, reads: true, crowd: false, begin: &begin, round }.check();
    }
    for start in [frame(HEADERS, 0, 1, REQUEST), frame(HEADERS, 0, 1, REQUEST)[..20].to_vec()] {
        let mut peer = to_server(Cut::Whole);
        peer.send(&start);
        peer.advance(Config::default().header_block_timeout);
        if start.len() > 20 {
            assert_away("no end", &mut peer, ErrorCode::ENHANCE_YOUR_CALM, "a header block did not end");
        } else {
            // The front of a frame holds up nobody but its sender, who must have the rest of it ready.
            assert_eq!(peer.conn.close_reason(), None);
        }
    }
}

#[test]
fn x11_twin_blocks_in_pieces() {
    // Eight CONTINUATIONs for a large list; a list of the largest size octet by octet.
    let large = "v".repeat(15_000);
    for (most, cut) in [(2_000, Cut::Whole), (16_384, Cut::Octet)] {
        let mut peer = to_server(cut);
        send_block(&mut peer, 1, true, &request_block("/S/M", &[("large", large.as_bytes())]), most);
        let call = accept(&mut peer).expect("a request");
        assert_eq!(peer.call(call).metadata().get("large"), Some(large.as_str()));
        peer.finish_ok(call);
        peer.said();
        peer.assert_usable(3);
    }
}

/// A hundred calls whose heads say as much as may be said by references to one entry of the table; answers wait for a window that never comes.
fn bomb(cut: Cut, value: usize, references: usize, then_held: bool) -> (usize, usize) {
    let mut wire = 0;
    let used = freed(|| {
        let mut peer = to_server(cut);
        peer.send(&settings(&[(4, 0)]));
        let start = peer.conn.stats().octets_received;
        // The entry is made by a call that is answered at once, and is the newest from then on.
        let mut first = REQUEST.to_vec();
        literal(&mut first, 0x40, b"b", &vec![b'v'; value]);
        peer.headers(1, true, &first);
        serve(&mut peer);
        drain(&mut peer);
        let block = [&request_block("/S/M", &[])[..], &vec![0xbe; references]].concat();
        for n in 1..=100 {
            peer.headers(1 + 2 * n, true, &block);
            let call = accept(&mut peer).expect("within the limits");
            peer.call(call).send_with(4, |buffer| buffer.extend_from_slice(b"some")).expect("room");
            if !then_held {
                peer.call(call).finish(&pintle_core::Status::ok(), None);
            }
        }
        drain(&mut peer);
        wire = (peer.conn.stats().octets_received - start) as usize;
        assert_eq!(peer.conn.probe().slots, 100);
        // Held by drips of one octet in a window of none.
        for second in 0..660 {
            peer.send(&window_update(0, 1));
            peer.advance(Duration::from_secs(1));
            drain(&mut peer);
            if !then_held && second == 61 {
                assert_eq!(peer.conn.probe().slots, 0, "an answer that nobody takes is given up");
                break;
            }
        }
        while let Some(event) = peer.event() {
            if let pintle_core::Event::Finished { call, code, .. } = event {
                assert_eq!(code, Code::Cancelled);
                peer.call(call).finish(&pintle_core::Status::ok(), None);
            }
        }
        assert_eq!(peer.conn.probe().slots, 0);
        peer.headers(501, true, REQUEST);
        assert!(serve(&mut peer));
        peer
    });
    (used.peak, wire)
}

#[test]
fn x12_hpack_bombs() {
    for cut in [Cut::Whole, Cut::Octet] {
        for held in [false, true] {
            let (heap, _) = bomb(cut, 3_900, 3, held);
            assert!(heap < 2_560 * KIB, "{heap} octets");
            let (heap, wire) = bomb(cut, 1, 110, held);
            assert!(heap < 12 * wire, "{heap} octets for {wire} on the wire");
        }
    }
    // Far more references than may be: refused, and nothing of it kept.
    for value in [3_900, 1] {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            let mut first = REQUEST.to_vec();
            literal(&mut first, 0x40, b"bomb", &vec![b'v'; value]);
            peer.headers(1, false, &first);
            let block = [&request_block("/S/M", &[])[..], &vec![0xbe; 16_000]].concat();
            peer.headers(3, false, &block);
            assert_away("16,000 references", &mut peer, ErrorCode::ENHANCE_YOUR_CALM, "header_list_too_large");
            peer
        });
        assert!(used.peak < 128 * KIB, "{used:?}");
    }
    // A long name named again and again, each time with another value: as cheap an octet as literals are.
    let mut entry = REQUEST.to_vec();
    literal(&mut entry, 0x40, &[b'n'; 3_900], b"");
    let named = |octets: usize| [&entry[..], &b"\x0f\x2f\x00".repeat(octets / 3)].concat();
    let plain = block_cost(&padded(16_000, |block, n| literal(block, 0, b"some-name", format!("{n:050}").as_bytes())), Cut::Whole);
    let costs = [named(1_000), named(10_000), named(60_000)].map(|block| block_cost(&block, Cut::Whole));
    assert!(costs[2] <= 1.5 * costs[1].max(costs[0]) && costs[2] <= 20.0 * plain, "{costs:?} steps an octet, {plain} of plain literals");
}

#[test]
fn x12_twin_cookies_in_crumbs_and_slow_readers() {
    // Repeated fields within the limits; a client that takes its answer slowly, but takes it.
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(4, 0)]));
    let crumbs: Vec<(&str, &[u8])> = (0..100).map(|_| ("cookie", &b"a=b"[..])).collect();
    peer.request(1, "/S/M", true, &crumbs);
    let call = accept(&mut peer).expect("a request");
    peer.put(call, vec![1; 60_000]);
    peer.finish_ok(call);
    let mut came = 0;
    for _ in 0..12 {
        peer.send(&window_update(1, 5_001)).advance(Duration::from_secs(50));
        came += peer.said().iter().filter(|said| said.kind() == DATA).map(|said| said.frame.payload.len()).sum::<usize>();
    }
    assert_eq!(came, 60_005);
    peer.send(&settings(&[(4, 65_535)]));
    peer.assert_usable(3);
}

#[test]
fn x13_hpack_cpu_traps() {
    // A Huffman-coded literal of 60 KiB, which is over the limit, and one that is not, in single octets and in one piece.
    for octets in [60_000, 9_000] {
        let mut block = REQUEST.to_vec();
        block.extend_from_slice(b"\x00\x01a");
        integer(&mut block, 0x80, 7, octets);
        block.extend_from_slice(&vec![0x1c; octets - 1]);
        block.push(0x1f);
        let (whole, single) = (block_cost(&block, Cut::Whole), block_cost(&block, Cut::Octet));
        assert!(single < 20.0 * whole.max(0.2), "{octets}: {whole} steps an octet in one piece, {single} in single octets");
        assert!(block_cost(&block, Cut::Whole) < 1.0);
    }
    // Lengths and integers without end: COMPRESSION_ERROR, and no allocation for what is only announced.
    let long: [&[u8]; 5] = [
        b"\x00\x01a\x7f\xff\xff\xff\xff\x0f",
        b"\x00\x7f\xff\xff\xff\xff\x0f",
        b"\x7f\x80\x80\x80\x80\x80\x80",
        b"\xff\x80\x80\x80\x80\x80\x00",
        b"\x3f\xff\xff\xff\xff\x7f",
    ];
    for cut in [Cut::Whole, Cut::Octet] {
        for bad in long {
            let used = freed(|| {
                let mut peer = to_server(cut);
                peer.headers(1, true, bad);
                assert_away("too long", &mut peer, ErrorCode::COMPRESSION_ERROR, "a header block does not decode");
                peer
            });
            assert!(used.peak < 64 * KIB, "{used:?}");
        }
    }
}

#[test]
fn x13_twin_a_large_token() {
    for cut in [Cut::Whole, Cut::Octet] {
        let mut peer = to_server(cut);
        let token = "t".repeat(12_000);
        peer.request(1, "/S/M", true, &[("authorization", token.as_bytes())]);
        let call = accept(&mut peer).expect("a request");
        assert_eq!(peer.call(call).metadata().get("authorization"), Some(token.as_str()));
        peer.finish_ok(call);
        peer.said();
        peer.assert_usable(3);
    }
}
