//! What lies near the reports: the places where the same mistakes could be ours.

use crate::{moments::*, run::*};
use pintle_core::{
    CallOptions, Code, Config, ErrorCode, Event, Shape, Status, Timestamp,
    testing::{
        Rng,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

/// `content-length` at a server: of the head alone, of DATA with padding, and where the octets are not wanted any more (RFC 9113 §8.1.1).
pub(crate) fn b39_content_length_of_requests(cut: Way) {
    let protocol = Some(ErrorCode::PROTOCOL_ERROR);
    // (content-length, DATA octets, END_STREAM on the head, the reset)
    let cases = [
        ("5", None, protocol),
        ("0", None, None),
        ("6", Some(message(b"x")), None),
        ("000006", Some(message(b"x")), None),
        ("5", Some(message(b"x")), protocol),
        ("7", Some(message(b"x")), protocol),
        ("0", Some(message(b"x")), protocol),
        ("18446744073709551616", Some(message(b"x")), protocol),
        ("", Some(message(b"x")), protocol),
        ("6, 6", Some(message(b"x")), protocol),
    ];
    for padded in [false, true] {
        for (length, body, reset) in &cases {
            let mut peer = to_server(cut);
            peer.request(1, "/S/M", body.is_none(), &[("content-length", length.as_bytes())]);
            match body {
                Some(body) if padded => {
                    let payload = [&[7][..], body, &[0; 7]].concat();
                    peer.send(&frame(DATA, END_STREAM | PADDED, 1, &payload));
                }
                Some(body) => _ = peer.data(1, true, body),
                None => {}
            }
            match reset {
                Some(code) => {
                    peer.assert_reset(1, &[*code]);
                    assert_eq!(peer.try_accept(), None, "content-length {length}");
                }
                None => {
                    let id = peer.accept();
                    assert_eq!(peer.messages(id).0.len(), usize::from(body.is_some()));
                    peer.finish_ok(id);
                    assert_eq!(status_of(&peer.said(), 1), Some("0"));
                }
            }
        }
    }
    // The same one twice is one.
    let mut peer = to_server(cut);
    peer.request(1, "/S/M", false, &[("content-length", b"6"), ("content-length", b"6")]).data(1, true, &message(b"x"));
    peer.accept();
    // Refused for its message, or answered early: the status goes out, although the rest of the body was not counted.
    let mut config = Config::default();
    config.max_recv_message = 10;
    for early in [false, true] {
        let mut peer = to_server_with(&config, cut);
        peer.request(1, "/S/M", false, &[("content-length", b"25")]);
        if early {
            let id = peer.accept();
            peer.call(id).finish(&Status::new(Code::ResourceExhausted, "early"), None);
        }
        let body = message(&[0; 20]);
        peer.data(1, false, &body[..12]).data(1, true, &body[12..]);
        let said = peer.said();
        assert_eq!(status_of(&said, 1), Some("8"), "{said:?}");
        assert!(said.iter().all(|said| said.reset_of(1).is_none_or(|code| code == ErrorCode::NO_ERROR)), "{said:?}");
    }
}

/// A block that has begun is decoded to its end, though its call ends meanwhile (RFC 9113 §4.3).
pub(crate) fn b01_a_call_that_ends_inside_a_block(cut: Way) {
    let mut trailers = TRAILERS_OK.to_vec();
    literal(&mut trailers, 0x40, b"x-new", b"value");
    let newest = |peer: &Peer| peer.conn.probe().decoder.entries.first().cloned();
    for by_deadline in [false, true] {
        for server in [true, false] {
            let mut peer = if server { to_server(cut) } else { to_client(cut) };
            let id = if server {
                peer.request(1, "/S/M", false, &[("grpc-timeout", b"1S")]);
                peer.accept()
            } else {
                let deadline = peer.now.saturating_add(SECOND);
                let id = peer.start_with(Shape::Bidi, None, CallOptions::default().deadline(Some(deadline)));
                peer.said();
                peer.headers(1, false, RESPONSE);
                id
            };
            peer.send(&frame(HEADERS, END_STREAM, 1, &trailers[..9]));
            if by_deadline {
                peer.advance(SECOND);
            } else {
                peer.call(id).cancel();
            }
            peer.said();
            peer.send(&frame(CONTINUATION, END_HEADERS, 1, &trailers[9..]));
            assert_eq!(newest(&peer), Some((b"x-new".to_vec(), b"value".to_vec())));
            peer.assert_open();
        }
    }
}

/// CONTINUATION where none may be, and blocks that another frame breaks into (RFC 9113 §6.2, §6.10).
pub(crate) fn b01_blocks_are_not_broken_into(cut: Way) {
    let half = |flags| frame(HEADERS, flags, 1, &REQUEST[..20]);
    let protocol = ErrorCode::PROTOCOL_ERROR;
    let cases = [
        (frame(CONTINUATION, END_HEADERS, 1, b""), protocol),
        (frame(CONTINUATION, END_HEADERS, 0, b""), protocol),
        ([half(0), frame(CONTINUATION, END_HEADERS, 3, &REQUEST[20..])].concat(), protocol),
        ([half(0), frame(HEADERS, END_HEADERS, 1, &REQUEST[20..])].concat(), protocol),
        ([half(0), frame(HEADERS, END_HEADERS, 3, REQUEST)].concat(), protocol),
        ([half(0), frame(DATA, 0, 1, b"")].concat(), protocol),
        ([half(0), settings(&[])].concat(), protocol),
        ([half(0), window_update(0, 1)].concat(), protocol),
        ([half(0), rst_stream(1, 8)].concat(), protocol),
        ([half(0), frame(PRIORITY, 0, 5, &[0; 5])].concat(), protocol),
        ([half(END_HEADERS), frame(CONTINUATION, END_HEADERS, 1, &REQUEST[20..])].concat(), ErrorCode::COMPRESSION_ERROR),
        ([frame(HEADERS, END_HEADERS, 1, REQUEST), frame(CONTINUATION, END_HEADERS, 1, b"")].concat(), protocol),
        // Padding as long as the frame and longer; a priority that is not all there.
        (frame(HEADERS, END_HEADERS | PADDED, 1, &[&[43][..], REQUEST].concat()), protocol),
        (frame(HEADERS, END_HEADERS | PADDED, 1, &[]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(HEADERS, END_HEADERS | PRIORITIZED, 1, &[0; 4]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(HEADERS, END_HEADERS, 0, REQUEST), protocol),
        (frame(HEADERS, END_HEADERS, 2, REQUEST), protocol),
        (frame(PUSH_PROMISE, END_HEADERS, 1, &[0; 4]), protocol),
    ];
    for (octets, code) in cases {
        let mut peer = to_server(cut);
        peer.send(&octets);
        let codes = if code == ErrorCode::FRAME_SIZE_ERROR { vec![code, protocol] } else { vec![code] };
        peer.assert_closed(&codes);
    }
    // A block that is all padding, and one of nothing, are blocks: malformed requests.
    let mut peer = to_server(cut);
    peer.send(&frame(HEADERS, END_HEADERS | PADDED, 1, &[&[9][..], &[0; 9]].concat()));
    peer.assert_reset(1, &[protocol]);
    peer.send(&frame(HEADERS, 0, 3, b"")).send(&frame(CONTINUATION, 0, 3, b"")).send(&frame(CONTINUATION, END_HEADERS, 3, b""));
    peer.assert_reset(3, &[protocol]);
    // With padding and priority around it, it is the request that it is.
    let payload = [&[3][..], &[0, 0, 0, 0, 15], REQUEST, &[0; 3]].concat();
    peer.send(&frame(HEADERS, END_STREAM | END_HEADERS | PADDED | PRIORITIZED, 5, &payload));
    let id = peer.accept();
    assert_eq!(peer.call(id).path(), "/S/M");
}

/// The windows to their last octet, and one more (RFC 9113 §6.9.1).
pub(crate) fn b15_not_one_octet_more(cut: Way) {
    let config = small_windows();
    for server in [true, false] {
        for padded in [false, true] {
            let start = || {
                let mut peer = if server { to_server_with(&config, cut) } else { to_client_with(&config, cut, &[]) };
                let id = open(&mut peer).expect("a call");
                send_octets(&mut peer, &message(&[0; 65_535])[..65_000]);
                peer.said();
                (peer, id)
            };
            let fill = |n: usize| {
                if !padded {
                    return frame(DATA, 0, 1, &vec![0; n]);
                }
                let pad = 250;
                frame(DATA, PADDED, 1, &[&[pad as u8][..], &vec![0; n - 1]].concat())
            };
            let (mut peer, _) = start();
            peer.send(&fill(535));
            peer.said();
            peer.assert_open();
            // The connection's window was given back, the stream's is used up.
            peer.data(1, false, b"x");
            peer.assert_reset(1, &[ErrorCode::FLOW_CONTROL_ERROR]);
            let (mut peer, _) = start();
            peer.send(&fill(536));
            peer.assert_reset(1, &[ErrorCode::FLOW_CONTROL_ERROR]);
        }
        // The connection's own, while nothing of its credit was written.
        let mut peer = if server { to_server_with(&config, cut) } else { to_client_with(&config, cut, &[]) };
        open(&mut peer);
        if server {
            peer.headers(3, false, REQUEST);
        } else {
            peer.start(Shape::Bidi);
            peer.said();
            peer.headers(3, false, RESPONSE);
        }
        send_octets(&mut peer, &message(&[0; 65_535])[..65_535]);
        peer.assert_open();
        peer.data(3, false, b"x");
        peer.assert_closed(&[ErrorCode::FLOW_CONTROL_ERROR]);
    }
}

/// Very many messages that nobody has read when the call ends: all come, and then the end (RFC 9113 §5.1; B36).
pub(crate) fn b65_messages_that_wait_outlive_the_stream(cut: Way) {
    let count = 1_000;
    for fault in [None, Some(flagged(1)), Some(vec![0, 0, 0, 0, 9, 1, 2]), Some(vec![0, 0x7f, 0, 0, 0])] {
        for server in [true, false] {
            let mut peer = if server { to_server(cut) } else { to_client(cut) };
            let id = open(&mut peer).expect("a call");
            let mut octets: Vec<u8> = (0..count).flat_map(|n: u32| message(&n.to_be_bytes())).collect();
            octets.extend(fault.iter().flatten());
            send_octets(&mut peer, &octets);
            if server {
                peer.data(1, true, b"");
            } else {
                peer.headers(1, true, TRAILERS_OK);
            }
            let (messages, ended) = peer.messages(id);
            assert!(ended);
            for (n, message) in messages.iter().enumerate() {
                assert_eq!(message[..], (n as u32).to_be_bytes(), "in order, none twice");
            }
            assert!(fault.is_some() || messages.len() == count as usize, "{} came", messages.len());
            if server {
                let failed = peer.events().iter().any(|event| matches!(event, Event::Finished { .. }));
                assert_eq!(failed, fault.is_some());
                peer.finish_ok(id);
                assert_eq!(status_of(&peer.said(), 1) == Some("0"), fault.is_none());
            } else {
                assert_eq!(peer.outcome(id).status.is_ok(), fault.is_none(), "{fault:?}");
            }
        }
    }
}

fn flagged(flag: u8) -> Vec<u8> {
    vec![flag, 0, 0, 0, 1, 7]
}

/// Deadlines at the edge: at the instant, before it, with the answer in the same read, in the queue, and at the end of time.
pub(crate) fn b55_deadlines_at_the_edge(cut: Way) {
    let micro = Duration::from_micros(1);
    let start = |peer: &mut Peer, at: Timestamp| {
        let id = peer.start_with(Shape::Unary, None, CallOptions::default().deadline(Some(at)));
        peer.put(id, &b""[..]);
        id
    };
    // Early is nothing; the instant itself is the deadline.
    let mut peer = to_client(cut);
    let at = peer.now.saturating_add(SECOND);
    let id = start(&mut peer, at);
    peer.said();
    peer.advance(SECOND - micro);
    assert!(!peer.messages(id).1 && peer.said().is_empty());
    peer.advance(micro);
    assert_eq!(peer.outcome(id).status.code(), Code::DeadlineExceeded);
    peer.assert_reset(1, &[ErrorCode::CANCEL]);
    // The answer was there first, although the clock is past it when it is read.
    let at = peer.now.saturating_add(SECOND);
    let id = start(&mut peer, at);
    peer.said();
    peer.now = peer.now.saturating_add(2 * SECOND);
    answer(&mut peer, 3);
    peer.advance(micro);
    assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    // The server saw the deadline pass, and says so by CANCEL.
    let at = peer.now.saturating_add(SECOND);
    let id = start(&mut peer, at);
    peer.said();
    peer.now = at;
    peer.send(&rst_stream(5, 8));
    assert_eq!(peer.outcome(id).status.code(), Code::DeadlineExceeded);
    // In the queue time passes too, and nothing was sent.
    peer.send(&settings(&[(3, 0)]));
    let at = peer.now.saturating_add(SECOND);
    let id = start(&mut peer, at);
    peer.said();
    peer.advance(SECOND);
    assert_eq!(peer.outcome(id).status.code(), Code::DeadlineExceeded);
    assert!(peer.said().is_empty());
    // What waited in the queue is not in what is told.
    let at = peer.now.saturating_add(2 * SECOND);
    let id = start(&mut peer, at);
    peer.advance(SECOND + micro);
    peer.send(&settings(&[(3, 1)]));
    let said = peer.said();
    assert_eq!(said.iter().find_map(|said| said.field("grpc-timeout")), Some("999999u"));
    peer.call(id).cancel();
    // The end of time is no time.
    for at in [Timestamp::MAX, Timestamp::from_micros(u64::MAX - 1)] {
        let mut peer = to_client(cut);
        let id = start(&mut peer, at);
        let said = peer.said();
        let text = said.iter().find_map(|said| said.field("grpc-timeout")).expect("a timeout");
        assert!(text.len() <= 9 && text.ends_with('H'), "{text}");
        answer(&mut peer, 1);
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
    // At a server: both ends of what can be asked for, and a clock that is near its own end.
    let mut peer = to_server(cut);
    peer.now = Timestamp::from_micros(u64::MAX - 10_000_000);
    for (n, text) in ["99999999H", "1n", "99999999n", "99999999M"].into_iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        peer.request(stream, "/S/M", true, &[("grpc-timeout", text.as_bytes())]);
        let id = peer.accept();
        peer.finish_ok(id);
        assert_eq!(status_of(&peer.said(), stream), Some("0"));
    }
}

/// GOAWAY: of the wrong form, several, to a server, and while a block is half received (RFC 9113 §6.8).
pub(crate) fn b46_goaway_of_every_kind(cut: Way) {
    for (octets, code) in [
        (frame(GOAWAY, 0, 1, &[0; 8]), ErrorCode::PROTOCOL_ERROR),
        (frame(GOAWAY, 0, 0, &[0; 7]), ErrorCode::FRAME_SIZE_ERROR),
        ([goaway(1, 0, b""), goaway(3, 0, b"")].concat(), ErrorCode::PROTOCOL_ERROR),
    ] {
        for mut peer in [to_server(cut), to_client(cut)] {
            if !peer.is_client() {
                called(&mut peer);
            } else {
                peer.headers(1, false, REQUEST);
            }
            peer.send(&octets);
            peer.assert_closed(&[code]);
        }
    }
    // Lower and lower, the same again, an even one: calls above it are free to go elsewhere, the others go on.
    let mut peer = to_client(cut);
    let ids = [called(&mut peer), called(&mut peer), called(&mut peer)];
    peer.send(&goaway(i32::MAX as u32, 0, b"")).send(&goaway(4, 0, b"")).send(&goaway(4, 2, b"why"));
    assert!(peer.outcome(ids[2]).unprocessed);
    assert!(!peer.messages(ids[1]).1);
    peer.send(&goaway(1, 0, b""));
    assert!(peer.outcome(ids[1]).unprocessed);
    answer(&mut peer, 1);
    assert_eq!(peer.outcome(ids[0]).status.code(), Code::Ok);
    peer.said();
    assert!(peer.conn.is_finished());
    // A server that is told so serves on: it is about streams that it would open.
    let mut peer = to_server(cut);
    peer.send(&goaway(0, 0, b""));
    peer.assert_usable(1);
    // The final GOAWAY finds a head half received: it is beyond it, and decoded all the same.
    let mut peer = to_server(cut);
    peer.headers(1, true, REQUEST);
    let id = peer.accept();
    let now = peer.now;
    peer.conn.drain(now, None);
    peer.said();
    let mut block = REQUEST.to_vec();
    literal(&mut block, 0x40, b"x-new", b"value");
    peer.send(&frame(HEADERS, END_STREAM, 3, &block[..10]));
    peer.advance(5 * SECOND);
    let said = peer.said();
    let last = said.iter().find(|said| said.kind() == GOAWAY).expect("the final GOAWAY").frame.word(0);
    peer.send(&frame(CONTINUATION, END_HEADERS, 3, &block[10..]));
    assert_eq!(peer.conn.probe().decoder.entries[0].0, b"x-new");
    // Below what the GOAWAY names it must be served, above it must not.
    assert_eq!(peer.try_accept().is_some(), last >= 3);
    peer.finish_ok(id);
}

/// What looks like an answer before there is one, or after it (RFC 9113 §8.1).
pub(crate) fn b40_heads_and_bodies_in_the_wrong_order(cut: Way) {
    let informational = block(&[(":status", "103"), ("grpc-status", "0"), ("content-length", "7"), ("x-a", "1")]);
    // Nothing of an informational head is left in the real one.
    let mut peer = to_client(cut);
    let id = called(&mut peer);
    peer.headers(1, false, &informational).headers(1, false, RESPONSE);
    assert!(peer.call(id).metadata().is_empty());
    peer.data(1, false, &message(b"x")).headers(1, true, TRAILERS_OK);
    let outcome = peer.outcome(id);
    assert_eq!((outcome.status.code(), outcome.trailers.len()), (Code::Ok, 0));
    // (what comes, the reset)
    let cases: [(Vec<u8>, ErrorCode); 5] = [
        (frame(DATA, 0, 3, &message(b"x")), ErrorCode::PROTOCOL_ERROR),
        ([frame(HEADERS, END_HEADERS, 3, &informational), frame(DATA, 0, 3, &message(b"x"))].concat(), ErrorCode::PROTOCOL_ERROR),
        ([frame(HEADERS, END_HEADERS, 3, RESPONSE), frame(HEADERS, END_HEADERS, 3, &informational)].concat(), ErrorCode::PROTOCOL_ERROR),
        ([frame(HEADERS, END_HEADERS, 3, RESPONSE), frame(HEADERS, END_HEADERS, 3, RESPONSE)].concat(), ErrorCode::PROTOCOL_ERROR),
        (
            [frame(HEADERS, END_HEADERS, 3, RESPONSE), frame(HEADERS, END_HEADERS | END_STREAM, 3, RESPONSE)].concat(),
            ErrorCode::PROTOCOL_ERROR,
        ),
    ];
    for (octets, code) in cases {
        let mut peer = to_client(cut);
        called(&mut peer);
        let id = called(&mut peer);
        peer.send(&octets);
        peer.assert_reset(3, &[code]);
        assert_eq!(peer.outcome(id).status.code(), Code::Internal);
        answer(&mut peer, 1);
    }
}

/// Calls wait, are cancelled while they wait, and find room again: none is forgotten, none is let in twice.
pub(crate) fn b45_a_queue_that_fills_and_empties(cut: Way) {
    let mut config = Config::default();
    config.max_queued_calls = 5;
    let mut peer = to_client_with(&config, cut, &[(3, 2)]);
    let mut rng = Rng::new(cut.seed);
    let (mut waiting, mut open) = (Vec::new(), Vec::new());
    let mut told = true;
    for _ in 0..500 {
        match rng.below(5) {
            0 | 1 => {
                let now = peer.now;
                match peer.conn.start(now, pintle_core::RequestHead::new("/S/M", Shape::Unary), CallOptions::default()) {
                    Ok(id) => {
                        peer.put(id, &b"x"[..]);
                        peer.calls.push(id);
                        waiting.push(id);
                    }
                    Err(error) => {
                        assert_eq!(error, pintle_core::StartError::AtCapacity);
                        assert_eq!(peer.conn.probe().queued_calls, 5);
                        told = false;
                    }
                }
            }
            2 => {
                let said = peer.said();
                for head in said.iter().filter(|said| said.kind() == HEADERS) {
                    open.push((waiting.remove(0), head.stream()));
                }
                assert!(open.len() <= 2, "{open:?}");
            }
            3 if !open.is_empty() => {
                let (id, stream) = open.remove(rng.below(open.len() as u64) as usize);
                answer(&mut peer, stream);
                assert_eq!(peer.outcome(id).status.code(), Code::Ok);
            }
            _ if !waiting.is_empty() => {
                let id = waiting.remove(rng.below(waiting.len() as u64) as usize);
                peer.call(id).cancel();
            }
            _ => {}
        }
        told |= peer.events().contains(&Event::Available);
        assert!(told || peer.conn.probe().queued_calls == 5, "who was refused must hear of room");
    }
}

/// What comes late for calls that have ended is nobody's fault, however many calls there are and however small the frames (B53): answers
/// before the request's end, each with the client's own RST_STREAM and a WINDOW_UPDATE behind it.
pub(crate) fn b53_late_frames_after_early_answers(cut: Way) {
    let mut peer = to_server(cut);
    for n in 0..cut.some_of(20_000) {
        let stream = 1 + 2 * n as u32;
        peer.headers(stream, false, REQUEST).data(stream, false, &message(b"first"));
        let id = peer.accept();
        peer.call(id).finish(&Status::new(Code::PermissionDenied, "no"), None);
        peer.said();
        peer.data(stream, false, &message(b"late")).send(&window_update(stream, 10)).send(&rst_stream(stream, 0));
        peer.said();
    }
    peer.assert_open();
}

/// The same for a client that takes back streams of small answers.
pub(crate) fn b53_small_late_frames(cut: Way) {
    let mut peer = to_client(cut);
    for n in 0..20 {
        let stream = 1 + 2 * n;
        let id = peer.start(Shape::ServerStreaming);
        peer.put(id, &b""[..]);
        peer.said();
        peer.headers(stream, false, RESPONSE).data(stream, false, &message(b"first"));
        peer.call(id).cancel();
        for _ in 0..cut.some_of(2_000) {
            peer.data(stream, false, &message(b"one of very many that were on their way"));
        }
        peer.headers(stream, true, TRAILERS_OK);
        peer.said();
    }
    peer.assert_open();
    // A server that has answered, and whose answer waits: what still comes of the request is as late.
    let mut peer = to_server(cut);
    peer.send(&settings(&[(4, 0)])).headers(1, false, REQUEST);
    let id = peer.accept();
    peer.put(id, &b"answer"[..]);
    peer.finish_ok(id);
    peer.said();
    for _ in 0..1_000 {
        peer.data(1, false, &message(b"more"));
        peer.said();
    }
    peer.assert_open();
}

/// Small messages that nobody reads yet: how the octets are cut into reads does not make them abuse.
pub(crate) fn b65_small_messages_that_wait(cut: Way) {
    for server in [true, false] {
        let mut peer = if server { to_server(cut) } else { to_client(cut) };
        let id = open(&mut peer).expect("a call");
        for n in 0..1_000_u32 {
            peer.data(1, false, &message(&n.to_be_bytes()));
            peer.said();
        }
        peer.assert_open();
        let messages = peer.messages(id).0;
        assert_eq!(messages.len(), 1_000);
        assert!(messages.iter().enumerate().all(|(n, message)| message[..] == (n as u32).to_be_bytes()));
    }
}

/// A status with more details and metadata than the peer takes goes out without them: code and message are what counts (RFC 9113 §10.5.1).
pub(crate) fn b62_a_status_keeps_to_the_peers_limit(cut: Way) {
    let mut trailers = pintle_core::Metadata::new();
    trailers.append("x-note", &"n".repeat(500)).expect("a valid field");
    for (details, message) in [(0, 100), (100, 100), (5_000, 100), (0, 5_000), (5_000, 5_000), (1_400, 600)] {
        for answered in [false, true] {
            let mut peer = to_server(cut);
            peer.send(&settings(&[(6, 2_000)])).headers(1, true, REQUEST);
            let id = peer.accept();
            if answered {
                peer.put(id, &b"x"[..]);
            }
            let status = Status::new(Code::DataLoss, "\u{e9}".repeat(message / 6)).with_details(vec![b'd'; details].into());
            peer.call(id).finish(&status, Some(&trailers));
            let said = peer.said();
            let last = said.iter().rfind(|said| said.kind() == HEADERS).expect("trailers");
            assert_eq!(last.field("grpc-status"), Some("15"));
            let size: usize = last.fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            assert!(size <= 2_000, "{size} octets of a list for a peer that takes 2,000: {details} {message}");
            assert!(last.field("grpc-message").is_some_and(|text| text.len() > 50), "{last:?}");
            assert_eq!(last.field("grpc-status-details-bin").is_some(), details > 0 && details < 900, "{details} {message}");
        }
    }
}
