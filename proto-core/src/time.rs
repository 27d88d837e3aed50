//! Time as the core sees it: a number that the driver passes in.

use core::{num::NonZeroU64, time::Duration};

/// An instant in microseconds on the driver's own monotonic clock.
///
/// The origin is the driver's affair; the core only compares and subtracts. The std adapters all
/// use `CLOCK_MONOTONIC`, so a deadline taken from one adapter means the same to another.
/// `Option<Timestamp>` is 8 octets. All arithmetic saturates.
///
/// ```
/// # use pintle_core::Timestamp;
/// # use core::time::Duration;
/// let start = Timestamp::from_micros(5);
/// let later = start.saturating_add(Duration::from_millis(1));
/// assert_eq!(later.as_micros(), 1_005);
/// assert_eq!(later.saturating_since(start), Duration::from_millis(1));
/// assert_eq!(start.saturating_since(later), Duration::ZERO);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(NonZeroU64);

impl Timestamp {
    /// The latest instant; used where a wait has no end.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// The instant `micros` microseconds after the clock's origin.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(micros))
    }

    /// Microseconds since the clock's origin.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0.get() - 1
    }

    /// Time passed since `earlier`, zero if that is later than `self`.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// The instant `after` later; the end of time where that overflows.
    #[must_use]
    pub const fn saturating_add(self, after: Duration) -> Self {
        let micros = after.as_micros();
        if micros > u64::MAX as u128 { Self::MAX } else { Self(self.0.saturating_add(micros as u64)) }
    }
}
