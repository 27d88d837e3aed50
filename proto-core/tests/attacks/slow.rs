//! Attacks by time: X17, X18, X23; and by one's neighbours: X19.

use crate::{attack::*, heap::measure, peer::*};
use pintle_core::{
    CloseReason, Code, Config, Endpoint, Event, Recv, Timestamp,
    testing::{Cut, raw::REQUEST, wire::*},
};
use std::time::Duration;

/// The connection is open until its deadline, which it names, and closed a tick later.
fn closes_at(name: &str, peer: &mut Peer, after: Duration) {
    let tick = Duration::from_millis(1);
    let due = peer.now.saturating_add(after);
    peer.advance(after.saturating_sub(tick));
    assert_eq!(peer.conn.close_reason(), None, "{name}: closed too early");
    assert!(peer.conn.wants().deadline.is_some_and(|at| at <= due), "{name}: it does not say when to come back");
    peer.advance(tick);
    assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Timeout { .. })), "{name}: {:?}", peer.conn.close_reason());
    drain(peer);
    assert!(peer.conn.is_finished(), "{name}");
}

#[test]
fn x17_slow_and_silent_peers() {
    let config = Config::default();
    // (a) nothing, (b) an octet of the preface a minute, and what comes to the same.
    for n in 0..size(10_000) {
        let used = freed(|| {
            let mut peer = fresh_to_server(&config, Cut::Whole);
            peer.send([&b""[..], b"P", b"PRI * HT", PREFACE, &[&PREFACE[..], b"\0\0"].concat()][n % 5]);
            drain(&mut peer);
            closes_at("no preface", &mut peer, config.handshake_timeout);
            peer
        });
        assert!(used.peak < 16 * KIB, "{used:?}");
        // (c) half a header block.
        let mut peer = to_server(Cut::Whole);
        peer.send(&frame(HEADERS, 0, 1, &REQUEST[..n % REQUEST.len()]));
        closes_at("half a header block", &mut peer, config.header_block_timeout);
        // (e) an answer of which an octet a minute is read.
        let mut peer = to_server(Cut::Whole);
        peer.headers(1, true, REQUEST);
        let call = accept(&mut peer).expect("a request");
        peer.put(call, vec![1; 50_000]);
        let now = peer.now;
        peer.conn.transmit(now, 64 * KIB).advance(1);
        // The octet that was read counts as progress when it is noticed, once.
        peer.advance(config.write_timeout - Duration::from_millis(1)).advance(config.write_timeout);
        assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Timeout { .. })) && peer.conn.is_finished());
    }
    // (d) an octet of a body a minute on a hundred calls: held by their deadlines only, and nothing grows.
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        for n in 0..100 {
            peer.request(1 + 2 * n, "/S/M", false, &[("grpc-timeout", b"60M")]);
            accept(&mut peer).expect("a request");
            peer.data(1 + 2 * n, false, b"\0\0\0\x0f");
        }
        for _ in 0..60 {
            for n in 0..100 {
                peer.data(1 + 2 * n, false, &[7]);
            }
            peer.advance(Duration::from_secs(60));
            drain(&mut peer);
            if peer.conn.close_reason().is_some() {
                break;
            }
        }
        peer
    });
    assert!(used.peak < MIB, "{used:?}");
}

#[test]
fn x17_twin_idle_connections_cost_little_and_live() {
    // (f) idle ones: as many as the listener lets in, each for a day.
    let mut idle = Vec::with_capacity(1_000);
    let ((), used) = measure(|| {
        for _ in 0..size(100_000).min(1_000) {
            let mut peer = to_server(Cut::Whole);
            drain(&mut peer);
            idle.push(peer);
        }
    });
    assert!(used.peak < idle.len() * 8 * KIB, "{} octets for an idle connection, its peer included", used.peak / idle.len());
    for peer in &mut idle {
        peer.advance(Duration::from_secs(86_400));
        assert_eq!(peer.conn.wants().deadline, None, "an idle connection waits for nothing");
    }
    idle.last_mut().expect("some").assert_usable(1);
}

#[test]
fn x18_zero_window() {
    // Finished answers: given up after a minute, and answers that need no window go out.
    let config = Config::default();
    let used = freed(|| {
        let mut peer = to_server(Cut::Whole);
        peer.send(&settings(&[(4, 0)]));
        for n in 0..99 {
            peer.headers(1 + 2 * n, true, REQUEST);
            let id = accept(&mut peer).expect("a request");
            peer.call(id).send_with(1_000, |buffer| buffer.resize(buffer.len() + 1_000, 1)).expect("room");
            peer.call(id).finish(&pintle_core::Status::ok(), None);
        }
        peer.headers(199, true, REQUEST);
        let id = accept(&mut peer).expect("a request");
        peer.finish_ok(id);
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == 199 && said.field("grpc-status") == Some("0")), "trailers need no window");
        peer.send(&frame(PING, 0, 0, b"12345678"));
        assert!(peer.said().iter().any(|said| said.kind() == PING && said.frame.head.has(ACK)));
        assert_eq!(peer.conn.probe().slots, 99);
        peer.advance(config.stall_timeout - Duration::from_secs(1));
        assert_eq!(peer.conn.probe().slots, 99);
        peer.advance(Duration::from_secs(1));
        let resets = peer.said().iter().filter(|said| said.reset_of(said.stream()) == Some(pintle_core::ErrorCode::CANCEL)).count();
        assert_eq!((peer.conn.probe().slots, resets), (0, 99), "an answer that nobody takes is given up");
        peer.assert_open();
        peer
    });
    assert!(used.peak < MIB, "{used:?}");
    // Answers that are still being made: whatever handlers try to send, so much waits; given up after ten minutes, and the handler is told.
    for _ in 0..size(1_000).min(50) {
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            peer.send(&settings(&[(4, 0)]));
            for n in 0..100 {
                peer.headers(1 + 2 * n, true, REQUEST);
                let id = accept(&mut peer).expect("a request");
                while peer.call(id).send_with(8_000, |buffer| buffer.resize(buffer.len() + 8_000, 1)).is_ok() {}
            }
            drain(&mut peer);
            peer.advance(config.held_stall_timeout - Duration::from_secs(1));
            assert!(peer.events().iter().all(|event| !matches!(event, Event::Finished { .. })));
            peer.advance(Duration::from_secs(1));
            let mut told = 0;
            while let Some(event) = peer.event() {
                if let Event::Finished { call, code, .. } = event {
                    assert_eq!(code, Code::Cancelled);
                    peer.call(call).finish(&pintle_core::Status::ok(), None);
                    told += 1;
                }
            }
            drain(&mut peer);
            assert_eq!((told, peer.conn.probe().slots, peer.conn.probe().queued), (100, 0, 0));
            peer
        });
        assert!(used.peak < 100 * (64 + 10) * KIB, "{used:?}");
    }
}

#[test]
fn x18_twin_streams_that_are_idle_or_slow() {
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, false, REQUEST);
    let idle = accept(&mut peer).expect("a request");
    peer.put(idle, &b"once"[..]);
    peer.said();
    // Nothing queued for a week: it lives. (The client's keepalive is within its rights every five minutes.)
    for _ in 0..7 {
        peer.advance(Duration::from_secs(86_400));
    }
    peer.put(idle, &b"twice"[..]);
    assert!(peer.said().iter().any(|said| said.kind() == DATA && said.stream() == 1));
    // A client that takes 4 KiB every nine minutes of a stream that always has more.
    peer.send(&settings(&[(4, 0)]));
    peer.headers(3, true, REQUEST);
    let slow = accept(&mut peer).expect("a request");
    for _ in 0..100 {
        while peer.call(slow).send_with(1_000, |buffer| buffer.resize(buffer.len() + 1_000, 1)).is_ok() {}
        peer.send(&window_update(3, 4_096)).send(&window_update(0, 4_096));
        peer.said();
        peer.advance(Duration::from_secs(540));
    }
    assert!(peer.conn.probe().streams.iter().any(|stream| stream.wire_id == 3), "a slow client is not a stalled one");
    // The window comes within the time, but only for the idle stream's next message: its wait began with that.
    peer.put(idle, &b"thrice"[..]);
    peer.advance(Duration::from_secs(500));
    peer.send(&window_update(1, 100));
    assert!(peer.said().iter().any(|said| said.kind() == DATA && said.stream() == 1));
}

/// Octets of the second stream's messages that get through while the first is full and not read, or is not there.
fn throughput(unread: bool) -> usize {
    let mut peer = to_server(Cut::Whole);
    if unread {
        peer.headers(1, false, REQUEST);
        accept(&mut peer).expect("a request");
        for _ in 0..128 {
            peer.data(1, false, &message(&[1; 1_019]));
        }
    }
    peer.headers(3, false, REQUEST);
    let call = accept(&mut peer).expect("a request");
    let (mut sent, mut room) = (0, i64::from(Config::default().connection_window));
    for _ in 0..1_000 {
        // The sender goes by the connection's window as far as it has heard of it.
        while room >= 10_005 && sent % 60_030 != 50_025 {
            peer.data(3, false, &message(&[2; 10_000]));
            (sent, room) = (sent + 10_005, room - 10_005);
        }
        while let Recv::Message(_) = peer.call(call).recv() {}
        room += peer
            .said()
            .iter()
            .filter(|said| said.kind() == WINDOW_UPDATE && said.stream() == 0)
            .map(|said| i64::from(said.frame.word(0)))
            .sum::<i64>();
        sent += usize::from(sent % 60_030 == 50_025) * 10_005;
    }
    assert_eq!(peer.conn.close_reason(), None);
    sent
}

#[test]
fn x19_a_stream_that_nobody_reads() {
    let (alone, beside) = (throughput(false), throughput(true));
    assert!(beside * 10 >= alone * 9 && alone > 10_000_000, "{alone} octets alone, {beside} beside a stream that nobody reads");
    // Octets that nobody takes are credited all the same: padding, DATA for streams that are gone, for calls that ended.
    let mut peer = to_server(Cut::Random(2_000));
    peer.headers(1, false, REQUEST).send(&rst_stream(1, 8));
    for n in 0..size(50_000) as u32 {
        let stream = 3 + 2 * n;
        peer.headers(stream, false, REQUEST);
        let call = accept(&mut peer).expect("a request");
        peer.send(&frame(DATA, PADDED, stream, &[&[200][..], &message(b"padded"), &[0; 200]].concat()));
        if n % 2 == 0 {
            peer.call(call).finish(&pintle_core::Status::ok(), None);
            peer.said();
            // On its way when the answer went out.
            peer.data(stream, false, &[0; 16_000]);
        } else {
            peer.send(&rst_stream(stream, 8));
            peer.call(call).finish(&pintle_core::Status::ok(), None);
        }
        peer.said();
        peer.advance(Duration::from_millis(40));
    }
    peer.assert_whole();
}

#[test]
fn x19_twin_readers_share_the_window() {
    // Ten calls that are read, ten megabytes each.
    let mut peer = to_server(Cut::Whole);
    let mut calls = Vec::new();
    for n in 0..10 {
        peer.headers(1 + 2 * n, false, REQUEST);
        calls.push(accept(&mut peer).expect("a request"));
    }
    for _ in 0..size(100_000) {
        for n in 0..10 {
            peer.data(1 + 2 * n, false, &message(&[3; 10_000]));
            assert!(matches!(peer.call(calls[n as usize]).recv(), Recv::Message(_)));
        }
        drain(&mut peer);
    }
    peer.assert_open();
}

#[test]
fn x23_deadlines() {
    for timeout in ["1n", "99999999H", "1u"] {
        let mut stream = 1;
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            let mut ended = 0;
            for n in 0..size(100_000) {
                peer.request(stream, "/S/M", false, &[("grpc-timeout", timeout.as_bytes())]);
                let call = accept(&mut peer);
                peer.advance(Duration::from_millis(1 + n as u64 % 3));
                while let Some(event) = peer.event() {
                    if let Event::Finished { code, .. } = event {
                        assert_eq!(code, Code::DeadlineExceeded);
                        ended += 1;
                    }
                }
                if let Some(call) = call {
                    peer.call(call).finish(&pintle_core::Status::ok(), None);
                }
                drain(&mut peer);
                stream += 2;
            }
            let expected = if timeout == "99999999H" { 0 } else { size(100_000) };
            assert_eq!((ended, peer.conn.probe().slots), (expected, 0), "{timeout}: each ends once");
            peer.headers(stream, true, REQUEST);
            assert!(serve(&mut peer), "{timeout}: the next is served");
            drain(&mut peer);
            peer.assert_open();
            stream += 2;
            // A jump to the end of time.
            peer.headers(stream, false, REQUEST);
            peer.now = Timestamp::MAX;
            peer.advance(Duration::MAX);
            peer
        });
        assert!(used.peak < 128 * KIB, "{timeout}: {used:?}");
    }
    // What an expiry costs: one look at each slot for each turn of the owner's loop in which something is due, however many end in it.
    let turn = |streams: u32, expiries: u32| {
        let mut peer = to_server(Cut::Whole);
        for n in 0..streams {
            let timeout = if n < expiries { "1000u" } else { "1H" };
            peer.request(1 + 2 * n, "/S/M", false, &[("grpc-timeout", timeout.as_bytes())]);
            accept(&mut peer).expect("a request");
        }
        let before = peer.conn.steps();
        peer.advance(Duration::from_millis(1));
        assert_eq!(peer.conn.stats().deadlines_passed, u64::from(expiries));
        peer.conn.steps() - before
    };
    assert!(turn(100, 100) < 3 * 100 + 200, "{}", turn(100, 100));
    assert!(turn(100, 1) <= 2 * 100 + 10, "{}", turn(100, 1));
}

#[test]
fn x23_twin_deadlines_that_are_kept() {
    let mut peer = to_server(Cut::Whole);
    for n in 0..size(1_000_000) as u32 {
        peer.request(1 + 2 * n, "/S/M", true, &[("grpc-timeout", b"1S")]);
        peer.advance(Duration::from_millis(1));
        assert!(serve(&mut peer));
        drain(&mut peer);
    }
    assert_eq!((peer.conn.stats().deadlines_passed, peer.conn.close_reason()), (0, None));
}
