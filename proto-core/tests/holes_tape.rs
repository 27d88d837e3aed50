//! A recorder stands where the connection stood: every way into an [`Endpoint`] goes through it, is on the tape, and plays.

use pintle_core::{
    Config, Connection, Endpoint, ErrorCode, Event, Recv, Routes, Shape, Timestamp, Token,
    http::{Exchange, Response},
    tape::{self, CallOp, Reader, Record, Recorder, Replay, ReplayError, StreamOp, TapeError},
    testing::wire::{DATA, END_HEADERS, END_STREAM, HEADERS, frame, literal_block, message, rst_stream},
};
use std::time::Duration;

const START: Timestamp = Timestamp::from_micros(7_000_000);

/// A server with a call on stream 1 and plain requests on 3, 5 and 7, each input by another way; the tape, and the octets it sent.
fn every_way_in() -> (Vec<u8>, usize) {
    let mut config = Config::default();
    config.accept_http = true;
    let routes = Routes::new([("/a/B", Shape::Bidi)]).expect("a route");
    let mut server = Recorder::new(Connection::server(&config, routes, START), Vec::new());
    let begun = server.sink().len();
    server.recv_slice(START, &h2_frame::PREFACE);
    server.recv_slice(START, &h2_frame::settings_head(0));
    assert!(server.sink().len() > begun, "the sink has what was recorded as soon as an input is done");
    let grpc = [
        (":method", &b"POST"[..]),
        (":scheme", b"http"),
        (":path", b"/a/B"),
        ("content-type", b"application/grpc"),
        ("te", b"trailers"),
        ("tenant", b"t"),
    ];
    server.recv_slice(START, &frame(HEADERS, END_HEADERS, 1, &literal_block(&grpc)));
    for id in [3, 5, 7] {
        let plain = [(":method", &b"GET"[..]), (":scheme", b"http"), (":path", b"/"), (":authority", b"a")];
        server.recv_slice(START, &frame(HEADERS, END_HEADERS | END_STREAM, id, &literal_block(&plain)));
    }
    server.recv_slice(START, &rst_stream(7, ErrorCode::CANCEL.0));
    let mut streams = Vec::new();
    let mut calls = Vec::new();
    while let Some(event) = server.conn_mut().poll_event() {
        match event {
            Event::IncomingHttp { stream } => streams.push(stream),
            Event::Incoming { call } => calls.push(call),
            _ => {}
        }
    }
    let (&[call], &[reset, released, gone]) = (&calls[..], &streams[..]) else { panic!("{calls:?} {streams:?}") };
    server.conn_mut().accept(call, Token(1)).expect("it is there");
    let mut view = server.conn_mut().call(call).expect("live");
    assert!(view.try_recv().is_none() && matches!(view.recv(), Recv::Pending));
    assert_eq!(view.take_metadata().get("tenant"), Some("t"));
    server.conn_mut().stream(reset).expect("live").reset(ErrorCode::REFUSED_STREAM);
    server.conn_mut().stream(released).expect("live").release();
    let mut stream = server.conn_mut().stream(gone).expect("live until it is let go");
    let _ = stream.recv_bytes();
    stream.release();
    large_message(&mut server);
    let mut view = server.conn_mut().call(call).expect("live");
    assert_eq!(view.try_recv().map(|message| message.payload.len()), Some(15_000));
    view.cancel();
    let mut out = vec![0; 64 << 10];
    let mut sent = server.transmit(START, out.len()).copy_to(&mut out);
    // Nobody acknowledges the SETTINGS.
    let late = server.wants().deadline.expect("a timer runs").saturating_add(Duration::from_secs(3_600));
    server.handle_timeout(late);
    assert!(server.conn().close_reason().is_some() && server.is_recording());
    sent += server.transmit(late, out.len()).copy_to(&mut out);
    (server.into_parts().1, sent)
}

/// A message on stream 1, most of it read in place.
fn large_message(server: &mut Recorder<Connection, Vec<u8>>) {
    let whole = frame(DATA, END_STREAM, 1, &message(&[9; 15_000]));
    server.recv_slice(START, &whole[..500]);
    let target = server.read_target().expect("a large message is read in place");
    target[..10_000].copy_from_slice(&whole[500..10_500]);
    server.filled(START, 10_000);
    server.recv_slice(START, &whole[10_500..]);
}

#[test]
fn every_way_in_is_on_the_tape_and_plays() {
    let (tape, sent) = every_way_in();
    let played = tape::replay(&tape).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((played.octets_out, played.cut, played.stopped), (sent as u64, 0, false));

    let mut replay = Replay::new(&tape).expect("a tape");
    assert!(replay.conn().is_none(), "nothing was played");
    let (mut before, mut kinds) = (START, [0; 6]);
    while let Some(step) = replay.step().expect("it plays") {
        assert!(replay.conn().is_some());
        if let Some(now) = step.record.now() {
            assert!(now >= before, "{}", step.record);
            before = now;
        }
        let kind = match &step.record {
            Record::Filled { octets, .. } if octets.len() == 10_000 => 0,
            Record::Timeout { .. } => 1,
            Record::Call { op: CallOp::TakeMetadata, .. } => 2,
            Record::Call { op: CallOp::TryRecv(_), .. } => 3,
            Record::Stream { op: StreamOp::Reset(code), .. } if *code == ErrorCode::REFUSED_STREAM.0 => 4,
            Record::Stream { op: StreamOp::RecvBytes(tape::Got::Reset), .. } => 5,
            _ => continue,
        };
        kinds[kind] += 1;
    }
    assert!(replay.conn().expect("played").close_reason().is_some(), "as it ended");
    assert!(kinds[3] == 2 && kinds.iter().all(|count| *count > 0), "{kinds:?}");
    assert!(before > START);
}

/// What is put together of two tapes is no tape.
#[test]
fn a_tape_begins_once() {
    let (tape, _) = every_way_in();
    let mut reader = Reader::new(&tape).expect("a tape");
    let first = reader.position();
    reader.next_record().expect("whole").expect("the beginning");
    let beginning = &tape[first..reader.position()];
    let twice = [&tape[..reader.position()], beginning].concat();
    let Err(ReplayError::Tape { error, .. }) = tape::replay(&twice) else { panic!("it played twice") };
    assert_eq!(error, TapeError::Broken("a second beginning"));
    let none = [&tape[..first], &tape[reader.position()..]].concat();
    let Err(ReplayError::Tape { error, .. }) = tape::replay(&none) else { panic!("it played without a beginning") };
    assert!(matches!(error, TapeError::Broken(_)), "{error}");
}

/// A stream that was let go of is let go of in the replay: the next request has its slot.
#[test]
fn plain_requests_one_after_the_other_play() {
    let mut config = Config::default();
    config.accept_http = true;
    let mut server = Recorder::new(Connection::server(&config, Routes::new([]).expect("none"), START), Vec::new());
    server.recv_slice(START, &h2_frame::PREFACE);
    server.recv_slice(START, &h2_frame::settings_head(0));
    let mut out = vec![0; 4_096];
    for id in [1, 3] {
        // GET / http, authority "a": RFC 7541 indexed and literal fields.
        server.recv_slice(START, &frame(HEADERS, END_HEADERS | END_STREAM, id, &[0x82, 0x86, 0x84, 0x01, 0x01, b'a']));
        while let Some(event) = server.conn_mut().poll_event() {
            if let Event::IncomingHttp { stream } = event {
                assert!(Exchange::new(stream).advance(server.conn_mut(), |_| Some(Response::text("fine"))));
            }
        }
        server.transmit(START, out.len()).copy_to(&mut out);
    }
    let (_, tape) = server.into_parts();
    tape::replay(&tape).unwrap_or_else(|error| panic!("{error}"));
}
