//! The five octets before every message: a flag and a length (PH2 "Length-Prefixed-Message").

use super::Status;
use alloc::format;
use core::fmt;

/// Octets of a prefix.
pub const LEN: usize = 5;

/// A prefix that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The message is in the coding that `grpc-encoding` names.
    pub compressed: bool,
    /// Octets of the message that follows.
    pub len: u32,
}

/// What ends a call at its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixError {
    /// The flag is neither 0 nor 1; it is kept. Often the peer does not speak gRPC: 60 is the `<` of an HTML page.
    Flag(u8),
    /// The message is longer than the limit.
    TooLarge {
        /// Octets that the prefix announces.
        len: u32,
        /// The limit.
        limit: u32,
    },
}

impl Prefix {
    /// Reads a prefix and checks it against the largest message taken, in octets; exactly the limit passes. Nothing should
    /// be allocated for a message before this.
    ///
    /// # Errors
    /// See [`PrefixError`]; the stream cannot be resynchronised, so the call ends with [`PrefixError::status`].
    pub const fn parse(octets: [u8; LEN], limit: u32) -> Result<Self, PrefixError> {
        let [flag, a, b, c, d] = octets;
        let len = u32::from_be_bytes([a, b, c, d]);
        if flag > 1 {
            Err(PrefixError::Flag(flag))
        } else if len > limit {
            Err(PrefixError::TooLarge { len, limit })
        } else {
            Ok(Self { compressed: flag == 1, len })
        }
    }

    /// The octets on the wire.
    #[must_use]
    pub const fn encode(self) -> [u8; LEN] {
        let [a, b, c, d] = self.len.to_be_bytes();
        [self.compressed as u8, a, b, c, d]
    }
}

impl PrefixError {
    /// How the call ends: INTERNAL for the flag, RESOURCE_EXHAUSTED for the length (SC).
    #[must_use]
    pub fn status(self) -> Status {
        match self {
            Self::Flag(_) => Status::internal(format!("{self}")),
            Self::TooLarge { .. } => Status::resource_exhausted(format!("{self}")),
        }
    }
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "broken message prefix: the compressed flag is {flag}, not 0 or 1"),
            Self::TooLarge { len, limit } => {
                write!(f, "a message of {len} octets is larger than the receiver's limit of {limit} (Config::max_recv_message)")
            }
        }
    }
}
impl core::error::Error for PrefixError {}
