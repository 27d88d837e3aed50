//! How streams and connections end: RST_STREAM and GOAWAY at every moment.

use super::{
    After::{Closes, Either, Stays, Stuck},
    BROKEN, CONNECTION, GONE, OK, Script, Shape, Step, TIME, When, answer, code,
    wire::{HEAD, S, data, goaway, good, head, message, prefixed, reset, rest, settings, trailers},
};

pub(super) fn scripts() -> Vec<Script> {
    [resets(), resets_late(), goaways(), goaways_then(), early()].concat()
}

const INTERNAL: &[u32] = &[code::INTERNAL];
const CANCELLED: &[u32] = &[code::CANCELLED];
const CALM: &[u32] = &[code::RESOURCE_EXHAUSTED];
/// As each of the three old implementations has it (PH2 says INTERNAL).
const NO_ERROR: &[u32] = &[code::INTERNAL, code::UNAVAILABLE, code::UNKNOWN];

/// The table of PH2 "Errors"; a second code where one of the old implementations differs.
fn resets() -> Vec<Script> {
    let coded = |name, code, allow| answer(name, "PH2 Errors", allow, Stays, reset(S, code));
    vec![
        coded("reset/no-error", 0, NO_ERROR),
        coded("reset/protocol-error", 1, INTERNAL),
        coded("reset/internal-error", 2, INTERNAL),
        coded("reset/flow-control-error", 3, &[code::INTERNAL, code::RESOURCE_EXHAUSTED]),
        coded("reset/settings-timeout", 4, INTERNAL),
        coded("reset/stream-closed", 5, INTERNAL),
        coded("reset/frame-size-error", 6, INTERNAL),
        // It was not processed: a client may try again by itself.
        coded("reset/refused-stream", 7, &[code::UNAVAILABLE, code::OK]),
        coded("reset/cancel", 8, CANCELLED),
        coded("reset/compression-error", 9, INTERNAL),
        coded("reset/connect-error", 10, INTERNAL),
        coded("reset/enhance-your-calm", 11, CALM),
        coded("reset/inadequate-security", 12, &[code::PERMISSION_DENIED]),
        coded("reset/http-1-1-required", 13, BROKEN),
        coded("reset/unknown-code", 0xDEAD, BROKEN),
        coded("reset/highest-code", u32::MAX, BROKEN),
    ]
}

fn resets_late() -> Vec<Script> {
    let after =
        |name, before: &[Vec<u8>], code, allow| answer(name, "PH2 Errors", allow, Stays, [before.concat(), reset(S, code)].concat());
    let headed = [head(HEAD)];
    let answered = [head(HEAD), data(&message(b""))];
    let half = [head(HEAD), data(&prefixed(0, 10, b"12345"))];
    let whole = [head(HEAD), rest()];
    let connection = |name, section, octets| answer(name, section, CONNECTION, Closes, octets);
    vec![
        after("reset/after-head-no-error", &headed, 0, NO_ERROR),
        after("reset/after-head-refused", &headed, 7, &[code::UNAVAILABLE, code::INTERNAL, code::OK]),
        after("reset/after-head-cancel", &headed, 8, CANCELLED),
        after("reset/after-head-calm", &headed, 11, CALM),
        after("reset/after-message-no-error", &answered, 0, NO_ERROR),
        after("reset/after-message-internal", &answered, 2, INTERNAL),
        after("reset/after-message-cancel", &answered, 8, CANCELLED),
        after("reset/after-message-unknown", &answered, 99, BROKEN),
        after("reset/inside-message", &half, 2, INTERNAL),
        after("reset/inside-message-streaming", &half, 8, CANCELLED).shape(Shape::Streaming),
        // The status was there; what comes after it changes nothing.
        after("reset/after-trailers-no-error", &whole, 0, OK),
        after("reset/after-trailers-cancel", &whole, 8, OK),
        after("reset/after-trailers-internal", &whole, 2, OK),
        answer("reset/twice", "RFC 9113 §5.1", INTERNAL, Stays, reset(S, 2).repeat(2)),
        answer("reset/before-request-ends", "PH2 Errors", CANCELLED, Stays, reset(S, 8)).request(200_000).when_head(),
        answer("reset/bidi", "PH2 Errors", INTERNAL, Stays, reset(S, 2)).shape(Shape::Bidi).when_head(),
        connection("reset/on-an-idle-stream", "RFC 9113 §6.4", reset(99, 8)),
        connection("reset/on-stream-0", "RFC 9113 §6.4", reset(0, 8)),
        connection("reset/on-an-even-stream", "RFC 9113 §5.1", reset(2, 8)),
        connection("reset/three-octets", "RFC 9113 §6.4", super::wire::frame(3, 0, S, &[0; 3])),
    ]
}

fn goaways() -> Vec<Script> {
    let gone = |name, octets: Vec<u8>| answer(name, "RFC 9113 §6.8", GONE, Either, octets);
    let broken = |name, octets: Vec<u8>| answer(name, "RFC 9113 §6.8", CONNECTION, Closes, octets);
    const CALM: &[u32] = &[code::UNAVAILABLE, code::RESOURCE_EXHAUSTED];
    vec![
        // The call is above the last stream: it was not processed, and nothing more comes of it.
        gone("goaway/last-0", goaway(0, 0, b"")),
        gone("goaway/last-0-protocol-error", goaway(0, 1, b"")),
        gone("goaway/last-0-internal-error", goaway(0, 2, b"")),
        gone("goaway/last-0-unknown-code", goaway(0, 0xDEAD, b"")),
        answer("goaway/last-0-calm", "gRFC A8", CALM, Either, goaway(0, 11, b"too_many_pings")).says("too_many_pings"),
        gone("goaway/last-0-long-text", goaway(0, 0, &[b'x'; 16_000])),
        gone("goaway/last-0-text-not-utf-8", goaway(0, 0, &[0xFF, 0xFE, 0, b'\n', 0x1B, b'['])),
        gone("goaway/all-then-0", [goaway(u32::MAX >> 1, 0, b""), goaway(0, 0, b"")].concat()),
        gone("goaway/twice-0", goaway(0, 0, b"").repeat(2)),
        broken("goaway/growing", [goaway(1, 0, b""), goaway(3, 0, b"")].concat()),
        broken("goaway/growing-to-all", [goaway(1, 0, b""), goaway(u32::MAX >> 1, 0, b"")].concat()),
        broken("goaway/on-a-stream", super::wire::frame(7, 0, S, &[0; 8])),
        broken("goaway/seven-octets", super::wire::frame(7, 0, 0, &[0; 7])),
        broken("goaway/empty", super::wire::frame(7, 0, 0, b"")),
    ]
}

fn goaways_then() -> Vec<Script> {
    let going = |name, octets: &[Vec<u8>]| answer(name, "RFC 9113 §6.8", OK, Either, octets.concat());
    let closing = |name, octets: Vec<u8>| {
        let steps = vec![Step::Await(When::End), Step::Send(octets), Step::Close];
        Script::new(name, "RFC 9113 §6.8", GONE, Either, steps)
    };
    vec![
        going("goaway/ours-then-answer", &[goaway(S, 0, b""), good(S)]),
        going("goaway/ours-error-then-answer", &[goaway(S, 2, b""), good(S)]),
        going("goaway/all-then-answer", &[goaway(u32::MAX >> 1, 0, b""), good(S)]),
        going("goaway/all-ours-answer", &[goaway(u32::MAX >> 1, 0, b""), goaway(S, 0, b""), good(S)]),
        going("goaway/even-id-then-answer", &[goaway(2, 0, b""), good(S)]),
        going("goaway/reserved-bit-then-answer", &[goaway(1 << 31 | S, 0, b""), good(S)]),
        going("goaway/inside-the-answer", &[head(HEAD), goaway(S, 0, b""), rest()]),
        going("goaway/after-the-answer", &[good(S), goaway(S, 0, b"")]),
        closing("goaway/last-0-and-close", goaway(0, 0, b"")),
        closing("goaway/ours-and-close", goaway(S, 0, b"")),
        closing("goaway/ours-error-and-close", goaway(S, 2, b"")),
        closing("goaway/all-and-close", goaway(u32::MAX >> 1, 0, b"")),
        closing("goaway/inside-the-answer-and-close", [head(HEAD), goaway(S, 0, b"")].concat()),
        answer("goaway/ours-then-silence", "RFC 9113 §6.8", TIME, Stuck, goaway(S, 0, b"")),
        answer("goaway/all-then-silence", "RFC 9113 §6.8", TIME, Stuck, goaway(u32::MAX >> 1, 0, b"")),
        Script::new("goaway/as-the-first-frame", "RFC 9113 §3.4", CONNECTION, Closes, vec![Step::Send(goaway(0, 0, b""))]).rude(),
        Script::new(
            "goaway/right-after-settings",
            "RFC 9113 §6.8",
            // A client may look for a better connection until the deadline.
            &[code::UNAVAILABLE, code::DEADLINE_EXCEEDED],
            Either,
            vec![Step::Send([settings(&[]), goaway(0, 0, b"")].concat()), Step::Await(When::Head)],
        )
        .rude(),
    ]
}

/// Answers that do not wait for the request.
fn early() -> Vec<Script> {
    let failed = trailers(&[HEAD[0], HEAD[1], ("grpc-status", "5")]);
    const FAILED: &[u32] = &[code::NOT_FOUND];
    vec![
        answer("early/error-to-an-upload", "RFC 9113 §8.1", FAILED, Stays, failed.clone()).request(1_000_000).when_head(),
        answer("early/error-and-no-error-reset", "RFC 9113 §8.1", FAILED, Stays, [failed.clone(), reset(S, 0)].concat())
            .request(1_000_000)
            .when_head(),
        answer("early/error-and-cancel-reset", "RFC 9113 §8.1", FAILED, Stays, [failed, reset(S, 8)].concat())
            .request(1_000_000)
            .when_head(),
        answer("early/ok-to-an-upload", "RFC 9113 §8.1", OK, Stays, good(S)).request(1_000_000).when_head(),
        // Of an idle stream, if it comes before the client has opened it; which of the two, is a matter of luck.
        Script::new(
            "early/before-the-request",
            "RFC 9113 §5.1",
            &[code::OK, code::UNAVAILABLE, code::INTERNAL, code::DEADLINE_EXCEEDED],
            Either,
            vec![Step::Send([settings(&[]), good(S)].concat())],
        )
        .rude(),
    ]
}
