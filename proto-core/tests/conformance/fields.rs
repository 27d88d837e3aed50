//! Fields (RFC 9113 §8.2, §8.3): each in a request's head, in its trailers, in a response's head and in its trailers.

use super::{
    case::{Given::*, *},
    lab::{Lab, headers},
};
use pintle_core::{
    ErrorCode as E, Metadata,
    testing::{Cut, wire::*},
};

type Field = (&'static str, &'static [u8], &'static [u8]);

/// Malformed wherever they are (§8.1.1): name of the case, section, field.
const BAD: [(&str, &str, &[u8], &[u8]); 37] = [
    ("no_name", "8.2.1", b"", b"v"),
    ("neither_name_nor_value", "8.2.1", b"", b""),
    ("upper_case", "8.2.1", b"X-Name", b"v"),
    ("upper_case_last", "8.2.1", b"namE", b"v"),
    ("nul_in_name", "8.2.1", b"a\0b", b"v"),
    ("tab_in_name", "8.2.1", b"a\tb", b"v"),
    ("lf_in_name", "8.2.1", b"a\nb", b"v"),
    ("cr_in_name", "8.2.1", b"a\rb", b"v"),
    ("space_in_name", "8.2.1", b"a b", b"v"),
    ("space_before_name", "8.2.1", b" a", b"v"),
    ("space_behind_name", "8.2.1", b"a ", b"v"),
    ("colon_in_name", "8.2.1", b"a:b", b"v"),
    ("colon_behind_name", "8.2.1", b"a:", b"v"),
    ("del_in_name", "8.2.1", b"a\x7f", b"v"),
    ("octet_0x80_in_name", "8.2.1", b"a\x80", b"v"),
    ("octet_0xff_in_name", "8.2.1", b"\xff", b"v"),
    ("unit_separator_in_name", "8.2.1", b"a\x1f", b"v"),
    // Not a token (RFC 9110 §5.6.2).
    ("quote_in_name", "8.2.1", b"a\"b", b"v"),
    ("parenthesis_in_name", "8.2.1", b"a(b", b"v"),
    ("comma_in_name", "8.2.1", b"a,b", b"v"),
    ("slash_in_name", "8.2.1", b"a/b", b"v"),
    ("nul_in_value", "8.2.1", b"a", b"v\0v"),
    ("lf_in_value", "8.2.1", b"a", b"v\nv"),
    ("cr_in_value", "8.2.1", b"a", b"v\rv"),
    ("crlf_in_value", "8.2.1", b"a", b"v\r\nx: y"),
    ("space_before_value", "8.2.1", b"a", b" v"),
    ("space_behind_value", "8.2.1", b"a", b"v "),
    ("tab_before_value", "8.2.1", b"a", b"\tv"),
    ("tab_behind_value", "8.2.1", b"a", b"v\t"),
    ("value_of_a_space", "8.2.1", b"a", b" "),
    ("connection", "8.2.2", b"connection", b"keep-alive"),
    ("proxy_connection", "8.2.2", b"proxy-connection", b"keep-alive"),
    ("keep_alive", "8.2.2", b"keep-alive", b"timeout=5"),
    ("transfer_encoding", "8.2.2", b"transfer-encoding", b"chunked"),
    ("upgrade", "8.2.2", b"upgrade", b"h2c"),
    ("te_gzip", "8.2.2", b"te", b"gzip"),
    ("unknown_pseudo_field", "8.3", b":unknown", b"v"),
];

/// Well-formed wherever they are.
const GOOD: [Field; 11] = [
    ("every_token_character", b"a09z!#$%&'*+-.^_`|~", b"v"),
    ("empty_value", b"a", b""),
    ("space_and_tab_inside_a_value", b"a", b"v v\tv"),
    ("colon_in_value", b"a", b":v:"),
    ("octets_from_0x80_in_value", b"a", b"\x80\xff\xc3\xa4"),
    ("one_octet", b"a", b"v"),
    ("digits_as_name", b"123", b"v"),
    ("field_twice_1", b"grpc-foo", b"1"),
    ("priority_field", b"priority", b"u=1"),
    ("expect_field", b"expect", b"100-continue"),
    ("link_field", b"link", b"</x>; rel=preload"),
];

const REQUEST: [(&[u8], &[u8]); 6] = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/S/M"),
    (b":authority", b"x"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
];
const RESPONSE: [(&[u8], &[u8]); 2] = [(b":status", b"200"), (b"content-type", b"application/grpc")];

fn block(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    fields.iter().for_each(|(name, value)| literal(&mut block, 0, name, value));
    block
}

/// The request without some fields and with others, which come first or last.
fn request(without: &[&str], first: &[(&[u8], &[u8])], last: &[(&[u8], &[u8])]) -> Vec<u8> {
    let kept = REQUEST.iter().copied().filter(|(name, _)| !without.iter().any(|not| not.as_bytes() == *name));
    let fields: Vec<_> = first.iter().copied().chain(kept).chain(last.iter().copied()).collect();
    headers(1, END_STREAM, &block(&fields))
}

fn response(first: &[(&[u8], &[u8])], last: &[(&[u8], &[u8])]) -> Vec<u8> {
    let fields: Vec<_> = first.iter().chain(&RESPONSE).chain(last).copied().collect();
    headers(1, 0, &block(&fields))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = everywhere();
    cases.extend(request_heads());
    cases.extend(authorities());
    cases.extend(response_heads());
    cases
}

fn everywhere() -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, section, name, value) in BAD {
        let field = (name, value);
        let trailers = headers(1, END_STREAM, &block(&[(b"grpc-status", b"0"), field]));
        cases.extend([
            server(format!("{what}_in_a_request"), section, Ready, request(&["te"], &[], &[field])).stream(1, E::PROTOCOL_ERROR),
            server(format!("{what}_in_request_trailers"), section, Open, trailers.clone()).stream(1, E::PROTOCOL_ERROR),
            client(format!("{what}_in_a_response"), section, Sent, response(&[], &[field])).stream(1, E::PROTOCOL_ERROR),
            client(format!("{what}_in_response_trailers"), section, Open, trailers).stream(1, E::PROTOCOL_ERROR),
        ]);
    }
    for (what, name, value) in GOOD {
        let field = (name, value);
        let trailers = headers(1, END_STREAM, &block(&[(b"grpc-status", b"0"), field]));
        cases.extend([
            server(format!("{what}_in_a_request"), "8.2.1", Ready, request(&[], &[], &[field])).does("", "incoming; end"),
            server(format!("{what}_in_request_trailers"), "8.2.1", Open, trailers.clone()).does("", "end").over(),
            client(format!("{what}_in_a_response"), "8.2.1", Sent, response(&[], &[field])).does("", "headers"),
            client(format!("{what}_in_response_trailers"), "8.2.1", HalfLocal, trailers).does("", "outcome Ok").over(),
        ]);
    }
    let pseudo: [(&str, &[u8], &[u8]); 5] = [
        ("method", b":method", b"POST"),
        ("scheme", b":scheme", b"http"),
        ("path", b":path", b"/S/M"),
        ("authority", b":authority", b"x"),
        ("status", b":status", b"200"),
    ];
    for (what, name, value) in pseudo {
        let trailers = headers(1, END_STREAM, &block(&[(name, value), (b"grpc-status", b"0")]));
        cases.push(server(format!("pseudo_{what}_in_request_trailers"), "8.1", Open, trailers.clone()).stream(1, E::PROTOCOL_ERROR));
        cases.push(client(format!("pseudo_{what}_in_response_trailers"), "8.1", Open, trailers).stream(1, E::PROTOCOL_ERROR));
    }
    cases
}

fn request_heads() -> Vec<Case> {
    let bad = |name: &str, section, octets| server(name, section, Ready, octets).stream(1, E::PROTOCOL_ERROR);
    let mut cases = vec![
        bad("request_without_method", "8.3.1", request(&[":method"], &[], &[])),
        bad("request_without_scheme", "8.3.1", request(&[":scheme"], &[], &[])),
        bad("request_without_path", "8.3.1", request(&[":path"], &[], &[])),
        bad("request_without_pseudo_fields", "8.3.1", request(&[":method", ":scheme", ":path", ":authority"], &[], &[])),
        bad("request_with_two_methods", "8.3.1", request(&[], &[(b":method", b"POST")], &[])),
        bad("request_with_two_schemes", "8.3.1", request(&[], &[(b":scheme", b"http")], &[])),
        bad("request_with_two_paths", "8.3.1", request(&[], &[(b":path", b"/S/M")], &[])),
        bad("request_with_two_authorities", "8.3.1", request(&[], &[(b":authority", b"x")], &[])),
        bad("pseudo_field_behind_a_regular_one", "8.3", request(&[":path"], &[], &[(b":path", b"/S/M")])),
        bad("authority_behind_a_regular_field", "8.3", request(&[":authority"], &[], &[(b":authority", b"x")])),
        bad("regular_field_first", "8.3", request(&[], &[(b"a", b"b")], &[])),
        bad("status_in_a_request", "8.3", request(&[], &[(b":status", b"200")], &[])),
        bad("unknown_pseudo_field_first", "8.3", request(&[], &[(b":foo", b"x")], &[])),
        bad("protocol_without_extended_connect", "8.3", request(&[], &[(b":protocol", b"websocket")], &[])),
        bad("upper_case_pseudo_field", "8.2.1", request(&[":path"], &[(b":Path", b"/S/M")], &[])),
        bad("pseudo_field_without_a_name", "8.3", request(&[], &[(b":", b"x")], &[])),
        bad("empty_path", "8.3.1", request(&[":path"], &[(b":path", b"")], &[])),
        bad("path_with_a_space", "8.3.1", request(&[":path"], &[(b":path", b"/S/M x")], &[])),
        bad("path_with_nul", "8.2.1", request(&[":path"], &[(b":path", b"/S/M\0")], &[])),
        // Malformed would do as well; a gRPC server answers every path that is no method so.
        server("path_of_an_asterisk", "8.3.1", Ready, request(&[":path"], &[(b":path", b"*")], &[])).does("HEADERS 1 ES 200 grpc=12", ""),
        bad("empty_method", "8.3.1", request(&[":method"], &[(b":method", b"")], &[])),
        bad("method_with_a_space", "8.3.1", request(&[":method"], &[(b":method", b"PO ST")], &[])),
        bad("empty_scheme", "8.3.1", request(&[":scheme"], &[(b":scheme", b"")], &[])),
        bad("connect_with_scheme_and_path", "8.5", request(&[":method"], &[(b":method", b"CONNECT")], &[])),
        bad("connect_with_a_path", "8.5", request(&[":method", ":scheme"], &[(b":method", b"CONNECT")], &[])),
        bad("connect_without_authority", "8.5", request(&[":method", ":scheme", ":path", ":authority"], &[(b":method", b"CONNECT")], &[])),
        bad("content_length_that_is_no_number", "8.1.1", request(&[], &[], &[(b"content-length", b"1x")])),
        bad("content_length_that_is_negative", "8.1.1", request(&[], &[], &[(b"content-length", b"-1")])),
        bad("content_length_without_value", "8.1.1", request(&[], &[], &[(b"content-length", b"")])),
        bad("te_with_more_than_trailers", "8.2.2", request(&["te"], &[], &[(b"te", b"trailers, deflate")])),
        server("te_trailers", "8.2.2", Ready, request(&[], &[], &[])).does("", "incoming; end"),
        // PH2 makes it a must for clients; its absence is tolerated.
        server("te_left_out", "gRPC HTTP2", Ready, request(&["te"], &[], &[])).does("", "incoming; end"),
        server("pseudo_fields_in_another_order", "8.3", Ready, {
            let first: [(&[u8], &[u8]); 4] = [(b":path", b"/S/M"), (b":authority", b"x"), (b":scheme", b"http"), (b":method", b"POST")];
            request(&[":path", ":authority", ":scheme", ":method"], &first, &[])
        })
        .does("", "incoming; end"),
        server("connect", "8.5", Ready, request(&[":method", ":scheme", ":path"], &[(b":method", b"CONNECT")], &[]))
            .does("HEADERS 1 ES 405 grpc=13", ""),
        server("get", "gRPC HTTP2", Ready, request(&[":method"], &[(b":method", b"GET")], &[])).does("HEADERS 1 ES 405 grpc=13", ""),
        server("asterisk_of_options", "8.3.1", Ready, request(&[":method", ":path"], &[(b":method", b"OPTIONS"), (b":path", b"*")], &[]))
            .does("HEADERS 1 ES 405 grpc=13", ""),
        server("another_content_type", "gRPC HTTP2", Ready, request(&["content-type"], &[], &[(b"content-type", b"text/html")]))
            .does("HEADERS 1 ES 415 grpc=3", ""),
        server("get_for_the_application", "8.3.1", Ready, request(&[":method"], &[(b":method", b"GET")], &[]))
            .config(|config| config.accept_http = true)
            .does("", "http"),
        code("cookie_crumbs_stay_in_order", "8.2.3", Role::Server, cookies),
    ];
    for (scheme, value) in [("https", b"https".as_slice()), ("unix", b"unix"), ("of_ones_own", b"x+y.z-1")] {
        let octets = request(&[":scheme"], &[(b":scheme", value)], &[]);
        cases.push(server(format!("scheme_{scheme}"), "8.3.1", Ready, octets).does("", "incoming; end"));
    }
    cases
}

fn authorities() -> Vec<Case> {
    let bad = |name: &str, first: &[u8], host: &[u8]| {
        server(name, "8.3.1", Ready, request(&[":authority"], &[(b":authority", first)], &[(b"host", host)])).stream(1, E::PROTOCOL_ERROR)
    };
    let mut cases = vec![
        bad("host_and_authority_that_differ", b"a", b"b"),
        bad("host_and_authority_with_different_ports", b"a:1", b"a:2"),
        bad("host_with_userinfo", b"a", b"u@a"),
        server("authority_with_userinfo", "8.3.1", Ready, request(&[":authority"], &[(b":authority", b"user:pw@host")], &[]))
            .stream(1, E::PROTOCOL_ERROR),
        server("authority_with_a_space", "8.3.1", Ready, request(&[":authority"], &[(b":authority", b"a b")], &[]))
            .stream(1, E::PROTOCOL_ERROR),
        server("two_hosts", "8.3.1", Ready, request(&[":authority"], &[], &[(b"host", b"a"), (b"host", b"a")]))
            .stream(1, E::PROTOCOL_ERROR),
        server(
            "host_and_authority_that_agree",
            "8.3.1",
            Ready,
            request(&[":authority"], &[(b":authority", b"A.b:1")], &[(b"host", b"a.B:1")]),
        )
        .does("", "incoming; end"),
        server("host_without_authority", "8.3.1", Ready, request(&[":authority"], &[], &[(b"host", b"a:1")])).does("", "incoming; end"),
        server("neither_host_nor_authority", "8.3.1", Ready, request(&[":authority"], &[], &[])).does("", "incoming; end"),
    ];
    // On Unix sockets clients send all of these; nothing is routed by it.
    let seen: [(&str, &[u8]); 9] = [
        ("empty", b""),
        ("localhost", b"localhost"),
        ("path", b"/run/a.sock"),
        ("percent_coded_path", b"%2Frun%2Fa.sock"),
        ("unix_uri", b"unix:/run/a.sock"),
        ("abstract_name", b"unix-abstract:name"),
        ("ipv6", b"[::1]:50051"),
        ("underscore", b"my_service:80"),
        ("backslash", b"a\\b"),
    ];
    for (what, value) in seen {
        let octets = request(&[":authority"], &[(b":authority", value)], &[]);
        cases.push(server(format!("authority_{what}"), "8.3.1", Ready, octets).does("", "incoming; end"));
    }
    cases
}

fn response_heads() -> Vec<Case> {
    let bad = |name: &str, section, octets| client(name, section, Sent, octets).stream(1, E::PROTOCOL_ERROR);
    let status = |value: &[u8]| headers(1, 0, &block(&[(b":status", value), (b"content-type", b"application/grpc")]));
    let mut cases = vec![
        bad("response_without_status", "8.3.2", headers(1, 0, &block(&RESPONSE[1..]))),
        bad("response_with_two_statuses", "8.3.2", response(&[(b":status", b"200")], &[])),
        bad("status_behind_a_regular_field", "8.3", headers(1, 0, &block(&[RESPONSE[1], RESPONSE[0]]))),
        bad("informational_response_without_status", "8.3.2", headers(1, 0, &block(&[(b"link", b"</x>")]))),
        bad("trailers_only_without_status", "8.3.2", headers(1, END_STREAM, &block(&[(b"grpc-status", b"0")]))),
        // §8.2.2 allows te in requests only.
        bad("te_trailers_in_a_response", "8.2.2", response(&[], &[(b"te", b"trailers")])),
        client(
            "te_trailers_in_response_trailers",
            "8.2.2",
            Open,
            headers(1, END_STREAM, &block(&[(b"grpc-status", b"0"), (b"te", b"trailers")])),
        )
        .stream(1, E::PROTOCOL_ERROR),
        bad("response_with_a_bad_content_length", "8.1.1", response(&[], &[(b"content-length", b"ten")])),
        bad("response_with_two_content_lengths", "8.1.1", response(&[], &[(b"content-length", b"1"), (b"content-length", b"2")])),
        client("status_200_as_a_literal", "8.3.2", Sent, status(b"200")).does("", "headers"),
    ];
    for (what, value) in [
        ("empty", b"".as_slice()),
        ("of_two_digits", b"20"),
        ("of_four_digits", b"2000"),
        ("with_a_letter", b"20x"),
        ("with_a_sign", b"+20"),
        ("with_a_space", b"20 "),
        ("below_100", b"099"),
        ("of_0", b"000"),
    ] {
        cases.push(bad(&format!("status_{what}"), "8.3.2", status(value)));
    }
    let pseudo: [(&str, &[u8], &[u8]); 4] =
        [("method", b":method", b"GET"), ("scheme", b":scheme", b"http"), ("path", b":path", b"/"), ("authority", b":authority", b"x")];
    for (what, name, value) in pseudo {
        cases.push(bad(&format!("pseudo_{what}_in_a_response"), "8.3", response(&[(name, value)], &[])));
    }
    cases
}

/// A client may split `cookie` (§8.2.3). Whoever passes the fields on outside of HTTP/2 has to join them with `; `; metadata of gRPC is
/// a list, so they stay apart there, in their order.
fn cookies(cut: Cut) {
    let mut lab = Lab::new(true, Ready, &[], |_| {}, cut);
    lab.step(&Step::In(request(&[], &[], &[(b"cookie", b"a=1"), (b"x", b"y"), (b"cookie", b"b=2"), (b"cookie", b"c=3")])));
    let id = *lab.calls.last().expect("a call");
    let crumbs = |metadata: &Metadata| -> Vec<String> { metadata.get_all("cookie").map(str::to_owned).collect() };
    assert_eq!(crumbs(lab.peer.call(id).metadata()), ["a=1", "b=2", "c=3"]);
}
