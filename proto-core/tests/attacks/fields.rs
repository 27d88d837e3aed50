//! Attacks by what fields say: X14 to X16, X22, X24.

use crate::{attack::*, heads::send_block, peer::*};
use pintle_core::{
    CallOptions, CloseReason, Code, Config, Metadata, RequestHead, Shape, StartError,
    testing::{
        Cut, Rng,
        raw::{REQUEST, RESPONSE},
        wire::*,
    },
};
use std::{collections::VecDeque, time::Duration};

/// The table as RFC 7541 §4 has it.
#[derive(Default)]
struct Model(VecDeque<(Vec<u8>, Vec<u8>)>);

impl Model {
    fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.0.push_front((name.to_vec(), value.to_vec()));
        while self.0.iter().map(|(name, value)| name.len() + value.len() + 32).sum::<usize>() > 4_096 {
            self.0.pop_back();
        }
    }
}

#[test]
fn x14_tables_stay_in_step() {
    // What becomes of a request must not matter for the table: over the limit, malformed, refused, for a stream that is gone, as trailers.
    const FAULTS: [(&[u8], &[u8]); 6] =
        [(b"ok", b"ok"), (b"x-bin", b"!!!"), (b"connection", b"close"), (b"A", b"b"), (b"content-type", b"text/html"), (b"te", b"gzip")];
    let mut rng = Rng::new(14);
    let (mut peer, mut model) = (to_server(Cut::Random(300)), Model::default());
    let (mut stream, mut cases) = (1_u32, [0; 5]);
    for n in 0..size(1_000_000) {
        let mut block = request_block("/S/M", &[]);
        for _ in 0..rng.below(5) {
            let name = format!("x-{}", rng.below(40));
            let most = if rng.chance(20) { 3_000 } else { 60 };
            let value = vec![b'a' + rng.below(26) as u8; rng.below(most) as usize];
            literal(&mut block, 0x40, name.as_bytes(), &value);
            model.insert(name.as_bytes(), &value);
        }
        let (name, value) = FAULTS[rng.below(6) as usize];
        let indexed = rng.chance(500);
        literal(&mut block, if indexed { 0x40 } else { 0 }, name, value);
        if indexed {
            model.insert(name, value);
        }
        let kind = rng.below(5) as usize;
        cases[kind] += 1;
        if kind == 1 {
            literal(&mut block, 0, b"large", &vec![b'l'; 20_000]);
        }
        if kind == 2 {
            // For a stream that was cut off.
            peer.request(stream, "/S/M", false, &[]).send(&window_update(stream, 0));
            send_block(&mut peer, stream, false, &block, 16_384);
        } else if kind == 3 {
            peer.request(stream, "/S/M", false, &[]);
            send_block(&mut peer, stream, true, &block, 16_384);
        } else {
            send_block(&mut peer, stream, kind == 4, &block, 16_384);
        }
        while serve(&mut peer) {}
        peer.send(&rst_stream(stream, 8));
        drain(&mut peer);
        peer.advance(Duration::from_secs(1));
        assert_eq!(peer.conn.close_reason(), None, "block {n}");
        assert!(peer.conn.probe().decoder.entries.iter().eq(&model.0), "the table after block {n}, a {}", name.escape_ascii());
        stream += 2;
        if let Some((name, value)) = model.0.front()
            && n % 10 == 0
        {
            peer.headers(stream, true, &[&request_block("/S/M", &[])[..], &[0xbe]].concat());
            let name = std::str::from_utf8(name).expect("ASCII");
            if name.starts_with("x-") && !name.ends_with("-bin") {
                let call = accept(&mut peer).expect("a request");
                assert_eq!(peer.call(call).metadata().get(name).map(str::as_bytes), Some(&value[..]), "block {n}");
                peer.call(call).finish(&pintle_core::Status::ok(), None);
            }
            drain(&mut peer);
            while serve(&mut peer) {}
            drain(&mut peer);
            stream += 2;
        }
    }
    assert!(cases.iter().all(|&cases| cases > 10), "{cases:?}");
}

#[test]
fn x14_twin_a_table_that_is_emptied_and_filled() {
    // An encoder that changes its table with each block, within the limit, and refers to what it has just put there.
    let mut peer = to_server(Cut::Random(30));
    for n in 0..size(100_000) as u32 {
        let sizes: &[u8] = [&b""[..], b"\x20\x3f\xe1\x1f", b"\x3f\xe1\x1f", b"\x20\x3f\x45"][n as usize % 4];
        let mut block = [sizes, &request_block("/S/M", &[])].concat();
        let value = format!("value {n}");
        literal(&mut block, 0x40, b"x-new", value.as_bytes());
        block.push(0xbe);
        peer.headers(1 + 2 * n, true, &block);
        let call = accept(&mut peer).expect("a request");
        assert!(peer.call(call).metadata().get_all("x-new").eq([value.as_str(); 2]), "{n}");
        peer.finish_ok(call);
        drain(&mut peer);
    }
    peer.assert_open();
}

#[test]
fn x15_fields_that_abort_others() {
    let long = vec![b'x'; 9_000];
    let heads: [&[(&str, &[u8])]; 6] = [
        &[("te", b"x"), ("large", &long)],
        &[("te", &long)],
        &[(":unknown", &long)],
        &[("x-bin", b"!!!"), ("large", &long)],
        &[("grpc-timeout", &long)],
        &[("content-length", &long)],
    ];
    let mut peer = to_server(Cut::Random(1_000));
    for (n, head) in heads.iter().enumerate() {
        let stream = 1 + 4 * n as u32;
        peer.request(stream, "/S/M", true, head);
        assert_eq!(accept(&mut peer), None, "{:?}", head[0].0);
        peer.said();
        peer.assert_usable(stream + 2);
    }
    let scheme =
        [literal_block(&[(":method", b"POST"), (":scheme", &long), (":path", b"/S/M")]), request_block("/", &[])[2..].to_vec()].concat();
    peer.headers(101, true, &scheme);
    assert_eq!(accept(&mut peer), None);
    peer.said();
    peer.assert_usable(103);
    // 30,000 names of their own: the connection ends, and not the process.
    let mut peer = to_server(Cut::Whole);
    let mut name = 0;
    for n in 0..30_000_u32 {
        let mut block = request_block("/S/M", &[]);
        (0..100).for_each(|_| {
            name += 1;
            literal(&mut block, 0x40, format!("n{name}").as_bytes(), b"");
        });
        peer.headers(1 + 2 * n, true, &block);
        serve(&mut peer);
        drain(&mut peer);
        if name >= 30_000 {
            break;
        }
    }
    assert_eq!(peer.conn.close_reason(), None);
    // Octets by chance, in blocks that begin as a request does.
    let mut rng = Rng::new(15);
    for n in 0..size(1_000_000) {
        let mut peer = to_server(if n % 2 == 0 { Cut::Whole } else { Cut::Random(9) });
        let mut block = REQUEST.to_vec();
        (0..rng.below(200)).for_each(|_| block.push(rng.below(256) as u8));
        send_block(&mut peer, 1, true, &block, 50);
        serve(&mut peer);
        drain(&mut peer);
        if peer.conn.close_reason().is_none() {
            peer.headers(3, true, REQUEST);
            assert!(serve(&mut peer), "{block:02x?}");
        }
    }
}

#[test]
fn x15_twin_the_same_fields_as_they_should_be() {
    let long = [b'x'; 9_000];
    let heads: [&[(&str, &[u8])]; 5] = [
        &[("x", b"te"), ("large", &long)],
        &[("x-bin", b"AAECAw"), ("large", &long)],
        &[("x-bin", b"AAECAw=="), ("grpc-timeout", b"99999999H")],
        &[("content-length", b"0"), ("unknown", &long)],
        &[("accept", b"*/*"), ("user-agent", &long)],
    ];
    let mut peer = to_server(Cut::Random(1_000));
    for (n, head) in heads.iter().enumerate() {
        peer.request(1 + 4 * n as u32, "/S/M", true, head);
        assert!(serve(&mut peer), "{:?}", head[0].0);
        peer.said();
        peer.assert_usable(3 + 4 * n as u32);
    }
}

/// Fields that smuggle, or that HTTP/2 forbids: as a request's, a response's and trailers'.
pub(crate) const SMUGGLED: &[(&str, &[u8])] = &[
    ("a", b"b\r\nc: d"),
    ("a", b"b\rc"),
    ("a", b"b\nc"),
    ("a", b"\n"),
    ("a", b"b\0c"),
    ("a", b"\0"),
    ("a", b" b"),
    ("a", b"b "),
    ("a", b"\tb"),
    ("a", b"b\t"),
    ("a\r\nb", b"c"),
    ("a\n", b"b"),
    ("a\0", b"b"),
    ("a b", b"c"),
    (" a", b"b"),
    ("a:", b"b"),
    ("a:b", b"c"),
    ("A", b"b"),
    ("aB", b"c"),
    ("a\x7f", b"b"),
    ("a\u{e9}", b"b"),
    ("a\t", b"b"),
    ("", b"b"),
    ("", b""),
    (":", b"b"),
    (":a", b"b"),
    (":protocol", b"websocket"),
    (":host", b"b"),
    ("connection", b"close"),
    ("connection", b"a, te"),
    ("keep-alive", b"timeout=5"),
    ("proxy-connection", b"keep-alive"),
    ("transfer-encoding", b"chunked"),
    ("transfer-encoding", b"identity"),
    ("upgrade", b"h2c"),
    ("te", b"gzip"),
    ("te", b"trailers, deflate"),
    ("content-length", b"-1"),
    ("content-length", b"+1"),
    ("content-length", b"1, 1"),
    ("content-length", b"0x1"),
    ("content-length", b""),
    ("content-length", b"99999999999999999999999"),
];

/// Only in requests: pseudo-fields that are there twice or out of place, and two servers' names.
pub(crate) const SMUGGLED_IN_REQUESTS: &[(&str, &[u8])] = &[
    (":method", b"POST"),
    (":scheme", b"http"),
    (":path", b"/S/M"),
    (":authority", b"other"),
    (":status", b"200"),
    ("host", b"other"),
    ("host", b"x@y"),
    ("host", b"x y"),
    ("content-length", b"5"),
];

#[test]
fn x16_smuggling() {
    assert!(SMUGGLED.len() + SMUGGLED_IN_REQUESTS.len() > 50);
    let mut peer = to_server(Cut::Random(1_000));
    for (n, (name, value)) in SMUGGLED.iter().chain(SMUGGLED_IN_REQUESTS).enumerate() {
        let (label, stream) = (format!("{} = {}", name.escape_debug(), value.escape_ascii()), 1 + 6 * n as u32);
        peer.request(stream, "/S/M", true, &[(name, value)]);
        assert_eq!(accept(&mut peer), None, "request with {label}");
        peer.said();
        // As trailers of a request that was shown: the handler sees it fail.
        if n < SMUGGLED.len() && !matches!(*name, "te" | "content-length") {
            peer.headers(stream + 2, false, REQUEST);
            let call = accept(&mut peer).expect("a request");
            peer.headers(stream + 2, true, &literal_block(&[(name, value)]));
            let said = peer.said();
            assert!(said.iter().any(|said| said.reset_of(stream + 2).is_some()), "trailers with {label}: {said:?}");
            peer.call(call).finish(&pintle_core::Status::ok(), None);
        }
        peer.assert_usable(stream + 4);
    }
    let mut peer = to_client(Cut::Whole);
    for (name, value) in SMUGGLED.iter().filter(|(name, _)| !matches!(*name, "te")) {
        let label = format!("{} = {}", name.escape_debug(), value.escape_ascii());
        for trailers in [false, true] {
            if trailers && *name == "content-length" {
                continue;
            }
            let call = peer.unary(b"");
            let stream = peer.said().iter().find(|said| said.kind() == HEADERS).expect("a request").stream();
            let bad = literal_block(&[(name, value)]);
            if trailers {
                peer.headers(stream, false, RESPONSE).data(stream, false, &message(b""));
                peer.headers(stream, true, &[&block(&[("grpc-status", "0")])[..], &bad].concat());
            } else {
                peer.headers(stream, false, &[RESPONSE, &bad].concat());
            }
            assert_eq!(peer.outcome(call).status.code(), Code::Internal, "response with {label}, in trailers: {trailers}");
            peer.said();
        }
    }
    peer.assert_usable(999);
    // And none of them goes out: metadata takes no such field.
    for (name, value) in SMUGGLED {
        let mut metadata = Metadata::new();
        let fits = std::str::from_utf8(value).is_ok_and(|value| metadata.append(name, value).is_ok());
        let lawful_here = matches!(*name, "A" | "aB") || value.trim_ascii() != *value;
        assert!(!fits || lawful_here, "{} = {} may be sent", name.escape_debug(), value.escape_ascii());
    }
}

#[test]
fn x16_twin_odd_but_lawful_fields() {
    let odd: [(&str, &[u8]); 8] = [
        ("x-a_b.c-d~!#$%&'*+^`|", b"v"),
        ("x", b"\x80\xff"),
        ("x", b"a\tb c"),
        ("x", b"%0d%0a"),
        ("host", b"x"),
        ("cookie", b"a=b; c=d"),
        ("te", b"trailers"),
        ("x", b"\"quoted, list\""),
    ];
    for (n, field) in odd.iter().enumerate() {
        let mut peer = to_server(Cut::Random(7));
        let mut head = request_block("/S/M", &[]);
        head.extend(literal_block(if field.0 == "te" { &[] } else { std::slice::from_ref(field) }));
        peer.headers(1, true, &head);
        assert!(accept(&mut peer).is_some(), "row {n}");
    }
}

#[test]
fn x22_huge_metadata() {
    let large = "m".repeat(16_000);
    // To a server: 64 KiB is one failed call, and more ends the connection, as a head and as trailers.
    for (lists, ends) in [(2, false), (3, false), (5, true), (70, true)] {
        for trailers in [false, true] {
            let mut block = if trailers { Vec::new() } else { REQUEST.to_vec() };
            (0..lists).for_each(|_| literal(&mut block, 0, b"m", large.as_bytes()));
            let used = freed(|| {
                let mut peer = to_server(Cut::Whole);
                if trailers {
                    peer.headers(1, false, REQUEST);
                }
                send_block(&mut peer, 1, true, &block, 16_384);
                assert_eq!(peer.conn.close_reason().is_some(), ends, "{lists} of 16 KB, trailers: {trailers}");
                while serve(&mut peer) {}
                if !ends {
                    peer.said();
                    peer.assert_usable(3);
                }
                peer
            });
            assert!(used.peak < 6 * 64 * KIB, "{lists}: {used:?}");
        }
    }
    // To a client, in a head, in trailers, in Trailers-Only.
    for (lists, ends) in [(2, false), (3, false), (5, true), (70, true)] {
        for place in 0..3 {
            let mut fields = if place == 1 { Vec::new() } else { RESPONSE.to_vec() };
            if place > 0 {
                fields.extend(block(&[("grpc-status", "0")]));
            }
            (0..lists).for_each(|_| literal(&mut fields, 0, b"m", large.as_bytes()));
            let used = freed(|| {
                let mut peer = to_client(Cut::Whole);
                let call = peer.unary(b"");
                peer.said();
                if place == 1 {
                    peer.headers(1, false, RESPONSE);
                }
                send_block(&mut peer, 1, place > 0, &fields, 16_384);
                let code = peer.outcome(call).status.code();
                assert_eq!(code, if ends { Code::Unavailable } else { Code::ResourceExhausted }, "{lists} of 16 KB in place {place}");
                assert_eq!(matches!(peer.conn.close_reason(), Some(CloseReason::Protocol { .. })), ends, "{lists}");
                if !ends {
                    peer.said();
                    peer.assert_usable(3);
                }
                peer
            });
            assert!(used.peak < 6 * 64 * KIB, "{lists}: {used:?}");
        }
    }
    // What we send is checked against the peer's limit.
    let mut peer = to_client_with(&Config::default(), Cut::Whole, &[(6, 1_000)]);
    let mut metadata = Metadata::new();
    metadata.append("a", &"v".repeat(2_000)).expect("a valid field");
    let (now, head) = (peer.now, RequestHead::new("/S/M", Shape::Unary).with_metadata(&metadata));
    assert_eq!(peer.conn.start(now, head, CallOptions::default()).err(), Some(StartError::HeadTooLarge));
}

#[test]
fn x22_twin_metadata_up_to_the_limit() {
    let large = "m".repeat(7_500);
    let mut peer = to_client(Cut::Random(700));
    let call = peer.unary(b"");
    peer.said();
    let fields = [RESPONSE, &block(&[("grpc-status", "0"), ("a", &large), ("b", &large)])].concat();
    // Trailers-Only with OK, which for a method that answers once is no answer: what matters is that the metadata is there.
    send_block(&mut peer, 1, true, &fields, 16_384);
    assert_eq!(peer.outcome(call).trailers.get("b"), Some(large.as_str()));
}

/// Paths by which a router and who authorises might disagree: `/S/M` is what they would reach.
pub(crate) const PATHS: &[&str] = &[
    "S/M",
    "//S/M",
    "/S//M",
    "/S/M/",
    "///S/M",
    "/S/M//",
    "/./S/M",
    "/S/./M",
    "/S/../S/M",
    "/../S/M",
    "/x/../S/M",
    "/S/M/..",
    "/S/M/.",
    "/S\\M",
    "\\S\\M",
    "/S%2FM",
    "/%53/M",
    "/S/%4D",
    "/S/M%00",
    "/S/M%20",
    "/S/M?a=b",
    "/S/M?",
    "/S/M#a",
    "/S/M;a=b",
    "/s/M",
    "/S/m",
    "/s/m",
    "/S",
    "/S/",
    "/",
    "/M",
    "//",
    "*",
    "/S/M/M",
    "/S.S/M",
    "http://x/S/M",
    "//x/S/M",
    "/S/M,",
    "/S/M:",
    "/S/M&",
    "/S@/M",
    "/S/M ",
    " /S/M",
    "/S /M",
    "/S/M\t",
    "/\u{53}\u{301}/M",
    "/S/M\u{200b}",
    "",
];

#[test]
fn x24_path_tricks() {
    assert!(PATHS.len() >= 40);
    for cut in [Cut::Whole, Cut::Octet] {
        let mut peer = to_server(cut);
        for (n, path) in PATHS.iter().enumerate() {
            let stream = 1 + 2 * n as u32;
            peer.request(stream, path, true, &[]);
            assert_eq!(accept(&mut peer), None, "{path}");
            let said = peer.said();
            let refused = said.iter().any(|said| said.reset_of(stream).is_some() || said.field("grpc-status") == Some("12"));
            assert!(refused, "{path}: {said:?}");
        }
        peer.assert_usable(501);
    }
}

#[test]
fn x24_twin_the_path_that_routes() {
    let mut peer = to_server(Cut::Octet);
    for (n, path) in ["/S/M", "/S/U", "/S/C", "/S/R"].iter().enumerate() {
        peer.headers(1 + 2 * n as u32, false, &request_block(path, &[]));
        peer.data(1 + 2 * n as u32, true, &message(b""));
        let Some(pintle_core::Event::Incoming { call }) = peer.event() else { panic!("a request for {path}") };
        let route = peer.conn.accept(call, pintle_core::Token(1)).and_then(|accepted| accepted.route).expect("a route");
        assert_eq!(peer.conn.routes().path(route), *path);
    }
}
