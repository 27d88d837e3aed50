//! Wire stream id → slot.
//!
//! Ids of one side grow by two, so a direct-mapped ring answers nearly always; ids that collide with one
//! still open go to an ordered map. Both are bounded by the stream limit, and neither hashes: ids are the peer's choice.

use alloc::{collections::BTreeMap, vec::Vec};

#[derive(Debug, Clone, Copy)]
struct Entry {
    id: u32,
    slot: u32,
}

const FREE: Entry = Entry { id: 0, slot: 0 };
const SMALL: usize = 16;

#[derive(Debug)]
pub(crate) struct StreamMap {
    ring: Vec<Entry>,
    overflow: BTreeMap<u32, u32>,
    limit: usize,
}

impl StreamMap {
    /// `streams`: how many may be open at once; the ring grows up to about that size.
    pub(crate) fn new(streams: usize) -> Self {
        Self { ring: Vec::new(), overflow: BTreeMap::new(), limit: streams.clamp(SMALL, 4096).next_power_of_two() }
    }

    #[inline]
    fn place(&self, id: u32) -> usize {
        (id >> 1) as usize & self.ring.len().wrapping_sub(1)
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<u32> {
        match self.ring.get(self.place(id)) {
            Some(entry) if entry.id == id => Some(entry.slot),
            _ if self.overflow.is_empty() => None,
            _ => self.overflow.get(&id).copied(),
        }
    }

    /// Adds an id that is not there and not 0.
    #[inline]
    pub(crate) fn insert(&mut self, id: u32, slot: u32) {
        let place = self.place(id);
        match self.ring.get_mut(place) {
            Some(entry) if entry.id == 0 => *entry = Entry { id, slot },
            _ => self.insert_crowded(id, slot),
        }
    }

    #[cold]
    fn insert_crowded(&mut self, id: u32, slot: u32) {
        if self.ring.len() >= self.limit {
            self.overflow.insert(id, slot);
            return;
        }
        let size = if self.ring.is_empty() { SMALL } else { self.ring.len() * 2 };
        let old = core::mem::replace(&mut self.ring, alloc::vec![FREE; size]);
        let spilled = core::mem::take(&mut self.overflow);
        for entry in old.into_iter().filter(|e| e.id != 0) {
            self.insert(entry.id, entry.slot);
        }
        for (id, slot) in spilled {
            self.insert(id, slot);
        }
        self.insert(id, slot);
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, id: u32) {
        let place = self.place(id);
        match self.ring.get_mut(place) {
            Some(entry) if entry.id == id => *entry = FREE,
            _ => {
                self.overflow.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a plain ordered map: windows of ids that slide, with stragglers that collide.
    #[test]
    fn agrees_with_an_ordered_map() {
        let mut map = StreamMap::new(100);
        let mut model = BTreeMap::new();
        let mut overflowed = 0;
        for round in 0..20_000_u32 {
            let id = round * 2 + 1;
            map.insert(id, round);
            model.insert(id, round);
            overflowed += usize::from(!map.overflow.is_empty());
            if model.len() > 90 {
                // Every seventh stream stays open a long time.
                let short = model.keys().find(|id| *id / 2 % 7 != 0 || *id + 2_000 < round * 2);
                let gone = *short.or(model.keys().next()).expect("90 are open");
                map.remove(gone);
                model.remove(&gone);
            }
            if round % 64 == 0 {
                for probe in (1..round * 2 + 9).rev().take(600) {
                    assert_eq!(map.get(probe), model.get(&probe).copied(), "id {probe}");
                }
            }
        }
        assert!(overflowed > 0, "the overflow map was never used");
        assert!(map.ring.len() <= 128);
    }
}
