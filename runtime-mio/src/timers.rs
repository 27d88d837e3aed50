//! One heap of deadlines for all connections of a loop. Entries are not removed when a connection's deadline moves: the owner
//! remembers the earliest one that is in the heap, and what does not match it when it comes up is skipped.

use pintle_core::Timestamp;
use std::{cmp::Reverse, collections::BinaryHeap};

#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Timestamp, u32)>>);

impl Timers {
    /// The earliest time that a connection waits for. Entries before it that none waits for any more are dropped: a loop
    /// without deadlines needs no arithmetic on them, and does not wake for nothing.
    #[inline]
    pub(crate) fn next(&mut self, mut is_live: impl FnMut(Timestamp, u32) -> bool) -> Option<Timestamp> {
        loop {
            let Reverse((at, slot)) = *self.0.peek()?;
            if is_live(at, slot) {
                return Some(at);
            }
            self.0.pop();
        }
    }

    pub(crate) fn push(&mut self, at: Timestamp, slot: u32) {
        self.0.push(Reverse((at, slot)));
    }

    /// Takes one entry that is due.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, u32)> {
        if self.0.peek()?.0.0 > now {
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

#[cfg(test)]
mod tests {
    use super::Timers;
    use pintle_core::Timestamp;

    #[test]
    fn entries_come_in_order_and_stale_ones_do_not_pile_up() {
        let at = Timestamp::from_micros;
        let mut timers = Timers::default();
        for n in (1..=1_000).rev() {
            timers.push(at(n), 1);
            timers.compact(1, |when, slot| (when, slot) == (at(n), 1));
            assert!(timers.0.len() <= 66, "one connection, {} entries", timers.0.len());
        }
        assert_eq!(timers.next(|_, _| true), Some(at(1)));
        assert_eq!(timers.pop_due(at(0)), None);
        assert_eq!(timers.pop_due(at(5)), Some((at(1), 1)));
        timers.push(at(3), 2);
        timers.push(at(4), 3);
        assert_eq!(timers.next(|_, slot| slot == 3), Some(at(4)));
        assert_eq!(timers.pop_due(at(5)), Some((at(4), 3)), "what nobody waits for is gone");
    }
}
