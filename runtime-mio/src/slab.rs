//! Connections by number, with generations so that a late command never meets another connection.

/// Entries below which memory is not given back.
const FEW: usize = 64;

/// Names an entry until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) slot: u32,
    generation: u32,
}

impl Key {
    /// As a number that no other entry has.
    pub(crate) const fn number(self) -> u64 {
        (self.generation as u64) << 32 | self.slot as u64
    }
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    /// `None`: free.
    value: Option<T>,
}

#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    /// Of new entries.
    generation: u32,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), generation: 0 }
    }

    /// Entries in use.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { generation: self.generation, value: None });
            u32::try_from(self.entries.len() - 1).expect("descriptors are fewer than 2^32")
        });
        let entry = &mut self.entries[slot as usize];
        let key = Key { slot, generation: entry.generation };
        entry.value = Some(make(key));
        key
    }

    pub(crate) fn at(&mut self, slot: u32) -> Option<&mut T> {
        self.entries.get_mut(slot as usize)?.value.as_mut()
    }

    /// The slot of the entry with this number, if it is still that one.
    pub(crate) fn find(&self, number: u64) -> Option<u32> {
        let slot = u32::try_from(number & u64::from(u32::MAX)).ok()?;
        let entry = self.entries.get(slot as usize)?;
        (u64::from(entry.generation) == number >> 32).then_some(slot)
    }

    /// Drops an entry; its place is free.
    pub(crate) fn remove(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.value = None;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(slot);
        if self.len() == 0 && self.entries.len() > FEW {
            // After a rush its memory goes back; new entries must not look like old ones.
            let newest = self.entries.iter().map(|entry| entry.generation).max();
            *self = Self { generation: newest.unwrap_or_default(), ..Self::new() };
        }
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + use<T> {
        0..u32::try_from(self.entries.len()).expect("descriptors are fewer than 2^32")
    }
}

#[cfg(test)]
mod tests {
    use super::Slab;

    #[test]
    fn a_late_key_finds_nothing() {
        let mut slab = Slab::new();
        let first = slab.insert(|_| 'a');
        slab.remove(first.slot);
        let second = slab.insert(|_| 'b');
        assert_eq!(first.slot, second.slot, "places are used again");
        assert_eq!((slab.find(first.number()), slab.find(second.number())), (None, Some(second.slot)));
        assert_eq!(slab.find(u64::MAX), None);
    }

    #[test]
    fn after_a_rush_memory_goes_back_and_keys_stay_unique() {
        let mut slab = Slab::new();
        let keys: Vec<_> = (0..1_000).map(|n| slab.insert(|_| n)).collect();
        keys.iter().for_each(|key| slab.remove(key.slot));
        assert_eq!((slab.len(), slab.entries.capacity()), (0, 0));
        let new = slab.insert(|_| 0);
        assert!(keys.iter().all(|key| slab.find(key.number()).is_none()));
        assert_eq!(slab.find(new.number()), Some(new.slot));
    }
}
