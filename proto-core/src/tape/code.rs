//! Records as octets and back. The format is documented in the [module](super).

use super::{
    TapeError,
    record::{Begin, CallOp, Got, Record, Staged, StreamOp, Told},
    settings,
};
use crate::{Code, Metadata, Shape, Status, Timestamp, Token};
use alloc::{borrow::Cow, boxed::Box, string::String, vec::Vec};
use bytes::Bytes;
use core::time::Duration;

/// Writes records. The times in them are differences, so it knows the latest.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    body: Body,
}

impl Encoder {
    /// Appends a record to `out`.
    pub(crate) fn put(&mut self, record: &Record<'_>, out: &mut Vec<u8>) {
        self.body.octets.clear();
        let tail = self.body.record(record);
        varint(out, (self.body.octets.len() + tail.len()) as u64);
        out.extend_from_slice(&self.body.octets);
        out.extend_from_slice(tail);
    }
}

/// Seven bits an octet, the lowest first, the high bit set on all but the last.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A record's fields up to its last, which is copied from where it lies.
#[derive(Debug, Default)]
pub(super) struct Body {
    octets: Vec<u8>,
    latest: u64,
}

impl Body {
    pub(super) fn number(&mut self, value: u64) {
        varint(&mut self.octets, value);
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.octets.extend_from_slice(text);
    }

    pub(super) fn duration(&mut self, time: Duration) {
        self.number(time.as_secs());
        self.number(u64::from(time.subsec_nanos()));
    }

    fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.octets.push(u8::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    /// The difference to the time before, its sign in the lowest bit.
    fn time(&mut self, at: Timestamp) {
        let difference = at.as_micros().wrapping_sub(self.latest) as i64;
        self.number(((difference << 1) ^ (difference >> 63)) as u64);
    }

    fn now(&mut self, now: Timestamp) {
        self.time(now);
        self.latest = now.as_micros();
    }

    fn metadata(&mut self, metadata: &Metadata) {
        self.octets.push(u8::from(metadata.is_http()));
        self.text(metadata.records());
    }

    fn got(&mut self, got: Got) {
        self.number(match got {
            Got::Pending => 0,
            Got::End => 1,
            Got::Reset => 2,
            Got::Octets(len) => len.saturating_add(3),
        });
    }

    fn kind(&mut self, kind: u8) -> &mut Self {
        self.octets.push(kind);
        self
    }

    /// Writes all but the tail, which it returns.
    fn record<'r>(&mut self, record: &'r Record<'_>) -> &'r [u8] {
        match record {
            Record::Begin(begin) => self.kind(0).begin(begin),
            Record::In { now, octets } => {
                self.kind(1).now(*now);
                return octets;
            }
            Record::Eof { now } => self.kind(2).now(*now),
            Record::Target => {
                self.kind(3);
            }
            Record::Filled { now, octets } => {
                self.kind(4).now(*now);
                return octets;
            }
            Record::Transmit { now, budget, staged } => {
                self.kind(if matches!(staged, Staged::Octets(_)) { 5 } else { 6 }).now(*now);
                self.number(*budget);
                match staged {
                    Staged::Octets(octets) => return octets,
                    Staged::Hash { len, hash } => {
                        self.number(*len);
                        self.octets.extend_from_slice(&hash.to_le_bytes());
                    }
                }
            }
            Record::Advance { n } => self.kind(7).number(*n),
            Record::Timeout { now } => self.kind(8).now(*now),
            Record::Event { told } => self.kind(9).optional(*told, |body, told| {
                body.octets.push(told.number());
                body.optional(told.slot, |body, slot| body.number(u64::from(slot)));
            }),
            Record::Start { now, shape, deadline, token, metadata, path } => {
                self.kind(10).now(*now);
                self.octets.push(shape_number(*shape));
                self.optional(*deadline, Self::time);
                self.number(token.0);
                self.optional(metadata.as_ref(), |body, metadata| body.metadata(metadata));
                return path;
            }
            Record::Started { slot } => self.kind(11).optional(*slot, |body, slot| body.number(u64::from(slot))),
            Record::Accept { slot, token } => {
                self.kind(12).number(u64::from(*slot));
                self.number(token.0);
            }
            Record::Drain { now, within } => {
                self.kind(13).now(*now);
                self.optional(*within, Self::duration);
            }
            Record::Close { now } => self.kind(14).now(*now),
            Record::Stopped => {
                self.kind(15);
            }
            Record::Call { slot, op } => return self.call(*slot, op),
            Record::Stream { slot, op } => return self.stream(*slot, op),
        }
        &[]
    }

    fn begin(&mut self, begin: &Begin) {
        self.octets.push(u8::from(begin.client) | u8::from(begin.hashed) << 1);
        self.now(begin.now);
        settings::put(&begin.config, self);
        self.number(begin.routes.len() as u64);
        for (path, shape) in &begin.routes {
            self.octets.push(shape_number(*shape));
            self.text(path.as_bytes());
        }
    }

    fn call<'r>(&mut self, slot: u32, op: &'r CallOp<'_>) -> &'r [u8] {
        let mut kind = |kind: u8| {
            self.kind(kind).number(u64::from(slot));
        };
        match op {
            CallOp::SetToken(token) => {
                kind(16);
                self.number(token.0);
            }
            CallOp::TakeMetadata => kind(17),
            CallOp::Recv(got) => {
                kind(18);
                self.got(*got);
            }
            CallOp::TryRecv(got) => {
                kind(19);
                self.got(*got);
            }
            CallOp::Demand(n) => {
                kind(20);
                self.number(u64::from(*n));
            }
            CallOp::TakeOutcome(code) => {
                kind(21);
                self.optional(*code, |body, code| body.octets.push(code));
            }
            CallOp::Cancel => kind(22),
            CallOp::Send(octets) => {
                kind(23);
                return octets;
            }
            CallOp::SendRefused(len) => {
                kind(24);
                self.number(*len);
            }
            CallOp::SendWith { len, octets } => {
                kind(25);
                self.number(*len);
                return octets;
            }
            CallOp::CloseSend => kind(26),
            CallOp::SendHeaders { flush, metadata } => {
                kind(27);
                self.octets.push(u8::from(*flush));
                self.metadata(metadata);
            }
            CallOp::Finish { status, trailers } => {
                kind(28);
                self.octets.push(status.code().as_u32() as u8);
                self.text(status.message().as_bytes());
                self.text(status.details());
                self.metadata(status.metadata());
                self.optional(trailers.as_ref(), |body, trailers| body.metadata(trailers));
            }
        }
        &[]
    }

    fn stream<'r>(&mut self, slot: u32, op: &'r StreamOp<'_>) -> &'r [u8] {
        let mut kind = |kind: u8| {
            self.kind(kind).number(u64::from(slot));
        };
        match op {
            StreamOp::SetToken(token) => {
                kind(32);
                self.number(token.0);
            }
            StreamOp::Limit(after) => {
                kind(33);
                self.optional(*after, Self::duration);
            }
            StreamOp::RecvBytes(got) => {
                kind(34);
                self.got(*got);
            }
            StreamOp::SendHeaders { status, end, metadata } => {
                kind(35);
                self.number(u64::from(*status));
                self.octets.push(u8::from(*end));
                self.metadata(metadata);
            }
            StreamOp::SendBytes { end, octets } => {
                kind(36);
                self.octets.push(u8::from(*end));
                return octets;
            }
            StreamOp::SendRefused(len) => {
                kind(37);
                self.number(*len);
            }
            StreamOp::SendTrailers(metadata) => {
                kind(38);
                self.metadata(metadata);
            }
            StreamOp::Refuse => kind(39),
            StreamOp::Reset(code) => {
                kind(40);
                self.number(u64::from(*code));
            }
            StreamOp::Release => kind(41),
        }
        &[]
    }
}

fn shape_number(shape: Shape) -> u8 {
    Shape::ALL.iter().position(|other| *other == shape).unwrap_or_default() as u8
}

/// Reads the fields of one record.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    latest: u64,
}

const SHORT: TapeError = TapeError::Broken("a record is shorter than its fields");

impl<'a> Fields<'a> {
    pub(super) fn octet(&mut self) -> Result<u8, TapeError> {
        let (first, rest) = self.rest.split_first().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*first)
    }

    pub(super) fn flag(&mut self) -> Result<bool, TapeError> {
        Ok(self.octet()? != 0)
    }

    pub(super) fn number(&mut self) -> Result<u64, TapeError> {
        match parse_varint(self.rest) {
            Some((value, len)) => {
                self.rest = &self.rest[len..];
                Ok(value)
            }
            None => Err(SHORT),
        }
    }

    pub(super) fn number_u32(&mut self) -> Result<u32, TapeError> {
        u32::try_from(self.number()?).map_err(|_| TapeError::Broken("a number is larger than its field"))
    }

    pub(super) fn text(&mut self) -> Result<&'a [u8], TapeError> {
        let len = usize::try_from(self.number()?).map_err(|_| SHORT)?;
        let (text, rest) = self.rest.split_at_checked(len).ok_or(SHORT)?;
        self.rest = rest;
        Ok(text)
    }

    pub(super) fn string(&mut self) -> Result<String, TapeError> {
        let text = core::str::from_utf8(self.text()?).map_err(|_| TapeError::Broken("a text is not UTF-8"))?;
        Ok(text.into())
    }

    pub(super) fn duration(&mut self) -> Result<Duration, TapeError> {
        let (secs, nanos) = (self.number()?, self.number_u32()?);
        if nanos >= 1_000_000_000 {
            return Err(TapeError::Broken("a duration has a second or more in nanoseconds"));
        }
        Ok(Duration::new(secs, nanos))
    }

    fn optional<T>(&mut self, take: impl FnOnce(&mut Self) -> Result<T, TapeError>) -> Result<Option<T>, TapeError> {
        if self.flag()? { take(self).map(Some) } else { Ok(None) }
    }

    fn time(&mut self) -> Result<Timestamp, TapeError> {
        let zigzag = self.number()?;
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        Ok(Timestamp::from_micros(self.latest.wrapping_add(difference)))
    }

    fn now(&mut self) -> Result<Timestamp, TapeError> {
        let now = self.time()?;
        self.latest = now.as_micros();
        Ok(now)
    }

    fn shape(&mut self) -> Result<Shape, TapeError> {
        Shape::ALL.get(usize::from(self.octet()?)).copied().ok_or(TapeError::Broken("a shape is unknown"))
    }

    fn metadata(&mut self) -> Result<Cow<'a, Metadata>, TapeError> {
        let http = self.flag()?;
        Metadata::from_records(self.text()?, http).map(Cow::Owned).ok_or(TapeError::Broken("metadata is not a list of fields"))
    }

    fn got(&mut self) -> Result<Got, TapeError> {
        Ok(match self.number()? {
            0 => Got::Pending,
            1 => Got::End,
            2 => Got::Reset,
            len => Got::Octets(len - 3),
        })
    }

    /// What is left of the record.
    fn tail(&mut self) -> Cow<'a, [u8]> {
        Cow::Borrowed(core::mem::take(&mut self.rest))
    }

    fn begin(&mut self) -> Result<Begin, TapeError> {
        let flags = self.octet()?;
        let now = self.now()?;
        let config = settings::get(self)?;
        let mut routes = Vec::new();
        for _ in 0..self.number()? {
            let shape = self.shape()?;
            routes.push((self.string()?, shape));
        }
        Ok(Begin { client: flags & 1 != 0, hashed: flags & 2 != 0, now, config, routes })
    }

    fn record(&mut self) -> Result<Record<'a>, TapeError> {
        Ok(match self.octet()? {
            0 => Record::Begin(Box::new(self.begin()?)),
            1 => Record::In { now: self.now()?, octets: self.tail() },
            2 => Record::Eof { now: self.now()? },
            3 => Record::Target,
            4 => Record::Filled { now: self.now()?, octets: self.tail() },
            5 => Record::Transmit { now: self.now()?, budget: self.number()?, staged: Staged::Octets(self.tail()) },
            6 => {
                let (now, budget, len) = (self.now()?, self.number()?, self.number()?);
                let (hash, rest) = self.rest.split_first_chunk().ok_or(SHORT)?;
                self.rest = rest;
                Record::Transmit { now, budget, staged: Staged::Hash { len, hash: u64::from_le_bytes(*hash) } }
            }
            7 => Record::Advance { n: self.number()? },
            8 => Record::Timeout { now: self.now()? },
            9 => {
                let told = self.optional(|fields| Ok((fields.octet()?, fields.optional(Self::number_u32)?)))?;
                let known = |(kind, slot)| Told::from_parts(kind, slot).ok_or(TapeError::Broken("an event is unknown"));
                Record::Event { told: told.map(known).transpose()? }
            }
            10 => Record::Start {
                now: self.now()?,
                shape: self.shape()?,
                deadline: self.optional(Self::time)?,
                token: Token(self.number()?),
                metadata: self.optional(Self::metadata)?,
                path: self.tail(),
            },
            11 => Record::Started { slot: self.optional(Self::number_u32)? },
            12 => Record::Accept { slot: self.number_u32()?, token: Token(self.number()?) },
            13 => Record::Drain { now: self.now()?, within: self.optional(Self::duration)? },
            14 => Record::Close { now: self.now()? },
            15 => Record::Stopped,
            kind @ 16..=31 => Record::Call { slot: self.number_u32()?, op: self.call(kind)? },
            kind @ 32..=47 => Record::Stream { slot: self.number_u32()?, op: self.stream(kind)? },
            _ => return Err(UNKNOWN),
        })
    }

    fn call(&mut self, kind: u8) -> Result<CallOp<'a>, TapeError> {
        Ok(match kind {
            16 => CallOp::SetToken(Token(self.number()?)),
            17 => CallOp::TakeMetadata,
            18 => CallOp::Recv(self.got()?),
            19 => CallOp::TryRecv(self.got()?),
            20 => CallOp::Demand(self.number_u32()?),
            21 => CallOp::TakeOutcome(self.optional(Self::octet)?),
            22 => CallOp::Cancel,
            23 => CallOp::Send(self.tail()),
            24 => CallOp::SendRefused(self.number()?),
            25 => CallOp::SendWith { len: self.number()?, octets: self.tail() },
            26 => CallOp::CloseSend,
            27 => CallOp::SendHeaders { flush: self.flag()?, metadata: self.metadata()? },
            28 => CallOp::Finish { status: Cow::Owned(self.status()?), trailers: self.optional(Self::metadata)? },
            _ => return Err(UNKNOWN),
        })
    }

    fn status(&mut self) -> Result<Status, TapeError> {
        let code = Code::from_u32(u32::from(self.octet()?));
        let mut status = Status::new(code, self.string()?);
        let details = self.text()?;
        if !details.is_empty() {
            status = status.with_details(Bytes::copy_from_slice(details));
        }
        let metadata = self.metadata()?;
        Ok(if metadata.is_empty() { status } else { status.with_metadata(metadata.into_owned()) })
    }

    fn stream(&mut self, kind: u8) -> Result<StreamOp<'a>, TapeError> {
        Ok(match kind {
            32 => StreamOp::SetToken(Token(self.number()?)),
            33 => StreamOp::Limit(self.optional(Self::duration)?),
            34 => StreamOp::RecvBytes(self.got()?),
            35 => {
                let status = u16::try_from(self.number()?).map_err(|_| TapeError::Broken("a status is not a number of three digits"))?;
                StreamOp::SendHeaders { status, end: self.flag()?, metadata: self.metadata()? }
            }
            36 => StreamOp::SendBytes { end: self.flag()?, octets: self.tail() },
            37 => StreamOp::SendRefused(self.number()?),
            38 => StreamOp::SendTrailers(self.metadata()?),
            39 => StreamOp::Refuse,
            40 => StreamOp::Reset(self.number_u32()?),
            41 => StreamOp::Release,
            _ => return Err(UNKNOWN),
        })
    }
}

const UNKNOWN: TapeError = TapeError::Broken("a record of a kind that this version does not know");

/// The value, and how many octets it takes; `None`: it does not end, or does not fit.
fn parse_varint(octets: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, octet) in octets.iter().enumerate().take(10) {
        let bits = u64::from(octet & 0x7f);
        if at == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if octet & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// One record from the front of `tape`, and how many octets it takes; `None`: the tape ends before the record does.
pub(super) fn take<'a>(tape: &'a [u8], latest: &mut u64) -> Result<Option<(Record<'a>, usize)>, TapeError> {
    let Some((len, head)) = parse_varint(tape) else {
        return if tape.len() < 10 { Ok(None) } else { Err(TapeError::Broken("a record's length is no number")) };
    };
    let Some(body) = usize::try_from(len).ok().and_then(|len| tape[head..].get(..len)) else { return Ok(None) };
    let mut fields = Fields { rest: body, latest: *latest };
    let record = fields.record()?;
    if !fields.rest.is_empty() {
        return Err(TapeError::Broken("a record is longer than its fields"));
    }
    *latest = fields.latest;
    Ok(Some((record, head + body.len())))
}
