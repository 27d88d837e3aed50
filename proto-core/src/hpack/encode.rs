//! Fields to field blocks (RFC 7541 §6).

use alloc::vec::Vec;

use super::lookup::{Chains, STEPS, hash};
use super::static_table::{self, Named};
use super::table::{Entry, Table};
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
    by_field: Chains,
    by_name: Chains,
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
        Self { table: Table::new(size), by_field: Chains::new(), by_name: Chains::new(), cap, told: DEFAULT_TABLE, lowest: size }
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
        if (self.told != self.table.max() || self.lowest < self.told) && !fault!("table_update_lost") {
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
        let field_hash = hash(name_hash, value);
        // What the static table has is never inserted, so it does not matter which is asked first.
        if indexing != Indexing::Never
            && let Some(index) =
                self.find(&self.by_field, field_hash, |entry| entry.word == field_hash as u32 && self.table.field(entry) == (name, value))
        {
            return int::encode(out, 0x80, 7, index);
        }
        let named = static_table::find(name_hash, name);
        if indexing != Indexing::Never
            && let Some(index) = named.and_then(|named| named.with_value(value))
        {
            return out.push(0x80 | index);
        }
        self.literal(out, name, value, named, indexing, [name_hash, field_hash]);
    }

    /// Changes whenever the table's contents or its size change, and while a size update is to be sent: as long as it stays, the same fields are encoded
    /// to the same octets.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.table.generation()
    }

    /// Work done so far in its table.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn steps(&self) -> u64 {
        self.table.steps()
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

    /// The index of the newest entry of a chain that is `wanted`.
    #[inline]
    fn find(&self, chains: &Chains, hash: u64, wanted: impl Fn(&Entry) -> bool) -> Option<usize> {
        let mut serial = chains.newest(hash)?;
        for _ in 0..STEPS {
            let age = self.table.age(serial);
            if wanted(self.table.get(age)?) {
                return Some(usize::from(static_table::LEN) + 1 + age);
            }
            serial = chains.older(serial)?;
        }
        None
    }

    #[inline(never)]
    fn literal(
        &mut self,
        out: &mut Vec<u8>,
        name: &[u8],
        value: &[u8],
        named: Option<Named>,
        indexing: Indexing,
        [name_hash, field_hash]: [u64; 2],
    ) {
        let adds = indexing == Indexing::Add && self.table.admits(name, value);
        let (flags, prefix) = match indexing {
            _ if adds => (0x40, 6),
            Indexing::Never => (0x10, 4),
            Indexing::Add | Indexing::Without => (0x00, 4),
        };
        let name_index = match named {
            Some(named) => Some(usize::from(named.first)),
            None => self.find(&self.by_name, name_hash, |entry| self.table.field(entry).0 == name),
        };
        int::encode(out, flags, prefix, name_index.unwrap_or(0));
        if name_index.is_none() {
            string(out, name);
        }
        string(out, value);
        if adds {
            self.insert(name, value, [name_hash, field_hash]);
        }
    }

    fn insert(&mut self, name: &[u8], value: &[u8], [name_hash, field_hash]: [u64; 2]) {
        let (serial, capacity) = (self.table.next_serial(), self.table.capacity());
        self.table.insert(field_hash as u32, name, value);
        if self.table.capacity() != capacity {
            return self.rebuild();
        }
        self.by_field.push(field_hash, serial);
        self.by_name.push(name_hash, serial);
    }

    /// Chains for a table that has grown.
    #[cold]
    fn rebuild(&mut self) {
        let next = self.table.next_serial();
        self.by_field.reset(self.table.capacity(), next);
        self.by_name.reset(self.table.capacity(), next);
        for age in (0..self.table.count()).rev() {
            let Some(entry) = self.table.get(age) else { break };
            let (name, _) = self.table.field(entry);
            let serial = next.wrapping_sub(1).wrapping_sub(age as u32);
            self.by_name.push(hash(0, name), serial);
            // The low half of the hash chooses the bucket.
            self.by_field.push(u64::from(entry.word), serial);
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
