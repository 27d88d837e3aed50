//! Bounds on what a connection may hold, in octets and in time, each of which was missing once.

#[path = "support/heap.rs"]
mod heap;

use pintle_core::{
    CallId, CallOptions, CloseReason, Code, Config, Connection, Endpoint, Event, Metadata, Recv, RequestHead, Routes, SendError, Shape,
    Status, Timestamp, Token,
    bytes::Bytes,
    http::{Exchange, MAX_BODY, Response},
};
use std::time::Duration;

const MANY: &str = "/t.T/Many";

fn ends() -> (Connection, Connection) {
    let now = Timestamp::from_micros(0);
    let routes = Routes::new([(MANY, Shape::ServerStreaming)]).expect("a route");
    (Connection::client(&Config::default(), now), Connection::server(&Config::default(), routes, now))
}

/// Moves everything both ways until both are quiet.
fn settle(now: Timestamp, a: &mut Connection, b: &mut Connection) {
    let mut buffer = vec![0; 64 << 10];
    while a.wants().write || b.wants().write {
        for _ in 0..2 {
            let n = a.transmit(now, 64 << 10).copy_to(&mut buffer);
            b.recv_slice(now, &buffer[..n]);
            std::mem::swap(a, b);
        }
    }
}

/// `n` calls: as the client knows them, and as the server does.
fn open(now: Timestamp, client: &mut Connection, server: &mut Connection, n: usize) -> (Vec<CallId>, Vec<CallId>) {
    let mut asking = Vec::new();
    for _ in 0..n {
        let id = client.start(now, RequestHead::new(MANY, Shape::ServerStreaming), CallOptions::default()).expect("room");
        client.call(id).expect("live").send(Bytes::from_static(b"go").into()).expect("room");
        asking.push(id);
    }
    settle(now, client, server);
    let mut calls = Vec::new();
    while let Some(event) = server.poll_event() {
        if let Event::Incoming { call } = event {
            server.accept(call, Token(0)).expect("there");
            assert!(matches!(server.call(call).expect("live").recv(), Recv::Message(_)));
            calls.push(call);
        }
    }
    (asking, calls)
}

/// More small messages queued than a write takes, for ever: the memory that they share does not grow with what was sent.
#[test]
fn sustained_small_messages_use_bounded_memory() {
    let now = Timestamp::from_micros(0);
    let (mut client, mut server) = ends();
    let (_, calls) = open(now, &mut client, &mut server, 20);
    let message = [7; 1_000];
    let (mut sent, mut buffer) = (0_u64, vec![0; 16 << 10]);
    let ((), used) = heap::measure(|| {
        while sent < 64 << 20 {
            for call in &calls {
                while server.call(*call).expect("live").send_with(message.len(), |out| out.extend_from_slice(&message)).is_ok() {
                    sent += 1_000;
                }
            }
            let n = server.transmit(now, 16 << 10).copy_to(&mut buffer);
            client.recv_slice(now, &buffer[..n]);
            while let Some(event) = client.poll_event() {
                if let Event::Readable { call, .. } = event {
                    while let Recv::Message(_) = client.call(call).expect("live").recv() {}
                }
            }
            let n = client.transmit(now, 16 << 10).copy_to(&mut buffer);
            server.recv_slice(now, &buffer[..n]);
        }
    });
    assert!(used.peak < 8 << 20, "{used:?}");
}

/// A peer that never reads: large messages of a hundred calls wait at their senders, not in the connection.
#[test]
fn large_messages_of_many_calls_do_not_pile_up() {
    let now = Timestamp::from_micros(0);
    let (mut client, mut server) = ends();
    let (asking, calls) = open(now, &mut client, &mut server, 100);
    let large = Bytes::from(vec![1; 1 << 20]);
    let blocked =
        calls.iter().filter(|call| matches!(server.call(**call).expect("live").send(large.clone().into()), Err(SendError::Blocked(_))));
    assert!(blocked.count() >= 98);
    // Small ones go on: a call must not stand still because others do.
    let last = *calls.last().expect("100");
    server.call(last).expect("live").send(Bytes::from_static(b"small").into()).expect("room");
    // Once the connection has room again, those who were refused are told.
    let mut told = 0;
    for _ in 0..200 {
        settle(now, &mut client, &mut server);
        while client.poll_event().is_some() {}
        for id in &asking {
            while let Recv::Message(_) = client.call(*id).expect("live").recv() {}
        }
        while let Some(event) = server.poll_event() {
            told += usize::from(matches!(event, Event::Writable { .. }));
        }
    }
    assert!(told >= 98, "{told} told");
}

/// One octet now and then is not reading.
#[test]
fn a_transport_that_dribbles_is_given_up() {
    let mut now = Timestamp::from_micros(0);
    let (mut client, mut server) = ends();
    let (_, calls) = open(now, &mut client, &mut server, 4);
    for call in &calls {
        server.call(*call).expect("live").send(Bytes::from(vec![1; 60_000]).into()).expect("room");
    }
    let mut octet = [0];
    for minute in 0..60 {
        server.transmit(now, 64 << 10).copy_to(&mut octet);
        now = now.saturating_add(Duration::from_secs(29));
        server.handle_timeout(now);
        if server.close_reason().is_some() {
            assert!(minute > 0);
            break;
        }
    }
    assert!(matches!(server.close_reason(), Some(CloseReason::Timeout { .. })), "{:?}", server.close_reason());
}

/// Bodies of plain requests wait in the stream's window, within the receive budget, and not for ever.
#[test]
fn plain_bodies_are_bounded_in_octets_and_time() {
    let mut now = Timestamp::from_micros(0);
    let mut config = Config::default();
    config.accept_http = true;
    let mut server = Connection::server(&config, Routes::new([(MANY, Shape::Unary)]).expect("a route"), now);
    server.recv_slice(now, &h2_frame::PREFACE);
    server.recv_slice(now, &h2_frame::settings_head(0));
    server.recv_slice(now, &h2_frame::settings_ack());
    // POST / http, authority "a": RFC 7541 indexed and literal fields.
    let block = [0x83, 0x86, 0x84, 0x01, 0x01, b'a'];
    for id in [1, 3] {
        server.recv_slice(now, &h2_frame::headers_head(block.len() as u32, id, false, true));
        server.recv_slice(now, &block);
    }
    let mut exchanges = Vec::new();
    while let Some(event) = server.poll_event() {
        if let Event::IncomingHttp { stream } = event {
            exchanges.push(Exchange::new(stream));
        }
    }
    let answer = |_: &pintle_core::http::Request| Some(Response::text("whole"));
    assert!(exchanges.iter_mut().all(|exchange| !exchange.advance(&mut server, answer)));
    // The first sends more than is taken: 413, although it has not ended.
    for _ in 0..MAX_BODY / 16_000 + 1 {
        server.recv_slice(now, &h2_frame::data_head(16_000, 1, false));
        server.recv_slice(now, &[0; 16_000]);
    }
    assert!(exchanges[0].advance(&mut server, answer));
    // The second sends nothing more: it is reset in time.
    now = now.saturating_add(Duration::from_secs(61));
    server.handle_timeout(now);
    assert!(exchanges[1].advance(&mut server, answer));
    let mut out = vec![0; 4096];
    let n = server.transmit(now, 4096).copy_to(&mut out);
    let reset = h2_frame::reset(3, pintle_core::ErrorCode::CANCEL);
    assert!(out[..n].windows(reset.len()).any(|at| at == reset), "no RST_STREAM(CANCEL) for the second");
}

/// The status of an error page is known before the page ends; the page is waited for a second.
#[test]
fn an_error_page_that_does_not_end_is_not_waited_for() {
    let mut now = Timestamp::from_micros(0);
    let mut client = Connection::client(&Config::default(), now);
    let id = client.start(now, RequestHead::new(MANY, Shape::Unary), CallOptions::default()).expect("room");
    client.call(id).expect("live").send(Bytes::new().into()).expect("room");
    let mut out = vec![0; 4096];
    client.transmit(now, 4096).copy_to(&mut out);
    client.recv_slice(now, &h2_frame::settings_head(0));
    // :status 502 as a literal with an indexed name (RFC 7541 §6.2.2), no content-type.
    let block = [0x08, 0x03, b'5', b'0', b'2'];
    client.recv_slice(now, &h2_frame::headers_head(block.len() as u32, 1, false, true));
    client.recv_slice(now, &block);
    now = now.saturating_add(Duration::from_secs(2));
    client.handle_timeout(now);
    assert!(matches!(client.call(id).expect("live").recv(), Recv::End));
    let outcome = client.call(id).expect("live").take_outcome().expect("ended");
    assert_eq!(outcome.status.code(), Code::Unavailable, "{}", outcome.status);
    assert!(outcome.trailers == Metadata::new() && outcome.status != Status::ok());
}
