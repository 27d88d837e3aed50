//! HTTP/2 frames (skeleton).
#![no_std]
/// RFC 9113 §7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);
impl core::fmt::Display for ErrorCode { fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result { write!(f, "{}", self.0) } }
