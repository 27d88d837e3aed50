//! Records as one line each, for people. Payloads and metadata values are not shown.

use super::{CallOp, Got, Record, Staged, StreamOp};
use crate::{ErrorCode, Timestamp};
use core::fmt::{Display, Formatter, Result};

impl Display for Record<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Begin(begin) if begin.client => write!(f, "a client begins, authority {}", begin.config.authority),
            Self::Begin(begin) => write!(f, "a server begins, {} routes", begin.routes.len()),
            Self::In { octets, .. } => write!(f, "in {} octets", octets.len()),
            Self::Eof { .. } => f.write_str("in: the end"),
            Self::Target => f.write_str("asks for a read target"),
            Self::Filled { octets, .. } => write!(f, "in {} octets, to the read target", octets.len()),
            Self::Transmit { budget, staged, .. } => match staged {
                Staged::Hash { len, hash } if *len > 0 => write!(f, "transmit({budget}): frames {len} octets, hash {hash:016x}"),
                staged => write!(f, "transmit({budget}): frames {} octets", staged.len()),
            },
            Self::Advance { n } => write!(f, "out {n} octets"),
            Self::Timeout { .. } => f.write_str("handle_timeout"),
            Self::Event { told: None } => f.write_str("poll_event: nothing"),
            Self::Event { told: Some(told) } => match told.slot {
                Some(slot) => write!(f, "event {} of call {slot}", told.name()),
                None => write!(f, "event {}", told.name()),
            },
            Self::Start { shape, path, metadata, deadline, now, .. } => {
                write!(f, "start {} ({shape})", path.escape_ascii())?;
                if let Some(deadline) = deadline {
                    write!(f, ", deadline in {}", Micros(deadline.saturating_since(*now).as_micros()))?;
                }
                match metadata.as_ref().map_or(0, |metadata| metadata.len()) {
                    0 => Ok(()),
                    n => write!(f, ", {n} fields of metadata"),
                }
            }
            Self::Started { slot: Some(slot) } => write!(f, "  it is call {slot}"),
            Self::Started { slot: None } => f.write_str("  it was refused"),
            Self::Accept { slot, .. } => write!(f, "accept call {slot}"),
            Self::Drain { within: None, .. } => f.write_str("drain"),
            Self::Drain { within: Some(within), .. } => write!(f, "drain within {}", Micros(within.as_micros())),
            Self::Close { .. } => f.write_str("close"),
            Self::Call { slot, op } => write!(f, "{op} on call {slot}"),
            Self::Stream { slot, op } => write!(f, "{op} on stream {slot}"),
            Self::Stopped => f.write_str("recording stopped; the connection went on"),
        }
    }
}

impl Record<'_> {
    /// When it happened, where the driver told a time.
    #[must_use]
    pub fn now(&self) -> Option<Timestamp> {
        match self {
            Self::Begin(begin) => Some(begin.now),
            Self::In { now, .. }
            | Self::Eof { now }
            | Self::Filled { now, .. }
            | Self::Transmit { now, .. }
            | Self::Timeout { now }
            | Self::Start { now, .. }
            | Self::Drain { now, .. }
            | Self::Close { now } => Some(*now),
            _ => None,
        }
    }
}

impl Display for CallOp<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::SetToken(token) => write!(f, "set_token {}", token.0),
            Self::TakeMetadata => f.write_str("take_metadata"),
            Self::Recv(got) => write!(f, "recv: {got}"),
            Self::TryRecv(got) => write!(f, "try_recv: {got}"),
            Self::Demand(n) => write!(f, "demand {n}"),
            Self::TakeOutcome(Some(code)) => write!(f, "take_outcome: {}", crate::Code::from_u32(u32::from(*code))),
            Self::TakeOutcome(None) => f.write_str("take_outcome: none yet"),
            Self::Cancel => f.write_str("cancel"),
            Self::Send(octets) | Self::SendWith { octets, .. } => write!(f, "send {} octets", octets.len()),
            Self::SendRefused(len) => write!(f, "send {len} octets: not taken"),
            Self::CloseSend => f.write_str("close_send"),
            Self::SendHeaders { flush, metadata } => {
                write!(f, "send_headers, {} fields{}", metadata.len(), if *flush { ", at once" } else { "" })
            }
            Self::Finish { status, .. } => write!(f, "finish {}", status.code()),
        }
    }
}

impl Display for StreamOp<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::SetToken(token) => write!(f, "set_token {}", token.0),
            Self::Limit(Some(after)) => write!(f, "limit {}", Micros(after.as_micros())),
            Self::Limit(None) => f.write_str("limit none"),
            Self::RecvBytes(got) => write!(f, "recv_bytes: {got}"),
            Self::SendHeaders { status, metadata, end } => {
                write!(f, "send_headers {status}, {} fields{}", metadata.len(), if *end { ", no body" } else { "" })
            }
            Self::SendBytes { end, octets } => write!(f, "send_bytes {}{}", octets.len(), if *end { ", the last" } else { "" }),
            Self::SendRefused(len) => write!(f, "send_bytes {len}: not taken"),
            Self::SendTrailers(metadata) => write!(f, "send_trailers, {} fields", metadata.len()),
            Self::Refuse => f.write_str("refuse"),
            Self::Reset(code) => write!(f, "reset {}", ErrorCode(*code)),
            Self::Release => f.write_str("release"),
        }
    }
}

impl Display for Got {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Pending => f.write_str("nothing yet"),
            Self::End => f.write_str("the end"),
            Self::Reset => f.write_str("a reset"),
            Self::Octets(len) => write!(f, "{len} octets"),
        }
    }
}

/// Microseconds, shown in milliseconds.
struct Micros(u128);

impl Display for Micros {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}.{:03}ms", self.0 / 1_000, self.0 % 1_000)
    }
}
