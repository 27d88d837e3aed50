//! A count of work, for tests that ask what an octet of the peer's may cost. Without the feature `testing` it is nothing.
//!
//! A step is something of bounded cost: a frame or a piece of one, a header field, a cache line of octets that is copied or checked, a round
//! of a loop over streams, lists or table entries. Every loop of the core whose rounds are not bounded by a constant counts them.

/// Octets that are one step to copy or to look at.
const LINE: usize = 64;

/// Counts, also behind `&self`.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    // Not a `Cell`: the feature must not change whether a `Connection` is `Sync`.
    #[cfg(any(test, feature = "testing"))]
    count: core::sync::atomic::AtomicUsize,
}

impl Steps {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(any(test, feature = "testing"))]
            count: core::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// So many steps were made.
    #[inline(always)]
    pub(crate) fn add(&self, steps: usize) {
        #[cfg(any(test, feature = "testing"))]
        {
            use core::sync::atomic::Ordering::Relaxed;
            // One owner: no read-modify-write is needed.
            self.count.store(self.count.load(Relaxed).wrapping_add(steps), Relaxed);
        }
        #[cfg(not(any(test, feature = "testing")))]
        let _ = steps;
    }

    /// So many octets were copied or looked at.
    #[inline(always)]
    pub(crate) fn octets(&self, octets: usize) {
        self.add(1 + octets / LINE);
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn get(&self) -> u64 {
        self.count.load(core::sync::atomic::Ordering::Relaxed) as u64
    }
}
