//! A configuration for a small device: what it announces binds a peer only once the peer has read it, and nothing is kept on trust.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    CloseReason, Config, Endpoint, ErrorCode,
    testing::{Cut, raw::REQUEST, wire::*},
};

const WINDOW: u32 = 2_048;

fn small() -> Config {
    let mut config = Config::default();
    config.max_concurrent_streams = 4;
    config.initial_window = WINDOW;
    config.connection_window = 65_535;
    config.max_recv_message = 1_024;
    config.recv_budget = 4 * 2_048 + 1_024;
    config.max_header_list = 2_048;
    config
}

/// A server whose client has sent its preface and has not read a word: it goes by a window of 65,535.
fn unread(cut: Cut) -> Peer {
    let mut peer = fresh_to_server(&small(), cut);
    peer.send(PREFACE).send(&settings(&[]));
    peer
}

/// RFC 9113 §6.9.3: a receiver must be prepared for data that exceeds its window until its SETTINGS were acknowledged.
#[test]
fn a_client_that_has_not_read_our_settings_may_send_more() {
    each_cut(|cut| {
        let mut peer = unread(cut);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        let (mut sent, mut given) = (0, 0);
        for _ in 0..20 {
            let octets = [message(&[7; 600]), message(&[7; 900])].concat();
            sent += octets.len();
            peer.data(1, false, &octets);
            assert_eq!(peer.messages(id).0.len(), 2);
            let said = peer.said();
            given +=
                said.iter().filter(|said| said.kind() == WINDOW_UPDATE && said.stream() == 1).map(|said| said.frame.word(0)).sum::<u32>();
        }
        peer.assert_open();
        // Now the client reads them, and its window falls by the difference (§6.9.2). It may still send something.
        peer.send(&settings_ack());
        let window = i64::from(WINDOW) + i64::from(given) - sent as i64;
        assert!((1..=i64::from(WINDOW)).contains(&window), "{window} octets of window");
        peer.data(1, false, &vec![0; 5 * (window as usize / 5)]);
        assert_eq!(peer.messages(id).0.len(), window as usize / 5);
        peer.finish_ok(id);
        peer.said();
        peer.assert_usable(3);
    });
}

/// What the application does not take is bounded by the budget: first we stop reading, then the stream ends.
#[test]
fn what_is_not_taken_before_our_settings_were_read_is_bounded() {
    each_cut(|cut| {
        let mut peer = unread(cut);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        let mut sent = 0;
        while peer.conn.wants().read {
            sent += peer_sends(&mut peer);
        }
        assert!(sent > 4_608 && sent <= 4_608 + 605, "reading stopped at {sent} octets");
        assert_eq!(peer.messages(id).0.len(), sent / 605);
        assert!(peer.conn.wants().read, "and goes on when they were taken");
        for _ in 0..9_216 / 605 + 1 {
            peer_sends(&mut peer);
        }
        let said = peer.said();
        assert_eq!(said.iter().find_map(|said| said.reset_of(1)), Some(ErrorCode::FLOW_CONTROL_ERROR), "{said:?}");
        assert_eq!(peer.conn.close_reason(), None);
        peer.call(id).cancel();
        peer.send(&settings_ack());
        peer.assert_usable(3);
    });
}

fn peer_sends(peer: &mut Peer) -> usize {
    peer.data(1, false, &message(&[7; 600]));
    605
}

/// Half messages cannot be taken: if reading stopped for them, neither their rest nor the acknowledgement would ever come.
#[test]
fn half_messages_do_not_stop_reading() {
    each_cut(|cut| {
        let mut config = small();
        (config.max_recv_message, config.recv_budget) = (4_096, 4 * 2_048 + 4_096);
        let mut peer = fresh_to_server(&config, cut);
        peer.send(PREFACE).send(&settings(&[]));
        let octets = message(&[7; 4_000]);
        for stream in [1, 3] {
            peer.headers(stream, false, REQUEST).data(stream, false, &octets[..3_500]);
        }
        assert!(peer.conn.wants().read, "two halves of messages, 7,000 of 12,288 octets");
        for stream in [1, 3] {
            let id = peer.accept();
            peer.data(stream, true, &octets[3_500..]);
            assert_eq!(peer.messages(id).0.len(), 1);
            peer.finish_ok(id);
        }
        peer.send(&settings_ack());
        peer.said();
        peer.assert_usable(5);
    });
}

/// RFC 9113 §6.9: an empty frame with END_STREAM may be sent where there is no window.
#[test]
fn an_end_needs_no_window() {
    each_cut(|cut| {
        let mut peer = unread(cut);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        for _ in 0..5 {
            peer.data(1, false, &message(&[7; 600]));
        }
        peer.send(&settings_ack()).data(1, true, &[]);
        assert_eq!(peer.said().iter().find_map(|said| said.reset_of(1)), None);
        let (messages, ended) = peer.messages(id);
        assert_eq!((messages.len(), ended), (5, true));
    });
}

/// The budget holds for whole requests too, and after the acknowledgement of a client that had sent too much.
#[test]
fn the_budget_holds_for_every_stream() {
    for acknowledged in [false, true] {
        each_cut(|cut| {
            let mut peer = unread(cut);
            peer.headers(1, false, REQUEST);
            for _ in 0..15 {
                peer_sends(&mut peer);
            }
            if acknowledged {
                peer.send(&settings_ack());
            }
            for stream in [3, 5, 7] {
                peer.headers(stream, false, REQUEST).data(stream, true, &message(&[7; 1_000]));
            }
            let held = peer.conn.probe().recv_held;
            assert!(held <= 9_216, "{held} octets held");
        });
    }
}

/// A client that has acknowledged them knows better.
#[test]
fn the_small_window_holds_once_it_is_known() {
    each_cut(|cut| {
        let mut peer = to_server_with(&small(), cut);
        peer.headers(1, false, REQUEST).data(1, false, &message(&[7; 1_000])).data(1, false, &message(&[7; 1_024]));
        assert_eq!(peer.said().iter().find_map(|said| said.reset_of(1)), None);
        peer.data(1, false, &[0; 15]);
        peer.assert_reset(1, &[ErrorCode::FLOW_CONTROL_ERROR]);
    });
}

/// Frames that are handled whole are not kept if they are longer than can be meant, and the heads of calls are judged by our limit.
#[test]
fn frames_that_are_too_long_are_not_kept() {
    let entries = |n: usize| settings(&vec![(9, 0); n]);
    let cases = [
        ("a head", frame(HEADERS, END_HEADERS, 1, &[0x82; 8_193]), "header_block_too_large"),
        (
            "the rest of a head",
            [frame(HEADERS, 0, 1, REQUEST), frame(CONTINUATION, END_HEADERS, 1, &[0x82; 8_193])].concat(),
            "header_block_too_large",
        ),
        ("SETTINGS", entries(201), "too_many_settings_in_a_frame"),
    ];
    for (name, octets, why) in cases {
        each_cut(|cut| {
            let mut peer = to_server_with(&small(), cut);
            peer.send(&octets);
            peer.assert_closed(&[ErrorCode::ENHANCE_YOUR_CALM]);
            assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Protocol { what, .. }) if *what == why), "{name}");
        });
    }
    each_cut(|cut| {
        let mut peer = to_server_with(&small(), cut);
        peer.send(&entries(200)).send(&goaway(0, 0, &[b'x'; 16_000]));
        peer.said();
        assert_eq!(peer.conn.close_reason(), None, "long, but of use");
    });
}

#[test]
fn small_windows_are_valid() {
    let with = |window: u32, accept_http: bool| {
        let mut config = small();
        (config.initial_window, config.accept_http, config.recv_budget) = (window, accept_http, 1 << 40);
        config.validate().map_err(|error| error.0)
    };
    assert_eq!(with(1_024, false), Ok(()));
    assert_eq!(with(1_023, false), Err("initial_window must be 1,024 to 2^31-1"));
    assert_eq!(with(65_535, true), Ok(()));
    assert_eq!(with(65_534, true), Err("initial_window must be at least 65,535 with accept_http"));
}
