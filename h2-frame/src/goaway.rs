use crate::head::MAX_STREAM;
use crate::{Error, ErrorCode, Head, kind};

/// The sender takes no new streams on this connection (RFC 9113 §6.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoAway<'a> {
    /// The highest stream of the receiver that the sender did or might do work for, 31 bits. Streams above it are safe to try again
    /// elsewhere. A later GOAWAY may lower it, never raise it.
    pub last_stream: u32,
    /// Why; [`ErrorCode::NO_ERROR`] for a graceful end.
    pub code: ErrorCode,
    /// For people; gRPC servers say `too_many_pings` here. Not trustworthy, not always text.
    pub debug: &'a [u8],
}

/// A whole GOAWAY frame without debug data.
#[inline]
pub const fn goaway(last_stream: u32, code: ErrorCode) -> [u8; 17] {
    goaway_head(last_stream, code, 0)
}

/// A GOAWAY frame up to its debug data, of which `debug_len` octets must follow (below 2^24 - 8).
#[inline]
pub const fn goaway_head(last_stream: u32, code: ErrorCode, debug_len: u32) -> [u8; 17] {
    let head = Head { len: 8 + debug_len, kind: kind::GOAWAY, flags: 0, stream: 0 };
    let [h0, h1, h2, h3, h4, h5, h6, h7, h8] = head.encode();
    let [s0, s1, s2, s3] = (last_stream & MAX_STREAM).to_be_bytes();
    let [c0, c1, c2, c3] = code.0.to_be_bytes();
    [h0, h1, h2, h3, h4, h5, h6, h7, h8, s0, s1, s2, s3, c0, c1, c2, c3]
}

impl<'a> GoAway<'a> {
    pub(crate) fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let (&[s0, s1, s2, s3, c0, c1, c2, c3], debug) = payload.split_first_chunk().ok_or(Error::size("GOAWAY shorter than 8"))?;
        Ok(Self {
            last_stream: u32::from_be_bytes([s0, s1, s2, s3]) & MAX_STREAM,
            code: ErrorCode(u32::from_be_bytes([c0, c1, c2, c3])),
            debug,
        })
    }
}
