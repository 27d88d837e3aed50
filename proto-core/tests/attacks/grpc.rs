//! Attacks by what messages and methods are: X20, X21, X25, X26.

use crate::{attack::*, peer::*};
use pintle_core::{
    Code, Recv,
    bytes::Bytes,
    codec::{Codec, Prost},
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE},
        wire::*,
    },
};

/// There is no compression yet: nothing that a peer sends is ever inflated.
#[test]
fn x20_compressed_messages() {
    for cut in [Cut::Whole, Cut::Octet] {
        for len in [10, 100_000] {
            let used = freed(|| {
                let mut peer = to_server(cut);
                // A coding that was not offered: refused at the head, with what is accepted.
                peer.request(1, "/S/M", false, &[("grpc-encoding", b"gzip")]);
                assert_eq!(accept(&mut peer), None);
                let said = peer.said();
                let refused = said.iter().find(|said| said.field("grpc-status").is_some()).expect("an answer");
                assert_eq!((refused.field("grpc-status"), refused.field("grpc-accept-encoding")), (Some("12"), Some("identity")));
                // A compressed flag without a coding, at whatever length: refused as soon as it is seen.
                peer.headers(3, false, REQUEST);
                let call = accept(&mut peer).expect("a request");
                let mut prefix = message(&vec![0x1f; len]);
                prefix[0] = 1;
                peer.data(3, false, &prefix[..5.min(prefix.len())]);
                let said = peer.said();
                assert!(said.iter().any(|said| said.field("grpc-status") == Some("13")), "{said:?}");
                peer.call(call).finish(&pintle_core::Status::ok(), None);
                peer.assert_usable(5);
                peer
            });
            assert!(used.peak < 64 * KIB + 3 * len, "{used:?}");
        }
    }
    // The same towards a client.
    let mut peer = to_client(Cut::Whole);
    let call = peer.unary(b"");
    peer.said();
    peer.headers(1, false, RESPONSE).data(1, false, b"\x01\x00\x40\x00\x00");
    assert_eq!(peer.outcome(call).status.code(), Code::Internal);
    peer.said();
    peer.assert_usable(3);
}

#[test]
fn x20_twin_octets_that_look_compressed() {
    // gzip's magic in an uncompressed message is the application's affair.
    let mut peer = to_server(Cut::Random(3));
    peer.request(1, "/S/M", false, &[("grpc-encoding", b"identity"), ("grpc-accept-encoding", b"gzip, identity")]);
    let call = accept(&mut peer).expect("a request");
    peer.data(1, false, &message(b"\x1f\x8b\x08\0\0\0\0\0"));
    assert_eq!(peer.messages(call).0, [Bytes::from_static(b"\x1f\x8b\x08\0\0\0\0\0")]);
}

#[test]
fn x21_declared_lengths() {
    for cut in [Cut::Whole, Cut::Octet] {
        // The limit, 4 MiB, and one octet of it, a hundred times.
        let used = freed(|| {
            let mut peer = to_server(cut);
            for n in 0..100 {
                peer.headers(1 + 2 * n, false, REQUEST);
                let id = accept(&mut peer).expect("a request");
                assert!(matches!(peer.call(id).recv(), Recv::Pending));
                peer.data(1 + 2 * n, false, b"\x00\x00\x40\x00\x00\x07");
                drain(&mut peer);
            }
            peer
        });
        assert!(used.peak < 11 * MIB, "{used:?}");
        for (prefix, code) in [(b"\x00\xff\xff\xff\xff", "8"), (b"\x00\x00\x40\x00\x01", "8"), (b"\x02\x00\x00\x00\x01", "13")] {
            let used = freed(|| {
                let mut peer = to_server(cut);
                peer.headers(1, false, REQUEST);
                let call = accept(&mut peer).expect("a request");
                peer.data(1, false, &prefix[..4]);
                assert!(peer.said().iter().all(|said| said.kind() != HEADERS));
                peer.data(1, false, &prefix[4..]);
                let said = peer.said();
                assert!(said.iter().any(|said| said.field("grpc-status") == Some(code)), "{said:?}");
                peer.call(call).finish(&pintle_core::Status::ok(), None);
                peer.assert_usable(3);
                peer
            });
            assert!(used.peak < 32 * KIB, "{used:?}");
        }
    }
}

#[test]
fn x21_twin_a_message_of_the_largest_size() {
    let mut peer = to_server(Cut::Whole);
    peer.headers(1, false, REQUEST);
    let call = accept(&mut peer).expect("a request");
    assert!(matches!(peer.call(call).recv(), Recv::Pending));
    let octets = message(&vec![9; 4 << 20]);
    for piece in octets.chunks(16_384) {
        peer.data(1, false, piece);
        drain(&mut peer);
    }
    let Recv::Message(whole) = peer.call(call).recv() else { panic!("it is whole") };
    assert_eq!(whole.payload.len(), 4 << 20);
    peer.assert_open();
}

#[test]
fn x25_what_is_not_there_is_not_served() {
    let methods = [
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/grpc.channelz.v1.Channelz/GetTopChannels",
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
    ];
    let mut peer = to_server(Cut::Random(20));
    for (n, method) in methods.iter().enumerate() {
        let stream = 1 + 2 * n as u32;
        peer.request(stream, method, false, &[]);
        peer.data(stream, true, &message(b"\x3a\x00"));
        assert_eq!(accept(&mut peer), None, "{method}");
        assert!(peer.said().iter().any(|said| said.field("grpc-status") == Some("12")), "{method}");
    }
    peer.assert_usable(101);
    // 10,000 streams that wait for news, over 100 connections: each costs its head and nothing else, and news is one message.
    for _ in 0..size(100).max(2) {
        let mut per_stream = 0;
        let used = freed(|| {
            let mut peer = to_server(Cut::Whole);
            let mut calls = Vec::with_capacity(100);
            for n in 0..100 {
                peer.request(1 + 2 * n, "/S/R", false, &[]).data(1 + 2 * n, true, &message(b""));
                calls.push(accept(&mut peer).expect("a request"));
            }
            for round in 0..20_u64 {
                let before = peer.conn.steps();
                for call in &calls {
                    peer.call(*call).send_with(2, |buffer| buffer.extend_from_slice(b"\x08\x01")).expect("room");
                }
                drain(&mut peer);
                per_stream = (peer.conn.steps() - before).max(round) / 100;
            }
            peer
        });
        assert!(per_stream <= 10, "{per_stream} steps a stream for one message");
        assert!(used.peak < 100 * 2 * KIB, "{used:?}");
    }
}

#[test]
fn x25_twin_a_method_that_is_there() {
    let mut peer = to_server(Cut::Octet);
    peer.request(1, "/S/R", false, &[]).data(1, true, &message(b""));
    let call = accept(&mut peer).expect("a request");
    peer.put(call, &b"news"[..]);
    peer.finish_ok(call);
    assert!(peer.said().iter().any(|said| said.field("grpc-status") == Some("0")));
}

/// A message within a message, without end.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Nest {
    #[prost(message, optional, boxed, tag = "1")]
    inner: Option<Box<Self>>,
}

/// Two octets on the wire, 24 in memory.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Many {
    #[prost(message, repeated, tag = "1")]
    items: Vec<Item>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Item {
    #[prost(string, tag = "1")]
    text: String,
}

/// `depth` messages inside each other: from the inside out, each in front of what it holds.
pub(crate) fn nested(depth: usize) -> Vec<u8> {
    let (mut heads, mut len) = (Vec::new(), 0);
    for _ in 0..depth {
        let mut head = vec![0x0a];
        prost::encoding::encode_varint(len, &mut head);
        len += head.len() as u64;
        heads.push(head);
    }
    heads.into_iter().rev().flatten().collect()
}

pub(crate) fn decode<T: prost::Message + Default + 'static>(octets: impl Into<Bytes>) -> Result<T, pintle_core::Status> {
    Prost::<T>::decode(octets.into().into())
}

#[test]
fn x26_deep_messages() {
    // In a thread whose stack is 64 KiB: what is too deep is an error long before that.
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let thread = small.spawn(|| {
        for depth in [101, 1_000, 100_000] {
            let error = decode::<Nest>(nested(depth)).expect_err("too deep");
            assert_eq!(error.code(), Code::Internal, "depth {depth}");
        }
        // The same in fields that are not known: groups, which have no length.
        for depth in [101, 100_000] {
            assert!(decode::<Nest>([vec![0x13; depth], vec![0x14; depth]].concat()).is_err(), "groups of depth {depth}");
        }
    });
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn x26_many_small_messages() {
    // 2,097,152 messages in 4 MiB, each of 24 octets here. A larger struct takes more: prost has no budget for it, so what bounds it is
    // `max_recv_message` and the shape of the message that a method takes.
    let octets = b"\x0a\x00".repeat(2 << 20);
    let wire = octets.len();
    let (message, used) = crate::heap::measure(|| decode::<Many>(octets).expect("it is lawful"));
    assert_eq!(message.items.len(), 2 << 20);
    assert!(used.peak <= 16 * wire, "{} octets of heap for {wire} on the wire", used.peak);
}

#[test]
fn x26_twin_messages_as_people_make_them() {
    assert!(decode::<Nest>(nested(99)).is_ok());
    let many: Many = decode(b"\x0a\x03\x0a\x01a".repeat(1_000)).expect("lawful");
    assert_eq!(many.items.len(), 1_000);
}
