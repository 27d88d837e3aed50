//! Whole calls between a client's and a server's core, octets passed from hand to hand: no socket, no runtime, no link
//! (`cargo bench -p pintle-benches --bench core_pair`).
#![allow(missing_docs, reason = "criterion's macros")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pintle_core::{
    CallId, CallOptions, Config, Connection, Event, Payload, Recv, RequestHead, Routes, SendError, Shape, Status, Timestamp, Token,
    testing::pass,
};
use std::hint::black_box;

const NOW: Timestamp = Timestamp::from_micros(1_000_000);
const UNARY: &str = "/pintle.bench.Bench/Unary";
const STREAM: &str = "/pintle.bench.Bench/Stream";

fn pair() -> (Connection, Connection) {
    let config = Config::default();
    let routes = Routes::new([(UNARY, Shape::Unary), (STREAM, Shape::ServerStreaming)]).expect("valid paths");
    let (mut client, mut server) = (Connection::client(&config, NOW), Connection::server(&config, routes, NOW));
    exchange(&mut client, &mut server);
    (client, server)
}

fn exchange(client: &mut Connection, server: &mut Connection) {
    while pass(NOW, client, server) + pass(NOW, server, client) > 0 {}
}

fn start(client: &mut Connection, path: &'static str, shape: Shape, octets: &[u8]) -> CallId {
    let head = RequestHead::new(Bytes::from_static(path.as_bytes()), shape);
    let id = client.start(NOW, head, CallOptions::default()).expect("a call");
    let mut call = client.call(id).expect("live");
    call.send_with(octets.len(), |buffer| buffer.extend_from_slice(octets)).expect("room");
    id
}

/// `calls` unary calls at once, answered in one go.
fn unary(client: &mut Connection, server: &mut Connection, octets: &[u8], ids: &mut Vec<CallId>, calls: usize) {
    ids.extend((0..calls).map(|_| start(client, UNARY, Shape::Unary, octets)));
    pass(NOW, client, server);
    while let Some(event) = server.poll_event() {
        if let Event::Incoming { call } = event {
            server.accept(call, Token(0)).expect("still there");
            let mut call = server.call(call).expect("live");
            let Recv::Message(message) = call.recv() else { panic!("a unary request comes whole") };
            let payload = message.payload.into_bytes();
            call.send_with(payload.len(), |buffer| buffer.extend_from_slice(&payload)).expect("room");
            call.finish(&Status::ok(), None);
        }
    }
    exchange(client, server);
    while client.poll_event().is_some() {}
    for id in ids.drain(..) {
        let mut call = client.call(id).expect("live");
        assert!(matches!(call.recv(), Recv::Message(_)));
        assert!(matches!(call.recv(), Recv::End));
        black_box(call.take_outcome().expect("ended"));
    }
}

/// One server-streaming call of `count` messages.
fn stream(client: &mut Connection, server: &mut Connection, message: &Bytes, count: usize) {
    let id = start(client, STREAM, Shape::ServerStreaming, b"");
    pass(NOW, client, server);
    let serving =
        std::iter::from_fn(|| server.poll_event()).find_map(|event| if let Event::Incoming { call } = event { Some(call) } else { None });
    let serving = serving.expect("the request");
    server.accept(serving, Token(0)).expect("still there");
    let (mut sent, mut received) = (0, 0);
    while received < count {
        while sent < count {
            let mut call = server.call(serving).expect("live");
            match call.send(Payload::from(message.clone())) {
                Ok(()) => sent += 1,
                Err(SendError::Blocked(_)) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
        exchange(client, server);
        while let Recv::Message(message) = client.call(id).expect("live").recv() {
            black_box(message);
            received += 1;
        }
        while server.poll_event().is_some() {}
        while client.poll_event().is_some() {}
    }
    server.call(serving).expect("live").finish(&Status::ok(), None);
    exchange(client, server);
    let mut call = client.call(id).expect("live");
    assert!(matches!(call.recv(), Recv::End));
    black_box(call.take_outcome().expect("ended"));
    while client.poll_event().is_some() {}
}

fn core_pair(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core_pair");
    let mut ids = Vec::new();
    for (calls, size) in [(1, 8), (100, 8), (1, 1_024), (1, 65_536)] {
        let (mut client, mut server) = pair();
        let octets = vec![7; size];
        group.throughput(Throughput::Elements(calls as u64));
        group.bench_function(format!("unary/{calls} at once, {size} octets"), |bench| {
            bench.iter(|| unary(&mut client, &mut server, &octets, &mut ids, calls));
        });
    }
    for (count, size) in [(1_000, 100), (100, 65_536)] {
        let (mut client, mut server) = pair();
        let message = Bytes::from(vec![7; size]);
        group.throughput(Throughput::Bytes((count * size) as u64));
        group.bench_function(format!("streaming/{count} messages of {size} octets"), |bench| {
            bench.iter(|| stream(&mut client, &mut server, &message, count));
        });
    }
    group.finish();
}

criterion_group!(benches, core_pair);
criterion_main!(benches);
