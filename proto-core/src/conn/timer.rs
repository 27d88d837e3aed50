//! Deadlines: a handful of the connection's own, and a lower bound over those of the calls.
//!
//! A call that ends in time leaves the bound alone, which costs it nothing; a bound that turns out too
//! early costs one scan (measured: 8 instructions a call against 100 to 150 for an indexed heap).

use crate::Timestamp;

/// What the connection itself waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Preface and first SETTINGS.
    Handshake,
    /// The acknowledgement of our SETTINGS.
    SettingsAck,
    /// The end of a header block that has begun.
    HeaderBlock,
    /// Drain: the round trip before the second GOAWAY.
    DrainPing,
    /// Drain: the hard end.
    DrainEnd,
    /// The next look at messages that were given room while others wait for it.
    Grants,
}

pub(crate) const TIMERS: [Timer; 6] =
    [Timer::Handshake, Timer::SettingsAck, Timer::HeaderBlock, Timer::DrainPing, Timer::DrainEnd, Timer::Grants];

#[derive(Debug, Default)]
pub(crate) struct Timers {
    own: [Option<Timestamp>; TIMERS.len()],
    calls: Option<Timestamp>,
    earliest: Option<Timestamp>,
}

/// The earlier of two, where `None` is never.
pub(crate) fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Timers {
    pub(crate) fn set(&mut self, timer: Timer, at: Timestamp) {
        self.own[timer as usize] = Some(at);
        // It may have been set before, to an earlier time.
        self.recompute();
    }

    /// When it fires. `None`: it is not set.
    #[cfg(feature = "record")]
    pub(crate) fn at(&self, timer: Timer) -> Option<Timestamp> {
        self.own[timer as usize]
    }

    pub(crate) const fn is_set(&self, timer: Timer) -> bool {
        self.own[timer as usize].is_some()
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        if self.own[timer as usize].take().is_some() {
            self.recompute();
        }
    }

    pub(crate) fn cancel_all(&mut self) {
        *self = Self::default();
    }

    /// Some call ends at `at`.
    #[inline]
    pub(crate) fn call(&mut self, at: Timestamp) {
        if fault!("timer_lost") {
            return;
        }
        self.calls = earlier(self.calls, Some(at));
        self.earliest = earlier(self.earliest, Some(at));
    }

    /// The bound over the calls was recomputed by a scan.
    pub(crate) fn calls_scanned(&mut self, next: Option<Timestamp>) {
        self.calls = next;
        self.recompute();
    }

    pub(crate) fn calls_due(&self, now: Timestamp) -> bool {
        self.calls.is_some_and(|at| at <= now)
    }

    /// A timer of the connection that is due, disarmed.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<Timer> {
        let timer = TIMERS.into_iter().find(|t| self.own[*t as usize].is_some_and(|at| at <= now))?;
        self.cancel(timer);
        Some(timer)
    }

    #[inline]
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.earliest
    }

    fn recompute(&mut self) {
        self.earliest = self.own.iter().fold(self.calls, |least, at| earlier(least, *at));
    }
}
