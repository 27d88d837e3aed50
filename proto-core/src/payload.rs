//! Ropes.
use alloc::collections::VecDeque;
use bytes::{Buf, Bytes};

/// The octets of a message.
#[derive(Debug, Clone, Default)]
pub struct Payload { #[allow(dead_code)] segments: VecDeque<Bytes> }
/// A received message.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Its octets, without the prefix.
    pub payload: Payload,
    /// The compressed flag of the prefix.
    pub compressed: bool,
}
impl Payload {
    /// Empty.
    #[must_use]
    pub const fn new() -> Self { Self { segments: VecDeque::new() } }
    /// Octets.
    #[must_use]
    pub fn len(&self) -> usize { todo!() }
    /// No octets.
    #[must_use]
    pub fn is_empty(&self) -> bool { todo!() }
    /// Appends.
    pub fn push(&mut self, segment: Bytes) { let _ = segment; todo!() }
    /// First run, owned.
    pub fn pop_segment(&mut self) -> Option<Bytes> { todo!() }
    /// As one `Bytes`, without a copy where it is one run.
    #[must_use]
    pub fn into_bytes(self) -> Bytes { todo!() }
}
impl From<Bytes> for Payload { fn from(b: Bytes) -> Self { let _ = b; todo!() } }
impl Buf for Payload {
    fn remaining(&self) -> usize { todo!() }
    fn chunk(&self) -> &[u8] { todo!() }
    fn advance(&mut self, n: usize) { let _ = n; todo!() }
}

/// Builds a [`Payload`].
#[derive(Debug, Default)]
pub struct Builder { #[allow(dead_code)] done: Payload }
