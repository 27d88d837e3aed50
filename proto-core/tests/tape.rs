//! The flight recorder: what was recorded plays to the same octet, whole or cut, and a difference is found and named.

use bytes::Bytes;
use pintle_core::{
    CallOptions, Config, Connection, Endpoint, Event, Metadata, Recv, RequestHead, Routes, Shape, Status, StreamRecv, Timestamp, Token,
    http::{Exchange, Response},
    tape::{self, CallOp, Detail, Reader, Record, Recorder, ReplayError, Sink, SinkFailed, StreamOp, TapeError},
    testing::{CLIENT, LinkConfig, Op, Rng, SERVER, World, pass},
};

const START: Timestamp = Timestamp::from_micros(7_000_000);

/// Appends what the connection has recorded.
fn drain(conn: &mut Connection, tape: &mut Vec<u8>) {
    conn.drain_tape(|octets| {
        tape.extend_from_slice(octets);
        Ok::<_, ()>(())
    })
    .expect("memory takes everything");
}

/// A random connection: random link, limits and operations. The tapes of both ends.
fn random(seed: u64, operations: usize, detail: Detail) -> [Vec<u8>; 2] {
    let mut rng = Rng::new(seed);
    let configs = [World::config(&mut rng), World::config(&mut rng)];
    let mut world = World::new(configs, LinkConfig::random(&mut rng), rng.next_u64());
    let mut tapes = [Vec::new(), Vec::new()];
    for end in [CLIENT, SERVER] {
        world.pair.conn(end).start_tape(detail).expect("it is fresh");
    }
    for _ in 0..operations {
        let octets: [u8; 6] = core::array::from_fn(|_| rng.next_u64() as u8);
        let op = Op::decode(&octets);
        // What the stack is made to do from inside is not an input, and on no tape.
        if !matches!(op, Op::Fail { .. } | Op::Reset { .. }) {
            world.apply(op);
        }
        for end in [CLIENT, SERVER] {
            drain(world.pair.conn(end), &mut tapes[end]);
        }
    }
    assert!(world.faults().is_empty(), "seed {seed}: {}", world.summary());
    for end in [CLIENT, SERVER] {
        let played = tape::replay(&tapes[end]).unwrap_or_else(|error| panic!("seed {seed}, end {end}: {error}"));
        let stats = world.pair.conn(end).stats();
        assert_eq!((played.octets_in, played.octets_out), (stats.octets_received, stats.octets_sent), "seed {seed}, end {end}");
        assert_eq!((played.cut, played.stopped), (0, false));
    }
    tapes
}

fn records(tape: &[u8]) -> Vec<(usize, Record<'_>)> {
    let mut reader = Reader::new(tape).expect("a tape");
    let mut records = Vec::new();
    loop {
        let position = reader.position();
        match reader.next_record().expect("a record") {
            Some(record) => records.push((position, record)),
            None => return records,
        }
    }
}

#[test]
fn random_connections_play_to_the_same_octet() {
    let (mut octets, mut targets, mut resets, mut refused) = (0, 0, 0, 0);
    for seed in 0..60 {
        let detail = if seed % 4 == 0 { Detail::Hash } else { Detail::Octets };
        for tape in random(seed, 150, detail) {
            octets += tape.len();
            for (_, record) in records(&tape) {
                targets += usize::from(matches!(record, Record::Filled { .. }));
                resets += usize::from(matches!(record, Record::Call { op: CallOp::Cancel, .. }));
                refused += usize::from(matches!(record, Record::Call { op: CallOp::SendRefused(_), .. }));
            }
        }
    }
    assert!(octets > 1 << 20 && targets > 20 && resets > 20 && refused > 20, "hard places: {octets} {targets} {resets} {refused}");
}

/// One call of each end, recorded by the layer as a driver would use it.
fn one_call(detail: Detail) -> [Vec<u8>; 2] {
    let routes = Routes::new([("/echo.Echo/Unary", Shape::Unary)]).expect("a route");
    let mut client = Recorder::with_detail(Connection::client(&Config::default(), START), Vec::new(), detail);
    let mut server = Recorder::with_detail(Connection::server(&Config::default(), routes, START), Vec::new(), detail);
    assert!(client.is_recording() && server.is_recording() && client.stopped().is_none());
    let metadata = Metadata::from_pairs([("tenant", "a")]).expect("valid");
    let head = RequestHead::new("/echo.Echo/Unary", Shape::Unary).with_metadata(&metadata);
    let later = Timestamp::from_micros(7_900_000);
    let call = client.conn_mut().start(START, head, CallOptions::default().deadline(Some(later)).token(Token(9))).expect("room");
    client.conn_mut().call(call).expect("live").send_with(5, |out| out.extend_from_slice(b"hello")).expect("room");
    shuttle(&mut client, &mut server, 11);
    let Some(Event::Incoming { call: incoming }) = server.conn_mut().poll_event() else { panic!("a request came") };
    server.conn_mut().accept(incoming, Token(1)).expect("it is there");
    let mut request = server.conn_mut().call(incoming).expect("live");
    let Recv::Message(message) = request.recv() else { panic!("it is whole") };
    request.send(message.payload).expect("room");
    request.finish(&Status::ok(), Some(&metadata));
    shuttle(&mut server, &mut client, 13);
    let mut response = client.conn_mut().call(call).expect("live");
    assert!(matches!(response.recv(), Recv::Message(_)) && matches!(response.recv(), Recv::End));
    assert!(response.take_outcome().expect("over").status.is_ok());
    [client.into_parts().1, server.into_parts().1]
}

/// Octets in small writes, each written whole before the next.
fn shuttle<E: Endpoint>(from: &mut E, to: &mut E, cut: usize) {
    let mut buffer = vec![0; cut];
    let mut now = START;
    while from.wants().write {
        now = now.saturating_add(core::time::Duration::from_micros(17));
        let n = from.transmit(now, 4096).copy_to(&mut buffer);
        to.recv_slice(now, &buffer[..n]);
    }
}

#[test]
fn a_tape_cut_anywhere_plays_what_is_left_of_it() {
    for detail in [Detail::Octets, Detail::Hash] {
        for tape in one_call(detail) {
            let whole = tape::replay(&tape).expect("it plays");
            let starts: Vec<usize> = records(&tape).into_iter().map(|(at, _)| at).collect();
            for cut in 0..=tape.len() {
                let played = tape::replay(&tape[..cut]).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
                let last = starts.iter().chain([&tape.len()]).rfind(|at| **at <= cut).copied().unwrap_or(cut);
                assert_eq!(played.cut, cut - last, "cut at {cut}");
                assert_eq!(played.records, starts.iter().chain([&tape.len()]).filter(|at| **at <= cut).count().saturating_sub(1));
            }
            assert_eq!((whole.cut, whole.records), (0, starts.len()));
        }
    }
}

#[test]
fn large_tapes_play_wherever_they_are_cut() {
    let mut rng = Rng::new(5);
    for seed in 100..104 {
        for tape in random(seed, 120, Detail::Octets) {
            for _ in 0..12 {
                let cut = rng.below(tape.len() as u64) as usize;
                let played = tape::replay(&tape[..cut]).unwrap_or_else(|error| panic!("seed {seed} cut at {cut}: {error}"));
                assert!(played.cut <= cut);
            }
        }
    }
}

/// A hash instead of the octets: smaller, and just as strict.
#[test]
fn a_hash_is_smaller_and_finds_a_difference_too() {
    let (octets, hashed) = (one_call(Detail::Octets), one_call(Detail::Hash));
    for end in [CLIENT, SERVER] {
        assert!(hashed[end].len() < octets[end].len());
        let mut changed = hashed[end].clone();
        let (at, _) = records(&hashed[end])
            .into_iter()
            .find(|(_, record)| matches!(record, Record::Transmit { staged, .. } if !staged.is_empty()))
            .expect("something was sent");
        // Length, kind, and somewhere behind the hash, whose last octet this is.
        let end_of_record = at + 1 + usize::from(changed[at]);
        changed[end_of_record - 1] ^= 1;
        let Err(ReplayError::Differs(difference)) = tape::replay(&changed) else { panic!("a changed hash played") };
        assert_eq!((difference.position, difference.sent), (at, None), "{difference:?}");
    }
}

#[test]
fn a_difference_is_named_to_the_octet() {
    let [tape, _] = one_call(Detail::Octets);
    let (mut at, mut sent) = (0, 0);
    for (position, record) in records(&tape) {
        if let Record::Transmit { staged, .. } = record {
            if sent + staged.len() > 40 {
                at = position;
                break;
            }
            sent += staged.len();
        }
    }
    let mut reader = Reader::new(&tape[..]).expect("a tape");
    while reader.position() <= at {
        reader.next_record().expect("a record");
    }
    let mut changed = tape.clone();
    // The third octet from the end of what was framed: another octet on the wire.
    let changed_at = reader.position() - 3;
    changed[changed_at] ^= 0xff;
    let Err(error) = tape::replay(&changed) else { panic!("another octet played") };
    let ReplayError::Differs(difference) = &error else { panic!("{error}") };
    assert_eq!(difference.position, at);
    let Some((_, Record::Transmit { staged, .. })) = records(&tape).into_iter().find(|(position, _)| *position == at) else { panic!() };
    assert_eq!(difference.sent, Some(sent + staged.len() - 3));
    assert!(error.to_string().contains("plays otherwise") && error.to_string().contains("of what was sent"), "{error}");
}

/// What is no tape, or was garbled, is an error and never a panic.
#[test]
fn garbled_tapes_are_errors() {
    assert!(matches!(tape::replay(b"GET / HTTP/1.1"), Err(ReplayError::Tape { error: TapeError::NotATape, .. })));
    let mut newer = one_call(Detail::Octets)[0].clone();
    newer[tape::MAGIC.len()] += 1;
    assert!(matches!(tape::replay(&newer), Err(ReplayError::Tape { error: TapeError::Version(_), .. })));
    let (mut broken, mut different, mut played) = (0, 0, 0);
    let mut rng = Rng::new(77);
    for tape in one_call(Detail::Octets) {
        for _ in 0..3_000 {
            let mut tape = tape.clone();
            // Not the limits, which may ask for memory that they have a right to.
            let from = records(&tape)[1].0;
            for _ in 0..rng.length(3) {
                let at = from + rng.below((tape.len() - from) as u64) as usize;
                tape[at] = rng.next_u64() as u8;
            }
            match tape::replay(&tape) {
                Err(ReplayError::Tape { .. }) => broken += 1,
                Err(ReplayError::Differs(_)) => different += 1,
                Ok(_) => played += 1,
                Err(_) => unreachable!("there is no other error"),
            }
        }
    }
    assert!(broken > 100 && different > 100 && played < 3_000, "{broken} {different} {played}");
}

#[test]
fn only_a_fresh_connection_is_recorded() {
    let mut used = Connection::client(&Config::default(), START);
    used.handle_timeout(Timestamp::from_micros(7_000_001));
    let recorder = Recorder::new(used, Vec::new());
    assert!(!recorder.is_recording() && recorder.stopped().is_some());
    assert!(recorder.into_parts().1.is_empty());
    let mut twice = Connection::client(&Config::default(), START);
    twice.start_tape(Detail::Octets).expect("fresh");
    assert!(twice.start_tape(Detail::Octets).is_err());
}

/// Takes so many octets, then no more.
struct Full(usize, Vec<u8>);

impl Sink for Full {
    fn put(&mut self, octets: &[u8]) -> Result<(), SinkFailed> {
        if self.1.len() + octets.len() > self.0 {
            return Err(SinkFailed);
        }
        self.1.extend_from_slice(octets);
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_ends_the_recording_and_not_the_connection() {
    let mut server = Connection::server(&Config::default(), Routes::new([("/a/B", Shape::Unary)]).expect("a route"), START);
    let mut client = Recorder::new(Connection::client(&Config::default(), START), Full(400, Vec::new()));
    let mut calls = 0;
    while client.is_recording() {
        calls += 1;
        assert!(calls < 50);
        let call = client.conn_mut().start(START, RequestHead::new("/a/B", Shape::Unary), CallOptions::default()).expect("room");
        client.conn_mut().call(call).expect("live").send(Bytes::from_static(b"hello").into()).expect("room");
    }
    assert_eq!(client.stopped(), Some("the sink failed"));
    let (mut client, sink) = client.into_parts();
    assert!(pass(START, &mut client, &mut server) > 0 && server.wants().event);
    assert!(tape::replay(&sink.1).expect("what was taken plays").records > 3);
}

/// More between two flushes than is held back: the tape says so, and plays as far as it goes.
#[test]
fn a_tape_that_nobody_takes_is_bounded() {
    let mut config = Config::default();
    config.send_buffer = 1 << 30;
    config.connection_send_buffer = 1 << 30;
    let mut client = Connection::client(&config, START);
    client.start_tape(Detail::Octets).expect("fresh");
    let call = client.start(START, RequestHead::new("/a/B", Shape::Bidi), CallOptions::default()).expect("room");
    for _ in 0..20 {
        client.call(call).expect("live").send(Bytes::from(vec![7; 1 << 20]).into()).expect("room");
    }
    assert!(!client.is_taped());
    let mut tape = Vec::new();
    drain(&mut client, &mut tape);
    assert!(tape.len() < tape::BUFFER + (2 << 20));
    let played = tape::replay(&tape).expect("it plays");
    assert!(played.stopped && played.records > 16);
}

/// Plain HTTP: the raw floor is on the tape too.
#[test]
fn raw_streams_are_recorded() {
    let mut config = Config::default();
    config.accept_http = true;
    let mut server = Recorder::new(Connection::server(&config, Routes::new([("/a/B", Shape::Unary)]).expect("a route"), START), Vec::new());
    server.recv_slice(START, &h2_frame::PREFACE);
    server.recv_slice(START, &h2_frame::settings_head(0));
    // POST / http, authority "a": RFC 7541 indexed and literal fields.
    let block = [0x83, 0x86, 0x84, 0x01, 0x01, b'a'];
    for id in [1, 3, 5] {
        server.recv_slice(START, &h2_frame::headers_head(block.len() as u32, id, false, true));
        server.recv_slice(START, &block);
        server.recv_slice(START, &h2_frame::data_head(4, id, true));
        server.recv_slice(START, b"body");
    }
    let mut streams = Vec::new();
    while let Some(event) = server.conn_mut().poll_event() {
        if let Event::IncomingHttp { stream } = event {
            streams.push(stream);
        }
    }
    let [whole, by_hand, refused] = streams[..] else { panic!("{streams:?}") };
    assert!(Exchange::new(whole).advance(server.conn_mut(), |_| Some(Response::text("fine"))));
    let mut trailers = Metadata::new();
    trailers.append_http("grpc-status", b"0").expect("valid");
    let mut stream = server.conn_mut().stream(by_hand).expect("live");
    stream.set_token(Token(4));
    assert!(matches!(stream.recv_bytes(), StreamRecv::Bytes(_)) && matches!(stream.recv_bytes(), StreamRecv::End));
    stream.send_headers(200, &trailers, false).expect("the first head");
    stream.send_bytes(Bytes::from(vec![1; 100_000]), false).expect("one is always taken");
    assert!(stream.send_bytes(Bytes::from_static(b"more"), false).is_err());
    stream.send_trailers(&trailers).expect("the body goes on");
    stream.release();
    server.conn_mut().stream(refused).expect("live").refuse();
    let mut out = vec![0; 200_000];
    let n = server.transmit(START, out.len()).copy_to(&mut out);
    server.recv_eof(START);
    let (_, tape) = server.into_parts();
    let played = tape::replay(&tape).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(played.octets_out, n as u64);
    let refusals = records(&tape).into_iter().filter(|(_, record)| matches!(record, Record::Stream { op: StreamOp::SendRefused(4), .. }));
    assert_eq!(refusals.count(), 1);
}

/// A dropped recorder hands over what is left.
#[test]
fn the_end_of_a_recorder_is_on_the_tape() {
    let mut tape = Vec::new();
    let mut client = Recorder::new(Connection::client(&Config::default(), START), &mut tape);
    client.conn_mut().close(START);
    drop(client);
    assert!(matches!(records(&tape).last(), Some((_, Record::Close { .. }))));
}

/// The first of a connection's timers need not be that of the handshake.
#[test]
fn a_patient_handshake_is_recorded_too() {
    let mut config = Config::default();
    config.handshake_timeout = 3 * config.settings_timeout;
    let ends = [Connection::client(&config, START), Connection::server(&config, Routes::new([]).expect("none"), START)];
    for end in ends {
        let recorder = Recorder::new(end, Vec::new());
        assert_eq!(recorder.stopped(), None);
        tape::replay(&recorder.into_parts().1).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A tape cannot make the replay allocate what it only speaks of.
#[test]
fn a_message_that_is_only_announced_is_not_made_room_for() {
    let mut client = Recorder::new(Connection::client(&Config::default(), START), Vec::new());
    client.conn_mut().start(START, RequestHead::new("/e/U", Shape::Unary), CallOptions::default()).expect("a call");
    client.recv_slice(START, b"");
    let (_, tape) = client.into_parts();
    // A record: its length, `send_with` or a refused `send`, slot 0, 2^31 - 1 octets as a varint.
    for (kind, wanted) in [(25, "much shorter"), (24, "")] {
        let announced = [&tape[..], &[7, kind, 0, 0xFF, 0xFF, 0xFF, 0xFF, 7]].concat();
        match tape::replay(&announced) {
            Err(error) => assert!(error.to_string().contains(wanted), "{error}"),
            Ok(played) => assert_eq!((kind, played.octets_out), (24, 0)),
        }
    }
}
