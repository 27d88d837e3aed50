//! Codec, metadata and status through two connections: what one side says the other side hears.

use pintle_core::{
    CallId, CallOptions, Code, Config, Connection, Event, Metadata, Recv, RequestHead, Routes, Shape, Status, Token,
    bytes::Bytes,
    codec::{self, Codec, Raw},
    grpc::Origin,
    testing::{LinkConfig, Pair},
};
use std::time::Duration;

const SERVER: usize = 1;

fn pair() -> Pair {
    let routes = Routes::new([("/S/Unary", Shape::Unary), ("/S/Chat", Shape::Bidi)]).expect("valid routes");
    Pair::new([&Config::default(), &Config::default()], routes, LinkConfig::ideal(), 1)
}

fn start(pair: &mut Pair, path: &'static str, shape: Shape, metadata: &Metadata) -> CallId {
    let now = pair.now();
    let head = RequestHead::new(Bytes::from_static(path.as_bytes()), shape).with_metadata(metadata);
    pair.client().start(now, head, CallOptions::default()).expect("there is room")
}

fn settle(pair: &mut Pair) {
    pair.settle(Duration::from_secs(1));
    assert_eq!(pair.violations(), [""; 0]);
}

fn accept(pair: &mut Pair) -> CallId {
    while let Some(event) = pair.poll_event(SERVER) {
        if let Event::Incoming { call } = event {
            pair.server().accept(call, Token(0)).expect("it is there");
            return call;
        }
    }
    panic!("no call came");
}

/// Every message that is there; `true` if the end is, too.
fn read(conn: &mut Connection, call: CallId) -> (Vec<Bytes>, bool) {
    let mut call = conn.call(call).expect("a live call");
    let mut messages = Vec::new();
    loop {
        match call.recv() {
            Recv::Message(message) => messages.push(Raw::decode(message.payload).expect("raw")),
            Recv::Pending => return (messages, false),
            Recv::End => return (messages, true),
        }
    }
}

#[test]
fn small_and_large_items_are_sent_by_their_codec() {
    let mut pair = pair();
    let call = start(&mut pair, "/S/Chat", Shape::Bidi, &Metadata::new());
    let items = [0, 1, 4095, 4096, 100_000].map(|len| Bytes::from(vec![len as u8; len]));
    let mut got = Vec::new();
    settle(&mut pair);
    let mut served = None;
    for item in &items {
        codec::send::<Raw>(&mut pair.client().call(call).expect("live"), item).expect("there is room");
        settle(&mut pair);
        let server = *served.get_or_insert_with(|| accept(&mut pair));
        got.extend(read(pair.server(), server).0);
        settle(&mut pair);
        got.extend(read(pair.server(), server).0);
    }
    assert_eq!(got, items);
    pair.client().call(call).expect("live").close_send().expect("open");
    assert!(codec::send::<Raw>(&mut pair.client().call(call).expect("live"), &items[1]).is_err(), "closed");
    assert!(codec::send::<Raw>(&mut pair.client().call(call).expect("live"), &items[4]).is_err(), "closed");
}

#[test]
fn metadata_and_status_arrive_as_they_were_given() {
    let mut pair = pair();
    let mut request = Metadata::from_pairs([("tenant", "a"), ("tenant", "b"), ("empty", "")]).expect("valid");
    request.append_bin("trace-bin", &[0, 1, 255]).expect("valid");
    let call = start(&mut pair, "/S/Unary", Shape::Unary, &request);
    codec::send::<Raw>(&mut pair.client().call(call).expect("live"), &Bytes::from_static(b"hi")).expect("there is room");
    settle(&mut pair);
    let served = accept(&mut pair);
    assert_eq!(pair.server().call(served).expect("live").metadata(), &request);
    assert_eq!(read(pair.server(), served), (vec![Bytes::from_static(b"hi")], true));

    // google.rpc.Status { code: 5, message: "x" }.
    let details = Bytes::from_static(&[8, 5, 18, 1, b'x']);
    let message = "\t100 % no \u{263a}\n";
    let more = Metadata::from_pairs([("retry", "no")]).expect("valid");
    let trailers = Metadata::from_pairs([("cost", "3")]).expect("valid");
    let status = Status::not_found(message).with_details(details).with_metadata(more);
    pair.server().call(served).expect("live").finish(&status, Some(&trailers));
    settle(&mut pair);
    assert_eq!(read(pair.client(), call), (vec![], true));
    let outcome = pair.client().call(call).expect("live").take_outcome().expect("it has ended");
    let got = outcome.status;
    assert_eq!((got.code(), got.message(), got.details(), got.origin()), (Code::NotFound, message, status.details(), Origin::Peer));
    let names: Vec<_> = outcome.trailers.iter().collect();
    assert_eq!(names, [("cost", &b"3"[..]), ("retry", b"no")]);
    assert_eq!(pair.client().close_reason(), None, "only the call ended");
}

/// statuscodes.md on cardinality, and what a handler that forgot its message is answered by.
#[test]
fn a_handler_that_sends_no_message_is_an_internal_error() {
    let mut pair = pair();
    let call = start(&mut pair, "/S/Unary", Shape::Unary, &Metadata::new());
    codec::send::<Raw>(&mut pair.client().call(call).expect("live"), &Bytes::new()).expect("there is room");
    settle(&mut pair);
    let served = accept(&mut pair);
    assert_eq!(read(pair.server(), served), (vec![Bytes::new()], true));
    pair.server().call(served).expect("live").finish(&Status::ok(), None);
    settle(&mut pair);
    assert_eq!(read(pair.client(), call), (vec![], true));
    let outcome = pair.client().call(call).expect("live").take_outcome().expect("it has ended");
    assert_eq!(outcome.status.to_string(), "INTERNAL: the handler finished with OK but sent no response message (from the peer)");
}
