//! Faults that other implementations had in flow control, replayed (RFC 9113 §5.2, §6.9).

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    Code, Config, ErrorCode, Shape, Status,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::collections::BTreeMap;

/// Both windows at their smallest, 65,535.
fn small_windows() -> Config {
    let mut config = Config::default();
    config.initial_window = 65_535;
    config.connection_window = 65_535;
    config
}

/// A sender that keeps to the windows it was given.
struct Sender {
    connection: i64,
    streams: BTreeMap<u32, i64>,
    initial: i64,
}

impl Sender {
    /// For a connection that announced these windows.
    fn new(config: &Config) -> Self {
        Self { connection: i64::from(config.connection_window), streams: BTreeMap::new(), initial: i64::from(config.initial_window) }
    }

    fn window(&mut self, stream: u32) -> i64 {
        let initial = self.initial;
        (*self.streams.entry(stream).or_insert(initial)).min(self.connection)
    }

    /// Reads the credit out of what was said.
    fn hear(&mut self, said: &[Said]) {
        for update in said.iter().filter(|said| said.kind() == WINDOW_UPDATE) {
            let increment = i64::from(update.frame.word(0));
            match update.stream() {
                0 => self.connection += increment,
                stream => *self.streams.entry(stream).or_insert(self.initial) += increment,
            }
        }
    }

    /// Sends from the front of `octets` as much as the windows allow; returns how much.
    fn send(&mut self, peer: &mut Peer, stream: u32, octets: &[u8], end: bool) -> usize {
        let mut sent = 0;
        while sent < octets.len() {
            let n = (octets.len() - sent).min(16_384).min(self.window(stream).max(0) as usize);
            if n == 0 {
                break;
            }
            sent += n;
            peer.data(stream, end && sent == octets.len(), &octets[sent - n..sent]);
            self.connection -= n as i64;
            *self.streams.get_mut(&stream).expect("asked for above") -= n as i64;
        }
        sent
    }
}

/// DATA octets that the connection said on a stream.
fn data_on(said: &[Said], stream: u32) -> usize {
    said.iter().filter(|said| said.kind() == DATA && said.stream() == stream).map(|said| said.frame.payload.len()).sum()
}

/// Padding was not credited, so that the window leaked until everything stood still (RFC 9113 §6.1, §6.9.1).
#[test]
fn b15_padding_is_credited() {
    each_cut(|cut| {
        let config = small_windows();
        for pad in [255_u8, 0, 1] {
            let mut peer = to_server_with(&config, cut);
            let mut sender = Sender::new(&config);
            peer.headers(1, false, REQUEST);
            let id = peer.accept();
            assert!(!peer.messages(id).1);
            let padded = frame(DATA, PADDED, 1, &[&[pad][..], &vec![0; usize::from(pad)]].concat());
            let size = i64::from(pad) + 1;
            // As many as the abuse budget lets pass: frames of a few octets are dear (RUSTSEC-2026-0258).
            for _ in 0..if pad > 100 { 300 } else { 90 } {
                assert!(sender.window(1) >= size, "the padding was not credited");
                peer.send(&padded);
                sender.connection -= size;
                *sender.streams.get_mut(&1).expect("asked for above") -= size;
                let said = peer.said();
                sender.hear(&said);
            }
            assert_eq!(sender.send(&mut peer, 1, &message(b"hello"), true), 10);
            assert_eq!(peer.messages(id).0, [&b"hello"[..]]);
            peer.finish_ok(id);
            peer.said();
            peer.assert_usable(3);
        }
        let mut peer = to_server(cut);
        peer.headers(1, false, REQUEST).send(&frame(DATA, PADDED, 1, &[5, 0, 0, 0, 0]));
        peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
    });
}

/// A lowered SETTINGS_INITIAL_WINDOW_SIZE must be able to make a window negative (RFC 9113 §6.9.2).
#[test]
fn b17_a_window_may_be_negative() {
    each_cut(|cut| {
        let mut peer = to_client_with(&Config::default(), cut, &[(4, 60_000)]);
        let id = peer.start(Shape::Bidi);
        peer.put(id, vec![7; 65_000]);
        assert_eq!(data_on(&peer.said(), 1), 60_000);
        peer.send(&settings(&[(4, 100)]));
        let said = peer.said();
        assert_eq!((said.len(), said[0].kind(), said[0].frame.head.flags), (1, SETTINGS, ACK), "{said:?}");
        let probe = peer.conn.probe();
        assert_eq!((probe.streams[0].send_window, probe.send_window), (-59_900, 5_535));
        peer.send(&window_update(1, 59_900));
        assert_eq!(data_on(&peer.said(), 1), 0);
        peer.send(&window_update(1, 1));
        assert_eq!(data_on(&peer.said(), 1), 1);
        assert_eq!(peer.conn.probe().send_window, 5_534);
    });
}

/// The worked example of h2spec 6.9.2/2, at a server: 3, then 2, is -1; +2 lets exactly one octet go.
#[test]
fn b17_the_same_at_a_server() {
    each_cut(|cut| {
        let mut peer = to_server(cut);
        peer.send(&settings(&[(4, 3)])).headers(1, true, REQUEST);
        let id = peer.accept();
        peer.put(id, &b"hello"[..]);
        assert_eq!(data_on(&peer.said(), 1), 3);
        peer.send(&settings(&[(4, 2)]));
        assert_eq!(data_on(&peer.said(), 1), 0);
        peer.send(&window_update(1, 2));
        assert_eq!(data_on(&peer.said(), 1), 1);
    });
}

/// A WINDOW_UPDATE that overflows wrapped, or stopped everything (RFC 9113 §6.9, §6.9.1).
#[test]
fn b18_windows_do_not_overflow() {
    each_cut(|cut| {
        let open = || {
            let mut peer = to_server(cut);
            peer.headers(1, false, REQUEST);
            peer.accept();
            peer
        };
        let mut peer = open();
        peer.send(&window_update(1, i32::MAX as u32));
        peer.assert_reset(1, &[ErrorCode::FLOW_CONTROL_ERROR]);
        let mut peer = open();
        peer.send(&window_update(0, i32::MAX as u32));
        peer.assert_closed(&[ErrorCode::FLOW_CONTROL_ERROR]);
        let mut peer = open();
        peer.send(&window_update(1, 0));
        peer.assert_reset(1, &[ErrorCode::PROTOCOL_ERROR]);
        let mut peer = open();
        peer.send(&window_update(0, 0));
        peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
        let mut peer = open();
        peer.send(&window_update(1, 1)).send(&settings(&[(4, i32::MAX as u32)]));
        peer.assert_closed(&[ErrorCode::FLOW_CONTROL_ERROR]);
    });
}

/// Connection credit was handed to streams that could not use it, and the others starved (RFC 9113 §5.2.2).
#[test]
fn b21_credit_goes_to_who_can_use_it() {
    for cut in [Cut::Whole, Cut::Random(50)] {
        let mut peer = to_client_with(&Config::default(), cut, &[(3, 100), (4, 0)]);
        let ids: Vec<_> = (0..300)
            .map(|_| {
                let id = peer.start(Shape::Unary);
                peer.put(id, vec![1; 2_000]);
                id
            })
            .collect();
        let mut finished = 0;
        for round in 0..1_000 {
            assert!(round < 999, "only {finished} of 300 finished: {:?} {:?}", peer.conn.close_reason(), {
                let mut p = peer.conn.probe();
                p.encoder = Default::default();
                p.decoder = Default::default();
                p
            });
            let said = peer.said();
            for head in said.iter().filter(|said| said.kind() == HEADERS) {
                assert!(head.stream() <= 599);
            }
            let mut opened: Vec<u32> = said.iter().filter(|said| said.kind() == HEADERS).map(Said::stream).collect();
            opened.reverse();
            opened.iter().for_each(|&stream| _ = peer.send(&window_update(stream, 2_005)));
            let received: usize = said.iter().filter(|said| said.kind() == DATA).map(|said| said.frame.payload.len()).sum();
            if received > 0 {
                peer.send(&window_update(0, received as u32));
            }
            for end in said.iter().filter(|said| said.kind() == DATA && said.ends()) {
                finished += 1;
                peer.headers(end.stream(), false, RESPONSE).data(end.stream(), false, &message(b""));
                peer.headers(end.stream(), true, TRAILERS_OK);
            }
            if finished == 300 {
                break;
            }
        }
        for id in ids {
            assert_eq!(peer.outcome(id).status.code(), Code::Ok);
        }
        peer.said();
        peer.assert_whole();
    }
}

/// One slow reader used up the connection's window, and every other call hung (RFC 9113 §5.2.2).
#[test]
fn b23_a_slow_reader_stops_nobody_else() {
    each_cut(|cut| {
        let config = small_windows();
        let mut peer = to_client_with(&config, cut, &[]);
        let mut sender = Sender::new(&config);
        let (slow, quick) = (peer.start(Shape::ServerStreaming), peer.start(Shape::ServerStreaming));
        for id in [slow, quick] {
            peer.put(id, &b""[..]);
        }
        sender.hear(&peer.said());
        peer.headers(1, false, RESPONSE).headers(3, false, RESPONSE);
        let messages = |n: usize| message(&[9; 1_019]).repeat(n);
        let mut first = messages(64);
        first.truncate(65_535);
        assert_eq!(sender.send(&mut peer, 1, &first, false), 65_535);
        sender.hear(&peer.said());
        assert_eq!(sender.window(1), 0, "nobody reads it, so it gets no more");
        let (all, mut sent, mut read) = (messages(1_000), 0, 0);
        for round in 0..10_000 {
            sent += sender.send(&mut peer, 3, &all[sent..], false);
            read += peer.messages(quick).0.len();
            sender.hear(&peer.said());
            if read == 1_000 {
                return;
            }
            assert!(round < 9_999, "only {read} messages came through");
        }
    });
}

/// DATA for streams that are ignored was dropped without credit, and live streams stalled (RFC 9113 §6.8, §6.9).
#[test]
fn b24_ignored_streams_are_credited_and_decoded() {
    each_cut(|cut| {
        let config = small_windows();
        let mut peer = to_server_with(&config, cut);
        let mut sender = Sender::new(&config);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        assert!(!peer.messages(id).1);
        let now = peer.now;
        peer.conn.drain(now, None);
        let said = peer.said();
        let ping = said.iter().find(|said| said.kind() == PING).expect("a PING after the first GOAWAY").frame.payload.clone();
        peer.send(&frame(PING, ACK, 0, &ping));
        let said = peer.said();
        let last = said.iter().rfind(|said| said.kind() == GOAWAY).expect("the second GOAWAY").frame.word(0);
        assert_eq!(last, 1);
        // Was on its way: its block changes the HPACK table, its octets use the window.
        let mut block = REQUEST.to_vec();
        literal(&mut block, 0x40, b"x-new", b"value");
        peer.headers(3, false, &block);
        let mut upload = message(&vec![5; 200_000]);
        for chunk in upload.chunks(4_000) {
            while sender.send(&mut peer, 3, &chunk[..1_000.min(chunk.len())], false) == 0 || sender.window(1) < chunk.len() as i64 {
                let said = peer.said();
                assert!(!said.is_empty(), "the connection's window was not given back");
                sender.hear(&said);
                sender.streams.insert(3, 65_535);
            }
            assert_eq!(sender.send(&mut peer, 1, chunk, false), chunk.len());
            assert!(!peer.messages(id).1, "{:?}", peer.said());
            sender.hear(&peer.said());
        }
        peer.send(&window_update(3, 5)).headers(3, true, TRAILERS_OK).send(&rst_stream(3, 8));
        peer.data(1, true, &[]);
        let (messages, ended) = peer.messages(id);
        upload.drain(..5);
        assert!(ended && (messages.is_empty() || messages == [upload]));
        peer.finish_ok(id);
        let said = peer.said();
        assert!(said.iter().any(|said| said.stream() == 1 && said.field("grpc-status") == Some("0")), "{said:?}");
        assert!(peer.conn.is_finished(), "the last call has ended, so has the drain");
    });
}

/// Unread octets of a call that was dropped were credited too late (RFC 9113 §6.9).
#[test]
fn b25_a_dropped_call_gives_its_credit_back() {
    each_cut(|cut| {
        let config = small_windows();
        let mut peer = to_server_with(&config, cut);
        let mut sender = Sender::new(&config);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        assert_eq!(sender.send(&mut peer, 1, &message(b"0123456").repeat(6_000)[..65_535], false), 65_535);
        // While it is held, another call receives.
        peer.request(3, "/S/M", false, &[]);
        sender.hear(&peer.said());
        assert_eq!(sender.send(&mut peer, 3, &message(b"hello"), true), 10);
        let other = peer.accept();
        assert_eq!(peer.messages(other).0, [&b"hello"[..]]);
        peer.finish_ok(other);
        peer.call(id).finish(&Status::new(Code::Aborted, "not read"), None);
        peer.said();
        peer.assert_whole();
        // Late octets: discarded, credited to the connection only.
        peer.data(1, false, &[0; 100]);
        assert!(peer.said().iter().all(|said| said.stream() != 1 || said.kind() == RST_STREAM));
        peer.assert_usable(5);
    });
}

/// Credit that was due without new DATA never came (nghttp2 2020).
#[test]
fn b27_credit_does_not_wait_for_data() {
    each_cut(|cut| {
        let config = small_windows();
        let mut peer = to_server_with(&config, cut);
        let mut sender = Sender::new(&config);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        // One message that is whole, and the beginning of one that is larger than the window.
        let octets = [message(&[1; 10_000]), message(&vec![2; 100_000])].concat();
        let sent = sender.send(&mut peer, 1, &octets, false);
        assert_eq!(sent, 65_535);
        sender.hear(&peer.said());
        assert_eq!(sender.window(1), 0, "nobody has asked");
        let (first, _) = peer.messages(id);
        assert_eq!(first.len(), 1);
        sender.hear(&peer.said());
        assert!(sender.window(1) >= (octets.len() - sent) as i64, "asked for: the rest of the message must be let in at once");
        sender.send(&mut peer, 1, &octets[sent..], true);
        assert_eq!(peer.messages(id).0.len(), 1);
    });
}

/// A configured window was not announced in full, or more was granted than it (RFC 9113 §6.9.2).
#[test]
fn b28_the_first_window_update_and_no_more_than_that() {
    let mut config = Config::default();
    config.initial_window = 8 << 20;
    config.connection_window = 8 << 20;
    config.max_concurrent_streams = 2;
    let mut peer = fresh_to_server(&config, Cut::Whole);
    peer.send(PREFACE).send(&settings(&[]));
    let said = peer.said();
    let first = &said[0];
    assert_eq!(first.kind(), SETTINGS);
    let entries: Vec<_> = first.frame.payload.chunks(6).map(<[u8]>::to_vec).collect();
    assert!(entries.contains(&[&4_u16.to_be_bytes()[..], &(8_u32 << 20).to_be_bytes()].concat()), "{entries:?}");
    let update = said.iter().find(|said| said.kind() == WINDOW_UPDATE && said.stream() == 0).expect("WINDOW_UPDATE");
    assert_eq!(update.frame.word(0), (8 << 20) - 65_535);
    // Our own sending starts from 65,535, whatever we announce.
    assert_eq!(peer.conn.probe().send_window, 65_535);

    peer.send(&settings_ack()).headers(1, false, REQUEST);
    let id = peer.accept();
    let mut sender = Sender::new(&config);
    for _ in 0..2_000 {
        sender.send(&mut peer, 1, &message(&[0; 10_000]), false);
        assert_eq!(peer.messages(id).0.len(), 1);
        sender.hear(&peer.said());
        assert!(sender.connection <= 8 << 20, "more than the configured window");
        assert!(sender.window(1) <= 8 << 20, "more than the configured window");
    }
}

/// A message larger than the window never completed (grpc-java #10842); one that nobody wants must not be let in.
#[test]
fn b29_a_wanted_message_is_let_in_whole() {
    each_cut(|cut| {
        let config = small_windows();
        let mut peer = to_server_with(&config, cut);
        let mut sender = Sender::new(&config);
        peer.headers(1, false, REQUEST);
        let id = peer.accept();
        peer.call(id).demand(1);
        let large = message(&vec![3; 1 << 20]);
        let mut sent = 0;
        for _ in 0..100 {
            sent += sender.send(&mut peer, 1, &large[sent..], false);
            sender.hear(&peer.said());
        }
        assert_eq!(sent, large.len(), "the wanted message was not let in");
        sent = 0;
        for _ in 0..100 {
            sent += sender.send(&mut peer, 1, &large[sent..], false);
            sender.hear(&peer.said());
        }
        assert!(sent <= 2 * 65_535, "nobody asked for the second: {sent} octets of it were let in");
        let mut call = peer.call(id);
        assert!(matches!(call.recv(), pintle_core::Recv::Message(message) if message.payload.len() == 1 << 20));
    });
}
