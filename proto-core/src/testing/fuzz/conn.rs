//! A connection that is given octets, and a pair that is given operations.

use super::cut_of;
use crate::{
    Code, Config, Endpoint, Event, Shape, Token,
    testing::{
        echo::{self, EchoClient, EchoServer, Request},
        link::LinkConfig,
        ops::Op,
        raw::{REQUEST, RESPONSE, RawPeer, TRAILERS_OK},
        rng::Rng,
        wire,
        world::World,
    },
};
use alloc::{vec, vec::Vec};
use bytes::Bytes;
use core::time::Duration;

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
    let (mut service, mut calls) = (EchoServer::default(), Vec::new());
    if choice & 0x10 == 0 {
        peer.send(wire::PREFACE).send(&wire::settings(&[])).send(&wire::settings_ack());
    }
    for input in inputs(rest, choice & 0x20 != 0) {
        match input {
            Input::Cancel(which) if !calls.is_empty() => {
                // The service lets go of a call as it does when the peer has ended it.
                let call = calls[which % calls.len()];
                service.on_event(&mut peer.conn, Event::Finished { call, token: Token(0), code: Code::Cancelled });
            }
            input => feed(&mut peer, &input),
        }
        react(&mut peer, |peer, event| {
            if let Event::Incoming { call } = event {
                calls.push(call);
            }
            service.on_event(&mut peer.conn, event);
        });
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
    for input in inputs(rest, choice & 0x20 != 0) {
        feed(&mut peer, &input);
        react(&mut peer, |peer, event| client.on_event(&mut peer.conn, event));
    }
    peer.eof();
    react(&mut peer, |peer, event| client.on_event(&mut peer.conn, event));
    ended(&peer);
    assert!(client.is_done(), "a call has no outcome: {client:?}");
}

/// What befalls a connection.
enum Input {
    Octets(Vec<u8>),
    /// Time passes.
    Time,
    Drain(Option<Duration>),
    Close,
    /// The application lets go of a call.
    Cancel(usize),
}

fn feed(peer: &mut RawPeer, input: &Input) {
    match input {
        Input::Octets(octets) if peer.conn.wants().read => drop(peer.send(octets)),
        Input::Octets(_) | Input::Cancel(_) => {}
        Input::Time => {
            peer.advance(Duration::from_millis(700));
            if let Some(deadline) = peer.conn.wants().deadline {
                assert!(deadline > peer.now, "a timer did not advance");
            }
        }
        Input::Drain(within) => peer.conn.drain(peer.now, *within),
        Input::Close => peer.conn.close(peer.now),
    }
}

/// Events, then output, until there is neither.
fn react(peer: &mut RawPeer, mut on_event: impl FnMut(&mut RawPeer, Event)) {
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

/// Cuts data into inputs: raw runs, or frames made from it that pass the first checks more often, and what the application does.
fn inputs(mut data: &[u8], raw: bool) -> Vec<Input> {
    let mut inputs = Vec::new();
    while let Some((&first, rest)) = data.split_first() {
        let (part, rest) = rest.split_at(usize::from(first >> 3).min(rest.len()));
        data = rest;
        inputs.push(match part {
            [] => Input::Time,
            part if raw => Input::Octets(part.to_vec()),
            [0xf8..=0xff, which] if first & 7 == 7 => match which % 8 {
                0 => Input::Close,
                1 => Input::Drain(None),
                2 => Input::Drain(Some(Duration::from_secs(1))),
                _ => Input::Cancel(usize::from(*which)),
            },
            part => Input::Octets(hand_frame(first & 7, part)),
        });
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
