//! What a fresh pair of eyes found in the budgets: attacks that were free, and lawful traffic that was ended.

use super::{
    attack::{FIRST, Flood, KIB, accept, assert_away, calm, drain},
    peer::*,
};
use pintle_core::{
    Endpoint, ErrorCode,
    testing::{Cut, raw::REQUEST, wire::*},
};
use std::time::Duration;

/// DATA for two streams whose places in the table of cut-off streams are the same: each was answered by RST_STREAM, which paid for three more.
#[test]
fn x32_data_for_closed_streams_is_not_free() {
    let mut peer = to_server(Cut::Whole);
    peer.headers(8_001, true, REQUEST);
    for n in 0..10_000 {
        peer.data(if n % 2 == 0 { 1 } else { 2_049 }, true, b"");
        if peer.conn.close_reason().is_none() {
            drain(&mut peer);
        } else {
            return assert_away("DATA for closed streams", &mut peer, ErrorCode::ENHANCE_YOUR_CALM, "too_many_useless_frames");
        }
    }
    panic!("the connection lives after 10,000 frames for closed streams");
}

/// Calls of a method that there is not, and others that are taken back, in turns.
#[test]
fn x01_refused_calls_do_not_pay_for_resets() {
    let unknown = request_block("/no/such", &[]);
    Flood {
        name: "rapid reset beside refused calls",
        rounds: 100_000,
        end: calm("too_many_resets", 1_001),
        bound: 1_024 * KIB,
        reads: true,
        crowd: false,
        begin: &to_server,
        round: &mut |peer, n| {
            let id = FIRST + 4 * n as u32;
            peer.headers(id, false, REQUEST);
            if let Some(call) = accept(peer) {
                peer.send(&rst_stream(id, 8));
                peer.call(call).cancel();
            }
            peer.headers(id + 2, true, &unknown);
        },
    }
    .once_only();
}

/// A hundred answers wait for the connection's window. 4 KiB of it, granted while the transport takes nothing, put off the end of all of them for
/// ever: none was in a list that is looked at again.
#[test]
fn x18_a_window_that_comes_while_nobody_reads() {
    let mut peer = fresh_to_server(&pintle_core::Config::default(), Cut::Whole);
    peer.handshake(&[(4, 1 << 20)]);
    for n in 0..100 {
        peer.request(1 + 2 * n, "/S/U", false, &[]).data(1 + 2 * n, true, &message(b"x"));
        let id = peer.accept();
        peer.put(id, vec![7; 64 * KIB]);
        peer.finish_ok(id);
    }
    drain(&mut peer);
    for _ in 0..4 {
        peer.advance(Duration::from_secs(25));
        drain(&mut peer);
        peer.send(&settings(&[]));
        let now = peer.now;
        assert!(!peer.conn.transmit(now, 64 * KIB).is_empty(), "an acknowledgement that nobody reads");
        peer.send(&window_update(0, 4_096)).advance(Duration::from_secs(10));
        drain(&mut peer);
    }
    // The one whose turn it was has kept its pace.
    assert!(peer.conn.probe().slots <= 1, "{} answers are held", peer.conn.probe().slots);
    peer.advance(Duration::from_secs(60));
    drain(&mut peer);
    let probe = peer.conn.probe();
    assert_eq!((probe.slots, probe.queued), (0, 0));
    peer.assert_open();
}

/// Windows of streams that are there only while nobody reads and the deadline comes, and taken away again.
#[test]
fn x18_windows_that_come_and_go() {
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(4, 0)]));
    for n in 0..100 {
        peer.request(1 + 2 * n, "/S/U", false, &[]).data(1 + 2 * n, true, &message(b"x"));
        let id = peer.accept();
        peer.put(id, vec![7; 64 * KIB]);
        peer.finish_ok(id);
    }
    for _ in 0..10 {
        drain(&mut peer);
        peer.send(&settings(&[(4, 4_096)]));
        let now = peer.now;
        assert!(!peer.conn.transmit(now, 1).is_empty(), "an acknowledgement that nobody reads");
        peer.advance(Duration::from_secs(20)).send(&settings(&[(4, 0)]));
        drain(&mut peer);
    }
    assert!(peer.conn.probe().slots <= 1, "{} answers are held after 200 s", peer.conn.probe().slots);
    peer.assert_open();
}

/// Its twin: a slow link, of which every call has its share, the last one after minutes.
#[test]
fn x18_twin_a_slow_link() {
    let mut peer = to_server(Cut::Whole);
    for n in 0..100 {
        peer.request(1 + 2 * n, "/S/U", false, &[]).data(1 + 2 * n, true, &message(b"x"));
        let id = peer.accept();
        peer.put(id, vec![7; 60_000]);
        peer.finish_ok(id);
    }
    let mut left = 100 * 60_005;
    for second in 0.. {
        for said in peer.said() {
            assert_ne!(said.kind(), RST_STREAM, "{second} s, {left} octets are left");
            left -= if said.kind() == DATA { said.frame.payload.len() } else { 0 };
        }
        if left == 0 {
            assert!(second > 500, "{second} s");
            break;
        }
        peer.send(&window_update(0, 10 << 10)).advance(Duration::from_secs(1));
    }
    peer.assert_whole();
}

/// A thousand calls a second whose client grants each answer's window, or takes the call back, when the answer is complete already.
#[test]
fn x32_twin_frames_that_cross_the_end() {
    let mut peer = to_server(Cut::Whole);
    for n in 0..40_000 {
        let id = 1 + 2 * n;
        peer.headers(id, false, REQUEST).data(id, true, &message(b"x"));
        let call = accept(&mut peer).expect("a request");
        peer.put(call, &[1; 100][..]);
        peer.finish_ok(call);
        drain(&mut peer);
        let late = if n % 2 == 0 { window_update(id, 105) } else { rst_stream(id, 8) };
        peer.send(&window_update(0, 105)).send(&late).advance(Duration::from_millis(1));
        peer.calls.clear();
    }
    peer.assert_open();
}

/// An empty frame in each call, before the one with the message and the end.
#[test]
fn x09_twin_an_empty_frame_in_each_call() {
    let mut peer = to_server(Cut::Whole);
    for n in 0..1_000 {
        let id = 1 + 2 * n;
        peer.headers(id, false, REQUEST).data(id, false, b"").data(id, true, &message(b"hello"));
        let call = accept(&mut peer).expect("a request");
        peer.finish_ok(call);
        drain(&mut peer);
    }
    peer.assert_open();
}

/// Senders that give the prefix a frame of its own, or cut it, to a handler that takes nothing yet.
#[test]
fn x09_twin_messages_in_a_few_frames() {
    for pieces in [&[&[0, 0, 0, 0, 2][..], b"ab"][..], &[&[0], &[0, 0, 0, 20], &[1; 20]]] {
        let mut peer = to_server(Cut::Whole);
        peer.headers(1, false, REQUEST);
        accept(&mut peer).expect("a request");
        for _ in 0..2_000 {
            pieces.iter().for_each(|piece| _ = peer.data(1, false, piece));
        }
        peer.assert_open();
    }
}

/// X19: two calls announce messages that take all the room there is, and send nothing; a third one's message gets in nevertheless, and an
/// upload that is slow, but comes, is not ended.
#[test]
fn x19_announced_messages_hold_nobody_up_for_ever() {
    for slow in [0, 4 << 10] {
        let mut peer = to_server(Cut::Whole);
        for (stream, announced) in [(1, 4_u32 << 20), (3, 3_900_000), (5, 1 << 20)] {
            peer.headers(stream, false, REQUEST);
            let id = peer.accept();
            peer.call(id).demand(1);
            peer.data(stream, false, &[&[0], &announced.to_be_bytes()[..]].concat());
        }
        let let_in = |said: &[Said], stream| -> u32 {
            said.iter().filter(|said| said.kind() == WINDOW_UPDATE && said.stream() == stream).map(|said| said.frame.word(0)).sum()
        };
        let said = peer.said();
        assert!(let_in(&said, 1) > 3 << 20 && let_in(&said, 3) > 3 << 20, "they have the room");
        assert_eq!(let_in(&said, 5), 0, "there is none for the third");
        let mut said = Vec::new();
        for _ in 0..2 {
            assert!(peer.conn.wants().deadline.is_some(), "somebody waits");
            if slow > 0 {
                peer.data(1, false, &vec![7; slow]);
            }
            peer.advance(Duration::from_secs(60));
            said.extend(peer.said());
        }
        let refused = |stream| said.iter().any(|said| said.stream() == stream && said.field("grpc-status") == Some("8"));
        assert_eq!((refused(1), refused(3), refused(5)), (slow == 0, true, false), "{said:?}");
        assert!(let_in(&said, 5) >= (1 << 20) - (128 << 10), "the third one's message is let in");
        peer.assert_open();
    }
}
