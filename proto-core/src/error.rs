//! Errors: whose fault, what ends, what to do.

use alloc::string::String;
use core::fmt;
pub use h2_frame::ErrorCode;

/// The id names no live call or stream of this connection: it ended and was released. Nothing else is affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCall;

impl fmt::Display for UnknownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such call: it has ended and was released")
    }
}
impl core::error::Error for UnknownCall {}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// We closed it: a drain that came to its end.
    Local,
    /// The peer closed it with GOAWAY and this code.
    Peer {
        /// The HTTP/2 error code of the GOAWAY.
        code: ErrorCode,
    },
    /// The peer broke the protocol; we sent GOAWAY with this code.
    Protocol {
        /// The code that we sent.
        code: ErrorCode,
        /// Which rule was broken.
        what: &'static str,
    },
    /// The peer did not do something in time.
    Timeout {
        /// What it did not do.
        what: &'static str,
    },
    /// The transport ended without GOAWAY.
    Eof,
    /// The peer does not speak HTTP/2.
    Foreign {
        /// What its first octets look like, e.g. "HTTP/1.x" or "TLS".
        looks_like: &'static str,
        /// The first nine of them, where they are words; empty where `looks_like` says it all.
        begins: String,
    },
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("closed by us"),
            Self::Peer { code: ErrorCode::NO_ERROR } => f.write_str("the peer has shut down (GOAWAY NO_ERROR)"),
            Self::Peer { code } => write!(f, "the peer closed the connection with GOAWAY {code}"),
            Self::Protocol { code, what } => write!(f, "the peer broke the protocol: {what} ({code})"),
            Self::Timeout { what } => write!(f, "timed out: {what}"),
            Self::Eof => f.write_str("the peer closed the connection without GOAWAY"),
            Self::Foreign { looks_like, begins } => {
                write!(f, "the peer does not speak HTTP/2: its first octets look like {looks_like}")?;
                if begins.is_empty() { Ok(()) } else { write!(f, ", {begins:?}") }
            }
        }
    }
}
impl core::error::Error for CloseReason {}

/// Why a call could not start. Nothing was sent; the call may be tried elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// `Config::max_queued_calls` calls are waiting already; try again after `Event::Available`.
    AtCapacity,
    /// The connection is draining: use another.
    Draining,
    /// The connection is closed: use another.
    Closed,
    /// Misuse: only a client starts calls.
    NotAClient,
    /// The request head is larger than the peer's SETTINGS_MAX_HEADER_LIST_SIZE allows.
    HeadTooLarge,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtCapacity => "too many calls are queued on this connection",
            Self::Draining => "the connection is draining and takes no new calls",
            Self::Closed => "the connection is closed",
            Self::NotAClient => "a server connection cannot start calls",
            Self::HeadTooLarge => "the request's metadata is larger than the server accepts",
        })
    }
}
impl core::error::Error for StartError {}

/// Why a message was not taken. `T` is the message, given back untouched.
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<T> {
    /// The send buffer is full: wait for `Event::Writable`.
    Blocked(T),
    /// The call is over (or its sending half is closed): read its outcome.
    Ended(T),
    /// The message is over `Config::max_send_message`, or a second message where the method allows one.
    Refused(T, Misuse),
}

impl<T> SendError<T> {
    /// The message, given back.
    pub fn into_message(self) -> T {
        match self {
            Self::Blocked(message) | Self::Ended(message) | Self::Refused(message, _) => message,
        }
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(_) => f.write_str("the send buffer is full: wait until it is writable"),
            Self::Ended(_) => f.write_str("the call has ended: read its outcome"),
            Self::Refused(_, why) => why.fmt(f),
        }
    }
}

/// Without the message, which may be large, or a secret.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Blocked(_) => "Blocked",
            Self::Ended(_) => "Ended",
            Self::Refused(..) => "Refused",
        };
        f.debug_struct(name).field("why", &format_args!("{self}")).finish_non_exhaustive()
    }
}
impl<T> core::error::Error for SendError<T> {}

/// The caller broke the call's order of operations. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misuse(pub &'static str);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
impl core::error::Error for Misuse {}
