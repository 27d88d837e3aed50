//! What stands in heads, trailers and messages.

use super::{
    After::{self, Either, Stays},
    BROKEN, CARDINALITY, OK, Script, Shape, Step, When, answer, code,
    wire::{Fields, HEAD, TRAILERS, data, gzip_bomb, head, last_data, message, prefixed, rest, trailers},
};

pub(super) fn scripts() -> Vec<Script> {
    [heads(), http(), content_types(), informational(), trailer_blocks(), statuses(), messages()].concat()
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");
const FAILED: &[u32] = &[code::NOT_FOUND];
const UNKNOWN: &[u32] = &[code::UNKNOWN];

/// A whole answer but for its head.
fn with_head(name: &'static str, section: &'static str, fields: Fields<'_>) -> Script {
    answer(name, section, BROKEN, Stays, [head(fields), rest()].concat())
}

fn heads() -> Vec<Script> {
    let extra = |name, section, field: (&str, &str)| with_head(name, section, &[HEAD[0], GRPC, field]);
    vec![
        with_head("head/no-status", "RFC 9113 §8.3.2", &[GRPC]),
        with_head("head/two-statuses", "RFC 9113 §8.3.2", &[HEAD[0], HEAD[0], GRPC]),
        with_head("head/two-different-statuses", "RFC 9113 §8.3.2", &[HEAD[0], (":status", "404"), GRPC]),
        with_head("head/status-is-a-word", "RFC 9110 §15", &[(":status", "fine"), GRPC]),
        with_head("head/status-is-empty", "RFC 9110 §15", &[(":status", ""), GRPC]),
        with_head("head/status-has-four-digits", "RFC 9110 §15", &[(":status", "2000"), GRPC]),
        with_head("head/status-after-a-field", "RFC 9113 §8.3", &[GRPC, HEAD[0]]),
        with_head("head/status-in-upper-case", "RFC 9113 §8.2", &[(":Status", "200"), GRPC]),
        with_head("head/pseudo-of-requests", "RFC 9113 §8.3", &[HEAD[0], (":path", "/"), GRPC]),
        with_head("head/pseudo-unknown", "RFC 9113 §8.3", &[HEAD[0], (":frob", "1"), GRPC]),
        with_head("head/nothing-at-all", "RFC 9113 §8.3.2", &[]),
        extra("head/upper-case-name", "RFC 9113 §8.2", ("X-Upper", "1")),
        extra("head/empty-name", "RFC 9113 §8.2.1", ("", "1")),
        extra("head/space-in-name", "RFC 9113 §8.2.1", ("x y", "1")),
        extra("head/control-in-name", "RFC 9113 §8.2.1", ("x\u{7f}", "1")),
        extra("head/nul-in-value", "RFC 9113 §8.2.1", ("x", "a\0b")),
        extra("head/newline-in-value", "RFC 9113 §8.2.1", ("x", "a\r\nb: c")),
        extra("head/space-before-value", "RFC 9113 §8.2.1", ("x", " a")),
        extra("head/space-after-value", "RFC 9113 §8.2.1", ("x", "a\t")),
        extra("head/connection-field", "RFC 9113 §8.2.2", ("connection", "close")),
        extra("head/keep-alive", "RFC 9113 §8.2.2", ("keep-alive", "timeout=5")),
        extra("head/transfer-encoding", "RFC 9113 §8.2.2", ("transfer-encoding", "chunked")),
        extra("head/content-length-too-small", "RFC 9113 §8.1.1", ("content-length", "1")),
        extra("head/content-length-too-large", "RFC 9113 §8.1.1", ("content-length", "6")),
        extra("head/content-length-no-number", "RFC 9110 §8.6", ("content-length", "five")),
        answer("head/twice", "RFC 9113 §8.1", BROKEN, Stays, [head(HEAD), head(HEAD), rest()].concat()),
    ]
}

/// http-grpc-status-mapping.md.
fn http() -> Vec<Script> {
    let page = |name, status, allow| {
        let fields = [(":status", status), ("content-type", "text/html")];
        answer(name, "http-grpc-status-mapping", allow, Stays, [head(&fields), last_data(b"<html>no</html>")].concat())
    };
    let bare = |name, status, allow| answer(name, "http-grpc-status-mapping", allow, Stays, trailers(&[(":status", status)]));
    vec![
        bare("http/200-bare", "200", UNKNOWN),
        bare("http/204-bare", "204", UNKNOWN),
        bare("http/302-bare", "302", UNKNOWN),
        bare("http/404-bare", "404", &[code::UNIMPLEMENTED]),
        bare("http/503-bare", "503", &[code::UNAVAILABLE]),
        page("http/400-page", "400", &[code::INTERNAL]),
        page("http/401-page", "401", &[code::UNAUTHENTICATED]),
        page("http/403-page", "403", &[code::PERMISSION_DENIED]),
        page("http/404-page", "404", &[code::UNIMPLEMENTED]),
        page("http/418-page", "418", UNKNOWN),
        page("http/429-page", "429", &[code::UNAVAILABLE]),
        page("http/431-page", "431", BROKEN),
        page("http/500-page", "500", UNKNOWN),
        page("http/502-page", "502", &[code::UNAVAILABLE]).says("<html>no</html>"),
        page("http/503-page", "503", &[code::UNAVAILABLE]).says("503"),
        page("http/504-page", "504", &[code::UNAVAILABLE]),
        answer(
            "http/503-page-without-end",
            "http-grpc-status-mapping",
            &[code::UNAVAILABLE],
            Stays,
            [head(&[(":status", "503"), ("content-type", "text/html")]), data(b"<html>")].concat(),
        ),
        answer(
            "http/503-with-grpc-status",
            "http-grpc-status-mapping",
            FAILED,
            Stays,
            trailers(&[(":status", "503"), GRPC, ("grpc-status", "5")]),
        ),
    ]
}

fn content_types() -> Vec<Script> {
    let answered =
        |name, allow, value| answer(name, "PH2 Content-Type", allow, Stays, [head(&[HEAD[0], ("content-type", value)]), rest()].concat());
    vec![
        answered("content-type/html", UNKNOWN, "text/html").says("text/html"),
        answered("content-type/json", UNKNOWN, "application/json"),
        answered("content-type/grpc-web", UNKNOWN, "application/grpc-web+proto"),
        answered("content-type/grpcx", UNKNOWN, "application/grpcx"),
        answered("content-type/empty", UNKNOWN, ""),
        answered("content-type/grpc+proto", OK, "application/grpc+proto"),
        answered("content-type/with-parameter", OK, "application/grpc;charset=utf-8"),
        answered("content-type/upper-case", &[code::OK, code::UNKNOWN], "Application/GRPC"),
        answer("content-type/missing", "PH2 Content-Type", &[code::OK, code::UNKNOWN], Stays, [head(&HEAD[..1]), rest()].concat()),
        answer(
            "content-type/twice",
            "PH2 Content-Type",
            &[code::OK, code::UNKNOWN, code::INTERNAL],
            Stays,
            [head(&[HEAD[0], GRPC, ("content-type", "text/html")]), rest()].concat(),
        ),
    ]
}

fn informational() -> Vec<Script> {
    let early = head(&[(":status", "100")]);
    let hints = head(&[(":status", "103"), ("link", "</style.css>; rel=preload")]);
    let whole = [head(HEAD), rest()].concat();
    let late = |name, section, allow, octets: &[Vec<u8>]| answer(name, section, allow, Stays, octets.concat());
    vec![
        late("1xx/one", "RFC 9113 §8.1", OK, &[early.clone(), whole.clone()]),
        late("1xx/hints", "RFC 8297 §2", OK, &[hints.clone(), whole.clone()]),
        late("1xx/hundred", "RFC 9110 §15.2", OK, &[hints.repeat(100), whole.clone()]),
        late(
            "1xx/switching-protocols",
            "RFC 9113 §8.6",
            &[code::OK, code::INTERNAL, code::UNKNOWN],
            &[head(&[(":status", "101")]), whole.clone()],
        ),
        late("1xx/end-stream", "RFC 9113 §8.1", BROKEN, &[trailers(&[(":status", "100")])]),
        late("1xx/then-data", "RFC 9113 §8.1", BROKEN, &[early.clone(), rest()]),
        late("1xx/after-the-head", "RFC 9113 §8.1", BROKEN, &[head(HEAD), early.clone(), rest()]),
        late("1xx/then-trailers-only", "PH2 Trailers-Only", FAILED, &[early, trailers(&[HEAD[0], GRPC, ("grpc-status", "5")])]),
    ]
}

fn trailer_blocks() -> Vec<Script> {
    let ended = |name, section, allow, end: Vec<u8>| answer(name, section, allow, Stays, [head(HEAD), data(&message(b"")), end].concat());
    let field = |name, section, field: (&str, &str)| ended(name, section, BROKEN, trailers(&[TRAILERS[0], field]));
    let many: Vec<(String, String)> = (0..2_000).map(|n| (format!("x-{n}"), "y".repeat(20))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (&**name, &**value)).collect();
    let large = super::wire::block(&[TRAILERS, &many].concat());
    let pieces: Vec<&[u8]> = large.chunks(16_384).collect();
    let mut blocks = super::wire::frame(1, 1, 1, pieces[0]);
    for (number, piece) in pieces.iter().enumerate().skip(1) {
        blocks.extend(super::wire::continuation(if number + 1 == pieces.len() { 4 } else { 0 }, piece));
    }
    // How much is too much is each client's own affair.
    const LARGE: &[u32] = &[code::RESOURCE_EXHAUSTED, code::INTERNAL, code::UNKNOWN, code::UNAVAILABLE, code::OK];
    vec![
        field("trailers/status-pseudo", "RFC 9113 §8.1", (":status", "200")),
        field("trailers/upper-case-name", "RFC 9113 §8.2", ("X-Upper", "1")),
        field("trailers/connection-field", "RFC 9113 §8.2.2", ("connection", "close")),
        field("trailers/newline-in-value", "RFC 9113 §8.2.1", ("x", "a\nb")),
        ended("trailers/without-end-stream", "RFC 9113 §8.1", BROKEN, head(TRAILERS)),
        ended("trailers/without-end-then-data", "RFC 9113 §8.1", BROKEN, [head(TRAILERS), last_data(b"")].concat()),
        ended("trailers/none-data-ends", "PH2 Responses", BROKEN, last_data(b"")),
        ended("trailers/empty-block", "PH2 Responses", UNKNOWN, trailers(&[])),
        ended("trailers/two-thousand-fields", "PH2 Requests", LARGE, blocks).after(Either),
        answer("trailers/data-after-them", "RFC 9113 §5.1", OK, Either, [head(HEAD), rest(), data(b"late")].concat()),
        answer("trailers/head-after-them", "RFC 9113 §5.1", OK, Either, [head(HEAD), rest(), head(HEAD)].concat()),
        answer("trailers/twice", "RFC 9113 §5.1", OK, Either, [head(HEAD), rest(), trailers(&[("grpc-status", "13")])].concat()),
        answer("trailers/only-and-ok", "SC", CARDINALITY, Stays, trailers(&[HEAD[0], GRPC, TRAILERS[0]])),
        answer("trailers/only-without-grpc-status", "http-grpc-status-mapping", BROKEN, Stays, trailers(HEAD)),
        answer("trailers/only-and-ok-streaming", "PH2 Trailers-Only", OK, Stays, trailers(&[HEAD[0], GRPC, TRAILERS[0]]))
            .shape(Shape::Streaming),
        answer("trailers/only-not-found", "PH2 Trailers-Only", FAILED, Stays, trailers(&[HEAD[0], GRPC, ("grpc-status", "5")])),
    ]
}

/// Trailers of an answer whose message is fine.
fn statuses() -> Vec<Script> {
    let ended = |name, section, allow, fields: Fields<'_>| {
        answer(name, section, allow, Stays, [head(HEAD), data(&message(b"")), trailers(fields)].concat())
    };
    let status = |name, allow, value| ended(name, "PH2 Status", allow, &[("grpc-status", value)]);
    let not_found = |name, section, allow, field: (&str, &str)| ended(name, section, allow, &[("grpc-status", "5"), field]);
    const OR_BROKEN: &[u32] = &[code::NOT_FOUND, code::INTERNAL, code::UNKNOWN];
    let long = "m".repeat(6_000);
    vec![
        status("status/empty", BROKEN, ""),
        status("status/word", BROKEN, "OK"),
        status("status/negative", BROKEN, "-1"),
        status("status/plus-zero", BROKEN, "+0"),
        status("status/hex-zero", BROKEN, "0x0"),
        status("status/zero-point-zero", BROKEN, "0.0"),
        status("status/two-in-one", BROKEN, "0,0"),
        // What is no code is passed on as it is, or UNKNOWN (SC).
        status("status/17", &[code::UNKNOWN, 17], "17").says("17"),
        status("status/4294967296", BROKEN, "4294967296"),
        status("status/twenty-digits", BROKEN, "18446744073709551616"),
        ended("status/missing", "PH2 Status", UNKNOWN, &[("x", "y")]),
        ended("status/missing-with-message", "PH2 Status", UNKNOWN, &[("grpc-message", "lost")]),
        ended(
            "status/twice-ok-first",
            "PH2 Status",
            &[code::UNKNOWN, code::INTERNAL, code::NOT_FOUND],
            &[("grpc-status", "0"), ("grpc-status", "5")],
        ),
        ended(
            "status/twice-ok-last",
            "PH2 Status",
            &[code::UNKNOWN, code::INTERNAL, code::NOT_FOUND],
            &[("grpc-status", "5"), ("grpc-status", "0")],
        ),
        not_found("message/bad-percent", "PH2 Status-Message", FAILED, ("grpc-message", "100%zz%4%")).says("100%zz%4%"),
        not_found("message/not-utf-8", "PH2 Status-Message", FAILED, ("grpc-message", "%FF%FEgone")).says("gone"),
        not_found("message/nul-inside", "PH2 Status-Message", FAILED, ("grpc-message", "a%00b")),
        not_found("message/six-thousand-octets", "PH2 Status-Message", FAILED, ("grpc-message", &long)),
        not_found("metadata/bad-base64", "PH2 Custom-Metadata", OR_BROKEN, ("x-bin", "!!!!")),
        not_found("details/bad-base64", "A66", OR_BROKEN, ("grpc-status-details-bin", "!!!!")),
        // { code: 7 }
        not_found("details/of-another-code", "PH2 Status-Details", OR_BROKEN, ("grpc-status-details-bin", "CAc")),
        not_found("details/cut-short", "PH2 Status-Details", OR_BROKEN, ("grpc-status-details-bin", "CAUSgA")),
        ended(
            "metadata/bad-base64-and-ok",
            "PH2 Custom-Metadata",
            &[code::OK, code::INTERNAL, code::UNKNOWN],
            &[TRAILERS[0], ("x-bin", "A")],
        ),
    ]
}

fn messages() -> Vec<Script> {
    let body = |name, section, allow, after: After, octets: &[u8]| {
        answer(name, section, allow, after, [head(HEAD), data(octets), trailers(TRAILERS)].concat())
    };
    let cut = |name, octets: &[u8]| body(name, "PH2 Length-Prefixed-Message", BROKEN, Stays, octets);
    const CODING: &[u32] = &[code::INTERNAL, code::UNIMPLEMENTED];
    const TOO_LARGE: &[u32] = &[code::RESOURCE_EXHAUSTED];
    let coded = |name, coding, allow, octets: Vec<u8>| {
        let head = head(&[HEAD[0], GRPC, ("grpc-encoding", coding)]);
        let data: Vec<u8> = octets.chunks(16_000).flat_map(data).collect();
        answer(name, "compression.md", allow, Stays, [head, data, trailers(TRAILERS)].concat())
    };
    let bomb = gzip_bomb(40_000);
    let each_octet: Vec<u8> = message(&[8; 300]).iter().flat_map(|octet| data(&[*octet])).collect();
    vec![
        answer("message/none-and-ok", "SC", CARDINALITY, Stays, [head(HEAD), trailers(TRAILERS)].concat()),
        body("message/two", "SC", CARDINALITY, Stays, &message(b"").repeat(2)),
        body("message/a-thousand", "SC", CARDINALITY, Stays, &message(b"").repeat(1_000)),
        cut("message/half-a-prefix", &message(b"")[..3]),
        cut("message/prefix-only", &prefixed(0, 10, b"")),
        cut("message/half", &prefixed(0, 10, b"12345")),
        cut("message/half-streaming", &[message(b""), prefixed(0, 10, b"12345")].concat()).shape(Shape::Streaming),
        answer(
            "message/half-data-ends",
            "PH2 Length-Prefixed-Message",
            BROKEN,
            Stays,
            [head(HEAD), last_data(&prefixed(0, 10, b"12345"))].concat(),
        ),
        body(
            "message/longer-than-its-prefix",
            "PH2 Length-Prefixed-Message",
            &[code::INTERNAL, code::UNIMPLEMENTED],
            Stays,
            &prefixed(0, 2, b"12345"),
        ),
        body("message/half-with-error-status", "PH2 Responses", &[code::NOT_FOUND, code::INTERNAL], Stays, &prefixed(0, 10, b"12345"))
            .ends_with(trailers(&[("grpc-status", "5")])),
        body("message/whole-with-error-status", "SO", FAILED, Stays, &message(b"")).ends_with(trailers(&[("grpc-status", "5")])),
        body("message/too-large-announced", "SC", TOO_LARGE, Stays, &prefixed(0, (4 << 20) + 1, b"12345")).says("4194305"),
        body("message/4-gib-announced", "SC", TOO_LARGE, Stays, &prefixed(0, u32::MAX, b"12345")),
        body("message/compressed-without-coding", "compression.md", CODING, Stays, &prefixed(1, 5, b"12345")),
        body("message/flag-2", "PH2 Compressed-Flag", &[code::INTERNAL], Stays, &prefixed(2, 0, b"")),
        body("message/flag-255", "PH2 Compressed-Flag", &[code::INTERNAL], Stays, &prefixed(255, 0, b"")),
        body(
            "message/page-as-grpc",
            "PH2 Compressed-Flag",
            &[code::INTERNAL, code::RESOURCE_EXHAUSTED],
            Stays,
            b"<html><body>oops</body></html>",
        ),
        coded("message/coding-unknown", "frob", CODING, prefixed(1, 5, b"12345")),
        coded("message/coding-that-nothing-uses", "frob", &[code::OK, code::INTERNAL, code::UNIMPLEMENTED], message(b"")),
        coded("message/gzip-that-is-none", "gzip", CODING, prefixed(1, 5, b"12345")),
        coded(
            "message/gzip-bomb",
            "gzip",
            &[code::RESOURCE_EXHAUSTED, code::INTERNAL, code::UNIMPLEMENTED],
            prefixed(1, bomb.len() as u32, &bomb),
        ),
        answer("message/one-octet-per-frame", "RFC 9113 §6.1", OK, Stays, [head(HEAD), each_octet, trailers(TRAILERS)].concat()),
        Script::new("message/before-the-head", "RFC 9113 §8.1", BROKEN, Stays, vec![Step::Await(When::End), Step::Send(rest())]),
        answer(
            "message/on-a-bare-head",
            "http-grpc-status-mapping",
            &[code::UNKNOWN, code::OK],
            Stays,
            [head(&[HEAD[0]]), data(&message(b"")), trailers(TRAILERS)].concat(),
        ),
        answer("message/early-ok-in-bidi", "PH2 Responses", OK, Stays, [head(HEAD), rest()].concat()).shape(Shape::Bidi).when_head(),
        answer("message/early-error-in-bidi", "PH2 Responses", FAILED, Stays, trailers(&[HEAD[0], GRPC, ("grpc-status", "5")]))
            .shape(Shape::Bidi)
            .when_head(),
        body("message/flag-2-in-bidi", "PH2 Compressed-Flag", &[code::INTERNAL], Stays, &prefixed(2, 0, b""))
            .shape(Shape::Bidi)
            .when_head(),
        answer("message/nothing-to-bidi-but-data", "RFC 9113 §8.1", BROKEN, Stays, data(b"x")).shape(Shape::Bidi).when_head(),
    ]
}

impl Script {
    /// Answers as soon as the request's head is there, not at its end.
    pub(super) fn when_head(mut self) -> Self {
        self.steps[0] = Step::Await(When::Head);
        self
    }

    /// Other trailers: takes the place of the last frame, which is [`TRAILERS`].
    fn ends_with(mut self, end: Vec<u8>) -> Self {
        if let Some(Step::Send(octets)) = self.steps.last_mut() {
            octets.truncate(octets.len() - trailers(TRAILERS).len());
            octets.extend(end);
        }
        self
    }
}
