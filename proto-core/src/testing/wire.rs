//! Frames as octets, without the crate's own frame code: what judges it must not share its faults.

use alloc::vec::Vec;

/// DATA (RFC 9113 §6.1).
pub const DATA: u8 = 0;
/// HEADERS (§6.2).
pub const HEADERS: u8 = 1;
/// PRIORITY (§6.3).
pub const PRIORITY: u8 = 2;
/// RST_STREAM (§6.4).
pub const RST_STREAM: u8 = 3;
/// SETTINGS (§6.5).
pub const SETTINGS: u8 = 4;
/// PUSH_PROMISE (§6.6).
pub const PUSH_PROMISE: u8 = 5;
/// PING (§6.7).
pub const PING: u8 = 6;
/// GOAWAY (§6.8).
pub const GOAWAY: u8 = 7;
/// WINDOW_UPDATE (§6.9).
pub const WINDOW_UPDATE: u8 = 8;
/// CONTINUATION (§6.10).
pub const CONTINUATION: u8 = 9;

/// END_STREAM on DATA and HEADERS.
pub const END_STREAM: u8 = 1;
/// ACK on SETTINGS and PING.
pub const ACK: u8 = 1;
/// END_HEADERS on HEADERS, PUSH_PROMISE and CONTINUATION.
pub const END_HEADERS: u8 = 4;
/// PADDED on DATA, HEADERS and PUSH_PROMISE.
pub const PADDED: u8 = 8;
/// PRIORITY on HEADERS.
pub const PRIORITIZED: u8 = 0x20;

/// What a client sends first (§3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame's nine octets of head (§4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Octets of payload.
    pub len: u32,
    /// The type.
    pub kind: u8,
    /// The flags.
    pub flags: u8,
    /// The stream identifier, reserved bit removed.
    pub stream: u32,
}

impl Head {
    /// From the wire.
    #[must_use]
    pub const fn parse(octets: &[u8; 9]) -> Self {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = *octets;
        Self { len: u32::from_be_bytes([0, a, b, c]), kind, flags, stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]) }
    }

    /// To the wire.
    #[must_use]
    pub const fn octets(self) -> [u8; 9] {
        let [_, a, b, c] = self.len.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s0, s1, s2, s3]
    }

    /// This flag is set.
    #[must_use]
    pub const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// END_STREAM, on the two kinds that have it.
    #[must_use]
    pub const fn ends_stream(self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.has(END_STREAM)
    }
}

/// A frame, octet for octet. Nothing is checked: what is wrong on purpose must be possible.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let head = Head { len: payload.len() as u32, kind, flags, stream };
    let mut octets = Vec::with_capacity(9 + payload.len());
    octets.extend_from_slice(&head.octets());
    octets.extend_from_slice(payload);
    octets
}

/// SETTINGS with these entries.
#[must_use]
pub fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = entries.iter().flat_map(|(id, value)| id.to_be_bytes().into_iter().chain(value.to_be_bytes())).collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// The acknowledgement of SETTINGS.
#[must_use]
pub fn settings_ack() -> Vec<u8> {
    frame(SETTINGS, ACK, 0, &[])
}

/// WINDOW_UPDATE.
#[must_use]
pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// RST_STREAM.
#[must_use]
pub fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// GOAWAY.
#[must_use]
pub fn goaway(last: u32, code: u32, debug: &[u8]) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last.to_be_bytes(), &code.to_be_bytes(), debug].concat())
}

/// A header block of literal fields without indexing and without Huffman (RFC 7541 §6.2.2): it
/// neither reads nor changes a table.
#[must_use]
pub fn literal_block(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        literal(&mut block, 0x00, name.as_bytes(), value);
    }
    block
}

/// Appends one literal with a new name: `kind` 0x00 without indexing, 0x10 never indexed, 0x40 with
/// incremental indexing.
pub fn literal(block: &mut Vec<u8>, kind: u8, name: &[u8], value: &[u8]) {
    block.push(kind);
    string(block, name);
    string(block, value);
}

fn string(block: &mut Vec<u8>, octets: &[u8]) {
    integer(block, 0x00, 7, octets.len());
    block.extend_from_slice(octets);
}

/// An integer with an `n`-bit prefix below the bits of `first` (RFC 7541 §5.1).
pub fn integer(block: &mut Vec<u8>, first: u8, n: u32, value: usize) {
    let most = (1_usize << n) - 1;
    if value < most {
        block.push(first | value as u8);
        return;
    }
    block.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// A gRPC message with its five-octet prefix.
#[must_use]
pub fn message(payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(5 + payload.len());
    octets.push(0);
    octets.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    octets.extend_from_slice(payload);
    octets
}

/// What [`Cutter`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Octets of the client's preface.
    Preface(&'a [u8]),
    /// A frame begins.
    Head(Head),
    /// Octets of its payload.
    Body(Head, &'a [u8]),
    /// It is complete. The payload is here for control frames and header blocks, not for DATA.
    End(Head, &'a [u8]),
}

/// Cuts a stream of octets into frames, however it arrives.
#[derive(Debug, Clone)]
pub struct Cutter {
    preface_left: usize,
    head: [u8; 9],
    have: usize,
    current: Option<Head>,
    left: usize,
    body: Vec<u8>,
}

impl Cutter {
    /// For what a client sends (with the preface) or a server.
    #[must_use]
    pub const fn new(from_client: bool) -> Self {
        let preface_left = if from_client { PREFACE.len() } else { 0 };
        Self { preface_left, head: [0; 9], have: 0, current: None, left: 0, body: Vec::new() }
    }

    /// No frame has begun.
    #[must_use]
    pub const fn at_boundary(&self) -> bool {
        self.preface_left == 0 && self.have == 0 && self.current.is_none()
    }

    /// Takes more octets.
    pub fn push(&mut self, mut octets: &[u8], mut found: impl FnMut(Part<'_>)) {
        let (preface, rest) = octets.split_at(self.preface_left.min(octets.len()));
        if !preface.is_empty() {
            self.preface_left -= preface.len();
            found(Part::Preface(preface));
        }
        octets = rest;
        while !octets.is_empty() {
            octets = match self.current {
                None => self.push_head(octets, &mut found),
                Some(head) => self.push_body(head, octets, &mut found),
            };
        }
    }

    fn push_head<'a>(&mut self, octets: &'a [u8], found: &mut impl FnMut(Part<'_>)) -> &'a [u8] {
        let (taken, rest) = octets.split_at(octets.len().min(9 - self.have));
        self.head[self.have..self.have + taken.len()].copy_from_slice(taken);
        self.have += taken.len();
        if self.have == 9 {
            let head = Head::parse(&self.head);
            self.have = 0;
            self.left = head.len as usize;
            self.body.clear();
            found(Part::Head(head));
            if self.left == 0 {
                found(Part::End(head, &[]));
            } else {
                self.current = Some(head);
            }
        }
        rest
    }

    fn push_body<'a>(&mut self, head: Head, octets: &'a [u8], found: &mut impl FnMut(Part<'_>)) -> &'a [u8] {
        let (taken, rest) = octets.split_at(octets.len().min(self.left));
        self.left -= taken.len();
        if head.kind != DATA {
            self.body.extend_from_slice(taken);
        }
        found(Part::Body(head, taken));
        if self.left == 0 {
            self.current = None;
            found(Part::End(head, &self.body));
        }
        rest
    }
}

/// The first four octets of `payload` as a number; 0 where it is shorter.
pub(super) fn word(payload: &[u8], at: usize) -> u32 {
    payload.get(at..at + 4).and_then(|octets| octets.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// The entries of a SETTINGS payload.
pub(super) fn entries(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> + '_ {
    payload.chunks_exact(6).map(|entry| (u16::from_be_bytes([entry[0], entry[1]]), word(entry, 2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// RFC 7541 Appendix C.1.
    #[test]
    fn integers_are_those_of_the_rfc() {
        let encode = |n, value| {
            let mut out = Vec::new();
            integer(&mut out, 0, n, value);
            out
        };
        assert_eq!(encode(5, 10), [0x0a]);
        assert_eq!(encode(5, 1_337), [0x1f, 0x9a, 0x0a]);
        assert_eq!(encode(8, 42), [0x2a]);
        assert_eq!(encode(7, 127), [0x7f, 0x00]);
    }

    #[test]
    fn frames_are_cut_the_same_whatever_the_reads() {
        let stream = [PREFACE.to_vec(), settings(&[(4, 100)]), frame(DATA, END_STREAM, 1, b"abc"), settings_ack()].concat();
        for size in 1..stream.len() {
            let (mut cutter, mut ends) = (Cutter::new(true), Vec::new());
            for piece in stream.chunks(size) {
                cutter.push(piece, |part| {
                    if let Part::End(head, body) = part {
                        ends.push((head.kind, head.len, body.to_vec()));
                    }
                });
            }
            assert_eq!(ends, [(SETTINGS, 6, vec![0, 4, 0, 0, 0, 100]), (DATA, 3, vec![]), (SETTINGS, 0, vec![])]);
            assert!(cutter.at_boundary());
        }
    }
}
