//! Frames: the one-shot parser, and the scanner against it.

use crate::testing::wire;
use alloc::vec::Vec;
use h2_frame::{Error, Frame, Head, Item, Scanner, Scope, Status, kind, parse, parse_payload, parse_preface, setting};

/// The one-shot parser: what it finds is what is there, by another reading of the octets; it needs neither more nor less of them than
/// the frame has; and what it found, written again, is the same frame.
///
/// # Panics
/// If not.
pub fn fuzz_frame(data: &[u8]) {
    let given = data.len().min(wire::PREFACE.len());
    assert_eq!(parse_preface(data).is_ok(), data[..given] == wire::PREFACE[..given]);
    let Some((&choice, mut rest)) = data.split_first() else { return };
    let max = [16_384, 20, (1 << 24) - 1][usize::from(choice) % 3];
    loop {
        let step = parse(rest, max);
        let Some((octets, payload)) = rest.split_first_chunk::<9>() else {
            return assert_eq!(step, Ok(Status::Partial), "a head of less than nine octets");
        };
        let head = wire::Head::parse(octets);
        match step {
            Ok(Status::Partial) => {
                assert!(head.len <= max && payload.len() < head.len as usize, "all of it is there");
                return;
            }
            Ok(Status::Complete((frame, size))) => {
                assert_eq!(size, 9 + head.len as usize, "the size of the frame");
                assert_eq!(parse(&rest[..size - 1], max), Ok(Status::Partial), "an octet less");
                assert_eq!(judge(head, &payload[..head.len as usize]), None, "{frame:?} is none");
                check(head, &payload[..head.len as usize], &frame);
                rest = &rest[size..];
            }
            Err(error) => {
                // Without its payload an error in the head is one already; an error in the payload needs all of it.
                let body = payload.get(..head.len as usize);
                return check_error(head, max, body, error);
            }
        }
    }
}

/// What RFC 9113 §4.2 and §6 say against a frame, as the code of the error; `None`: nothing.
fn judge(head: wire::Head, payload: &[u8]) -> Option<u32> {
    const PROTOCOL: u32 = 1;
    const FLOW: u32 = 3;
    const SIZE: u32 = 6;
    let on_stream = head.stream != 0;
    let wants_stream = match head.kind {
        wire::DATA | wire::HEADERS | wire::PRIORITY | wire::RST_STREAM | wire::PUSH_PROMISE | wire::CONTINUATION => Some(true),
        wire::SETTINGS | wire::PING | wire::GOAWAY => Some(false),
        _ => None,
    };
    if wants_stream.is_some_and(|wanted| wanted != on_stream) {
        return Some(PROTOCOL);
    }
    let (len, word) = (head.len as usize, wire::word(payload, 0));
    let padded = matches!(head.kind, wire::DATA | wire::HEADERS | wire::PUSH_PROMISE) && head.has(wire::PADDED);
    let fields = match head.kind {
        wire::HEADERS if head.has(wire::PRIORITIZED) => 5,
        wire::PUSH_PROMISE => 4,
        _ => 0,
    } + usize::from(padded);
    let wrong_size = match head.kind {
        wire::PRIORITY => len != 5,
        wire::RST_STREAM | wire::WINDOW_UPDATE => len != 4,
        wire::SETTINGS => len % 6 != 0 || head.has(wire::ACK) && len != 0,
        wire::PING => len != 8,
        wire::GOAWAY => len < 8,
        _ => len < fields,
    };
    if wrong_size {
        return Some(SIZE);
    }
    if payload.len() < len {
        return None;
    }
    if padded && usize::from(payload[0]) > len - fields {
        return Some(PROTOCOL);
    }
    let depends_on_itself = |at| wire::word(payload, at) & 0x7fff_ffff == head.stream;
    match head.kind {
        // RFC 7540 §5.3.1; RFC 9113 neither repeats nor lifts it.
        wire::PRIORITY => depends_on_itself(0).then_some(PROTOCOL),
        wire::HEADERS if head.has(wire::PRIORITIZED) => depends_on_itself(usize::from(padded)).then_some(PROTOCOL),
        wire::PUSH_PROMISE => {
            let promised = wire::word(payload, usize::from(padded)) & 0x7fff_ffff;
            (promised == 0 || promised % 2 == 1).then_some(PROTOCOL)
        }
        wire::WINDOW_UPDATE => (word & 0x7fff_ffff == 0).then_some(PROTOCOL),
        wire::SETTINGS => wire::entries(payload).find_map(|(id, value)| match id {
            2 | 8 if value > 1 => Some(PROTOCOL),
            4 if value > 0x7fff_ffff => Some(FLOW),
            5 if !(16_384..=0xff_ffff).contains(&value) => Some(PROTOCOL),
            _ => None,
        }),
        _ => None,
    }
}

fn check_error(head: wire::Head, max: u32, payload: Option<&[u8]>, error: Error) {
    let wanted = if head.len > max { Some(6) } else { judge(head, payload.unwrap_or_default()) };
    assert_eq!(Some(error.code.0), wanted, "{error} for {head:?}");
    // RFC 9113 §6.3 and §6.9: these two end their stream only.
    let of_stream =
        head.len <= max && head.stream != 0 && (head.kind == wire::PRIORITY || head.kind == wire::WINDOW_UPDATE && error.code.0 == 1);
    assert_eq!(error.scope, if of_stream { Scope::Stream(head.stream) } else { Scope::Connection }, "{error}");
}

/// The values of a good frame, read again from its octets.
fn check(head: wire::Head, payload: &[u8], frame: &Frame<'_>) {
    let padding = |at| if head.has(wire::PADDED) { (1 + at, usize::from(payload[0])) } else { (at, 0) };
    let (ack, ends) = (head.has(wire::ACK), head.has(wire::END_HEADERS));
    match *frame {
        Frame::Data(data) => {
            let (start, pad) = padding(0);
            assert_eq!((head.kind, data.data), (wire::DATA, &payload[start..payload.len() - pad]));
            assert_eq!((data.flow_len, data.end_stream, data.stream), (head.len, head.ends_stream(), head.stream));
            assert_eq!(data.pad_len.map(usize::from), head.has(wire::PADDED).then_some(pad));
        }
        Frame::Headers(headers) => {
            let (start, pad) = padding(if head.has(wire::PRIORITIZED) { 5 } else { 0 });
            assert_eq!((head.kind, headers.fragment), (wire::HEADERS, &payload[start..payload.len() - pad]));
            assert_eq!((headers.end_headers, headers.end_stream, headers.stream), (ends, head.ends_stream(), head.stream));
            let advice = headers.priority.map(|p| (u32::from(p.exclusive) << 31 | p.dependency, p.weight));
            assert_eq!(advice, head.has(wire::PRIORITIZED).then(|| (wire::word(payload, start - 5), payload[start - 1])));
        }
        Frame::Priority(p) => {
            let (word, weight) = (u32::from(p.fields.exclusive) << 31 | p.fields.dependency, p.fields.weight);
            assert_eq!((head.kind, p.stream, word, weight), (wire::PRIORITY, head.stream, wire::word(payload, 0), payload[4]));
        }
        Frame::Reset(reset) => assert_eq!(h2_frame::reset(reset.stream, reset.code)[9..], *payload),
        Frame::Settings(settings) => {
            assert_eq!((head.kind, settings.ack), (wire::SETTINGS, ack));
            let again: Vec<u8> = settings.iter().flat_map(|(id, value)| setting(id, value)).collect();
            assert_eq!(again, payload);
        }
        Frame::PushPromise(promise) => {
            let (start, pad) = padding(4);
            assert_eq!((head.kind, promise.fragment), (wire::PUSH_PROMISE, &payload[start..payload.len() - pad]));
            let promised = wire::word(payload, start - 4) & 0x7fff_ffff;
            assert_eq!((promise.promised, promise.end_headers, promise.stream), (promised, ends, head.stream));
        }
        Frame::Ping(ping) => assert_eq!((ping.ack, &h2_frame::ping(ack, ping.data)[9..]), (ack, payload)),
        Frame::GoAway(away) => {
            let wanted = (wire::word(payload, 0) & 0x7fff_ffff, wire::word(payload, 4), &payload[8..]);
            assert_eq!((away.last_stream, away.code.0, away.debug), wanted);
        }
        Frame::WindowUpdate(update) => {
            assert_eq!((update.stream, update.increment), (head.stream, wire::word(payload, 0) & 0x7fff_ffff));
            assert_eq!(wire::word(&h2_frame::window_update(update.stream, update.increment), 9), update.increment);
        }
        Frame::Continuation(more) => {
            assert_eq!((head.kind, more.fragment, more.end_headers, more.stream), (wire::CONTINUATION, payload, ends, head.stream));
        }
        Frame::Unknown(unknown) => {
            assert!(head.kind > wire::CONTINUATION && unknown.payload == payload);
            assert_eq!((unknown.head.flags, unknown.head.stream), (head.flags, head.stream));
        }
    }
}

/// The scanner: it finds the same whatever the cuts and by whichever of its ways, and what the one-shot parser finds.
///
/// # Panics
/// If they differ.
pub fn fuzz_scanner(data: &[u8]) {
    let [size, ways, stream @ ..] = data else { return };
    let whole = scan(stream, &[stream.len().max(1)], 0);
    assert_eq!(whole, scan(stream, &[usize::from(*size) + 1], 0), "even cuts changed what the scanner found");
    // The octets themselves say where the next cut is: neither even nor known to the scanner.
    let random: Vec<usize> = stream.iter().map(|&octet| usize::from(octet ^ size) % 31 + 1).collect();
    assert_eq!(whole, scan(stream, &random, *ways), "cuts, or the way to ask, changed what the scanner found");
    let mut rest = stream;
    for found in &whole {
        match parse(rest, 16_384) {
            Ok(Status::Complete((frame, size))) => {
                if let Scanned::Frame(head, payload) = found {
                    agree(*head, payload, &frame);
                } else {
                    // Only the scanner knows the order of frames: that error is not the parser's.
                    return;
                }
                rest = &rest[size..];
            }
            Ok(Status::Partial) => return,
            Err(error) => {
                // Payload rules of kinds other than DATA are the parser's alone, the order of field blocks is the scanner's.
                if let Scanned::Error(scanned) = found {
                    assert!(*scanned == error || scanned.what.contains("field block"), "{scanned:?}, {error:?}");
                }
                return;
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Scanned {
    Frame(Head, Vec<u8>),
    Error(Error),
}

/// Reads `stream` in pieces of these sizes, in turn. `ways`: bit 0 tries `take_frame` first, bit 1 `take_payload`.
fn scan(mut stream: &[u8], sizes: &[usize], ways: u8) -> Vec<Scanned> {
    let (mut scanner, mut found, mut current) = (Scanner::new(), Vec::new(), None);
    let mut sizes = sizes.iter().cycle();
    while !stream.is_empty() {
        let size = sizes.next().map_or(1, |&size| size);
        let (mut piece, later) = stream.split_at(size.min(stream.len()));
        stream = later;
        loop {
            if ways & 1 != 0
                && let Some((head, payload)) = scanner.take_frame(&mut piece)
            {
                found.push(Scanned::Frame(head, payload.to_vec()));
                continue;
            }
            match scanner.next(&mut piece) {
                Ok(None) => break,
                Ok(Some(Item::Head(head))) => {
                    if ways & 2 != 0
                        && let Some(payload) = scanner.take_payload(&mut piece)
                    {
                        found.push(Scanned::Frame(head, payload.to_vec()));
                    } else {
                        current = Some((head, Vec::new()));
                    }
                }
                Ok(Some(Item::Piece { octets, last })) => {
                    let (head, mut payload): (Head, Vec<u8>) = current.take().expect("a piece follows a head");
                    payload.extend_from_slice(octets);
                    if last {
                        found.push(Scanned::Frame(head, payload));
                    } else {
                        assert!(!octets.is_empty(), "an empty piece that is not the last");
                        current = Some((head, payload));
                    }
                }
                Err(error) => {
                    found.push(Scanned::Error(error));
                    if error.scope == Scope::Connection {
                        assert_eq!(scanner.next(&mut piece), Err(error), "the error stays");
                        return found;
                    }
                }
            }
        }
        assert!(piece.is_empty(), "the scanner left octets");
    }
    found
}

fn agree(head: Head, payload: &[u8], frame: &Frame<'_>) {
    match frame {
        Frame::Data(data) => assert_eq!((head.kind, payload), (kind::DATA, data.data)),
        other => assert_eq!(parse_payload(head, payload).as_ref(), Ok(other)),
    }
}
