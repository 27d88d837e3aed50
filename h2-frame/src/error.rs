use core::fmt;

/// Why a stream or a connection ended, as the peers tell each other (RFC 9113 §7).
///
/// Any `u32` can arrive. A code without a name is kept as it is and has no special meaning: treat it like
/// [`INTERNAL_ERROR`](Self::INTERNAL_ERROR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Not an error: a graceful end, or "I need no more of your request".
    pub const NO_ERROR: Self = Self(0x0);
    /// The peer broke a rule that has no code of its own.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The sender of the code failed.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// More octets than the window allowed, or a window above 2^31 - 1.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame for a stream that was closed, or half closed by its sender.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame of a length that its kind does not allow.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was refused before any work on it began: it is safe to try again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is no longer wanted.
    pub const CANCEL: Self = Self(0x8);
    /// The header compression state is lost.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection behind a CONNECT request broke.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer causes more load than is reasonable.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The TLS parameters are too weak for HTTP/2.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// Use HTTP/1.1 for this.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// The name in RFC 9113 §7, or `None` for a code that is not listed there.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NO_ERROR => "NO_ERROR",
            Self::PROTOCOL_ERROR => "PROTOCOL_ERROR",
            Self::INTERNAL_ERROR => "INTERNAL_ERROR",
            Self::FLOW_CONTROL_ERROR => "FLOW_CONTROL_ERROR",
            Self::SETTINGS_TIMEOUT => "SETTINGS_TIMEOUT",
            Self::STREAM_CLOSED => "STREAM_CLOSED",
            Self::FRAME_SIZE_ERROR => "FRAME_SIZE_ERROR",
            Self::REFUSED_STREAM => "REFUSED_STREAM",
            Self::CANCEL => "CANCEL",
            Self::COMPRESSION_ERROR => "COMPRESSION_ERROR",
            Self::CONNECT_ERROR => "CONNECT_ERROR",
            Self::ENHANCE_YOUR_CALM => "ENHANCE_YOUR_CALM",
            Self::INADEQUATE_SECURITY => "INADEQUATE_SECURITY",
            Self::HTTP_1_1_REQUIRED => "HTTP_1_1_REQUIRED",
            _ => return None,
        })
    }
}

/// `PROTOCOL_ERROR` and so on; `UNKNOWN(0x1f)` for a code without a name.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "UNKNOWN({:#x})", self.0),
        }
    }
}

/// What an [`Error`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Send GOAWAY with the code, then close the transport (RFC 9113 §5.4.1).
    Connection,
    /// Send RST_STREAM with the code on this stream and go on (RFC 9113 §5.4.2).
    Stream(u32),
}

/// A rule of RFC 9113 that the peer broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error {
    /// What to tell the peer.
    pub code: ErrorCode,
    /// What ends.
    pub scope: Scope,
    /// What was wrong, for people: logs and GOAWAY debug data.
    pub what: &'static str,
}

impl Error {
    pub(crate) const fn protocol(what: &'static str) -> Self {
        Self { code: ErrorCode::PROTOCOL_ERROR, scope: Scope::Connection, what }
    }

    pub(crate) const fn size(what: &'static str) -> Self {
        Self { code: ErrorCode::FRAME_SIZE_ERROR, scope: Scope::Connection, what }
    }

    pub(crate) const fn on_stream(self, stream: u32) -> Self {
        Self { scope: Scope::Stream(stream), ..self }
    }
}

/// `connection error PROTOCOL_ERROR: DATA on stream 0`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            Scope::Connection => write!(f, "connection error {}: {}", self.code, self.what),
            Scope::Stream(stream) => write!(f, "error {} on stream {stream}: {}", self.code, self.what),
        }
    }
}

impl core::error::Error for Error {}
