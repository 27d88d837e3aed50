use crate::{Head, flag, kind};

/// The next fragment of a field block (RFC 9113 §6.10). Nothing may come between the frames of a block; [`Scanner`](crate::Scanner) sees
/// to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continuation<'a> {
    /// The stream, never 0: that of the HEADERS or PUSH_PROMISE before.
    pub stream: u32,
    /// Octets for HPACK. May be empty: limit how many frames a block may have.
    pub fragment: &'a [u8],
    /// The block ends here.
    pub end_headers: bool,
}

/// The head of a CONTINUATION frame with a fragment of `len` octets (below 2^24).
#[inline]
pub const fn continuation_head(len: u32, stream: u32, end_headers: bool) -> [u8; 9] {
    Head { len, kind: kind::CONTINUATION, flags: if end_headers { flag::END_HEADERS } else { 0 }, stream }.encode()
}

impl<'a> Continuation<'a> {
    pub(crate) const fn parse(head: Head, payload: &'a [u8]) -> Self {
        Self { stream: head.stream, fragment: payload, end_headers: head.has(flag::END_HEADERS) }
    }
}
