//! The hard places: situations that a property must have been in, or it has shown nothing.

use alloc::{string::String, vec::Vec};
use core::fmt::Write;

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A situation in which protocol implementations tend to break.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Place { $($(#[$doc])* $name,)* }

        impl Place {
            /// Every place, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

places! {
    /// A message waited because its stream's window was used up.
    StreamWindowBlocked,
    /// A message waited because the connection's window was used up.
    ConnectionWindowBlocked,
    /// A stream's send window was below zero (RFC 9113 §6.9.2).
    NegativeWindow,
    /// A header block needed CONTINUATION frames.
    Continuation,
    /// A stream was reset while frames of it were on their way from the other side.
    ResetInFlight,
    /// A client's HEADERS crossed the server's GOAWAY.
    GoawayRace,
    /// An HPACK entry was evicted.
    TableEviction,
    /// The size of an HPACK dynamic table was changed by the peer's SETTINGS.
    TableResized,
    /// A call was queued because the peer's stream limit was reached.
    QueuedAboveStreamLimit,
    /// A stream was refused: the client opened it before it knew a lower limit, or after GOAWAY.
    StreamRefused,
    /// A message was larger than its stream's initial window.
    MessageAboveWindow,
    /// The rest of a message was read into `read_target`.
    ReadTarget,
    /// The transport took less than was lent.
    ShortWrite,
    /// The transport took nothing though octets waited.
    TransportFull,
    /// `send` answered `Blocked` and gave the message back.
    SendBlocked,
    /// `Writable` came after `Blocked`.
    WritableAfterBlocked,
    /// A call's deadline passed.
    DeadlinePassed,
    /// A call was cancelled after its HEADERS were sent.
    CancelledOnWire,
    /// A call was cancelled before its HEADERS were sent.
    CancelledBeforeWire,
    /// The server ended a call that the client was still sending to.
    EarlyAnswer,
    /// A response of one header block only.
    TrailersOnly,
    /// An empty message.
    EmptyMessage,
    /// The link closed while calls were open.
    ClosedMidCall,
    /// A connection drained with calls open.
    DrainedWithCalls,
    /// A stale id was used.
    StaleId,
    /// A connection stopped reading.
    ReadPaused,
    /// The receiver held messages that nobody had asked for.
    UnreadHeld,
    /// A timer fired.
    TimerFired,
    /// Several messages arrived in one read.
    ManyFramesInOneRead,
    /// A frame was cut by a read.
    FrameCut,
    /// A PING was answered.
    PingAnswered,
    /// The second GOAWAY of a drain.
    SecondGoaway,
    /// A server's stack reset a stream, with any code.
    ResetByServer,
    /// A client's stack reset a stream, with any code.
    ResetByClient,
    /// A stack ended its connection with an error code.
    ConnectionFailed,
    /// One direction of the link ended.
    HalfClosed,
    /// The link ended, and what was on the way was lost.
    OctetsLost,
    /// The clock stood just before a deadline, and nothing was to happen.
    JustBeforeDeadline,
    /// The clock stood at a deadline.
    AtDeadline,
    /// The clock jumped over hours.
    FarJump,
    /// Nothing arrived for seconds.
    LongStall,
    /// A client was told that it may open no stream, and later that it may.
    NoStreamsForAWhile,
    /// An initial window of 0.
    WindowZero,
    /// SETTINGS_MAX_FRAME_SIZE was changed.
    FrameLimitChanged,
    /// One SETTINGS frame had two values for the same thing.
    SettingTwice,
    /// A message was larger than the receiver takes.
    MessageTooLarge,
    /// A frame came for a stream that was over.
    FrameForClosedStream,
    /// All calls over, the connection open: compared, nothing left behind.
    RestCompared,
    /// All calls over, the connection ended: nothing left behind.
    EndCompared,
}

/// How often each place was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places([u64; Place::ALL.len()]);

impl Default for Places {
    fn default() -> Self {
        Self([0; Place::ALL.len()])
    }
}

impl Places {
    /// Reached once more.
    pub const fn hit(&mut self, place: Place) {
        self.0[place as usize] += 1;
    }

    /// Reached once more if `reached`.
    pub const fn hit_if(&mut self, reached: bool, place: Place) {
        if reached {
            self.hit(place);
        }
    }

    /// How often `place` was reached.
    #[must_use]
    pub const fn count(&self, place: Place) -> u64 {
        self.0[place as usize]
    }

    /// Adds another run's counts.
    pub fn add(&mut self, other: &Self) {
        for (sum, n) in self.0.iter_mut().zip(other.0) {
            *sum += n;
        }
    }

    /// Those of `required` that were never reached.
    #[must_use]
    pub fn missing(&self, required: &[Place]) -> Vec<Place> {
        required.iter().copied().filter(|&place| self.count(place) == 0).collect()
    }

    /// One line per place that was reached.
    #[must_use]
    pub fn report(&self) -> String {
        let mut text = String::new();
        for &place in Place::ALL {
            if self.count(place) > 0 {
                // Writing to a `String` does not fail.
                let _ = writeln!(text, "  {:>9} x {place:?}", self.count(place));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_reached_is_named() {
        let mut places = Places::default();
        places.hit(Place::Continuation);
        assert_eq!(places.missing(&[Place::Continuation, Place::GoawayRace]), [Place::GoawayRace]);
        assert!(places.report().contains("1 x Continuation"));
    }
}
