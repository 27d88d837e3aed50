//! What attacks cost that are no floods of one frame: steps of work for each octet, at some length, at ten times that, and beside ninety calls.

use crate::{
    attack::*,
    ends::*,
    fields::*,
    grpc::{Many, Nest, decode, nested},
    heads::*,
    heap::measure,
    peer::*,
};
use pintle_core::{
    CallId, CloseReason, Config, Connection, Endpoint, Recv, Shape, Status, Timestamp, Token,
    bytes::Bytes,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE},
        wire::*,
    },
};
use std::time::Duration;

fn server() -> Peer {
    to_server(Cut::Whole)
}

fn client() -> Peer {
    to_client(Cut::Whole)
}

/// The next request, which is the first of the attack.
fn first(peer: &mut Peer) -> CallId {
    peer.headers(FIRST, false, REQUEST);
    accept(peer).expect("a request")
}

/// Requests by `head`, so many; each that comes to a handler is answered.
fn requests(name: &str, length: usize, bound: usize, head: &dyn Fn(usize) -> Vec<u8>) {
    let attack = &mut |peer: &mut Peer, length| {
        let before = received(peer);
        for n in 0..length {
            send_block(peer, FIRST + 2 * n as u32, true, &head(n), 16_384);
            while serve(peer) {}
            drain(peer);
        }
        assert_eq!(peer.conn.close_reason(), None, "{name}: within the budgets");
        received(peer) - before
    };
    Growth { name, length, bound, begin: &server, attack }.check();
}

/// One request with such a head, whose length `head` is given.
fn request_of(name: &str, length: usize, bound: usize, head: &dyn Fn(usize) -> Vec<u8>) {
    let attack = &mut |peer: &mut Peer, length| {
        let before = received(peer);
        send_block(peer, FIRST, true, &head(length), 16_384);
        while serve(peer) {}
        drain(peer);
        received(peer) - before
    };
    Growth { name, length, bound, begin: &server, attack }.check();
}

/// Answers to calls of our own, by `head`, so many.
fn responses(name: &str, length: usize, bound: usize, head: &dyn Fn(usize) -> Vec<u8>) {
    let attack = &mut |peer: &mut Peer, length| {
        let before = received(peer);
        for n in 0..length {
            let (stream, call) = (1 + 2 * peer.calls.len() as u32, peer.unary(b""));
            drain(peer);
            peer.headers(stream, true, &head(n));
            peer.outcome(call);
            drain(peer);
        }
        assert_eq!(peer.conn.close_reason(), None, "{name}: within the budgets");
        received(peer) - before
    };
    Growth { name, length, bound, begin: &client, attack }.check();
}

/// The checks see a look at every call in each round.
#[test]
#[should_panic(expected = "beside ninety")]
fn what_each_call_adds_is_seen() {
    let attack = &mut |peer: &mut Peer, length| {
        (0..length).for_each(|_| _ = peer.conn.probe());
        1_000 * length
    };
    Growth { name: "a look at each call", length: 10, bound: MIB, begin: &server, attack }.check();
}

/// And what begins anew with each round.
#[test]
#[should_panic(expected = "ten times as long")]
fn what_grows_with_length_is_seen() {
    let attack = &mut |peer: &mut Peer, length| {
        (0..length * length).for_each(|_| _ = peer.conn.probe());
        length
    };
    Growth { name: "a look at all that came", length: 3, bound: MIB, begin: &server, attack }.check();
}

#[test]
fn x14_cost() {
    const FAULTS: [(&[u8], &[u8]); 3] = [(b"ok", b"ok"), (b"x-bin", b"!!!"), (b"connection", b"close")];
    requests("blocks that fail, into the table", 90, 128 * KIB, &|n| {
        let mut block = request_block("/S/M", &[]);
        literal(&mut block, 0x40, format!("x-{}", n % 40).as_bytes(), &vec![b'a'; if n % 10 == 0 { 3_000 } else { n % 60 }]);
        literal(&mut block, 0x40, FAULTS[n % 3].0, FAULTS[n % 3].1);
        if n % 5 == 0 {
            literal(&mut block, 0, b"large", &[b'l'; 20_000]);
        }
        block
    });
}

#[test]
fn x15_cost() {
    const NAMES: [&str; 6] = ["te", ":unknown", "x-bin", "grpc-timeout", "content-length", "x"];
    for name in NAMES {
        requests(name, 80, 64 * KIB, &|_| request_block("/S/M", &[(name, b"!")]));
        request_of(name, 900, 64 * KIB, &|octets| request_block("/S/M", &[(name, &vec![b'!'; octets])]));
    }
    requests("30,000 names of their own", 30, 64 * KIB, &|n| {
        let mut block = request_block("/S/M", &[]);
        (100 * n..100 * n + 100).for_each(|name| literal(&mut block, 0x40, format!("n{name:05}").as_bytes(), b""));
        block
    });
}

#[test]
fn x16_cost() {
    let (few, in_requests) = (SMUGGLED.len(), SMUGGLED.len() + SMUGGLED_IN_REQUESTS.len());
    requests("fields that smuggle", in_requests, 64 * KIB, &|n| {
        let field = SMUGGLED.iter().chain(SMUGGLED_IN_REQUESTS).nth(n % in_requests).expect("one of them");
        request_block("/S/M", std::slice::from_ref(field))
    });
    responses("answers that smuggle", few, 64 * KIB, &|n| {
        [RESPONSE, &block(&[("grpc-status", "0")])[..], &literal_block(&SMUGGLED[n % few..][..1])].concat()
    });
}

#[test]
fn x17_cost() {
    // A turn in which nothing is due costs the same beside however many calls, after however long.
    let turn = |calls: u32, waited: u64| {
        let mut peer = server();
        open_streams(&mut peer, calls);
        peer.advance(Duration::from_secs(waited));
        drain(&mut peer);
        let before = peer.conn.steps();
        for _ in 0..100 {
            peer.advance(Duration::from_secs(1));
            drain(&mut peer);
        }
        peer.conn.steps() - before
    };
    assert!(turn(0, 1) <= 200, "{} steps for a hundred turns without calls", turn(0, 1));
    for (calls, waited) in [(0, 604_800), (1, 1), (90, 1), (90, 604_800)] {
        assert_eq!(turn(calls, waited), turn(0, 1), "a hundred turns beside {calls} calls after {waited} s");
    }
    // An octet a minute of a message that is awaited.
    let body = &mut |peer: &mut Peer, length| {
        let call = first(peer);
        peer.data(FIRST, false, b"\0\0\0\x40\0");
        let before = received(peer);
        for _ in 0..length {
            assert!(matches!(peer.call(call).recv(), Recv::Pending));
            peer.data(FIRST, false, &[7]);
            peer.advance(Duration::from_secs(60));
            drain(peer);
        }
        peer.assert_open();
        received(peer) - before
    };
    Growth { name: "a body octet by octet", length: 100, bound: 64 * KIB, begin: &server, attack: body }.check();
    // A header block, octet by octet, within its time.
    let block = &mut |peer: &mut Peer, length| {
        let octets = frame(HEADERS, END_HEADERS, FIRST, &request_block("/S/M", &[("x", &vec![b'x'; length])]));
        octets.iter().for_each(|octet| _ = peer.send(&[*octet]));
        accept(peer).expect("a request");
        octets.len()
    };
    Growth { name: "a head octet by octet", length: 900, bound: 64 * KIB, begin: &server, attack: block }.check();
    // An answer of which an octet at a time is read.
    let reader = &mut |peer: &mut Peer, length| {
        let call = first(peer);
        drain(peer);
        let before = peer.conn.stats().octets_sent;
        peer.put(call, vec![1; length]);
        while peer.conn.wants().write {
            let now = peer.now;
            peer.conn.transmit(now, 64 * KIB).advance(1);
        }
        (peer.conn.stats().octets_sent - before) as usize
    };
    Growth { name: "an answer read octet by octet", length: 400, bound: 32 * KIB, begin: &server, attack: reader }.check();
}

/// A server with so many answers that wait for the windows of their streams.
fn held(answers: u32) -> Peer {
    let mut peer = server();
    peer.send(&settings(&[(4, 0)]));
    for n in 0..answers {
        peer.headers(1 + 2 * n, true, REQUEST);
        let call = accept(&mut peer).expect("a request");
        peer.call(call).send_with(1_000, |buffer| buffer.resize(buffer.len() + 1_000, 1)).expect("room");
        peer.call(call).finish(&Status::ok(), None);
    }
    drain(&mut peer);
    peer
}

#[test]
fn x18_cost() {
    // The connection's window by drips, which lets nothing through, however many wait.
    assert_flat(
        "drips beside held answers",
        [(1, 50), (1, 500), (90, 500)].map(|(answers, updates)| {
            let mut steps = 0;
            let used = freed(|| {
                let mut peer = held(answers);
                let before = peer.conn.steps();
                for _ in 0..updates {
                    peer.send(&window_update(0, 1));
                    drain(&mut peer);
                }
                steps = peer.conn.steps() - before;
                peer.assert_open();
                peer
            });
            assert!(used.peak < 512 * KIB, "{used:?}");
            steps as f64 / (13 * updates) as f64
        }),
        0.0,
    );
    // Their end: a few looks at each that is held, and nothing for how long it was.
    let end = |answers: u32, waits: u32| {
        let (mut peer, wait) = (held(answers), Config::default().stall_timeout);
        let before = peer.conn.steps();
        (0..waits).for_each(|_| _ = peer.advance(wait / waits));
        drain(&mut peer);
        assert_eq!(peer.conn.probe().slots, 0);
        (peer.conn.steps() - before) as usize
    };
    for (answers, waits) in [(9, 1), (9, 1_000), (90, 1), (90, 1_000)] {
        let steps = end(answers, waits);
        println!("{steps} steps to give up {answers} answers in {waits} turns");
        assert!(steps <= 5 * answers as usize + 20, "{steps} steps to give up {answers} answers in {waits} turns");
    }
}

#[test]
fn x19_cost() {
    // Messages that are read, beside five streams that are full.
    let attack = &mut |peer: &mut Peer, length| {
        let call = first(peer);
        for n in 1..=5 {
            peer.headers(FIRST + 2 * n, false, REQUEST);
            accept(peer).expect("a request");
            (0..64).for_each(|_| _ = peer.data(FIRST + 2 * n, false, &message(&[1; 1_019])));
        }
        let before = received(peer);
        for _ in 0..length {
            peer.data(FIRST, false, &message(&[2; 1_000]));
            assert!(matches!(peer.call(call).recv(), Recv::Message(_)));
            drain(peer);
        }
        peer.assert_open();
        received(peer) - before
    };
    Growth { name: "messages beside full streams", length: 100, bound: 512 * KIB, begin: &server, attack }.check();
}

#[test]
fn x20_cost() {
    // A compressed message: refused at its fifth octet, and what comes of it afterwards is for nobody.
    let attack = &mut |peer: &mut Peer, length| {
        let (call, before) = (first(peer), received(peer));
        peer.data(FIRST, false, b"\x01\x00\x20\x00\x00");
        for _ in 0..length {
            peer.data(FIRST, false, &[0x1f; 1_000]);
            drain(peer);
        }
        peer.call(call).finish(&Status::ok(), None);
        peer.assert_open();
        received(peer) - before
    };
    Growth { name: "a long compressed message", length: 100, bound: 64 * KIB, begin: &server, attack }.check();
    let attack = &mut |peer: &mut Peer, length| {
        let before = received(peer);
        for n in 0..length {
            let stream = FIRST + 2 * n as u32;
            peer.headers(stream, false, REQUEST);
            let call = accept(peer).expect("a request");
            peer.data(stream, false, b"\x01\x00\x00\x00\x0a0123456789");
            peer.call(call).finish(&Status::ok(), None);
            drain(peer);
        }
        peer.assert_open();
        received(peer) - before
    };
    Growth { name: "calls with a compressed message", length: 80, bound: 64 * KIB, begin: &server, attack }.check();
    requests("codings that were not offered", 80, 64 * KIB, &|_| request_block("/S/M", &[("grpc-encoding", b"gzip")]));
}

#[test]
fn x21_cost() {
    // 4 MiB are announced, and come piece by piece: what is there is not looked at again, nor moved for each piece.
    let mut allocations = Vec::new();
    let attack = &mut |peer: &mut Peer, length| {
        let call = first(peer);
        peer.data(FIRST, false, b"\x00\x00\x40\x00\x00");
        let before = received(peer);
        let ((), used) = measure(|| {
            for _ in 0..length {
                assert!(matches!(peer.call(call).recv(), Recv::Pending));
                peer.data(FIRST, false, &[7; 1_000]);
                drain(peer);
            }
        });
        allocations.push(used.allocations as f64 / length as f64);
        peer.assert_open();
        received(peer) - before
    };
    Growth { name: "a long message in pieces", length: 100, bound: 5 * MIB, begin: &server, attack }.check();
    assert!(allocations.iter().all(|each| *each <= 1.5 * allocations[0]), "{allocations:?} allocations a piece");
    // Announced on many streams; as many as there may be.
    let attack = &mut |peer: &mut Peer, length| {
        let before = received(peer);
        for n in 0..length {
            let stream = FIRST + 2 * n as u32;
            peer.headers(stream, false, REQUEST);
            let call = accept(peer).expect("a request");
            assert!(matches!(peer.call(call).recv(), Recv::Pending));
            peer.data(stream, false, b"\x00\x00\x40\x00\x00\x07");
            drain(peer);
        }
        peer.assert_open();
        received(peer) - before
    };
    Growth { name: "lengths that are only announced", length: 1, bound: 5 * MIB, begin: &server, attack }.check();
}

#[test]
fn x22_cost() {
    // Lists of 1.5 and 15 KB, which are lawful; and of 112 KB and 1.1 MB, which end the connection on the way.
    for (length, octets) in [(1, 1_500), (7, 16_000)] {
        let lists = |front: &[u8]| {
            [length, 10 * length].map(|lists| {
                let mut list = front.to_vec();
                (0..lists).for_each(|_| literal(&mut list, 0, b"m", &vec![b'm'; octets]));
                list
            })
        };
        let (head, trailers) = (lists(REQUEST), lists(&[]));
        let (answer, alone) = (lists(RESPONSE), lists(&[RESPONSE, &block(&[("grpc-status", "0")])].concat()));
        let at_server: [(&str, &[Vec<u8>; 2], bool); 2] = [("a request's head", &head, false), ("a request's trailers", &trailers, true)];
        for (name, lists, trailers) in at_server {
            let attack = &mut |peer: &mut Peer, n| {
                let list = &lists[usize::from(n > length)];
                if trailers {
                    first(peer);
                }
                send_block(peer, FIRST, true, list, 16_384);
                list.len()
            };
            Growth { name, length, bound: 128 * KIB, begin: &server, attack }.check();
        }
        for (name, lists, end) in [("a response's head", &answer, false), ("a response that is only trailers", &alone, true)] {
            let attack = &mut |peer: &mut Peer, n| {
                let list = &lists[usize::from(n > length)];
                let stream = 1 + 2 * peer.calls.len() as u32;
                peer.unary(b"");
                drain(peer);
                send_block(peer, stream, end, list, 16_384);
                list.len()
            };
            Growth { name, length, bound: 128 * KIB, begin: &client, attack }.check();
        }
    }
}

#[test]
fn x24_cost() {
    requests("paths that are none", PATHS.len(), 64 * KIB, &|n| request_block(PATHS[n % PATHS.len()], &[]));
    let long: [(&str, &str); 4] =
        [("a long method", "x"), ("a path of many segments", "/S"), ("a path of many dots", "../"), ("a path of escapes", "%2f")];
    for (name, piece) in long {
        request_of(name, 300, 64 * KIB, &|length| request_block(&format!("/S/{}", piece.repeat(length)), &[]));
    }
}

#[test]
fn x26_cost() {
    // The core's part: the message is passed on as it came.
    let attack = &mut |peer: &mut Peer, length| {
        let octets = message(&b"\x0a\x00".repeat(length));
        let (call, before) = (first(peer), received(peer));
        for piece in octets.chunks(16_384) {
            let pending = matches!(peer.call(call).recv(), Recv::Pending);
            assert!(pending, "it is not whole yet");
            peer.data(FIRST, false, piece);
            drain(peer);
        }
        assert!(matches!(peer.call(call).recv(), Recv::Message(_)));
        received(peer) - before
    };
    Growth { name: "many small messages in one", length: 50_000, bound: 3 * MIB, begin: &server, attack }.check();
    // The decoder's: allocations and octets of heap for each octet.
    let decoding = |octets: Vec<u8>, decode: &dyn Fn(Vec<u8>) -> bool| {
        let len = octets.len() as f64;
        let (decoded, used) = measure(|| decode(octets));
        assert!(decoded);
        assert!(used.kept <= 0, "all is freed: {used:?}");
        [used.allocations as f64 / len, used.peak as f64 / len]
    };
    let many: &dyn Fn(Vec<u8>) -> bool = &|octets| decode::<Many>(octets).is_ok();
    let nest: &dyn Fn(Vec<u8>) -> bool = &|octets| decode::<Nest>(octets).is_ok();
    let rows = [
        ("items of two octets", b"\x0a\x00".repeat(1_600), b"\x0a\x00".repeat(16_000), many),
        ("items with a text", b"\x0a\x03\x0a\x01a".repeat(1_600), b"\x0a\x03\x0a\x01a".repeat(16_000), many),
        ("unknown fields", b"\x78\x00".repeat(1_600), b"\x78\x00".repeat(16_000), many),
        ("nested", nested(9), nested(90), nest),
    ];
    for (name, short, long, decode) in rows {
        let [short, long] = [short, long].map(|octets| decoding(octets, decode));
        println!("{name}: {short:.3?} allocations and octets of heap an octet, {long:.3?} when it is ten times as long");
        assert!(long[0] <= 1.5 * short[0] && long[1] <= 2.0 * short[1], "{name}: {short:?}, {long:?}");
        // Items of 24 octets for two on the wire, in a vector that doubles.
        assert!(short[1] <= 24.0 && long[1] <= 24.0, "{name}: {short:?}, {long:?}");
    }
    // What is too deep costs no more than what is just too deep: nobody goes on.
    let refused = |depth| {
        let octets = Bytes::from(nested(depth));
        measure(|| decode::<Nest>(octets).expect_err("too deep")).1.allocations
    };
    assert_eq!([refused(1_000), refused(100_000)], [refused(101); 2]);
}

/// A server behind a layer with so many calls; its messages are read. Steps for each octet of so many messages, and the heap in all.
fn layered(calls: u32, messages: usize, piece: usize) -> f64 {
    let now = Timestamp::from_micros(1);
    let (used, cost) = freed_with(|| {
        let mut cipher = Cipher::new(Connection::server(&Config::default(), routes(), now));
        let send = |cipher: &mut Cipher, octets: &[u8]| octets.chunks(piece).for_each(|piece| cipher.recv_slice(now, &hidden(piece)));
        send(&mut cipher, &[&PREFACE[..], &settings(&[]), &settings_ack()].concat());
        let mut last = None;
        for n in 0..=calls {
            send(&mut cipher, &frame(HEADERS, END_HEADERS, 1 + 2 * n, REQUEST));
            while let Some(event) = cipher.inner.poll_event() {
                if let pintle_core::Event::Incoming { call } = event {
                    cipher.inner.accept(call, Token(0)).expect("a request");
                    last = Some(call);
                }
            }
        }
        let call = last.expect("a request");
        let data = frame(DATA, 0, 1 + 2 * calls, &message(&[7; 16_000]));
        let before = cipher.inner.steps();
        for _ in 0..messages {
            send(&mut cipher, &data);
            assert!(matches!(cipher.inner.call(call).expect("live").recv(), Recv::Message(_)));
            loop {
                let mut out = cipher.transmit(now, 64 * KIB);
                let n = out.len();
                if n == 0 {
                    break;
                }
                out.advance(n);
            }
        }
        assert_eq!(cipher.inner.close_reason(), None);
        assert!(cipher.most <= 16 * KIB, "{} octets in the layer", cipher.most);
        let steps = cipher.inner.steps() - before;
        (cipher, steps as f64 / (messages * data.len()) as f64)
    });
    assert!(used.peak < 128 * KIB + calls as usize * KIB, "{used:?}");
    cost
}

#[test]
fn x28_cost() {
    for piece in [1_000, 1 << 20] {
        assert_flat("a layer that is read", [(1, 10), (1, 100), (90, 100)].map(|(calls, messages)| layered(calls, messages, piece)), 0.0);
    }
}

/// What ends a client's connection costs each call once; beside that, steps do not depend on how many there are.
fn ending(name: &str, looks: usize, octets: &[u8]) -> f64 {
    let [one, ninety] = [1, 90].map(|calls: usize| {
        let mut steps = 0;
        let used = freed(|| {
            let mut peer = client();
            (0..calls).for_each(|_| _ = peer.start(Shape::Bidi));
            drain(&mut peer);
            let before = peer.conn.steps();
            peer.send(octets);
            steps = (peer.conn.steps() - before) as usize;
            peer
        });
        assert!(used.peak < 512 * KIB, "{name}: {used:?}");
        steps
    });
    println!("{name}, {} octets: {one} steps beside one call, {ninety} beside ninety", octets.len());
    assert!(one > 0 && ninety <= one + 89 * looks, "{name}: {one} steps beside one call, {ninety} beside ninety");
    one as f64 / octets.len() as f64
}

#[test]
fn x30_cost() {
    let [short, long] = [1_600, 16_000].map(|octets| {
        let promise = [&2_u32.to_be_bytes()[..], &vec![0x82; octets]].concat();
        ending("PUSH_PROMISE", 4, &frame(PUSH_PROMISE, END_HEADERS, 1, &promise))
    });
    assert!(long <= 1.5 * short, "{short} steps an octet, {long} when it is ten times as long");
}

#[test]
fn x31_cost() {
    // Again and again the same: no call is looked at again. Falling ids, which the budget counts: each call once for each at most.
    let again = |n| goaway(i32::MAX as u32, 0, b"again").repeat(n);
    let falling = |n: u32| (0..n).flat_map(|n| goaway(i32::MAX as u32 - 2 * n, 0, b"falls")).collect::<Vec<_>>();
    let [short, long] = [2, 20].map(|n| ending("GOAWAY again", 2, &again(n)));
    assert!(long <= 1.5 * short, "{short} steps an octet, {long} when there are ten times as many");
    let [short, long] = [2, 20].map(|n| ending("GOAWAY that falls", 2 * n as usize, &falling(n)));
    assert!(long <= 1.5 * short, "{short} steps an octet, {long} when there are ten times as many");
    let [short, long] = [1_600, 16_000].map(|n| ending("GOAWAY with a long text", 4, &goaway(0, 0, &vec![b'x'; n])));
    assert!(long <= 1.5 * short, "{short} steps an octet, {long} when the text is ten times as long");
    // Beyond the budget.
    let mut peer = client();
    peer.start(Shape::Bidi);
    peer.send(&again(22));
    assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Protocol { what: "too_many_goaways", .. })));
}

#[test]
fn x34_cost() {
    for (name, octets, length) in [("large messages, which are lent", 16_000, 10), ("small messages, which are copied", 100, 100)] {
        let attack = &mut |peer: &mut Peer, length| {
            let call = first(peer);
            let before = peer.conn.stats().octets_sent;
            for _ in 0..length {
                peer.call(call).send(Bytes::from(vec![7; octets]).into()).expect("room");
                let now = peer.now;
                while peer.conn.transmit(now, 64 * KIB).pop().is_some() {}
                peer.send(&window_update(0, octets as u32 + 5)).send(&window_update(FIRST, octets as u32 + 5));
            }
            (peer.conn.stats().octets_sent - before) as usize
        };
        Growth { name, length, bound: 32 * KIB, begin: &server, attack }.check();
    }
}
