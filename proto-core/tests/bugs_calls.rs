//! Faults that other implementations had in calls: heads, metadata, deadlines, messages, statuses, replayed.

#[path = "support/peer.rs"]
mod peer;

use bytes::Bytes;
use peer::*;
use pintle_core::{
    CallOptions, Code, Config, Endpoint, ErrorCode, Metadata, Payload, SendError, Shape, Status,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

/// A unary call of our client, after its request has gone out.
fn called(peer: &mut Peer) -> pintle_core::CallId {
    let id = peer.unary(b"");
    peer.said();
    id
}

/// The status of the answer on `stream` that was said.
fn status_of(said: &[Said], stream: u32) -> Option<&str> {
    said.iter().filter(|said| said.stream() == stream).find_map(|said| said.field("grpc-status"))
}

/// Two responses, or none with OK, hung a unary call (statuscodes.md).
#[test]
fn b43_a_unary_call_has_one_response() {
    let cardinality = [Code::Unimplemented, Code::Internal];
    each_cut(|cut| {
        let mut peer = to_client(cut);
        let id = called(&mut peer);
        peer.headers(1, false, RESPONSE).data(1, false, &message(b"a")).data(1, false, &message(b"b")).headers(1, true, TRAILERS_OK);
        let (messages, ended) = peer.messages(id);
        assert!(ended && messages.is_empty());
        assert!(cardinality.contains(&peer.outcome(id).status.code()));
        let id = called(&mut peer);
        peer.headers(3, false, RESPONSE).headers(3, true, TRAILERS_OK);
        assert!(cardinality.contains(&peer.outcome(id).status.code()));
        let id = called(&mut peer);
        peer.headers(5, false, RESPONSE).data(5, false, &[&message(b"a")[..], &[0]].concat()).headers(5, true, TRAILERS_OK);
        assert_eq!(peer.outcome(id).status.code(), Code::Internal);
        peer.said();
        peer.assert_whole();
        peer.assert_usable(7);
    });
}

/// A response without grpc-status was success; or the HTTP status beat a grpc-status (PROTOCOL-HTTP2 "Responses").
#[test]
fn b44_no_grpc_status_is_no_success() {
    each_cut(|cut| {
        let mut peer = to_client(cut);
        let id = called(&mut peer);
        peer.headers(1, false, RESPONSE).data(1, true, &message(b"a"));
        assert!(matches!(peer.outcome(id).status.code(), Code::Internal | Code::Unknown));
        let id = called(&mut peer);
        peer.headers(3, true, RESPONSE);
        assert!(matches!(peer.outcome(id).status.code(), Code::Internal | Code::Unknown));
        let id = called(&mut peer);
        let head = block(&[(":status", "502"), ("content-type", "application/grpc")]);
        peer.headers(5, false, &head).data(5, false, &message(b"a")).headers(5, true, TRAILERS_OK);
        assert_eq!(peer.outcome(id).status.code(), Code::Ok, "grpc-status wins");
    });
}

/// grpc-timeout: overflow, zero and junk (PROTOCOL-HTTP2 "Timeout").
#[test]
fn b55_timeouts_are_parsed() {
    let good: &[(&str, Option<Duration>)] = &[
        ("1S", Some(Duration::from_secs(1))),
        ("00000001S", Some(Duration::from_secs(1))),
        ("250m", Some(Duration::from_millis(250))),
        ("7u", Some(Duration::from_micros(7))),
        ("99999999H", None),
    ];
    let bad = ["-1S", "+1S", "100000000S", "1", "S", "1s", "1 S", "1.5S", ""];
    each_cut(|cut| {
        let mut peer = to_server(cut);
        let mut stream = 1;
        for (text, expected) in good {
            peer.request(stream, "/S/M", false, &[("grpc-timeout", text.as_bytes())]);
            let id = peer.accept();
            let (now, deadline) = (peer.now, peer.call(id).deadline());
            match expected {
                Some(time) => assert_eq!(deadline.map(|at| at.saturating_since(now)), Some(*time), "{text}"),
                // 11,415 years: whatever it is, it must not be soon.
                None => assert!(deadline.is_none_or(|at| at.saturating_since(now) > Duration::from_secs(1 << 30)), "{text}"),
            }
            peer.finish_ok(id);
            stream += 2;
        }
        peer.said();
        for text in bad {
            peer.request(stream, "/S/M", false, &[("grpc-timeout", text.as_bytes())]);
            assert_eq!(peer.try_accept(), None, "{text:?}");
            let said = peer.said();
            let reset = said.iter().find_map(|said| said.reset_of(stream));
            assert!(status_of(&said, stream).is_some_and(|status| status != "0") || reset.is_some(), "{text:?}: {said:?}");
            stream += 2;
        }
        for text in ["0n", "0S"] {
            peer.request(stream, "/S/M", false, &[("grpc-timeout", text.as_bytes())]);
            let said = peer.said();
            assert!(status_of(&said, stream).is_some_and(|status| status != "0"), "{text}: {said:?}");
            stream += 2;
        }
        peer.request(stream, "/S/M", false, &[("grpc-timeout", b"1S"), ("grpc-timeout", b"2S")]);
        assert_eq!(peer.try_accept(), None, "two of them are no timeout");
        peer.said();
        peer.assert_usable(stream + 2);
    });
}

/// Our own timeouts: one to eight digits, rounded up; a deadline that has passed fails locally.
#[test]
fn b55_timeouts_are_written() {
    let mut peer = to_client(Cut::Whole);
    let now = peer.now;
    let mut written = |after: Duration| {
        let options = CallOptions::default().deadline(Some(now.saturating_add(after)));
        let id = peer.start_with(Shape::Unary, None, options);
        // A call whose deadline has passed takes no message.
        let _ = peer.call(id).send(Payload::new());
        let said = peer.said();
        let text = said.iter().find_map(|said| said.field("grpc-timeout")).map(str::to_owned);
        (peer.call(id).take_outcome(), text)
    };
    let micros = |n| Duration::from_micros(n);
    let parse = |text: &str| {
        let (digits, unit) = text.split_at(text.len() - 1);
        assert!((1..=8).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit()), "{text}");
        let nanos: u128 = match unit {
            "H" => 3_600_000_000_000,
            "M" => 60_000_000_000,
            "S" => 1_000_000_000,
            "m" => 1_000_000,
            "u" => 1_000,
            _ => 1,
        };
        digits.parse::<u128>().expect("digits") * nanos
    };
    for after in
        [micros(1), micros(999), micros(99_999_999), micros(100_000_001), Duration::from_secs(100), Duration::from_secs(300 * 365 * 86_400)]
    {
        let (outcome, text) = written(after);
        assert!(outcome.is_none());
        let sent = parse(&text.expect("a grpc-timeout"));
        assert!(sent >= after.as_nanos(), "{sent} ns were written for {after:?}");
        // The next unit is taken when eight digits do not do: never more than 1 part in 10^5 too long, or one unit.
        assert!(sent <= after.as_nanos() + after.as_nanos() / 100_000 + 1_000, "{sent} ns were written for {after:?}");
    }
    let (outcome, text) = written(Duration::ZERO);
    assert_eq!(outcome.map(|outcome| outcome.status.code()), Some(Code::DeadlineExceeded));
    assert_eq!(text, None, "a call that is over is not sent");
}

/// A deadline that passes ends the call on both sides.
#[test]
fn b55_deadlines_end_calls() {
    each_cut(|cut| {
        let mut peer = to_client(cut);
        let deadline = peer.now.saturating_add(Duration::from_millis(50));
        let id = peer.start_with(Shape::Unary, None, CallOptions::default().deadline(Some(deadline)));
        peer.put(id, &b""[..]);
        peer.said();
        assert_eq!(peer.conn.wants().deadline.map(|at| at <= deadline), Some(true), "never late");
        peer.advance(Duration::from_millis(50));
        assert_eq!(peer.outcome(id).status.code(), Code::DeadlineExceeded);
        peer.assert_reset(1, &[ErrorCode::CANCEL]);
        let mut peer = to_server(cut);
        peer.request(1, "/S/M", false, &[("grpc-timeout", b"50m")]);
        let id = peer.accept();
        peer.advance(Duration::from_millis(51));
        let finished =
            peer.events().into_iter().any(|event| matches!(event, pintle_core::Event::Finished { code: Code::DeadlineExceeded, .. }));
        assert!(finished);
        peer.finish_ok(id);
        let said = peer.said();
        assert!(status_of(&said, 1) == Some("4") || said.iter().any(|said| said.reset_of(1) == Some(ErrorCode::CANCEL)), "{said:?}");
        peer.assert_usable(3);
    });
}

/// Binary metadata: padded or not, joined by commas (PROTOCOL-HTTP2 "Custom-Metadata").
#[test]
fn b56_binary_metadata() {
    each_cut(|cut| {
        let mut peer = to_server(cut);
        for (n, (value, expected)) in
            [("AAE=", &b"\0\x01"[..]), ("AAE", b"\0\x01"), ("", b""), ("AAE=,AgM", b"\0\x01"), ("AAE, AgM", b"\0\x01")]
                .into_iter()
                .enumerate()
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
    });
    let mut metadata = Metadata::new();
    metadata.append_bin("X-Bin", b"\0\x01").expect("upper case is lowered");
    let mut peer = to_client(Cut::Whole);
    peer.start_with(Shape::Bidi, Some(&metadata), CallOptions::default());
    let said = peer.said();
    assert_eq!(said.iter().find_map(|said| said.field("x-bin")), Some("AAE"), "lower case, without padding");
}

/// grpc-message: percent-coding that is broken lost the message, or the call (PROTOCOL-HTTP2 "Status-Message").
#[test]
fn b57_status_messages() {
    let with = |message: &[u8]| [RESPONSE, &block(&[("grpc-status", "5")]), &literal_block(&[("grpc-message", message)])].concat();
    each_cut(|cut| {
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
        for (n, wire) in [&b"%E2%82"[..], b"\x80\xff"].into_iter().enumerate() {
            let id = called(&mut peer);
            peer.headers(17 + 2 * n as u32, true, &with(wire));
            let outcome = peer.outcome(id);
            assert_eq!(outcome.status.code(), Code::NotFound);
            assert!(!outcome.status.message().is_empty(), "what is not UTF-8 is not lost");
        }
        peer.said();
        peer.assert_usable(21);
    });
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, true, REQUEST);
    let id = peer.accept();
    peer.call(id).finish(&Status::new(Code::NotFound, "100% \n \u{1F600}\u{7f}"), None);
    let said = peer.said();
    assert_eq!(said.iter().find_map(|said| said.field("grpc-message")), Some("100%25 %0A %F0%9F%98%80%7F"));
}

/// Odd grpc-status values crashed the client or read as OK.
#[test]
fn b58_odd_statuses_are_not_ok() {
    each_cut(|cut| {
        let mut peer = to_client(cut);
        for (n, status) in ["42", "-1", "00", "abc", "", "4294967296"].into_iter().enumerate() {
            let id = called(&mut peer);
            let stream = 1 + 2 * n as u32;
            peer.headers(stream, false, RESPONSE).data(stream, false, &message(b"x")).headers(
                stream,
                true,
                &block(&[("grpc-status", status)]),
            );
            assert!(matches!(peer.outcome(id).status.code(), Code::Unknown | Code::Internal), "{status:?}");
        }
        let id = called(&mut peer);
        peer.headers(13, false, RESPONSE).data(13, false, &message(b"x")).headers(
            13,
            true,
            &block(&[("grpc-status", "0"), ("grpc-status", "13")]),
        );
        assert_ne!(peer.outcome(id).status.code(), Code::Ok, "two of them");
        let id = called(&mut peer);
        peer.headers(15, true, &[RESPONSE, TRAILERS_OK].concat());
        assert!(matches!(peer.outcome(id).status.code(), Code::Unimplemented | Code::Internal), "OK, but no message");
        peer.said();
        peer.assert_usable(17);
    });
}

/// What proxies answer (http-grpc-status-mapping).
#[test]
fn b60_answers_of_proxies_are_mapped() {
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
    each_cut(|cut| {
        let mut peer = to_client(cut);
        let mut stream = 1;
        for (http, code) in codes {
            for content_type in [Some("text/html"), None] {
                for body in [false, true] {
                    let id = called(&mut peer);
                    let mut fields = vec![(":status", http)];
                    fields.extend(content_type.map(|value| ("content-type", value)));
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
    });
}

/// Missing and odd content-type, te, method (PROTOCOL-HTTP2).
#[test]
fn b61_heads_of_requests() {
    let request = |method: &str, content_type: Option<&str>, te: Option<&str>| {
        let mut fields = vec![(":method", method), (":scheme", "http"), (":path", "/S/M"), (":authority", "x")];
        fields.extend(content_type.map(|value| ("content-type", value)));
        fields.extend(te.map(|value| ("te", value)));
        block(&fields)
    };
    each_cut(|cut| {
        let mut peer = to_server(cut);
        let mut stream = 1;
        for content_type in [None, Some("application/json"), Some("application/grpc-web"), Some("application/grpcx")] {
            peer.headers(stream, true, &request("POST", content_type, None));
            let said = peer.said();
            assert_eq!(said.iter().find_map(|said| said.field(":status")), Some("415"), "{content_type:?}: {said:?}");
            assert_eq!(peer.try_accept(), None);
            stream += 2;
        }
        for content_type in ["application/grpc;charset=utf-8", "application/grpc+proto"] {
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
    });
}

/// Failures of a call must be one HEADERS frame with END_STREAM, and RST_STREAM(NO_ERROR) where the request goes on.
#[test]
fn b62_failures_are_trailers_only() {
    each_cut(|cut| {
        let mut config = Config::default();
        config.max_recv_message = 1_000;
        let mut peer = to_server_with(&config, cut);
        let expect = |peer: &mut Peer, stream: u32, code: &str| {
            let said = peer.said();
            let mine: Vec<_> = said.iter().filter(|said| said.stream() == stream && said.kind() != WINDOW_UPDATE).collect();
            assert_eq!(mine.len(), 2, "one HEADERS, one RST_STREAM: {said:?}");
            assert!(mine[0].ends() && mine[0].frame.head.has(END_HEADERS));
            assert_eq!((mine[0].field(":status"), mine[0].field("grpc-status")), (Some("200"), Some(code)));
            assert!(mine[0].field("content-type").is_some_and(|value| value.starts_with("application/grpc")));
            assert_eq!(mine[1].reset_of(stream), Some(ErrorCode::NO_ERROR));
        };
        peer.request(1, "/None/M", false, &[]);
        expect(&mut peer, 1, "12");
        peer.request(3, "/S/None", false, &[]);
        expect(&mut peer, 3, "12");
        peer.headers(5, false, REQUEST);
        let id = peer.accept();
        peer.call(id).finish(&Status::new(Code::Aborted, "before any message"), None);
        expect(&mut peer, 5, "10");
        peer.headers(7, false, REQUEST);
        let id = peer.accept();
        peer.data(7, false, &message(&[0; 1_001]));
        expect(&mut peer, 7, "8");
        peer.finish_ok(id);
        peer.said();
        peer.assert_usable(9);
    });
}

/// Messages in pieces: over many frames, empty frames between, several in one (PROTOCOL-HTTP2 "Data Frames").
#[test]
fn b65_messages_come_in_any_pieces() {
    let payloads = [Bytes::new(), Bytes::from_static(b"12345"), Bytes::from(vec![6; 70_000])];
    let octets: Vec<u8> = payloads.iter().flat_map(|payload| message(payload)).collect();
    type Cutting = dyn Fn(&[u8]) -> Vec<Vec<u8>>;
    let cuts: [&Cutting; 4] = [
        &|octets| octets.chunks(16_384).map(<[u8]>::to_vec).collect(),
        &|octets| octets.chunks(1_000).flat_map(|piece| [piece.to_vec(), Vec::new()]).collect(),
        &|octets| [&octets[..1], &octets[1..5], &octets[5..6]].into_iter().chain(octets[6..].chunks(9_000)).map(<[u8]>::to_vec).collect(),
        &|octets| octets[..40].chunks(1).chain(octets[40..].chunks(15_000)).map(<[u8]>::to_vec).collect(),
    ];
    each_cut(|cut| {
        for pieces in cuts {
            let mut peer = to_server(cut);
            peer.headers(1, false, REQUEST);
            let id = peer.accept();
            let mut got = Vec::new();
            for piece in pieces(&octets) {
                peer.data(1, false, &piece);
                got.extend(peer.messages(id).0);
                peer.said();
            }
            peer.data(1, true, &[]);
            assert!(peer.messages(id).1);
            assert_eq!(got, payloads);
            peer.finish_ok(id);
            peer.said();
            peer.assert_usable(3);
        }
        for end in [3, 8] {
            let mut peer = to_client(cut);
            let id = called(&mut peer);
            peer.headers(1, false, RESPONSE).data(1, false, &message(b"hello")[..end]).headers(1, true, TRAILERS_OK);
            assert_eq!(peer.outcome(id).status.code(), Code::Internal);
            let mut peer = to_server(cut);
            peer.headers(1, false, REQUEST);
            let id = peer.accept();
            peer.data(1, true, &message(b"hello")[..end]);
            assert!(peer.messages(id).0.is_empty());
            assert!(peer.events().iter().any(|event| matches!(event, pintle_core::Event::Finished { .. })), "the handler must hear of it");
            peer.finish_ok(id);
            assert_ne!(status_of(&peer.said(), 1), Some("0"));
            peer.assert_usable(3);
        }
    });
}

/// The size limit is checked on the prefix, exactly, before anything is allocated; sending has its own.
#[test]
fn b66_size_limits() {
    let mut config = Config::default();
    config.max_recv_message = 1_000;
    config.max_send_message = 500;
    each_cut(|cut| {
        for (prefix, fits) in [(&b"\x00\xff\xff\xff\xff"[..], false), (b"\x00\x00\x00\x03\xe9", false), (b"\x00\x00\x00\x03\xe8", true)] {
            let mut peer = to_server_with(&config, cut);
            peer.headers(1, false, REQUEST);
            let id = peer.accept();
            peer.data(1, false, prefix);
            let said = peer.said();
            assert_eq!(status_of(&said, 1), if fits { None } else { Some("8") }, "at the fifth octet: {said:?}");
            if fits {
                peer.data(1, true, &[7; 1_000]);
                assert_eq!(peer.messages(id).0[0].len(), 1_000);
            }
            peer.finish_ok(id);
            peer.said();
            peer.assert_usable(3);
            let mut peer = to_client_with(&config, cut, &[]);
            let id = called(&mut peer);
            peer.headers(1, false, RESPONSE).data(1, false, prefix);
            if fits {
                peer.data(1, false, &[7; 1_000]).headers(1, true, TRAILERS_OK);
            }
            assert_eq!(peer.outcome(id).status.code(), if fits { Code::Ok } else { Code::ResourceExhausted });
            peer.said();
            peer.assert_usable(3);
        }
        let mut peer = to_client_with(&config, cut, &[]);
        let id = peer.start(Shape::Bidi);
        let too_large = peer.call(id).send(Payload::from(Bytes::from(vec![0; 501])));
        assert!(matches!(too_large, Err(SendError::Refused(payload, _)) if payload.len() == 501), "it comes back untouched");
        assert_eq!(peer.call(id).send(Payload::from(Bytes::from(vec![0; 500]))), Ok(()));
    });
}

/// User metadata cannot bring in fields that are not the user's (RFC 9113 §8.2.2).
#[test]
fn b69_reserved_fields_cannot_be_added() {
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
        let mut peer = to_client(Cut::Whole);
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
    let mut trailers = Metadata::new();
    let _ = trailers.append("grpc-status", "13");
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, true, REQUEST);
    let id = peer.accept();
    peer.call(id).finish(&Status::ok(), Some(&trailers));
    let said = peer.said();
    let statuses: Vec<_> = said.iter().flat_map(|said| &said.fields).filter(|field| field.0 == "grpc-status").collect();
    assert_eq!(statuses, [&("grpc-status".to_owned(), "0".to_owned())]);
}

/// A path that is not exactly a route does not route (CVE-2026-33186).
#[test]
fn b70_only_the_exact_path_routes() {
    let long = format!("/S/{}", "M".repeat(10_000));
    let paths = ["S/M", "//S/M", "/S/M/", "/S//M", "/S/M?x=1", "/S/M#f", "/s/m", "/S/%4D", "/", "*", "/S", "/S/", &long];
    each_cut(|cut| {
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
    });
}

/// END_STREAM of a unary request came late, in a frame of its own; the server's answer was then cut off.
#[test]
fn b71_a_unary_request_is_one_data_frame() {
    let mut peer = to_client(Cut::Whole);
    let id = peer.unary(b"eleven byte");
    let said = peer.said();
    let kinds: Vec<_> = said.iter().map(|said| (said.kind(), said.ends())).collect();
    assert_eq!(kinds, [(HEADERS, false), (DATA, true)]);
    // A server may still answer before it has seen END_STREAM.
    let late = peer.start(Shape::ClientStreaming);
    peer.put(late, &b"x"[..]);
    peer.said();
    for (id, stream) in [(id, 1), (late, 3)] {
        peer.headers(stream, false, RESPONSE).data(stream, false, &message(b"y")).headers(stream, true, TRAILERS_OK);
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
}

/// RST_STREAM codes become statuses (PROTOCOL-HTTP2 "Errors").
#[test]
fn reset_codes_are_mapped() {
    let codes = [
        (ErrorCode::NO_ERROR, Code::Internal),
        (ErrorCode::PROTOCOL_ERROR, Code::Internal),
        (ErrorCode::INTERNAL_ERROR, Code::Internal),
        (ErrorCode::FLOW_CONTROL_ERROR, Code::Internal),
        (ErrorCode::REFUSED_STREAM, Code::Unavailable),
        (ErrorCode::CANCEL, Code::Cancelled),
        (ErrorCode::COMPRESSION_ERROR, Code::Internal),
        (ErrorCode::ENHANCE_YOUR_CALM, Code::ResourceExhausted),
        (ErrorCode::INADEQUATE_SECURITY, Code::PermissionDenied),
    ];
    let mut peer = to_client(Cut::Whole);
    for (n, (reset, code)) in codes.into_iter().enumerate() {
        let id = called(&mut peer);
        peer.send(&rst_stream(1 + 2 * n as u32, reset.0));
        let outcome = peer.outcome(id);
        assert_eq!((outcome.status.code(), outcome.unprocessed), (code, reset == ErrorCode::REFUSED_STREAM), "{reset}");
    }
}
