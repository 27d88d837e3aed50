//! Frames, header blocks and settings.

use crate::{heap::measure, run::*};
use pintle_core::{
    CallId, CloseReason, Code, Config, ErrorCode, Event, Metadata, Shape, Status,
    hpack::huffman,
    testing::{
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
        integer(&mut block, 0x40, 6, index);
        string(&mut block, value);
    }
    block.push(0x40);
    string(&mut block, b"te");
    string(&mut block, b"trailers");
    block
}

/// HEADERS and a CONTINUATION for each piece but the first.
fn pieces(peer: &mut Peer, stream: u32, flags: u8, pieces: &[&[u8]]) {
    let last = pieces.len() - 1;
    for (index, piece) in pieces.iter().enumerate() {
        let (kind, start) = if index == 0 { (HEADERS, flags) } else { (CONTINUATION, 0) };
        peer.send(&frame(kind, start | if index == last { END_HEADERS } else { 0 }, stream, piece));
    }
}

/// Sends the block in these pieces, expects the request they make, and answers it.
fn pieces_make_a_request(peer: &mut Peer, stream: u32, cut: &[&[u8]]) {
    pieces(peer, stream, END_STREAM, cut);
    let id = peer.accept();
    let call = peer.call(id);
    assert_eq!((call.path(), call.authority(), call.metadata().len()), ("/S/M", Some("x"), 0));
    peer.finish_ok(id);
    peer.said();
}

/// A header name that straddles HEADERS and CONTINUATION failed to decode (RFC 9113 §4.3, §6.10; RFC 7541 §5.2).
pub(crate) fn b01_a_request_may_be_cut_anywhere(cut: Way) {
    let huffman = huffman_request();
    for block in [REQUEST, &huffman] {
        let mut uncut = to_server(cut);
        let mut peer = to_server(cut);
        let mut stream = 1;
        for first in 1..block.len() {
            pieces_make_a_request(&mut peer, stream, &[&block[..first], &block[first..]]);
            pieces_make_a_request(&mut uncut, stream, &[block]);
            stream += 2;
            for second in (first..block.len()).step_by(cut.step(1, 7)) {
                pieces_make_a_request(&mut peer, stream, &[&block[..first], &block[first..second], &[], &block[second..]]);
                pieces_make_a_request(&mut uncut, stream, &[block]);
                stream += 2;
            }
        }
        assert_eq!(peer.conn.probe().decoder, uncut.conn.probe().decoder, "the tables are the same however blocks are cut");
    }
}

/// The same for responses and their trailers.
pub(crate) fn b01_a_response_may_be_cut_anywhere(cut: Way) {
    let mut peer = to_client(cut);
    for (n, at) in (1..RESPONSE.len()).enumerate() {
        let id = peer.unary(b"");
        peer.said();
        let stream = 1 + 2 * n as u32;
        let (head, end) = (RESPONSE.split_at(at), TRAILERS_OK.split_at(at.min(TRAILERS_OK.len() - 1)));
        pieces(&mut peer, stream, 0, &[head.0, &[], head.1]);
        peer.data(stream, false, &message(b"x"));
        pieces(&mut peer, stream, END_STREAM, &[end.0, end.1, &[]]);
        assert_eq!(peer.outcome(id).status.code(), Code::Ok, "cut at {at}");
    }
}

/// Invalid Huffman padding, and the EOS symbol, were accepted (RFC 7541 §5.2).
pub(crate) fn b02_huffman_padding_is_checked(cut: Way) {
    let client = || {
        let mut peer = to_client(cut);
        peer.unary(b"");
        peer.said();
        peer
    };
    let good = b"\x88\x00\x01a\x81\x07";
    let mut peer = client();
    peer.headers(1, false, good).headers(1, true, TRAILERS_OK);
    peer.assert_open();
    // A response is no request, but that is an affair of its stream.
    let mut peer = to_server(cut);
    peer.headers(1, false, good);
    peer.assert_reset(1, &[ErrorCode::PROTOCOL_ERROR]);
    for bad in [&b"\x88\x00\x01a\x81\x00"[..], b"\x88\x00\x01a\x82\x07\xff", b"\x88\x00\x01a\x84\xff\xff\xff\xff"] {
        for mut peer in [client(), to_server(cut)] {
            peer.headers(1, false, bad);
            peer.assert_closed(&[ErrorCode::COMPRESSION_ERROR]);
        }
    }
}

/// Over-long integers were truncated, read for ever, or panicked where the input ended (RFC 7541 §5.1, §7.4).
pub(crate) fn b03_integers_have_an_end(cut: Way) {
    let client = || {
        let mut peer = to_client(cut);
        let id = peer.unary(b"");
        peer.said();
        (peer, id)
    };
    let zeros: &[u8] = b"\x7f\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
    // The same where a string's length is, in its value, and in the update of a table's size.
    let places: [&[u8]; 4] = [
        b"\x00\x7f\xff\xff\xff\xff\xff\x7f",
        b"\x00\x01a\x7f\xff\xff\xff\xff\x7f",
        b"\x3f\xff\xff\xff\xff\xff\x7f",
        b"\x0f\xff\xff\xff\xff\xff\x01",
    ];
    let bad = [zeros, b"\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x3f", b"\x7f", b"\x00\x01a", b"\x00\x05ab"];
    for bad in bad.into_iter().chain(places) {
        for mut peer in [client().0, to_server(cut)] {
            peer.headers(1, true, bad);
            peer.assert_closed(&[ErrorCode::COMPRESSION_ERROR]);
        }
    }
    // Cut by a frame's end, it is only not complete.
    let mut peer = to_server(cut);
    peer.send(&frame(HEADERS, END_STREAM, 1, b"\x3f"));
    peer.assert_open();
    peer.send(&frame(CONTINUATION, END_HEADERS, 1, &[b"\x00", REQUEST].concat()));
    let id = peer.accept();
    peer.finish_ok(id);
    peer.said();
    peer.assert_usable(3);
    let (mut peer, id) = client();
    peer.send(&frame(HEADERS, 0, 1, b"\x3f"));
    peer.assert_open();
    peer.send(&frame(CONTINUATION, END_HEADERS, 1, &[b"\x00", RESPONSE].concat()));
    peer.data(1, false, &message(b"")).headers(1, true, TRAILERS_OK);
    assert_eq!(peer.outcome(id).status.code(), Code::Ok);
}

/// A field of 200 octets that no other call has.
fn own(n: usize) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.append("x-own", &format!("{n:0>200}")).expect("a valid field");
    metadata
}

/// SETTINGS_HEADER_TABLE_SIZE: as much as there is, nothing, and up and down in one frame.
const TABLES: [&[(u16, u32)]; 4] = [&[(1, u32::MAX)], &[(1, 0)], &[(1, 0), (1, 4_096)], &[(1, 100), (1, 0), (1, u32::MAX)]];

/// The encoder took the peer's SETTINGS_HEADER_TABLE_SIZE as an order, and grew; or failed at every change (RFC 7541 §4.2).
pub(crate) fn b07_the_encoder_has_its_own_cap(cut: Way) {
    let calls = cut.some_of(5_000);
    let mut peer = to_client(cut);
    for n in 0..calls {
        if n % (calls / 4).max(1) == 0 {
            peer.send(&settings(TABLES[n * 4 / calls]));
        }
        let id = peer.start_with(Shape::Unary, Some(&own(n)), Default::default());
        peer.put(id, &b""[..]);
        // It is decoded, so the tables are the same.
        let said = peer.said();
        let request = said.iter().find(|said| said.kind() == HEADERS).expect("a request");
        assert_eq!((request.field("x-own").map(str::len), request.field(":path")), (Some(200), Some("/S/M")));
        assert!(peer.conn.probe().encoder.size <= 4_096);
        answer(&mut peer, 1 + 2 * n as u32);
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
    let mut peer = to_server(cut);
    for n in 0..calls {
        if n % (calls / 4).max(1) == 0 {
            peer.send(&settings(TABLES[n * 4 / calls]));
        }
        peer.headers(1 + 2 * n as u32, true, REQUEST);
        let id = peer.accept();
        peer.call(id).finish(&Status::ok(), Some(&own(n)));
        let said = peer.said();
        assert!(said.iter().any(|said| said.field("x-own").is_some_and(|value| value.len() == 200)), "{said:?}");
        assert!(peer.conn.probe().encoder.size <= 4_096);
    }
}

/// Tens of thousands of names in one block panicked a header map (RFC 9113 §10.5.1).
pub(crate) fn b08_fields_are_counted(cut: Way) {
    let mut config = Config::default();
    config.max_header_list = 16 << 20;
    let many = |block: &[u8]| {
        let mut block = block.to_vec();
        for n in 0..cut.some_of(30_000).max(1_000) {
            literal(&mut block, 0x40, format!("x{n:05}").as_bytes(), b"");
        }
        block
    };
    for server in [true, false] {
        let (mut peer, id, block) = if server {
            (to_server_with(&config, cut), None, many(REQUEST))
        } else {
            let mut peer = to_client_with(&config, cut, &[]);
            let id = peer.unary(b"");
            peer.said();
            (peer, Some(id), many(RESPONSE))
        };
        let chunks: Vec<_> = block.chunks(16_384).collect();
        let ((), used) = measure(|| pieces(&mut peer, 1, 0, &chunks));
        assert!(used.peak < 4 * block.len() + (64 << 10), "{} octets of heap for a block of {}", used.peak, block.len());
        let said = peer.said();
        let refused = said.iter().any(|said| said.stream() == 1 && (said.reset_of(1).is_some() || said.ends()) || said.kind() == GOAWAY);
        assert!(refused, "{said:?}");
        match id {
            Some(id) => assert!(!peer.outcome(id).status.is_ok()),
            None => assert_eq!(peer.try_accept(), None, "the application must not see it"),
        }
    }
}

/// A field `a` that makes the list of this block so large.
fn filled(block: &[u8], size: usize) -> Vec<u8> {
    let plain: usize = decode(block).iter().map(|(name, value)| name.len() + value.len() + 32).sum();
    [block, &literal_block(&[("a", &vec![b'v'; size - plain - 32 - 1])])].concat()
}

/// A header list over the limit was refused with a code that makes clients try again for ever (RFC 9113 §8.7, §10.5.1).
pub(crate) fn b09_a_list_over_the_limit_fails_one_call_for_good(cut: Way) {
    let mut config = Config::default();
    config.max_header_list = 8_192;
    let mut peer = to_server_with(&config, cut);
    peer.headers(1, false, &filled(REQUEST, 8_193));
    let said = peer.said();
    assert!(said.iter().any(|said| said.stream() == 1 && (said.ends() || said.kind() == RST_STREAM)), "{said:?}");
    assert_eq!(said.iter().find_map(|said| said.reset_of(1)).filter(|code| *code == ErrorCode::REFUSED_STREAM), None);
    assert_eq!(peer.try_accept(), None);
    peer.headers(3, true, &filled(REQUEST, 8_192));
    let id = peer.accept();
    peer.finish_ok(id);
    peer.said();
    peer.assert_usable(5);
    let large = filled(REQUEST, 40_960);
    pieces(&mut peer, 7, 0, &[&large[..16_000], &large[16_000..32_000], &large[32_000..]]);
    assert_eq!(peer.try_accept(), None);
    for said in peer.said().iter().filter(|said| said.kind() == GOAWAY) {
        assert!(said.frame.word(0) >= 7, "a GOAWAY below the stream would make its client try again: {said:?}");
    }
    // A response over the limit fails its call, and says nothing of trying again.
    let mut peer = to_client_with(&config, cut, &[]);
    let ids = [peer.unary(b""), peer.unary(b""), peer.unary(b"")];
    peer.said();
    peer.headers(1, false, &filled(RESPONSE, 8_193)).headers(3, false, &filled(RESPONSE, 8_192)).headers(5, false, RESPONSE);
    peer.data(3, false, &message(b"")).headers(3, true, TRAILERS_OK);
    peer.data(5, false, &message(b"")).headers(5, true, &filled(TRAILERS_OK, 8_193));
    let outcomes = ids.map(|id| peer.outcome(id));
    assert_eq!(outcomes.each_ref().map(|it| it.status.code()), [Code::ResourceExhausted, Code::Ok, Code::ResourceExhausted]);
    assert!(outcomes.iter().all(|outcome| !outcome.unprocessed));
}

/// One call's bad base64 closed the connection of all.
pub(crate) fn b10_bad_base64_hurts_one_call(cut: Way) {
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
}

/// A list of fields.
type List = &'static [(&'static str, &'static [u8])];

/// Fields that neither a request nor a response may have.
const BAD_FIELDS: [List; 19] = [
    &[("Te", b"trailers")],
    &[("x-Upper", b"c")],
    &[("a b", b"c")],
    &[("a\x7f", b"c")],
    &[("a:b", b"c")],
    &[("", b"c")],
    &[("a\u{e9}", b"c")],
    &[("a", b"c\0d")],
    &[("a", b"c\nd")],
    &[("a", b"c\rd")],
    &[("a", b" c")],
    &[("a", b"c ")],
    &[("a", b"\tc")],
    &[("content-length", b"5"), ("content-length", b"6")],
    &[("content-length", b"+5")],
    &[("content-length", b"-0")],
    &[("connection", b"close")],
    &[("transfer-encoding", b"chunked")],
    &[(":secret", b"x")],
];

const BAD_IN_REQUESTS: [List; 5] =
    [&[("host", b"x"), ("host", b"y")], &[("host", b"elsewhere")], &[("te", b"gzip")], &[(":method", b"POST")], &[(":path", b"/S/M")]];

const BAD_REQUESTS: [List; 9] = [
    &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":authority", b"user@h")],
    &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":path", b"/S/M")],
    &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":status", b"200")],
    &[(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":unknown", b"1")],
    &[(":method", b"POST"), (":scheme", b"http"), (":path", b"")],
    &[(":method", b"POST"), (":scheme", b"http")],
    &[(":method", b"POST"), (":path", b"/S/M")],
    &[(":scheme", b"http"), (":path", b"/S/M")],
    &[],
];

const BAD_RESPONSES: [List; 9] = [
    &[],
    &[(":status", b"200"), (":status", b"200")],
    &[("server", b"x"), (":status", b"200")],
    &[(":status", b"200"), (":path", b"/S/M")],
    &[(":status", b"")],
    &[(":status", b"20")],
    &[(":status", b"2000")],
    &[(":status", b"+20")],
    &[(":status", b"101")],
];

/// Invalid fields passed, and smuggled a second request through a proxy (RFC 9113 §8.2.1, §8.3, §8.1.1).
pub(crate) fn b11_requests_are_checked(cut: Way) {
    let rest: List = &[("content-type", b"application/grpc"), ("te", b"trailers")];
    let fields = BAD_FIELDS.iter().chain(&BAD_IN_REQUESTS).map(|fields| request_block("/S/M", fields));
    let heads = BAD_REQUESTS.iter().map(|head| [literal_block(head), literal_block(rest)].concat());
    let mut peer = to_server(cut);
    for (n, block) in fields.chain(heads).enumerate() {
        let stream = 1 + 4 * n as u32;
        peer.headers(stream, false, &block);
        let said = peer.said();
        let reset = said.iter().any(|said| said.reset_of(stream) == Some(ErrorCode::PROTOCOL_ERROR));
        let refused = said.iter().any(|said| said.stream() == stream && said.field(":status") == Some("400"));
        assert!(reset || refused, "{:?} gave {said:?}", decode(&block));
        assert_eq!(peer.try_accept(), None, "{:?}", decode(&block));
        peer.assert_usable(stream + 2);
    }
}

/// The same for the heads and the trailers of responses.
pub(crate) fn b11_responses_are_checked(cut: Way) {
    let rest: List = &[("content-type", b"application/grpc")];
    let fields = BAD_FIELDS.iter().map(|fields| [RESPONSE, &literal_block(fields)].concat());
    let heads = BAD_RESPONSES.iter().map(|head| [literal_block(head), literal_block(rest)].concat());
    let trailers = BAD_FIELDS.iter().filter(|fields| fields[0].0 != "content-length").map(|fields| (true, literal_block(fields)));
    let status_in_trailers = (true, literal_block(&[(":status", b"200")]));
    let blocks = fields.chain(heads).map(|block| (false, block)).chain(trailers).chain([status_in_trailers]);
    let mut peer = to_client(cut);
    for (n, (in_trailers, block)) in blocks.enumerate() {
        let stream = 1 + 4 * n as u32;
        let id = peer.unary(b"");
        peer.said();
        if in_trailers {
            peer.headers(stream, false, RESPONSE).data(stream, false, &message(b"x"));
            peer.headers(stream, true, &[TRAILERS_OK, &block].concat());
        } else {
            peer.headers(stream, false, &block);
        }
        assert_eq!(peer.outcome(id).status.code(), Code::Internal, "{:?}", decode(&block));
        peer.assert_reset(stream, &[ErrorCode::PROTOCOL_ERROR]);
        peer.assert_usable(stream + 2);
    }
}

/// Frames of a kind that nobody has defined crashed a table of parsers (RFC 9113 §4.1, §4.2, §5.5, §6.10).
pub(crate) fn b12_unknown_frames_are_ignored(cut: Way) {
    let unknown = |peer: &mut Peer| {
        for kind in [0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x20, 0xff] {
            for len in [0, 1, 16_384] {
                for stream in [0, 1, 98, 99] {
                    peer.send(&frame(kind, 0xff, stream, &vec![0; len]));
                }
            }
        }
    };
    let mut peer = to_server(cut);
    peer.send(b"\x00\x00\x03\x0a\x00\x00\x00\x00\x00\x00\x01A");
    peer.headers(1, false, REQUEST);
    unknown(&mut peer);
    peer.data(1, true, &message(b"x"));
    let id = peer.accept();
    assert_eq!(peer.messages(id).0.len(), 1);
    peer.finish_ok(id);
    peer.said();
    peer.assert_usable(3);
    peer.send(&frame(HEADERS, 0, 5, REQUEST)).send(&frame(0x0a, 0, 5, b""));
    peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);

    let mut peer = to_client(cut);
    let id = peer.unary(b"");
    peer.said();
    peer.headers(1, false, RESPONSE).data(1, false, &message(b"x"));
    unknown(&mut peer);
    peer.headers(1, true, TRAILERS_OK);
    assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    peer.unary(b"");
    peer.said();
    peer.send(&frame(HEADERS, 0, 3, RESPONSE)).send(&frame(0x0a, 0, 3, b""));
    peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);

    for mut peer in [to_server(cut), to_client(cut)] {
        peer.send(&frame(0x0a, 0, 0, &vec![0; 16_385]));
        peer.assert_closed(&[ErrorCode::FRAME_SIZE_ERROR]);
    }
}

/// An HTTP/1.1 answer was read as a frame of 4.7 MB (RFC 9113 §3.4).
pub(crate) fn b13_an_http1_server_is_recognised(cut: Way) {
    for (answer, looks_like) in [
        (&b"HTTP/1.1 "[..], "HTTP/1"),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "HTTP/1"),
        (b"HTTP/1.0 502 ", "HTTP/1"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"),
    ] {
        let mut peer = fresh_to_client(&Config::default(), cut);
        let id = peer.unary(b"");
        peer.said();
        let ((), used) = measure(|| _ = peer.send(answer));
        assert!(used.peak < 64 << 10, "{} octets of heap for an answer that is none", used.peak);
        if looks_like == "TLS" {
            // Seven octets are no frame's head yet.
            peer.eof();
        }
        assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Foreign { looks_like: found, .. }) if found.contains(looks_like)));
        let outcome = peer.outcome(id);
        assert_eq!(outcome.status.code(), Code::Unavailable);
        assert!(outcome.status.message().contains(looks_like), "{}", outcome.status.message());
        assert!(outcome.unprocessed);
    }
}

/// SETTINGS were not validated: a frame size of 0 made the sender loop for ever (RFC 9113 §6.5, §6.5.2).
pub(crate) fn b14_settings_are_validated(cut: Way) {
    let (protocol, size) = (ErrorCode::PROTOCOL_ERROR, ErrorCode::FRAME_SIZE_ERROR);
    let cases = [
        (settings(&[(5, 0)]), Some(protocol)),
        (settings(&[(5, 16_383)]), Some(protocol)),
        (settings(&[(5, 16_777_216)]), Some(protocol)),
        (settings(&[(4, 0x8000_0000)]), Some(ErrorCode::FLOW_CONTROL_ERROR)),
        (settings(&[(2, 2)]), Some(protocol)),
        (frame(SETTINGS, 0, 0, &[0; 5]), Some(size)),
        (frame(SETTINGS, 0, 0, &[0; 7]), Some(size)),
        (frame(SETTINGS, 0, 1, &[]), Some(protocol)),
        (frame(SETTINGS, ACK, 0, &[0; 6]), Some(size)),
        (frame(SETTINGS, ACK, 1, &[]), Some(protocol)),
        // A bad value between good ones, and one that a good value of the same name follows.
        (settings(&[(4, 5), (5, 0), (4, 65_535)]), Some(protocol)),
        (settings(&[(4, u32::MAX), (4, 65_535)]), Some(ErrorCode::FLOW_CONTROL_ERROR)),
        (settings(&[(0x1234, 7)]), None),
        (settings(&[(4, 5), (4, 65_535), (5, 16_384)]), None),
        (settings(&[(0, 1), (7, 1), (0xffff, u32::MAX)]), None),
        (settings(&[]), None),
    ];
    let client = || {
        let mut peer = to_client(cut);
        let id = peer.unary(b"hello");
        (peer, id)
    };
    let server = || {
        let mut peer = to_server(cut);
        peer.headers(1, true, REQUEST);
        let id = peer.accept();
        peer.put(id, &b"hello"[..]);
        (peer, id)
    };
    let check = |(mut peer, id): (Subject, CallId), octets: &[u8], code: Option<ErrorCode>| {
        peer.send(octets);
        match code {
            Some(code) => peer.assert_closed(&[code]),
            None => {
                let said = peer.said();
                assert_eq!(said.iter().filter(|said| said.kind() == SETTINGS && said.frame.head.has(ACK)).count(), 1);
                assert!(said.iter().any(|said| said.kind() == DATA), "what waited goes out: {said:?}");
                peer.call(id).cancel();
                peer.said();
                peer.assert_usable(3);
            }
        }
    };
    for (octets, code) in &cases {
        check(client(), octets, *code);
        check(server(), octets, *code);
    }
    // Only a client may set ENABLE_PUSH to 1.
    check(client(), &settings(&[(2, 1)]), Some(protocol));
    check(server(), &settings(&[(2, 1)]), None);
    check(client(), &settings(&[(2, 0)]), None);
    let (mut peer, id) = client();
    peer.send(&settings(&[(5, 0)]));
    assert_eq!(peer.outcome(id).status.code(), Code::Unavailable);
}

/// Trailers and requests may come with their END_STREAM before the block is complete, but end after it (§6.2).
pub(crate) fn b01_end_stream_counts_after_the_whole_block(cut: Way) {
    let mut peer = to_client(cut);
    let id = peer.unary(b"");
    peer.said();
    peer.headers(1, false, RESPONSE).data(1, false, &message(b"x"));
    peer.send(&frame(HEADERS, END_STREAM, 1, &TRAILERS_OK[..5]));
    assert!(!peer.messages(id).1);
    peer.send(&frame(CONTINUATION, END_HEADERS, 1, &TRAILERS_OK[5..]));
    assert_eq!(peer.outcome(id).status.code(), Code::Ok);
}

/// What is not HTTP/2 at a server's door: the octets are kept for another protocol.
pub(crate) fn b13_a_foreign_client_is_recognised(cut: Way) {
    for (octets, looks_like) in [(&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], "HTTP/1"), (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS")] {
        let mut peer = fresh_to_server(&Config::default(), cut);
        peer.send(octets);
        assert!(peer.events().contains(&Event::Foreign));
        assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Foreign { looks_like: found, .. }) if found.contains(looks_like)));
        let kept = peer.conn.foreign().expect("the first octets");
        assert_eq!(kept, &octets[..kept.len()]);
        // The answer is in the peer's own words, not in frames.
        assert!(!peer.output_octets().is_empty());
    }
}
