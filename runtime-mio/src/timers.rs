//! One heap of deadlines for all connections of a loop. Entries are not removed when a connection's deadline moves: the owner
//! remembers the earliest one that is in the heap, and what does not match it when it comes up is skipped.

use pintle_core::Timestamp;
use std::{cmp::Reverse, collections::BinaryHeap};

#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Timestamp, u32)>>);

impl Timers {
    /// The earliest entry's time.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(crate) fn push(&mut self, at: Timestamp, slot: u32) {
        self.0.push(Reverse((at, slot)));
    }

    /// Takes one entry that is due.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, u32)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }

    /// Drops what no connection waits for any more, once that is the greater part: deadlines that come nearer and move away
    /// again (calls with ever new timeouts) would leave an entry each.
    pub(crate) fn compact(&mut self, connections: usize, mut is_live: impl FnMut(Timestamp, u32) -> bool) {
        if self.0.len() > 2 * connections + 64 {
            self.0.retain(|Reverse((at, slot))| is_live(*at, *slot));
            self.0.shrink_to(2 * connections + 64);
        }
    }
}
