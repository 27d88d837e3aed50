//! One window.

/// The largest window there is (RFC 9113 §6.9.1).
pub(crate) const MAX: i64 = (1 << 31) - 1;

/// A window grew beyond 2^31-1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

/// Octets that may still pass. Negative after SETTINGS_INITIAL_WINDOW_SIZE was lowered (RFC 9113 §6.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window(i64);

impl Window {
    pub(crate) const fn new(octets: u32) -> Self {
        Self(octets as i64)
    }

    pub(crate) const fn get(self) -> i64 {
        self.0
    }

    /// Octets that may pass now: never negative.
    #[inline]
    pub(crate) const fn room(self) -> usize {
        if self.0 > 0 { self.0 as usize } else { 0 }
    }

    /// Octets pass. The sender has checked `room`; a receiver finds a peer that has not by a negative window.
    #[inline]
    pub(crate) const fn consume(&mut self, octets: u32) {
        self.0 -= octets as i64;
    }

    #[inline]
    pub(crate) const fn grow(&mut self, octets: u32) -> Result<(), Overflow> {
        self.shift(octets as i64)
    }

    /// Moves by the difference of two initial windows.
    pub(crate) const fn shift(&mut self, by: i64) -> Result<(), Overflow> {
        if self.0 + by > MAX {
            return Err(Overflow);
        }
        self.0 += by;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of RFC 9113 §6.9.2: 60 KB sent of 65,535, then the initial window falls to 16 KB.
    #[test]
    fn goes_negative_and_recovers() {
        let mut window = Window::new(65_535);
        window.consume(60 * 1024);
        window.shift(16 * 1024 - 65_535).unwrap();
        assert_eq!(window.get(), -44 * 1024);
        assert_eq!(window.room(), 0);
        window.grow(44 * 1024 + 1).unwrap();
        assert_eq!(window.room(), 1);
    }

    #[test]
    fn never_exceeds_the_maximum() {
        let mut window = Window::new(1);
        assert_eq!(window.grow(i32::MAX as u32), Err(Overflow));
        assert_eq!(window.get(), 1, "a refused increment changes nothing");
        assert_eq!(window.grow(i32::MAX as u32 - 1), Ok(()));
    }
}
