//! The abuse budget: what a peer may cost us before we call it abuse.
//!
//! Every kind of frame that makes work without being work has a bucket; useful work refills some of them.
//! The first answer to output that piles up is to stop reading (`Wants::read`), the second is
//! GOAWAY(ENHANCE_YOUR_CALM) with a text that names the bucket (RFC 9113 §10.5).

use crate::{Limits, Timestamp};
use h2_frame::ErrorCode;

/// A peer that costs too much. Ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fatal {
    pub(crate) code: ErrorCode,
    pub(crate) what: &'static str,
}

impl Fatal {
    pub(crate) const fn new(code: ErrorCode, what: &'static str) -> Self {
        Self { code, what }
    }

    const fn calm(what: &'static str) -> Self {
        Self::new(ErrorCode::ENHANCE_YOUR_CALM, what)
    }
}

/// Tokens that refill with time.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    level: u32,
    burst: u32,
    per_second: u32,
    /// Micros of the last refill.
    filled: u64,
}

impl Bucket {
    const fn new(burst: u32, per_second: u32) -> Self {
        Self { level: burst, burst, per_second, filled: 0 }
    }

    fn refill(&mut self, now: u64) {
        let passed = now.saturating_sub(self.filled);
        let tokens = passed.saturating_mul(u64::from(self.per_second)) / 1_000_000;
        if tokens > 0 {
            self.level = u64::from(self.level).saturating_add(tokens).min(u64::from(self.burst)) as u32;
            // What is left of a token counts for the next one, or the rate would depend on how often it is asked for.
            let rest = passed - tokens.saturating_mul(1_000_000) / u64::from(self.per_second).max(1);
            self.filled = if self.level == self.burst { now } else { now - rest.min(passed) };
        }
    }

    /// False: nothing is left.
    fn take(&mut self, now: Timestamp) -> bool {
        self.refill(now.as_micros());
        let Some(level) = self.level.checked_sub(1) else { return false };
        self.level = level;
        true
    }

    const fn give(&mut self, n: u32) {
        self.level = least(self.level.saturating_add(n), self.burst);
    }
}

/// A DATA frame below this many octets is short.
const SHORT: u32 = 256;

/// Short frames that a message may come in: prefix and payload have their own with some senders, and one may be cut by a window.
const MESSAGE_FRAMES: u32 = 4;

/// Frames for a stream that is gone which are nobody's fault, beside those that have a budget of their own.
const LATE_FRAMES: u32 = 3;
/// The same for a stream that ended on both sides: its window was to be renewed, and its client changed its mind.
const CROSSING: u32 = 2;
/// GOAWAYs after the first. A graceful end has two in all, and each looks at all calls.
const GOAWAYS: u32 = 20;

/// `Ord::min`, which is not const.
const fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

#[derive(Debug)]
pub(crate) struct Guard {
    resets: Bucket,
    useless: Bucket,
    settings: Bucket,
    short: u32,
    most_short: u32,
    empties: u32,
    most_empties: u32,
    /// WINDOW_UPDATEs that are still allowed.
    updates: u64,
    updates_per_work: u64,
    goaways: u32,
    pub(crate) pings: Pings,
}

impl Guard {
    pub(crate) const fn new(server: bool, limits: &Limits, permit_micros: u64, max_strikes: u32) -> Self {
        Self {
            resets: Bucket::new(limits.reset_burst, limits.resets_per_second),
            useless: Bucket::new(limits.useless_burst, limits.useless_per_second),
            settings: Bucket::new(limits.settings_burst, limits.settings_per_second),
            short: limits.short_data,
            most_short: limits.short_data,
            empties: 0,
            most_empties: limits.empty_data,
            updates: limits.window_updates as u64,
            updates_per_work: limits.window_updates_per_frame as u64,
            goaways: 0,
            pings: Pings { enforce: server, permit_micros, max_strikes, strikes: 0, last: None },
        }
    }

    /// The peer reset a stream, or made us reset one.
    pub(crate) fn reset(&mut self, now: Timestamp) -> Result<(), Fatal> {
        if self.resets.take(now) { Ok(()) } else { Err(Fatal::calm("too_many_resets")) }
    }

    pub(crate) fn useless(&mut self, now: Timestamp) -> Result<(), Fatal> {
        if self.useless.take(now) { Ok(()) } else { Err(Fatal::calm("too_many_useless_frames")) }
    }

    /// We ended a stream that the peer may not have: a head, trailers and the end of a body may still be on their way.
    #[inline]
    pub(crate) const fn cut_off(&mut self) {
        self.useless.give(LATE_FRAMES);
    }

    /// A GOAWAY after the first.
    pub(crate) fn goaway(&mut self) -> Result<(), Fatal> {
        self.goaways += 1;
        if self.goaways <= GOAWAYS { Ok(()) } else { Err(Fatal::calm("too_many_goaways")) }
    }

    pub(crate) fn settings(&mut self, now: Timestamp) -> Result<(), Fatal> {
        if self.settings.take(now) { Ok(()) } else { Err(Fatal::calm("too_many_settings")) }
    }

    pub(crate) const fn window_update(&mut self) -> Result<(), Fatal> {
        match self.updates.checked_sub(1) {
            Some(left) => {
                self.updates = left;
                Ok(())
            }
            None => Err(Fatal::calm("too_many_window_updates")),
        }
    }

    /// A DATA frame that does not end its stream. Frames with END_STREAM are free: each ends a call.
    #[inline]
    pub(crate) const fn data(&mut self, octets: u32) -> Result<(), Fatal> {
        if octets >= SHORT {
            self.short = least(self.short.saturating_add(octets), self.most_short);
            self.empties = 0;
            return Ok(());
        }
        if octets == 0 {
            self.empties += 1;
            if self.empties > self.most_empties {
                return Err(Fatal::calm("too_many_empty_data_frames"));
            }
        } else {
            self.empties = 0;
        }
        match self.short.checked_sub(SHORT - octets) {
            Some(left) => {
                self.short = left;
                Ok(())
            }
            None => Err(Fatal::calm("too_many_short_data_frames")),
        }
    }

    /// DATA with END_STREAM that carries octets.
    #[inline]
    pub(crate) const fn last_data(&mut self) {
        self.empties = 0;
    }

    /// A short frame was of use.
    #[inline]
    pub(crate) const fn frame_of_use(&mut self) {
        self.short = least(self.short.saturating_add(SHORT), self.most_short);
    }

    /// A message came whole: the short frames that it came in were of use, as long as they are few. (How many wait is bounded by the windows.)
    #[inline]
    pub(crate) const fn message_whole(&mut self) {
        self.short = least(self.short.saturating_add(MESSAGE_FRAMES * SHORT), self.most_short);
    }

    /// A call ended as it should: what it took to carry it was of use.
    #[inline(always)]
    pub(crate) const fn call_ended(&mut self) {
        self.resets.give(1);
        self.call_over();
    }

    /// A call ended by what the peer did: that pays for what it took to carry it, and for no other call that is taken back.
    #[inline(always)]
    pub(crate) const fn call_over(&mut self) {
        self.frame_of_use();
        // The peer's last WINDOW_UPDATE or RST_STREAM may have crossed our end (RFC 9113 §5.1).
        self.useless.give(CROSSING);
        self.updates += self.updates_per_work;
    }

    /// The peer opened a stream.
    #[inline]
    pub(crate) const fn stream_opened(&mut self) {
        self.updates += self.updates_per_work;
    }

    /// We sent HEADERS or DATA.
    #[inline]
    pub(crate) const fn sent(&mut self) {
        self.updates += self.updates_per_work;
        self.pings.strikes = 0;
        self.pings.last = None;
    }
}

/// Ping strikes of a server (gRFC A8).
#[derive(Debug)]
pub(crate) struct Pings {
    enforce: bool,
    permit_micros: u64,
    max_strikes: u32,
    strikes: u32,
    last: Option<Timestamp>,
}

/// Least time between PINGs while no stream is open (gRFC A8).
const IDLE_PING_MICROS: u64 = 2 * 60 * 60 * 1_000_000;

impl Pings {
    pub(crate) fn received(&mut self, now: Timestamp, streams: bool) -> Result<(), Fatal> {
        if !self.enforce {
            return Ok(());
        }
        let needed = if streams { self.permit_micros } else { IDLE_PING_MICROS };
        match self.last {
            Some(last) if now.as_micros() < last.as_micros().saturating_add(needed) => {
                self.strikes += 1;
                if self.strikes > self.max_strikes { Err(Fatal::calm("too_many_pings")) } else { Ok(()) }
            }
            _ => {
                self.last = Some(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(millis * 1_000)
    }

    /// cases X01: 1,000 at once, 33 a second for ever.
    #[test]
    fn resets_have_a_burst_and_a_rate() {
        let mut guard = Guard::new(true, &Limits::DEFAULT, 0, 2);
        assert_eq!((0..1_500).filter(|_| guard.reset(at(0)).is_ok()).count(), 1_000);
        let mut guard = Guard::new(true, &Limits::DEFAULT, 0, 2);
        for i in 0..18_000 {
            guard.reset(at(i * 1_000 / 30)).expect("30 a second for ten minutes are fine");
        }
    }

    /// Asked for 50 times a second or 1,000 times, a bucket of 33 a second gives 33.
    #[test]
    fn rates_do_not_depend_on_how_often_they_are_asked_for() {
        for per_second in [50, 70, 1_000] {
            let mut bucket = Bucket::new(10, 33);
            let given = (0..100 * per_second).filter(|&n| bucket.take(at(n * 1_000 / per_second))).count();
            assert!((3_300 - 10..=3_310).contains(&given), "{given} of 3,300 at {per_second} a second");
        }
    }

    /// gRFC A8: the first is valid, then two strikes are allowed, the third ends it.
    #[test]
    fn the_fourth_quick_ping_is_too_many() {
        let mut guard = Guard::new(true, &Limits::DEFAULT, 300_000_000, 2);
        for i in 0..3 {
            guard.pings.received(at(i), true).unwrap();
        }
        assert_eq!(guard.pings.received(at(4), true), Err(Fatal::calm("too_many_pings")));
        let mut guard = Guard::new(true, &Limits::DEFAULT, 300_000_000, 2);
        for i in 0..100 {
            guard.pings.received(at(i), true).unwrap();
            guard.sent();
        }
        for i in 1..100 {
            guard.pings.received(at(i * 300_000), true).unwrap();
        }
    }

    #[test]
    fn short_data_is_paid_for_by_whole_messages() {
        let mut guard = Guard::new(true, &Limits::DEFAULT, 0, 2);
        for _ in 0..100_000 {
            guard.data(5).unwrap();
            guard.message_whole();
        }
        assert!((0..200).any(|_| guard.data(5).is_err()));
        let mut guard = Guard::new(true, &Limits::DEFAULT, 0, 2);
        assert_eq!((0..1_000).take_while(|_| guard.data(0).is_ok()).count(), 100);
    }
}
