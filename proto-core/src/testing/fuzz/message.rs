//! Length-prefixed messages: what a call makes of a body, against a reader of a few lines; and what the codec makes of a message.

use super::{cut_of, hpack::List};
use crate::{
    Code, Config, Event, Payload, Recv, RequestHead, Shape, Status,
    codec::{Codec, Raw},
    hpack::Decoder,
    testing::{
        echo,
        raw::{REQUEST, RESPONSE, RawPeer, TRAILERS_OK},
        rng::Rng,
        wire,
    },
};
use alloc::{format, vec::Vec};
use bytes::Bytes;

/// A body in frames and reads cut anywhere, to a call of a server or a client: the messages that are taken are those that a plain reader
/// finds, the call ends as the first fault of the body says, no more is held than came, and nothing that is announced is believed. Every
/// message is decoded by `C`; what can be decoded is encoded, sent in pieces, and is the same again.
///
/// # Panics
/// If not.
pub fn fuzz_message<C: Codec>(data: &[u8])
where
    C::Item: core::fmt::Debug,
{
    let [choice, cut, rest @ ..] = data else { return };
    decode::<C>(rest);
    let limit = [4 << 20, 1_000, 10, 0][usize::from(choice & 3)];
    let body = body(rest, limit);
    let case = Case { limit, ends: choice & 4 == 0, eager: choice & 8 != 0, cut: *cut, body: &body };
    if choice & 16 == 0 { case.to_server() } else { case.to_client() }
}

/// Octets to octets of a body: small steps, each a raw run or a message that is right, compressed, or longer than it says.
fn body(mut data: &[u8], limit: u32) -> Vec<u8> {
    let mut body = Vec::new();
    while let [first, rest @ ..] = data {
        let (part, rest) = rest.split_at(usize::from(first >> 3).min(rest.len()));
        data = rest;
        let len = part.len() as u32;
        let (flag, says) = match first & 7 {
            0..=3 => (0, len),
            4 => (1, len),
            // One more than fits, a bomb, or just larger than what came.
            5 => (0, [limit + 1, limit, u32::MAX, len + 1][part.len() % 4]),
            6 => (part.first().map_or(2, |&flag| flag), len),
            _ => {
                body.extend_from_slice(part);
                continue;
            }
        };
        body.push(flag);
        body.extend_from_slice(&says.to_be_bytes());
        body.extend_from_slice(part);
    }
    body
}

/// What is wrong with a body.
#[derive(Debug, Clone, Copy)]
struct Fault {
    code: Code,
    /// Only the body's end shows it.
    at_end: bool,
}

/// The rule: messages as long as there are good ones, and what is wrong behind them (PH2 "Length-Prefixed-Message"; SC for the codes).
fn read(mut body: &[u8], limit: u32) -> (Vec<&[u8]>, Option<Fault>) {
    let fault = |code, at_end| Some(Fault { code, at_end });
    let mut messages = Vec::new();
    while let [flag, a, b, c, d, rest @ ..] = body {
        let len = u32::from_be_bytes([*a, *b, *c, *d]);
        if *flag > 1 {
            return (messages, fault(Code::Internal, false));
        }
        if len > limit {
            return (messages, fault(Code::ResourceExhausted, false));
        }
        // Refused before any of it is taken in.
        if *flag == 1 {
            return (messages, fault(Code::Internal, false));
        }
        let Some((message, rest)) = rest.split_at_checked(len as usize) else { return (messages, fault(Code::Internal, true)) };
        messages.push(message);
        body = rest;
    }
    (messages, if body.is_empty() { None } else { fault(Code::Internal, true) })
}

struct Case<'a> {
    limit: u32,
    /// The stream is ended behind the body.
    ends: bool,
    /// The application takes messages after every frame; else only at the end.
    eager: bool,
    cut: u8,
    body: &'a [u8],
}

impl Case<'_> {
    fn config(&self) -> Config {
        Config { max_recv_message: self.limit, initial_window: 65_535, ..Config::default() }
    }

    /// The body in frames, after each of which `taken` looks.
    fn send(&self, peer: &mut RawPeer, ended: bool, mut taken: impl FnMut(&mut RawPeer)) {
        let mut rng = Rng::new(u64::from(self.cut));
        let mut rest = self.body;
        while !rest.is_empty() {
            // Frames that are shorter than what their head costs are abuse sooner or later, which is not the subject.
            let (piece, later) = rest.split_at((rng.below(900) as usize + 256).min(rest.len()));
            rest = later;
            let pad = rng.below(4) as u8 * 60;
            let padded = [&[pad][..], piece, &[0; 180][..usize::from(pad)]].concat();
            let end = u8::from(ended && rest.is_empty());
            let frame =
                if pad > 0 { wire::frame(wire::DATA, wire::PADDED | end, 1, &padded) } else { wire::frame(wire::DATA, end, 1, piece) };
            peer.send(&frame);
            let held = peer.conn.probe().recv_held;
            assert!(held <= self.body.len() as u64, "{held} octets are held of {}", self.body.len());
            taken(peer);
        }
        if ended && self.body.is_empty() {
            peer.data(1, true, &[]);
        }
    }

    fn to_server(&self) {
        let mut peer = RawPeer::client(&self.config(), echo::routes(), cut_of(self.cut), 1);
        peer.handshake(&[]);
        let path = wire::literal_block(&[(":path", echo::METHODS[echo::shape_number(Shape::Bidi)].0.as_bytes())]);
        // The `:path` of REQUEST is replaced.
        peer.headers(1, false, &[&REQUEST[..2], &path, &REQUEST[8..]].concat());
        let Some(Event::Incoming { call }) = peer.event() else { panic!("no call came") };
        assert!(peer.conn.accept(call, crate::Token(1)).is_some());
        let mut got = Vec::new();
        let take = |peer: &mut RawPeer, got: &mut Vec<Bytes>| take(peer, call, got);
        self.send(&mut peer, self.ends, |peer| {
            if self.eager {
                take(peer, &mut got);
            }
        });
        let over = take(&mut peer, &mut got);
        let (messages, fault) = read(self.body, self.limit);
        let fault = fault.filter(|fault| self.ends || !fault.at_end);
        self.compare(&got, &messages, fault);
        match fault {
            Some(fault) => assert_eq!(answered(&mut peer), Some(fault.code), "the answer"),
            None => {
                assert_eq!(over, self.ends, "the end of the messages");
                peer.conn.call(call).expect("it goes on").finish(&Status::ok(), None);
                assert_eq!(answered(&mut peer), Some(Code::Ok));
            }
        }
    }

    fn to_client(&self) {
        let mut peer = RawPeer::server(&self.config(), cut_of(self.cut), 1);
        peer.handshake(&[]);
        let (path, shape) = echo::METHODS[echo::shape_number(Shape::Bidi)];
        let call = peer.conn.start(peer.now, RequestHead::new(path, shape), crate::CallOptions::default()).expect("room");
        peer.output();
        peer.headers(1, false, RESPONSE);
        let mut got = Vec::new();
        self.send(&mut peer, false, |peer| {
            if self.eager {
                take(peer, call, &mut got);
            }
        });
        let (messages, fault) = read(self.body, self.limit);
        if fault.is_none_or(|fault| fault.at_end) {
            peer.headers(1, true, TRAILERS_OK);
        }
        assert!(take(&mut peer, call, &mut got), "the call goes on");
        let outcome = peer.conn.call(call).expect("not released").take_outcome().expect("it is over");
        assert_eq!(outcome.status.code(), fault.map_or(Code::Ok, |fault| fault.code), "{}", outcome.status);
        self.compare(&got, &messages, fault);
    }

    fn compare(&self, got: &[Bytes], wanted: &[&[u8]], fault: Option<Fault>) {
        let same = got.iter().zip(wanted).all(|(got, wanted)| got == wanted);
        assert!(same, "another message than was sent");
        // A call that fails may drop what was not taken.
        assert!(got.len() == wanted.len() || fault.is_some() && got.len() < wanted.len(), "{} messages of {}", got.len(), wanted.len());
        let bound = self.body.len() + 64;
        assert!(got.iter().map(Bytes::len).sum::<usize>() <= bound);
    }
}

/// Takes every message; true: no more will come.
fn take(peer: &mut RawPeer, call: crate::CallId, got: &mut Vec<Bytes>) -> bool {
    while peer.event().is_some() {}
    let Ok(mut view) = peer.conn.call(call) else { return true };
    loop {
        match view.recv() {
            Recv::Message(message) => {
                assert!(!message.compressed, "no coding was agreed");
                got.push(message.payload.into_bytes());
            }
            Recv::Pending => return false,
            Recv::End => return true,
        }
    }
}

/// The `grpc-status` that the server sent.
fn answered(peer: &mut RawPeer) -> Option<Code> {
    let mut decoder = Decoder::new(4_096);
    let mut code = None;
    for frame in peer.output().iter().filter(|frame| frame.head.kind == wire::HEADERS) {
        let mut list = List::default();
        decoder.decode(&frame.payload, &mut list).expect("our own block");
        let status = list.fields.iter().find(|(name, _)| name == b"grpc-status");
        code = code.or(status.map(|(_, value)| Code::from_u32(value.iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0')))));
    }
    code
}

/// A message of any octets: an error that fits into a header, or a value that survives being sent.
fn decode<C: Codec>(octets: &[u8])
where
    C::Item: core::fmt::Debug,
{
    let flat = C::decode(Bytes::copy_from_slice(octets).into());
    let pieces: Payload = octets.chunks(7).map(Bytes::copy_from_slice).collect();
    let item = match (flat, C::decode(pieces)) {
        (Ok(flat), Ok(pieces)) => {
            // Not by `==`: a number that is no number is not equal to itself.
            assert_eq!(format!("{flat:?}"), format!("{pieces:?}"), "in pieces it is another message");
            flat
        }
        (Err(flat), Err(pieces)) => {
            assert_eq!((flat.code(), pieces.code()), (Code::Internal, Code::Internal));
            return assert!(flat.message().len() <= 256 && pieces.message().len() <= 256, "a status too long for its field");
        }
        (flat, pieces) => panic!("whole {flat:?}, in pieces {pieces:?}"),
    };
    let again = crate::codec::to_payload::<C>(&item);
    assert_eq!(again.len(), C::encoded_len(&item), "its length was foretold");
    let again = C::decode(again).expect("what we encoded");
    assert_eq!(format!("{again:?}"), format!("{item:?}"));
    assert_eq!(Raw::decode(Bytes::copy_from_slice(octets).into()).as_deref(), Ok(octets));
}
