use crate::{Error, ErrorCode, Head, kind};

/// RST_STREAM: a stream is over at once (RFC 9113 §6.4). Never answer it with a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// The stream, never 0.
    pub stream: u32,
    /// Why.
    pub code: ErrorCode,
}

/// A whole RST_STREAM frame.
#[inline]
pub const fn reset(stream: u32, code: ErrorCode) -> [u8; 13] {
    let [h0, h1, h2, h3, h4, h5, h6, h7, h8] = Head { len: 4, kind: kind::RST_STREAM, flags: 0, stream }.encode();
    let [c0, c1, c2, c3] = code.0.to_be_bytes();
    [h0, h1, h2, h3, h4, h5, h6, h7, h8, c0, c1, c2, c3]
}

impl Reset {
    pub(crate) fn parse(head: Head, payload: &[u8]) -> Result<Self, Error> {
        let octets = payload.try_into().map_err(|_| Error::size("RST_STREAM of a length other than 4"))?;
        Ok(Self { stream: head.stream, code: ErrorCode(u32::from_be_bytes(octets)) })
    }
}
