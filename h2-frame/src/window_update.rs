use crate::head::MAX_STREAM;
use crate::{Error, Head, kind};

/// Room for more DATA (RFC 9113 §6.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUpdate {
    /// The stream; 0 for the window of the connection.
    pub stream: u32,
    /// Octets, 1 to 2^31 - 1. A window that grows above 2^31 - 1 by it is a FLOW_CONTROL_ERROR, which the caller must see.
    pub increment: u32,
}

/// A whole WINDOW_UPDATE frame. `increment` must be 1 to 2^31 - 1 (asserted in debug builds).
#[inline]
pub const fn window_update(stream: u32, increment: u32) -> [u8; 13] {
    debug_assert!(increment != 0 && increment <= MAX_STREAM, "an increment is 1 to 2^31 - 1");
    let [h0, h1, h2, h3, h4, h5, h6, h7, h8] = Head { len: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream }.encode();
    let [i0, i1, i2, i3] = (increment & MAX_STREAM).to_be_bytes();
    [h0, h1, h2, h3, h4, h5, h6, h7, h8, i0, i1, i2, i3]
}

impl WindowUpdate {
    pub(crate) fn parse(head: Head, payload: &[u8]) -> Result<Self, Error> {
        let octets = payload.try_into().map_err(|_| Error::size("WINDOW_UPDATE of a length other than 4"))?;
        let increment = u32::from_be_bytes(octets) & MAX_STREAM;
        match (increment, head.stream) {
            (0, 0) => Err(Error::protocol("WINDOW_UPDATE by 0")),
            (0, stream) => Err(Error::protocol("WINDOW_UPDATE by 0").on_stream(stream)),
            (_, stream) => Ok(Self { stream, increment }),
        }
    }
}
