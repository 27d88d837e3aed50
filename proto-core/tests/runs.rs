//! Small messages of a stream that come together are kept together and taken one by one: the same messages, the same credit,
//! and no more memory than they are worth.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{Payload, Recv, testing::Cut, testing::wire::*};

/// Sizes that meet every border: none, one that shares memory, the border of small ones, of large ones, beyond.
const SIZES: [usize; 16] = [0, 0, 8, 8, 8, 255, 256, 257, 1, 4_090, 4_091, 4_096, 5_000, 3, 0, 9];

fn octets(n: usize, size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + n) as u8).collect()
}

/// However the frames and the reads cut them, and however the application takes them.
#[test]
fn messages_come_as_they_were_sent() {
    for frame in [1, 7, 13, 14, 200, 4_096, 16_384] {
        // At once, one for each frame, or all when everything is there.
        // (Thousands of tiny frames that nobody waits for are an attack.)
        for pace in if frame < 200 { 0..2 } else { 0..3 } {
            for cut in [Cut::Whole, Cut::Random(50)] {
                let mut peer = to_server(cut);
                peer.request(1, "/S/M", false, &[]);
                let id = peer.accept();
                let wire: Vec<u8> = SIZES.iter().enumerate().flat_map(|(n, size)| message(&octets(n, *size))).collect();
                let mut got = Vec::new();
                let mut take = |peer: &mut Peer, most: usize| {
                    for _ in 0..most {
                        let Recv::Message(message) = peer.call(id).recv() else { break };
                        got.push(message.payload.into_bytes());
                    }
                };
                for piece in wire.chunks(frame) {
                    peer.data(1, false, piece);
                    take(&mut peer, [usize::MAX, 1, 0][pace]);
                }
                peer.data(1, true, b"");
                take(&mut peer, usize::MAX);
                assert_eq!(got.len(), SIZES.len(), "frames of {frame}, pace {pace}, {cut:?}");
                for (n, (message, size)) in got.iter().zip(SIZES).enumerate() {
                    assert!(*message == octets(n, size), "frames of {frame}, pace {pace}, {cut:?}: message {n} of {size}");
                }
                peer.finish_ok(id);
                peer.said();
                peer.assert_whole();
            }
        }
    }
}

/// A call that ends while messages lie there taken in part gives all of their credit back.
#[test]
fn what_is_not_taken_is_given_back() {
    for taken in 0..12 {
        let mut peer = to_server(Cut::Whole);
        peer.request(1, "/S/M", false, &[]);
        let id = peer.accept();
        let wire: Vec<u8> = (0..10).flat_map(|n| message(&octets(n, 8))).collect();
        peer.data(1, false, &wire);
        for n in 0..taken {
            let got = peer.call(id).recv();
            assert_eq!(matches!(got, Recv::Message(_)), n < 10, "message {n}");
        }
        if taken % 2 == 0 {
            peer.finish_ok(id)
        } else {
            peer.send(&rst_stream(1, 8));
        }
        peer.said();
        peer.events();
        if let Ok(call) = peer.conn.call(id) {
            call.cancel();
        }
        peer.said();
        peer.assert_whole();
    }
}

/// A compressed message, or one that is too large, behind good ones: these are delivered first, then the call ends.
#[test]
fn a_bad_message_behind_good_ones_ends_the_call_after_them() {
    for bad in [&b"\x01\0\0\0\x01x"[..], b"\0\xff\xff\xff\xff"] {
        let mut peer = to_server(Cut::Whole);
        peer.request(1, "/S/M", false, &[]);
        let id = peer.accept();
        let wire = [message(b"one"), message(b""), message(b"three"), bad.to_vec()].concat();
        peer.data(1, false, &wire);
        let (messages, _) = peer.messages(id);
        let good: [&[u8]; 3] = [b"one", b"", b"three"];
        assert!(messages.iter().map(|octets| &octets[..]).eq(good) || messages.is_empty(), "{messages:?}");
        let said = peer.said();
        assert!(said.iter().any(|said| said.field("grpc-status").is_some_and(|code| code != "0")), "{said:?}");
        peer.finish_ok(id);
        peer.said();
        peer.assert_open();
    }
}

/// Messages out: framed as one piece, cut by windows at any octet, and still whole messages at the other end.
#[test]
fn small_messages_out_keep_their_borders() {
    for window in [1, 4, 5, 6, 13, 14, 100, 65_535] {
        let mut peer = to_server(Cut::Whole);
        peer.send(&settings(&[(4, window)]));
        peer.request(1, "/S/M", false, &[]);
        let id = peer.accept();
        let mut expected = Vec::new();
        for (n, size) in [0, 3, 8, 0, 8, 300, 1].into_iter().enumerate() {
            let message = octets(n, size);
            expected.extend(pintle_core::testing::wire::message(&message));
            if n == 4 {
                peer.call(id).send(Payload::from(message)).unwrap();
            } else {
                peer.call(id).send_with(size, |out| out.extend_from_slice(&message)).unwrap();
            }
        }
        peer.finish_ok(id);
        let (mut data, mut rounds) = (Vec::new(), 0);
        loop {
            let said = peer.said();
            data.extend(said.iter().filter(|said| said.kind() == DATA).flat_map(|said| said.frame.payload.clone()));
            if said.iter().any(|said| said.stream() == 1 && said.ends()) {
                break;
            }
            rounds += 1;
            assert!(rounds < 500, "window {window}: it never ends");
            peer.send(&window_update(1, window));
        }
        assert!(data == expected, "window {window}");
    }
}
