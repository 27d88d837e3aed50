//! Where the encoder may find a field in its dynamic table.
//!
//! A hint is a guess: whoever follows it compares the octets. So hints of evicted entries need no removal, and when too many fields share
//! a bucket the oldest hint is overwritten, which costs a few octets on the wire, never time: no choice of names makes a look-up longer than [`WAYS`] steps.

use alloc::vec;
use alloc::vec::Vec;

/// Hints in a bucket.
const WAYS: usize = 4;

/// A multiplicative hash of `octets`, eight at a time. `seed` is 0, or the hash of what comes before.
pub(super) const fn hash(seed: u64, octets: &[u8]) -> u64 {
    let mut hash = seed ^ octets.len() as u64;
    let mut rest = octets;
    while let Some((word, tail)) = rest.split_first_chunk() {
        hash = mix(hash ^ u64::from_le_bytes(*word));
        rest = tail;
    }
    // The last one to seven octets; loads may overlap what was seen before.
    let last = if rest.is_empty() {
        0
    } else if let Some(word) = octets.last_chunk() {
        u64::from_le_bytes(*word)
    } else if let (Some(low), Some(high)) = (octets.first_chunk(), octets.last_chunk()) {
        u32::from_le_bytes(*low) as u64 | (u32::from_le_bytes(*high) as u64) << 32
    } else {
        rest[0] as u64 | (rest[rest.len() / 2] as u64) << 8 | (rest[rest.len() - 1] as u64) << 16
    };
    mix(hash ^ last)
}

const fn mix(word: u64) -> u64 {
    let product = (word ^ 0x2d35_8dcc_aa6c_78a5) as u128 * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

#[derive(Clone, Copy, Debug)]
struct Hint {
    hash: u32,
    serial: u32,
}

#[derive(Debug)]
pub(super) struct Hints {
    /// None, or a power of two.
    buckets: Vec<[Hint; WAYS]>,
}

impl Hints {
    pub(super) const fn new() -> Self {
        Self { buckets: Vec::new() }
    }

    /// Forgets everything, and makes room for a table of `entries` (a power of two): two hints for each, by its name and by the whole field.
    pub(super) fn reset(&mut self, entries: usize, next_serial: u32) {
        // As old as can be.
        let none = Hint { hash: 0, serial: next_serial.wrapping_add(1 << 31) };
        self.buckets = vec![[none; WAYS]; (2 * entries).div_ceil(WAYS)];
    }

    /// Serial numbers that may belong to something with this hash.
    #[inline]
    pub(super) fn find(&self, hash: u32) -> impl Iterator<Item = u32> {
        let bucket = self.buckets.get(self.place(hash)).into_iter().flatten();
        bucket.filter(move |hint| hint.hash == hash).map(|hint| hint.serial)
    }

    pub(super) fn put(&mut self, hash: u32, serial: u32) {
        let place = self.place(hash);
        let Some(bucket) = self.buckets.get_mut(place) else { return };
        if let Some(worst) = bucket.iter_mut().max_by_key(|hint| (hint.hash == hash, serial.wrapping_sub(hint.serial))) {
            *worst = Hint { hash, serial };
        }
    }

    fn place(&self, hash: u32) -> usize {
        hash as usize & self.buckets.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_with_a_hash_wins_and_a_full_bucket_drops_its_oldest() {
        let mut hints = Hints::new();
        assert_eq!(hints.find(7).count(), 0);
        hints.reset(8, 0);
        hints.put(7, 0);
        hints.put(7, 1);
        assert_eq!(hints.find(7).collect::<Vec<_>>(), [1]);
        // 8 entries make 4 buckets, chosen by the low two bits.
        for (hash, serial) in [(11, 2), (15, 3), (19, 4), (23, 5)] {
            hints.put(hash, serial);
        }
        assert_eq!(hints.find(7).count(), 0);
        assert_eq!(hints.find(11).collect::<Vec<_>>(), [2]);
        assert_eq!(hints.find(23).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_hash_depends_on_every_octet_and_on_the_length() {
        for len in 0..40 {
            let octets = vec![b'a'; len];
            assert_ne!(hash(0, &octets), hash(0, &vec![b'a'; len + 1]), "{len}");
            assert_ne!(hash(0, &octets), hash(1, &octets), "{len}");
            for at in 0..len {
                let mut other = octets.clone();
                other[at] = b'b';
                assert_ne!(hash(0, &octets), hash(0, &other), "octet {at} of {len}");
            }
        }
    }
}
