use crate::parse::{pad_len, unpad};
use crate::priority::SELF_DEPENDENCY;
use crate::{Error, Head, PriorityFields, flag, kind};

/// A field block, or the first fragment of one (RFC 9113 §6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers<'a> {
    /// The stream, never 0.
    pub stream: u32,
    /// Octets for HPACK, without padding. If not [`end_headers`](Self::end_headers), those of the CONTINUATION frames that follow belong
    /// to them.
    pub fragment: &'a [u8],
    /// The sender's last frame on the stream, but for the CONTINUATION frames of this block.
    pub end_stream: bool,
    /// The block ends here.
    pub end_headers: bool,
    /// Deprecated: read it, do not act on it (RFC 9113 §5.3.2).
    pub priority: Option<PriorityFields>,
}

/// The head of a HEADERS frame with a fragment of `len` octets (below 2^24), without padding and priority.
#[inline]
pub const fn headers_head(len: u32, stream: u32, end_stream: bool, end_headers: bool) -> [u8; 9] {
    let flags = if end_stream { flag::END_STREAM } else { 0 } | if end_headers { flag::END_HEADERS } else { 0 };
    Head { len, kind: kind::HEADERS, flags, stream }.encode()
}

impl<'a> Headers<'a> {
    /// Parses the payload of a HEADERS frame: [`parse_payload`](crate::parse_payload) for a caller that knows the kind.
    ///
    /// # Errors
    ///
    /// Padding or priority that the payload has no room for; a stream that depends on itself.
    #[inline]
    pub fn parse(head: Head, payload: &'a [u8]) -> Result<Self, Error> {
        let (pad_len, mut rest) = pad_len(head, payload)?;
        let mut priority = None;
        if head.has(flag::PRIORITY) {
            let (fields, after) = rest.split_first_chunk().ok_or(Error::size("HEADERS too short for its priority"))?;
            let fields = PriorityFields::parse(fields);
            if fields.dependency == head.stream {
                return Err(SELF_DEPENDENCY);
            }
            priority = Some(fields);
            rest = after;
        }
        Ok(Self {
            stream: head.stream,
            fragment: unpad(rest, pad_len)?,
            end_stream: head.has(flag::END_STREAM),
            end_headers: head.has(flag::END_HEADERS),
            priority,
        })
    }
}
