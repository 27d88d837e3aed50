//! Every moment in the life of a call with every way to end it: nothing may be left, and nothing may hang.

use crate::run::*;
use pintle_core::{
    CallId, CallOptions, Code, Config, Shape, Status,
    testing::{
        Rng,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn small_windows() -> Config {
    let mut config = Config::default();
    config.initial_window = 65_535;
    config.connection_window = 65_535;
    config.max_concurrent_streams = 4;
    config.recv_budget = 4 * 65_535 + (4 << 20);
    config
}

/// A moment in the life of the call on stream 1.
struct Moment {
    name: &'static str,
    /// It is in the middle of a DATA frame: what the peer says next is its octets.
    torn: bool,
    reach: fn(&mut Peer) -> Option<CallId>,
}

/// A request that was accepted.
fn accepted(peer: &mut Peer) -> Option<CallId> {
    peer.headers(1, false, REQUEST);
    Some(peer.accept())
}

/// A call whose answer has begun.
fn answered(peer: &mut Peer) -> Option<CallId> {
    let id = peer.start(Shape::Bidi);
    peer.said();
    peer.headers(1, false, RESPONSE);
    Some(id)
}

/// So many octets of this on stream 1, as whole frames.
pub(crate) fn send_octets(peer: &mut Peer, octets: &[u8]) {
    for chunk in octets.chunks(16_384) {
        peer.data(1, false, chunk);
    }
}

/// Whatever the peer sends is the same in both directions.
const RECEIVING: [Moment; 9] = [
    Moment { name: "nothing has come", torn: false, reach: open },
    Moment {
        name: "half a prefix",
        torn: false,
        reach: |peer| {
            let id = open(peer);
            send_octets(peer, &message(b"hello")[..3]);
            id
        },
    },
    Moment {
        name: "half a message",
        torn: false,
        reach: |peer| {
            let id = open(peer);
            send_octets(peer, &message(b"hello")[..8]);
            id
        },
    },
    Moment {
        name: "half of a large message that is wanted",
        torn: false,
        reach: |peer| {
            let id = open(peer)?;
            peer.call(id).demand(2);
            send_octets(peer, &message(&vec![1; 300_000])[..60_000]);
            peer.said();
            send_octets(peer, &vec![1; 60_000]);
            Some(id)
        },
    },
    Moment {
        name: "the window is full of a message that nobody wants",
        torn: false,
        reach: |peer| {
            let id = open(peer);
            send_octets(peer, &message(&vec![1; 300_000])[..65_535]);
            id
        },
    },
    Moment {
        name: "many messages that nobody reads, and half of one",
        torn: false,
        reach: |peer| {
            let id = open(peer);
            send_octets(peer, &message(b"0123456789").repeat(1_000)[..14_997]);
            id
        },
    },
    Moment {
        name: "in the middle of a frame",
        torn: true,
        reach: |peer| {
            let id = open(peer);
            peer.send(&frame(DATA, 0, 1, &message(&[1; 10_000]))[..6_000]);
            id
        },
    },
    Moment {
        name: "in the middle of a frame's padding",
        torn: true,
        reach: |peer| {
            let id = open(peer);
            peer.send(&frame(DATA, PADDED | END_STREAM, 1, &[&[200][..], &message(b"x"), &[0; 200]].concat())[..50]);
            id
        },
    },
    Moment {
        name: "half a block of trailers",
        torn: false,
        reach: |peer| {
            let id = open(peer);
            send_octets(peer, &message(b"hello"));
            peer.send(&frame(HEADERS, END_STREAM, 1, &TRAILERS_OK[..4]));
            id
        },
    },
];

pub(crate) fn open(peer: &mut Peer) -> Option<CallId> {
    if peer.is_client() { accepted(peer) } else { answered(peer) }
}

const AT_SERVER: [Moment; 9] = [
    Moment {
        name: "offered and not accepted",
        torn: false,
        reach: |peer| {
            peer.headers(1, false, REQUEST);
            None
        },
    },
    Moment {
        name: "half of a unary request, with a deadline",
        torn: false,
        reach: |peer| {
            peer.request(1, "/S/U", false, &[("grpc-timeout", b"1S")]).data(1, false, &message(&[1; 1_000])[..500]);
            None
        },
    },
    Moment {
        name: "a deadline",
        torn: false,
        reach: |peer| {
            peer.request(1, "/S/M", false, &[("grpc-timeout", b"1S")]);
            Some(peer.accept())
        },
    },
    Moment {
        name: "half of a request's head",
        torn: false,
        reach: |peer| {
            peer.send(&frame(HEADERS, 0, 1, &REQUEST[..20]));
            None
        },
    },
    Moment {
        name: "an answer that waits for its stream's window",
        torn: false,
        reach: |peer| {
            peer.send(&settings(&[(4, 10)]));
            let id = accepted(peer)?;
            peer.put(id, vec![0; 1_000]);
            peer.said();
            Some(id)
        },
    },
    Moment {
        name: "an answer that waits for the connection's window",
        torn: false,
        reach: |peer| {
            peer.send(&settings(&[(4, 1 << 20)]));
            let id = accepted(peer)?;
            peer.put(id, vec![0; 100_000]);
            peer.said();
            Some(id)
        },
    },
    Moment {
        name: "finished, and the answer waits",
        torn: false,
        reach: |peer| {
            peer.send(&settings(&[(4, 10)]));
            let id = accepted(peer)?;
            peer.put(id, vec![0; 1_000]);
            peer.finish_ok(id);
            peer.said();
            None
        },
    },
    Moment {
        name: "finished before anything went out",
        torn: false,
        reach: |peer| {
            let id = accepted(peer)?;
            send_octets(peer, &message(b"hello")[..8]);
            peer.call(id).finish(&Status::new(Code::Aborted, "early"), None);
            None
        },
    },
    Moment {
        name: "two wait for the budget",
        torn: false,
        reach: |peer| {
            let id = accepted(peer)?;
            peer.headers(3, false, REQUEST).headers(5, false, REQUEST);
            let others = [peer.accept(), peer.accept()];
            for (id, stream) in [(id, 1), (others[0], 3), (others[1], 5)] {
                peer.call(id).demand(1);
                peer.data(stream, false, &message(&vec![1; 3 << 20])[..10_000]);
            }
            Some(id)
        },
    },
];

const AT_CLIENT: [Moment; 9] = [
    Moment {
        name: "queued",
        torn: false,
        reach: |peer| {
            peer.send(&settings(&[(3, 0)]));
            Some(peer.unary(b"x"))
        },
    },
    Moment { name: "nothing went out yet", torn: false, reach: |peer| Some(peer.unary(b"x")) },
    Moment { name: "no answer yet", torn: false, reach: |peer| Some(called(peer)) },
    Moment {
        name: "informational heads",
        torn: false,
        reach: |peer| {
            let id = called(peer);
            peer.headers(1, false, &block(&[(":status", "103")])).headers(1, false, &block(&[(":status", "100")]));
            Some(id)
        },
    },
    Moment {
        name: "half of the answer's head",
        torn: false,
        reach: |peer| {
            let id = called(peer);
            peer.send(&frame(HEADERS, 0, 1, &RESPONSE[..7]));
            Some(id)
        },
    },
    Moment {
        name: "half of an error page",
        torn: false,
        reach: |peer| {
            let id = called(peer);
            peer.headers(1, false, &block(&[(":status", "502"), ("content-type", "text/html")])).data(1, false, b"<html>");
            Some(id)
        },
    },
    Moment {
        name: "a response that is held back",
        torn: false,
        reach: |peer| {
            let id = called(peer);
            peer.headers(1, false, RESPONSE).data(1, false, &message(b"x"));
            Some(id)
        },
    },
    Moment {
        name: "an upload that waits, with a deadline",
        torn: false,
        reach: |peer| {
            peer.send(&settings(&[(4, 10)]));
            let deadline = peer.now.saturating_add(SECOND);
            let id = peer.start_with(Shape::ClientStreaming, None, CallOptions::default().deadline(Some(deadline)));
            peer.put(id, vec![0; 100_000]);
            peer.said();
            Some(id)
        },
    },
    Moment {
        name: "an upload that waits for the connection's window",
        torn: false,
        reach: |peer| {
            peer.send(&settings(&[(4, 1 << 20)]));
            let id = peer.start(Shape::ClientStreaming);
            peer.put(id, vec![0; 100_000]);
            peer.said();
            Some(id)
        },
    },
];

/// A way to end it: whose call must have ended by then.
struct End {
    name: &'static str,
    /// A call of our client has its outcome then (unless the peer's words were octets of a frame).
    ends: bool,
    /// It is the peer's doing.
    by_peer: bool,
    act: fn(&mut Peer, Option<CallId>),
}

fn drained(peer: &mut Peer) {
    let now = peer.now;
    peer.conn.drain(now, Some(SECOND));
    peer.said();
}

const ENDS: [End; 21] = [
    End { name: "RST_STREAM(CANCEL)", ends: true, by_peer: true, act: |peer, _| _ = peer.send(&rst_stream(1, 8)) },
    End { name: "RST_STREAM(NO_ERROR)", ends: true, by_peer: true, act: |peer, _| _ = peer.send(&rst_stream(1, 0)) },
    End { name: "RST_STREAM(REFUSED_STREAM)", ends: true, by_peer: true, act: |peer, _| _ = peer.send(&rst_stream(1, 7)) },
    End {
        name: "our cancel",
        ends: false,
        by_peer: false,
        act: |peer, id| {
            if let Some(call) = id.and_then(|id| peer.conn.call(id).ok()) {
                call.cancel();
            }
        },
    },
    End {
        name: "our finish",
        ends: false,
        by_peer: false,
        act: |peer, id| {
            if let Some(call) = id.and_then(|id| peer.conn.call(id).ok()) {
                call.finish(&Status::new(Code::Aborted, "enough"), None);
            }
        },
    },
    End { name: "a second passes", ends: false, by_peer: false, act: |peer, _| _ = peer.advance(SECOND) },
    End {
        name: "an hour passes, second by second",
        ends: false,
        by_peer: false,
        act: |peer, _| {
            (0..60).for_each(|_| {
                peer.advance(60 * SECOND);
            });
        },
    },
    End { name: "GOAWAY(0)", ends: true, by_peer: true, act: |peer, _| _ = peer.send(&goaway(0, 0, b"")) },
    End { name: "GOAWAY(2^31-1)", ends: false, by_peer: true, act: |peer, _| _ = peer.send(&goaway(i32::MAX as u32, 2, &[0xff; 300])) },
    End { name: "the transport's end", ends: true, by_peer: false, act: |peer, _| _ = peer.eof() },
    End {
        name: "our close",
        ends: true,
        by_peer: false,
        act: |peer, _| {
            let now = peer.now;
            peer.conn.close(now);
        },
    },
    End { name: "our drain", ends: false, by_peer: false, act: |peer, _| drained(peer) },
    End {
        name: "our drain, to its limit",
        ends: true,
        by_peer: false,
        act: |peer, _| {
            drained(peer);
            peer.advance(SECOND);
        },
    },
    End { name: "trailers", ends: true, by_peer: true, act: |peer, _| _ = peer.headers(1, true, &[RESPONSE, TRAILERS_OK].concat()) },
    End { name: "trailers without END_STREAM", ends: false, by_peer: true, act: |peer, _| _ = peer.headers(1, false, TRAILERS_OK) },
    End { name: "empty DATA with END_STREAM", ends: true, by_peer: true, act: |peer, _| _ = peer.data(1, true, b"") },
    End { name: "WINDOW_UPDATE(0)", ends: true, by_peer: true, act: |peer, _| _ = peer.send(&window_update(1, 0)) },
    End {
        name: "WINDOW_UPDATE that overflows, or nearly",
        ends: false,
        by_peer: true,
        act: |peer, _| _ = peer.send(&window_update(1, i32::MAX as u32)),
    },
    End {
        name: "a window that goes down and up",
        ends: false,
        by_peer: true,
        act: |peer, _| {
            peer.send(&settings(&[(4, 0)]));
            peer.said();
            peer.send(&settings(&[(4, 70_000), (3, 1)])).send(&window_update(0, 70_000));
            peer.said();
        },
    },
    End { name: "DATA on stream 0", ends: true, by_peer: true, act: |peer, _| _ = peer.send(&frame(DATA, 0, 0, b"x")) },
    End {
        name: "more DATA than the window",
        ends: true,
        by_peer: true,
        act: |peer, _| _ = peer.send(&frame(DATA, 0, 1, &vec![0; 65_536])),
    },
];

/// Every moment and every end, and a second end by chance: nothing may be left ([`Subject`] looks), no call may hang.
pub(crate) fn b33_every_moment_and_every_end(cut: Way) {
    let mut rng = Rng::new(cut.seed);
    for server in [true, false] {
        let own: &[Moment] = if server { &AT_SERVER } else { &AT_CLIENT };
        for moment in RECEIVING.iter().chain(own) {
            for end in &ENDS {
                let second = &ENDS[rng.below(ENDS.len() as u64) as usize];
                let told = Told(format!("{server} {}: {}, then {}", moment.name, end.name, second.name));
                let mut peer = if server { to_server_with(&small_windows(), cut) } else { to_client_with(&small_windows(), cut, &[]) };
                let id = (moment.reach)(&mut peer);
                (end.act)(&mut peer, id);
                if end.ends && !server && !(moment.torn && end.by_peer) {
                    ended(&mut peer, id);
                }
                peer.said();
                (second.act)(&mut peer, id);
                if moment.torn {
                    peer.eof();
                }
                drop(peer);
                drop(told);
            }
        }
    }
}

struct Told(String);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("at a server? {}", self.0);
        }
    }
}

/// A call of our client has ended, with whatever status: its messages can be read to the end, and there is an outcome.
fn ended(peer: &mut Peer, id: Option<CallId>) {
    // A call that was queued has no stream: the peer's words about stream 1 break the connection.
    let id = id.expect("a client's call");
    let (_, ended) = peer.messages(id);
    assert!(ended, "the call hangs");
}
