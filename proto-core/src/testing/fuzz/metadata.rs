//! Metadata, `grpc-message`, `grpc-timeout`: round trips, and readers of a few lines.

use super::cut_of;
use crate::{
    Code, Config, Event, Metadata,
    grpc::{self, decode_base64, timeout},
    testing::{
        echo,
        raw::{REQUEST, RawPeer},
        wire,
    },
};
use alloc::{string::String, vec::Vec};

/// The text forms of gRPC: each is read as the grammar says and nothing else is, and what we write is read back the same.
///
/// # Panics
/// If not.
pub fn fuzz_metadata(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 6 {
        0 => timeouts(rest),
        1 => messages(rest),
        2 => base64(rest),
        3 => lists(rest),
        4 => received(rest),
        _ => statuses(rest),
    }
}

/// PH2 "Timeout": 1 to 8 digits and a unit. Rounded up to whole microseconds.
fn timeouts(data: &[u8]) {
    let nanos = |value: &[u8]| -> Option<u128> {
        let text = core::str::from_utf8(value).ok()?;
        let unit = match text.chars().last()? {
            'n' => 1,
            'u' => 1_000,
            'm' => 1_000_000,
            'S' => 1_000_000_000,
            'M' => 60_000_000_000,
            'H' => 3_600_000_000_000_u128,
            _ => return None,
        };
        let digits = &text[..text.len() - 1];
        if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        Some(digits.parse::<u128>().ok()? * unit)
    };
    let read = timeout::decode(data);
    assert_eq!(read.map(u128::from), nanos(data).map(|n| n.div_ceil(1_000)), "{}", data.escape_ascii());
    let number = data.first_chunk().map_or(data.len() as u64, |octets| u64::from_le_bytes(*octets));
    // Every magnitude, not only the largest.
    for micros in [number, number >> (data.len() % 64), read.unwrap_or(0)] {
        let text = timeout::encode(micros);
        let wanted = micros.clamp(1, timeout::MAX_MICROS);
        let (again, exact) = (timeout::decode(text.as_bytes()), nanos(text.as_bytes()).map(|n| n / 1_000));
        assert_eq!(again.map(u128::from), exact, "{}", text.as_bytes().escape_ascii());
        let again = again.expect("what we write is read");
        // Never sooner than asked for, and less than a unit later: a coarser unit is for what has more than eight digits in the next finer one.
        assert!(wanted <= again && again - wanted <= wanted / 99_999, "{micros} µs became {again}");
    }
}

/// PH2 "Status-Message": percent-encoded UTF-8.
fn messages(data: &[u8]) {
    let read = grpc::decode_message(data);
    let mut octets = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let hex = |at: usize| data.get(at).and_then(|&c| char::from(c).to_digit(16));
        if data[at] == b'%'
            && let (Some(high), Some(low)) = (hex(at + 1), hex(at + 2))
        {
            octets.push((high * 16 + low) as u8);
            at += 3;
        } else {
            octets.push(data[at]);
            at += 1;
        }
    }
    assert_eq!(read, String::from_utf8_lossy(&octets));
    let text = String::from_utf8_lossy(data);
    for message in [&*read, &*text] {
        let mut whole = Vec::new();
        grpc::encode_message(message, usize::MAX, &mut whole);
        assert!(whole.iter().all(|c| (0x20..=0x7e).contains(c)), "{}", whole.escape_ascii());
        assert_eq!(grpc::decode_message(&whole), message);
        let limit = data.len() / 2;
        let mut cut = Vec::new();
        grpc::encode_message(message, limit, &mut cut);
        assert!(cut.len() <= limit && whole.starts_with(&cut) && message.starts_with(&grpc::decode_message(&cut)), "cut at {limit}");
        assert!(cut.len() == whole.len() || cut.len() + 12 > limit, "more would have fitted");
    }
}

/// PH2 "Custom-Metadata": base64 (RFC 4648 §4) with or without padding, a part of it included; bits behind the last octet are not looked at.
fn base64(data: &[u8]) {
    let mut metadata = Metadata::new();
    metadata.append_bin("a-bin", data).expect("any octets are valid");
    assert_eq!(metadata.get_bin("A-BIN").as_deref(), Some(data));
    let (_, text) = metadata.iter().next().expect("one field");
    assert_eq!(text.len(), (data.len() * 4).div_ceil(3), "no padding is written");
    assert_eq!(plain_base64(text).as_deref(), Some(data));
    assert_eq!(decode_base64(data), plain_base64(data), "{}", data.escape_ascii());
}

fn plain_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let pads = text.iter().rev().take_while(|&&c| c == b'=').count();
    let digits = &text[..text.len() - pads];
    // As much padding as fills a group of four, or less.
    if pads > [0, 0, 2, 1][digits.len() % 4] || digits.len() % 4 == 1 {
        return None;
    }
    let (mut octets, mut bits, mut have) = (Vec::new(), 0_u32, 0);
    for c in digits {
        let digit = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|d| d == c)?;
        bits = bits << 6 | digit as u32;
        have += 6;
        if have >= 8 {
            have -= 8;
            octets.push((bits >> have) as u8);
        }
    }
    Some(octets)
}

/// Operations on a list, against a vector of pairs.
fn lists(mut data: &[u8]) {
    const KEYS: [&str; 8] = ["a", "A", "tenant", "b-bin", "B-Bin", "x.y_z-1", "grpc-status", "bad key"];
    let (mut ours, mut plain) = (Metadata::new(), Vec::<(String, Vec<u8>)>::new());
    while let [op, len, rest @ ..] = data {
        let (value, rest) = rest.split_at(usize::from(len % 32).min(rest.len()));
        data = rest;
        let key = KEYS[usize::from(op >> 3) % 8];
        let name = key.to_ascii_lowercase();
        let (usable, binary) = (usize::from(op >> 3) % 8 < 6, name.ends_with("-bin"));
        let text = String::from_utf8_lossy(value);
        let printable = text.bytes().all(|c| (0x20..=0x7e).contains(&c)) && text.trim_matches(' ').len() == text.len();
        match op & 7 {
            0 | 1 => {
                let good = usable && !binary && printable;
                let result = if op & 7 == 0 { ours.append(key, &text) } else { ours.insert(key, &text) };
                assert_eq!(result.is_ok(), good, "{key:?} = {text:?}: {result:?}");
                if good {
                    plain.retain(|(have, _)| op & 7 == 0 || *have != name);
                    plain.push((name, text.as_bytes().to_vec()));
                }
            }
            2 | 3 => {
                let good = usable && binary;
                let result = if op & 7 == 2 { ours.append_bin(key, value) } else { ours.insert_bin(key, value) };
                assert_eq!(result.is_ok(), good, "{key:?}: {result:?}");
                if good {
                    plain.retain(|(have, _)| op & 7 == 2 || *have != name);
                    plain.push((name, value.to_vec()));
                }
            }
            4 => {
                let had = plain.len();
                plain.retain(|(have, _)| *have != name);
                assert_eq!(ours.remove(key), plain.len() < had);
            }
            5 => {
                let twice = ours.clone();
                if plain.len() < 200 {
                    ours.extend(&twice);
                    plain.extend_from_within(..);
                }
            }
            6 if *len == 0 => {
                ours.clear();
                plain.clear();
            }
            _ => {}
        }
        let values = || plain.iter().filter(|(have, _)| have.eq_ignore_ascii_case(key)).map(|(_, value)| &value[..]);
        assert!(ours.get_all_bin(key).eq(values().filter(|_| binary)), "binary values of {key:?}");
        assert!(ours.get_all(key).map(str::as_bytes).eq(values().filter(|_| !binary)), "text values of {key:?}");
    }
    assert_eq!((ours.len(), ours.is_empty()), (plain.len(), plain.is_empty()));
    let decoded = ours.iter().map(|(name, value)| {
        let value = if name.ends_with("-bin") { plain_base64(value).expect("our base64") } else { value.to_vec() };
        (String::from(name), value)
    });
    assert!(decoded.eq(plain.iter().cloned()), "{ours:?} is not {plain:?}");
}

/// Fields that a client sends: all of them, in order, are in the call's metadata; or, if HTTP/2 forbids one, there is no call
/// (RFC 9113 §8.2.1, §8.1.1).
fn received(data: &[u8]) {
    let Some((&cut, mut rest)) = data.split_first() else { return };
    let mut fields = Vec::new();
    while let [lengths, more @ ..] = rest {
        let (name, more) = more.split_at(usize::from(lengths & 7).min(more.len()));
        let (value, more) = more.split_at(usize::from(lengths >> 3).min(more.len()));
        rest = more;
        fields.push(([b"x-", name].concat(), value));
    }
    fields.truncate(100);
    let token = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(c);
    let blank = |c: Option<&u8>| matches!(c, Some(b' ' | b'\t'));
    let good = fields.iter().all(|(name, value)| {
        name.iter().all(token) && !value.iter().any(|c| b"\0\r\n".contains(c)) && !blank(value.first()) && !blank(value.last())
    });
    let mut peer = RawPeer::client(&Config::default(), echo::routes(), cut_of(cut), 1);
    peer.handshake(&[]);
    let mut block = wire::literal_block(&[(":path", echo::METHODS[3].0.as_bytes())]);
    block = [&REQUEST[..2], &block, &REQUEST[8..]].concat();
    fields.iter().for_each(|(name, value)| wire::literal(&mut block, 0x40, name, value));
    peer.headers(1, true, &block);
    let is_base64 = |value: &[u8]| value.split(|&c| c == b',').all(|part| plain_base64(part).is_some());
    let decodable = fields.iter().all(|(name, value)| !name.ends_with(b"-bin") || is_base64(value));
    let Some(Event::Incoming { call }) = peer.event() else {
        // What HTTP/2 forbids ends the stream (PROTOCOL_ERROR); what only gRPC cannot read is answered.
        let (kind, code) = if good { (wire::HEADERS, None) } else { (wire::RST_STREAM, Some(1)) };
        let out = peer.output();
        assert!(!good || !decodable, "the call was refused: {fields:?}");
        return assert!(out.iter().any(|frame| frame.head.kind == kind && code.is_none_or(|code| frame.word(0) == code)), "{out:?}");
    };
    assert!(good && decodable, "a call with {fields:?}");
    assert!(peer.conn.accept(call, crate::Token(1)).is_some());
    let call = peer.conn.call(call).expect("it came");
    let got = call.metadata().iter().map(|(name, value)| (name.as_bytes(), value));
    assert!(got.eq(fields.iter().map(|(name, value)| (&name[..], *value))), "{:?} is not {fields:?}", call.metadata());
}

/// PH2 "Status": a number without sign or leading zero. Trailers of any `grpc-status` and `grpc-message` end a client's call; only `0` is OK.
fn statuses(data: &[u8]) {
    let (status, message) = data.split_at(data.len().min(usize::from(data.first().map_or(0, |c| c % 12))));
    let mut peer = RawPeer::server(&Config::default(), cut_of(status.len() as u8), 1);
    peer.handshake(&[]);
    let head = crate::RequestHead::new(echo::METHODS[3].0, crate::Shape::Bidi);
    let call = peer.conn.start(peer.now, head, crate::CallOptions::default()).expect("room");
    peer.output();
    let block = wire::literal_block(&[
        (":status", b"200"),
        ("content-type", b"application/grpc"),
        ("grpc-status", status),
        ("grpc-message", message),
    ]);
    peer.headers(1, true, &block);
    while peer.event().is_some() {}
    let mut view = peer.conn.call(call).expect("not released");
    assert!(matches!(view.recv(), crate::Recv::End));
    let outcome = view.take_outcome().expect("it is over");
    let number = core::str::from_utf8(status).ok().filter(|s| s.bytes().all(|c| c.is_ascii_digit()) && (*s == "0" || !s.starts_with('0')));
    let blank = |text: &[u8]| matches!(text, [b' ' | b'\t', ..] | [.., b' ' | b'\t']) || text.iter().any(|c| b"\0\r\n".contains(c));
    if blank(status) || blank(message) {
        return assert_eq!(outcome.status.code(), Code::Internal, "a malformed block: {}", outcome.status);
    }
    let wanted =
        number.and_then(|s| s.parse::<u32>().ok()).map_or(Code::Unknown, |n| if n <= 16 { Code::from_u32(n) } else { Code::Unknown });
    assert_eq!(outcome.status.code(), wanted, "grpc-status {}: {}", status.escape_ascii(), outcome.status);
    if wanted != Code::Unknown && wanted != Code::Ok {
        assert_eq!(outcome.status.message(), grpc::decode_message(message));
    }
}
