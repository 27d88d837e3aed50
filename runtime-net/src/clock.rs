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

/// The same instant on std's clock, for timers that want one. `None`: further away than std can say, so never.
#[must_use]
pub fn instant(at: Timestamp) -> Option<Instant> {
    let epoch = *EPOCH.get_or_init(Instant::now);
    epoch.checked_add(at.saturating_since(Timestamp::from_micros(0)))
}
