//! A server that does not speak HTTP/2 is recognised by its first octets, however they are cut, and its client says what it met.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{CloseReason, Code, Config, ErrorCode, Event, testing::wire::*};

/// What a server says first, what that looks like, and what of it is quoted.
const STARTS: [(&[u8], &str, &str); 15] = [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.x", ""),
    (b"HTTP", "HTTP/1.x", ""),
    (b"<html><head><title>400</title>", "an HTML page", "<html><he"),
    (b"<!DOCTYPE html>\n", "an HTML page", "<!DOCTYPE"),
    (b"<?xml version=\"1.0\"?>", "XML", "<?xml ver"),
    (b"{\"error\": \"no\"}", "JSON", "{\"error\":"),
    (b"[]\n", "JSON", "[]\n"),
    (b"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH", "SSH-2.0-O"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "an HTTP/2 client's", "PRI * HTT"),
    (b"220 mail.example.org ESMTP\r\n", "words of another protocol", "220 mail."),
    (b"-ERR unknown command\r\n", "words of another protocol", "-ERR unkn"),
    (b"x", "words of another protocol", "x"),
    (b"\n\n\n\n\n\n\n\n\n\n", "words of another protocol", "\n\n\n\n\n\n\n\n\n"),
    (b"\x15\x03\x03\x00\x02\x02\x28", "TLS", ""),
    (b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", "TLS", ""),
];

#[test]
fn what_a_server_speaks_that_does_not_speak_http_2() {
    for (octets, looks, quote) in STARTS {
        // With frames of any size, the length that the words make is no error.
        for max_frame in [16_384, 16_777_215] {
            each_cut(|cut| {
                let mut config = Config::default();
                config.max_frame = max_frame;
                let mut peer = fresh_to_client(&config, cut);
                let id = peer.unary(b"");
                peer.said();
                peer.send(octets).eof();
                let row = String::from_utf8_lossy(octets);
                let expected = CloseReason::Foreign { looks_like: looks, begins: quote.into() };
                assert_eq!(peer.conn.close_reason(), Some(&expected), "{row:?} {cut:?}");
                assert!(peer.events().contains(&Event::Foreign), "{row:?} {cut:?}");
                let outcome = peer.outcome(id);
                assert_eq!(outcome.status.code(), Code::Unavailable, "{row:?} {cut:?}");
                assert!(outcome.unprocessed, "{row:?} {cut:?}: nobody processed it");
                let message = outcome.status.message();
                assert!(message.contains(looks), "{row:?}: {message}");
                assert!(quote.is_empty() || message.ends_with(&format!("{quote:?}")), "{row:?}: {message}");
            });
        }
    }
}

/// RFC 9113 §3.4: what can be a frame is judged as one.
#[test]
fn a_server_that_begins_with_another_frame_breaks_the_protocol() {
    let rows = [
        (frame(PING, 0, 0, &[0; 8]), ErrorCode::PROTOCOL_ERROR),
        (goaway(0, 0, b""), ErrorCode::PROTOCOL_ERROR),
        (frame(0x20, 0, 0, b"unknown"), ErrorCode::PROTOCOL_ERROR),
        // A greeting of MySQL: a length of 4.8 million (§4.2).
        (b"\x4a\0\0\0\x0a8.0.36\0".to_vec(), ErrorCode::FRAME_SIZE_ERROR),
    ];
    for (octets, code) in rows {
        each_cut(|cut| {
            let mut peer = fresh_to_client(&Config::default(), cut);
            peer.unary(b"");
            peer.send(&octets);
            let expected = CloseReason::Protocol { code, what: "the first frame is not SETTINGS" };
            assert_eq!(peer.conn.close_reason(), Some(&expected), "{octets:?} {cut:?}");
        });
    }
}

/// A call that its response breaks says whose fault it was.
#[test]
fn a_broken_answer_is_said_to_be_the_peers_fault() {
    each_cut(|cut| {
        let mut peer = to_client(cut);
        let id = peer.unary(b"");
        peer.said();
        peer.send(&frame(DATA, 0, 1, b"early"));
        let status = peer.outcome(id).status;
        assert_eq!((status.code(), status.message()), (Code::Internal, "the peer broke the protocol: DATA before the response's head"));
    });
}
