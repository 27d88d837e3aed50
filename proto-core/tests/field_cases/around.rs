//! What is around calls: keepalive, codings, gRPC-Web, what a retry stands on, transports that do little at a time.

use crate::run::*;
use pintle_core::{
    CallOptions, CloseReason, Code, Config, Endpoint, ErrorCode, Recv, RequestHead, Shape, StartError, Status,
    testing::{
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

/// A server that answers the first request of every connection with GOAWAY was asked again and again.
pub(crate) fn b49_goaway_for_the_first_call_is_no_loop(cut: Way) {
    for code in [ErrorCode::ENHANCE_YOUR_CALM, ErrorCode::PROTOCOL_ERROR, ErrorCode::NO_ERROR] {
        for _ in 0..3 {
            let mut peer = to_client(cut);
            let id = called(&mut peer);
            peer.send(&goaway(0, code.0, b""));
            peer.eof();
            let outcome = peer.outcome(id);
            // It may be repeated elsewhere, once, by whoever decides that; the connection never does.
            assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, true));
            assert!(peer.said().is_empty());
            assert_eq!(peer.conn.close_reason(), Some(&CloseReason::Peer { code }));
            let now = peer.now;
            let again = peer.conn.start(now, RequestHead::new("/S/M", Shape::Unary), CallOptions::default());
            assert!(matches!(again, Err(StartError::Closed)), "{again:?}");
        }
    }
}

const MS: Duration = Duration::from_millis(1);

/// PINGs: acknowledgements counted as strikes, PINGs after GOAWAY not answered, frames not checked (RFC 9113 §6.7, gRFC A8).
pub(crate) fn b52_pings(cut: Way) {
    let ping = |n: u64| frame(PING, 0, 0, &n.to_be_bytes());
    // (a) Acknowledgements are no PINGs.
    for mut peer in [to_server(cut), to_client(cut)] {
        for n in 0..100_u64 {
            peer.send(&frame(PING, ACK, 0, &n.to_be_bytes()));
        }
        assert!(peer.said().is_empty());
        peer.assert_open();
    }
    // (b) The third strike ends it; the text is what clients of gRPC look for.
    let mut peer = to_server(cut);
    for n in 0..4 {
        peer.advance(100 * MS);
        peer.send(&ping(n));
        if n < 3 {
            let said = peer.said();
            assert!(matches!(&said[..], [said] if said.kind() == PING && said.frame.head.has(ACK)), "{said:?}");
            peer.assert_open();
        }
    }
    let said = peer.said();
    let told = said.iter().find(|said| said.kind() == GOAWAY).expect("GOAWAY");
    assert_eq!((ErrorCode(told.frame.word(4)), &told.frame.payload[8..]), (ErrorCode::ENHANCE_YOUR_CALM, &b"too_many_pings"[..]));
    // What we send wipes them out.
    let mut peer = to_server(cut);
    for n in 0..30 {
        peer.send(&ping(n));
        peer.said();
        if n % 3 == 2 {
            peer.assert_usable(1 + 2 * n as u32);
        }
    }
    // (c) A client that is told so ends, says why, and sends no PING of its own whatever comes.
    let mut peer = to_client(cut);
    for n in 0..50 {
        let id = called(&mut peer);
        peer.headers(1 + 2 * n, false, RESPONSE).data(1 + 2 * n, false, &message(b"x")).send(&rst_stream(1 + 2 * n, 8));
        assert!(peer.said().iter().all(|said| said.kind() != PING));
        assert_eq!(peer.outcome(id).status.code(), Code::Cancelled);
    }
    let id = called(&mut peer);
    peer.send(&goaway(0, ErrorCode::ENHANCE_YOUR_CALM.0, b"too_many_pings"));
    assert!(peer.outcome(id).status.message().contains("too_many_pings"));
    // (d) A PING is answered after GOAWAY, with its own octets, ahead of DATA.
    let mut peer = to_server(cut);
    peer.headers(1, true, REQUEST);
    let id = peer.accept();
    let now = peer.now;
    peer.conn.drain(now, None);
    peer.said();
    peer.put(id, vec![0; 1_000]);
    peer.send(&ping(0x0123_4567_89ab_cdef));
    let said = peer.said();
    let answer = said.iter().position(|said| said.kind() == PING && said.frame.head.has(ACK)).expect("an answer");
    assert_eq!(said[answer].frame.payload, 0x0123_4567_89ab_cdef_u64.to_be_bytes());
    assert!(answer < said.iter().position(|said| said.kind() == DATA).expect("DATA"));
    peer.finish_ok(id);
    let mut peer = to_client(cut);
    let id = called(&mut peer);
    peer.send(&goaway(1, 0, b"")).send(&ping(7));
    assert_eq!(peer.said().iter().filter(|said| said.kind() == PING && said.frame.payload == 7_u64.to_be_bytes()).count(), 1);
    peer.call(id).cancel();
    // (e) Broken ones.
    for (octets, code) in [
        (frame(PING, 0, 0, &[0; 7]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(PING, ACK, 0, &[0; 9]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(PING, 0, 1, &[0; 8]), ErrorCode::PROTOCOL_ERROR),
        (frame(PING, ACK, 3, &[0; 8]), ErrorCode::PROTOCOL_ERROR),
    ] {
        for mut peer in [to_server(cut), to_client(cut)] {
            peer.send(&octets);
            peer.assert_closed(&[code]);
        }
    }
}

/// A message whose prefix has this flag.
fn flagged(flag: u8, octets: &[u8]) -> Vec<u8> {
    let mut message = message(octets);
    message[0] = flag;
    message
}

/// A gzip member that holds "hello": whole, cut short, followed by garbage, and twice.
const GZIP: [&[u8]; 4] = {
    const ONE: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";
    const CUT: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xcbH\xcd";
    const MORE: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0garbage";
    const TWO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0\
        \x1f\x8b\x08\0\0\0\0\0\0\xff\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";
    [ONE, CUT, MORE, TWO]
};

/// Codings that were not agreed on got the wrong code, no status, or a dead connection (gRPC compression.md). No coding but identity is
/// offered or taken, so the contents of a coded message never matter.
pub(crate) fn b64_codings_of_requests(cut: Way) {
    let (unimplemented, internal) = ("12", "13");
    let mut cases: Vec<(Option<&str>, Vec<u8>, &str)> = vec![
        (Some("br"), flagged(1, b"hello"), unimplemented),
        (Some("gzip"), flagged(0, b"hello"), unimplemented),
        (Some(""), flagged(1, b"hello"), unimplemented),
        (Some("identity, gzip"), flagged(1, b"hello"), unimplemented),
        (Some("identity"), flagged(1, b"hello"), internal),
        (Some("identity"), flagged(1, b""), internal),
        (None, flagged(1, b"hello"), internal),
        (None, flagged(2, b"hello"), internal),
        (None, flagged(0xff, b"hello"), internal),
        (None, [message(b"fine"), flagged(1, b"hello")].concat(), internal),
    ];
    cases.extend(GZIP.map(|octets| (Some("gzip"), flagged(1, octets), unimplemented)));
    cases.extend(GZIP.map(|octets| (None, flagged(1, octets), internal)));
    let mut peer = to_server(cut);
    let mut stream = 1;
    for (coding, body, code) in &cases {
        for path in ["/S/M", "/S/U"] {
            for end in [true, false] {
                let fields: Vec<_> = coding.iter().map(|coding| ("grpc-encoding", coding.as_bytes())).collect();
                peer.request(stream, path, false, &fields).data(stream, end, body);
                while let Some(id) = peer.try_accept() {
                    // The good message before the bad one may have been seen.
                    while let Recv::Message(message) = peer.call(id).recv() {
                        assert_eq!(message.payload.into_bytes(), "fine");
                    }
                    peer.finish_ok(id);
                }
                let said = peer.said();
                let mine: Vec<_> = said.iter().filter(|said| said.stream() == stream && said.kind() == HEADERS).collect();
                assert!(
                    matches!(mine[..], [head] if head.ends() && head.field("grpc-status") == Some(code)),
                    "{coding:?} {body:?} {said:?}"
                );
                let reset = said.iter().find_map(|said| said.reset_of(stream));
                assert!(reset.is_none_or(|code| code == ErrorCode::NO_ERROR), "a status, not a reset: {said:?}");
                assert!(*code != unimplemented || mine[0].field("grpc-accept-encoding").is_some(), "{said:?}");
                stream += 2;
            }
        }
    }
}

/// The same for responses: INTERNAL, whatever the server says of its coding.
pub(crate) fn b64_codings_of_responses(cut: Way) {
    let mut peer = to_client(cut);
    let cases = [
        (Some("gzip"), 1),
        (Some("gzip"), 0),
        (Some("br"), 1),
        (Some("identity"), 1),
        (Some("identity"), 2),
        (None, 1),
        (None, 2),
        (None, 0x80),
    ];
    let mut stream = 1;
    for (coding, flag) in cases {
        for body in GZIP.into_iter().chain([&b""[..], b"hello"]) {
            let id = called(&mut peer);
            let fields: Vec<_> = coding.iter().map(|coding| ("grpc-encoding", *coding)).collect();
            peer.headers(stream, false, &[RESPONSE, &block(&fields)].concat());
            peer.data(stream, false, &flagged(flag, body)).headers(stream, true, TRAILERS_OK);
            assert_eq!(peer.outcome(id).status.code(), Code::Internal, "{coding:?} {flag}");
            peer.said();
            stream += 2;
        }
    }
}

/// gRPC-Web's trailers in the body were cut wrongly, or looked for without end. It is not spoken here: to a server, it is another
/// content-type; in the body of a call, the flag 0x80 is no flag.
pub(crate) fn b72_grpc_web_is_not_grpc(cut: Way) {
    let trailers = |text: &[u8]| flagged(0x80, text);
    let bodies = [
        [message(b"hi"), trailers(b"grpc-status:0\r\n")].concat(),
        [message(b"hi"), trailers(b"Grpc-Status: 0\r\nGRPC-MESSAGE: x\r\nx-a:1\r\n")].concat(),
        [message(b"hi"), trailers(b"")].concat(),
        [message(b"hi"), trailers(b"grpc-status:0\r\n"), message(b"behind")].concat(),
        trailers(b""),
        b"AAAAAAJoaQ==gAAAAA9ncnBjLXN0YXR1czowDQo=".to_vec(),
    ];
    for body in &bodies {
        for size in [body.len(), 1, 7] {
            for content_type in ["application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text", "application/grpc"] {
                // Octets one by one are dear where nobody waits for them: each of these has its own budget.
                let (mut server, mut client) = (to_server(cut), to_client(cut));
                let (grpc, stream) = (content_type == "application/grpc", 1);
                let head =
                    [(":method", "POST"), (":scheme", "http"), (":path", "/S/M"), (":authority", "x"), ("content-type", content_type)];
                server.headers(stream, false, &block(&head));
                let id = called(&mut client);
                client.headers(stream, false, &block(&[(":status", "200"), ("content-type", content_type)]));
                for piece in body.chunks(size) {
                    server.data(stream, false, piece);
                    client.data(stream, false, piece);
                }
                server.data(stream, true, &[]);
                client.headers(stream, true, TRAILERS_OK);
                let outcome = client.outcome(id);
                let code = if grpc { Code::Internal } else { Code::Unknown };
                assert_ne!(outcome.status.code(), Code::Ok);
                // An answer of another content-type with a grpc-status keeps that, which is here OK without a message.
                assert!([code, Code::Internal, Code::Unimplemented].contains(&outcome.status.code()), "{content_type}: {}", outcome.status);
                if let Some(id) = server.try_accept() {
                    assert!(grpc);
                    server.finish_ok(id);
                }
                let said = server.said();
                let answer = said
                    .iter()
                    .find(|said| said.stream() == stream && said.kind() == HEADERS)
                    .unwrap_or_else(|| panic!("no answer to {content_type}, {size} at a time: {said:?}"));
                let (http, status) = if grpc { ("200", "13") } else { ("415", "3") };
                assert_eq!((answer.field(":status"), answer.field("grpc-status")), (Some(http), Some(status)), "{content_type} {body:?}");
            }
        }
    }
}

/// Calls went on being given to a connection that was gone, or about to go. There is no channel above connections yet; what one
/// goes by: the connection says so when asked, and every call that it had says whether the server may have seen it.
pub(crate) fn b74_a_connection_that_is_gone_takes_no_call(cut: Way) {
    type End = fn(&mut Peer);
    let ends: [(End, StartError); 4] = [
        (|peer| _ = peer.eof(), StartError::Closed),
        (|peer| _ = peer.send(&goaway(1, 0, b"")), StartError::Draining),
        (|peer| _ = peer.send(&frame(DATA, 0, 0, b"x")), StartError::Closed),
        (
            |peer| {
                let now = peer.now;
                peer.conn.close(now);
            },
            StartError::Closed,
        ),
    ];
    for (end, error) in ends {
        let mut peer = to_client_with(&Config::default(), cut, &[(3, 1)]);
        let (open, queued) = (called(&mut peer), peer.unary(b""));
        end(&mut peer);
        let now = peer.now;
        let again = peer.conn.start(now, RequestHead::new("/S/M", Shape::Unary), CallOptions::default());
        assert_eq!(again.err(), Some(error));
        let outcome = peer.outcome(queued);
        assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, true), "it was never sent");
        if error == StartError::Closed {
            let outcome = peer.outcome(open);
            assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, false), "it may have been processed");
        }
    }
}

/// What may be retried without asking was taken too widely (RFC 9113 §8.7, gRFC A6). There is no retry yet; what one goes by.
pub(crate) fn b75_only_what_was_not_processed_says_so(cut: Way) {
    let mut peer = to_client(cut);
    let mut stream = 1;
    // (a), (b): without an answer, REFUSED_STREAM and nothing else.
    for code in (0..=0xd).chain([0x1000, u32::MAX]) {
        let id = called(&mut peer);
        peer.send(&rst_stream(stream, code));
        let outcome = peer.outcome(id);
        assert_eq!(outcome.unprocessed, code == ErrorCode::REFUSED_STREAM.0, "{code}");
        assert!(!outcome.status.is_ok());
        stream += 2;
    }
    // Once the server has begun to answer, it cannot say that it has not begun.
    let id = called(&mut peer);
    peer.headers(stream, false, RESPONSE).send(&rst_stream(stream, ErrorCode::REFUSED_STREAM.0));
    let outcome = peer.outcome(id);
    assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, false));
    stream += 2;
    // (e) A server's word on retrying arrives as it is.
    for word in ["-1", "abc", "100"] {
        let id = called(&mut peer);
        peer.headers(stream, true, &[RESPONSE, &block(&[("grpc-status", "14"), ("grpc-retry-pushback-ms", word)])].concat());
        let outcome = peer.outcome(id);
        assert_eq!((outcome.unprocessed, outcome.trailers.get("grpc-retry-pushback-ms")), (false, Some(word)));
        stream += 2;
    }
    let id = called(&mut peer);
    peer.headers(stream, false, RESPONSE).send(&goaway(stream - 2, 0, b""));
    let outcome = peer.outcome(id);
    assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, false));
}

/// What goes out, written in pieces of this size; with 0, a transport takes nothing every other time.
fn written(peer: &mut Peer, size: usize) -> Vec<u8> {
    let (mut octets, mut buffer) = (Vec::new(), vec![0; if size == 0 { 3 } else { size }]);
    while peer.conn.wants().write {
        let now = peer.now;
        if size == 0 {
            // Lent and not advanced: it is lent again.
            assert!(!peer.conn.transmit(now, 1 << 16).is_empty());
        }
        let n = peer.conn.transmit(now, 1 << 16).copy_to(&mut buffer);
        assert!(n > 0, "it wants to write, and has nothing");
        octets.extend_from_slice(&buffer[..n]);
    }
    octets
}

/// A transport that takes 0, 1 or 7 octets, or is cut between any two, changed what was sent or stopped it.
pub(crate) fn b77_writes_may_take_as_little_as_they_like(cut: Way) {
    let server = |size| {
        let mut peer = fresh_to_server(&Config::default(), cut);
        let mut octets = written(&mut peer, size);
        peer.send(PREFACE).send(&settings(&[])).send(&settings_ack());
        octets.extend(written(&mut peer, size));
        peer.headers(1, true, REQUEST).headers(3, true, REQUEST).send(&frame(PING, 0, 0, &[1; 8]));
        for content in [300, 9_000] {
            let id = peer.accept();
            peer.put(id, vec![5; content]);
            peer.call(id).finish(&Status::ok(), None);
        }
        octets.extend(written(&mut peer, size));
        peer.eof();
        octets
    };
    let client = |size| {
        let mut peer = fresh_to_client(&Config::default(), cut);
        let ids = [peer.unary(b"hello"), peer.unary(&[7; 9_000])];
        let mut octets = written(&mut peer, size);
        peer.send(&settings(&[])).send(&settings_ack()).send(&frame(PING, 0, 0, &[1; 8]));
        octets.extend(written(&mut peer, size));
        peer.call(ids[0]).cancel();
        octets.extend(written(&mut peer, size));
        peer.eof();
        octets
    };
    for size in [0, 1, 7, 16_384] {
        assert_eq!(server(size), server(1 << 20), "{size} at a time");
        assert_eq!(client(size), client(1 << 20), "{size} at a time");
    }
}
