use crate::head::{MAX_LEN, MAX_STREAM};
use crate::{Error, ErrorCode, Head, Scope, flag, kind};

/// What the sender can take, or the acknowledgement that the peer's SETTINGS are in force (RFC 9113 §6.5).
///
/// Apply the values of a frame in order, with no other frame in between, then send [`settings_ack`] at once. The values of frames that came
/// out of [`parse`](crate::parse()) were [validated](Self::validate).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings<'a> {
    /// An acknowledgement; then the payload is empty.
    pub ack: bool,
    /// Six octets for each setting.
    pub payload: &'a [u8],
}

/// Identifiers of settings (RFC 9113 §6.5.2, RFC 8441), and what their values may be.
pub mod setting {
    /// Octets of dynamic table that the sender's HPACK decoder keeps. Initially 4,096; any value.
    pub const HEADER_TABLE_SIZE: u16 = 0x1;
    /// Whether the sender takes PUSH_PROMISE. Initially 1; 0 or 1, and a server may send only 0 (the client must check that).
    pub const ENABLE_PUSH: u16 = 0x2;
    /// Streams that the peer may have open at a time. Initially without limit; any value.
    pub const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    /// Octets of flow-control window of each stream. Initially 65,535; at most 2^31 - 1.
    pub const INITIAL_WINDOW_SIZE: u16 = 0x4;
    /// Octets of payload that a frame to the sender may have. Initially 16,384, which is also the least; at most 2^24 - 1.
    pub const MAX_FRAME_SIZE: u16 = 0x5;
    /// Octets of a field section, uncompressed, 32 more for each field. Initially without limit; any value; advice only.
    pub const MAX_HEADER_LIST_SIZE: u16 = 0x6;
    /// Whether extended CONNECT works (RFC 8441). Initially 0; 0 or 1.
    pub const ENABLE_CONNECT_PROTOCOL: u16 = 0x8;

    pub use super::check_setting as check;
}

/// Whether `value` is one that either side may send for the setting `id`. An unknown `id` may have any value: ignore it.
///
/// # Errors
///
/// Always of the whole connection: FLOW_CONTROL_ERROR for INITIAL_WINDOW_SIZE, PROTOCOL_ERROR for the others (RFC 9113 §6.5.2).
pub const fn check_setting(id: u16, value: u32) -> Result<(), Error> {
    let what = match id {
        setting::ENABLE_PUSH if value > 1 => "SETTINGS_ENABLE_PUSH is neither 0 nor 1",
        setting::INITIAL_WINDOW_SIZE if value > MAX_STREAM => {
            let what = "SETTINGS_INITIAL_WINDOW_SIZE above 2^31 - 1";
            return Err(Error { code: ErrorCode::FLOW_CONTROL_ERROR, scope: Scope::Connection, what });
        }
        setting::MAX_FRAME_SIZE if value < 16_384 || value > MAX_LEN => "SETTINGS_MAX_FRAME_SIZE outside 16,384 to 2^24 - 1",
        setting::ENABLE_CONNECT_PROTOCOL if value > 1 => "SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1",
        _ => return Ok(()),
    };
    Err(Error::protocol(what))
}

/// The six octets of one setting, to follow [`settings_head`].
#[inline]
pub const fn setting(id: u16, value: u32) -> [u8; 6] {
    let [i0, i1] = id.to_be_bytes();
    let [v0, v1, v2, v3] = value.to_be_bytes();
    [i0, i1, v0, v1, v2, v3]
}

/// The head of a SETTINGS frame with `entries` settings; each is written by [`setting()`].
#[inline]
pub const fn settings_head(entries: u32) -> [u8; 9] {
    Head { len: entries * 6, kind: kind::SETTINGS, flags: 0, stream: 0 }.encode()
}

/// A whole SETTINGS acknowledgement.
#[inline]
pub const fn settings_ack() -> [u8; 9] {
    Head { len: 0, kind: kind::SETTINGS, flags: flag::ACK, stream: 0 }.encode()
}

impl<'a> Settings<'a> {
    /// Identifiers and values in the order of the frame. An identifier may come more than once: the last one counts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u16, u32)> + Clone + use<'a> {
        let (entries, _) = self.payload.as_chunks();
        entries.iter().map(|&[i0, i1, v0, v1, v2, v3]| (u16::from_be_bytes([i0, i1]), u32::from_be_bytes([v0, v1, v2, v3])))
    }

    /// Checks every value by [`setting::check`].
    ///
    /// # Errors
    ///
    /// That of the first wrong value.
    pub fn validate(&self) -> Result<(), Error> {
        self.iter().try_for_each(|(id, value)| setting::check(id, value))
    }

    pub(crate) fn parse(head: Head, payload: &'a [u8]) -> Result<Self, Error> {
        Head { len: payload.len() as u32, ..head }.check_shape()?;
        let settings = Self { ack: head.has(flag::ACK), payload };
        settings.validate()?;
        Ok(settings)
    }
}
