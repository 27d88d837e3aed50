//! Heads: fields, metadata, authorities, paths, statuses.

use crate::run::*;
use pintle_core::{
    CallOptions, Code, ErrorCode, Metadata, Shape, Status,
    testing::{
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};

/// Clients on Unix sockets send a path, an escaped path or nothing as `:authority`, and strict servers refused them all (RFC 9113 §8.3.1;
/// PROTOCOL-HTTP2 "Authority"). The core does not know what carries it, so it takes all of it everywhere.
pub(crate) fn b54_any_authority_is_taken(cut: Way) {
    let head = |fields: &[(&str, &str)]| {
        let pseudo = [(":method", "POST"), (":scheme", "http"), (":path", "/S/M")];
        let rest = [("content-type", "application/grpc"), ("te", "trailers")];
        let (authority, host): (Vec<_>, Vec<_>) = fields.iter().copied().partition(|field| field.0 == ":authority");
        block(&[&pseudo[..], &authority, &rest, &host].concat())
    };
    let mut peer = to_server(cut);
    let mut stream = 1;
    for authority in [
        "/var/run/x.sock",
        "%2Fvar%2Frun%2Fx.sock",
        "",
        "localhost",
        "unix:/x",
        "unix:///x",
        "[::1]:80",
        "x:99999",
        "\\\\.\\pipe\\x",
        "a/b?c#d",
    ] {
        for fields in [&[(":authority", authority)][..], &[("host", authority)], &[(":authority", authority), ("host", authority)]] {
            peer.headers(stream, true, &head(fields));
            let id = peer.accept();
            assert_eq!(peer.call(id).authority(), Some(authority), "shown as it came");
            peer.finish_ok(id);
            assert_eq!(status_of(&peer.said(), stream), Some("0"));
            stream += 2;
        }
    }
    peer.headers(stream, true, &head(&[]));
    let id = peer.accept();
    assert_eq!(peer.call(id).authority(), None);
    peer.finish_ok(id);
    // Ours says localhost unless told otherwise.
    let mut peer = to_client(cut);
    peer.start(Shape::Bidi);
    assert_eq!(peer.said()[0].field(":authority"), Some("localhost"));
}

/// Binary metadata: padded or not, joined by commas (PROTOCOL-HTTP2 "Custom-Metadata").
pub(crate) fn b56_binary_metadata(cut: Way) {
    let mut peer = to_server(cut);
    for (n, (value, expected)) in
        [("AAE=", &b"\0\x01"[..]), ("AAE", b"\0\x01"), ("", b""), ("AAE=,AgM", b"\0\x01"), ("AAE, AgM", b"\0\x01")].into_iter().enumerate()
    {
        let stream = 1 + 2 * n as u32;
        peer.request(stream, "/S/M", true, &[("x-bin", value.as_bytes())]);
        let id = peer.accept();
        assert_eq!(peer.call(id).metadata().get_bin("x-bin").as_deref(), Some(expected), "{value:?}");
        peer.finish_ok(id);
        peer.said();
    }
    for (n, junk) in ["-_8", "A A E", "!!!"].into_iter().enumerate() {
        let stream = 21 + 2 * n as u32;
        peer.request(stream, "/S/M", true, &[("x-bin", junk.as_bytes())]);
        while let Some(id) = peer.try_accept() {
            assert_eq!(peer.call(id).metadata().get_bin("x-bin"), None, "{junk:?}");
            peer.finish_ok(id);
        }
        peer.said();
    }
    peer.assert_usable(31);
    let values = |peer: &mut Peer, id| {
        let values: Vec<_> = peer.call(id).metadata().get_all_bin("X-BIN").collect();
        values
    };
    let pair = [&b"\0\x01"[..], b"\x02\x03"];
    let mut peer = to_server(cut);
    let doubles: [&[(&str, &[u8])]; 4] = [
        &[("x-bin", b"AAE=,AgM")],
        &[("x-bin", b"AAE, AgM=")],
        &[("x-bin", b"AAE"), ("x-bin", b"AgM")],
        &[("x-bin", b"AAE="), ("between", b"1"), ("x-bin", b"AgM=")],
    ];
    for (n, fields) in doubles.into_iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        peer.request(stream, "/S/M", true, fields);
        let id = peer.accept();
        assert_eq!(values(&mut peer, id), pair, "{fields:?}");
        peer.finish_ok(id);
        peer.said();
    }
    // The same from a server, in its head and its trailers; junk there fails or is dropped with its call alone.
    let mut peer = to_client(cut);
    for (n, fields) in doubles.into_iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        let id = peer.unary(b"");
        peer.said();
        peer.headers(stream, false, &[RESPONSE, &literal_block(fields)].concat());
        assert_eq!(values(&mut peer, id), pair, "{fields:?}");
        peer.data(stream, false, &message(b"")).headers(stream, true, &[TRAILERS_OK, &literal_block(fields)].concat());
        let outcome = peer.outcome(id);
        assert_eq!(outcome.status.code(), Code::Ok);
        assert_eq!(outcome.trailers.get_all_bin("x-bin").collect::<Vec<_>>(), pair);
    }
    for (n, junk) in ["-_8", "A A E", "!!!", "A", "=", "AAE=="].into_iter().enumerate() {
        let stream = 9 + 2 * n as u32;
        let id = called(&mut peer);
        let field = block(&[("x-bin", junk)]);
        peer.headers(stream, false, &[RESPONSE, &field].concat());
        assert_eq!(peer.call(id).metadata().get_bin("x-bin"), None, "{junk:?}");
        peer.data(stream, false, &message(b"")).headers(stream, true, &[TRAILERS_OK, &field].concat());
        assert_eq!(peer.outcome(id).trailers.get_bin("x-bin"), None, "{junk:?}");
        peer.said();
    }
    let mut metadata = Metadata::new();
    metadata.append_bin("X-Bin", b"\0\x01").expect("upper case is lowered");
    let mut peer = to_client(cut);
    peer.start_with(Shape::Bidi, Some(&metadata), CallOptions::default());
    let said = peer.said();
    assert_eq!(said.iter().find_map(|said| said.field("x-bin")), Some("AAE"), "lower case, without padding");
}

/// grpc-message: percent-coding that is broken lost the message, or the call (PROTOCOL-HTTP2 "Status-Message").
pub(crate) fn b57_status_messages(cut: Way) {
    let with = |message: &[u8]| [RESPONSE, &block(&[("grpc-status", "5")]), &literal_block(&[("grpc-message", message)])].concat();
    let mut peer = to_client(cut);
    let long = "x".repeat(2_000);
    let cases: [(&[u8], &str); 8] = [
        (b"plain", "plain"),
        (b"%", "%"),
        (b"%4", "%4"),
        (b"%zz", "%zz"),
        (b"a%20b%", "a b%"),
        (b"%E2%98%BA", "\u{263a}"),
        (b"%00", "\0"),
        (long.as_bytes(), &long),
    ];
    for (n, (wire, expected)) in cases.iter().enumerate() {
        let id = called(&mut peer);
        peer.headers(1 + 2 * n as u32, true, &with(wire));
        let outcome = peer.outcome(id);
        assert_eq!((outcome.status.code(), outcome.status.message()), (Code::NotFound, *expected));
    }
    for (n, wire) in [&b"%E2%82"[..], b"\x80\xff", b"%80%FF", b"%C0%80", b"x%ED%A0%80"].into_iter().enumerate() {
        let id = called(&mut peer);
        peer.headers(17 + 2 * n as u32, true, &with(wire));
        let outcome = peer.outcome(id);
        assert_eq!(outcome.status.code(), Code::NotFound);
        assert!(!outcome.status.message().is_empty(), "what is not UTF-8 is not lost");
    }
    peer.said();
    // 64 KiB of it are more than a header list may have: the code is kept, or the call fails for the size; never the connection.
    let id = called(&mut peer);
    let long = with(&vec![b'%'; 64 << 10]);
    let (first, rest) = long.split_at(16_000);
    peer.send(&frame(HEADERS, END_STREAM, 27, first));
    let pieces: Vec<_> = rest.chunks(16_384).collect();
    for (n, piece) in pieces.iter().enumerate() {
        peer.send(&frame(CONTINUATION, if n + 1 == pieces.len() { END_HEADERS } else { 0 }, 27, piece));
    }
    match peer.conn.close_reason() {
        None => assert!(matches!(peer.outcome(id).status.code(), Code::NotFound | Code::ResourceExhausted)),
        // More than four times the limit is abuse.
        Some(_) => assert_eq!(peer.outcome(id).status.code(), Code::Unavailable),
    }
    let mut peer = to_server(cut);
    let written = [
        ("100% \n \u{1F600}\u{7f}", Some("100%25 %0A %F0%9F%98%80%7F")),
        ("", None),
        ("\0\t\r\u{1f}", Some("%00%09%0D%1F")),
        ("~ !\u{80}\u{ff}", Some("~ !%C2%80%C3%BF")),
        ("%41", Some("%2541")),
    ];
    for (n, (text, wire)) in written.into_iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        peer.headers(stream, true, REQUEST);
        let id = peer.accept();
        peer.call(id).finish(&Status::new(Code::NotFound, text), None);
        let said = peer.said();
        assert_eq!(said.iter().find_map(|said| said.field("grpc-message")), wire);
        assert_eq!(status_of(&said, stream), Some("5"));
    }
}

/// What proxies answer (http-grpc-status-mapping).
pub(crate) fn b60_answers_of_proxies_are_mapped(cut: Way) {
    let codes = [
        ("400", Code::Internal),
        ("401", Code::Unauthenticated),
        ("403", Code::PermissionDenied),
        ("404", Code::Unimplemented),
        ("408", Code::Unknown),
        ("413", Code::Unknown),
        ("415", Code::Unknown),
        ("429", Code::Unavailable),
        ("500", Code::Unknown),
        ("502", Code::Unavailable),
        ("503", Code::Unavailable),
        ("504", Code::Unavailable),
        ("204", Code::Unknown),
        ("301", Code::Unknown),
        ("200", Code::Unknown),
    ];
    let mut peer = to_client(cut);
    let mut stream = 1;
    for (http, code) in codes {
        for content_type in [Some("text/html"), None] {
            for (body, length) in [(false, None), (true, None), (true, Some("26")), (false, Some("0"))] {
                let id = called(&mut peer);
                let mut fields = vec![(":status", http)];
                fields.extend(content_type.map(|value| ("content-type", value)));
                fields.extend(length.map(|value| ("content-length", value)));
                peer.headers(stream, !body, &block(&fields));
                if body {
                    peer.data(stream, true, b"<html>no such thing</html>");
                }
                let outcome = peer.outcome(id);
                assert_eq!(outcome.status.code(), code, "{http} {content_type:?} {body}: {}", outcome.status);
                assert!(outcome.status.message().contains(http), "{}", outcome.status.message());
                peer.said();
                stream += 2;
            }
        }
    }
    // 431 is INTERNAL in grpc-java and in one revision of the document, UNKNOWN in the other.
    let id = called(&mut peer);
    peer.headers(stream, true, &block(&[(":status", "431")]));
    assert!(matches!(peer.outcome(id).status.code(), Code::Internal | Code::Unknown));
    peer.said();
    peer.assert_usable(stream + 2);
}

/// Missing and odd content-type, te, method (PROTOCOL-HTTP2).
pub(crate) fn b61_heads_of_requests(cut: Way) {
    let request = |method: &str, content_type: Option<&str>, te: Option<&str>| {
        let mut fields = vec![(":method", method), (":scheme", "http"), (":path", "/S/M"), (":authority", "x")];
        fields.extend(content_type.map(|value| ("content-type", value)));
        fields.extend(te.map(|value| ("te", value)));
        block(&fields)
    };
    let mut peer = to_server(cut);
    let mut stream = 1;
    for content_type in
        [None, Some("application/json"), Some("application/grpc-web"), Some("application/grpcx"), Some(""), Some("application/grp")]
    {
        peer.headers(stream, true, &request("POST", content_type, None));
        let said = peer.said();
        assert_eq!(said.iter().find_map(|said| said.field(":status")), Some("415"), "{content_type:?}: {said:?}");
        assert_eq!(peer.try_accept(), None);
        stream += 2;
    }
    // Twice is not once: whoever passes it on may go by the other one.
    let twice = [request("POST", Some("application/grpc"), None), block(&[("content-type", "text/html")])].concat();
    peer.headers(stream, true, &twice);
    assert_eq!(peer.said().iter().find_map(|said| said.field(":status")), Some("415"));
    stream += 2;
    for content_type in ["application/grpc;charset=utf-8", "application/grpc+proto", "APPLICATION/GRPC", "application/grpc+json;x=y"] {
        peer.headers(stream, true, &request("POST", Some(content_type), Some("trailers")));
        let id = peer.accept();
        peer.finish_ok(id);
        assert_eq!(status_of(&peer.said(), stream), Some("0"), "{content_type}");
        stream += 2;
    }
    peer.headers(stream, true, &request("GET", Some("application/grpc"), Some("trailers")));
    let said = peer.said();
    assert_eq!(said.iter().find_map(|said| said.field(":status")), Some("405"), "{said:?}");
    assert_eq!(said.iter().find_map(|said| said.field("allow")), Some("POST"));
    stream += 2;
    // Without te it may be served or fail; never the connection.
    peer.headers(stream, true, &request("POST", Some("application/grpc"), None));
    if let Some(id) = peer.try_accept() {
        peer.finish_ok(id);
    }
    assert!(status_of(&peer.said(), stream).is_some());
    stream += 2;
    peer.headers(stream, true, &request("POST", Some("application/grpc"), Some("gzip")));
    assert_eq!(peer.try_accept(), None, "te may only be trailers (RFC 9113 §8.2.2)");
    peer.said();
    peer.assert_usable(stream + 2);
    let mut peer = to_client(cut);
    let id = called(&mut peer);
    peer.headers(1, true, &block(&[(":status", "200"), ("grpc-status", "12")]));
    assert_eq!(peer.outcome(id).status.code(), Code::Unimplemented);
}

/// User metadata cannot bring in fields that are not the user's (RFC 9113 §8.2.2).
pub(crate) fn b69_reserved_fields_cannot_be_added(cut: Way) {
    let keys = [
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        ":path",
        "grpc-status",
        "grpc-timeout",
        "content-type",
        "a key",
        "k\u{e9}y",
        "",
    ];
    let sent = |metadata: &Metadata| {
        let mut peer = to_client(cut);
        peer.start_with(Shape::Bidi, Some(metadata), CallOptions::default());
        let said = peer.said();
        said.iter().find(|said| said.kind() == HEADERS).expect("a request").fields.clone()
    };
    let plain = sent(&Metadata::new());
    for key in keys {
        let mut metadata = Metadata::new();
        // Refused at the API, or dropped on the way; on the wire it must not be.
        let _ = metadata.append(key, "7");
        assert_eq!(sent(&metadata), plain, "{key:?}");
    }
    for value in ["a\nb", "a\rb", "a\0b", "\u{80}"] {
        let mut metadata = Metadata::new();
        assert!(metadata.append("k", value).is_err(), "{value:?}");
    }
    // What plain HTTP may have, a call leaves out, wherever it comes from.
    let mut trailers = Metadata::new();
    let _ = trailers.append("grpc-status", "13");
    for key in ["grpc-status", "grpc-message", "content-type", "content-length", "te", "host", "grpc-timeout", "user-agent"] {
        let _ = trailers.append_http(key, b"7");
    }
    assert_eq!(sent(&trailers), plain);
    for key in ["connection", "transfer-encoding", "upgrade", ":status", "a b", ""] {
        assert!(trailers.append_http(key, b"7").is_err(), "{key:?}");
    }
    let mut peer = to_server(cut);
    peer.headers(1, true, REQUEST);
    let id = peer.accept();
    peer.call(id).send_headers(&trailers, true).expect("nothing was sent yet");
    peer.call(id).finish(&Status::ok().with_metadata(trailers.clone()), Some(&trailers));
    let said = peer.said();
    let names: Vec<_> = said.iter().flat_map(|said| &said.fields).map(|field| field.0.as_str()).collect();
    assert_eq!(names, [":status", "content-type", "grpc-status"]);
    let statuses: Vec<_> = said.iter().flat_map(|said| &said.fields).filter(|field| field.0 == "grpc-status").collect();
    assert_eq!(statuses, [&("grpc-status".to_owned(), "0".to_owned())]);
}

/// A path that is not exactly a route does not route (CVE-2026-33186).
pub(crate) fn b70_only_the_exact_path_routes(cut: Way) {
    let long = format!("/S/{}", "M".repeat(10_000));
    // Malformed, all of them: a stream error.
    let mut peer = to_server(cut);
    for (n, path) in ["", "/S/M ", "/S /M", "/S/M\u{e9}", "\t/S/M"].into_iter().enumerate() {
        peer.request(1 + 2 * n as u32, path, true, &[]);
        peer.assert_reset(1 + 2 * n as u32, &[ErrorCode::PROTOCOL_ERROR]);
        assert_eq!(peer.try_accept(), None, "{path}");
    }
    let paths = ["S/M", "//S/M", "/S/M/", "/S//M", "/S/M?x=1", "/S/M#f", "/s/m", "/S/%4D", "/", "*", "/S", "/S/", &long];
    let mut peer = to_server(cut);
    for (n, path) in paths.iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        peer.request(stream, path, true, &[]);
        assert_eq!(peer.try_accept(), None, "{path}");
        let said = peer.said();
        let malformed = said.iter().any(|said| said.reset_of(stream) == Some(ErrorCode::PROTOCOL_ERROR));
        assert!(status_of(&said, stream) == Some("12") || (malformed && *path == "*"), "{path}: {said:?}");
    }
    peer.assert_usable(41);
}
