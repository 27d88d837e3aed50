//! A flight recorder: everything that goes into a connection, on a tape, and a replay to the same octet.
//!
//! A [`Connection`] is a pure function of its inputs: octets, times and operations. A [`Recorder`] is a layer that writes them
//! to a [`Sink`]; [`replay`] feeds them to a fresh connection and compares what comes out. So a failure that was recorded
//! anywhere is a test from then on.
//!
//! ```
//! use pintle_core::{tape::{Recorder, replay}, *};
//! let now = Timestamp::from_micros(0);
//! let mut client = Recorder::new(Connection::client(&Config::default(), now), Vec::new());
//! // Drive it as any other endpoint; calls and events go through `conn_mut`.
//! let call = client.conn_mut().start(now, RequestHead::new("/echo.Echo/Unary", Shape::Unary), CallOptions::default())?;
//! client.conn_mut().call(call)?.send(bytes::Bytes::from_static(b"hello").into()).unwrap();
//! let mut wire = [0; 1024];
//! let n = client.transmit(now, wire.len()).copy_to(&mut wire);
//!
//! let (_, tape) = client.into_parts();
//! let played = replay(&tape)?;
//! assert_eq!(played.octets_out, n as u64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **A tape holds payloads and metadata, credentials among them, in clear text** (what a TLS layer encrypts, too): treat it
//! as you treat the data itself.
//!
//! What is recorded is what reaches the core: a layer below the recorder (TLS) is not on the tape, its plaintext is.
//!
//! # Cost
//! Without the feature `record`: nothing. With it, and no recorder attached: one branch in each input and operation. With a recorder:
//! a copy of every octet in each direction and of every message sent, and a few octets per operation.
//!
//! # Format, version 2
//! [`MAGIC`], an octet with the [`VERSION`], then records. Numbers are varints: seven bits an octet, the lowest first, the
//! high bit set on all but the last.
//!
//! ```text
//! record = length of what follows, kind (1 octet), fields
//! time   = difference to the `now` of the record before in microseconds, as a varint of 2|d| (d >= 0) or 2|d|-1
//! text   = length, octets          duration = seconds, nanoseconds         slot = number of a call or stream
//! ?x     = 0, or 1 and x           rest     = the octets up to the record's end
//! fields = 1 if built for plain HTTP, text of records: length of name and of value (4 octets each, little endian), name, value
//!
//!  0 begin      role|hashed<<1, time, Config (in the order of `settings.rs`), count of routes, each: shape, text
//!  1 in         time, rest               2 eof         time                  3 target
//!  4 filled     time, rest               5 transmit    time, budget, rest: octets framed now
//!  6 transmit   time, budget, length, hash of octets framed now (8 octets, little endian)
//!  7 advance    octets written           8 timeout     time                  9 event      ?(kind, ?slot)
//! 10 start      time, shape, ?time deadline, token, ?fields, rest: path     11 started    ?slot
//! 12 accept     slot, token             13 drain       time, ?duration      14 close      time
//! 15 stopped: recording ended, the connection did not
//! calls: the slot comes first
//! 16 set_token  token                   17 take_metadata                    18 recv       0 pending, 1 end, 2 reset, 3+n octets
//! 19 try_recv   the same                20 demand      n                    21 take_outcome  ?code
//! 22 cancel                             23 send        rest                 24 refused    n octets that were not taken
//! 25 send_with  n, rest                 26 close_send                       27 send_headers  flush, fields
//! 28 finish     code, text message, text details, fields, ?fields trailers
//! raw streams: the slot comes first
//! 32 set_token  token                   33 limit       ?duration            34 recv_bytes  as recv
//! 35 send_headers  status, end, fields  36 send_bytes  end, rest            37 refused     n octets
//! 38 send_trailers  fields              39 refuse      40 reset  code       41 release
//! ```
//!
//! The hash begins with their number. For each 8 octets, little endian, the last padded with zeros: exclusive or, times
//! 0x9e3779b97f4a7c15, exclusive or with itself shifted right by 32. It is no defence against forgers.
//!
//! A tape may be cut anywhere: what is left of its last record does not count.

mod code;
mod record;
mod recorder;
mod replay;
mod settings;
mod text;

pub(crate) use record::flat;
pub use record::{Begin, CallOp, Got, Record, Staged, StreamOp, Told};
pub use recorder::{Recorder, Sink, SinkFailed};
pub use replay::{Difference, Played, Replay, ReplayError, Summary, replay};

#[cfg(doc)]
use crate::Connection;
use alloc::{boxed::Box, vec::Vec};
use core::fmt;

/// A tape's first octets.
pub const MAGIC: [u8; 8] = *b"\x8dpintle\n";
/// The format's version, the octet after [`MAGIC`].
pub const VERSION: u8 = 2;
/// Most octets of records that wait for a sink, give or take one record. They wait while the application holds
/// [`Endpoint::conn_mut`](crate::Endpoint::conn_mut); if more gather meanwhile, recording stops.
pub const BUFFER: usize = 16 << 20;

/// Which of the octets that leave are on the tape. Replay compares all of them either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The octets: a difference is found to the octet.
    #[default]
    Octets,
    /// A hash of what each `transmit` framed: the tape of one that sends messages of a kilobyte is a third shorter.
    Hash,
}

/// The connection is not as it was made: octets, operations or time have reached it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFresh;

impl fmt::Display for NotFresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tape begins with a fresh connection; this one was used or is recorded already")
    }
}
impl core::error::Error for NotFresh {}

/// What is wrong with a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TapeError {
    /// It does not begin with [`MAGIC`].
    NotATape,
    /// It was written by another version of the format.
    Version(u8),
    /// A record is wrong.
    Broken(&'static str),
}

impl fmt::Display for TapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATape => f.write_str("this is not a tape: its first octets are others"),
            Self::Version(version) => write!(f, "the tape has format version {version}; this build reads version {VERSION}"),
            Self::Broken(what) => f.write_str(what),
        }
    }
}
impl core::error::Error for TapeError {}

/// Reads the records of a tape.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    tape: &'a [u8],
    at: usize,
    latest: u64,
}

impl<'a> Reader<'a> {
    /// At the first record. A tape that is cut within its first nine octets has none.
    ///
    /// # Errors
    /// It is no tape, or one of another version.
    pub fn new(tape: &'a [u8]) -> Result<Self, TapeError> {
        let magic = tape.len().min(MAGIC.len());
        if tape[..magic] != MAGIC[..magic] {
            return Err(TapeError::NotATape);
        }
        match tape.get(MAGIC.len()) {
            Some(&version) if version != VERSION => Err(TapeError::Version(version)),
            Some(_) => Ok(Self { tape, at: MAGIC.len() + 1, latest: 0 }),
            None => Ok(Self { tape, at: tape.len(), latest: 0 }),
        }
    }

    /// The next record. `None`: no whole record is left; see [`unread`](Self::unread).
    ///
    /// # Errors
    /// The record is wrong; nothing behind it can be read.
    pub fn next_record(&mut self) -> Result<Option<Record<'a>>, TapeError> {
        let Some((record, len)) = code::take(&self.tape[self.at..], &mut self.latest)? else { return Ok(None) };
        self.at += len;
        Ok(Some(record))
    }

    /// Where the next record begins, octets from the beginning of the tape.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// The octets from `from` to the next record.
    fn span(&self, from: usize) -> Option<&'a [u8]> {
        self.tape.get(from..self.at)
    }

    /// Octets behind the last record read: 0 at the end of a whole tape.
    #[must_use]
    pub const fn unread(&self) -> usize {
        self.tape.len() - self.at
    }
}

/// What a connection carries while it is recorded.
#[derive(Debug)]
pub(crate) struct Tap {
    encoder: code::Encoder,
    /// Records that no sink has.
    pub(crate) buffer: Vec<u8>,
    /// Octets written, as of the last record.
    written: u64,
    /// Position of the first octet that is not on the tape, counted from the connection's first.
    staged: u64,
    hashed: bool,
    stopped: bool,
}

impl Tap {
    /// With the tape's head in its buffer.
    pub(crate) fn new(begin: Begin) -> Box<Self> {
        let mut tap =
            Self { encoder: code::Encoder::default(), buffer: MAGIC.to_vec(), written: 0, staged: 0, hashed: begin.hashed, stopped: false };
        tap.buffer.push(VERSION);
        tap.put(&Record::Begin(Box::new(begin)));
        Box::new(tap)
    }

    fn put(&mut self, record: &Record<'_>) {
        if self.stopped {
            return;
        }
        if self.buffer.len() > BUFFER {
            self.stopped = true;
            return self.encoder.put(&Record::Stopped, &mut self.buffer);
        }
        self.encoder.put(record, &mut self.buffer);
    }

    pub(crate) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Notes what was written since the last record, and forgets what was dropped unwritten.
    pub(crate) fn settle(&mut self, out: &crate::tx::Outbox) {
        let written = out.written();
        if written != self.written {
            self.put(&Record::Advance { n: written - self.written });
            self.written = written;
        }
        self.staged = self.staged.min(written + out.len() as u64);
    }

    /// Appends a record.
    pub(crate) fn note(&mut self, out: &crate::tx::Outbox, record: &Record<'_>) {
        self.settle(out);
        self.put(record);
    }

    /// What was staged and is not on the tape yet.
    pub(crate) fn staged(&mut self, out: &crate::tx::Outbox) -> Staged<'static> {
        let mut known = (self.staged - out.written()) as usize;
        self.staged = out.written() + out.len() as u64;
        let fresh = out.slices().filter_map(move |slice| {
            let skip = known.min(slice.len());
            known -= skip;
            (skip < slice.len()).then(|| &slice[skip..])
        });
        let mut octets = Vec::new();
        fresh.for_each(|slice| octets.extend_from_slice(slice));
        if self.hashed { Staged::Hash { len: octets.len() as u64, hash: hash(&octets) } } else { Staged::Octets(octets.into()) }
    }
}

/// See the format.
fn hash(octets: &[u8]) -> u64 {
    let mix = |hash: u64, word: [u8; 8]| {
        let hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ (hash >> 32)
    };
    let (words, rest) = octets.as_chunks::<8>();
    let hash = words.iter().fold(octets.len() as u64, |hash, word| mix(hash, *word));
    if rest.is_empty() {
        return hash;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, last)
}
