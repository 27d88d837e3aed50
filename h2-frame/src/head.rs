use crate::Error;

/// The nine octets before every payload (RFC 9113 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// Octets of payload; the head itself is not counted. Below 2^24.
    pub len: u32,
    /// One of [`kind`], or a number that this crate does not know.
    pub kind: u8,
    /// Bits of [`flag`]; which of them mean something depends on the kind, the others are ignored.
    pub flags: u8,
    /// The stream, 31 bits; 0 is the connection.
    pub stream: u32,
}

/// Frame kinds (RFC 9113 §6).
pub mod kind {
    /// Octets of a message.
    pub const DATA: u8 = 0;
    /// A field block, or the start of one.
    pub const HEADERS: u8 = 1;
    /// Deprecated advice on priority.
    pub const PRIORITY: u8 = 2;
    /// A stream is over, with a reason.
    pub const RST_STREAM: u8 = 3;
    /// What the sender can take, or the acknowledgement of that.
    pub const SETTINGS: u8 = 4;
    /// A server announces a stream of its own.
    pub const PUSH_PROMISE: u8 = 5;
    /// A question to be answered with the same eight octets, or the answer.
    pub const PING: u8 = 6;
    /// No new streams on this connection.
    pub const GOAWAY: u8 = 7;
    /// Room for more DATA.
    pub const WINDOW_UPDATE: u8 = 8;
    /// The next part of a field block.
    pub const CONTINUATION: u8 = 9;
}

/// Flags of a frame; the same bit means different things on different kinds (RFC 9113 §6).
pub mod flag {
    /// DATA, HEADERS: the sender's last frame on the stream (CONTINUATION may still follow HEADERS).
    pub const END_STREAM: u8 = 0x01;
    /// SETTINGS, PING: an acknowledgement.
    pub const ACK: u8 = 0x01;
    /// HEADERS, PUSH_PROMISE, CONTINUATION: the field block ends here.
    pub const END_HEADERS: u8 = 0x04;
    /// DATA, HEADERS, PUSH_PROMISE: the payload starts with a pad length and ends with padding.
    pub const PADDED: u8 = 0x08;
    /// HEADERS: five octets of priority precede the field block.
    pub const PRIORITY: u8 = 0x20;
}

pub(crate) const MAX_LEN: u32 = (1 << 24) - 1;
pub(crate) const MAX_STREAM: u32 = (1 << 31) - 1;

impl Head {
    /// Octets of an encoded head.
    pub const LEN: usize = 9;

    /// Reads a head. Nothing is checked (see [`check`](Self::check)); the reserved bit is dropped, as RFC 9113 §4.1 asks.
    #[inline]
    pub const fn parse(octets: &[u8; Self::LEN]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *octets;
        // One load and shifts: this runs for each frame.
        let front = u64::from_be_bytes([l0, l1, l2, kind, flags, s0, s1, s2]);
        let stream = ((front as u32) << 8 | s3 as u32) & MAX_STREAM;
        Self { len: (front >> 40) as u32, kind: (front >> 32) as u8, flags: (front >> 24) as u8, stream }
    }

    /// Writes a head. `len` must be below 2^24 (asserted in debug builds); the reserved bit is sent as 0.
    #[inline]
    pub const fn encode(self) -> [u8; Self::LEN] {
        debug_assert!(self.len <= MAX_LEN, "a frame's length has 24 bits");
        let [_, l0, l1, l2] = self.len.to_be_bytes();
        let [s0, s1, s2, s3] = (self.stream & MAX_STREAM).to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    /// Whether all bits of `flag` are set.
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag == flag
    }

    /// Every rule that can be decided before the payload is there: the length against `max_frame`, the stream identifier, the
    /// length against the kind.
    ///
    /// `max_frame` is the SETTINGS_MAX_FRAME_SIZE that the receiver announced, 16,384 if it announced none.
    ///
    /// # Errors
    ///
    /// FRAME_SIZE_ERROR or PROTOCOL_ERROR. All of them end the connection but one: PRIORITY of a length other than 5 ends its stream, and
    /// the receiver goes on after [`LEN`](Self::LEN)` + len` octets. RFC 9113 §4.2 would let some other frames of a wrong length end a
    /// stream only; §5.4 lets a receiver end the connection, and so it is done here.
    pub fn check(&self, max_frame: u32) -> Result<(), Error> {
        self.check_max(max_frame)?;
        self.check_shape()
    }

    /// RFC 9113 §4.2.
    pub(crate) fn check_max(&self, max_frame: u32) -> Result<(), Error> {
        if self.len > max_frame {
            return Err(Error::size("frame longer than SETTINGS_MAX_FRAME_SIZE"));
        }
        Ok(())
    }

    /// All of [`check`](Self::check) but the maximum. The stream identifier goes first: a stream error needs a stream.
    pub(crate) fn check_shape(&self) -> Result<(), Error> {
        self.check_stream()?;
        self.check_size()
    }

    fn check_stream(&self) -> Result<(), Error> {
        let what = match (self.kind, self.stream) {
            (kind::DATA, 0) => "DATA on stream 0",
            (kind::HEADERS, 0) => "HEADERS on stream 0",
            (kind::PRIORITY, 0) => "PRIORITY on stream 0",
            (kind::RST_STREAM, 0) => "RST_STREAM on stream 0",
            (kind::SETTINGS, 1..) => "SETTINGS on a stream",
            (kind::PUSH_PROMISE, 0) => "PUSH_PROMISE on stream 0",
            (kind::PING, 1..) => "PING on a stream",
            (kind::GOAWAY, 1..) => "GOAWAY on a stream",
            (kind::CONTINUATION, 0) => "CONTINUATION on stream 0",
            _ => return Ok(()),
        };
        Err(Error::protocol(what))
    }

    fn check_size(&self) -> Result<(), Error> {
        let (len, pad_octet) = (self.len, self.has(flag::PADDED) as u32);
        let (good, what) = match self.kind {
            kind::DATA => (len >= pad_octet, "DATA too short for its pad length"),
            kind::HEADERS => {
                let priority = if self.has(flag::PRIORITY) { 5 } else { 0 };
                (len >= pad_octet + priority, "HEADERS too short for its pad length and priority")
            }
            kind::PRIORITY if len != 5 => return Err(Error::size("PRIORITY of a length other than 5").on_stream(self.stream)),
            kind::RST_STREAM => (len == 4, "RST_STREAM of a length other than 4"),
            kind::SETTINGS if self.has(flag::ACK) => (len == 0, "SETTINGS acknowledgement with a payload"),
            kind::SETTINGS => (len.is_multiple_of(6), "SETTINGS of a length that is no multiple of 6"),
            kind::PUSH_PROMISE => (len >= pad_octet + 4, "PUSH_PROMISE too short for its promised stream"),
            kind::PING => (len == 8, "PING of a length other than 8"),
            kind::GOAWAY => (len >= 8, "GOAWAY shorter than 8"),
            kind::WINDOW_UPDATE => (len == 4, "WINDOW_UPDATE of a length other than 4"),
            _ => return Ok(()),
        };
        if good { Ok(()) } else { Err(Error::size(what)) }
    }
}
