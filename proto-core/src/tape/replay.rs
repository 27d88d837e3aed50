//! Plays a tape through a fresh connection, which writes a tape of its own; the two must be the same.
//!
//! So everything that is on a tape is compared: what left, octet by octet, and also every event and answer.

use super::{CallOp, Detail, Reader, Record, Staged, StreamOp, TapeError};
use crate::{CallOptions, Connection, Endpoint, ErrorCode, RequestHead, Routes};
use alloc::{format, string::String, vec::Vec};
use bytes::Bytes;
use core::fmt;

/// Octets that a message may be longer, by what was said, than it then was.
const SLACK: u64 = 1 << 20;

/// One record, played.
#[derive(Debug)]
#[non_exhaustive]
pub struct Played<'a> {
    /// Its number, from 0.
    pub index: usize,
    /// Where it begins on the tape.
    pub position: usize,
    /// The record.
    pub record: Record<'a>,
}

/// What a tape that was played to its end held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Records played.
    pub records: usize,
    /// Octets that came in.
    pub octets_in: u64,
    /// Octets that were written out.
    pub octets_out: u64,
    /// Octets at the end of the tape that are less than a record: it was cut there, and they were left out.
    pub cut: usize,
    /// Recording stopped before the connection did: [`Record::Stopped`].
    pub stopped: bool,
}

/// The replay went another way than the tape.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The record, from 0, that comes out otherwise.
    pub index: usize,
    /// Where it begins on the tape.
    pub position: usize,
    /// Where in what the connection sent the first octet differs, counted from its first; `None`: the octets do not differ.
    pub sent: Option<u64>,
    /// What is on the tape, and what came instead.
    pub text: String,
}

/// A tape that does not play.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// It cannot be read.
    Tape {
        /// The record, from 0.
        index: usize,
        /// Where it begins on the tape.
        position: usize,
        /// Why.
        error: TapeError,
    },
    /// It plays otherwise than it was recorded: another version of the core, or a bug.
    Differs(Difference),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tape { index, position, error } => write!(f, "record {index}, at octet {position} of the tape: {error}"),
            Self::Differs(Difference { index, position, sent, text }) => {
                write!(f, "record {index}, at octet {position} of the tape, plays otherwise: {text}")?;
                match sent {
                    Some(sent) => write!(f, "; the first octet that differs is octet {sent} of what was sent"),
                    None => Ok(()),
                }
            }
        }
    }
}
impl core::error::Error for ReplayError {}

/// Plays a tape to its end.
///
/// # Errors
/// The first record that cannot be read or plays otherwise.
pub fn replay(tape: &[u8]) -> Result<Summary, ReplayError> {
    let mut replay = Replay::new(tape)?;
    while replay.step()?.is_some() {}
    Ok(replay.summary())
}

/// A tape being played, record by record.
#[derive(Debug)]
pub struct Replay<'a> {
    tape: &'a [u8],
    reader: Reader<'a>,
    conn: Option<Connection>,
    /// Octets of the tape that the replay's own tape equals.
    equal: usize,
    index: usize,
    /// Octets that were staged before the record.
    staged: u64,
    stopped: bool,
}

impl<'a> Replay<'a> {
    /// At the beginning of a tape.
    ///
    /// # Errors
    /// It is no tape, or one of another version.
    pub fn new(tape: &'a [u8]) -> Result<Self, ReplayError> {
        let reader = Reader::new(tape).map_err(|error| ReplayError::Tape { index: 0, position: 0, error })?;
        Ok(Self { tape, reader, conn: None, equal: 0, index: 0, staged: 0, stopped: false })
    }

    /// Plays the next record and compares. `None`: the tape is over.
    ///
    /// # Errors
    /// The record cannot be read or plays otherwise; there is no going on.
    pub fn step(&mut self) -> Result<Option<Played<'a>>, ReplayError> {
        let (index, position) = (self.index, self.reader.position());
        let tape = |error| ReplayError::Tape { index, position, error };
        if self.stopped {
            return Ok(None);
        }
        let Some(record) = self.reader.next_record().map_err(tape)? else { return Ok(None) };
        self.play(&record).map_err(|refused| match refused {
            Refused::Tape(error) => tape(error),
            Refused::Differs(text) => ReplayError::Differs(Difference { index, position, sent: None, text }),
        })?;
        self.compare()?;
        if let Record::Transmit { staged, .. } = &record {
            self.staged += staged.len();
        }
        self.index += 1;
        Ok(Some(Played { index, position, record }))
    }

    /// The connection as it is now. `None`: nothing was played.
    #[must_use]
    pub fn conn(&self) -> Option<&Connection> {
        self.conn.as_ref()
    }

    /// What was played so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let stats = self.conn.as_ref().map(Connection::stats).unwrap_or_default();
        Summary {
            records: self.index,
            octets_in: stats.octets_received,
            octets_out: stats.octets_sent,
            cut: if self.stopped { 0 } else { self.reader.unread() },
            stopped: self.stopped,
        }
    }

    fn play(&mut self, record: &Record<'_>) -> Result<(), Refused> {
        if let Record::Begin(begin) = record {
            if self.conn.is_some() {
                return Err(Refused::Tape(TapeError::Broken("a second beginning")));
            }
            begin.config.validate().map_err(|error| Refused::Tape(TapeError::Broken(error.0)))?;
            let mut conn = if begin.client {
                Connection::client(&begin.config, begin.now)
            } else {
                let routes = Routes::new(begin.routes.iter().map(|(path, shape)| (path.as_str(), *shape)));
                Connection::server(&begin.config, routes.map_err(|_| Refused::Tape(TapeError::Broken("a route is not valid")))?, begin.now)
            };
            let detail = if begin.hashed { Detail::Hash } else { Detail::Octets };
            conn.start_tape(detail).map_err(|_| Refused::Tape(TapeError::Broken("these settings make a connection that acts at once")))?;
            self.conn = Some(conn);
            return Ok(());
        }
        let conn = self.conn.as_mut().ok_or(Refused::Tape(TapeError::Broken("the first record is not the beginning")))?;
        match record {
            Record::In { now, octets } => conn.recv_slice(*now, octets),
            Record::Eof { now } => conn.recv_eof(*now),
            Record::Target => {
                conn.read_target();
            }
            Record::Filled { now, octets } => {
                if !conn.replay_target(octets) {
                    return Err(Refused::Differs(format!("{record}, but so many were not asked for")));
                }
                conn.filled(*now, octets.len());
            }
            Record::Transmit { now, budget, .. } => drop(conn.transmit(*now, usize::try_from(*budget).unwrap_or(usize::MAX))),
            Record::Advance { n } => {
                if !conn.replay_advance(*n) {
                    return Err(Refused::Differs(format!("{record}, but fewer wait to be written")));
                }
            }
            Record::Timeout { now } => conn.handle_timeout(*now),
            Record::Event { .. } => drop(conn.poll_event()),
            Record::Start { now, shape, deadline, token, metadata, path } => {
                let mut head = RequestHead::new(Bytes::copy_from_slice(path), *shape);
                head.metadata = metadata.as_deref();
                // What it answered is the next record.
                let _ = conn.start(*now, head, CallOptions::default().deadline(*deadline).token(*token));
            }
            Record::Accept { slot, token } => {
                let id = conn.taped_call(*slot).ok_or_else(|| gone(record))?;
                // What it answered is in the record.
                let _ = conn.accept(id, *token);
            }
            Record::Drain { now, within } => conn.drain(*now, *within),
            Record::Close { now } => conn.close(*now),
            // Room is made for as much as was said: more than came would be a way to exhaust this machine.
            Record::Call { op: CallOp::SendWith { len, octets }, .. } if *len > octets.len() as u64 + SLACK => {
                return Err(Refused::Tape(TapeError::Broken("a message is much shorter than was said")));
            }
            Record::Call { slot, op } => on_call(conn, *slot, op).ok_or_else(|| gone(record))?,
            Record::Stream { slot, op } => on_stream(conn, *slot, op).ok_or_else(|| gone(record))?,
            Record::Stopped => self.stopped = true,
            Record::Started { .. } | Record::Begin(_) => {}
        }
        Ok(())
    }

    /// What the connection wrote on its tape must be what is on this one.
    fn compare(&mut self) -> Result<(), ReplayError> {
        let Some(conn) = &mut self.conn else { return Ok(()) };
        let mut own = Vec::new();
        let _ = conn.drain_tape(|octets| {
            own.extend_from_slice(octets);
            Ok::<_, core::convert::Infallible>(())
        });
        // A tape that was cut may lack the answer to its last record.
        let expected = self.tape.get(self.equal..).unwrap_or_default();
        let same = own.iter().zip(expected).take_while(|(own, expected)| own == expected).count();
        if same < own.len().min(expected.len()) {
            return Err(self.difference(&own));
        }
        self.equal += own.len();
        Ok(())
    }

    /// The replay wrote `own` where the tape holds something else: finds the record.
    fn difference(&self, own: &[u8]) -> ReplayError {
        let mut ours = self.tape[..self.equal].to_vec();
        ours.extend_from_slice(own);
        let (mut theirs, mut ours) = match (Reader::new(self.tape), Reader::new(&ours)) {
            (Ok(theirs), Ok(ours)) => (theirs, ours),
            (Err(error), _) | (_, Err(error)) => return ReplayError::Tape { index: 0, position: 0, error },
        };
        let mut index = 0;
        loop {
            let position = theirs.position();
            let pair = (theirs.next_record(), ours.next_record());
            if self.tape.get(position..theirs.position()) == ours.span(position) && matches!(pair, (Ok(Some(_)), Ok(Some(_)))) {
                index += 1;
                continue;
            }
            let (text, sent) = match pair {
                (Ok(Some(tape)), Ok(Some(own))) => (format!("the tape has \"{tape}\", the replay \"{own}\""), sent_otherwise(&tape, &own)),
                (Ok(Some(tape)), _) => (format!("the tape has \"{tape}\", the replay nothing"), None),
                (_, Ok(Some(own))) => (format!("the replay has \"{own}\" behind the tape's end"), None),
                _ => (String::from("the tape cannot be read here"), None),
            };
            return ReplayError::Differs(Difference { index, position, sent: sent.map(|at| self.staged + at), text });
        }
    }
}

enum Refused {
    Tape(TapeError),
    Differs(String),
}

#[cold]
fn gone(record: &Record<'_>) -> Refused {
    Refused::Differs(format!("\"{record}\", but it is not there"))
}

/// The first octet staged that differs, if it is known which.
fn sent_otherwise(tape: &Record<'_>, own: &Record<'_>) -> Option<u64> {
    let (Record::Transmit { staged: Staged::Octets(a), .. }, Record::Transmit { staged: Staged::Octets(b), .. }) = (tape, own) else {
        return None;
    };
    (a != b).then(|| a.iter().zip(b.iter()).take_while(|(a, b)| a == b).count() as u64)
}

/// `None`: no such call. What the operations answer is on the tape where it matters.
fn on_call(conn: &mut Connection, slot: u32, op: &CallOp<'_>) -> Option<()> {
    let id = conn.taped_call(slot)?;
    let mut call = conn.call(id).ok()?;
    match op {
        CallOp::SetToken(token) => call.set_token(*token),
        CallOp::TakeMetadata => drop(call.take_metadata()),
        CallOp::Recv(_) => drop(call.recv()),
        CallOp::TryRecv(_) => drop(call.try_recv()),
        CallOp::Demand(n) => call.demand(*n),
        CallOp::TakeOutcome(_) => drop(call.take_outcome()),
        CallOp::Cancel => call.cancel(),
        CallOp::Send(octets) => drop(call.send(Bytes::copy_from_slice(octets).into())),
        CallOp::SendRefused(len) => drop(call.admit(usize::try_from(*len).unwrap_or(usize::MAX))),
        CallOp::SendWith { len, octets } => {
            drop(call.send_with(usize::try_from(*len).unwrap_or(usize::MAX), |out| out.extend_from_slice(octets)));
        }
        CallOp::CloseSend => drop(call.close_send()),
        CallOp::SendHeaders { flush, metadata } => drop(call.send_headers(metadata, *flush)),
        CallOp::Finish { status, trailers } => call.finish(status, trailers.as_deref()),
    }
    Some(())
}

/// `None`: no such stream.
fn on_stream(conn: &mut Connection, slot: u32, op: &StreamOp<'_>) -> Option<()> {
    let id = conn.taped_stream(slot)?;
    let mut stream = conn.stream(id).ok()?;
    match op {
        StreamOp::SetToken(token) => stream.set_token(*token),
        StreamOp::Limit(after) => stream.limit(*after),
        StreamOp::RecvBytes(_) => drop(stream.recv_bytes()),
        StreamOp::SendHeaders { status, end, metadata } => drop(stream.send_headers(*status, metadata, *end)),
        StreamOp::SendBytes { end, octets } => drop(stream.send_bytes(Bytes::copy_from_slice(octets), *end)),
        // Larger than any buffer is as much refused.
        StreamOp::SendRefused(len) => drop(stream.send_bytes(Bytes::from(alloc::vec![0; (*len).min(1 << 26) as usize]), false)),
        StreamOp::SendTrailers(metadata) => drop(stream.send_trailers(metadata)),
        StreamOp::Refuse => stream.refuse(),
        StreamOp::Reset(code) => stream.reset(ErrorCode(*code)),
        StreamOp::Release => stream.release(),
    }
    Some(())
}
