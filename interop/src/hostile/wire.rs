//! Octets of frames and header blocks, right and wrong ones. Nothing here is shared with Pintle: what it would get wrong alike, nobody would see.

/// Kinds of frames (RFC 9113 §6).
#[allow(missing_docs)]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
#[allow(missing_docs)]
pub mod flag {
    pub const ACK: u8 = 1;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
}

use flag::{ACK, END_HEADERS, END_STREAM};

/// The stream of the call that is treated badly: the first one of its connection.
pub const S: u32 = 1;

/// Fields of a header block, in this order.
pub type Fields<'a> = &'a [(&'a str, &'a str)];

/// What a well-behaved server's head says.
pub const HEAD: Fields<'static> = &[(":status", "200"), ("content-type", "application/grpc")];
/// What its trailers say.
pub const TRAILERS: Fields<'static> = &[("grpc-status", "0")];

/// Any frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame_of(payload.len() as u32, kind, flags, stream, payload)
}

/// A frame whose head says another length than its payload has.
pub fn frame_of(len: u32, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(9 + payload.len());
    octets.extend(&len.to_be_bytes()[1..]);
    octets.extend([kind, flags]);
    octets.extend(stream.to_be_bytes());
    octets.extend(payload);
    octets
}

/// A header block of literals that leave the table as it is.
pub fn block(fields: Fields<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    for (name, value) in fields {
        octets.push(0);
        string(&mut octets, name.as_bytes());
        string(&mut octets, value.as_bytes());
    }
    octets
}

/// A string literal without Huffman coding (RFC 7541 §5.2).
pub fn string(out: &mut Vec<u8>, octets: &[u8]) {
    integer(out, 0, 7, octets.len());
    out.extend(octets);
}

/// An integer with a prefix of `bits` (RFC 7541 §5.1).
fn integer(out: &mut Vec<u8>, first: u8, bits: u8, mut value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        out.push(first | value as u8);
        return;
    }
    out.push(first | most as u8);
    value -= most;
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A dynamic table size update (RFC 7541 §6.3).
pub fn size_update(size: usize) -> Vec<u8> {
    let mut octets = Vec::new();
    integer(&mut octets, 0x20, 5, size);
    octets
}

/// HEADERS with END_HEADERS on the call's stream.
pub fn head(fields: Fields<'_>) -> Vec<u8> {
    raw_head(&block(fields))
}

/// The same of a block as it is.
pub fn raw_head(block: &[u8]) -> Vec<u8> {
    frame(kind::HEADERS, END_HEADERS, S, block)
}

/// HEADERS with END_HEADERS and END_STREAM on the call's stream.
pub fn trailers(fields: Fields<'_>) -> Vec<u8> {
    trailers_on(S, fields)
}

/// The same on any stream.
pub fn trailers_on(stream: u32, fields: Fields<'_>) -> Vec<u8> {
    frame(kind::HEADERS, END_HEADERS | END_STREAM, stream, &block(fields))
}

/// DATA on the call's stream.
pub fn data(octets: &[u8]) -> Vec<u8> {
    frame(kind::DATA, 0, S, octets)
}

/// DATA with END_STREAM on the call's stream.
pub fn last_data(octets: &[u8]) -> Vec<u8> {
    frame(kind::DATA, END_STREAM, S, octets)
}

/// A gRPC message with its prefix.
pub fn message(octets: &[u8]) -> Vec<u8> {
    prefixed(0, octets.len() as u32, octets)
}

/// A gRPC message whose prefix says what it likes.
pub fn prefixed(compressed: u8, len: u32, octets: &[u8]) -> Vec<u8> {
    let mut all = vec![compressed];
    all.extend(len.to_be_bytes());
    all.extend(octets);
    all
}

/// A good answer to a call on any stream: a message without an octet.
pub fn good(stream: u32) -> Vec<u8> {
    let head = frame(kind::HEADERS, END_HEADERS, stream, &block(HEAD));
    let message = frame(kind::DATA, 0, stream, &message(b""));
    [head, message, trailers_on(stream, TRAILERS)].concat()
}

/// The end of a good answer on the call's stream: message and trailers.
pub fn rest() -> Vec<u8> {
    [data(&message(b"")), trailers(TRAILERS)].concat()
}

/// SETTINGS.
pub fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = entries.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
    frame(kind::SETTINGS, 0, 0, &payload)
}

/// SETTINGS with ACK.
pub fn settings_ack() -> Vec<u8> {
    frame(kind::SETTINGS, ACK, 0, b"")
}

/// RST_STREAM.
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// GOAWAY.
pub fn goaway(last: u32, code: u32, debug: &[u8]) -> Vec<u8> {
    frame(kind::GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &code.to_be_bytes(), debug].concat())
}

/// WINDOW_UPDATE.
pub fn window(stream: u32, increment: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// PING.
pub fn ping(flags: u8) -> Vec<u8> {
    frame(kind::PING, flags, 0, b"hostile!")
}

/// CONTINUATION on the call's stream.
pub fn continuation(flags: u8, fragment: &[u8]) -> Vec<u8> {
    frame(kind::CONTINUATION, flags, S, fragment)
}

/// gzip that becomes `258 * matches + 1` octets of zeros: one literal, then copies of it (RFC 1951 §3.2.6), 13 bits for 258 octets.
pub fn gzip_bomb(matches: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.low_first(0b011, 3); // the last block; fixed codes
    bits.high_first(0x30, 8); // the literal 0
    for _ in 0..matches {
        bits.high_first(0xC5, 8); // length 258
        bits.high_first(0, 5); // distance 1
    }
    bits.high_first(0, 7); // the end of the block
    let mut octets = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255];
    octets.append(&mut bits.octets);
    // No checksum that fits: who gets that far has unpacked all of it.
    octets.extend([0; 8]);
    octets
}

#[derive(Default)]
struct Bits {
    octets: Vec<u8>,
    used: usize,
}

impl Bits {
    fn bit(&mut self, bit: u32) {
        if self.used.is_multiple_of(8) {
            self.octets.push(0);
        }
        if let Some(last) = self.octets.last_mut() {
            *last |= (bit as u8) << (self.used % 8);
        }
        self.used += 1;
    }

    fn low_first(&mut self, value: u32, len: u32) {
        (0..len).for_each(|n| self.bit(value >> n & 1));
    }

    fn high_first(&mut self, code: u32, len: u32) {
        (0..len).rev().for_each(|n| self.bit(code >> n & 1));
    }
}
