//! Calls: heads, metadata, deadlines, messages, statuses.

use crate::run::*;
use bytes::Bytes;
use pintle_core::{
    CallOptions, Code, Config, Endpoint, ErrorCode, Payload, SendError, Shape, Status,
    testing::{
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

/// Two responses, or none with OK, hung a unary call (statuscodes.md).
pub(crate) fn b43_a_unary_call_has_one_response(cut: Way) {
    let cardinality = [Code::Unimplemented, Code::Internal];
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
}

/// A response without grpc-status was success; or the HTTP status beat a grpc-status (PROTOCOL-HTTP2 "Responses").
pub(crate) fn b44_no_grpc_status_is_no_success(cut: Way) {
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
}

/// grpc-timeout: overflow, zero and junk (PROTOCOL-HTTP2 "Timeout").
pub(crate) fn b55_timeouts_are_parsed(cut: Way) {
    let good: &[(&str, Option<Duration>)] = &[
        ("1S", Some(Duration::from_secs(1))),
        ("00000001S", Some(Duration::from_secs(1))),
        ("250m", Some(Duration::from_millis(250))),
        ("7u", Some(Duration::from_micros(7))),
        ("99999999H", None),
    ];
    let bad = ["-1S", "+1S", "100000000S", "1", "S", "1s", "1 S", "1.5S", ""];
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
}

/// Our own timeouts: one to eight digits, rounded up; a deadline that has passed fails locally.
pub(crate) fn b55_timeouts_are_written(cut: Way) {
    let mut peer = to_client(cut);
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
pub(crate) fn b55_deadlines_end_calls(cut: Way) {
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
}

/// Odd grpc-status values crashed the client or read as OK.
pub(crate) fn b58_odd_statuses_are_not_ok(cut: Way) {
    let mut peer = to_client(cut);
    for (n, status) in ["42", "-1", "00", "abc", "", "4294967296", "0x0", "+0", "0,0", "17"].into_iter().enumerate() {
        let id = called(&mut peer);
        let stream = 1 + 2 * n as u32;
        peer.headers(stream, false, RESPONSE).data(stream, false, &message(b"x")).headers(stream, true, &block(&[("grpc-status", status)]));
        assert!(matches!(peer.outcome(id).status.code(), Code::Unknown | Code::Internal), "{status:?}");
    }
    let id = called(&mut peer);
    peer.headers(21, false, RESPONSE).data(21, false, &message(b"x")).headers(
        21,
        true,
        &block(&[("grpc-status", "0"), ("grpc-status", "13")]),
    );
    assert_ne!(peer.outcome(id).status.code(), Code::Ok, "two of them");
    let id = called(&mut peer);
    peer.headers(23, true, &[RESPONSE, TRAILERS_OK].concat());
    assert!(matches!(peer.outcome(id).status.code(), Code::Unimplemented | Code::Internal), "OK, but no message");
    peer.said();
    // A value with a space before it is malformed (RFC 9113 §8.2.1).
    let id = called(&mut peer);
    peer.headers(25, false, RESPONSE).data(25, false, &message(b"x")).headers(25, true, &block(&[("grpc-status", " 0")]));
    assert_eq!(peer.outcome(id).status.code(), Code::Internal);
    peer.assert_reset(25, &[ErrorCode::PROTOCOL_ERROR]);
}

/// Failures of a call must be one HEADERS frame with END_STREAM, and RST_STREAM(NO_ERROR) where the request goes on.
pub(crate) fn b62_failures_are_trailers_only(cut: Way) {
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
    peer.request(9, "/S/M", false, &[("x-bin", b"!!!")]);
    let said = peer.said();
    assert!(said.iter().any(|said| said.ends() && said.field("grpc-status") == Some("13")), "{said:?}");
    assert!(said.iter().any(|said| said.reset_of(9) == Some(ErrorCode::NO_ERROR)), "{said:?}");
    peer.headers(5 + 6, false, REQUEST);
    let id = peer.accept();
    peer.call(id).finish(&Status::new(Code::Aborted, "before any message"), None);
    expect(&mut peer, 11, "10");
    peer.headers(13, false, REQUEST);
    let id = peer.accept();
    peer.data(13, false, &message(&[0; 1_001]));
    expect(&mut peer, 13, "8");
    peer.finish_ok(id);
    peer.said();
    peer.assert_usable(15);
}

/// Messages in pieces: over many frames, empty frames between, several in one (PROTOCOL-HTTP2 "Data Frames").
pub(crate) fn b65_messages_come_in_any_pieces(cut: Way) {
    let payloads = [Bytes::new(), Bytes::from_static(b"12345"), Bytes::from(vec![6; cut.some_of(70_000).max(10_000)])];
    let octets: Vec<u8> = payloads.iter().flat_map(|payload| message(payload)).collect();
    type Cutting = dyn Fn(&[u8]) -> Vec<Vec<u8>>;
    let cuts: [&Cutting; 6] = [
        &|octets| octets.chunks(1).map(<[u8]>::to_vec).collect(),
        &|octets| octets.chunks(16_384).map(<[u8]>::to_vec).collect(),
        &|octets| octets.chunks(1_000).flat_map(|piece| [piece.to_vec(), Vec::new()]).collect(),
        &|octets| [&octets[..1], &octets[1..5], &octets[5..6]].into_iter().chain(octets[6..].chunks(9_000)).map(<[u8]>::to_vec).collect(),
        &|octets| octets[..40].chunks(1).chain(octets[40..].chunks(15_000)).map(<[u8]>::to_vec).collect(),
        // The empty message and each prefix in frames of their own.
        &|octets| {
            [&octets[..5], &octets[5..10], &octets[10..15], &octets[15..20]]
                .into_iter()
                .chain(octets[20..].chunks(16_000))
                .map(<[u8]>::to_vec)
                .collect()
        },
    ];
    for pieces in cuts {
        let mut server = to_server(cut);
        server.headers(1, false, REQUEST);
        let mut client = to_client(cut);
        client.start(Shape::Bidi);
        client.said();
        client.headers(1, false, RESPONSE);
        let ids = [server.accept(), client.calls[0]];
        for (mut peer, id) in [server, client].into_iter().zip(ids) {
            let mut got = peer.messages(id).0;
            for piece in pieces(&octets) {
                peer.data(1, false, &piece);
                got.extend(peer.messages(id).0);
                peer.said();
            }
            if peer.is_client() {
                peer.data(1, true, &[]);
            } else {
                peer.headers(1, true, TRAILERS_OK);
            }
            assert!(peer.messages(id).1);
            assert_eq!(got, payloads);
            if peer.is_client() {
                peer.finish_ok(id);
            } else {
                assert_eq!(peer.outcome(id).status.code(), Code::Ok);
            }
        }
    }
    for end in [1, 3, 4, 5, 8, 9] {
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
}

/// The size limit is checked on the prefix, exactly, before anything is allocated; sending has its own.
pub(crate) fn b66_size_limits(cut: Way) {
    let mut config = Config::default();
    config.max_recv_message = 1_000;
    config.max_send_message = 500;
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
    // A window is at most 2^31-1 (RFC 9113 §6.9.1): what does not fit into one with what is there already is refused, all else is let in.
    let most = i32::MAX as u32;
    for (window, limit) in [(65_535, u32::MAX), (65_535, most), (most, 4 << 20), (most, u32::MAX), (most, most)] {
        let mut huge = Config::default();
        (huge.initial_window, huge.max_recv_message, huge.recv_budget) = (window, limit, u64::MAX);
        let mut peer = to_server_with(&huge, cut);
        peer.headers(1, false, REQUEST).headers(3, false, REQUEST);
        let (first, second) = (peer.accept(), peer.accept());
        let window = peer.conn.probe().streams[0].recv_window as u32;
        peer.call(first).demand(1);
        let largest = limit.min(most - window);
        peer.data(1, false, &[&[0], &largest.to_be_bytes()[..]].concat());
        assert_eq!(status_of(&peer.said(), 1), None, "{window} {limit}");
        let window = peer.conn.probe().streams[0].recv_window;
        assert!((i64::from(largest)..=i64::from(most)).contains(&window), "{window} for {largest}");
        peer.call(second).demand(1);
        peer.data(3, false, &[&[0], &(largest + 1).to_be_bytes()[..]].concat());
        assert_eq!(status_of(&peer.said(), 3), Some("8"));
    }
    let mut peer = to_client_with(&config, cut, &[]);
    let id = peer.start(Shape::Bidi);
    let too_large = peer.call(id).send(Payload::from(Bytes::from(vec![0; 501])));
    assert!(matches!(too_large, Err(SendError::Refused(payload, _)) if payload.len() == 501), "it comes back untouched");
    assert_eq!(peer.call(id).send(Payload::from(Bytes::from(vec![0; 500]))), Ok(()));
}

/// END_STREAM of a unary request came late, in a frame of its own; the server's answer was then cut off.
pub(crate) fn b71_a_unary_request_is_one_data_frame(cut: Way) {
    let mut peer = to_client(cut);
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
pub(crate) fn b34_reset_codes_are_mapped(cut: Way) {
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
    let mut peer = to_client(cut);
    for (n, (reset, code)) in codes.into_iter().enumerate() {
        let id = called(&mut peer);
        peer.send(&rst_stream(1 + 2 * n as u32, reset.0));
        let outcome = peer.outcome(id);
        assert_eq!((outcome.status.code(), outcome.unprocessed), (code, reset == ErrorCode::REFUSED_STREAM), "{reset}");
    }
}
