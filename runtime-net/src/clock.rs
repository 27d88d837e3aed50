//! One clock for all adapters of a process, so that a deadline taken from one means the same to another.

use pintle_core::Timestamp;
use std::{sync::OnceLock, time::Instant};

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// The present, in microseconds of `CLOCK_MONOTONIC` since this process first asked.
#[must_use]
pub fn now() -> Timestamp {
    timestamp(Instant::now())
}

/// An instant of std's clock on this one; one before the process first asked is its beginning.
#[must_use]
pub fn timestamp(at: Instant) -> Timestamp {
    let since = at.saturating_duration_since(*EPOCH.get_or_init(|| at));
    Timestamp::from_micros(since.as_secs().saturating_mul(1_000_000) + u64::from(since.subsec_micros()))
}

/// The same instant on std's clock, for timers that want one. `None`: never, as [`Timestamp::MAX`] is, and what is further away
/// than std can say.
#[must_use]
pub fn instant(at: Timestamp) -> Option<Instant> {
    if at == Timestamp::MAX {
        return None;
    }
    let epoch = *EPOCH.get_or_init(Instant::now);
    epoch.checked_add(at.saturating_since(Timestamp::from_micros(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A timer that is asked to wait for `MAX` waits for ever, and asks for no instant some hundred thousand years away.
    #[test]
    fn instants_are_the_same_moments_and_max_is_never() {
        let soon = now().saturating_add(Duration::from_secs(5));
        assert_eq!(instant(soon).map(timestamp), Some(soon));
        assert_eq!(instant(Timestamp::MAX), None);
    }
}
