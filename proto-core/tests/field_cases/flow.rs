//! Flow control (RFC 9113 §5.2, §6.9).

use crate::run::*;
use pintle_core::{
    CallId, Code, Config, ErrorCode, Recv, Shape, Status,
    testing::{
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

    /// A DATA frame of `octets` with everything goes out.
    fn spend(&mut self, stream: u32, octets: usize) {
        assert!(self.window(stream) >= octets as i64, "no window for {octets} octets on {stream}");
        self.connection -= octets as i64;
        *self.streams.get_mut(&stream).expect("asked for above") -= octets as i64;
    }

    /// Sends from the front of `octets` as much as the windows allow; returns how much.
    fn send(&mut self, peer: &mut Peer, stream: u32, octets: &[u8]) -> usize {
        let mut sent = 0;
        while sent < octets.len() {
            let n = (octets.len() - sent).min(16_384).min(self.window(stream).max(0) as usize);
            if n == 0 {
                break;
            }
            sent += n;
            peer.data(stream, false, &octets[sent - n..sent]);
            self.spend(stream, n);
        }
        sent
    }
}

/// DATA octets that the connection said on a stream.
fn data_on(said: &[Said], stream: u32) -> usize {
    said.iter().filter(|said| said.kind() == DATA && said.stream() == stream).map(|said| said.frame.payload.len()).sum()
}

/// Opens the next stream on which our end, of either role, receives messages: 1, 3 and so on.
fn open(peer: &mut Peer, stream: u32) -> CallId {
    if peer.is_client() {
        peer.headers(stream, false, REQUEST);
        return peer.accept();
    }
    let id = peer.start(Shape::Bidi);
    peer.said();
    peer.headers(stream, false, RESPONSE);
    id
}

/// The peer ends what `open` began.
fn end(peer: &mut Peer, stream: u32) {
    if peer.is_client() {
        peer.data(stream, true, &[])
    } else {
        peer.headers(stream, true, TRAILERS_OK)
    };
}

/// The call ended well, and lets go.
fn finish(peer: &mut Peer, id: CallId) {
    if peer.is_client() {
        peer.finish_ok(id);
        peer.said();
    } else {
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
}

/// Our server and our client.
fn both(config: &Config, cut: Way) -> [Subject; 2] {
    [to_server_with(config, cut), to_client_with(config, cut, &[])]
}

/// Padding was not credited, so that the window leaked until everything stood still (RFC 9113 §6.1, §6.9.1).
pub(crate) fn b15_padding_is_credited(cut: Way) {
    let config = small_windows();
    for pad in [255_u8, 0, 1] {
        for mut peer in both(&config, cut) {
            let mut sender = Sender::new(&config);
            let id = open(&mut peer, 1);
            assert!(!peer.messages(id).1);
            let padded = frame(DATA, PADDED, 1, &[&[pad][..], &vec![0; usize::from(pad)]].concat());
            for _ in 0..300 {
                peer.send(&padded);
                sender.spend(1, usize::from(pad) + 1);
                sender.hear(&peer.said());
            }
            assert_eq!(sender.send(&mut peer, 1, &message(b"hello")), 10);
            end(&mut peer, 1);
            assert_eq!(peer.messages(id).0, [&b"hello"[..]]);
            finish(&mut peer, id);
        }
    }
    for mut peer in both(&config, cut) {
        open(&mut peer, 1);
        peer.send(&frame(DATA, PADDED, 1, &[5, 0, 0, 0, 0]));
        peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
    }
    for mut peer in both(&config, cut) {
        open(&mut peer, 1);
        peer.send(&frame(DATA, PADDED, 1, &[]));
        peer.assert_closed(&[ErrorCode::FRAME_SIZE_ERROR, ErrorCode::PROTOCOL_ERROR]);
    }
}

/// Padding around and between the octets of messages, and behind the last of them.
pub(crate) fn b15_padding_is_not_content(cut: Way) {
    let config = small_windows();
    for mut peer in both(&config, cut) {
        let mut sender = Sender::new(&config);
        let id = open(&mut peer, 1);
        let octets = [message(&[7; 300]), message(b""), message(&[8; 900])].concat();
        let mut got = Vec::new();
        for (n, piece) in octets.chunks(100).enumerate() {
            let pad = (n * 37 % 256) as u8;
            let payload = [&[pad][..], piece, &vec![0xff; usize::from(pad)]].concat();
            sender.spend(1, payload.len());
            peer.send(&frame(DATA, PADDED, 1, &payload));
            got.extend(peer.messages(id).0);
            sender.hear(&peer.said());
        }
        assert_eq!(got.iter().map(|message| message.len()).collect::<Vec<_>>(), [300, 0, 900]);
        end(&mut peer, 1);
        finish(&mut peer, id);
    }
}

/// A lowered SETTINGS_INITIAL_WINDOW_SIZE must be able to make a window negative (RFC 9113 §6.9.2).
pub(crate) fn b17_a_window_may_be_negative(cut: Way) {
    let sender = |client: bool| {
        if client {
            let mut peer = to_client_with(&Config::default(), cut, &[(4, 60_000)]);
            let id = peer.start(Shape::Bidi);
            return (peer, id);
        }
        let mut peer = to_server(cut);
        peer.send(&settings(&[(4, 60_000)]));
        peer.said();
        peer.headers(1, true, REQUEST);
        let id = peer.accept();
        (peer, id)
    };
    for client in [true, false] {
        let (mut peer, id) = sender(client);
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
        // Up again by SETTINGS: from 0, by as much as it was lowered.
        peer.send(&settings(&[(4, 60_000)]));
        assert_eq!(data_on(&peer.said(), 1), 5_004, "all that is left: 65,005 less 60,001");
    }
}

/// The worked example of h2spec 6.9.2/2, at a server: 3, then 2, is -1; +2 lets exactly one octet go.
pub(crate) fn b17_the_same_at_a_server(cut: Way) {
    let mut peer = to_server(cut);
    peer.send(&settings(&[(4, 3)])).headers(1, true, REQUEST);
    let id = peer.accept();
    peer.put(id, &b"hello"[..]);
    assert_eq!(data_on(&peer.said(), 1), 3);
    peer.send(&settings(&[(4, 2)]));
    assert_eq!(data_on(&peer.said(), 1), 0);
    peer.send(&window_update(1, 2));
    assert_eq!(data_on(&peer.said(), 1), 1);
}

/// A WINDOW_UPDATE that overflows wrapped, or stopped everything (RFC 9113 §6.9, §6.9.1, §6.9.2).
pub(crate) fn b18_windows_do_not_overflow(cut: Way) {
    let most = i32::MAX as u32;
    let flow = ErrorCode::FLOW_CONTROL_ERROR;
    let zero = ErrorCode::PROTOCOL_ERROR;
    // (what comes, on stream 1: reset, or closed)
    let cases = [
        (window_update(1, most), true, flow),
        (b"\x00\x00\x04\x08\x00\x00\x00\x00\x01\x7f\xff\xff\xff".to_vec(), true, flow),
        (window_update(0, most), false, flow),
        (window_update(1, 0), true, zero),
        // The highest bit is reserved, so this is 0 too.
        (window_update(1, 1 << 31), true, zero),
        (window_update(0, 0), false, zero),
        ([window_update(1, 100), settings(&[(4, most)])].concat(), false, flow),
        // The overflow is in the middle of one frame, and gone at its end.
        ([window_update(1, 100), settings(&[(4, most), (4, 10)])].concat(), false, flow),
        (frame(WINDOW_UPDATE, 0, 1, &[0; 3]), false, ErrorCode::FRAME_SIZE_ERROR),
        (window_update(5, 1), false, ErrorCode::PROTOCOL_ERROR),
    ];
    for (octets, of_stream, code) in &cases {
        for mut peer in both(&Config::default(), cut) {
            let ids = [open(&mut peer, 1), open(&mut peer, 3)];
            peer.send(octets);
            if *of_stream {
                peer.assert_reset(1, &[*code]);
                // The other one lives.
                peer.data(3, false, &message(b"x"));
                assert_eq!(peer.messages(ids[1]).0.len(), 1);
                end(&mut peer, 3);
                finish(&mut peer, ids[1]);
            } else {
                peer.assert_closed(&[*code]);
            }
        }
    }
    // What is as much as there may be is no overflow.
    for mut peer in both(&Config::default(), cut) {
        open(&mut peer, 1);
        let probe = peer.conn.probe();
        let lacks = |window: i64| most - window as u32;
        peer.send(&window_update(1, lacks(probe.streams[0].send_window))).send(&window_update(0, lacks(probe.send_window)));
        peer.said();
        peer.assert_open();
        let probe = peer.conn.probe();
        assert_eq!((probe.send_window, probe.streams[0].send_window), (i64::from(most), i64::from(most)));
        peer.send(&window_update(1, 1));
        peer.assert_reset(1, &[flow]);
        peer.send(&window_update(0, 1));
        peer.assert_closed(&[flow]);
    }
}

/// Connection credit was handed to streams that could not use it, and the others starved (RFC 9113 §5.2.2).
pub(crate) fn b21_an_upload_gets_credit_where_it_can_use_it(cut: Way) {
    let calls = cut.some_of(300).max(30);
    let mut peer = to_client_with(&Config::default(), cut, &[(3, calls as u32 / 3), (4, 0)]);
    let ids: Vec<_> = (0..calls)
        .map(|_| {
            let id = peer.start(Shape::Unary);
            peer.put(id, vec![1; 2_000]);
            id
        })
        .collect();
    let mut finished = 0;
    for _ in 0..1_000 {
        let said = peer.said();
        let opened: Vec<u32> = said.iter().filter(|said| said.kind() == HEADERS).map(Said::stream).collect();
        opened.iter().rev().for_each(|&stream| _ = peer.send(&window_update(stream, 2_005)));
        let received: usize = said.iter().filter(|said| said.kind() == DATA).map(|said| said.frame.payload.len()).sum();
        if received > 0 {
            peer.send(&window_update(0, received as u32));
        }
        for end in said.iter().filter(|said| said.kind() == DATA && said.ends()) {
            finished += 1;
            peer.headers(end.stream(), false, RESPONSE).data(end.stream(), false, &message(b""));
            peer.headers(end.stream(), true, TRAILERS_OK);
        }
        if finished == calls {
            break;
        }
    }
    assert_eq!(finished, calls);
    for id in ids {
        assert_eq!(peer.outcome(id).status.code(), Code::Ok);
    }
}

/// The same for answers: windows come for the streams one after the other, the last one first.
pub(crate) fn b21_an_answer_gets_credit_where_it_can_use_it(cut: Way) {
    let calls = 90;
    let mut peer = to_server(cut);
    peer.send(&settings(&[(4, 0)]));
    for n in 0..calls {
        peer.headers(1 + 2 * n, true, REQUEST);
        let id = peer.accept();
        peer.put(id, vec![1; 2_000]);
        peer.finish_ok(id);
    }
    let heads = peer.said().iter().filter(|said| said.kind() == HEADERS).count();
    assert_eq!(heads, calls as usize, "heads need no window");
    for n in (0..calls).rev() {
        let stream = 1 + 2 * n;
        peer.send(&window_update(stream, 2_005));
        let said = peer.said();
        let sent = data_on(&said, stream);
        assert_eq!(sent, 2_005, "a stream with a window goes on while the connection has one");
        assert!(said.iter().any(|said| said.stream() == stream && said.field("grpc-status") == Some("0")));
        peer.send(&window_update(0, sent as u32));
    }
}

/// One slow reader used up the connection's window, and every other call hung (RFC 9113 §5.2.2).
pub(crate) fn b23_a_slow_reader_stops_nobody_else(cut: Way) {
    let config = small_windows();
    let total = cut.some_of(1_000).max(100);
    for mut peer in both(&config, cut) {
        let mut sender = Sender::new(&config);
        let (_slow, quick) = (open(&mut peer, 1), open(&mut peer, 3));
        let messages = |n: usize| message(&[9; 1_019]).repeat(n);
        let mut first = messages(64);
        first.truncate(65_535);
        assert_eq!(sender.send(&mut peer, 1, &first), 65_535);
        sender.hear(&peer.said());
        assert_eq!(sender.window(1), 0, "nobody reads it, so it gets no more");
        let (all, mut sent, mut read) = (messages(total), 0, 0);
        for _ in 0..10_000 {
            sent += sender.send(&mut peer, 3, &all[sent..]);
            read += peer.messages(quick).0.len();
            sender.hear(&peer.said());
            if read == total {
                break;
            }
        }
        assert_eq!(read, total);
        assert_eq!(sender.window(1), 0);
        end(&mut peer, 3);
        finish(&mut peer, quick);
    }
}

/// Sends an upload of 200,000 octets on stream 1 in pieces, and as many octets on the ignored stream 3 in between.
fn upload_beside_ignored(peer: &mut Peer, id: CallId, sender: &mut Sender, cut: Way) {
    let upload = message(&vec![5; cut.some_of(1_000_000).max(100_000)]);
    let mut got = 0;
    for chunk in upload.chunks(4_000) {
        // The ignored stream's own window is that of a sender that knows nothing yet.
        sender.streams.insert(3, 65_535);
        let _ = sender.send(peer, 3, &chunk[..1_000.min(chunk.len())]);
        sender.hear(&peer.said());
        assert_eq!(sender.send(peer, 1, chunk), chunk.len(), "the connection's window was not given back");
        got += peer.messages(id).0.len();
        sender.hear(&peer.said());
    }
    assert_eq!(got, 1);
}

/// DATA for streams that are ignored was dropped without credit, and live streams stalled (RFC 9113 §6.8, §6.9).
pub(crate) fn b24_streams_after_goaway_are_credited_and_decoded(cut: Way) {
    let config = small_windows();
    let mut peer = to_server_with(&config, cut);
    let mut sender = Sender::new(&config);
    let id = open(&mut peer, 1);
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
    let before = peer.conn.probe().decoder.entries.len();
    peer.headers(3, false, &block);
    assert_eq!(peer.conn.probe().decoder.entries.len(), before + 5);
    upload_beside_ignored(&mut peer, id, &mut sender, cut);
    peer.send(&window_update(3, 5)).headers(3, true, TRAILERS_OK).send(&rst_stream(3, 8));
    peer.data(1, true, &[]);
    assert!(peer.messages(id).1);
    peer.finish_ok(id);
    let said = peer.said();
    assert!(said.iter().any(|said| said.stream() == 1 && said.field("grpc-status") == Some("0")), "{said:?}");
    assert!(peer.conn.is_finished(), "the last call has ended, so has the drain");
}

/// The same for a stream that we reset, and one that was reset for its own fault.
pub(crate) fn b24_reset_streams_are_credited_and_decoded(cut: Way) {
    let config = small_windows();
    for fault in [false, true] {
        for mut peer in both(&config, cut) {
            let mut sender = Sender::new(&config);
            let (id, reset) = (open(&mut peer, 1), open(&mut peer, 3));
            assert!(!peer.messages(id).1);
            if fault {
                peer.send(&window_update(3, 0));
            } else {
                peer.call(reset).cancel();
            }
            peer.assert_reset(3, &[if fault { ErrorCode::PROTOCOL_ERROR } else { ErrorCode::CANCEL }]);
            upload_beside_ignored(&mut peer, id, &mut sender, cut);
            let mut trailers = TRAILERS_OK.to_vec();
            literal(&mut trailers, 0x40, b"x-new", b"value");
            peer.send(&window_update(3, 5)).headers(3, true, &trailers).send(&rst_stream(3, 8));
            assert_eq!(peer.conn.probe().decoder.entries[0], (b"x-new".to_vec(), b"value".to_vec()));
            end(&mut peer, 1);
            finish(&mut peer, id);
        }
    }
}

/// Unread octets of a call that was dropped were credited too late (RFC 9113 §6.9).
pub(crate) fn b25_a_dropped_call_gives_its_credit_back(cut: Way) {
    let config = small_windows();
    for mut peer in both(&config, cut) {
        let mut sender = Sender::new(&config);
        let id = open(&mut peer, 1);
        assert_eq!(sender.send(&mut peer, 1, &message(b"0123456").repeat(6_000)[..65_535]), 65_535);
        // While it is held, another call receives.
        let other = open(&mut peer, 3);
        sender.hear(&peer.said());
        sender.connection = i64::from(config.connection_window).min(peer.conn.probe().recv_window);
        assert_eq!(sender.send(&mut peer, 3, &message(b"hello")), 10);
        assert_eq!(peer.messages(other).0, [&b"hello"[..]]);
        end(&mut peer, 3);
        finish(&mut peer, other);
        if peer.is_client() {
            peer.call(id).finish(&Status::new(Code::Aborted, "not read"), None);
        } else {
            peer.call(id).cancel();
        }
        peer.said();
        peer.assert_whole();
        // Late octets: discarded, credited to the connection only.
        peer.data(1, false, &[0; 100]);
        assert!(peer.said().iter().all(|said| said.stream() != 1 || said.kind() == RST_STREAM));
        peer.assert_whole();
    }
}

/// Credit that was due without new DATA never came (nghttp2 2020).
pub(crate) fn b27_credit_does_not_wait_for_data(cut: Way) {
    let config = small_windows();
    for mut peer in both(&config, cut) {
        let mut sender = Sender::new(&config);
        let id = open(&mut peer, 1);
        // One message that is whole, and the beginning of one that is larger than the window.
        let octets = [message(&[1; 10_000]), message(&vec![2; 100_000])].concat();
        let sent = sender.send(&mut peer, 1, &octets);
        assert_eq!(sent, 65_535);
        sender.hear(&peer.said());
        assert_eq!(sender.window(1), 0, "nobody has asked");
        let (first, _) = peer.messages(id);
        assert_eq!(first.len(), 1);
        sender.hear(&peer.said());
        assert!(sender.window(1) >= (octets.len() - sent) as i64, "asked for: the rest of the message must be let in at once");
        assert_eq!(sender.send(&mut peer, 1, &octets[sent..]), octets.len() - sent);
        assert_eq!(peer.messages(id).0.len(), 1);
        end(&mut peer, 1);
        finish(&mut peer, id);
    }
    // The window was used up to its last octet while nobody read; reading alone must bring credit.
    for mut peer in both(&config, cut) {
        let mut sender = Sender::new(&config);
        let id = open(&mut peer, 1);
        let octets = message(&[3; 13_102]).repeat(5);
        assert_eq!((octets.len(), sender.send(&mut peer, 1, &octets)), (65_535, 65_535));
        sender.hear(&peer.said());
        assert_eq!(sender.window(1), 0);
        assert_eq!(peer.messages(id).0.len(), 5);
        sender.hear(&peer.said());
        assert!(sender.window(1) > 32_767, "{}", sender.window(1));
        end(&mut peer, 1);
        finish(&mut peer, id);
    }
}

/// A configured window was not announced in full, or more was granted than it (RFC 9113 §6.9.2).
pub(crate) fn b28_the_first_window_update_and_no_more_than_that(cut: Way) {
    const WINDOW: u32 = 8 << 20;
    let mut config = Config::default();
    config.initial_window = WINDOW;
    config.connection_window = WINDOW;
    config.max_concurrent_streams = 2;
    for mut peer in [fresh_to_server(&config, cut), fresh_to_client(&config, cut)] {
        if peer.is_client() {
            peer.send(PREFACE).send(&settings(&[]));
        }
        let said = peer.said();
        let first = &said[0];
        assert_eq!(first.kind(), SETTINGS);
        let entries: Vec<_> = first.frame.payload.chunks(6).map(<[u8]>::to_vec).collect();
        assert!(entries.contains(&[&4_u16.to_be_bytes()[..], &WINDOW.to_be_bytes()].concat()), "{entries:?}");
        let update = said.iter().find(|said| said.kind() == WINDOW_UPDATE && said.stream() == 0).expect("WINDOW_UPDATE");
        assert_eq!(update.frame.word(0), WINDOW - 65_535);
        // Our own sending starts from 65,535, whatever we announce.
        assert_eq!(peer.conn.probe().send_window, 65_535);

        if !peer.is_client() {
            peer.send(&settings(&[]));
        }
        peer.send(&settings_ack());
        peer.said();
        let id = open(&mut peer, 1);
        let mut sender = Sender::new(&config);
        for n in 0..cut.some_of(2_000) {
            sender.send(&mut peer, 1, &message(&[0; 10_000]));
            if n % 3 != 0 {
                assert!(!peer.messages(id).0.is_empty());
            }
            sender.hear(&peer.said());
            assert!(sender.connection <= i64::from(WINDOW), "more than the configured window");
            assert!(sender.window(1) <= i64::from(WINDOW), "more than the configured window");
        }
        end(&mut peer, 1);
        peer.messages(id);
        finish(&mut peer, id);
    }
}

/// A message larger than the window never completed (grpc-java #10842); one that nobody wants must not be let in.
pub(crate) fn b29_a_wanted_message_is_let_in_whole(cut: Way) {
    let config = small_windows();
    let size = cut.some_of(1 << 20).max(200_000);
    for mut peer in both(&config, cut) {
        let mut sender = Sender::new(&config);
        let id = open(&mut peer, 1);
        peer.call(id).demand(1);
        let large = message(&vec![3; size]);
        let mut sent = 0;
        for _ in 0..100 {
            sent += sender.send(&mut peer, 1, &large[sent..]);
            sender.hear(&peer.said());
        }
        assert_eq!(sent, large.len(), "the wanted message was not let in");
        sent = 0;
        for _ in 0..100 {
            sent += sender.send(&mut peer, 1, &large[sent..]);
            sender.hear(&peer.said());
        }
        assert!(sent <= 2 * 65_535, "nobody asked for the second: {sent} octets of it were let in");
        let mut call = peer.call(id);
        assert!(matches!(call.recv(), Recv::Message(message) if message.payload.len() == size));
        // Asked for while it stands half received: it comes.
        assert!(matches!(call.recv(), Recv::Pending));
        for _ in 0..100 {
            sender.hear(&peer.said());
            sent += sender.send(&mut peer, 1, &large[sent..]);
        }
        assert_eq!((sent, peer.messages(id).0.len()), (large.len(), 1));
        end(&mut peer, 1);
        finish(&mut peer, id);
    }
}
