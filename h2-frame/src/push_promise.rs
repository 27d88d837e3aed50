use crate::head::MAX_STREAM;
use crate::parse::{pad_len, unpad};
use crate::{Error, Head, flag};

/// A server announces a stream of its own (RFC 9113 §6.6). A server that receives one must end the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushPromise<'a> {
    /// The client's stream that it belongs to, never 0.
    pub stream: u32,
    /// The server's stream that is announced: even, never 0. That it is new is for the caller to check.
    pub promised: u32,
    /// Octets for HPACK, without padding. They must be decoded even if the stream is refused.
    pub fragment: &'a [u8],
    /// The block ends here.
    pub end_headers: bool,
}

impl<'a> PushPromise<'a> {
    pub(crate) fn parse(head: Head, payload: &'a [u8]) -> Result<Self, Error> {
        let (pad_len, rest) = pad_len(head, payload)?;
        let (&promised, rest) = rest.split_first_chunk().ok_or(Error::size("PUSH_PROMISE too short for its promised stream"))?;
        let fragment = unpad(rest, pad_len)?;
        let promised = u32::from_be_bytes(promised) & MAX_STREAM;
        // RFC 9113 §5.1.1: streams of a server are even, and only servers promise (§8.4).
        if promised == 0 || !promised.is_multiple_of(2) {
            return Err(Error::protocol("PUSH_PROMISE of a stream that is not a server's"));
        }
        Ok(Self { stream: head.stream, promised, fragment, end_headers: head.has(flag::END_HEADERS) })
    }
}
