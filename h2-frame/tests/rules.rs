//! One line for each rule of RFC 9113 that one frame is enough to judge.

mod common;

use common::{MAX, connection, hex, raw, stream, verdict};
use h2_frame::*;

const PROTOCOL: ErrorCode = ErrorCode::PROTOCOL_ERROR;
const SIZE: ErrorCode = ErrorCode::FRAME_SIZE_ERROR;
const FLOW: ErrorCode = ErrorCode::FLOW_CONTROL_ERROR;

/// The error of the only frame, which the one-shot parser and the scanner (with `parse_payload`) must agree on.
fn error_of(wire: &[u8]) -> Option<(ErrorCode, Scope)> {
    let parsed = parse(wire, MAX);
    assert_ne!(parsed, Ok(Status::Partial), "the tables have whole frames");
    let mut scanner = Scanner::new();
    let scanned = scan_one(&mut scanner, wire);
    assert_eq!(parsed.err().map(verdict), scanned.err().map(verdict), "parse and Scanner disagree on {wire:02x?}");
    if let Err(error) = parsed
        && error.code == SIZE
    {
        let head = Head::parse(wire.first_chunk().expect("a whole frame"));
        assert_eq!(head.check(MAX), parsed.map(|_| ()), "a wrong length needs no payload to be seen");
    }
    parsed.err().map(verdict)
}

fn scan_one(scanner: &mut Scanner, mut input: &[u8]) -> Result<(), Error> {
    let Some(Item::Head(head)) = scanner.next(&mut input)? else { panic!("a whole frame starts with a head") };
    match scanner.take_payload(&mut input) {
        Some(payload) => drop(parse_payload(head, payload)?),
        None => while scanner.next(&mut input)?.is_some() {},
    }
    Ok(())
}

fn frame(wire: &[u8]) -> Frame<'_> {
    match parse(wire, MAX) {
        Ok(Status::Complete((frame, size))) => {
            assert_eq!(size, wire.len());
            frame
        }
        other => panic!("{other:?} of {wire:02x?}"),
    }
}

/// The rule, a frame, the error that must come of it.
type Row = (&'static str, Vec<u8>, Option<(ErrorCode, Scope)>);

#[track_caller]
fn check(rows: &[Row]) {
    for (rule, wire, expected) in rows {
        assert_eq!(error_of(wire), *expected, "{rule}");
    }
}

#[test]
fn preface() {
    assert_eq!(PREFACE.to_vec(), hex("50 52 49 20 2a 20 48 54 54 50 2f 32 2e 30 0d 0a 0d 0a 53 4d 0d 0a 0d 0a"));
    let with_settings = [&PREFACE[..], &raw(kind::SETTINGS, 0, 0, b"")].concat();
    assert_eq!(parse_preface(&with_settings), Ok(Status::Complete(24)));
    assert_eq!(parse_preface(&PREFACE), Ok(Status::Complete(24)));
    for cut in 0..24 {
        assert_eq!(parse_preface(&PREFACE[..cut]), Ok(Status::Partial), "{cut} octets");
        let mut wrong = PREFACE[..=cut].to_vec();
        wrong[cut] ^= 0x20;
        assert_eq!(parse_preface(&wrong).map_err(verdict), Err(connection(PROTOCOL)), "octet {cut} differs");
    }
    assert!(parse_preface(b"GET / HTTP/1.1\r\n\r\n").is_err());
}

#[test]
fn head_layout() {
    // RFC 9113 §4.1: Length (24), Type (8), Flags (8), Reserved (1), Stream Identifier (31).
    let octets = [0x01, 0x02, 0x03, 0x04, 0x05, 0x76, 0x07, 0x08, 0x09];
    let head = Head { len: 0x010203, kind: 4, flags: 5, stream: 0x76070809 };
    assert_eq!(Head::parse(&octets), head);
    assert_eq!(head.encode(), octets);
    assert_eq!(
        Head::parse(&[0xff; 9]),
        Head { len: 0xff_ffff, kind: 0xff, flags: 0xff, stream: 0x7fff_ffff },
        "the reserved bit is dropped"
    );
    assert_eq!(Head { len: 0, kind: 0, flags: 0, stream: u32::MAX }.encode(), [0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff], "and sent as 0");
    assert!(head.has(flag::END_STREAM) && head.has(flag::END_HEADERS) && !head.has(flag::PADDED));
    assert!(!head.has(flag::END_HEADERS | flag::PADDED), "all bits are asked for");
}

#[test]
fn reserved_bits_and_undefined_flags_are_ignored() {
    // RFC 9113 §4.1 (h2spec 4.1/2, 4.1/3), §6.6, §6.8, §6.9.
    let ping = raw(kind::PING, 0xfe, 0x8000_0000, b"abcdefgh");
    assert_eq!(frame(&ping), Frame::Ping(Ping { ack: false, data: *b"abcdefgh" }));
    let update = raw(kind::WINDOW_UPDATE, 0xff, 0x8000_0003, &[0x80, 0, 0, 9]);
    assert_eq!(frame(&update), Frame::WindowUpdate(WindowUpdate { stream: 3, increment: 9 }));
    let goaway = raw(kind::GOAWAY, 0xff, 0, &hex("80000005 00000002"));
    assert_eq!(frame(&goaway), Frame::GoAway(GoAway { last_stream: 5, code: ErrorCode::INTERNAL_ERROR, debug: b"" }));
    let promise = raw(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &hex("80000002 88"));
    assert_eq!(frame(&promise), Frame::PushPromise(PushPromise { stream: 1, promised: 2, fragment: &[0x88], end_headers: true }));
    let data = raw(kind::DATA, 0xf6, 1, b"x");
    let expected = Data { stream: 1, data: b"x", pad_len: None, end_stream: false, flow_len: 1 };
    assert_eq!(frame(&data), Frame::Data(expected), "of these bits DATA knows none");
}

#[test]
fn unknown_kinds_pass() {
    // RFC 9113 §4.1, §5.5: any stream, any length, any flags.
    for kind in 10..=255 {
        for stream in [0, 1, 2, 0x7fff_ffff] {
            for payload in [&b""[..], b"x", &[0; MAX as usize]] {
                let wire = raw(kind, 0xff, stream, payload);
                let head = Head { len: payload.len() as u32, kind, flags: 0xff, stream };
                assert_eq!(frame(&wire), Frame::Unknown(Unknown { head, payload }));
                assert_eq!(error_of(&wire), None);
            }
        }
    }
}

#[test]
fn lengths_against_the_maximum() {
    // RFC 9113 §4.2 (h2spec 4.2/1-3): 16,384 must be taken; one more is FRAME_SIZE_ERROR, here always of the connection.
    let full = raw(kind::DATA, 0, 1, &[7; MAX as usize]);
    assert_eq!(error_of(&full), None);
    for kind in 0..=255 {
        for stream in [0, 1] {
            let head = Head { len: MAX + 1, kind, flags: 0, stream };
            assert_eq!(head.check(MAX).map_err(verdict), Err(connection(SIZE)), "{head:?}");
            assert_eq!(parse(&head.encode(), MAX).map_err(verdict), Err(connection(SIZE)), "nine octets are enough: {head:?}");
            assert_eq!(Scanner::new().next(&mut &head.encode()[..]).map_err(verdict), Err(connection(SIZE)), "{head:?}");
        }
    }
    assert_eq!(Head { len: MAX + 1, kind: kind::DATA, flags: 0, stream: 1 }.check(MAX + 1), Ok(()));
    let mut scanner = Scanner::new();
    scanner.set_max_frame(MAX + 1);
    assert!(matches!(scanner.next(&mut &data_head(MAX + 1, 1, false)[..]), Ok(Some(Item::Head(_)))));
    // An answer in HTTP/1.1 fails at its ninth octet; nobody waits for 4.7 MB of "HTT".
    assert_eq!(parse(b"HTTP/1.1", MAX), Ok(Status::Partial));
    assert_eq!(parse(b"HTTP/1.1 ", MAX).map_err(verdict), Err(connection(SIZE)));
}

#[test]
fn data() {
    let p = flag::PADDED;
    check(&[
        ("§6.1 stream 0", raw(0, 0, 0, b"x"), Some(connection(PROTOCOL))),
        ("§6.1 padding as long as the payload", raw(0, p, 1, &[3, 0, 0]), Some(connection(PROTOCOL))),
        ("§6.1 padding longer than the payload", raw(0, p, 1, &[255, 0, 0]), Some(connection(PROTOCOL))),
        ("§6.1 pad length 1, nothing after it", raw(0, p, 1, &[1]), Some(connection(PROTOCOL))),
        ("§6.1 padding may fill all the rest", raw(0, p, 1, &[2, 0, 0]), None),
        ("§6.1 pad length 0", raw(0, p, 1, &[0]), None),
        ("§4.2 no room for the pad length", raw(0, p, 1, b""), Some(connection(SIZE))),
        ("§6.1 padding that is not zero may be ignored", raw(0, p, 1, &[2, 9, 9]), None),
        ("§6.1 empty, without END_STREAM", raw(0, 0, 1, b""), None),
    ]);
    let wire = raw(0, p | flag::END_STREAM, 0x7fff_ffff, b"\x02abc\0\0");
    let expected = Data { stream: 0x7fff_ffff, data: b"abc", pad_len: Some(2), end_stream: true, flow_len: 6 };
    assert_eq!(frame(&wire), Frame::Data(expected));
    let mut longest = vec![255; 257];
    longest[1] = b'x';
    let wire = raw(0, p, 1, &longest);
    let expected = Data { stream: 1, data: b"x", pad_len: Some(255), end_stream: false, flow_len: 257 };
    assert_eq!(frame(&wire), Frame::Data(expected), "all 257 octets count for flow control (§6.9.1)");
}

#[test]
fn headers() {
    let (p, prio) = (flag::PADDED, flag::PRIORITY);
    check(&[
        ("§6.2 stream 0", raw(1, 4, 0, b"\x88"), Some(connection(PROTOCOL))),
        ("§6.2 more padding than room", raw(1, p, 1, &[3, 0x88, 0]), Some(connection(PROTOCOL))),
        ("§6.2 padding may leave no fragment", raw(1, p, 1, &[2, 0, 0]), None),
        ("§6.2 padding must leave the priority", raw(1, p | prio, 1, &[1, 0, 0, 0, 3, 9]), Some(connection(PROTOCOL))),
        ("§4.2 no room for the pad length", raw(1, p, 1, b""), Some(connection(SIZE))),
        ("§4.2 no room for the priority", raw(1, prio, 1, &[0; 4]), Some(connection(SIZE))),
        ("§4.2 no room for pad length and priority", raw(1, p | prio, 1, &[0; 5]), Some(connection(SIZE))),
        ("§6.2 an empty fragment", raw(1, prio, 1, &[0; 5]), None),
        ("RFC 7540 §5.3.1 a stream that depends on itself", raw(1, prio, 1, &[0, 0, 0, 1, 0]), Some(connection(PROTOCOL))),
        ("RFC 7540 §5.3.1 exclusively", raw(1, p | prio, 1, &[0, 0x80, 0, 0, 1, 0]), Some(connection(PROTOCOL))),
        ("RFC 9113 §5.3 without the flag these octets say nothing", raw(1, 0, 1, &[0, 0, 0, 1, 0]), None),
        ("§6.2 END_STREAM without END_HEADERS", raw(1, 1, 1, b"\x88"), None),
    ]);
    let wire = raw(1, p | prio | flag::END_STREAM | flag::END_HEADERS, 3, &hex("02 80000001 0f 8887 0000"));
    let priority = Some(PriorityFields { exclusive: true, dependency: 1, weight: 15 });
    let expected = Headers { stream: 3, fragment: &[0x88, 0x87], end_stream: true, end_headers: true, priority };
    assert_eq!(frame(&wire), Frame::Headers(expected));
    let wire = raw(1, 0, 3, b"\x88");
    let expected = Headers { stream: 3, fragment: &[0x88], end_stream: false, end_headers: false, priority: None };
    assert_eq!(frame(&wire), Frame::Headers(expected));
}

#[test]
fn priority() {
    check(&[
        ("§6.3 stream 0", raw(2, 0, 0, &[0; 5]), Some(connection(PROTOCOL))),
        ("§6.3 stream 0 goes before the length: there is no stream to reset", raw(2, 0, 0, &[0; 4]), Some(connection(PROTOCOL))),
        ("§6.3 too short", raw(2, 0, 7, &[0; 4]), Some(stream(SIZE, 7))),
        ("§6.3 empty", raw(2, 0, 7, b""), Some(stream(SIZE, 7))),
        ("§6.3 too long", raw(2, 0, 7, &[0; 6]), Some(stream(SIZE, 7))),
        ("RFC 7540 §5.3.1 a stream that depends on itself", raw(2, 0, 7, &[0, 0, 0, 7, 0]), Some(stream(PROTOCOL, 7))),
        ("RFC 7540 §5.3.1 exclusively", raw(2, 0, 7, &[0x80, 0, 0, 7, 0]), Some(stream(PROTOCOL, 7))),
        ("RFC 9113 §6.3 any other stream, 0 too", raw(2, 0, 7, &[0; 5]), None),
    ]);
    let wire = raw(2, 0, 9, &hex("0000000b 07"));
    let fields = PriorityFields { exclusive: false, dependency: 11, weight: 7 };
    assert_eq!(frame(&wire), Frame::Priority(Priority { stream: 9, fields }));
}

#[test]
fn rst_stream() {
    check(&[
        ("§6.4 stream 0", raw(3, 0, 0, &[0; 4]), Some(connection(PROTOCOL))),
        ("§6.4 too short", raw(3, 0, 1, &[0; 3]), Some(connection(SIZE))),
        ("§6.4 too long", raw(3, 0, 1, &[0; 5]), Some(connection(SIZE))),
        ("§7 a code without a name", raw(3, 0, 1, &[0xff; 4]), None),
    ]);
    assert_eq!(frame(&raw(3, 0, 5, &[0, 0, 0, 8])), Frame::Reset(Reset { stream: 5, code: ErrorCode::CANCEL }));
    assert_eq!(frame(&raw(3, 0, 5, &[0xff; 4])), Frame::Reset(Reset { stream: 5, code: ErrorCode(u32::MAX) }));
}

#[test]
fn settings() {
    let one = |digits| raw(4, 0, 0, &hex(digits));
    let bad = Some(connection(PROTOCOL));
    check(&[
        ("§6.5 on a stream", raw(4, 0, 1, b""), bad),
        ("§6.5 an acknowledgement with a payload", raw(4, 1, 0, &[0; 6]), Some(connection(SIZE))),
        ("§6.5 an acknowledgement with one octet", raw(4, 1, 0, &[0]), Some(connection(SIZE))),
        ("§6.5 an acknowledgement on a stream", raw(4, 1, 1, b""), bad),
        ("§6.5 no multiple of 6", raw(4, 0, 0, &[0; 7]), Some(connection(SIZE))),
        ("§6.5 less than 6", raw(4, 0, 0, &[0; 5]), Some(connection(SIZE))),
        ("§6.5 empty", raw(4, 0, 0, b""), None),
        ("§6.5 acknowledgement", raw(4, 1, 0, b""), None),
        ("§6.5.2 unknown identifiers", one("0000 ffffffff 0007 ffffffff fe03 ffffffff ffff 00000000"), None),
        ("§6.5.2 HEADER_TABLE_SIZE 0", one("0001 00000000"), None),
        ("§6.5.2 HEADER_TABLE_SIZE 2^32 - 1", one("0001 ffffffff"), None),
        ("§6.5.2 ENABLE_PUSH 0", one("0002 00000000"), None),
        ("§6.5.2 ENABLE_PUSH 1", one("0002 00000001"), None),
        ("§6.5.2 ENABLE_PUSH 2", one("0002 00000002"), bad),
        ("§6.5.2 MAX_CONCURRENT_STREAMS 0", one("0003 00000000"), None),
        ("§6.5.2 MAX_CONCURRENT_STREAMS 2^32 - 1", one("0003 ffffffff"), None),
        ("§6.5.2 INITIAL_WINDOW_SIZE 0", one("0004 00000000"), None),
        ("§6.5.2 INITIAL_WINDOW_SIZE 2^31 - 1", one("0004 7fffffff"), None),
        ("§6.5.2 INITIAL_WINDOW_SIZE 2^31", one("0004 80000000"), Some(connection(FLOW))),
        ("§6.5.2 MAX_FRAME_SIZE 0", one("0005 00000000"), bad),
        ("§6.5.2 MAX_FRAME_SIZE 16,383", one("0005 00003fff"), bad),
        ("§6.5.2 MAX_FRAME_SIZE 16,384", one("0005 00004000"), None),
        ("§6.5.2 MAX_FRAME_SIZE 2^24 - 1", one("0005 00ffffff"), None),
        ("§6.5.2 MAX_FRAME_SIZE 2^24", one("0005 01000000"), bad),
        ("§6.5.2 MAX_HEADER_LIST_SIZE 2^32 - 1", one("0006 ffffffff"), None),
        ("RFC 8441 §3 ENABLE_CONNECT_PROTOCOL 1", one("0008 00000001"), None),
        ("RFC 8441 §3 ENABLE_CONNECT_PROTOCOL 2", one("0008 00000002"), bad),
        ("a wrong value behind right ones", one("0001 00001000 0002 00000000 0005 00000001"), bad),
        ("the first wrong value counts", one("0004 ffffffff 0005 00000001"), Some(connection(FLOW))),
        ("§6.5.3 an identifier twice", one("0004 00000001 0004 00000002"), None),
    ]);
    let wire = one("0004 00000001 0005 00004000 0004 00000002");
    let Frame::Settings(settings) = frame(&wire) else { panic!("SETTINGS") };
    assert!(!settings.ack);
    let expected = [(setting::INITIAL_WINDOW_SIZE, 1), (setting::MAX_FRAME_SIZE, 16_384), (setting::INITIAL_WINDOW_SIZE, 2)];
    assert!(settings.iter().eq(expected), "in the order of the frame");
    assert_eq!(frame(&raw(4, 1, 0, b"")), Frame::Settings(Settings { ack: true, payload: b"" }));
}

#[test]
fn push_promise() {
    let p = flag::PADDED;
    check(&[
        ("§6.6 stream 0", raw(5, 4, 0, &[0, 0, 0, 2]), Some(connection(PROTOCOL))),
        ("§6.6 promised stream 0", raw(5, 4, 1, &[0, 0, 0, 0]), Some(connection(PROTOCOL))),
        ("§6.6 promised stream 0 under the reserved bit", raw(5, 4, 1, &[0x80, 0, 0, 0]), Some(connection(PROTOCOL))),
        ("§5.1.1 promised stream of a client", raw(5, 4, 1, &[0, 0, 0, 3]), Some(connection(PROTOCOL))),
        ("§4.2 no room for the promised stream", raw(5, 4, 1, &[0, 0, 0]), Some(connection(SIZE))),
        ("§4.2 no room for pad length and promised stream", raw(5, p, 1, &[0, 0, 0, 2]), Some(connection(SIZE))),
        ("§6.6 more padding than room", raw(5, p, 1, &[2, 0, 0, 0, 2, 0]), Some(connection(PROTOCOL))),
        ("§6.6 padding may leave no fragment", raw(5, p, 1, &[1, 0, 0, 0, 2, 0]), None),
    ]);
    let wire = raw(5, p, 1, &hex("01 00000004 88 00"));
    assert_eq!(frame(&wire), Frame::PushPromise(PushPromise { stream: 1, promised: 4, fragment: &[0x88], end_headers: false }));
}

#[test]
fn pings() {
    check(&[
        ("§6.7 on a stream", raw(6, 0, 1, &[0; 8]), Some(connection(PROTOCOL))),
        ("§6.7 too short", raw(6, 0, 0, &[0; 7]), Some(connection(SIZE))),
        ("§6.7 too long", raw(6, 1, 0, &[0; 9]), Some(connection(SIZE))),
        ("§6.7 empty", raw(6, 0, 0, b""), Some(connection(SIZE))),
    ]);
    assert_eq!(frame(&raw(6, 1, 0, b"12345678")), Frame::Ping(Ping { ack: true, data: *b"12345678" }));
}

#[test]
fn goaways() {
    check(&[
        ("§6.8 on a stream", raw(7, 0, 1, &[0; 8]), Some(connection(PROTOCOL))),
        ("§6.8 too short", raw(7, 0, 0, &[0; 7]), Some(connection(SIZE))),
        ("§7 a code without a name", raw(7, 0, 0, &[0xff; 8]), None),
    ]);
    let wire = raw(7, 0, 0, &[&hex("7fffffff 0000000b")[..], b"too_many_pings"].concat());
    let expected = GoAway { last_stream: 0x7fff_ffff, code: ErrorCode::ENHANCE_YOUR_CALM, debug: b"too_many_pings" };
    assert_eq!(frame(&wire), Frame::GoAway(expected));
}

#[test]
fn window_updates() {
    check(&[
        ("§6.9 too short", raw(8, 0, 1, &[0; 3]), Some(connection(SIZE))),
        ("§6.9 too long", raw(8, 0, 0, &[0; 5]), Some(connection(SIZE))),
        ("§6.9 by 0 on a stream", raw(8, 0, 3, &[0; 4]), Some(stream(PROTOCOL, 3))),
        ("§6.9 by 0 on a stream, under the reserved bit", raw(8, 0, 3, &[0x80, 0, 0, 0]), Some(stream(PROTOCOL, 3))),
        ("§6.9 by 0 on the connection", raw(8, 0, 0, &[0; 4]), Some(connection(PROTOCOL))),
    ]);
    let wire = raw(8, 0, 0, &hex("7fffffff"));
    assert_eq!(frame(&wire), Frame::WindowUpdate(WindowUpdate { stream: 0, increment: 0x7fff_ffff }));
}

#[test]
fn continuations() {
    // Alone, so `parse` takes it; the scanner knows what was before.
    assert_eq!(parse(&raw(9, 4, 0, b"\x88"), MAX).map_err(verdict), Err(connection(PROTOCOL)), "§6.10 stream 0");
    let wire = raw(9, 4, 1, b"\x88");
    assert_eq!(frame(&wire), Frame::Continuation(Continuation { stream: 1, fragment: &[0x88], end_headers: true }));
    let wire = raw(9, 0xfb, 1, b"");
    assert_eq!(frame(&wire), Frame::Continuation(Continuation { stream: 1, fragment: b"", end_headers: false }));
}

#[test]
fn partial_until_the_last_octet() {
    let wire = [raw(0, 0, 1, b"hello"), raw(6, 0, 0, &[0; 8])].concat();
    for cut in 0..14 {
        assert_eq!(parse(&wire[..cut], MAX), Ok(Status::Partial), "{cut} octets");
    }
    for cut in 14..wire.len() {
        assert!(matches!(parse(&wire[..cut], MAX), Ok(Status::Complete((Frame::Data(_), 14)))), "{cut} octets");
    }
}

#[test]
fn a_head_that_nobody_checked_is_no_danger() {
    let mut wrong = 0;
    for kind in 0..=10 {
        for flags in [0, flag::PADDED, flag::PRIORITY, 0xff] {
            for len in 0..20 {
                let stream = u32::from(!matches!(kind, kind::SETTINGS | kind::PING | kind::GOAWAY | kind::WINDOW_UPDATE));
                let head = Head { len: 5, kind, flags, stream };
                // What is right for the payload's real length is right here, too; nothing panics.
                let payload = &[0; 20][..len];
                let real = Head { len: len as u32, ..head };
                if real.check(MAX).is_err_and(|error| error.code == SIZE) {
                    assert!(parse_payload(head, payload).is_err(), "{head:?} with {len} octets");
                    wrong += 1;
                }
            }
        }
    }
    assert!(wrong > 300, "only {wrong} payloads of a wrong length");
}

#[test]
fn encoders() {
    // Written out from RFC 9113 §6.1 to §6.10.
    assert_eq!(data_head(0x10203, 5, true).to_vec(), hex("010203 00 01 00000005"));
    assert_eq!(data_head(0, 5, false).to_vec(), hex("000000 00 00 00000005"));
    assert_eq!(headers_head(2, 1, true, true).to_vec(), hex("000002 01 05 00000001"));
    assert_eq!(headers_head(2, 1, false, true).to_vec(), hex("000002 01 04 00000001"));
    assert_eq!(headers_head(2, 1, true, false).to_vec(), hex("000002 01 01 00000001"));
    assert_eq!(continuation_head(7, 1, true).to_vec(), hex("000007 09 04 00000001"));
    assert_eq!(continuation_head(7, 1, false).to_vec(), hex("000007 09 00 00000001"));
    assert_eq!(reset(9, ErrorCode::REFUSED_STREAM).to_vec(), hex("000004 03 00 00000009 00000007"));
    assert_eq!(settings_ack().to_vec(), hex("000000 04 01 00000000"));
    assert_eq!(settings_head(2).to_vec(), hex("00000c 04 00 00000000"));
    assert_eq!(setting(setting::MAX_FRAME_SIZE, 0x00ff_ffff).to_vec(), hex("0005 00ffffff"));
    assert_eq!(ping(true, *b"abcdefgh").to_vec(), [&hex("000008 06 01 00000000")[..], b"abcdefgh"].concat());
    assert_eq!(ping(false, [0; 8]).to_vec(), hex("000008 06 00 00000000 0000000000000000"));
    assert_eq!(goaway(7, ErrorCode::NO_ERROR).to_vec(), hex("000008 07 00 00000000 00000007 00000000"));
    assert_eq!(goaway_head(u32::MAX, ErrorCode(0x102), 3).to_vec(), hex("00000b 07 00 00000000 7fffffff 00000102"));
    assert_eq!(window_update(3, 0x7fff_ffff).to_vec(), hex("000004 08 00 00000003 7fffffff"));
}

#[test]
fn codes_have_the_names_of_the_rfc() {
    // RFC 9113 §7.
    let names = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    for (code, name) in (0..).zip(names) {
        assert_eq!(ErrorCode(code).to_string(), name);
        assert_eq!(ErrorCode(code).name(), Some(name));
    }
    assert_eq!(ErrorCode::HTTP_1_1_REQUIRED, ErrorCode(13));
    assert_eq!(ErrorCode(14).name(), None);
    assert_eq!(ErrorCode(0x1f).to_string(), "UNKNOWN(0x1f)");
}

#[test]
fn errors_read_well() {
    let error = parse(&raw(0, 0, 0, b""), MAX).unwrap_err();
    assert_eq!(error.to_string(), "connection error PROTOCOL_ERROR: DATA on stream 0");
    let error = parse(&raw(8, 0, 3, &[0; 4]), MAX).unwrap_err();
    assert_eq!(error.to_string(), "error PROTOCOL_ERROR on stream 3: WINDOW_UPDATE by 0");
    let _: &dyn core::error::Error = &error;
}
