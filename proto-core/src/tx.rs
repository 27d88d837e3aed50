//! Output: staged octets, lent to the driver.
use bytes::Bytes;

/// Staged output. Layers own one for their own octets.
#[derive(Debug, Default)]
pub struct Outbox {}

/// Octets lent for writing. Nothing is lost if not advanced.
#[derive(Debug)]
pub struct Transmit<'a> {
    #[allow(dead_code)]
    out: &'a mut Outbox,
}

impl Transmit<'_> {
    /// No octet is lent.
    #[must_use]
    pub fn is_empty(&self) -> bool { todo!() }
    /// Octets lent.
    #[must_use]
    pub fn len(&self) -> usize { todo!() }
    /// The one slice, where everything lent is one run (the ordinary case).
    #[must_use]
    pub fn single(&self) -> Option<&[u8]> { todo!() }
    /// Fills `dst` for a gathering write; returns how many slices were used.
    pub fn chunks<'s>(&'s self, dst: &mut [&'s [u8]]) -> usize { let _ = dst; todo!() }
    /// Copies to `dst` from the front and advances by as much; returns how many octets.
    pub fn copy_to(&mut self, dst: &mut [u8]) -> usize { let _ = dst; todo!() }
    /// Takes the first run out, owned (completion-based I/O).
    pub fn pop(&mut self) -> Option<Bytes> { todo!() }
    /// `n` octets were written.
    pub fn advance(&mut self, n: usize) { let _ = n; todo!() }
}
