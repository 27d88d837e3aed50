//! Fields to field blocks (RFC 7541 §6).

use alloc::vec::Vec;

use super::hint::{Hints, hash};
use super::static_table::{self, Named};
use super::table::Table;
use super::{DEFAULT_TABLE, LARGEST_TABLE, huffman, int};

/// What a field that is not in a table yet does to the dynamic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// It is inserted, so that it takes one or two octets next time: for fields that come again.
    Add,
    /// It is not: for fields that differ each time, such as `grpc-timeout`.
    Without,
    /// It is not, is not looked for either, and no intermediary may insert it: for secrets (RFC 7541 §7.1.3).
    Never,
}

/// Encodes the field blocks of one direction of a connection.
///
/// For each block call [`begin`](Self::begin), then [`field`](Self::field) for each field. The blocks must go out whole and in the order in which they were
/// encoded. Memory is bounded by about 3.5 times the table's size; nothing is allocated before the first insertion.
#[derive(Debug)]
pub struct Encoder {
    /// The word of an entry is the hash of its field.
    table: Table,
    hints: Hints,
    cap: usize,
    /// The size that the peer's decoder has, after the last block.
    told: usize,
    /// The smallest size since the last block.
    lowest: usize,
}

impl Encoder {
    /// An encoder whose table takes at most `cap` octets (0..=2^28, more counts as 2^28), however much the peer offers.
    ///
    /// It begins with 4,096 octets, the size that every peer has before its SETTINGS are known, or with `cap` if that is less.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        let cap = cap.min(LARGEST_TABLE);
        let size = cap.min(DEFAULT_TABLE);
        Self { table: Table::new(size), hints: Hints::new(), cap, told: DEFAULT_TABLE, lowest: size }
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE is `limit` octets. The table takes the smaller of it and `cap`, from now on: call it before the acknowledgement is
    /// sent. The next block tells the peer (RFC 9113 §4.3.1).
    pub fn set_peer_limit(&mut self, limit: u32) {
        let size = usize::try_from(limit).unwrap_or(usize::MAX).min(self.cap);
        self.table.set_max(size);
        self.lowest = self.lowest.min(size);
    }

    /// Begins a block: changes of the table's size since the last one come first, the smallest and then the last (RFC 7541 §4.2).
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.told != self.table.max() || self.lowest < self.told {
            self.tell_size(out);
        }
    }

    /// Appends one field: an index if a table has the field, else a literal.
    ///
    /// `name` must be in lower case (RFC 9113 §8.2.1); no check of name or value is made here. A field larger than the table is not
    /// inserted, as that would only empty it.
    #[inline]
    pub fn field(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8], indexing: Indexing) {
        let name_hash = hash(0, name);
        let field_hash = hash(name_hash, value) as u32;
        // What the static table has is never inserted, so it does not matter which is asked first.
        if indexing != Indexing::Never
            && let Some(index) = self.find(field_hash, |field| field == (name, value))
        {
            return int::encode(out, 0x80, 7, index);
        }
        let named = static_table::find(name_hash, name);
        if indexing != Indexing::Never
            && let Some(index) = named.and_then(|named| named.with_value(value))
        {
            return out.push(0x80 | index);
        }
        self.literal(out, name, value, named, indexing, [name_hash as u32, field_hash]);
    }

    /// Changes whenever the table's contents or its size change, and while a size update is to be sent: as long as it stays, the same fields are encoded
    /// to the same octets.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.table.generation()
    }

    /// Size of the dynamic table now, as RFC 7541 §4.1 counts it, in octets.
    #[must_use]
    pub fn table_size(&self) -> usize {
        self.table.size()
    }

    /// Name and value of the dynamic entries, newest first.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.table.fields()
    }

    #[cold]
    fn tell_size(&mut self, out: &mut Vec<u8>) {
        let size = self.table.max();
        if self.lowest < self.told && self.lowest < size {
            int::encode(out, 0x20, 5, self.lowest);
        }
        int::encode(out, 0x20, 5, size);
        self.told = size;
        self.lowest = size;
        self.table.touch();
    }

    /// The index of a dynamic entry with this hash that is `wanted`.
    #[inline]
    fn find(&self, hash: u32, wanted: impl Fn((&[u8], &[u8])) -> bool) -> Option<usize> {
        self.hints.find(hash).find_map(|serial| {
            let age = self.table.next_serial().wrapping_sub(1).wrapping_sub(serial) as usize;
            let entry = self.table.get(age)?;
            wanted(self.table.field(entry)).then_some(usize::from(static_table::LEN) + 1 + age)
        })
    }

    #[inline(never)]
    fn literal(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8], named: Option<Named>, indexing: Indexing, hashes: [u32; 2]) {
        let adds = indexing == Indexing::Add && self.table.admits(name, value);
        let (flags, prefix) = match indexing {
            _ if adds => (0x40, 6),
            Indexing::Never => (0x10, 4),
            Indexing::Add | Indexing::Without => (0x00, 4),
        };
        let name_index = match named {
            Some(named) => Some(usize::from(named.first)),
            None => self.find(hashes[0], |field| field.0 == name),
        };
        int::encode(out, flags, prefix, name_index.unwrap_or(0));
        if name_index.is_none() {
            string(out, name);
        }
        string(out, value);
        if adds {
            self.insert(name, value, hashes);
        }
    }

    fn insert(&mut self, name: &[u8], value: &[u8], hashes: [u32; 2]) {
        let (serial, capacity) = (self.table.next_serial(), self.table.capacity());
        self.table.insert(hashes[1], name, value);
        if self.table.capacity() == capacity {
            return hashes.iter().for_each(|&hash| self.hints.put(hash, serial));
        }
        self.hints.reset(self.table.capacity(), self.table.next_serial());
        for age in (0..self.table.count()).rev() {
            let Some(entry) = self.table.get(age) else { break };
            let (name, _) = self.table.field(entry);
            let serial = self.table.next_serial().wrapping_sub(1).wrapping_sub(age as u32);
            self.hints.put(hash(0, name) as u32, serial);
            self.hints.put(entry.word, serial);
        }
    }
}

/// A string literal, Huffman-coded if that is shorter.
fn string(out: &mut Vec<u8>, octets: &[u8]) {
    let coded = huffman::encode_len(octets);
    if coded < octets.len() {
        int::encode(out, 0x80, 7, coded);
        huffman::encode(octets, out);
    } else {
        int::encode(out, 0x00, 7, octets.len());
        out.extend_from_slice(octets);
    }
}
