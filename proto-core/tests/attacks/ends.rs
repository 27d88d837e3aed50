//! Attacks on clients and by settings: X29 to X31; and what holds for whatever is around a connection: X28, X34.

use crate::{attack::*, peer::*};
use pintle_core::{
    CallOptions, CloseReason, Code, Config, Connection, Endpoint, ErrorCode, Event, RequestHead, Shape, StartError, Timestamp, Wants,
    bytes::Bytes,
    testing::{
        Cut, Rng,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
    tx::Transmit,
};
use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// A layer that undoes a cipher, in records of up to 16 KiB as TLS has them. There is no TLS yet; what any layer must keep to is here: it holds
/// the octets of one record at most, because the core takes all that it is given.
pub(crate) struct Cipher {
    pub(crate) inner: Connection,
    record: Vec<u8>,
    pub(crate) most: usize,
}

impl Cipher {
    pub(crate) const fn new(inner: Connection) -> Self {
        Self { inner, record: Vec::new(), most: 0 }
    }
}

/// What a peer of such a layer sends.
pub(crate) fn hidden(octets: &[u8]) -> Vec<u8> {
    octets.iter().map(|octet| octet ^ 0x55).collect()
}

impl Endpoint for Cipher {
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        for octet in octets {
            self.record.push(octet ^ 0x55);
            self.most = self.most.max(self.record.len());
            if self.record.len() == 16 << 10 {
                self.inner.recv_slice(now, &self.record);
                self.record.clear();
            }
        }
        self.inner.recv_slice(now, &self.record);
        self.record.clear();
    }

    fn recv_eof(&mut self, now: Timestamp) {
        self.inner.recv_eof(now);
    }

    fn read_target(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn filled(&mut self, _: Timestamp, _: usize) {}

    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        self.inner.transmit(now, budget)
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.inner.handle_timeout(now);
    }

    fn wants(&self) -> Wants {
        self.inner.wants()
    }

    fn conn(&self) -> &Connection {
        &self.inner
    }

    fn conn_mut(&mut self) -> &mut Connection {
        &mut self.inner
    }
}

#[test]
fn x28_plaintext_ahead_of_the_application() {
    let now = Timestamp::from_micros(1);
    let start = [&PREFACE[..], &settings(&[]), &settings_ack(), &frame(HEADERS, END_HEADERS, 1, REQUEST)].concat();
    let data = frame(DATA, 0, 1, &[&message(&[7; 16_000])[..], &[0; 379]].concat()[..16_005]);
    for piece in [1, 1_000, 1 << 20] {
        let (closed, used) = crate::heap::measure(|| {
            let mut layer = Cipher::new(Connection::server(&Config::default(), routes(), now));
            // A sender that is faster than the application, which takes nothing at all.
            for octets in hidden(&start).chunks(piece) {
                layer.recv_slice(now, octets);
            }
            for _ in 0..size(100_000).min(1_000) {
                if !layer.wants().read {
                    break;
                }
                hidden(&data).chunks(piece).for_each(|octets| layer.recv_slice(now, octets));
            }
            assert!(layer.most <= 16 << 10);
            layer.conn().close_reason().cloned()
        });
        assert!(matches!(closed, Some(CloseReason::Protocol { .. }) | None), "{closed:?}");
        assert!(
            matches!(closed, Some(CloseReason::Protocol { code: ErrorCode::FLOW_CONTROL_ERROR, .. })),
            "more than its window: {closed:?}"
        );
        assert!(used.peak < 512 * KIB, "{used:?}");
    }
    // Answers that are not read: the driver is told to read no more, and so is the layer.
    let mut layer = Cipher::new(Connection::client(&Config::default(), now));
    layer.recv_slice(now, &hidden(&settings(&[])));
    for _ in 0..60 {
        layer.recv_slice(now, &hidden(&frame(PING, 0, 0, b"12345678")));
    }
    assert!(!layer.wants().read);
}

#[test]
fn x28_twin_a_layer_that_is_read() {
    let now = Timestamp::from_micros(1);
    let mut layer = Cipher::new(Connection::server(&Config::default(), routes(), now));
    let octets =
        [&PREFACE[..], &settings(&[]), &settings_ack(), &frame(HEADERS, END_HEADERS, 1, REQUEST), &frame(DATA, 1, 1, &message(b"x"))]
            .concat();
    for octet in octets {
        layer.recv_slice(now, &[octet ^ 0x55]);
    }
    let Some(Event::Incoming { call }) = layer.conn_mut().poll_event() else { panic!("a request") };
    layer.conn_mut().accept(call, pintle_core::Token(0)).expect("it is there");
    assert!(matches!(layer.conn_mut().call(call).expect("live").recv(), pintle_core::Recv::Message(_)));
}

#[test]
fn x29_settings_that_hang() {
    // Values that no endpoint may send: the connection ends, in both roles.
    for (entry, code) in [
        ((5, 0), ErrorCode::PROTOCOL_ERROR),
        ((5, 1), ErrorCode::PROTOCOL_ERROR),
        ((5, 16_383), ErrorCode::PROTOCOL_ERROR),
        ((5, 16_777_216), ErrorCode::PROTOCOL_ERROR),
        ((4, 1 << 31), ErrorCode::FLOW_CONTROL_ERROR),
        ((4, u32::MAX), ErrorCode::FLOW_CONTROL_ERROR),
        ((2, 2), ErrorCode::PROTOCOL_ERROR),
    ] {
        for cut in [Cut::Whole, Cut::Octet] {
            let mut peer = to_client(cut);
            let call = peer.unary(b"x");
            peer.said();
            peer.send(&settings(&[entry]));
            peer.assert_closed(&[code]);
            assert_eq!(peer.outcome(call).status.code(), Code::Unavailable, "{entry:?}");
            let mut peer = to_server(cut);
            peer.send(&settings(&[entry]));
            peer.assert_closed(&[code]);
        }
    }
    // Values that are lawful and let nothing through: a call ends at its deadline, and nothing spins until then.
    for entries in [&[(3, 0)][..], &[(4, 0)], &[(6, 0)], &[(1, u32::MAX)], &[(1, 0)], &[(5, 16_777_215)], &[(3, 0), (4, 0), (6, 0)]] {
        let used = freed(|| {
            let mut peer = to_client_with(&Config::default(), Cut::Whole, entries);
            let deadline = peer.now.saturating_add(Duration::from_secs(1));
            let (now, head) = (peer.now, RequestHead::new("/S/M", Shape::Unary));
            let started = peer.conn.start(now, head, CallOptions::default().deadline(Some(deadline)));
            let before = peer.conn.steps();
            if let Ok(id) = started {
                peer.put(id, vec![5; 1_000]);
                for _ in 0..100 {
                    drain(&mut peer);
                    assert!(!peer.conn.wants().write, "{entries:?}: it would spin");
                }
                peer.advance(Duration::from_secs(1));
                assert_eq!(peer.outcome(id).status.code(), Code::DeadlineExceeded, "{entries:?}");
                drain(&mut peer);
            }
            assert!(peer.conn.steps() - before < 400, "{entries:?}: {} steps", peer.conn.steps() - before);
            peer.assert_open();
            peer
        });
        assert!(used.peak < 64 * KIB, "{entries:?}: {used:?}");
    }
}

#[test]
fn x29_twin_settings_at_their_ends() {
    for entries in [
        &[(5, 16_384)][..],
        &[(5, 16_777_215)],
        &[(4, i32::MAX as u32)],
        &[(3, u32::MAX)],
        &[(3, 1)],
        &[(6, u32::MAX)],
        &[(1, 0)],
        &[(2, 0)],
    ] {
        let mut peer = to_client_with(&Config::default(), Cut::Octet, entries);
        peer.assert_usable(0);
        peer.assert_usable(0);
    }
}

#[test]
fn x30_push_promise() {
    for (stream, promised) in [(1, 2_u32), (0, 2), (1, 0), (1, 3)] {
        for flags in [0, END_HEADERS] {
            let octets = frame(PUSH_PROMISE, flags, stream, &[&promised.to_be_bytes(), REQUEST].concat());
            for cut in [Cut::Whole, Cut::Octet] {
                for acked in [false, true] {
                    let mut peer = fresh_to_client(&Config::default(), cut);
                    peer.unary(b"");
                    peer.said();
                    peer.send(&settings(&[]));
                    if acked {
                        peer.send(&settings_ack());
                    }
                    peer.said();
                    peer.send(&octets);
                    peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
                    assert_eq!(peer.conn.probe().open_streams, 0, "no state is kept");
                }
                let used = freed(|| {
                    let mut peer = to_server(cut);
                    peer.headers(1, true, REQUEST).send(&octets);
                    peer.assert_closed(&[ErrorCode::PROTOCOL_ERROR]);
                    peer
                });
                assert!(used.peak < 32 * KIB, "{used:?}");
            }
        }
    }
}

#[test]
fn x30_twin_a_client_that_says_no_push() {
    for value in [0, 1] {
        let mut peer = fresh_to_server(&Config::default(), Cut::Octet);
        peer.send(PREFACE).send(&settings(&[(2, value)])).send(&settings_ack());
        peer.said();
        peer.assert_usable(1);
    }
}

#[test]
fn x31_goaway_at_once() {
    // Each connection of a client gets GOAWAY at once: the call is certain not to have been processed, and the connection is over. When to come
    // back is the affair of who connects.
    for (n, code) in [0, 2, 11].into_iter().enumerate() {
        let used = freed(|| {
            let mut peer = to_client(Cut::Whole);
            let call = peer.unary(b"x");
            if n % 2 == 0 {
                drain(&mut peer);
            }
            peer.send(&goaway(0, code, b"go"));
            let outcome = peer.outcome(call);
            assert_eq!((outcome.status.code(), outcome.unprocessed), (Code::Unavailable, true));
            let (now, head) = (peer.now, RequestHead::new("/S/M", Shape::Unary));
            let again = peer.conn.start(now, head, CallOptions::default()).err();
            assert!(matches!(again, Some(StartError::Draining | StartError::Closed)), "{again:?}");
            drain(&mut peer);
            assert!(peer.conn.is_finished() && peer.conn.wants().deadline.is_none());
            peer
        });
        assert!(used.peak < 64 * KIB, "{used:?}");
    }
    // GOAWAY again and again while a call is at work: a few are lawful.
    let begin = |cut| {
        let mut peer = to_client(cut);
        peer.unary(b"x");
        (0..300).for_each(|_| _ = peer.start(Shape::Bidi));
        drain(&mut peer);
        peer
    };
    let octets = goaway(1, 0, b"");
    for falling in [false, true] {
        let round = &mut |peer: &mut Peer, n| {
            if falling {
                peer.send(&goaway(401 - 2 * n as u32, 0, b""))
            } else {
                peer.send(&octets)
            };
        };
        let end = calm("too_many_goaways", 22);
        Flood { name: "GOAWAY", rounds: 100_000, end, bound: MIB, reads: true, crowd: false, begin: &begin, round }.once_only();
    }
}

#[test]
fn x31_twin_a_graceful_end() {
    // Two GOAWAYs, as a server drains: calls below the second go on to their end.
    let mut peer = to_client(Cut::Octet);
    let call = peer.unary(b"x");
    peer.said();
    peer.send(&goaway(i32::MAX as u32, 0, b"graceful_stop")).send(&frame(PING, 0, 0, b"drain\0\0\0"));
    peer.said();
    peer.send(&goaway(1, 0, b"graceful_stop"));
    peer.headers(1, false, RESPONSE).data(1, false, &message(b"y")).headers(1, true, TRAILERS_OK);
    assert_eq!(peer.messages(call), (vec![Bytes::from_static(b"y")], true));
    assert_eq!(peer.outcome(call).status.code(), Code::Ok);
    assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Peer { .. })));
}

/// A message that knows when it is freed.
struct Lent {
    octets: Vec<u8>,
    freed: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.freed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn hash(octets: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    octets.hash(&mut hasher);
    hasher.finish()
}

/// A kernel that sends without copying: it keeps what it was lent and reads it late, in any order. `large`: messages that are lent, not copied.
fn zero_copy(messages: usize, large: bool) {
    let freed = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut rng = Rng::new(34);
    let mut peer = to_server(Cut::Whole);
    peer.send(&settings(&[(4, i32::MAX as u32)])).headers(1, true, REQUEST);
    let call = accept(&mut peer).expect("a request");
    let (mut kept, mut wire): (Vec<(Bytes, u64)>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut sums = VecDeque::new();
    for n in 0..messages {
        let len = if large { 4_096 + rng.below(30_000) as usize } else { rng.below(4_000) as usize };
        let octets: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(n as u8)).collect();
        sums.push_back((len, hash(&octets)));
        let payload = Bytes::from_owner(Lent { octets, freed: freed.clone() });
        assert!(peer.call(call).send(payload.into()).is_ok());
        loop {
            let now = peer.now;
            let Some(octets) = peer.conn.transmit(now, 64 * KIB).pop() else { break };
            // In order on the line, but read when its notice comes.
            wire.extend_from_slice(&octets);
            kept.push((octets.clone(), hash(&octets)));
            if !large || rng.chance(500) {
                let at = rng.below(kept.len() as u64) as usize;
                let (octets, sum) = kept.swap_remove(at);
                assert_eq!(hash(&octets), sum, "octets changed while the kernel held them");
            }
        }
        peer.send(&window_update(0, len as u32 + 5));
    }
    for (octets, sum) in kept.drain(..) {
        assert_eq!(hash(&octets), sum, "octets changed while the kernel held them");
    }
    let mut stream = Vec::new();
    for frame in pintle_core::testing::raw::frames(&wire) {
        if frame.head.kind == DATA {
            stream.extend_from_slice(&frame.payload);
        }
    }
    let mut rest = &stream[..];
    while let Some((len, sum)) = sums.pop_front() {
        assert_eq!(hash(&rest[5..5 + len]), sum, "a message came otherwise");
        rest = &rest[5 + len..];
    }
    assert!(rest.is_empty());
    drop(peer);
    assert_eq!(freed.load(std::sync::atomic::Ordering::Relaxed), messages, "each buffer is freed exactly once");
}

#[test]
fn x34_zero_copy_send() {
    zero_copy(size(100_000), true);
}

#[test]
fn x34_twin_small_messages_are_copied() {
    zero_copy(size(100_000), false);
}
