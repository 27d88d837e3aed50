//! Frames written octet by octet from RFC 9113, on purpose without the crate's encoders, and a reader that ignores cuts.
#![allow(dead_code, reason = "each test program uses its part")]

use h2_frame::{Error, ErrorCode, Head, Item, Scanner, Scope};

pub(crate) const MAX: u32 = 16_384;

/// A frame of any kind and any content (RFC 9113 §4.1).
pub(crate) fn raw(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut wire = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    wire.extend([kind, flags]);
    wire.extend(stream.to_be_bytes());
    wire.extend(payload);
    wire
}

/// Octets from hexadecimal digits; white space is for the eye.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap() as u8).collect();
    nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Code and scope of an error; the text is for people.
pub(crate) fn verdict(error: Error) -> (ErrorCode, Scope) {
    (error.code, error.scope)
}

pub(crate) fn connection(code: ErrorCode) -> (ErrorCode, Scope) {
    (code, Scope::Connection)
}

pub(crate) fn stream(code: ErrorCode, stream: u32) -> (ErrorCode, Scope) {
    (code, Scope::Stream(stream))
}

/// What a scanner said, with the pieces of each frame put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Frame(Head, Vec<u8>),
    /// A frame that has begun, as far as it came.
    Begun(Head, Vec<u8>),
    Error(Error),
}

/// Feeds chunks to a scanner and holds it to its contract on the way.
pub(crate) struct Reader {
    pub(crate) scanner: Scanner,
    pub(crate) seen: Vec<Seen>,
    /// Take payloads and frames whole where they are.
    pub(crate) take: bool,
    open: Option<(Head, Vec<u8>)>,
    dead: bool,
}

impl Reader {
    pub(crate) fn new(take: bool) -> Self {
        Self { scanner: Scanner::new(), seen: Vec::new(), take, open: None, dead: false }
    }

    pub(crate) fn read(&mut self, mut input: &[u8]) {
        while !self.dead {
            if self.take
                && let Some((head, payload)) = self.scanner.take_frame(&mut input)
            {
                assert_eq!(self.open, None, "only between frames");
                self.seen.push(Seen::Frame(head, payload.to_vec()));
                continue;
            }
            match self.scanner.next(&mut input) {
                Ok(Some(item)) => self.item(item, &mut input),
                Ok(None) => {
                    assert!(input.is_empty(), "all input is taken before None");
                    return;
                }
                Err(error) => {
                    self.seen.push(Seen::Error(error));
                    if error.scope == Scope::Connection {
                        // Bad padding of DATA is found after its head.
                        self.open = None;
                        assert_eq!(self.scanner.next(&mut input), Err(error), "the end is the end");
                        self.dead = true;
                    }
                    assert_eq!(self.open, None, "a frame is complete before the next one is looked at");
                }
            }
        }
    }

    fn item<'a>(&mut self, item: Item<'a>, input: &mut &'a [u8]) {
        match item {
            Item::Head(head) => {
                assert_eq!(self.open, None, "the frame before has had its last piece");
                match self.take.then(|| self.scanner.take_payload(input)).flatten() {
                    Some(payload) => self.seen.push(Seen::Frame(head, payload.to_vec())),
                    None => self.open = Some((head, Vec::new())),
                }
            }
            Item::Piece { octets, last } => {
                assert!(last || !octets.is_empty(), "an empty piece says that it is the last");
                let (head, mut payload) = self.open.take().expect("a piece belongs to a frame");
                payload.extend(octets);
                match last {
                    true => self.seen.push(Seen::Frame(head, payload)),
                    false => self.open = Some((head, payload)),
                }
            }
        }
    }

    /// All that was seen, the frame that is not complete included.
    pub(crate) fn finish(mut self) -> Vec<Seen> {
        self.seen.extend(self.open.map(|(head, payload)| Seen::Begun(head, payload)));
        self.seen
    }
}

pub(crate) fn read_uncut(wire: &[u8]) -> Vec<Seen> {
    let mut reader = Reader::new(false);
    reader.read(wire);
    reader.finish()
}
