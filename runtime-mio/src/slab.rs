//! Connections by number, with generations so that a late command never meets another connection.

/// Names an entry until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) slot: u32,
    generation: u32,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    /// `None`: free, or taken out for a moment.
    value: Option<T>,
}

#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    /// Entries in use, taken ones included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { generation: 0, value: None });
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

    pub(crate) fn get(&mut self, key: Key) -> Option<&mut T> {
        let entry = self.entries.get_mut(key.slot as usize).filter(|entry| entry.generation == key.generation)?;
        entry.value.as_mut()
    }

    /// Takes an entry out; `put` brings it back, `remove` frees its place.
    pub(crate) fn take(&mut self, slot: u32) -> Option<T> {
        self.entries.get_mut(slot as usize)?.value.take()
    }

    pub(crate) fn put(&mut self, slot: u32, value: T) {
        self.entries[slot as usize].value = Some(value);
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.value = None;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(slot);
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + use<T> {
        0..u32::try_from(self.entries.len()).expect("descriptors are fewer than 2^32")
    }
}
