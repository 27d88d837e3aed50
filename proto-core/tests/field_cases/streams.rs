//! Stream states, stream limits, GOAWAY and the end of connections.

use crate::run::*;
use pintle_core::{
    CallOptions, CloseReason, Code, Config, Endpoint, ErrorCode, Event, Shape, Status,
    testing::{
        Rng,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

fn opened(said: &[Said]) -> Vec<u32> {
    said.iter().filter(|said| said.kind() == HEADERS).map(Said::stream).collect()
}

/// A call that was cancelled before its HEADERS left sent RST_STREAM for an idle stream (RFC 9113 §5.1, §6.4).
pub(crate) fn b33_a_cancelled_call_that_was_queued_leaves_no_trace(cut: Way) {
    let mut peer = to_client_with(&Config::default(), cut, &[(3, 0)]);
    let id = peer.unary(b"never");
    assert!(peer.said().is_empty(), "no stream may be opened");
    peer.call(id).cancel();
    assert!(peer.said().is_empty(), "nothing was sent, so there is nothing to reset");
    peer.send(&settings(&[(3, 100)]));
    peer.said();
    peer.unary(b"next");
    let said = peer.said();
    assert_eq!(opened(&said), [1]);
    assert_eq!(peer.conn.probe().queued_calls, 0);
}

/// RST_STREAM(NO_ERROR) behind a whole response made an error of it; without trailers it was taken as success (§8.1).
pub(crate) fn b34_no_error_after_a_whole_response(cut: Way) {
    for trailers_only in [false, true] {
        let mut peer = to_client_with(&Config::default(), cut, &[(4, 10)]);
        let id = peer.start(Shape::ClientStreaming);
        peer.put(id, vec![0; 60_000]);
        peer.said();
        let mut octets = Vec::new();
        if trailers_only {
            let block = [RESPONSE, &block(&[("grpc-status", "5")])].concat();
            octets.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &block));
        } else {
            octets.extend(frame(HEADERS, END_HEADERS, 1, RESPONSE));
            octets.extend(frame(DATA, 0, 1, &message(b"early")));
            octets.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, TRAILERS_OK));
        }
        octets.extend(rst_stream(1, 0));
        peer.send(&octets);
        let (messages, ended) = peer.messages(id);
        assert!(ended);
        assert_eq!(messages.len(), usize::from(!trailers_only));
        let outcome = peer.call(id).take_outcome().expect("it ended");
        assert_eq!(outcome.status.code(), if trailers_only { Code::NotFound } else { Code::Ok });
        // The upload stops quietly.
        peer.send(&window_update(1, 60_000));
        assert!(peer.said().iter().all(|said| said.kind() != DATA));
        peer.assert_usable(3);
    }
    // Behind a whole response no code changes anything, although nobody has read it yet.
    let mut peer = to_client(cut);
    for code in 0..14 {
        let (id, stream) = (called(&mut peer), 1 + 2 * code);
        answer(&mut peer, stream);
        peer.send(&rst_stream(stream, code));
        assert_eq!(peer.outcome(id).status.code(), Code::Ok, "{code}");
    }
    let mut peer = to_client(cut);
    let id = peer.unary(b"");
    peer.said();
    peer.headers(1, false, RESPONSE).data(1, false, &message(b"x")).send(&rst_stream(1, 0));
    assert_eq!(peer.outcome(id).status.code(), Code::Internal);
}

/// A server that answered early did not release the stream, and the client's upload hung (§8.1).
pub(crate) fn b35_an_early_answer_ends_the_upload(cut: Way) {
    let mut config = Config::default();
    config.initial_window = 65_535;
    let mut peer = to_server_with(&config, cut);
    peer.request(1, "/S/C", false, &[]);
    let id = peer.accept();
    for chunk in message(&vec![0; 65_530]).chunks(16_384) {
        peer.data(1, false, chunk);
    }
    peer.call(id).finish(&Status::new(Code::PermissionDenied, "not you"), None);
    let said = peer.said();
    let status = said.iter().position(|said| said.field("grpc-status") == Some("7") && said.ends()).expect("the status");
    let reset = said.iter().position(|said| said.reset_of(1) == Some(ErrorCode::NO_ERROR)).expect("RST_STREAM(NO_ERROR)");
    assert!(status < reset);
    peer.assert_whole();
    peer.assert_usable(3);
}

/// A response followed at once by the end of the transport was lost (§5.1, §6.8).
pub(crate) fn b36_what_came_before_the_end_counts(cut: Way) {
    let mut peer = to_client(cut);
    let (done, open) = (peer.unary(b""), peer.unary(b""));
    peer.said();
    answer(&mut peer, 1);
    peer.headers(3, false, RESPONSE).eof();
    assert_eq!(peer.outcome(done).status.code(), Code::Ok);
    assert_eq!(peer.outcome(open).status.code(), Code::Unavailable);
    assert!(peer.events().contains(&Event::Closed));
    assert_eq!(peer.conn.close_reason(), Some(&CloseReason::Eof));
    assert!(peer.conn.is_finished() && peer.conn.is_idle());
    // Whatever the end, and although nobody has read it yet.
    type End = fn(&mut Peer);
    let ends: [End; 4] = [
        |peer| _ = peer.eof(),
        |peer| _ = peer.send(&goaway(0, 2, b"")).eof(),
        |peer| _ = peer.send(&frame(DATA, 0, 0, b"x")),
        |peer| {
            let now = peer.now;
            peer.conn.close(now);
        },
    ];
    for end in ends {
        let mut peer = to_client(cut);
        let id = peer.start(Shape::ServerStreaming);
        peer.put(id, &b""[..]);
        peer.said();
        peer.headers(1, false, RESPONSE).data(1, false, &message(b"some").repeat(100)).headers(1, true, TRAILERS_OK);
        end(&mut peer);
        let (messages, ended) = peer.messages(id);
        assert_eq!((messages.len(), ended), (100, true));
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
}

/// END_STREAM on a request's HEADERS was ignored (§5.1).
pub(crate) fn b37_a_request_may_end_with_its_head(cut: Way) {
    for (number, path) in ["/S/C", "/S/M"].into_iter().enumerate() {
        for empty_data in [false, true] {
            let mut peer = to_server(cut);
            peer.request(1, path, !empty_data, &[]);
            if empty_data {
                peer.send(b"\x00\x00\x00\x00\x01\x00\x00\x00\x01");
            }
            let id = peer.accept();
            assert_eq!(peer.messages(id), (vec![], true), "{number}");
            peer.data(1, false, b"x");
            let said = peer.said();
            let reset = said.iter().find_map(|said| said.reset_of(1));
            let closed = said.iter().find(|said| said.kind() == GOAWAY).map(|said| ErrorCode(said.frame.word(4)));
            assert_eq!(reset.or(closed), Some(ErrorCode::STREAM_CLOSED), "{said:?}");
        }
    }
    for path in ["/S/U", "/S/R"] {
        let mut peer = to_server(cut);
        peer.request(1, path, true, &[]);
        let said = peer.said();
        let status = said.iter().find_map(|said| said.field("grpc-status"));
        assert!(matches!(status, Some("12" | "13")), "no message where one is due: {said:?}");
        assert_eq!(peer.try_accept(), None);
        peer.assert_usable(3);
    }
}

/// Trailers without END_STREAM killed every call, or were accepted (§8.1).
pub(crate) fn b38_trailers_end_the_stream(cut: Way) {
    let mut peer = to_client(cut);
    let (bad, good) = (peer.unary(b""), peer.unary(b""));
    peer.said();
    peer.headers(1, false, RESPONSE).data(1, false, &message(b"x")).headers(1, false, TRAILERS_OK);
    peer.assert_reset(1, &[ErrorCode::PROTOCOL_ERROR]);
    assert_eq!(peer.outcome(bad).status.code(), Code::Internal);
    answer(&mut peer, 3);
    assert_eq!(peer.outcome(good).status.code(), Code::Ok);
    // A third block, after proper trailers: an error (STREAM_CLOSED), or ignored once it is decoded (§5.1).
    peer.headers(3, true, TRAILERS_OK);
    let said = peer.said();
    let codes: Vec<_> = said
        .iter()
        .filter_map(|said| said.reset_of(3).or_else(|| (said.kind() == GOAWAY).then(|| ErrorCode(said.frame.word(4)))))
        .collect();
    assert!(codes.is_empty() || codes == [ErrorCode::STREAM_CLOSED], "{said:?}");
    if codes.is_empty() {
        peer.assert_usable(5);
    }
}

/// The same for requests; the other call goes on.
pub(crate) fn b38_trailers_end_the_request(cut: Way) {
    let mut peer = to_server(cut);
    peer.headers(1, false, REQUEST).headers(3, false, REQUEST);
    let (bad, good) = (peer.accept(), peer.accept());
    peer.data(1, false, &message(b"x")).headers(1, false, &block(&[("x-trailer", "1")]));
    peer.assert_reset(1, &[ErrorCode::PROTOCOL_ERROR]);
    assert!(peer.events().iter().any(|event| matches!(event, Event::Finished { call, code: Code::Cancelled, .. } if *call == bad)));
    peer.data(3, false, &message(b"x")).headers(3, true, &block(&[("x-trailer", "1")]));
    assert_eq!(peer.messages(good).0.len(), 1);
    // Behind END_STREAM there is nothing, not even trailers.
    peer.headers(3, true, &block(&[("x-trailer", "1")]));
    peer.assert_reset(3, &[ErrorCode::STREAM_CLOSED]);
}

/// `content-length` that the body does not have was accepted (§8.1.1).
pub(crate) fn b39_content_length_is_checked(cut: Way) {
    let head = |length: &str| [RESPONSE, &block(&[("content-length", length)])].concat();
    let only = |length: &str| [RESPONSE, &block(&[("content-length", length), ("grpc-status", "0")])].concat();
    type Script = Box<dyn Fn(&mut Peer)>;
    let cases: [(Script, bool); 4] = [
        (Box::new(move |peer| _ = peer.headers(1, true, &only("5"))), false),
        (Box::new(move |peer| _ = peer.headers(1, false, &head("5")).data(1, false, &message(b"x"))), false),
        (Box::new(move |peer| _ = peer.headers(1, false, &head("7")).data(1, false, &message(b"x")).headers(1, true, TRAILERS_OK)), false),
        (Box::new(move |peer| _ = peer.headers(1, false, &head("6")).data(1, false, &message(b"x")).headers(1, true, TRAILERS_OK)), true),
    ];
    for (number, (script, good)) in cases.iter().enumerate() {
        let mut peer = to_client(cut);
        let id = peer.start(Shape::Bidi);
        peer.said();
        script(&mut peer);
        let outcome = peer.outcome(id);
        assert_eq!(outcome.status.code(), if *good { Code::Ok } else { Code::Internal }, "case {number}");
        if *good {
            peer.said();
        } else {
            peer.assert_reset(1, &[ErrorCode::PROTOCOL_ERROR]);
        }
        peer.assert_usable(3);
    }
    let mut peer = to_client(cut);
    let id = peer.start(Shape::Bidi);
    peer.said();
    peer.headers(1, true, &only("0"));
    assert_eq!(peer.outcome(id).status.code(), Code::Ok);
}

/// 1xx heads were taken for the response (§8.1).
pub(crate) fn b40_informational_heads_are_skipped(cut: Way) {
    let mut peer = to_client(cut);
    let id = peer.unary(b"");
    peer.said();
    peer.headers(1, false, &block(&[(":status", "103"), ("link", "</x>")])).headers(1, false, &block(&[(":status", "100")]));
    assert_eq!(peer.messages(id), (vec![], false));
    answer(&mut peer, 1);
    assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    let id = peer.unary(b"");
    peer.said();
    peer.headers(3, true, &block(&[(":status", "103")]));
    assert_eq!(peer.outcome(id).status.code(), Code::Internal);
    let mut peer = to_client(cut);
    let id = peer.unary(b"");
    peer.said();
    for _ in 0..cut.some_of(100_000).max(20_000) {
        peer.headers(1, false, &block(&[(":status", "103")]));
        if peer.conn.close_reason().is_some() || peer.messages(id).1 {
            break;
        }
    }
    assert_ne!(peer.outcome(id).status.code(), Code::Ok, "endless 1xx heads must have a bound");
}

/// The client exceeded the peer's stream limit, or forgot the calls that waited (§5.1.2).
pub(crate) fn b45_the_stream_limit_is_kept_and_queued_calls_start(cut: Way) {
    let mut peer = fresh_to_client(&Config::default(), cut);
    let ids: Vec<_> = (0..500).map(|_| peer.unary(b"")).collect();
    let early = opened(&peer.said());
    assert!(early.len() <= 100, "{} streams before the limit is known", early.len());
    peer.send(&settings(&[(3, 4)])).send(&settings_ack());
    // The surplus is refused, as a server with that limit does.
    early.iter().skip(4).for_each(|&stream| _ = peer.send(&rst_stream(stream, 7)));
    let refused = early.len().saturating_sub(4);
    let (mut open, mut finished): (Vec<u32>, usize) = (early.into_iter().take(4).collect(), 0);
    let mut limit = 4;
    for round in 0..2_000 {
        open.extend(opened(&peer.said()));
        assert!(open.len() <= limit.max(4), "{} open, {limit} allowed", open.len());
        if round == 10 {
            limit = 1;
            peer.send(&settings(&[(3, 1)]));
        }
        if round == 20 {
            peer.send(&settings(&[(3, 0)]));
            while let Some(stream) = open.pop() {
                answer(&mut peer, stream);
                finished += 1;
            }
            assert!(opened(&peer.said()).is_empty(), "a limit of 0 parks every call");
            limit = 100;
            peer.send(&settings(&[(3, 100)]));
            open.extend(opened(&peer.said()));
            assert_eq!(open.len(), 100.min(500 - refused - finished));
        }
        let Some(stream) = open.pop() else { break };
        answer(&mut peer, stream);
        finished += 1;
    }
    let codes: Vec<_> = ids.into_iter().map(|id| peer.outcome(id)).map(|outcome| (outcome.status.code(), outcome.unprocessed)).collect();
    assert_eq!(codes.iter().filter(|&&code| code == (Code::Ok, false)).count(), 500 - refused);
    assert_eq!(codes.iter().filter(|&&code| code == (Code::Unavailable, true)).count(), refused);
}

/// GOAWAY at a client: calls in flight go on, none are opened, those above the last id were not processed (§6.8).
pub(crate) fn b46_a_client_is_drained_in_two_steps(cut: Way) {
    let mut peer = to_client(cut);
    let ids = [peer.unary(b""), peer.unary(b""), peer.unary(b"")];
    peer.said();
    peer.send(b"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00");
    assert!(peer.events().contains(&Event::Draining));
    let head = pintle_core::RequestHead::new("/S/M", Shape::Unary);
    let now = peer.now;
    assert_eq!(peer.conn.start(now, head, CallOptions::default()).err(), Some(pintle_core::StartError::Draining));
    peer.send(&goaway(3, 0, &vec![0xff; 16_000]));
    let outcome = peer.outcome(ids[2]);
    assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, true));
    for (id, stream) in [(ids[0], 1), (ids[1], 3)] {
        answer(&mut peer, stream);
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
    peer.said();
    assert!(peer.conn.is_finished(), "the last call has ended");
    let mut peer = to_client(cut);
    let id = peer.unary(b"");
    peer.said();
    peer.send(&goaway(1, 0, b"")).send(&goaway(9, 0, b""));
    peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
    assert_eq!(peer.outcome(id).status.code(), Code::Unavailable);
}

/// GOAWAY from a server: two steps, so that a call that crosses the first is served (§6.8, gRFC A9).
pub(crate) fn b46_a_server_drains_in_two_steps(cut: Way) {
    let mut peer = to_server(cut);
    peer.headers(1, true, REQUEST);
    let first = peer.accept();
    let now = peer.now;
    peer.conn.drain(now, None);
    let said = peer.said();
    let goaway = said.iter().find(|said| said.kind() == GOAWAY).expect("the first GOAWAY");
    assert_eq!((goaway.frame.word(0), goaway.frame.word(4)), (i32::MAX as u32, 0));
    let ping = said.iter().find(|said| said.kind() == PING).expect("a PING").frame.payload.clone();
    // Was on its way.
    peer.headers(3, true, REQUEST);
    let second = peer.accept();
    peer.send(&frame(PING, ACK, 0, &ping));
    let said = peer.said();
    let goaway = said.iter().find(|said| said.kind() == GOAWAY).expect("the second GOAWAY");
    assert_eq!((goaway.frame.word(0), goaway.frame.word(4)), (3, 0));
    // Too late: decoded and ignored.
    peer.headers(5, true, REQUEST);
    assert_eq!(peer.try_accept(), None);
    assert!(!peer.conn.is_finished());
    peer.finish_ok(first);
    peer.finish_ok(second);
    let said = peer.said();
    assert_eq!(said.iter().filter(|said| said.field("grpc-status") == Some("0")).count(), 2, "{said:?}");
    assert!(peer.conn.is_finished());
    assert_eq!(peer.conn.close_reason(), Some(&CloseReason::Local));
}

/// GOAWAY, FIN, answers and new calls in every order: no call is lost, none hangs, and what is called unprocessed was (§8.7).
pub(crate) fn b48_goaway_races_lose_no_call(cut: Way) {
    for seed in 0..cut.some_of(1_000) as u64 {
        let mut rng = Rng::new(cut.seed << 32 | seed);
        let mut peer = to_client_with(&Config::default(), cut, &[(3, 3)]);
        let mut ids = Vec::new();
        let (mut seen, mut answered, mut last) = (Vec::new(), Vec::new(), None);
        for _ in 0..20 {
            match rng.below(8) {
                0..=3 => {
                    let head = pintle_core::RequestHead::new("/S/M", Shape::Unary);
                    let now = peer.now;
                    if let Ok(id) = peer.conn.start(now, head, CallOptions::default()) {
                        peer.put(id, &b"x"[..]);
                        ids.push(id);
                    } else {
                        assert!(last.is_some(), "only GOAWAY stops new calls");
                    }
                }
                4..=5 => seen.extend(opened(&peer.said())),
                6 => {
                    if let Some(&stream) =
                        seen.iter().find(|stream| !answered.contains(*stream) && last.is_none_or(|last| **stream <= last))
                    {
                        answer(&mut peer, stream);
                        answered.push(stream);
                    }
                }
                _ => {
                    let limit = seen.last().copied().unwrap_or(0).min(last.unwrap_or(u32::MAX));
                    let at = if rng.chance(500) { limit } else { limit.min(1) };
                    peer.send(&goaway(at, 0, b""));
                    last = Some(at);
                }
            }
        }
        peer.eof();
        let outcomes: Vec<_> = ids.into_iter().map(|id| peer.outcome(id)).collect();
        let ok = outcomes.iter().filter(|outcome| outcome.status.code() == Code::Ok).count();
        assert_eq!(ok, answered.len(), "seed {seed}");
        for outcome in outcomes.iter().filter(|outcome| outcome.status.code() != Code::Ok) {
            assert_eq!(outcome.status.code(), Code::Unavailable, "seed {seed}: {outcome:?}");
        }
        // What the server may have begun must not be called unprocessed.
        let begun = seen.iter().filter(|stream| last.is_none_or(|last| **stream <= last)).count();
        let unprocessed = outcomes.iter().filter(|outcome| outcome.unprocessed).count();
        assert!(unprocessed <= outcomes.len() - begun, "seed {seed}: {unprocessed} of {} unprocessed, {begun} begun", outcomes.len());
        // A last GOAWAY may wait, although the transport has ended.
        peer.said();
        assert!(peer.conn.is_idle() && peer.conn.is_finished());
    }
}

/// A graceful shutdown never returned (gRFC A9).
pub(crate) fn b50_a_drain_always_ends(cut: Way) {
    let grace = Duration::from_secs(1);
    for start in [&b""[..], b"PRI * HT"] {
        let mut peer = fresh_to_server(&Config::default(), cut);
        peer.send(start);
        let now = peer.now;
        peer.conn.drain(now, Some(grace));
        peer.said();
        assert!(peer.conn.is_finished(), "nothing was ever asked: it may close at once");
    }
    let mut peer = to_server(cut);
    let now = peer.now;
    peer.conn.drain(now, Some(grace));
    let said = peer.said();
    let ping = said.iter().find(|said| said.kind() == PING).map(|said| said.frame.payload.clone());
    if let Some(ping) = ping {
        peer.send(&frame(PING, ACK, 0, &ping));
    }
    assert!(peer.said().iter().any(|said| said.kind() == GOAWAY) || said.iter().any(|said| said.kind() == GOAWAY));
    assert!(peer.conn.is_finished(), "idle: it closes after the round trip");
    // A call whose peer does not read: nobody takes any output.
    let mut peer = to_server(cut);
    peer.headers(1, true, REQUEST);
    let id = peer.accept();
    while peer.call(id).send(bytes::Bytes::from_static(&[0; 10_000]).into()).is_ok() {}
    let now = peer.now;
    peer.conn.drain(now, Some(grace));
    peer.advance(grace);
    assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Local)), "{:?}", peer.conn.close_reason());
    assert!(peer.events().iter().any(|event| matches!(event, Event::Finished { code: Code::Cancelled, .. })));
    peer.call(id).cancel();
    peer.said();
    assert!(peer.conn.is_finished());
}

/// DATA for streams that were just reset counted as abuse, and long fast links were cut off (§5.1, §5.4.2).
pub(crate) fn b53_late_frames_of_a_cancelled_call_are_no_abuse(cut: Way) {
    let mut peer = to_client(cut);
    let id = peer.start(Shape::ServerStreaming);
    peer.put(id, &b""[..]);
    peer.said();
    peer.headers(1, false, RESPONSE);
    peer.call(id).cancel();
    let mut window = i64::from(Config::default().connection_window);
    for n in 0..cut.some_of(15_000) {
        window -= 16_384;
        assert!(window >= 0, "the octets of a cancelled call were not credited");
        peer.data(1, false, &[0; 16_384]);
        if n % 2 == 0 {
            peer.send(&window_update(1, 100));
        }
        window += credit(&peer.said());
        peer.assert_open();
    }
    // 200 cancelled calls per second for ten seconds.
    let mut stream = 3;
    for _ in 0..cut.some_of(2_000) {
        let id = peer.start(Shape::ServerStreaming);
        peer.put(id, &b""[..]);
        peer.said();
        peer.headers(stream, false, RESPONSE);
        peer.call(id).cancel();
        peer.data(stream, false, &[0; 1_000]).advance(Duration::from_millis(5));
        peer.said();
        stream += 2;
    }
    peer.assert_open();
    assert!(peer.conn.wants().read);
}

/// The same at a server that answered before the upload had come, and one whose client takes back 200 calls a second.
pub(crate) fn b53_late_frames_of_an_answered_call_are_no_abuse(cut: Way) {
    let mut peer = to_server(cut);
    peer.headers(1, false, REQUEST);
    let id = peer.accept();
    peer.call(id).finish(&Status::new(Code::PermissionDenied, "not you"), None);
    peer.said();
    let mut window = i64::from(Config::default().connection_window);
    for n in 0..cut.some_of(15_000) {
        window -= 16_384;
        assert!(window >= 0, "the octets of an answered call were not credited");
        peer.data(1, false, &[0; 16_384]);
        if n % 2 == 0 {
            peer.send(&window_update(1, 100));
        }
        window += credit(&peer.said());
        peer.assert_open();
    }
    for n in 0..cut.some_of(2_000) {
        let stream = 3 + 2 * n as u32;
        peer.headers(stream, false, REQUEST).data(stream, false, &[0; 1_000]);
        let id = peer.accept();
        // A stream of answers, taken back after the first.
        peer.put(id, vec![0; 1_000]);
        peer.said();
        peer.send(&rst_stream(stream, 8));
        peer.call(id).cancel();
        peer.data(stream, false, &[0; 1_000]);
        peer.advance(Duration::from_millis(5));
        peer.said();
    }
    peer.assert_open();
    assert!(peer.conn.wants().read);
}

/// Connection credit that was said.
fn credit(said: &[Said]) -> i64 {
    said.iter().filter(|said| said.kind() == WINDOW_UPDATE && said.stream() == 0).map(|said| i64::from(said.frame.word(0))).sum()
}
