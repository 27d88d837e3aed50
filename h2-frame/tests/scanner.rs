//! The scanner: the same items however the octets are cut, the order of field blocks, life after an error.

mod common;

use common::{Reader, Seen, connection, hex, raw, read_uncut, stream, verdict};
use h2_frame::*;

/// All kinds of frames, empty and padded ones, a split field block, a stream error in between.
fn traffic() -> Vec<u8> {
    let p = flag::PADDED;
    [
        raw(kind::SETTINGS, 0, 0, &hex("0003 00000064 0004 0000ffff")),
        raw(kind::SETTINGS, flag::ACK, 0, b""),
        raw(kind::HEADERS, p | flag::PRIORITY, 1, &hex("02 80000000 0f 828684 0000")),
        raw(kind::CONTINUATION, 0, 1, b""),
        raw(kind::CONTINUATION, flag::END_HEADERS, 1, &hex("8782")),
        raw(kind::DATA, 0, 1, b"hello"),
        raw(kind::DATA, p, 1, b"\x03padded\0\0\0"),
        raw(kind::DATA, p, 1, b"\x00all data"),
        raw(kind::DATA, p, 1, b"\x04\0\0\0\0"),
        raw(kind::DATA, p, 1, b"\0"),
        raw(kind::PRIORITY, 0, 3, &[0, 0, 0, 1, 9]),
        raw(kind::PRIORITY, 0, 5, &[1, 2, 3]),
        raw(kind::PRIORITY, 0, 7, b""),
        raw(kind::DATA, flag::END_STREAM, 1, b""),
        raw(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 3, &hex("8287")),
        raw(kind::PUSH_PROMISE, 0, 3, &hex("00000002 88")),
        raw(kind::CONTINUATION, flag::END_HEADERS, 3, &hex("87")),
        raw(kind::RST_STREAM, 0, 1, &[0, 0, 0, 8]),
        raw(kind::WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]),
        raw(0x10, 0xff, 0, b"PRIORITY_UPDATE"),
        raw(0xbb, 0, 9, b""),
        raw(kind::PING, 0, 0, b"12345678"),
        raw(kind::GOAWAY, 0, 0, &[&[0; 8][..], b"bye"].concat()),
    ]
    .concat()
}

fn frame(kind: u8, flags: u8, stream: u32, wire_len: u32, handed_out: &[u8]) -> Seen {
    Seen::Frame(Head { len: wire_len, kind, flags, stream }, handed_out.to_vec())
}

/// What [`traffic`] is, by RFC 9113, with the padding of DATA taken off.
fn expected() -> Vec<Seen> {
    let p = flag::PADDED;
    let priority_error = |stream| Seen::Error(Head { len: 3, kind: kind::PRIORITY, flags: 0, stream }.check(16_384).unwrap_err());
    vec![
        frame(kind::SETTINGS, 0, 0, 12, &hex("0003 00000064 0004 0000ffff")),
        frame(kind::SETTINGS, flag::ACK, 0, 0, b""),
        frame(kind::HEADERS, p | flag::PRIORITY, 1, 11, &hex("02 80000000 0f 828684 0000")),
        frame(kind::CONTINUATION, 0, 1, 0, b""),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, 2, &hex("8782")),
        frame(kind::DATA, 0, 1, 5, b"hello"),
        frame(kind::DATA, p, 1, 10, b"padded"),
        frame(kind::DATA, p, 1, 9, b"all data"),
        frame(kind::DATA, p, 1, 5, b""),
        frame(kind::DATA, p, 1, 1, b""),
        frame(kind::PRIORITY, 0, 3, 5, &[0, 0, 0, 1, 9]),
        priority_error(5),
        priority_error(7),
        frame(kind::DATA, flag::END_STREAM, 1, 0, b""),
        frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 3, 2, &hex("8287")),
        frame(kind::PUSH_PROMISE, 0, 3, 5, &hex("00000002 88")),
        frame(kind::CONTINUATION, flag::END_HEADERS, 3, 1, &hex("87")),
        frame(kind::RST_STREAM, 0, 1, 4, &[0, 0, 0, 8]),
        frame(kind::WINDOW_UPDATE, 0, 0, 4, &[0, 0, 1, 0]),
        frame(0x10, 0xff, 0, 15, b"PRIORITY_UPDATE"),
        frame(0xbb, 0, 9, 0, b""),
        frame(kind::PING, 0, 0, 8, b"12345678"),
        frame(kind::GOAWAY, 0, 0, 11, b"\0\0\0\0\0\0\0\0bye"),
    ]
}

fn read_in<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, take: bool) -> Vec<Seen> {
    let mut reader = Reader::new(take);
    chunks.into_iter().for_each(|chunk| reader.read(chunk));
    reader.finish()
}

#[test]
fn uncut() {
    assert_eq!(read_in([&traffic()[..]], false), expected());
    assert_eq!(read_in([&traffic()[..]], true), expected());
}

#[test]
fn every_single_cut_and_every_pair_of_cuts() {
    let (wire, expected) = (traffic(), expected());
    for first in 0..=wire.len() {
        for second in first..=wire.len() {
            let chunks = [&wire[..first], &wire[first..second], &wire[second..]];
            for take in [false, true] {
                assert_eq!(read_in(chunks, take), expected, "cut at {first} and {second}, take_payload {take}");
            }
        }
    }
}

#[test]
fn chunks_of_every_size() {
    let wire = traffic();
    for size in 1..=wire.len() {
        for take in [false, true] {
            assert_eq!(read_in(wire.chunks(size), take), expected(), "chunks of {size}, take_payload {take}");
        }
    }
}

#[test]
fn mid_frame_is_false_only_between_frames() {
    let wire = traffic();
    let mut ends = vec![0];
    while *ends.last().unwrap() < wire.len() {
        let start = *ends.last().unwrap();
        ends.push(start + 9 + Head::parse(wire[start..].first_chunk().unwrap()).len as usize);
    }
    let mut reader = Reader::new(false);
    for at in 0..wire.len() {
        assert_eq!(reader.scanner.mid_frame(), !ends.contains(&at), "after {at} octets");
        reader.read(&wire[at..=at]);
    }
    assert!(!reader.scanner.mid_frame());
}

#[test]
fn data_is_handed_out_as_it_arrives() {
    let wire = raw(kind::DATA, flag::PADDED, 1, b"\x02abcd\0\0");
    let mut scanner = Scanner::new();
    let mut input = &wire[..12];
    assert!(matches!(scanner.next(&mut input), Ok(Some(Item::Head(_)))));
    assert_eq!(scanner.take_payload(&mut input), None, "not for DATA");
    assert_eq!(scanner.next(&mut input), Ok(Some(Item::Piece { octets: b"ab", last: false })));
    assert_eq!(scanner.next(&mut input), Ok(None));
    let mut input = &wire[12..14];
    assert_eq!(scanner.next(&mut input), Ok(Some(Item::Piece { octets: b"cd", last: true })), "padding need not be there");
    assert_eq!(scanner.next(&mut input), Ok(None));
    assert!(scanner.mid_frame(), "but it is part of the frame");
    let mut input = &wire[14..];
    assert_eq!(scanner.next(&mut input), Ok(None));
    assert!(!scanner.mid_frame());
}

#[test]
fn take_payload_takes_all_or_nothing() {
    let wire = ping(false, *b"12345678");
    let mut scanner = Scanner::new();
    assert_eq!(scanner.take_payload(&mut &wire[..]), None, "not before a head");
    let mut input = &wire[..16];
    scanner.next(&mut input).unwrap();
    assert_eq!(scanner.take_payload(&mut input), None);
    assert_eq!(input, b"1234567", "nothing was taken");
    assert_eq!(scanner.take_payload(&mut &b"12345678+"[..]), Some(&b"12345678"[..]), "a caller that kept the octets may come back");
    assert!(!scanner.mid_frame());

    let mut input = &wire[..12];
    scanner.next(&mut input).unwrap();
    assert_eq!(scanner.next(&mut input), Ok(Some(Item::Piece { octets: b"123", last: false })));
    assert_eq!(scanner.take_payload(&mut &b"45678"[..]), None, "not after a piece");
    assert_eq!(scanner.next(&mut &b"45678"[..]), Ok(Some(Item::Piece { octets: b"45678", last: true })));
}

#[test]
fn take_frame_takes_simple_whole_frames_only() {
    let data = raw(kind::DATA, flag::END_STREAM, 1, b"hi");
    let head = Head { len: 2, kind: kind::DATA, flags: flag::END_STREAM, stream: 1 };
    for cut in 0..data.len() {
        let mut input = &data[..cut];
        assert_eq!(Scanner::new().take_frame(&mut input), None, "{cut} octets");
        assert_eq!(input.len(), cut, "nothing was taken");
    }
    let mut scanner = Scanner::new();
    assert_eq!(scanner.take_frame(&mut &data[..]), Some((head, &b"hi"[..])));

    // Not in the middle of something.
    scanner.next(&mut &data[..4]).unwrap();
    assert_eq!(scanner.take_frame(&mut &data[..]), None);
    assert_eq!(scanner.next(&mut &data[4..9]), Ok(Some(Item::Head(head))));
    assert_eq!(scanner.take_frame(&mut &data[..]), None);
    assert_eq!(scanner.next(&mut &b"hi"[..]), Ok(Some(Item::Piece { octets: b"hi", last: true })));

    // What needs a closer look is left to `next`.
    for wire in [
        raw(kind::DATA, 0, 0, b"hi"),
        raw(kind::DATA, flag::PADDED, 1, b"\0hi"),
        raw(kind::HEADERS, flag::PRIORITY, 1, &[0; 5]),
        raw(kind::DATA, 0, 1, &[0; 16_385]),
        raw(kind::PING, 0, 0, b"12345678"),
    ] {
        assert_eq!(scanner.take_frame(&mut &wire[..]), None, "{wire:02x?}");
    }
    // Nor is a field block forgotten, whether it began or goes on.
    let open = raw(kind::HEADERS, 0, 1, b"\x88");
    assert!(scanner.take_frame(&mut &open[..]).is_some());
    assert_eq!(scanner.take_frame(&mut &data[..]), None);
    assert_eq!(scanner.next(&mut &data[..]).map_err(verdict), Err(connection(ErrorCode::PROTOCOL_ERROR)));
}

fn last_error(wire: &[Vec<u8>]) -> Option<(ErrorCode, Scope)> {
    match read_uncut(&wire.concat()).pop() {
        Some(Seen::Error(error)) => Some(verdict(error)),
        _ => None,
    }
}

#[test]
fn field_blocks_are_not_interrupted() {
    let bad = Some(connection(ErrorCode::PROTOCOL_ERROR));
    let open = || raw(kind::HEADERS, flag::END_STREAM, 1, b"\x88");
    let close = |stream| raw(kind::CONTINUATION, flag::END_HEADERS, stream, b"");
    assert_eq!(last_error(&[open(), close(1)]), None);
    assert_eq!(last_error(&[open(), close(1), close(1)]), bad, "§6.10: after the end (h2spec 6.10/4)");
    assert_eq!(last_error(&[close(1)]), bad, "§6.10: before the start");
    assert_eq!(last_error(&[open(), close(3)]), bad, "§6.10: on another stream");
    let closed = raw(kind::HEADERS, flag::END_HEADERS, 1, b"\x88");
    assert_eq!(last_error(&[closed.clone(), close(1)]), bad, "§6.10: after END_HEADERS");
    assert_eq!(last_error(&[raw(kind::DATA, 0, 1, b""), close(1)]), bad, "§6.10: after DATA (h2spec 6.10/6)");
    assert_eq!(last_error(&[closed, raw(kind::DATA, 0, 1, b"x")]), None);
    // §6.2, §6.10, §5.5: whatever else comes in between, an unknown frame too, on this stream, another one, or none. A wrong
    // length of PRIORITY, which would end a stream only, does not hide it.
    let others: [(u8, u32, &[u8]); 14] = [
        (kind::DATA, 1, b"x"),
        (kind::DATA, 3, b"x"),
        (kind::HEADERS, 1, b"\x88"),
        (kind::HEADERS, 3, b"\x88"),
        (kind::PRIORITY, 1, &[0; 5]),
        (kind::PRIORITY, 3, &[0; 4]),
        (kind::RST_STREAM, 1, &[0; 4]),
        (kind::SETTINGS, 0, b""),
        (kind::PUSH_PROMISE, 1, &[0, 0, 0, 2]),
        (kind::PING, 0, &[0; 8]),
        (kind::GOAWAY, 0, &[0; 8]),
        (kind::WINDOW_UPDATE, 0, &[0, 0, 0, 1]),
        (0x0a, 1, b"x"),
        (0xff, 0, b""),
    ];
    for (kind, stream, payload) in others {
        let other = raw(kind, 0, stream, payload);
        assert_eq!(last_error(&[open(), other.clone()]), bad, "kind {kind} on {stream} after HEADERS");
        let middle = raw(kind::CONTINUATION, 0, 1, b"");
        assert_eq!(last_error(&[open(), middle, other.clone()]), bad, "kind {kind} on {stream} after CONTINUATION");
        let promise = raw(kind::PUSH_PROMISE, 0, 1, &[0, 0, 0, 2]);
        assert_eq!(last_error(&[promise, other]), bad, "kind {kind} on {stream} after PUSH_PROMISE");
    }
    // A length over the maximum is looked at first: there is no point in reading on (§4.2).
    let long = Head { len: 16_385, kind: kind::DATA, flags: 0, stream: 1 }.encode().to_vec();
    assert_eq!(last_error(&[open(), long]), Some(connection(ErrorCode::FRAME_SIZE_ERROR)));
}

#[test]
fn any_number_of_continuations() {
    // RFC 9113 §6.10 (h2spec 6.10/1); how many is the caller's limit.
    let mut wire = vec![raw(kind::HEADERS, 0, 1, b"")];
    wire.extend((0..1000).map(|_| raw(kind::CONTINUATION, 0, 1, b"")));
    wire.push(raw(kind::CONTINUATION, flag::END_HEADERS, 1, b"\x88"));
    let seen = read_uncut(&wire.concat());
    assert_eq!(seen.len(), 1002);
    assert!(seen.iter().all(|seen| matches!(seen, Seen::Frame(..))));
}

#[test]
fn bad_padding_of_data_ends_the_connection() {
    for (payload, code) in [
        (&b""[..], ErrorCode::FRAME_SIZE_ERROR),
        (&[1], ErrorCode::PROTOCOL_ERROR),
        (&[3, 0, 0], ErrorCode::PROTOCOL_ERROR),
        (&[255, 0, 0], ErrorCode::PROTOCOL_ERROR),
    ] {
        let wire = raw(kind::DATA, flag::PADDED, 1, payload);
        for size in 1..=wire.len() {
            let mut scanner = Scanner::new();
            let error = wire.chunks(size).find_map(|mut chunk| {
                loop {
                    match scanner.next(&mut chunk) {
                        Ok(Some(_)) => {}
                        Ok(None) => return None,
                        Err(error) => return Some(error),
                    }
                }
            });
            assert_eq!(error.map(verdict), Some(connection(code)), "{payload:?} in chunks of {size}");
        }
    }
}

#[test]
fn after_a_connection_error_nothing_is_read() {
    let mut scanner = Scanner::new();
    let error = scanner.next(&mut &raw(kind::DATA, 0, 0, b"")[..]).unwrap_err();
    assert_eq!(error.scope, Scope::Connection);
    let wire = settings_ack();
    let mut input = &wire[..];
    assert_eq!(scanner.next(&mut input), Err(error));
    assert_eq!(scanner.take_payload(&mut input), None);
    assert_eq!(scanner.next(&mut &b""[..]), Err(error));
    assert_eq!(input.len(), wire.len(), "octets are left where they are");
}

#[test]
fn after_a_stream_error_the_next_frame_is_read() {
    let wire = [raw(kind::PRIORITY, 0, 5, &[9; 300]), raw(kind::PING, 0, 0, &[1; 8])].concat();
    let seen = read_uncut(&wire);
    assert!(matches!(seen[0], Seen::Error(error) if verdict(error) == stream(ErrorCode::FRAME_SIZE_ERROR, 5)));
    assert_eq!(seen[1..], [frame(kind::PING, 0, 0, 8, &[1; 8])]);
}

#[test]
fn a_new_maximum_counts_from_the_next_head_on() {
    let mut wire = raw(kind::DATA, 0, 1, &[1; 100]);
    wire.extend(raw(kind::DATA, 0, 1, &[2; 100]));
    let mut scanner = Scanner::default();
    let mut input = &wire[..50];
    scanner.next(&mut input).unwrap();
    scanner.set_max_frame(99);
    assert!(matches!(scanner.next(&mut input), Ok(Some(Item::Piece { last: false, .. }))));
    let mut input = &wire[50..];
    assert!(matches!(scanner.next(&mut input), Ok(Some(Item::Piece { last: true, .. }))));
    assert_eq!(scanner.next(&mut input).map_err(verdict), Err(connection(ErrorCode::FRAME_SIZE_ERROR)));
}

#[test]
fn it_is_small() {
    // Each connection has one; it grows with nothing that a peer sends.
    assert!(size_of::<Scanner>() <= 80, "{} octets", size_of::<Scanner>());
}
