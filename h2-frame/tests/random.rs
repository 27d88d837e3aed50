//! Properties over random octets and random frames. Each counts how often it came to the places that matter; never there is a failure.
//! `PROPTEST_CASES` sets the number of cases (256 if absent).

mod common;

use std::cell::Cell;

use common::{MAX, Reader, Seen, raw, read_uncut};
use h2_frame::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

/// Runs a property and then asks that every counter was reached.
fn property<S: Strategy>(strategy: S, counters: &[(&str, &Cell<u32>)], test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    // No file of failures: a failing input is printed, and becomes a test of its own.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&strategy, test).unwrap_or_else(|failure| panic!("{failure}"));
    for (place, count) in counters {
        println!("{place}: {}", count.get());
        assert!(count.get() > 0, "never reached: {place}");
    }
}

fn hit(counter: &Cell<u32>, reached: bool) {
    counter.set(counter.get() + u32::from(reached));
}

/// A frame that is right or nearly so: most lengths fit the kind, most streams too.
fn frameish() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        6 => vec(any::<u8>(), 0..20),
        4 => select(vec![0, 4, 5, 6, 8, 12]).prop_flat_map(|len: usize| vec(prop_oneof![Just(0), 0..4u8, any::<u8>()], len)),
    ];
    let flags = prop_oneof![Just(0), select(vec![1, 4, 5, 8, 9, 0x0c, 0x20, 0x2c]), any::<u8>()];
    (0..=11u8, flags, 0..4u32, payload).prop_map(|(kind, flags, stream, payload)| {
        let fitting = match kind {
            kind::SETTINGS | kind::PING | kind::GOAWAY if stream < 3 => 0,
            _ => stream,
        };
        raw(kind, flags, fitting, &payload)
    })
}

/// The only error in a head that ends no more than a stream.
fn long_priority() -> impl Strategy<Value = Vec<u8>> {
    (1..4u32, vec(any::<u8>(), 6..20)).prop_map(|(stream, payload)| raw(kind::PRIORITY, 0, stream, &payload))
}

/// Chunks that together are `wire`, cut at random places.
fn cut<'a>(wire: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(wire.len() + 1)).collect();
    at.sort_unstable();
    at.push(wire.len());
    let mut from = 0;
    at.into_iter().map(|to| &wire[std::mem::replace(&mut from, to)..to]).collect()
}

#[test]
fn cuts_do_not_matter_whatever_the_octets() {
    let (complete, dead, skipped, unfinished) = Default::default();
    let frame = prop_oneof![1 => long_priority(), 1 => frameish(), 3 => legal().prop_map(|legal| legal.wire().0)];
    let wire = prop_oneof![
        1 => vec(any::<u8>(), 0..200),
        9 => (vec(frame, 0..8), any::<Index>()).prop_map(|(frames, end)| {
            let mut wire = frames.concat();
            // Every second one or so ends in the middle of something.
            let end = end.index(2 * wire.len() + 1);
            wire.truncate(end);
            wire
        }),
    ];
    let counters = [("a frame", &complete), ("a fatal error", &dead), ("a stream error", &skipped), ("an unfinished frame", &unfinished)];
    property((wire, vec(any::<Index>(), 0..8), any::<bool>()), &counters, |(wire, cuts, take)| {
        let expected = read_uncut(&wire);
        for seen in &expected {
            hit(&complete, matches!(seen, Seen::Frame(..)));
            hit(&unfinished, matches!(seen, Seen::Begun(..)));
            hit(&dead, matches!(seen, Seen::Error(Error { scope: Scope::Connection, .. })));
            hit(&skipped, matches!(seen, Seen::Error(Error { scope: Scope::Stream(_), .. })));
        }
        let mut reader = Reader::new(take);
        cut(&wire, &cuts).into_iter().for_each(|chunk| reader.read(chunk));
        prop_assert_eq!(reader.finish(), expected);
        Ok(())
    });
}

#[test]
fn scanner_and_parse_agree_on_every_frame() {
    let (good, bad, block) = Default::default();
    property(vec(frameish(), 1..8), &[("a good frame", &good), ("a bad frame", &bad), ("a broken block", &block)], |frames| {
        let seen = read_uncut(&frames.concat());
        for (wire, seen) in frames.iter().zip(&seen) {
            let parsed = parse(wire, MAX);
            match seen {
                Seen::Frame(head, payload) if head.kind == kind::DATA => {
                    let Ok(Status::Complete((Frame::Data(data), size))) = parsed else { panic!("{parsed:?}") };
                    prop_assert_eq!((data.data, size), (&payload[..], wire.len()));
                }
                Seen::Frame(head, payload) => {
                    let by_payload = parse_payload(*head, payload);
                    hit(&bad, by_payload.is_err());
                    prop_assert_eq!(parsed, by_payload.map(|frame| Status::Complete((frame, wire.len()))));
                }
                Seen::Begun(..) => prop_assert!(false, "all frames are whole"),
                Seen::Error(error) if error.what.contains("field block") => hit(&block, true),
                Seen::Error(error) => {
                    hit(&bad, true);
                    prop_assert_eq!(parsed, Err(*error));
                }
            }
            hit(&good, matches!(parsed, Ok(Status::Complete(_))));
        }
        Ok(())
    });
}

#[test]
fn no_head_and_payload_panic() {
    let (fits, differs) = Default::default();
    let head = (0..12u8, any::<u8>(), any::<u32>(), any::<[u8; 9]>(), any::<bool>());
    property((head, vec(any::<u8>(), 0..40)), &[("a frame", &fits), ("an error", &differs)], |(head, payload)| {
        let (kind, flags, stream, octets, wild) = head;
        let head = if wild { Head::parse(&octets) } else { Head { len: payload.len() as u32, kind, flags, stream } };
        let parsed = parse_payload(head, &payload);
        hit(&fits, parsed.is_ok());
        hit(&differs, parsed.is_err());
        if let Ok(Frame::Settings(settings)) = parsed {
            prop_assert_eq!(settings.iter().count() * 6, payload.len());
        }
        prop_assert_eq!(Head::parse(&Head { len: head.len, stream: head.stream, ..head }.encode()).len, head.len);
        Ok(())
    });
}

/// A legal frame, as its values; `pad` is written where the kind has padding.
#[derive(Debug, Clone)]
enum Legal {
    Data { stream: u32, data: Vec<u8>, pad: Option<u8>, end_stream: bool },
    Headers { stream: u32, fragment: Vec<u8>, pad: Option<u8>, end_stream: bool, priority: Option<PriorityFields> },
    Priority { stream: u32, fields: PriorityFields },
    Reset { stream: u32, code: u32 },
    Settings { entries: Vec<(u16, u32)> },
    PushPromise { stream: u32, promised: u32, fragment: Vec<u8>, pad: Option<u8> },
    Ping { ack: bool, data: [u8; 8] },
    GoAway { last_stream: u32, code: u32, debug: Vec<u8> },
    WindowUpdate { stream: u32, increment: u32 },
    Continuation { stream: u32, fragment: Vec<u8> },
    Unknown { kind: u8, flags: u8, stream: u32, payload: Vec<u8> },
}

const TOP: u32 = (1 << 31) - 1;

fn legal() -> impl Strategy<Value = Legal> {
    let on_stream = || prop_oneof![1..8u32, 1..=TOP];
    let octets = || vec(any::<u8>(), 0..300);
    let pad = || proptest::option::of(any::<u8>());
    let fields = || {
        (any::<bool>(), 0..=TOP, any::<u8>()).prop_map(|(exclusive, dependency, weight)| PriorityFields { exclusive, dependency, weight })
    };
    // A stream that depends on itself is not legal.
    let of_another = |stream, fields: PriorityFields| {
        let dependency = if fields.dependency == stream { 0 } else { fields.dependency };
        PriorityFields { dependency, ..fields }
    };
    let entry = prop_oneof![
        (select(vec![1, 3, 6, 7, 0xfe03, 0xffff]), any::<u32>()),
        (select(vec![2, 8]), 0..=1u32),
        (Just(4), 0..=TOP),
        (Just(5), 16_384..=16_777_215u32),
    ];
    prop_oneof![
        1 => (on_stream(), octets(), pad(), any::<bool>()).prop_map(|(stream, data, pad, end_stream)| Legal::Data {
            stream,
            data,
            pad,
            end_stream
        }),
        3 => (on_stream(), octets(), pad(), any::<bool>(), proptest::option::of(fields()))
            .prop_map(move |(stream, fragment, pad, end_stream, priority)| {
                let priority = priority.map(|fields| of_another(stream, fields));
                Legal::Headers { stream, fragment, pad, end_stream, priority }
            }),
        1 => (on_stream(), fields()).prop_map(move |(stream, fields)| Legal::Priority { stream, fields: of_another(stream, fields) }),
        1 => (on_stream(), any::<u32>()).prop_map(|(stream, code)| Legal::Reset { stream, code }),
        1 => vec(entry, 0..12).prop_map(|entries| Legal::Settings { entries }),
        1 => (on_stream(), 1..=TOP / 2, octets(), pad()).prop_map(|(stream, half, fragment, pad)| Legal::PushPromise {
            stream,
            promised: half * 2,
            fragment,
            pad
        }),
        1 => (any::<bool>(), any::<[u8; 8]>()).prop_map(|(ack, data)| Legal::Ping { ack, data }),
        1 => (0..=TOP, any::<u32>(), octets()).prop_map(|(last_stream, code, debug)| Legal::GoAway { last_stream, code, debug }),
        1 => (0..=TOP, 1..=TOP).prop_map(|(stream, increment)| Legal::WindowUpdate { stream, increment }),
        1 => (on_stream(), octets()).prop_map(|(stream, fragment)| Legal::Continuation { stream, fragment }),
        1 => (10..=255u8, any::<u8>(), 0..=TOP, octets()).prop_map(|(kind, flags, stream, payload)| Legal::Unknown {
            kind,
            flags,
            stream,
            payload
        }),
    ]
}

/// A payload with its pad length before and its padding behind (RFC 9113 §6.1), and the flag.
fn padded(payload: Vec<u8>, pad: Option<u8>) -> (u8, Vec<u8>) {
    match pad {
        None => (0, payload),
        Some(len) => (0x08, [vec![len], payload, vec![0; len.into()]].concat()),
    }
}

fn priority_octets(fields: PriorityFields) -> Vec<u8> {
    let word = fields.dependency | u32::from(fields.exclusive) << 31;
    [&word.to_be_bytes()[..], &[fields.weight]].concat()
}

impl Legal {
    /// The frame by the tests' own writer, and by the crate's where it has one.
    fn wire(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let with = |head: &[u8], rest: &[u8]| Some([head, rest].concat());
        match self {
            Self::Data { stream, data, pad, end_stream } => {
                let (flag, payload) = padded(data.clone(), *pad);
                let ours = pad.is_none().then(|| [&data_head(data.len() as u32, *stream, *end_stream)[..], data].concat());
                (raw(0, flag | u8::from(*end_stream), *stream, &payload), ours)
            }
            Self::Headers { stream, fragment, pad, end_stream, priority } => {
                let before = priority.map(priority_octets).unwrap_or_default();
                let (flag, payload) = padded([&before[..], fragment].concat(), *pad);
                let flags = flag | u8::from(*end_stream) | 0x04 | if priority.is_some() { 0x20 } else { 0 };
                let head = headers_head(fragment.len() as u32, *stream, *end_stream, true);
                let ours = (pad.is_none() && priority.is_none()).then(|| [&head[..], fragment].concat());
                (raw(1, flags, *stream, &payload), ours)
            }
            Self::Priority { stream, fields } => (raw(2, 0, *stream, &priority_octets(*fields)), None),
            Self::Reset { stream, code } => (raw(3, 0, *stream, &code.to_be_bytes()), with(&reset(*stream, ErrorCode(*code)), b"")),
            Self::Settings { entries } => {
                let payload: Vec<u8> =
                    entries.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
                let ours: Vec<u8> = entries.iter().flat_map(|&(id, value)| setting(id, value)).collect();
                (raw(4, 0, 0, &payload), with(&settings_head(entries.len() as u32), &ours))
            }
            Self::PushPromise { stream, promised, fragment, pad } => {
                let (flag, payload) = padded([&promised.to_be_bytes()[..], fragment].concat(), *pad);
                (raw(5, flag | 0x04, *stream, &payload), None)
            }
            Self::Ping { ack, data } => (raw(6, u8::from(*ack), 0, data), with(&ping(*ack, *data), b"")),
            Self::GoAway { last_stream, code, debug } => {
                let payload = [&last_stream.to_be_bytes()[..], &code.to_be_bytes(), debug].concat();
                (raw(7, 0, 0, &payload), with(&goaway_head(*last_stream, ErrorCode(*code), debug.len() as u32), debug))
            }
            Self::WindowUpdate { stream, increment } => {
                (raw(8, 0, *stream, &increment.to_be_bytes()), with(&window_update(*stream, *increment), b""))
            }
            Self::Continuation { stream, fragment } => {
                (raw(9, 0x04, *stream, fragment), with(&continuation_head(fragment.len() as u32, *stream, true), fragment))
            }
            Self::Unknown { kind, flags, stream, payload } => (raw(*kind, *flags, *stream, payload), None),
        }
    }

    /// What the parser must make of it. `payload_len` is that of the wire.
    fn frame<'a>(&'a self, settings: &'a [u8], payload_len: u32) -> Frame<'a> {
        match self {
            Self::Data { stream, data, pad, end_stream } => {
                Frame::Data(Data { stream: *stream, data, pad_len: *pad, end_stream: *end_stream, flow_len: payload_len })
            }
            Self::Headers { stream, fragment, end_stream, priority, .. } => {
                let (stream, end_stream, priority) = (*stream, *end_stream, *priority);
                Frame::Headers(Headers { stream, fragment, end_stream, end_headers: true, priority })
            }
            Self::Priority { stream, fields } => Frame::Priority(Priority { stream: *stream, fields: *fields }),
            Self::Reset { stream, code } => Frame::Reset(Reset { stream: *stream, code: ErrorCode(*code) }),
            Self::Settings { .. } => Frame::Settings(Settings { ack: false, payload: settings }),
            Self::PushPromise { stream, promised, fragment, .. } => {
                Frame::PushPromise(PushPromise { stream: *stream, promised: *promised, fragment, end_headers: true })
            }
            Self::Ping { ack, data } => Frame::Ping(Ping { ack: *ack, data: *data }),
            Self::GoAway { last_stream, code, debug } => Frame::GoAway(GoAway { last_stream: *last_stream, code: ErrorCode(*code), debug }),
            Self::WindowUpdate { stream, increment } => Frame::WindowUpdate(WindowUpdate { stream: *stream, increment: *increment }),
            Self::Continuation { stream, fragment } => Frame::Continuation(Continuation { stream: *stream, fragment, end_headers: true }),
            Self::Unknown { kind, flags, stream, payload } => {
                Frame::Unknown(Unknown { head: Head { len: payload_len, kind: *kind, flags: *flags, stream: *stream }, payload })
            }
        }
    }
}

#[test]
fn legal_frames_round_trip() {
    let (written, padding, priority) = Default::default();
    let counters = [("written by the crate", &written), ("padding", &padding), ("priority in HEADERS", &priority)];
    property((legal(), vec(any::<u8>(), 0..20)), &counters, |(legal, behind)| {
        let (wire, ours) = legal.wire();
        hit(&written, ours.is_some());
        hit(&padding, matches!(legal, Legal::Data { pad: Some(1..), .. } | Legal::Headers { pad: Some(1..), .. }));
        hit(&priority, matches!(legal, Legal::Headers { priority: Some(_), .. }));
        if let Some(ours) = ours {
            prop_assert_eq!(&ours, &wire);
        }
        let expected = legal.frame(&wire[9..], wire.len() as u32 - 9);
        let input = [&wire[..], &behind].concat();
        prop_assert_eq!(parse(&input, MAX), Ok(Status::Complete((expected, wire.len()))), "octets behind it do not matter");
        for missing in [1, 2, wire.len() - 9, wire.len() - 8] {
            if (1..=wire.len()).contains(&missing) {
                prop_assert_eq!(parse(&wire[..wire.len() - missing], MAX), Ok(Status::Partial));
            }
        }
        if let (Legal::Settings { entries }, Frame::Settings(settings)) = (&legal, expected) {
            prop_assert!(settings.iter().eq(entries.iter().copied()));
        }
        Ok(())
    });
}
