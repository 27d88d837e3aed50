//! Through the real HPACK decoder: literals first, then the same fields from its table.

mod response;

use super::{request::Method, *};
use crate::{
    Metadata, Shape,
    grpc::{Code, Origin, Status},
    hpack::{Decoder, Encoder, Indexing, static_entry},
};
use alloc::{string::ToString, vec, vec::Vec};

type Pairs<'a> = &'a [(&'a str, &'a [u8])];

const LIMITS: HeadLimits = HeadLimits { list_size: 16 << 10, fields: 128, most: u32::MAX };

fn routes() -> Routes {
    Routes::new([("/pkg.Other/M", Shape::Bidi), ("/S/M", Shape::Unary)]).expect("valid routes")
}

/// The same fields as literals, then from the decoder's table: the answers must be equal.
fn twice<T: PartialEq + core::fmt::Debug>(fields: Pairs<'_>, mut decode: impl FnMut(&mut Decoder, &[u8]) -> T) -> T {
    let (mut encoder, mut decoder) = (Encoder::new(65_536), Decoder::new(65_536));
    encoder.set_peer_limit(65_536);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        for (name, value) in fields {
            encoder.field(&mut block, name.as_bytes(), value, Indexing::Add);
        }
        answers.push(decode(&mut decoder, &block));
    }
    let second = answers.pop().expect("two answers");
    assert_eq!(answers, [second], "literals and table disagree about {fields:?}");
    answers.remove(0)
}

fn request_within(limits: HeadLimits, trailers: bool, fields: Pairs<'_>) -> (RequestFields, Metadata, Metadata) {
    let routes = routes();
    twice(fields, |decoder, block| {
        let (mut metadata, mut extra) = (Metadata::new(), Metadata::new());
        let mut collector = RequestCollector::new(&routes, &mut metadata, &mut extra, limits);
        decoder.decode(block, &mut collector).expect("a valid block");
        let fields = if trailers { collector.finish_trailers() } else { collector.finish() };
        (fields, metadata, extra)
    })
}

fn request(fields: Pairs<'_>) -> (RequestFields, Metadata, Metadata) {
    request_within(LIMITS, false, fields)
}

fn response_within(limits: HeadLimits, trailers: bool, fields: Pairs<'_>) -> (ResponseFields, Metadata, Metadata) {
    twice(fields, |decoder, block| {
        let (mut metadata, mut extra) = (Metadata::new(), Metadata::new());
        let mut collector = ResponseCollector::new(&mut metadata, &mut extra, limits);
        decoder.decode(block, &mut collector).expect("a valid block");
        let fields = if trailers { collector.finish_trailers() } else { collector.finish() };
        (fields, metadata, extra)
    })
}

fn response(fields: Pairs<'_>) -> (ResponseFields, Metadata, Metadata) {
    response_within(LIMITS, false, fields)
}

const PSEUDOS: [(&str, &[u8]); 4] = [(":method", b"POST"), (":scheme", b"http"), (":path", b"/S/M"), (":authority", b"h:1")];
const CALL: [(&str, &[u8]); 2] = [("te", b"trailers"), ("content-type", b"application/grpc")];

/// A complete gRPC request with more fields after it.
fn call<'a>(more: Pairs<'a>) -> Vec<(&'a str, &'a [u8])> {
    [&PSEUDOS[..], &CALL, more].concat()
}

/// The same with another value of one field, or without it.
fn call_with<'a>(name: &str, value: Option<&'a [u8]>) -> Vec<(&'a str, &'a [u8])> {
    let mut fields = call(&[]);
    let at = fields.iter().position(|(n, _)| *n == name).expect("a field of the call");
    match value {
        Some(value) => fields[at].1 = value,
        None => drop(fields.remove(at)),
    }
    fields
}

/// PH2 "Requests".
#[test]
fn a_request_as_grpc_clients_send_it() {
    let (fields, metadata, extra) = request(&call(&[
        ("user-agent", b"grpc-go/1.70"),
        ("grpc-timeout", b"1S"),
        ("grpc-encoding", b"identity"),
        ("grpc-accept-encoding", b"gzip"),
        ("tenant", b"a"),
        ("trace-bin", b"AQI"),
        ("tenant", b"b"),
    ]));
    assert_eq!(fields.verdict(), RequestVerdict::Call(fields.route.expect("a route")));
    assert_eq!(fields.route.map(|id| id.index()), Some(1));
    assert_eq!((fields.timeout_micros, fields.bad_timeout, fields.method), (Some(1_000_000), false, Method::Post));
    assert_eq!((fields.te_trailers, fields.encoding, fields.fields), (true, Encoding::Identity, 13));
    let all: Vec<_> = metadata.iter().collect();
    assert_eq!(all, [("tenant", &b"a"[..]), ("trace-bin", b"AQI"), ("tenant", b"b")]);
    assert_eq!(metadata.get_bin("trace-bin").as_deref(), Some(&[1, 2][..]));
    let all: Vec<_> = extra.iter().collect();
    assert_eq!(all, [(":authority", &b"h:1"[..]), ("user-agent", b"grpc-go/1.70")]);
    assert_eq!(authority(&extra), Some("h:1"));
}

/// RFC 9113 §6.5.2: name + value + 32 for each field.
#[test]
fn the_list_is_measured_as_the_rfc_says() {
    let fields = call(&[("a", b"bcd")]);
    let size: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
    let (at_limit, metadata, _) = request_within(HeadLimits { list_size: size as u32, fields: 7, most: u32::MAX }, false, &fields);
    assert_eq!((at_limit.list_size, at_limit.over_limit, metadata.len()), (size as u32, false, 1));
    for limits in [
        HeadLimits { list_size: size as u32 - 1, fields: 7, most: u32::MAX },
        HeadLimits { list_size: size as u32, fields: 6, most: 64 << 10 },
    ] {
        let (over, metadata, _) = request_within(limits, false, &fields);
        assert_eq!((over.list_size, over.over_limit, metadata.len()), (size as u32, true, 0));
        assert!(matches!(over.verdict(), RequestVerdict::Refuse { code: Code::ResourceExhausted, .. }));
    }
    let (_, metadata, extra) = request_within(HeadLimits { list_size: 0, fields: 0, most: u32::MAX }, false, &fields);
    assert!(metadata.is_empty() && extra.is_empty());
}

/// One large entry, named very often: what is stored stays within the limit.
#[test]
fn a_small_block_cannot_make_a_large_head() {
    let routes = routes();
    let (mut encoder, mut decoder) = (Encoder::new(4096), Decoder::new(4096));
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for _ in 0..10_000 {
        encoder.field(&mut block, b"x", &[b'a'; 3000], Indexing::Add);
    }
    assert!(block.len() < 14_000, "the block is small: {}", block.len());
    let (mut metadata, mut extra) = (Metadata::new(), Metadata::new());
    let mut collector = RequestCollector::new(&routes, &mut metadata, &mut extra, LIMITS);
    decoder.decode(&block, &mut collector).expect("a valid block");
    let fields = collector.finish();
    assert!(fields.over_limit);
    assert_eq!((fields.fields, fields.list_size), (10_000, 30_330_000));
    assert!(metadata.records().len() <= 16 << 10);
}

/// RFC 9113 §8.2, §8.3 and RFC 9110 §5: refused in requests, responses and trailers alike (python-hyper/h2 4.3.0 and 4.4.x).
#[test]
fn malformed_fields_are_found_everywhere() {
    let bad: [(&str, &[u8]); 40] = [
        ("Te", b"trailers"),
        ("X-Upper", b"a"),
        ("x upper", b"a"),
        (" x", b"a"),
        ("x ", b"a"),
        ("x\t", b"a"),
        ("x\u{7f}", b"a"),
        ("x\u{80}", b"a"),
        ("x\0", b"a"),
        ("x\r", b"a"),
        ("x\n", b"a"),
        ("x:y", b"a"),
        ("x(", b"a"),
        ("x,", b"a"),
        ("x/", b"a"),
        ("x@", b"a"),
        ("x[", b"a"),
        ("x{", b"a"),
        ("x\"", b"a"),
        ("grpc-X", b"a"),
        ("", b"a"),
        ("x", b"\0"),
        ("x", b"a\0b"),
        ("x", b"a\r\nb: c"),
        ("x", b"a\nb"),
        ("x", b"a\rb"),
        ("x", b" a"),
        ("x", b"a "),
        ("x", b"\ta"),
        ("x", b"a\t"),
        ("x-bin", b"AA\n"),
        ("grpc-message", b"a\nb"),
        ("user-agent", b"a\r"),
        ("connection", b"close"),
        ("proxy-connection", b"close"),
        ("keep-alive", b"1"),
        ("transfer-encoding", b"chunked"),
        ("upgrade", b"h2c"),
        ("te", b"gzip"),
        ("te", b"trailers, gzip"),
    ];
    for field in bad {
        let (in_request, metadata, _) = request(&call(&[field]));
        assert!(in_request.malformed.is_some(), "request with {field:?}");
        assert_eq!(metadata.len(), 0, "{field:?} reached the application");
        assert!(matches!(in_request.verdict(), RequestVerdict::Malformed(_)));
        assert!(request_within(LIMITS, true, &[field]).0.malformed.is_some(), "request trailers with {field:?}");
        let head: [(&str, &[u8]); 3] = [(":status", b"200"), ("content-type", b"application/grpc"), field];
        let (in_response, metadata, extra) = response(&head);
        assert!(in_response.malformed.is_some(), "response with {field:?}");
        assert_eq!(metadata.len(), 0, "{field:?} reached the application");
        assert_eq!(in_response.status(&extra).code(), Code::Internal);
        assert!(response_within(LIMITS, true, &[("grpc-status", b"0"), field]).0.malformed.is_some(), "trailers with {field:?}");
    }
}

/// The other side of the table: valid HTTP, so no call may fail for it (PH2 "Custom-Metadata").
#[test]
fn odd_but_valid_fields_pass() {
    let odd: [(&str, &[u8]); 12] = [
        ("x", b""),
        ("x", b"a b\tc"),
        ("x", b"\x80\xff"),
        ("x", b"\x01\x7f"),
        ("!#$%&'*+-.^_`|~09az", b"a"),
        ("te", b"Trailers"),
        ("content-length", b"5"),
        ("cookie", b"a=b"),
        ("grpc-future", b"a"),
        ("grpc-retry-pushback-ms", b"5"),
        ("x-bin", b""),
        ("x-bin", b"AAE=,AgM"),
    ];
    for field in odd {
        let (fields, metadata, _) = request(&call(&[field]));
        assert!(matches!(fields.verdict(), RequestVerdict::Call(_)), "{field:?}: {:?}", fields.verdict());
        let ours = ["te", "content-length", "grpc-future"].contains(&field.0);
        assert_eq!(metadata.len(), usize::from(!ours), "{field:?}");
        let (fields, _, _) = response(&[(":status", b"200"), ("content-type", b"application/grpc"), field]);
        // `te` is for requests (RFC 9113 §8.2.2).
        assert_eq!((fields.malformed.is_some(), fields.is_grpc()), (field.0 == "te", true), "{field:?}");
    }
}

/// RFC 9113 §8.3.1.
#[test]
fn malformed_request_heads() {
    let [method, scheme, path, authority] = PSEUDOS;
    let [te, content_type] = CALL;
    let heads: [&[(&str, &[u8])]; 19] = [
        &[scheme, path, authority],
        &[method, path, authority],
        &[method, scheme, authority],
        &[method, method, scheme, path],
        &[method, scheme, scheme, path],
        &[method, scheme, path, path],
        &[method, scheme, path, authority, authority],
        &[method, scheme, te, path],
        &[content_type, method, scheme, path],
        &[method, scheme, path, (":status", b"200")],
        &[method, scheme, path, (":protocol", b"websocket")],
        &[method, scheme, path, (":x", b"")],
        &[method, scheme, (":path", b"")],
        &[(":method", b""), scheme, path],
        &[method, (":scheme", b""), path],
        &[method, scheme, path, (":authority", b"user@h")],
        &[method, scheme, path, ("host", b"a"), ("host", b"a")],
        &[method, scheme, path, authority, ("host", b"other")],
        &[(":method", b"CONNECT"), scheme, path, authority],
    ];
    for head in heads {
        assert!(request(head).0.malformed.is_some(), "{head:?}");
    }
    // Each alone is fine.
    for head in [&PSEUDOS[..], &PSEUDOS[..3], &[(":method", b"CONNECT"), authority]] {
        assert_eq!(request(head).0.malformed, None, "{head:?}");
    }
    for more in [&[("content-length", &b"5"[..]), ("content-length", b"6")][..], &[("content-length", b"+5")], &[("content-length", b"")]] {
        assert!(request(&call(more)).0.malformed.is_some(), "{more:?}");
    }
    let same = request(&call(&[("content-length", b"5"), ("content-length", b"5")])).0;
    assert_eq!((same.malformed, same.content_length), (None, Some(5)));
}

#[test]
fn trailers_have_no_pseudo_headers() {
    for pseudo in PSEUDOS.iter().chain(&[(":status", &b"200"[..])]) {
        assert!(request_within(LIMITS, true, &[*pseudo]).0.malformed.is_some(), "{pseudo:?}");
        assert!(response_within(LIMITS, true, &[("grpc-status", b"0"), *pseudo]).0.malformed.is_some(), "{pseudo:?}");
    }
    assert_eq!(request_within(LIMITS, true, &[("x", b"y")]).0.malformed, None);
}

/// Whatever clients on Unix sockets send (hyperium/h2 #487, grpc-java #12664).
#[test]
fn any_authority_is_taken_as_it_is() {
    for value in ["", "/var/run/x.sock", "%2Fvar%2Frun%2Fx.sock", "localhost", "unix:/x", "[::1]:50051"] {
        let (fields, _, extra) = request(&call_with(":authority", Some(value.as_bytes())));
        assert!(matches!(fields.verdict(), RequestVerdict::Call(_)), "{value:?}");
        assert_eq!(authority(&extra), Some(value));
    }
    let mut without = call_with(":authority", None);
    assert_eq!(authority(&request(&without).2), None);
    without.push(("host", b"h"));
    let (fields, metadata, extra) = request(&without);
    assert!(matches!(fields.verdict(), RequestVerdict::Call(_)));
    assert_eq!((authority(&extra), metadata.len()), (Some("h"), 0));
    let both = request(&call(&[("host", b"H:1")]));
    assert_eq!(both.0.malformed, None, "names of servers have no case");
}

/// Only the exact path is a route (CVE-2026-33186).
#[test]
fn paths_that_only_look_like_a_route() {
    let near = [
        "S/M",
        "//S/M",
        "/S/M/",
        "/S//M",
        "/S/M?x=1",
        "/S/M?",
        "/S/M#f",
        "/s/m",
        "/S/m",
        "/S/%4D",
        "/%53/M",
        "/",
        "*",
        "/S",
        "/S/",
        "/M",
        "/S/MM",
        "/S/M/M",
        "/./S/M",
        "/S/./M",
        "/S/../S/M",
        "/x/../S/M",
        "/S/M/.",
        "/S/M;a",
        "/S;a/M",
        "/S\\M",
        "\\S\\M",
        "http://h/S/M",
        "h/S/M",
        "/S/M,",
        "/S/M%00",
        "/S/M%20",
        "/S+/M",
        "/pkg.Other/m",
        "/pkg/Other/M",
        "/Other/M",
        "/index.html",
    ];
    for path in near {
        let (fields, _, extra) = request(&call_with(":path", Some(path.as_bytes())));
        assert_eq!(fields.verdict(), RequestVerdict::UnknownMethod, "{path:?}");
        assert_eq!(extra.find(b":path"), Some(path.as_bytes()), "the application sees what was routed");
    }
    for path in ["", "/S/M ", " /S/M", "/S/M\0", "/S/\nM", "/S /M", "/S/M\u{e9}", "/S/M\u{7f}"] {
        assert!(request(&call_with(":path", Some(path.as_bytes()))).0.malformed.is_some(), "{path:?}");
    }
    let long = [b"/".as_slice(), &[b'a'; 65_536]].concat();
    assert!(request(&call_with(":path", Some(&long))).0.over_limit);
}

/// PH2 "Content-Type".
#[test]
fn content_types() {
    let cases: [(&[u8], bool); 14] = [
        (b"application/grpc", true),
        (b"application/grpc+proto", true),
        (b"application/grpc+", true),
        (b"application/grpc;charset=utf-8", true),
        (b"application/grpc;", true),
        (b"APPLICATION/GRPC", true),
        (b"Application/Grpc+Json", true),
        (b"application/grpcx", false),
        (b"application/grpc-web", false),
        (b"application/grpc-web+proto", false),
        (b"application/grp", false),
        (b"application/json", false),
        (b"text/html", false),
        (b"", false),
    ];
    for (value, grpc) in cases {
        let (fields, ..) = request(&call_with("content-type", Some(value)));
        assert_eq!(matches!(fields.verdict(), RequestVerdict::Call(_)), grpc, "{value:?}");
        assert_eq!(matches!(fields.verdict(), RequestVerdict::NotGrpc { http: 415, .. }), !grpc, "{value:?}");
        let (fields, ..) = response(&[(":status", b"200"), ("content-type", value)]);
        assert_eq!(fields.is_grpc(), grpc, "{value:?}");
    }
    for fields in [call_with("content-type", None), call(&[("content-type", b"application/grpc")])] {
        assert!(matches!(request(&fields).0.verdict(), RequestVerdict::NotGrpc { http: 415, .. }), "{fields:?}");
    }
}

/// As grpc-go and grpc-java refuse them (grpc-java #10364).
#[test]
fn requests_that_are_refused() {
    let (fields, metadata, extra) = request(&call_with(":method", Some(b"GET")));
    assert!(matches!(fields.verdict(), RequestVerdict::NotGrpc { http: 405, code: Code::Internal, .. }));
    assert_eq!((fields.method, extra.find(b":method")), (Method::Get, Some(&b"GET"[..])));
    assert!(metadata.is_empty());
    assert_eq!(request(&call_with(":method", Some(b"OPTIONS"))).2.find(b":method"), Some(&b"OPTIONS"[..]));
    // `te` alone does not matter.
    assert!(matches!(request(&call_with("te", None)).0.verdict(), RequestVerdict::Call(_)));
    let refused: [(&str, &[u8], u16, Code); 4] = [
        ("grpc-timeout", b"1s", 400, Code::Internal),
        ("grpc-timeout", b"", 400, Code::Internal),
        ("x-bin", b"!!!", 400, Code::Internal),
        ("grpc-encoding", b"snappy", 200, Code::Unimplemented),
    ];
    for (name, value, http, code) in refused {
        let (fields, metadata, _) = request(&call(&[(name, value)]));
        let RequestVerdict::Refuse { http: got_http, code: got_code, .. } = fields.verdict() else {
            panic!("{name}: {:?}", fields.verdict())
        };
        assert_eq!((got_http, got_code, metadata.len()), (http, code, 0), "{name}");
    }
    // Twice: neither value can be relied on.
    let (fields, ..) = request(&call(&[("grpc-timeout", b"1S"), ("grpc-timeout", b"1S")]));
    assert!(fields.bad_timeout);
}

/// Junk in `-bin` fails its own call only, and only junk does (CVE-2023-32732, grpc-swift #2243).
#[test]
fn binary_values_on_receipt() {
    for (value, good) in [
        ("AAE=", true),
        ("AAE", true),
        ("AAE=,AgM", true),
        ("AAE, AgM", true),
        ("", true),
        ("+/+/", true),
        ("-_8", false),
        ("A A E", false),
        ("A", false),
    ] {
        let (fields, metadata, _) = request(&call(&[("x-bin", value.as_bytes())]));
        assert_eq!((fields.bad_binary, metadata.len()), (!good, usize::from(good)), "{value:?}");
        assert_eq!(fields.malformed, None, "{value:?} is valid HTTP");
    }
}

/// A plain HTTP request keeps what gRPC would not show.
#[test]
fn the_head_of_a_plain_request_is_complete() {
    let (fields, metadata, extra) = request(&[
        (":method", b"POST"),
        (":scheme", b"http"),
        (":path", b"/index.html"),
        (":authority", b"h"),
        ("content-type", b"application/grpc-web+proto"),
        ("content-length", b"12"),
        ("grpc-timeout", b"1S"),
        ("x-grpc-web", b"1"),
        ("accept", b"*/*"),
    ]);
    assert!(matches!(fields.verdict(), RequestVerdict::NotGrpc { http: 415, .. }));
    let names: Vec<_> = extra.iter().map(|(name, _)| name).collect();
    assert_eq!(names, [":path", ":authority", "content-type", "content-length", "grpc-timeout"]);
    assert_eq!(metadata.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["x-grpc-web", "accept"]);
    assert_eq!(fields.content_length, Some(12));
}

#[test]
fn the_static_table_means_what_its_fields_mean() {
    for index in 1..=61 {
        let (name, value) = static_entry(index).expect("61 entries");
        // Pseudo-headers with an empty value stand for a name only, save :authority.
        assert_eq!(static_tag(index), classify(Some(&routes()), name, value), "{index} {}", name.escape_ascii());
    }
    assert_eq!(static_tag(0), malformed(BAD_NAME));
    assert_eq!(static_tag(62), malformed(BAD_NAME));
}

#[test]
fn every_kind_has_its_place() {
    for (index, kind) in FieldKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, index);
        let (meaning, arg) = meaning(tag(kind, 77));
        assert_eq!((meaning.kind, arg), (kind, 77));
    }
    let routes_arg = Routes::MAX as u32;
    assert_eq!(meaning(tag(FieldKind::Path, routes_arg)).1, routes_arg, "every route fits");
}

/// The names and values of every reason are told apart in what people read.
#[test]
fn reasons_name_the_rule() {
    for (head, reason) in [
        (call_with(":path", Some(b"")), "an empty :path"),
        (call(&[("te", b"gzip")]), "te with a value other than \"trailers\""),
        (call(&[("upgrade", b"h2c")]), "a field of HTTP/1 connections (RFC 9113 §8.2.2)"),
        (call_with(":scheme", None), "a request without :scheme"),
        (call(&[(":path", b"/S/M")]), DUPLICATE),
    ] {
        assert_eq!(request(&head).0.malformed, Some(reason), "{head:?}");
    }
}
