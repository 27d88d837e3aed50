//! Two endpoints of one process on a `Line`: the four shapes, backpressure, deadlines and both ways to end.

use bytes::Bytes;
use pintle_core::{
    CallOptions, CloseReason, Code, Config, Connection, Endpoint, Event, Recv, RequestHead, SendError, Shape, Timestamp, Token,
    pair::Line,
    testing::echo::{self, EchoClient, EchoServer, METHODS, Request, expand_request, pattern, shape_number},
};
use std::time::Duration;

const START: Timestamp = Timestamp::from_micros(1_000_000);

fn ends() -> (Connection, Connection) {
    (Connection::client(&Config::default(), START), Connection::server(&Config::default(), echo::routes(), START))
}

/// Works on both until nothing happens any more; returns how many octets passed.
fn settle(line: &mut Line, now: Timestamp, ends: &mut (Connection, Connection), server: &mut EchoServer, client: &mut EchoClient) -> usize {
    let mut passed = 0;
    loop {
        passed += line.exchange(now, &mut ends.0, &mut ends.1);
        let mut events = 0;
        while let Some(event) = ends.1.poll_event() {
            server.on_event(&mut ends.1, event);
            events += 1;
        }
        while let Some(event) = ends.0.poll_event() {
            client.on_event(&mut ends.0, event);
            events += 1;
        }
        if events == 0 && !ends.0.wants().write && !ends.1.wants().write {
            return passed;
        }
    }
}

fn start(client: &mut Connection, shape: Shape, deadline: Option<Timestamp>) -> pintle_core::CallId {
    let path = Bytes::from_static(METHODS[shape_number(shape)].0.as_bytes());
    client.start(START, RequestHead::new(path, shape), CallOptions::default().deadline(deadline)).expect("room")
}

#[test]
fn four_shapes_and_three_megabytes() {
    let mut ends = ends();
    let (mut line, mut server) = (Line::new(), EchoServer::default());
    let messages = |count: usize, len: usize| (0..count).map(|n| pattern(n as u64, len)).collect::<Vec<_>>();
    let requests = vec![
        Request::new(Shape::Unary, messages(1, 5)),
        Request::new(Shape::Unary, messages(1, 3_000_000)),
        Request::new(Shape::ServerStreaming, vec![expand_request(200, 10_000)]),
        Request::new(Shape::ClientStreaming, messages(100, 10_000)),
        Request::new(Shape::Bidi, messages(50, 50_000)),
    ];
    let sent: usize = requests.iter().flat_map(|request| &request.messages).map(Bytes::len).sum();
    let mut client = EchoClient::start(&mut ends.0, START, requests);
    let passed = settle(&mut line, START, &mut ends, &mut server, &mut client);
    assert_eq!(client.wrong_answers(), [""; 0]);
    assert!(passed > sent && server.running() == 0 && !line.is_closed());
}

/// What nobody takes stays where it was sent.
#[test]
fn a_slow_reader_holds_the_sender() {
    let (mut client, mut server) = ends();
    let mut line = Line::new();
    let id = start(&mut client, Shape::Bidi, None);
    client.call(id).expect("live").send(Bytes::from_static(b"go").into()).expect("room");
    line.exchange(START, &mut client, &mut server);
    let Some(Event::Incoming { call }) = server.poll_event() else { panic!("a call came") };
    server.accept(call, Token(0)).expect("it is there");
    let (mut sent, message) = (0, Bytes::from(vec![1; 10_000]));
    loop {
        match server.call(call).expect("live").send(message.clone().into()) {
            Ok(()) => sent += 1,
            Err(SendError::Blocked(_)) if line.exchange(START, &mut client, &mut server) > 0 => {}
            Err(SendError::Blocked(_)) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let config = Config::default();
    let most = (config.initial_window + config.send_buffer) as usize / message.len() + 1;
    assert!(sent <= most && sent > most / 2, "{sent} of at most {most}");
    let mut got = 0;
    while got < sent {
        line.exchange(START, &mut client, &mut server);
        while let Recv::Message(_) = client.call(id).expect("live").recv() {
            got += 1;
        }
    }
}

#[test]
fn a_deadline_passes_on_both_ends() {
    let (mut client, mut server) = ends();
    let mut line = Line::new();
    let at = START.saturating_add(Duration::from_millis(5));
    let id = start(&mut client, Shape::Unary, Some(at));
    client.call(id).expect("live").send(Bytes::new().into()).expect("room");
    line.exchange(START, &mut client, &mut server);
    let Some(Event::Incoming { call }) = server.poll_event() else { panic!("a call came") };
    server.accept(call, Token(7)).expect("it is there");
    while client.poll_event().is_some() {}
    let mut now = START;
    while server.poll_event().is_none_or(|event| !matches!(event, Event::Finished { token: Token(7), .. })) {
        now = Line::deadline(&client, &server).expect("a deadline runs");
        assert!(now <= START.saturating_add(Duration::from_millis(50)));
        line.exchange(now, &mut client, &mut server);
    }
    assert!(now >= at);
    assert!(matches!(client.call(id).expect("live").recv(), Recv::End));
    assert_eq!(client.call(id).expect("live").take_outcome().expect("over").status.code(), Code::DeadlineExceeded);
}

/// One end finishes: the other is told, once, and then nothing passes any more.
#[test]
fn the_end_of_one_is_the_end_of_the_other() {
    let (mut client, mut server) = ends();
    let mut line = Line::new();
    let id = start(&mut client, Shape::Bidi, None);
    line.exchange(START, &mut client, &mut server);
    assert!(matches!(server.poll_event(), Some(Event::Incoming { .. })));
    server.close(START);
    assert!(line.exchange(START, &mut client, &mut server) > 0);
    assert!(line.is_closed() && client.is_finished() && server.is_finished());
    assert!(matches!(client.close_reason(), Some(CloseReason::Peer { .. })), "{:?}", client.close_reason());
    assert_eq!(client.call(id).expect("live").take_outcome().expect("over").status.code(), Code::Unavailable);
    assert_eq!(line.exchange(START, &mut client, &mut server), 0);

    // A drain ends an idle pair by itself.
    let (mut client, mut server) = ends();
    let mut line = Line::new();
    line.exchange(START, &mut client, &mut server);
    server.drain(START, None);
    line.exchange(START, &mut client, &mut server);
    assert!(line.is_closed(), "{:?} {:?}", client.close_reason(), server.close_reason());
}
