//! What calls cost the heap, counted; and that large `bytes` fields are not copied, by their addresses.
#![cfg(feature = "prost")]

#[path = "support/heap.rs"]
mod heap;

use bytes::Bytes;
use heap::{measure, measure_large};
use pintle_core::{
    CallOptions, Code, Config, Connection, Endpoint, Event, Recv, RequestHead, Routes, Shape, Status, Timestamp, Token,
    codec::{self, Codec, Prost},
    testing::pass,
};

const NOW: Timestamp = Timestamp::from_micros(1_000_000);
const PATH: &str = "/pintle.test.Echo/Unary";

#[derive(Clone, PartialEq, prost::Message)]
struct Blob {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "bytes", tag = "2")]
    data: Bytes,
}

/// A client and a server after the handshake.
fn pair() -> (Connection, Connection) {
    let config = Config::default();
    let routes = Routes::new([(PATH, Shape::Unary)]).expect("a valid path");
    let (mut client, mut server) = (Connection::client(&config, NOW), Connection::server(&config, routes, NOW));
    while pass(NOW, &mut client, &mut server) + pass(NOW, &mut server, &mut client) > 0 {}
    (client, server)
}

/// One unary call with this request, answered by `serve`.
fn call(client: &mut Connection, server: &mut Connection, request: &[u8], serve: impl Fn(&mut pintle_core::Call<'_>)) -> Bytes {
    let head = RequestHead::new(Bytes::from_static(PATH.as_bytes()), Shape::Unary);
    let id = client.start(NOW, head, CallOptions::default()).expect("a call");
    let mut view = client.call(id).expect("live");
    view.send_with(request.len(), |buffer| buffer.extend_from_slice(request)).expect("room");
    pass(NOW, client, server);
    while let Some(event) = server.poll_event() {
        if let Event::Incoming { call } = event {
            server.accept(call, Token(1)).expect("still there");
            let mut view = server.call(call).expect("live");
            let Recv::Message(message) = view.recv() else { panic!("a unary request comes whole") };
            assert_eq!(message.payload.len(), request.len());
            serve(&mut view);
            server.call(call).expect("live").finish(&Status::ok(), None);
        }
    }
    pass(NOW, server, client);
    while client.poll_event().is_some() {}
    let mut view = client.call(id).expect("live");
    let Recv::Message(message) = view.recv() else { panic!("the answer is there") };
    assert!(matches!(view.recv(), Recv::End));
    assert_eq!(view.take_outcome().expect("ended").status.code(), Code::Ok);
    message.payload.into_bytes()
}

fn unary(client: &mut Connection, server: &mut Connection, octets: &[u8]) {
    let answer =
        call(client, server, octets, |view| view.send_with(octets.len(), |buffer| buffer.extend_from_slice(octets)).expect("room"));
    assert_eq!(answer.len(), octets.len());
}

/// A steady-state unary call costs client and server together at most two allocations beyond the buffers of the two messages received.
#[test]
fn a_unary_call_allocates_next_to_nothing() {
    let (mut client, mut server) = pair();
    for (size, buffers) in [(0, 0), (8, 0), (200, 0), (1_000, 2), (3_000, 2)] {
        let octets = vec![7; size];
        (0..200).for_each(|_| unary(&mut client, &mut server, &octets));
        let ((), used) = measure(|| (0..1_000).for_each(|_| unary(&mut client, &mut server, &octets)));
        println!("{size} octets: {} allocations in 1,000 calls, {buffers} of a call are message buffers", used.allocations);
        assert!(used.allocations <= 1_000 * (2 + buffers), "{size}: {used:?}");
        assert!(used.kept < 64 << 10, "{size}: {used:?}");
    }
}

/// Idle again after a thousand calls, a connection holds no more than after a few.
#[test]
fn calls_leave_nothing_behind() {
    let (mut client, mut server) = pair();
    let large = vec![7; 60_000];
    let round = |client: &mut Connection, server: &mut Connection| {
        (0..50).for_each(|_| unary(client, server, &large));
        (0..50).for_each(|_| unary(client, server, b"small"));
    };
    round(&mut client, &mut server);
    let ((), used) = measure(|| (0..10).for_each(|_| round(&mut client, &mut server)));
    assert!(used.kept <= 4 << 10, "{used:?}");
}

/// The octets of `slice` lie in `whole`.
fn within(slice: &[u8], whole: &[u8]) -> bool {
    whole.as_ptr_range().start <= slice.as_ptr() && slice.as_ptr_range().end <= whole.as_ptr_range().end
}

/// A 100 kB `bytes` field goes from the struct to the slices of a gathering write without a copy.
#[test]
fn from_struct_to_iovec_without_a_copy() {
    let (mut client, _) = pair();
    let blob = Blob { name: "large".into(), data: Bytes::from(vec![9; 100_000]) };
    let id = client.start(NOW, RequestHead::new(PATH, Shape::Unary), CallOptions::default()).expect("a call");
    let ((), used) = measure_large(90_000, || codec::send::<Prost<Blob>>(&mut client.call(id).expect("live"), &blob).expect("room"));
    assert_eq!(used.large, 0, "{used:?}");
    let (mut aliased, mut all) = (0, 0);
    let ((), used) = measure_large(16_000, || {
        loop {
            let mut out = client.transmit(NOW, 1 << 20);
            let mut slices: [&[u8]; 32] = [&[]; 32];
            let n = out.chunks(&mut slices);
            let lent: usize = slices[..n].iter().map(|slice| slice.len()).sum();
            aliased += slices[..n].iter().filter(|slice| within(slice, &blob.data)).map(|slice| slice.len()).sum::<usize>();
            if lent == 0 {
                break;
            }
            all += lent;
            out.advance(lent);
        }
    });
    // The peer's connection window is a megabyte, so is the budget: everything but the window of 65,535 to begin with has room.
    assert!(all > 100_000, "only {all} octets were lent");
    assert_eq!(aliased, 100_000, "octets of the field that were lent where they lie");
    assert_eq!(used.large, 0, "{used:?}");
}

/// From the socket's octets to the message: one allocation of its size, so at most one copy; from there to the struct: none.
#[test]
fn from_socket_to_struct_with_one_copy() {
    let (mut client, mut server) = pair();
    let blob = Blob { name: "large".into(), data: Bytes::from(vec![9; 100_000]) };
    let id = client.start(NOW, RequestHead::new(PATH, Shape::Unary), CallOptions::default()).expect("a call");
    codec::send::<Prost<Blob>>(&mut client.call(id).expect("live"), &blob).expect("room");
    let mut wire = Vec::new();
    loop {
        let mut out = client.transmit(NOW, 1 << 20);
        let start = wire.len();
        wire.resize(start + out.len(), 0);
        if out.copy_to(&mut wire[start..]) == 0 {
            break;
        }
    }
    for scatter in [false, true] {
        let (message, used) = measure_large(90_000, || {
            for piece in wire.chunks(5_000) {
                let mut piece = piece;
                if scatter && let Some(target) = server.read_target() {
                    let n = target.len().min(piece.len());
                    target[..n].copy_from_slice(&piece[..n]);
                    server.filled(NOW, n);
                    piece = &piece[n..];
                }
                server.recv_slice(NOW, piece);
            }
            let Some(Event::Incoming { call }) = server.poll_event() else { panic!("a whole request") };
            server.accept(call, Token(1)).expect("still there");
            let Recv::Message(message) = server.call(call).expect("live").recv() else { panic!("it is whole") };
            message
        });
        assert_eq!(used.large, 1, "one buffer of the message's size: {used:?}");
        let buffer = message.payload.clone();
        let (decoded, used) = measure_large(90_000, || Prost::<Blob>::decode(message.payload).expect("a blob"));
        assert_eq!(used.large, 0, "{used:?}");
        assert!(within(&decoded.data, buffer.segments().next().expect("one run")));
        assert_eq!(decoded, blob);
        // The same octets again, for a fresh server: HPACK begins anew.
        server = pair().1;
    }
}
