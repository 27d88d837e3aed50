//! The bodies of the fuzz targets: each takes any octets and panics only where a rule of the crate is broken.

use super::{
    echo::{self, EchoClient, EchoServer, Request},
    link::{Cut, LinkConfig},
    ops::Op,
    raw::{REQUEST, RESPONSE, RawPeer, TRAILERS_OK},
    rng::Rng,
    wire,
    world::World,
};
use crate::{
    Config, Endpoint, Shape,
    hpack::{Decoder, Encoder, Fields, Indexing, Tag},
};
use alloc::{vec, vec::Vec};
use bytes::Bytes;
use core::time::Duration;
use h2_frame::{Error, Frame, Head, Item, Scanner, Scope, Status, kind, parse, parse_payload};

/// Frames: the scanner finds the same whatever the cuts, and what the one-shot parser finds.
///
/// # Panics
/// If they differ.
pub fn fuzz_frame(data: &[u8]) {
    let Some((&size, stream)) = data.split_first() else { return };
    let whole = scan(stream, stream.len().max(1));
    assert_eq!(whole, scan(stream, usize::from(size) + 1), "cuts changed what the scanner found");
    let mut rest = stream;
    for found in &whole {
        match parse(rest, 16_384) {
            Ok(Status::Complete((frame, size))) => {
                if let Scanned::Frame(head, payload) = found {
                    agree(*head, payload, &frame);
                } else {
                    // Only the scanner knows the order of frames: that error is not the parser's.
                    return;
                }
                rest = &rest[size..];
            }
            Ok(Status::Partial) => return,
            Err(error) => {
                // Payload rules of kinds other than DATA are the parser's alone, the order of field blocks is the scanner's.
                if let Scanned::Error(scanned) = found {
                    assert!(*scanned == error || scanned.what.contains("field block"), "{scanned:?}, {error:?}");
                }
                return;
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Scanned {
    Frame(Head, Vec<u8>),
    Error(Error),
}

fn scan(stream: &[u8], size: usize) -> Vec<Scanned> {
    let (mut scanner, mut found, mut current) = (Scanner::new(), Vec::new(), None);
    for mut piece in stream.chunks(size) {
        loop {
            match scanner.next(&mut piece) {
                Ok(None) => break,
                Ok(Some(Item::Head(head))) => current = Some((head, Vec::new())),
                Ok(Some(Item::Piece { octets, last })) => {
                    let (head, mut payload): (Head, Vec<u8>) = current.take().expect("a piece follows a head");
                    payload.extend_from_slice(octets);
                    if last {
                        found.push(Scanned::Frame(head, payload));
                    } else {
                        current = Some((head, payload));
                    }
                }
                Err(error) => {
                    found.push(Scanned::Error(error));
                    if error.scope == Scope::Connection {
                        return found;
                    }
                }
            }
        }
    }
    found
}

fn agree(head: Head, payload: &[u8], frame: &Frame<'_>) {
    match frame {
        Frame::Data(data) => assert_eq!((head.kind, payload), (kind::DATA, data.data)),
        other => assert_eq!(parse_payload(head, payload).as_ref(), Ok(other)),
    }
}

/// HPACK: any block decodes or is an error; what was decoded, encoded again, decodes to the same, and
/// the tables of encoder and decoder are equal after every block.
///
/// # Panics
/// If not.
pub fn fuzz_hpack(data: &[u8]) {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let size = [0, 64, 256, 4_096][usize::from(first & 3)];
    let mut hostile = Decoder::new(size);
    let (mut encoder, mut decoder) = (Encoder::new(4_096), Decoder::new(4_096));
    while let Some((&len, tail)) = rest.split_first() {
        let (block, tail) = tail.split_at(usize::from(len).min(tail.len()));
        rest = tail;
        let mut list = List::default();
        let end = hostile.decode(block, &mut list);
        assert!(hostile.table_size() <= 4_096, "the table is larger than any limit so far");
        if first & 4 != 0 {
            hostile.acknowledged();
        }
        round_trip(&mut encoder, &mut decoder, &list);
        if end.is_err() {
            return;
        }
        if len % 7 == 0 {
            encoder.set_peer_limit(u32::from(len) * 13);
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct List {
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    octets: usize,
}

impl Fields for List {
    fn static_tag(&self, _: u8) -> Tag {
        Tag(1)
    }

    fn classify(&mut self, name: &[u8], _: &[u8]) -> Tag {
        Tag(2 + name.len() as u32)
    }

    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]) {
        assert!(tag == Tag(1) || tag == Tag(2 + name.len() as u32), "a tag of another field");
        self.octets += name.len() + value.len();
        // A block may name a large field again and again; as a receiver would, keep what is within a limit.
        if self.octets < 64 << 10 {
            self.fields.push((name.to_vec(), value.to_vec()));
        }
    }
}

fn round_trip(encoder: &mut Encoder, decoder: &mut Decoder, list: &List) {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (index, (name, value)) in list.fields.iter().enumerate() {
        let indexing = [Indexing::Add, Indexing::Without, Indexing::Never][index % 3];
        encoder.field(&mut block, name, value, indexing);
    }
    let mut again = List::default();
    decoder.decode(&block, &mut again).expect("our own block decodes");
    assert_eq!(again.fields, list.fields);
    assert!(encoder.entries().eq(decoder.entries()), "the tables differ");
}

/// A small configuration, so that limits are near.
fn small_config(choice: u8) -> Config {
    Config {
        max_concurrent_streams: [100, 2][usize::from(choice & 1)],
        initial_window: 65_535,
        connection_window: [1 << 20, 65_535][usize::from(choice >> 1 & 1)],
        max_recv_message: [4 << 20, 1_000][usize::from(choice >> 2 & 1)],
        ..Config::default()
    }
}

/// Any octets, raw or as frames, to a server with the echo service.
///
/// # Panics
/// If the connection breaks one of its own rules.
pub fn fuzz_server(data: &[u8]) {
    let [choice, cut, rest @ ..] = data else { return };
    let mut peer = RawPeer::client(&small_config(*choice), echo::routes(), cut_of(*cut), 1);
    let mut service = EchoServer::default();
    if choice & 0x10 == 0 {
        peer.send(wire::PREFACE).send(&wire::settings(&[])).send(&wire::settings_ack());
    }
    for octets in inputs(rest, choice & 0x20 != 0) {
        feed(&mut peer, &octets);
        react(&mut peer, |peer, event| service.on_event(&mut peer.conn, event));
    }
    peer.eof();
    react(&mut peer, |peer, event| service.on_event(&mut peer.conn, event));
    ended(&peer);
    assert_eq!(service.running(), 0, "a call was left running");
}

/// The same to a client with four calls under way.
///
/// # Panics
/// If the connection breaks one of its own rules, or a call has no outcome at the end.
pub fn fuzz_client(data: &[u8]) {
    let [choice, cut, rest @ ..] = data else { return };
    let mut peer = RawPeer::server(&small_config(*choice), cut_of(*cut), 1);
    let message = |len| echo::pattern(1, len);
    let requests = vec![
        Request::new(Shape::Unary, vec![message(10)]),
        Request::new(Shape::ClientStreaming, vec![message(100_000), message(3)]),
        Request::new(Shape::ServerStreaming, vec![echo::expand_request(2, 2)]),
        Request { deadline: Some(peer.now.saturating_add(Duration::from_secs(2))), ..Request::new(Shape::Bidi, vec![Bytes::new(); 3]) },
    ];
    let mut client = EchoClient::start(&mut peer.conn, peer.now, requests);
    if choice & 0x10 == 0 {
        peer.send(&wire::settings(&[])).send(&wire::settings_ack());
    }
    for octets in inputs(rest, choice & 0x20 != 0) {
        feed(&mut peer, &octets);
        react(&mut peer, |peer, event| client.on_event(&mut peer.conn, event));
    }
    peer.eof();
    react(&mut peer, |peer, event| client.on_event(&mut peer.conn, event));
    ended(&peer);
    assert!(client.is_done(), "a call has no outcome: {client:?}");
}

const fn cut_of(choice: u8) -> Cut {
    match choice % 3 {
        0 => Cut::Whole,
        1 => Cut::Octet,
        _ => Cut::Random(choice as usize + 1),
    }
}

fn feed(peer: &mut RawPeer, octets: &[u8]) {
    if octets.is_empty() {
        // An empty input lets time pass.
        peer.advance(Duration::from_millis(700));
        if let Some(deadline) = peer.conn.wants().deadline {
            assert!(deadline > peer.now, "a timer did not advance");
        }
    } else if peer.conn.wants().read {
        peer.send(octets);
    }
}

/// Events, then output, until there is neither.
fn react(peer: &mut RawPeer, mut on_event: impl FnMut(&mut RawPeer, crate::Event)) {
    for _ in 0..10_000 {
        let wants = peer.conn.wants();
        let event = peer.event();
        assert_eq!(wants.event, event.is_some(), "wants().event was wrong");
        if let Some(event) = event {
            on_event(peer, event);
            continue;
        }
        assert_eq!(wants.write, !peer.output_octets().is_empty(), "wants().write was wrong");
        if !peer.conn.wants().event && !peer.conn.wants().write {
            return;
        }
    }
    panic!("events without end");
}

fn ended(peer: &RawPeer) {
    let probe = peer.conn.probe();
    assert_eq!((probe.slots, probe.open_streams, probe.recv_held), (0, 0, 0), "something was left: {probe:?}");
    assert!(peer.conn.is_finished(), "the transport has ended, the connection has not");
}

/// Cuts data into inputs: raw runs, or frames made from it that pass the first checks more often.
fn inputs(mut data: &[u8], raw: bool) -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    while let Some((&first, rest)) = data.split_first() {
        let (part, rest) = rest.split_at(usize::from(first >> 3).min(rest.len()));
        data = rest;
        inputs.push(if raw { part.to_vec() } else { hand_frame(first & 7, part) });
    }
    inputs
}

fn hand_frame(kind: u8, part: &[u8]) -> Vec<u8> {
    let [flags, stream, more @ ..] = part else { return Vec::new() };
    let (flags, stream, number) = (*flags, u32::from(stream % 12), wire::word(part, 2));
    match kind {
        0 => wire::frame(wire::DATA, flags & 9, stream, &wire::message(more)),
        1 => {
            let good = [REQUEST, RESPONSE, TRAILERS_OK][usize::from(flags >> 6) % 3];
            let path = wire::literal_block(&[(":path", echo::METHODS[usize::from(flags >> 4 & 3)].0.as_bytes())]);
            // Literals without indexing may be put together; the `:path` of REQUEST is replaced.
            let request = [&REQUEST[..2], &path, &REQUEST[8..]].concat();
            let block = if flags & 0xc0 == 0 { &request } else { good };
            wire::frame(wire::HEADERS, flags & 1 | wire::END_HEADERS, stream, &[block, more].concat())
        }
        2 => wire::frame(wire::HEADERS, flags, stream, more),
        3 => wire::frame(wire::CONTINUATION, flags, stream, more),
        4 => wire::settings(&[(u16::from(flags % 7), number)]),
        5 => wire::window_update(stream, if flags & 1 == 0 { number % 100_000 } else { number }),
        6 => [wire::rst_stream(stream, number % 16), wire::goaway(stream, u32::from(flags % 16), more)][usize::from(flags & 1)].clone(),
        _ => wire::frame(flags, flags >> 4, stream, more),
    }
}

/// Any octets as operations on a pair: the first eight choose link, configurations and seed.
///
/// # Panics
/// If the model, the referee or the bounds are not met, or a call does not end.
pub fn fuzz_ops(data: &[u8]) {
    let Some((seed, ops)) = data.split_first_chunk::<8>() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let link = LinkConfig::random(&mut rng);
    let mut world = World::new([World::config(&mut rng), World::config(&mut rng)], link, rng.next_u64());
    let ops = Op::decode_all(ops);
    let gentle = ops.iter().all(Op::is_gentle);
    for op in ops {
        world.apply(op);
    }
    let (steps, ended) = world.wind_down();
    assert!(ended, "calls did not end in {steps} steps: {}", world.summary());
    if gentle {
        world.check_rest();
    }
    assert_eq!(world.faults(), [""; 0]);
}
