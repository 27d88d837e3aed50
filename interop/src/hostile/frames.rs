//! Frames that are wrong, or wrong where they stand: RFC 9113 §3 to §6, and header compression.

use super::{
    After::{Closes, Either, Stays, Stuck},
    BROKEN, CONNECTION, ENDURED, OK, SHORT, Script, Step, TIME, When, answer, code,
    wire::{
        HEAD, S, TRAILERS, block, continuation, data, flag, frame, frame_of, good, head, kind, message, ping, prefixed, raw_head, reset,
        rest, settings, settings_ack, size_update, string, trailers, window,
    },
};

pub(super) fn scripts() -> Vec<Script> {
    [padding(), streams(), sizes(), others(), continuations(), compression(), settings_first(), settings_values(), windows()].concat()
}

/// Ends the connection.
fn fatal(name: &'static str, section: &'static str, octets: Vec<u8>) -> Script {
    answer(name, section, CONNECTION, Closes, octets)
}

/// Has to be put up with: a good answer follows.
fn legal(name: &'static str, section: &'static str, octets: &[Vec<u8>]) -> Script {
    answer(name, section, OK, Stays, octets.concat())
}

/// The stream's fault, which may be taken for the connection's.
const EITHER: &[u32] = &[code::INTERNAL, code::UNAVAILABLE, code::UNKNOWN, code::RESOURCE_EXHAUSTED];

fn padding() -> Vec<Script> {
    let padded = |octets: &[u8], pad: u8| [&[pad], octets, &vec![0; pad.into()]].concat();
    let in_head = frame(kind::HEADERS, flag::END_HEADERS | flag::PADDED, S, &padded(&block(HEAD), 200));
    let in_data = frame(kind::DATA, flag::PADDED, S, &padded(&message(b""), 255));
    let only = frame(kind::DATA, flag::PADDED, S, &padded(b"", 100));
    let nonzero = frame(kind::DATA, flag::PADDED, S, &[&[3], &message(b"")[..], b"xyz"].concat());
    let too_long = |kind, payload: &[u8]| frame(kind, flag::END_HEADERS | flag::PADDED, S, payload);
    vec![
        legal("padding/head-and-data", "RFC 9113 §6.1", &[in_head, in_data, trailers(TRAILERS)]),
        legal("padding/nothing-else", "RFC 9113 §6.1", &[head(HEAD), only, rest()]),
        answer("padding/not-zero", "RFC 9113 §6.1", ENDURED, Either, [head(HEAD), nonzero, trailers(TRAILERS)].concat()),
        fatal("padding/data-longer-than-frame", "RFC 9113 §6.1", [head(HEAD), too_long(kind::DATA, &[6, 0, 0, 0, 0, 0])].concat()),
        fatal("padding/data-without-length", "RFC 9113 §6.1", [head(HEAD), too_long(kind::DATA, b"")].concat()),
        fatal("padding/head-longer-than-frame", "RFC 9113 §6.2", too_long(kind::HEADERS, &[&[255], &block(HEAD)[..]].concat())),
        fatal("padding/head-without-length", "RFC 9113 §6.2", too_long(kind::HEADERS, b"")),
    ]
}

fn streams() -> Vec<Script> {
    let headers_on = |stream| frame(kind::HEADERS, flag::END_HEADERS, stream, &block(HEAD));
    let data_on = |stream| frame(kind::DATA, 0, stream, &message(b""));
    vec![
        fatal("stream/head-on-0", "RFC 9113 §6.2", headers_on(0)),
        fatal("stream/head-on-idle", "RFC 9113 §5.1", headers_on(7)),
        fatal("stream/head-on-even", "RFC 9113 §5.1.1", headers_on(2)),
        fatal("stream/head-on-highest", "RFC 9113 §5.1", headers_on(u32::MAX >> 1)),
        fatal("stream/data-on-0", "RFC 9113 §6.1", data_on(0)),
        fatal("stream/data-on-idle", "RFC 9113 §5.1", data_on(9)),
        fatal("stream/data-on-even", "RFC 9113 §5.1", data_on(2)),
        fatal("stream/window-on-idle", "RFC 9113 §5.1", window(9, 1)),
        fatal("stream/window-on-even", "RFC 9113 §5.1", window(4, 1)),
        fatal("stream/continuation-on-0", "RFC 9113 §6.10", frame(kind::CONTINUATION, 4, 0, b"")),
        legal(
            "stream/reserved-bit",
            "RFC 9113 §4.1",
            &[
                frame(kind::HEADERS, flag::END_HEADERS, S | 1 << 31, &block(HEAD)),
                frame(kind::DATA, 0, S | 1 << 31, &message(b"")),
                trailers(TRAILERS),
            ],
        ),
        legal(
            "stream/flags-without-meaning",
            "RFC 9113 §4.1",
            &[
                frame(kind::HEADERS, flag::END_HEADERS | 0xD2, S, &block(HEAD)),
                frame(kind::DATA, 0xF6, S, &message(b"")),
                trailers(TRAILERS),
            ],
        ),
        legal("stream/window-on-closed", "RFC 9113 §5.1", &[good(S), window(S, 1)]),
        legal("stream/priority-on-idle", "RFC 9113 §6.3", &[frame(kind::PRIORITY, 0, 9, &[0, 0, 0, 1, 5]), good(S)]),
        answer(
            "stream/priority-on-itself",
            "RFC 7540 §5.3.1",
            &[code::OK, code::INTERNAL],
            Stays,
            [frame(kind::PRIORITY, 0, S, &[0, 0, 0, 1, 5]), good(S)].concat(),
        ),
        answer("push/promise", "RFC 9113 §8.4", CONNECTION, Closes, promise(2)),
        fatal("push/promise-of-an-odd-stream", "RFC 9113 §6.6", promise(3)),
        fatal("push/promise-on-0", "RFC 9113 §6.6", frame(kind::PUSH_PROMISE, flag::END_HEADERS, 0, &promise(2)[9..])),
        fatal("push/promise-without-fields", "RFC 9113 §6.6", frame(kind::PUSH_PROMISE, flag::END_HEADERS, S, &[0; 3])),
    ]
}

fn promise(stream: u32) -> Vec<u8> {
    let fields = block(&[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "localhost")]);
    frame(kind::PUSH_PROMISE, flag::END_HEADERS, S, &[&stream.to_be_bytes()[..], &fields].concat())
}

fn sizes() -> Vec<Script> {
    let larger = |kind, flags, stream| frame_of(0xFF_FFFF, kind, flags, stream, &[0; 4_000]);
    vec![
        fatal("size/head-16-mib", "RFC 9113 §4.2", larger(kind::HEADERS, 4, S)),
        fatal("size/settings-16-mib", "RFC 9113 §4.2", larger(kind::SETTINGS, 0, 0)),
        answer("size/data-16-mib", "RFC 9113 §4.2", EITHER, Either, [head(HEAD), larger(kind::DATA, 0, S)].concat()),
        fatal("size/unknown-16-mib", "RFC 9113 §4.2", larger(0xBE, 0, 0)),
        fatal("size/ping-of-7", "RFC 9113 §6.7", frame(kind::PING, 0, 0, &[0; 7])),
        fatal("size/ping-of-9", "RFC 9113 §6.7", frame(kind::PING, 0, 0, &[0; 9])),
        fatal("size/window-of-3", "RFC 9113 §6.9", frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3])),
        fatal("size/window-of-5", "RFC 9113 §6.9", frame(kind::WINDOW_UPDATE, 0, S, &[0; 5])),
        answer("size/priority-of-4", "RFC 9113 §6.3", EITHER, Either, frame(kind::PRIORITY, 0, S, &[0; 4])),
        fatal("size/head-too-short-for-priority", "RFC 9113 §6.2", frame(kind::HEADERS, 0x24, S, &[0; 4])),
    ]
}

fn others() -> Vec<Script> {
    vec![
        legal("ping/asked", "RFC 9113 §6.7", &[ping(0), good(S)]),
        legal("ping/answered-unasked", "RFC 9113 §6.7", &[ping(flag::ACK), good(S)]),
        fatal("ping/on-a-stream", "RFC 9113 §6.7", frame(kind::PING, 0, S, &[0; 8])),
        legal("unknown/on-the-connection", "RFC 9113 §4.1", &[frame(0xBE, 0xFF, 0, b"what?"), good(S)]),
        legal("unknown/on-the-stream", "RFC 9113 §4.1", &[head(HEAD), frame(0xBE, 0xFF, S, &[7; 16_000]), rest()]),
        legal("unknown/on-an-idle-stream", "RFC 9113 §5.5", &[frame(0xFF, 0, 77, b""), good(S)]),
        legal("unknown/altsvc-and-origin", "RFC 7838 §4", &[frame(0xA, 0, 0, b"\0\0h2=\":1\""), frame(0xC, 0, 0, b""), good(S)]),
    ]
}

fn continuations() -> Vec<Script> {
    let fields = block(HEAD);
    let (front, back) = fields.split_at(7);
    let begun = frame(kind::HEADERS, 0, S, front);
    let between = |name, octets: Vec<u8>| {
        fatal(name, "RFC 9113 §6.10", [begun.clone(), octets, continuation(flag::END_HEADERS, back), rest()].concat())
    };
    vec![
        legal("continuation/two", "RFC 9113 §6.10", &[begun.clone(), continuation(0, b""), continuation(4, back), rest()]),
        between("continuation/data-between", data(&message(b""))),
        between("continuation/ping-between", ping(0)),
        between("continuation/settings-between", settings(&[])),
        between("continuation/head-between", head(HEAD)),
        between("continuation/unknown-between", frame(0xBE, 0, 0, b"")),
        between("continuation/of-another-stream", frame(kind::CONTINUATION, flag::END_HEADERS, 3, back)),
        fatal("continuation/of-nothing", "RFC 9113 §6.10", continuation(flag::END_HEADERS, &fields)),
        fatal("continuation/after-the-block", "RFC 9113 §6.10", [head(HEAD), continuation(flag::END_HEADERS, b"")].concat()),
        answer("continuation/never", "RFC 9113 §6.10", TIME, Stuck, begun),
    ]
}

fn compression() -> Vec<Script> {
    let wrong = |name, section, octets: &[u8]| fatal(name, section, raw_head(octets));
    let with = |octets: &[u8]| [&block(HEAD)[..], octets].concat();
    let mut bomb = vec![0x40];
    string(&mut bomb, b"x-bomb");
    string(&mut bomb, &[b'b'; 3_900]);
    bomb.extend([0xBE; 10_000]);
    const LARGE: &[u32] = &[code::RESOURCE_EXHAUSTED, code::INTERNAL, code::UNAVAILABLE, code::UNKNOWN];
    vec![
        wrong("hpack/index-0", "RFC 7541 §6.1", &with(&[0x80])),
        wrong("hpack/index-past-the-table", "RFC 7541 §2.3.3", &with(&[0xBE])),
        wrong("hpack/name-past-the-table", "RFC 7541 §2.3.3", &with(&[0x7F, 0x10, 1, b'a'])),
        wrong("hpack/integer-too-large", "RFC 7541 §5.1", &with(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])),
        wrong("hpack/integer-without-end", "RFC 7541 §5.1", &with(&[&[0xFF][..], &[0x80; 100]].concat())),
        wrong("hpack/string-past-the-block", "RFC 7541 §5.2", &with(&[0, 1, b'x', 100, b'y'])),
        wrong("hpack/string-of-4-gib", "RFC 7541 §5.2", &with(&[0, 1, b'x', 0x7F, 0x80, 0xFF, 0xFF, 0xFF, 0x0F])),
        wrong("hpack/huffman-padding-of-zeros", "RFC 7541 §5.2", &with(&[0, 1, b'x', 0x81, 0b0001_1000])),
        wrong("hpack/huffman-padding-too-long", "RFC 7541 §5.2", &with(&[0, 1, b'x', 0x82, 0b0001_1111, 0xFF])),
        wrong("hpack/huffman-end-of-string", "RFC 7541 §5.2", &with(&[0, 1, b'x', 0x84, 0xFF, 0xFF, 0xFF, 0xFF])),
        wrong("hpack/table-larger-than-allowed", "RFC 7541 §6.3", &[size_update(1 << 20), block(HEAD)].concat()),
        wrong("hpack/size-update-after-a-field", "RFC 7541 §4.2", &[block(HEAD), size_update(0)].concat()),
        wrong("hpack/cut-short", "RFC 7541 §5.2", &with(&[0x40])),
        legal("hpack/two-size-updates", "RFC 7541 §4.2", &[raw_head(&[size_update(0), size_update(4_096), block(HEAD)].concat()), rest()]),
        answer("hpack/one-large-field-many-times", "RFC 7541 §7.3", LARGE, Either, [raw_head(&with(&bomb)), rest()].concat()),
        // The block on the promised stream is wrong, but so is all that follows where it is not decoded.
        fatal("hpack/after-the-call-has-ended", "RFC 9113 §4.3", [good(S), raw_head(&[0x80])].concat()).allow(&[
            code::OK,
            code::UNAVAILABLE,
            code::INTERNAL,
        ]),
    ]
}

/// The server's first octets.
fn first(name: &'static str, octets: Vec<u8>) -> Script {
    Script::new(name, "RFC 9113 §3.4", CONNECTION, Closes, vec![Step::Await(When::Preface), Step::Send(octets)]).rude()
}

fn settings_first() -> Vec<Script> {
    let never = vec![Step::Send(settings(&[])), Step::Await(When::End), Step::Send(good(S))];
    vec![
        first("settings/not-first-but-ping", ping(0)),
        first("settings/not-first-but-head", head(HEAD)),
        first("settings/not-first-but-window", window(0, 1)),
        first("settings/not-first-but-acknowledgement", settings_ack()),
        first("settings/not-first-but-unknown", frame(0xBE, 0, 0, b"")),
        Script::new("settings/never-acknowledged", "RFC 9113 §6.5.3", OK, Either, never).rude(),
        fatal("settings/acknowledgement-with-payload", "RFC 9113 §6.5", frame(kind::SETTINGS, flag::ACK, 0, &[0; 6])),
        fatal("settings/on-a-stream", "RFC 9113 §6.5", frame(kind::SETTINGS, 0, S, b"")),
        fatal("settings/five-octets", "RFC 9113 §6.5", frame(kind::SETTINGS, 0, 0, &[0; 5])),
        answer("settings/acknowledged-too-often", "RFC 9113 §6.5", ENDURED, Either, [settings_ack().repeat(2), good(S)].concat()),
    ]
}

fn settings_values() -> Vec<Script> {
    let value = |name, id, value| fatal(name, "RFC 9113 §6.5.2", settings(&[(id, value)]));
    // From the first octet on, so that the call begins under it.
    let under = |name, allow, after, entries: &[(u16, u32)]| {
        let steps = vec![Step::Send(settings(entries)), Step::Send(settings_ack()), Step::Await(When::End), Step::Send(good(S))];
        Script::new(name, "RFC 9113 §6.5.2", allow, after, steps).rude()
    };
    let many: Vec<(u16, u32)> = (0..2_000).map(|n| (0x4000 + n, 1)).collect();
    vec![
        value("settings/push-1", 2, 1),
        value("settings/push-2", 2, 2),
        value("settings/window-2-31", 4, 1 << 31),
        value("settings/window-highest", 4, u32::MAX),
        value("settings/frame-0", 5, 0),
        value("settings/frame-16383", 5, 16_383),
        value("settings/frame-2-24", 5, 1 << 24),
        under("settings/table-0", OK, Stays, &[(1, 0)]),
        under("settings/table-highest", OK, Stays, &[(1, u32::MAX)]),
        under("settings/unknown-ids", OK, Stays, &[(0, 1), (9, 1), (0xFFFF, u32::MAX)]),
        under("settings/same-id-twice", OK, Stays, &[(4, 0), (4, 65_535)]),
        // A call that begins before the SETTINGS are read is refused.
        Script::new(
            "settings/no-calls-allowed",
            "RFC 9113 §5.1.2",
            &[code::DEADLINE_EXCEEDED, code::UNAVAILABLE],
            Stuck,
            vec![Step::Send(settings(&[(3, 0)])), Step::Send(settings_ack()), Step::Await(When::Head), Step::Send(reset(S, 7))],
        )
        .rude()
        .deadline(SHORT),
        under("settings/window-0", TIME, Stuck, &[(4, 0)]).request(100_000),
        under("settings/header-list-0", &[code::OK, code::INTERNAL, code::RESOURCE_EXHAUSTED], Stuck, &[(6, 0)]),
        answer("settings/two-thousand", "RFC 9113 §10.5", ENDURED, Either, [settings(&many), good(S)].concat()),
        answer("settings/window-0-after-the-request", "RFC 9113 §6.9.2", OK, Stuck, [settings(&[(4, 0)]), good(S)].concat()),
    ]
}

fn windows() -> Vec<Script> {
    let most = (1 << 31) - 1;
    let credit = |stream| window(stream, most);
    let starved = |name, steps: Vec<Step>, allow, after| {
        let before = [Step::Send([settings(&[(4, 0)]), settings_ack()].concat()), Step::Await(When::Head)];
        Script::new(name, "RFC 9113 §6.9", allow, after, [before.to_vec(), steps].concat()).rude().request(200)
    };
    // A message of 4 MB, however little of it the client allows.
    let over = [head(HEAD), data(&prefixed(0, 4_000_000, b"")), data(&[0; 16_000]).repeat(250), trailers(TRAILERS)].concat();
    vec![
        fatal("window/increment-0", "RFC 9113 §6.9", window(0, 0)),
        answer("window/increment-0-on-the-stream", "RFC 9113 §6.9", EITHER, Either, window(S, 0)),
        fatal("window/overflow", "RFC 9113 §6.9.1", [credit(0), credit(0)].concat()),
        // The request is not at its end: its window counts.
        answer("window/overflow-on-the-stream", "RFC 9113 §6.9.1", EITHER, Either, [credit(S), credit(S)].concat())
            .request(1_000_000)
            .when_head(),
        answer(
            "window/overflow-by-settings",
            "RFC 9113 §6.9.2",
            CONNECTION,
            Closes,
            [window(S, most - 65_535), settings(&[(4, most)])].concat(),
        )
        .request(1_000_000)
        .when_head(),
        answer("window/reserved-bit", "RFC 9113 §6.9", OK, Stays, [window(0, 1 << 31 | 5), good(S)].concat()),
        starved("window/in-single-octets", vec![Step::Flood(window(S, 1), 205), Step::Await(When::End), Step::Send(good(S))], OK, Stuck),
        starved(
            "window/by-later-settings",
            vec![Step::Send(settings(&[(4, 65_535)])), Step::Await(When::End), Step::Send(good(S))],
            OK,
            Either,
        ),
        starved("window/too-little", vec![Step::Send(window(S, 100))], TIME, Stuck).request(100_000),
        starved(
            "window/negative-for-ever",
            vec![Step::Send(window(S, 100)), Step::Pause(50), Step::Send(settings(&[(4, 0)]))],
            TIME,
            Stuck,
        )
        .request(100_000),
        answer("window/overrun", "RFC 9113 §6.9.1", ENDURED, Either, over),
        answer("window/never-for-an-upload", "RFC 9113 §6.9.1", TIME, Stuck, b"".to_vec()).request(1_000_000).when_head(),
        answer("data/before-the-head-and-error", "RFC 9113 §8.1", BROKEN, Stays, [data(b"x"), trailers(HEAD)].concat()),
    ]
}

impl Script {
    fn allow(self, allow: &'static [u32]) -> Self {
        Self { allow, ..self }
    }
}
