//! What an application may ask of a call and of a plain request beside the ordinary way, and what it hears when it asks too late.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    CallId, Code, Config, Connection, Endpoint, ErrorCode, Event, Metadata, Misuse, Recv, RequestHead, SendError, Shape, Status, StreamId,
    StreamRecv, Timestamp, Token,
    bytes::Bytes,
    codec::{self, Raw},
    http::{Exchange, Request, Response},
    testing::{Cut, raw::RESPONSE, wire::*},
};

/// A client by hand against a server that takes plain requests.
fn plain() -> Peer {
    let mut config = Config::default();
    config.accept_http = true;
    to_server_with(&config, Cut::Whole)
}

fn ask(peer: &mut Peer, stream: u32, method: &str, body: Option<&[u8]>) -> StreamId {
    let head = [(":method", method.as_bytes()), (":scheme", b"http"), (":path", b"/health?full"), (":authority", b"a"), ("accept", b"*/*")];
    peer.headers(stream, body == Some(b""), &literal_block(&head));
    if let Some(octets) = body.filter(|octets| !octets.is_empty()) {
        peer.data(stream, true, octets);
    }
    incoming(peer)
}

fn incoming(peer: &mut Peer) -> StreamId {
    while let Some(event) = peer.event() {
        if let Event::IncomingHttp { stream } = event {
            return stream;
        }
    }
    panic!("a plain request for the application")
}

fn answered(said: &[Said], stream: u32) -> (String, String, bool) {
    let mine = || said.iter().filter(|said| said.stream() == stream);
    let status = mine().find_map(|said| said.field(":status")).unwrap_or_default().to_owned();
    let body: Vec<u8> = mine().filter(|said| said.kind() == DATA).flat_map(|said| said.frame.payload.clone()).collect();
    (status, String::from_utf8(body).expect("text"), mine().any(Said::ends))
}

/// Method, body, answer; then the status, the body and whether the stream ended well (RFC 9110 §9.3.2 for HEAD).
#[test]
fn a_plain_request_has_one_answer() {
    type Row = (&'static str, &'static [u8], fn(&Request) -> Option<Response>, &'static str, &'static str, bool);
    let rows: [Row; 8] = [
        ("GET", b"", |_| Some(Response::text("fine")), "200", "fine", true),
        ("POST", b"body", |request| Some(Response::new(201, request.body.clone())), "201", "body", true),
        ("GET", b"", |request| Some(Response::text(request.path.clone())), "200", "/health?full", true),
        ("HEAD", b"", |_| Some(Response::text("fine")), "200", "", true),
        ("GET", b"", |_| Some(Response::new(204, Bytes::new())), "204", "", true),
        ("GET", b"", |_| None, "405", "", true),
        ("POST", b"", |_| None, "415", "", true),
        // Statuses below 200 are interim, and no answer.
        ("GET", b"", |_| Some(Response::new(102, "no")), "", "", false),
    ];
    for (index, (method, body, answer, status, text, well)) in rows.into_iter().enumerate() {
        let mut peer = plain();
        let id = ask(&mut peer, 1, method, Some(body));
        let mut exchange = Exchange::new(id);
        assert_eq!(exchange.id(), id);
        let mut seen = None;
        let done = exchange.advance(&mut peer.conn, |request| {
            seen = Some(request.clone());
            answer(request)
        });
        assert!(done, "row {index}");
        let seen = seen.expect("the request was whole");
        assert_eq!((&*seen.method, &*seen.path, seen.authority.as_deref(), &seen.body[..]), (method, "/health?full", Some("a"), body));
        assert_eq!(seen.headers.get("accept"), Some("*/*"), "row {index}");
        let said = peer.said();
        assert_eq!(answered(&said, 1), (status.to_owned(), text.to_owned(), well), "row {index}: {said:?}");
        let reset = said.iter().find_map(|said| said.reset_of(1));
        assert_eq!(reset, (!well).then_some(ErrorCode::INTERNAL_ERROR), "row {index}");
        assert!(peer.conn.stream(id).is_err(), "row {index}: the stream is let go");
        assert!(exchange.advance(&mut peer.conn, |_| panic!("it was answered")), "row {index}");
        peer.assert_whole();
        peer.assert_usable(3);
    }
}

/// What is taken back is answered by nobody, whichever part of it had come.
#[test]
fn a_plain_request_that_is_taken_back_is_forgotten() {
    let rows: [(&str, &[u8], bool); 3] = [("the head", b"", false), ("some of the body", b"half", false), ("all of it", b"", true)];
    for (name, body, whole) in rows {
        let mut peer = plain();
        let id = ask(&mut peer, 1, "POST", whole.then_some(body));
        if !body.is_empty() {
            peer.data(1, false, body);
        }
        let mut exchange = Exchange::new(id);
        let unasked = |_: &Request| panic!("{name}: nobody waits for an answer");
        if !whole {
            assert!(!exchange.advance(&mut peer.conn, unasked), "{name}");
            assert!(!peer.conn.stream(id).expect("live").is_reset());
        }
        peer.send(&rst_stream(1, ErrorCode::CANCEL.0));
        let told = peer.events();
        assert!(told.iter().any(|event| matches!(event, Event::StreamReadable { stream, .. } if *stream == id)), "{name}: {told:?}");
        assert!(exchange.advance(&mut peer.conn, unasked), "{name}");
        assert!(peer.conn.stream(id).is_err(), "{name}");
        assert!(peer.said().iter().all(|said| said.stream() != 1 || said.kind() == WINDOW_UPDATE), "{name}");
        peer.assert_whole();
        peer.assert_usable(3);
    }
}

#[test]
fn a_raw_stream_says_what_it_does_not_take() {
    let mut peer = plain();
    let id = ask(&mut peer, 1, "PUT", None);
    let none = Metadata::new();
    let mut stream = peer.conn.stream(id).expect("live");
    assert_eq!(stream.id(), id);
    assert_eq!((stream.request().method, stream.request().path, stream.pending_bytes()), ("PUT", "/health?full", (0, false)));
    assert!(matches!(stream.recv_bytes(), StreamRecv::Pending));
    assert!(matches!(stream.send_bytes(Bytes::from_static(b"x"), false), Err(SendError::Refused(octets, _)) if octets == "x"));
    assert!(stream.send_trailers(&none).is_err(), "no head yet");
    for status in [0, 100, 199, 600] {
        assert!(stream.send_headers(status, &none, false).is_err(), "{status}");
    }
    stream.send_headers(200, &none, false).expect("the first head");
    assert!(stream.send_headers(200, &none, false).is_err(), "a second head");
    stream.send_bytes(Bytes::from_static(b"all"), true).expect("room");
    assert!(matches!(stream.send_bytes(Bytes::new(), true), Err(SendError::Ended(_))));
    assert!(stream.send_trailers(&none).is_err(), "the body has ended");
    assert_eq!(answered(&peer.said(), 1), ("200".into(), "all".into(), true));
    peer.data(1, true, b"");
    peer.conn.stream(id).expect("live").release();

    // The slot is one of the connection's, and small.
    assert!(id.slot() < 8, "{}", id.slot());
    // A body that was begun and let go of did not end: the peer must not take it for whole (RFC 9113 §8.1).
    let id = ask(&mut peer, 3, "GET", Some(b""));
    let mut stream = peer.conn.stream(id).expect("live");
    stream.send_headers(200, &none, false).expect("the first head");
    stream.release();
    let said = peer.said();
    assert!(said.iter().any(|said| said.reset_of(3) == Some(ErrorCode::INTERNAL_ERROR)), "{said:?}");

    // After the peer's reset.
    let id = ask(&mut peer, 5, "POST", None);
    peer.send(&rst_stream(5, ErrorCode::CANCEL.0));
    let mut stream = peer.conn.stream(id).expect("live until it is let go");
    assert!(stream.send_headers(200, &none, true).is_err());
    assert!(matches!(stream.recv_bytes(), StreamRecv::Reset(ErrorCode::CANCEL)));
    stream.reset(ErrorCode::CANCEL);
    assert!(peer.said().iter().all(|said| said.reset_of(5).is_none()), "no reset answers a reset (RFC 9113 §5.4.2)");
    peer.assert_usable(7);
}

#[test]
fn a_call_says_who_it_is() {
    let mut peer = to_server(Cut::Whole);
    peer.request(1, "/S/M", false, &[("tenant", b"t1")]);
    let id = peer.accept();
    let mut call = peer.call(id);
    assert_eq!((call.id(), call.token(), call.path(), call.shape()), (id, Token(1), "/S/M", Shape::Bidi));
    call.set_token(Token(77));
    assert_eq!(call.token(), Token(77));
    assert_eq!(call.take_metadata().get("tenant"), Some("t1"));
    assert!(call.metadata().is_empty() && call.take_metadata().is_empty(), "it was taken out");
    assert!(call.try_recv().is_none());
    peer.data(1, false, &message(b"one"));
    assert!(peer.events().iter().any(|event| matches!(event, Event::Readable { token: Token(77), .. })), "the new token from now on");
    assert_eq!(peer.call(id).try_recv().map(|message| message.payload.into_bytes()), Some(Bytes::from_static(b"one")));
    assert!(peer.call(id).try_recv().is_none());
    assert_eq!(peer.call(id).close_send(), Err(Misuse("a server ends a call with finish")));
    peer.finish_ok(id);
    peer.said();

    let mut peer = to_client(Cut::Whole);
    let id = peer.start(Shape::Bidi);
    let mut call = peer.call(id);
    assert_eq!((call.id(), call.token(), call.path(), call.deadline()), (id, Token(0), "/S/M", None));
    assert!(call.send_headers(&Metadata::new(), true).is_err(), "a client's metadata goes with `start`");
    peer.said();
    peer.headers(1, false, RESPONSE).headers(1, true, &block(&[("grpc-status", "5"), ("grpc-message", "gone")]));
    assert_eq!(peer.call(id).close_send(), Ok(()), "there is nothing left to close");
    assert_eq!(peer.outcome(id).status.code(), Code::NotFound);
}

/// A method that no route has, where the application wants those too: the path is the client's word.
#[test]
fn a_path_without_a_route_is_kept_as_it_came() {
    let mut config = Config::default();
    config.accept_unknown_methods = true;
    let mut peer = to_server_with(&config, Cut::Whole);
    peer.request(1, "/any.Service/AnyMethod", true, &[]);
    let id = peer.accept();
    let call = peer.call(id);
    assert_eq!((call.path(), call.shape()), ("/any.Service/AnyMethod", Shape::Bidi));
    peer.finish_ok(id);
    assert_eq!(peer.said().last().and_then(|said| said.field("grpc-status").map(str::to_owned)).as_deref(), Some("0"));
}

/// `send_room` keeps its word: so much is taken, and not an octet more.
#[test]
fn room_is_what_is_taken() {
    let mut config = Config::default();
    // No transport reads, so that what is queued stays.
    config.send_buffer = 20_000;
    let open = |config: &Config| {
        let mut peer = to_server_with(config, Cut::Whole);
        peer.request(1, "/S/M", false, &[]);
        let id = peer.accept();
        (peer, id)
    };
    let (mut peer, id) = open(&config);
    let octets = |n: usize| Bytes::from(vec![7; n]);
    assert_eq!((peer.call(id).send_room(), peer.call(id).send_queued()), (20_000, 0));
    peer.call(id).send(octets(5_000).into()).expect("room");
    assert_eq!(peer.call(id).send_queued(), 5_005, "with the prefix of five octets");
    let room = peer.call(id).send_room();
    assert!(room > 0 && room < 15_000);
    assert!(is_blocked(&peer.call(id).send(octets(room + 1).into())), "{room}");
    assert!(matches!(codec::send::<Raw>(&mut peer.call(id), &octets(room + 1)), Err(SendError::Blocked(()))));
    peer.call(id).send(octets(room).into()).expect("as it said");
    assert_eq!(peer.call(id).send_room(), 0);
    // Once it went out, those who were refused are told.
    peer.said();
    assert!(peer.events().iter().any(|event| matches!(event, Event::Writable { call, .. } if *call == id)));
    peer.send(&rst_stream(1, ErrorCode::CANCEL.0));
    assert_eq!(peer.call(id).send_room(), 0, "the call is over");
    assert!(matches!(codec::send::<Raw>(&mut peer.call(id), &octets(9_000)), Err(SendError::Ended(()))));
    assert!(peer.call(id).send_headers(&Metadata::new(), true).is_err());
    peer.finish_ok(id);
    peer.said();
    peer.assert_whole();

    // A connection that has enough to write already: nothing more for who has something queued, a little for who has nothing.
    config.send_buffer = 1 << 20;
    config.connection_send_buffer = 64 << 10;
    let (mut peer, first) = open(&config);
    peer.request(3, "/S/M", false, &[]);
    let second = peer.accept();
    peer.call(first).send(octets(200_000).into()).expect("one is always taken");
    assert_eq!(peer.call(first).send_room(), 0);
    let room = peer.call(second).send_room();
    assert!(room > 0 && room < 1 << 20);
    peer.call(second).send(octets(room).into()).expect("as it said");
}

/// A driver that asks where to read to and then reads elsewhere loses nothing.
#[test]
fn a_target_may_be_left_unfilled() {
    let mut peer = to_server(Cut::Whole);
    peer.request(1, "/S/M", false, &[]);
    let id = peer.accept();
    assert!(matches!(peer.call(id).recv(), Recv::Pending));
    let payload: Vec<u8> = (0..15_000_u32).map(|n| n as u8).collect();
    let whole = frame(DATA, END_STREAM, 1, &message(&payload));
    peer.send(&whole[..1_000]);
    let lent = peer.conn.read_target().expect("a large message is read in place").len();
    assert!(lent <= whole.len() - 1_000);
    peer.conn.read_target().expect("the same again").fill(0xEE);
    peer.send(&whole[1_000..2_000]);
    let target = peer.conn.read_target().expect("there is more of it");
    target[..3_000].copy_from_slice(&whole[2_000..5_000]);
    peer.conn.filled(Timestamp::from_micros(0), 3_000);
    peer.send(&whole[5_000..]);
    assert_eq!(peer.messages(id), (vec![Bytes::from(payload)], true));
    peer.finish_ok(id);
    peer.said();
    peer.assert_whole();
}

/// One plain write where everything lies in one run, a gathering one where a large message is lent.
#[test]
fn small_output_is_one_slice() {
    let now = Timestamp::from_micros(0);
    let mut client = Connection::client(&Config::default(), now);
    let start = |client: &mut Connection| -> CallId {
        client.start(now, RequestHead::new("/S/U", Shape::Unary), <_>::default()).expect("the client takes calls")
    };
    let id = start(&mut client);
    client.call(id).expect("live").send_with(2, |out| out.extend_from_slice(b"hi")).expect("room");
    let mut out = vec![0; 64 << 10];
    let mut lent = client.transmit(now, 64 << 10);
    let all = lent.single().expect("one run").to_vec();
    assert_eq!(all.len(), lent.len());
    let n = lent.copy_to(&mut out);
    assert_eq!(all, out[..n]);
    let id = start(&mut client);
    client.call(id).expect("live").send(Bytes::from(vec![1; 10_000]).into()).expect("room");
    assert_eq!(client.transmit(now, 64 << 10).single(), None);
}

/// The details of a status count when their code is that of the status. Fields that `google.rpc.Status` does not have are passed over
/// by their wire type, as protobuf demands; a group (wire type 3) is not understood.
#[test]
fn details_with_unknown_fields_are_read() {
    // Field 1 as fixed64, field 2 as fixed32, field 1 as the varint 5; the same with the code 6; a group, then the code 5.
    let rows = [("CQECAwQFBgcIFQECAwQIBQ", 16), ("CQECAwQFBgcIFQECAwQIBg", 0), ("CwgF", 0)];
    for (details, length) in rows {
        let mut peer = to_client(Cut::Whole);
        let id = peer.unary(b"x");
        peer.said();
        peer.headers(1, false, RESPONSE).headers(1, true, &block(&[("grpc-status", "5"), ("grpc-status-details-bin", details)]));
        let status: Status = peer.outcome(id).status;
        assert_eq!((status.code(), status.details().len()), (Code::NotFound, length), "{details}");
    }
}
