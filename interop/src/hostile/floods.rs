//! Much of what is little (RFC 9113 §10.5). The call must end: because the client has had enough, or by its deadline at the latest.

use super::{
    After::Either,
    ENDURED, Script, Shape, Step, TOO_MUCH, When, code,
    wire::{
        HEAD, S, block, continuation, data, flag, frame, goaway, good, head, kind, message, ping, prefixed, raw_head, reset, settings,
        window,
    },
};

/// More frames than any client takes for work.
const MANY: usize = 100_000;

fn flood(name: &'static str, allow: &'static [u32], before: Vec<u8>, each: Vec<u8>, after: Vec<u8>) -> Script {
    let steps = vec![Step::Await(When::End), Step::Send(before), Step::Flood(each, MANY), Step::Send(after)];
    Script::new(name, "RFC 9113 §10.5", allow, Either, steps).deadline(3_000)
}

/// Nothing useful comes of it.
fn vain(name: &'static str, before: Vec<u8>, each: Vec<u8>) -> Script {
    flood(name, TOO_MUCH, before, each, Vec::new())
}

/// A good answer follows, for whoever is still there.
fn noise(name: &'static str, each: Vec<u8>) -> Script {
    flood(name, ENDURED, Vec::new(), each, good(S))
}

pub(super) fn scripts() -> Vec<Script> {
    let begun = frame(kind::HEADERS, 0, S, &block(HEAD)[..7]);
    let mut fresh = vec![0x40, 1, b'x', 100];
    fresh.extend([b'v'; 100]);
    const FULL: &[u32] = &[code::UNAVAILABLE, code::INTERNAL, code::RESOURCE_EXHAUSTED, code::DEADLINE_EXCEEDED, code::UNIMPLEMENTED];
    vec![
        vain("flood/1xx", Vec::new(), head(&[(":status", "100")])),
        vain("flood/empty-data", head(HEAD), data(b"")),
        vain("flood/padding", head(HEAD), frame(kind::DATA, flag::PADDED, S, &[10; 11])),
        vain("flood/octets-of-one-message", [head(HEAD), data(&prefixed(0, 4 << 20, b""))].concat(), data(b"x")),
        vain("flood/continuation", begun.clone(), continuation(0, b"\0\x01x\x01y")),
        vain("flood/empty-continuation", begun, continuation(0, b"")),
        vain("flood/heads-on-the-stream", Vec::new(), raw_head(&fresh)),
        flood("flood/messages-to-a-unary-call", FULL, head(HEAD), data(&message(b"")), Vec::new()),
        vain("flood/messages", head(HEAD), data(&message(b""))).shape(Shape::Streaming),
        noise("flood/ping", ping(0)),
        noise("flood/ping-answers", ping(flag::ACK)),
        noise("flood/settings", settings(&[])),
        noise("flood/settings-windows", settings(&[(4, 65_535), (4, 0), (4, 65_535)])),
        noise("flood/priority", frame(kind::PRIORITY, 0, S, &[0, 0, 0, 3, 1])),
        noise("flood/unknown", frame(0xBE, 0, 0, b"noise")),
        noise("flood/window", window(0, 1)),
        noise("flood/window-on-the-stream", window(S, 1)),
        flood("flood/goaway", TOO_MUCH, Vec::new(), goaway(S, 0, b""), Vec::new()),
        flood("flood/resets", &[code::CANCELLED], Vec::new(), reset(S, 8), Vec::new()),
    ]
}
