use crate::parse::{pad_len, unpad};
use crate::{Error, Head, flag, kind};

/// Octets of a message (RFC 9113 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The stream, never 0.
    pub stream: u32,
    /// The octets, without padding.
    pub data: &'a [u8],
    /// Octets of padding after the data; `None` without the PADDED flag. `Some(0)` differs from `None` by one octet in
    /// [`flow_len`](Self::flow_len).
    pub pad_len: Option<u8>,
    /// The sender's last frame on the stream.
    pub end_stream: bool,
    /// What the frame takes out of the flow-control windows: the whole payload with the pad length and the padding (RFC 9113 §6.9.1).
    pub flow_len: u32,
}

/// The head of a DATA frame of `len` octets (below 2^24), without padding.
#[inline]
pub const fn data_head(len: u32, stream: u32, end_stream: bool) -> [u8; 9] {
    Head { len, kind: kind::DATA, flags: if end_stream { flag::END_STREAM } else { 0 }, stream }.encode()
}

impl<'a> Data<'a> {
    /// Parses the payload of a DATA frame: [`parse_payload`](crate::parse_payload) for a caller that knows the kind.
    ///
    /// # Errors
    ///
    /// Padding that the payload has no room for.
    #[inline]
    pub fn parse(head: Head, payload: &'a [u8]) -> Result<Self, Error> {
        let (pad_len, rest) = pad_len(head, payload)?;
        Ok(Self {
            stream: head.stream,
            data: unpad(rest, pad_len)?,
            pad_len,
            end_stream: head.has(flag::END_STREAM),
            flow_len: payload.len() as u32,
        })
    }
}
