//! Faults that other implementations had in frames, header blocks and settings, replayed. Each name begins with the
//! area; the comment says what went wrong elsewhere. Every case runs with whole reads, octet by octet and with random cuts.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    CloseReason, Code, Config, ErrorCode, Event, Shape,
    hpack::huffman,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};

/// REQUEST with its strings Huffman-coded.
fn huffman_request() -> Vec<u8> {
    let string = |block: &mut Vec<u8>, text: &[u8]| {
        let mut coded = Vec::new();
        huffman::encode(text, &mut coded);
        integer(block, 0x80, 7, coded.len());
        block.extend(coded);
    };
    let mut block = vec![0x83, 0x86];
    for (index, value) in [(4, &b"/S/M"[..]), (1, b"x"), (31, b"application/grpc")] {
        integer(&mut block, 0x00, 4, index);
        string(&mut block, value);
    }
    block.push(0x00);
    string(&mut block, b"te");
    string(&mut block, b"trailers");
    block
}

/// Sends the block in these pieces, expects the request they make, and answers it.
fn pieces_make_a_request(peer: &mut Peer, stream: u32, pieces: &[&[u8]]) {
    let last = pieces.len() - 1;
    for (index, piece) in pieces.iter().enumerate() {
        let (kind, start) = if index == 0 { (HEADERS, END_STREAM) } else { (CONTINUATION, 0) };
        peer.send(&frame(kind, start | if index == last { END_HEADERS } else { 0 }, stream, piece));
    }
    let id = peer.accept();
    let call = peer.call(id);
    assert_eq!((call.path(), call.authority(), call.metadata().len()), ("/S/M", Some("x"), 0));
    peer.finish_ok(id);
    peer.said();
}

/// A header name that straddles HEADERS and CONTINUATION failed to decode (RFC 9113 §4.3, §6.10).
#[test]
fn b01_a_block_may_be_cut_anywhere() {
    let huffman = huffman_request();
    for block in [REQUEST, &huffman] {
        for cut in [Cut::Whole, Cut::Octet, Cut::Random(7)] {
            let mut peer = to_server(cut);
            for (n, at) in (1..block.len()).enumerate() {
                pieces_make_a_request(&mut peer, 1 + 2 * n as u32, &[&block[..at], &block[at..]]);
            }
            let mut stream = 101;
            for first in (1..block.len() - 1).step_by(3) {
                for second in (first..block.len()).step_by(5) {
                    pieces_make_a_request(&mut peer, stream, &[&block[..first], &block[first..second], &[], &block[second..]]);
                    stream += 2;
                }
            }
            peer.assert_usable(stream);
        }
    }
}

/// Invalid Huffman padding, and the EOS symbol, were accepted (RFC 7541 §5.2).
#[test]
fn b02_huffman_padding_is_checked() {
    each_cut(|cut| {
        let mut peer = to_client(cut);
        peer.unary(b"");
        peer.said();
        peer.headers(1, false, b"\x88\x00\x01a\x81\x07");
        peer.assert_open();
        for bad in [&b"\x88\x00\x01a\x81\x00"[..], b"\x88\x00\x01a\x82\x07\xff", b"\x88\x00\x01a\x84\xff\xff\xff\xff"] {
            let mut peer = to_client(cut);
            peer.unary(b"");
            peer.said();
            peer.headers(1, false, bad).assert_closed_by_compression();
        }
    });
}

trait Compression {
    fn assert_closed_by_compression(&mut self);
}

impl Compression for pintle_core::testing::raw::RawPeer {
    fn assert_closed_by_compression(&mut self) {
        let goaway = self.output().into_iter().find(|frame| frame.head.kind == GOAWAY).expect("GOAWAY");
        assert_eq!(ErrorCode(goaway.word(4)), ErrorCode::COMPRESSION_ERROR);
        assert!(self.conn.is_finished());
    }
}

/// Over-long integers were truncated, read for ever, or panicked where the input ended (RFC 7541 §5.1).
#[test]
fn b03_integers_have_an_end() {
    each_cut(|cut| {
        let zeros: &[u8] = b"\x7f\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
        for bad in [zeros, b"\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x3f"] {
            to_server(cut).headers(1, true, bad).assert_closed_by_compression();
        }
        // Cut by a frame's end, it is only not complete.
        let mut peer = to_server(cut);
        peer.send(&frame(HEADERS, END_STREAM, 1, b"\x3f"));
        peer.assert_open();
        let rest = [&b"\x00"[..], REQUEST].concat();
        peer.send(&frame(CONTINUATION, END_HEADERS, 1, &rest));
        let id = peer.accept();
        peer.finish_ok(id);
        peer.said();
        peer.assert_usable(3);
    });
}

/// The encoder took the peer's SETTINGS_HEADER_TABLE_SIZE as an order, and grew (RFC 7541 §4.2).
#[test]
fn b07_the_encoder_has_its_own_cap() {
    let mut peer = to_client_with(&Config::default(), Cut::Whole, &[(1, u32::MAX)]);
    for n in 0..2_000_u32 {
        let mut metadata = pintle_core::Metadata::new();
        metadata.append("x-own", &format!("{n:0>200}")).expect("a valid field");
        let id = peer.start_with(Shape::Unary, Some(&metadata), Default::default());
        peer.put(id, &b""[..]);
        let said = peer.said();
        let request = said.iter().find(|said| said.kind() == HEADERS).expect("a request");
        assert_eq!(request.field("x-own").map(str::len), Some(200));
        peer.call(id).cancel();
        peer.said();
        assert!(peer.conn.probe().encoder.size <= 4_096);
    }
}

/// Tens of thousands of names in one block panicked a header map.
#[test]
fn b08_fields_are_counted() {
    let mut config = Config::default();
    config.max_header_list = 16 << 20;
    let mut block = REQUEST.to_vec();
    for n in 0..30_000 {
        literal(&mut block, 0x40, format!("x{n:05}").as_bytes(), b"");
    }
    let mut peer = to_server_with(&config, Cut::Whole);
    let mut pieces = block.chunks(16_384).peekable();
    let mut kind = HEADERS;
    while let Some(piece) = pieces.next() {
        let flags = if pieces.peek().is_none() { END_HEADERS } else { 0 };
        peer.send(&frame(std::mem::replace(&mut kind, CONTINUATION), flags, 1, piece));
    }
    let said = peer.said();
    let refused = said.iter().any(|said| said.stream() == 1 && (said.reset_of(1).is_some() || said.ends()) || said.kind() == GOAWAY);
    assert!(refused, "{said:?}");
    assert_eq!(peer.try_accept(), None, "the application must not see it");
}

/// A header list over the limit was refused with a code that makes clients try again for ever (RFC 9113 §8.7, §10.5.1).
#[test]
fn b09_a_list_over_the_limit_fails_one_call_for_good() {
    each_cut(|cut| {
        let mut config = Config::default();
        config.max_header_list = 8_192;
        let mut peer = to_server_with(&config, cut);
        let plain: usize = decode(REQUEST).iter().map(|(name, value)| name.len() + value.len() + 32).sum();
        let exactly = |size: usize| vec![b'v'; size - plain - 32 - 1];
        peer.request(1, "/S/M", false, &[("a", &exactly(8_193))]);
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == 1 && (said.ends() || said.kind() == RST_STREAM)), "{said:?}");
        assert_eq!(said.iter().find_map(|said| said.reset_of(1)).filter(|code| *code == ErrorCode::REFUSED_STREAM), None);
        assert_eq!(peer.try_accept(), None);
        peer.request(3, "/S/M", true, &[("a", &exactly(8_192))]);
        let id = peer.accept();
        peer.finish_ok(id);
        peer.said();
        peer.assert_usable(5);
        let large = [REQUEST, &block(&[("a", &"v".repeat(40_960))])].concat();
        peer.send(&frame(HEADERS, 0, 7, &large[..16_000])).send(&frame(CONTINUATION, 0, 7, &large[16_000..32_000]));
        peer.send(&frame(CONTINUATION, END_HEADERS, 7, &large[32_000..]));
        assert_eq!(peer.try_accept(), None);
        for said in peer.said().iter().filter(|said| said.kind() == GOAWAY) {
            assert!(said.frame.word(0) >= 7, "a GOAWAY below the stream would make its client try again: {said:?}");
        }
    });
}

/// One call's bad base64 closed the connection of all.
#[test]
fn b10_bad_base64_hurts_one_call() {
    each_cut(|cut| {
        let mut peer = to_server(cut);
        let block = request_block("/S/M", &[("x-bin", b"!!!")]);
        let octets = [
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &block),
            frame(HEADERS, END_HEADERS, 3, REQUEST),
            frame(DATA, END_STREAM, 3, &message(b"fine")),
        ];
        peer.send(&octets.concat());
        let mut finished = 0;
        while let Some(id) = peer.try_accept() {
            // The bad value may be dropped; it must not be shown.
            assert_eq!(peer.call(id).metadata().get_bin("x-bin"), None);
            peer.finish_ok(id);
            finished += 1;
        }
        assert!((1..=2).contains(&finished));
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == 3 && said.field("grpc-status") == Some("0")), "{said:?}");
        assert!(said.iter().any(|said| said.stream() == 1 && said.ends()), "{said:?}");
        peer.assert_usable(5);
    });
}

/// Invalid fields passed, and smuggled a second request through a proxy (RFC 9113 §8.2.1, §8.3).
#[test]
fn b11_fields_are_checked() {
    let bad_fields: &[&[(&str, &[u8])]] = &[
        &[("Te", b"trailers")],
        &[("a b", b"c")],
        &[("a\x7f", b"c")],
        &[("a:b", b"c")],
        &[("", b"c")],
        &[("a", b"c\0d")],
        &[("a", b"c\nd")],
        &[("a", b"c\rd")],
        &[("a", b" c")],
        &[("a", b"c ")],
        &[("a", b"\tc")],
        &[("host", b"x"), ("host", b"y")],
        &[("host", b"elsewhere")],
        &[("content-length", b"5"), ("content-length", b"6")],
        &[("content-length", b"+5")],
        &[("connection", b"close")],
        &[("transfer-encoding", b"chunked")],
        &[(":method", b"POST")],
        &[(":path", b"/S/M")],
        &[(":secret", b"x")],
    ];
    let heads: &[&[(&str, &[u8])]] = &[
        &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":authority", b"user@h")],
        &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":path", b"/S/M")],
        &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":status", b"200")],
        &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":unknown", b"1")],
        &[(":method", b"POST"), (":scheme", b"http"), (":path", b"")],
        &[(":method", b"POST"), (":scheme", b"http")],
        &[(":method", b"POST"), (":path", b"/S/M")],
        &[(":scheme", b"http"), (":path", b"/S/M")],
    ];
    let mut blocks: Vec<Vec<u8>> = bad_fields.iter().map(|fields| request_block("/S/M", fields)).collect();
    blocks.extend(
        heads
            .iter()
            .map(|head| [literal_block(head), literal_block(&[("content-type", b"application/grpc"), ("te", b"trailers")])].concat()),
    );
    each_cut(|cut| {
        let mut peer = to_server(cut);
        for (n, block) in blocks.iter().enumerate() {
            let stream = 1 + 4 * n as u32;
            peer.headers(stream, false, block);
            let said = peer.said();
            let reset = said.iter().any(|said| said.reset_of(stream) == Some(ErrorCode::PROTOCOL_ERROR));
            let refused = said.iter().any(|said| said.stream() == stream && said.field(":status") == Some("400"));
            assert!(reset || refused, "{:?} gave {said:?}", decode(block));
            assert_eq!(peer.try_accept(), None, "{:?}", decode(block));
            peer.assert_usable(stream + 2);
        }
    });
}

/// Frames of a kind that nobody has defined crashed a table of parsers (RFC 9113 §4.1, §5.5).
#[test]
fn b12_unknown_frames_are_ignored() {
    each_cut(|cut| {
        let mut peer = to_server(cut);
        peer.send(b"\x00\x00\x03\x0a\x00\x00\x00\x00\x00\x00\x01A");
        peer.headers(1, false, REQUEST);
        for kind in [0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x20, 0xff] {
            for len in [0, 1, 16_384] {
                for stream in [0, 1, 99] {
                    peer.send(&frame(kind, 0xff, stream, &vec![0; len]));
                }
            }
        }
        peer.data(1, true, &message(b"x"));
        let id = peer.accept();
        assert_eq!(peer.messages(id).0.len(), 1);
        peer.finish_ok(id);
        peer.said();
        peer.assert_usable(3);
        peer.send(&frame(HEADERS, 0, 5, REQUEST)).send(&frame(0x0a, 0, 5, b""));
        peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
        let mut peer = to_server(cut);
        peer.send(&frame(0x0a, 0, 0, &vec![0; 16_385]));
        peer.assert_closed(&[ErrorCode::FRAME_SIZE_ERROR]);
    });
}

/// An HTTP/1.1 answer was read as a frame of 4.7 MB (RFC 9113 §3.4).
#[test]
fn b13_an_http1_server_is_recognised() {
    each_cut(|cut| {
        let mut peer = fresh_to_client(&Config::default(), cut);
        let id = peer.unary(b"");
        peer.said();
        peer.send(b"HTTP/1.1 ");
        assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Foreign { looks_like }) if looks_like.contains("HTTP/1")));
        let outcome = peer.outcome(id);
        assert_eq!(outcome.status.code(), Code::Unavailable);
        assert!(outcome.status.message().contains("HTTP/1"), "{}", outcome.status.message());
        assert!(outcome.unprocessed);
    });
}

/// SETTINGS were not validated: a frame size of 0 made the sender loop for ever (RFC 9113 §6.5, §6.5.2).
#[test]
fn b14_settings_are_validated() {
    let protocol = ErrorCode::PROTOCOL_ERROR;
    let size = ErrorCode::FRAME_SIZE_ERROR;
    let cases: &[(Vec<u8>, Option<ErrorCode>)] = &[
        (settings(&[(5, 0)]), Some(protocol)),
        (settings(&[(5, 16_383)]), Some(protocol)),
        (settings(&[(5, 16_777_216)]), Some(protocol)),
        (settings(&[(4, 0x8000_0000)]), Some(ErrorCode::FLOW_CONTROL_ERROR)),
        (settings(&[(2, 2)]), Some(protocol)),
        (settings(&[(2, 1)]), Some(protocol)),
        (frame(SETTINGS, 0, 0, &[0; 5]), Some(size)),
        (frame(SETTINGS, 0, 1, &[]), Some(protocol)),
        (frame(SETTINGS, ACK, 0, &[0; 6]), Some(size)),
        (settings(&[(0x1234, 7)]), None),
        (settings(&[(4, 5), (4, 65_535), (5, 16_384)]), None),
    ];
    each_cut(|cut| {
        for (octets, code) in cases {
            let mut peer = to_client(cut);
            let id = peer.unary(b"hello");
            peer.send(octets);
            match code {
                Some(code) => {
                    peer.assert_closed(&[*code]);
                    assert_eq!(peer.outcome(id).status.code(), Code::Unavailable);
                }
                None => {
                    let said = peer.said();
                    assert_eq!(said.iter().filter(|said| said.kind() == SETTINGS && said.frame.head.has(ACK)).count(), 1);
                    peer.call(id).cancel();
                    peer.said();
                    peer.assert_usable(3);
                }
            }
        }
    });
    // A client may set ENABLE_PUSH to 1 (§6.5.2).
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(2, 1)]));
    peer.said();
    peer.assert_usable(1);
}

/// Trailers and requests may come with their END_STREAM before the block is complete, but end after it (§6.2).
#[test]
fn end_stream_counts_after_the_whole_block() {
    each_cut(|cut| {
        let mut peer = to_client(cut);
        let id = peer.unary(b"");
        peer.said();
        peer.headers(1, false, RESPONSE).data(1, false, &message(b"x"));
        peer.send(&frame(HEADERS, END_STREAM, 1, &TRAILERS_OK[..5]));
        assert!(!peer.messages(id).1);
        peer.send(&frame(CONTINUATION, END_HEADERS, 1, &TRAILERS_OK[5..]));
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    });
}

/// What is not HTTP/2 at a server's door: the octets are kept for another protocol.
#[test]
fn a_foreign_client_is_recognised() {
    for (octets, looks_like) in [(&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], "HTTP/1"), (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS")] {
        each_cut(|cut| {
            let mut peer = fresh_to_server(&Config::default(), cut);
            peer.send(octets);
            assert!(peer.events().contains(&Event::Foreign));
            assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Foreign { looks_like: found }) if found.contains(looks_like)));
            let kept = peer.conn.foreign().expect("the first octets");
            assert_eq!(kept, &octets[..kept.len()]);
        });
    }
}
