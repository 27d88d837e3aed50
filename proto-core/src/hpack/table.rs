//! The dynamic table (RFC 7541 §2.3.2, §4): fields, newest first, of a bounded size.
//!
//! Two rings: of entries, and of the octets of their fields, each field in one piece. Neither has anything until the first insertion, and
//! both grow with use, so that an idle connection costs little. At most they take twice `max` octets, and 16 octets for each 32 of `max`
//! (rounded up to a power of two).

use alloc::vec;
use alloc::vec::Vec;

use super::LARGEST_TABLE;
use crate::steps::Steps;

/// Octets that an entry counts beyond its name and value (RFC 7541 §4.1).
const OVERHEAD: usize = 32;

const FIRST_ENTRIES: usize = 8;
const FIRST_OCTETS: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// A word of the table's user.
    pub(super) word: u32,
    offset: u32,
    name_len: u32,
    value_len: u32,
}

impl Entry {
    #[inline]
    fn len(self) -> usize {
        self.name_len as usize + self.value_len as usize
    }

    /// Octets of the ring that it occupies: never none, so that no two entries share an offset.
    fn footprint(self) -> usize {
        self.len().max(1)
    }
}

#[derive(Debug)]
pub(super) struct Table {
    /// The entry with the serial number `n` is at `n % entries.len()`, which is 0 or a power of two.
    entries: Vec<Entry>,
    octets: Vec<u8>,
    /// Where the next field's octets go, if they fit there.
    write: usize,
    /// The serial number of the newest entry. Numbers wrap around.
    newest: u32,
    count: usize,
    size: usize,
    max: usize,
    generation: u32,
    steps: Steps,
}

impl Table {
    pub(super) const fn new(max: usize) -> Self {
        Self {
            entries: Vec::new(),
            octets: Vec::new(),
            write: 0,
            newest: u32::MAX,
            count: 0,
            size: 0,
            max,
            generation: 0,
            steps: Steps::new(),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The size by RFC 7541 §4.1, never above [`max`](Self::max).
    pub(super) fn size(&self) -> usize {
        self.size
    }

    #[inline]
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Changes with the contents and with `max`.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    pub(super) fn touch(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    /// Slots for entries; changes only by [`insert`](Self::insert) and [`set_max`](Self::set_max).
    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// The serial number that the next insertion gets.
    #[inline]
    pub(super) fn next_serial(&self) -> u32 {
        self.newest.wrapping_add(1)
    }

    /// How many insertions older than the newest the entry with this serial number is, or was.
    #[inline]
    pub(super) fn age(&self, serial: u32) -> usize {
        self.newest.wrapping_sub(serial) as usize
    }

    /// The entry that is `age` insertions older than the newest.
    #[inline]
    pub(super) fn get(&self, age: usize) -> Option<&Entry> {
        if age >= self.count {
            return None;
        }
        self.entries.get(self.slot(age))
    }

    /// Name and value of an entry of this table that is still there.
    #[inline]
    pub(super) fn field(&self, entry: &Entry) -> (&[u8], &[u8]) {
        let offset = entry.offset as usize;
        self.octets[offset..offset + entry.len()].split_at(entry.name_len as usize)
    }

    /// Newest first.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.count).filter_map(|age| self.get(age)).map(|entry| self.field(entry))
    }

    /// Whether a field fits, after eviction.
    pub(super) fn admits(&self, name: &[u8], value: &[u8]) -> bool {
        name.len() + value.len() + OVERHEAD <= self.max
    }

    /// Inserts a field, after evicting what must go. One that is larger than the table only empties it (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, word: u32, name: &[u8], value: &[u8]) {
        self.touch();
        self.steps.octets(name.len() + value.len());
        let size = name.len() + value.len() + OVERHEAD;
        if size > self.max {
            self.evict_to(0);
            return;
        }
        self.evict_to(self.max - size + if fault!("eviction_late") { OVERHEAD } else { 0 });
        let mut entry = Entry { word, offset: 0, name_len: name.len() as u32, value_len: value.len() as u32 };
        let offset = self.make_room(entry.footprint());
        entry.offset = offset as u32;
        self.octets[offset..offset + name.len()].copy_from_slice(name);
        self.octets[offset + name.len()..offset + entry.len()].copy_from_slice(value);
        self.write = offset + entry.footprint();

        if self.count == self.entries.len() {
            self.grow_entries();
        }
        self.newest = self.newest.wrapping_add(1);
        let slot = self.slot(0);
        self.entries[slot] = entry;
        self.count += 1;
        self.size += size;
    }

    /// Changes the largest size, and evicts what no longer fits (RFC 7541 §4.3).
    pub(super) fn set_max(&mut self, max: usize) {
        debug_assert!(max <= LARGEST_TABLE, "sizes are checked before");
        if max == self.max {
            return;
        }
        self.touch();
        self.max = max;
        self.evict_to(max);
        if max == 0 {
            self.entries = Vec::new();
            self.octets = Vec::new();
        }
    }

    #[inline]
    fn slot(&self, age: usize) -> usize {
        // Wraps to a huge number, and by the mask to a slot, also when there are no slots yet.
        self.newest.wrapping_sub(age as u32) as usize & self.entries.len().wrapping_sub(1)
    }

    fn oldest(&self) -> Option<Entry> {
        self.get(self.count.checked_sub(1)?).copied()
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            self.steps.add(1);
            let oldest = self.oldest().expect("a table with a size has entries");
            self.size -= oldest.len() + OVERHEAD;
            self.count -= 1;
        }
    }

    /// Where `len` octets go that are in nobody's way.
    fn make_room(&mut self, len: usize) -> usize {
        if let Some(offset) = self.room(len) {
            return offset;
        }
        self.grow_octets(len);
        self.write
    }

    fn room(&self, len: usize) -> Option<usize> {
        let end = self.octets.len();
        let Some(oldest) = self.oldest() else { return (len <= end).then_some(0) };
        let first = oldest.offset as usize;
        if self.write <= first {
            return (self.write + len <= first).then_some(self.write);
        }
        // A field is in one piece: what is left at the end stays unused until the ring comes around. Two times `max` are always
        // enough for that: neither the rest at the end nor the contents are larger than `max`.
        if self.write + len <= end { Some(self.write) } else { (len <= first).then_some(0) }
    }

    /// Moves everything to a larger ring, oldest first.
    #[cold]
    fn grow_octets(&mut self, len: usize) {
        let wanted = (2 * self.octets.len()).max(FIRST_OCTETS).min(2 * self.max);
        let live = self.size - OVERHEAD * self.count + self.count;
        let mut octets = vec![0; wanted.max(live + len)];
        let mut write = 0;
        for age in (0..self.count).rev() {
            let slot = self.slot(age);
            let entry = &mut self.entries[slot];
            let (from, len) = (entry.offset as usize, entry.len());
            octets[write..write + len].copy_from_slice(&self.octets[from..from + len]);
            entry.offset = write as u32;
            write += entry.footprint();
        }
        self.octets = octets;
        self.write = write;
    }

    #[cold]
    fn grow_entries(&mut self) {
        let mut entries = vec![Entry::default(); (2 * self.entries.len()).max(FIRST_ENTRIES)];
        let mask = entries.len() - 1;
        for age in 0..self.count {
            let serial = self.newest.wrapping_sub(age as u32) as usize;
            entries[serial & mask] = self.entries[serial & (self.entries.len() - 1)];
        }
        self.entries = entries;
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use super::*;

    /// The table as RFC 7541 §4 describes it.
    #[derive(Default)]
    struct Model {
        fields: VecDeque<(Vec<u8>, Vec<u8>)>,
        max: usize,
    }

    impl Model {
        fn size(&self) -> usize {
            self.fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
        }

        fn insert(&mut self, name: Vec<u8>, value: Vec<u8>) {
            self.fields.push_front((name, value));
            self.evict();
        }

        fn evict(&mut self) {
            while self.size() > self.max {
                self.fields.pop_back();
            }
        }
    }

    /// xorshift, so that the test needs nothing and always does the same.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % limit as u64) as usize
        }

        fn octets(&mut self, longest: usize) -> Vec<u8> {
            let len = self.below(longest + 1);
            (0..len).map(|_| self.below(256) as u8).collect()
        }
    }

    fn check(table: &Table, model: &Model) {
        let fields: Vec<_> = table.fields().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        assert_eq!(fields, Vec::from(model.fields.clone()));
        assert_eq!(table.size(), model.size());
        assert_eq!(table.count(), model.fields.len());
        assert!(table.get(table.count()).is_none());
    }

    #[test]
    fn random_insertions_agree_with_the_model_and_keep_the_memory_bound() {
        for (seed, max, longest) in [(1, 4096, 40), (2, 4096, 0), (3, 4096, 1), (4, 300, 150), (5, 4097, 2500), (6, 33, 1), (7, 65536, 300)]
        {
            let mut random = Random(seed);
            let mut table = Table::new(max);
            table.newest = u32::MAX - 1000;
            let mut model = Model { max, ..Model::default() };
            for _ in 0..5000 {
                let (name, value) = (random.octets(longest), random.octets(longest));
                table.insert(0, &name, &value);
                model.insert(name, value);
                check(&table, &model);
                assert!(table.octets.len() <= 2 * max, "{} octets for {max}", table.octets.len());
                assert!(
                    table.entries.len() <= (max / 32).next_power_of_two().max(FIRST_ENTRIES),
                    "{} entries for {max}",
                    table.entries.len()
                );
            }
        }
    }

    /// Once it is twice as large as the table the ring is never nearly full; before that it is.
    #[test]
    fn a_ring_that_still_grows_is_used_to_the_last_octet() {
        let mut full = 0;
        for seed in 1..3000 {
            let mut random = Random(seed * 0x9e37_79b9);
            let max = 280 + random.below(100);
            let mut table = Table::new(max);
            let mut model = Model { max, ..Model::default() };
            while table.octets.len() <= FIRST_OCTETS {
                let (name, value) = (random.octets(60), random.octets(60));
                table.insert(0, &name, &value);
                model.insert(name, value);
                check(&table, &model);
                full += usize::from(table.oldest().is_some_and(|oldest| table.count > 1 && oldest.offset as usize == table.write));
                if random.below(200) == 0 {
                    break;
                }
            }
        }
        assert!(full > 10, "full {full} times");
    }

    #[test]
    fn random_sizes_agree_with_the_model() {
        let mut random = Random(8);
        let mut table = Table::new(4096);
        let mut model = Model { max: 4096, ..Model::default() };
        for _ in 0..5000 {
            if random.below(8) == 0 {
                let max = [0, 31, 32, 33, 100, 1000, 4096][random.below(7)];
                table.set_max(max);
                model.max = max;
                model.evict();
                check(&table, &model);
            }
            let (name, value) = (random.octets(20), random.octets(100));
            let generation = table.generation();
            table.insert(0, &name, &value);
            model.insert(name, value);
            assert_ne!(table.generation(), generation);
            check(&table, &model);
        }
    }

    #[test]
    fn nothing_is_allocated_before_the_first_insertion() {
        let table = Table::new(4096);
        assert_eq!((table.entries.capacity(), table.octets.capacity()), (0, 0));
    }
}
