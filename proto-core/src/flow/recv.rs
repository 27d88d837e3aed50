//! The budget of received octets.
//!
//! Every stream may always fill its initial window; that part is set aside. What is left of
//! `Config::recv_budget` lets in the rest of messages that are larger than their stream's window, each
//! granted whole, so that half messages never hold each other up.

/// Octets of one message (or piece of a body) that the application has not taken yet.
///
/// Settled exactly once: by [`RecvBudget::settle`] on take, drop or reset.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use]
pub(crate) struct Credit(u32);

impl Credit {
    #[cfg(any(test, feature = "testing"))]
    pub(crate) const fn octets(&self) -> u32 {
        self.0
    }

    /// A credit for `n` of the octets, and one for the rest.
    pub(crate) const fn split(self, n: u32) -> (Self, Self) {
        (Self(n), Self(self.0 - n))
    }

    /// One credit for the octets of both.
    pub(crate) const fn join(&mut self, other: Self) {
        self.0 += other.0;
    }
}

#[derive(Debug)]
pub(crate) struct RecvBudget {
    /// Received and not yet taken.
    held: u64,
    /// What may be granted beyond the initial windows.
    spare: u64,
    /// Granted beyond the initial windows and not yet returned.
    granted: u64,
}

impl RecvBudget {
    pub(crate) const fn new(spare: u64) -> Self {
        Self { held: 0, spare, granted: 0 }
    }

    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) const fn granted(&self) -> u64 {
        self.granted
    }

    #[inline]
    pub(crate) const fn charge(&mut self, octets: u32) -> Credit {
        self.held += octets as u64;
        Credit(octets)
    }

    /// Returns how many octets the credit was for.
    #[inline]
    pub(crate) fn settle(&mut self, credit: Credit) -> u32 {
        debug_assert!(self.held >= u64::from(credit.0), "a credit was settled twice");
        self.held = self.held.saturating_sub(u64::from(credit.0));
        credit.0
    }

    /// Room for the rest of a message: all of it or nothing.
    pub(crate) const fn grant(&mut self, octets: u32) -> bool {
        if self.granted + octets as u64 > self.spare {
            return false;
        }
        self.granted += octets as u64;
        true
    }

    pub(crate) const fn give_back(&mut self, octets: u32) {
        self.granted = self.granted.saturating_sub(octets as u64);
    }
}
