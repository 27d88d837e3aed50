//! How the encoder finds a field in its dynamic table: chains of entries, newest first, by a hash.
//!
//! Entries leave the table oldest first, so a chain is cut off where it comes to an entry that is gone, and nothing is ever removed from it. Whoever follows a
//! chain compares octets, and goes no further than [`STEPS`]: names and values that were chosen to collide cost octets on the wire, not time.

use alloc::vec;
use alloc::vec::Vec;

/// Entries that are looked at. A bucket holds one on average.
pub(super) const STEPS: u32 = 16;

#[derive(Debug)]
pub(super) struct Chains {
    /// The serial number of the newest entry in each bucket. None, or a power of two.
    newest: Vec<u32>,
    /// For each slot of the table, the serial number of the next older entry in the same bucket.
    older: Vec<u32>,
}

impl Chains {
    pub(super) const fn new() -> Self {
        Self { newest: Vec::new(), older: Vec::new() }
    }

    /// Forgets everything, and makes room for a table of `capacity` entries (a power of two) whose next serial number is `next`.
    pub(super) fn reset(&mut self, capacity: usize, next: u32) {
        let gone = next.wrapping_add(1 << 31);
        self.newest = vec![gone; capacity];
        self.older = vec![gone; capacity];
    }

    pub(super) fn push(&mut self, hash: u64, serial: u32) {
        let mask = self.newest.len().wrapping_sub(1);
        let (bucket, slot) = (hash as usize & mask, serial as usize & mask);
        if let (Some(newest), Some(older)) = (self.newest.get_mut(bucket), self.older.get_mut(slot)) {
            *older = *newest;
            *newest = serial;
        }
    }

    /// The newest entry that may have this hash.
    #[inline]
    pub(super) fn newest(&self, hash: u64) -> Option<u32> {
        self.newest.get(hash as usize & self.newest.len().wrapping_sub(1)).copied()
    }

    /// The next older one.
    #[inline]
    pub(super) fn older(&self, serial: u32) -> Option<u32> {
        self.older.get(serial as usize & self.older.len().wrapping_sub(1)).copied()
    }
}

/// A multiplicative hash of `octets`, sixteen at a time. `seed` is 0, or the hash of what comes before.
#[inline]
pub(super) const fn hash(seed: u64, octets: &[u8]) -> u64 {
    let mut hash = seed;
    let mut rest = octets;
    while rest.len() > 16
        && let Some((words, tail)) = rest.split_first_chunk()
    {
        let (low, high) = halves(words);
        hash = mix(low, high ^ hash);
        rest = tail;
    }
    // The last one to sixteen octets; loads may overlap each other and what was seen before.
    let (low, high) = if let Some(words) = octets.last_chunk() {
        halves(words)
    } else if let (Some(low), Some(high)) = (octets.first_chunk(), octets.last_chunk()) {
        (u64::from_le_bytes(*low), u64::from_le_bytes(*high))
    } else if let (Some(low), Some(high)) = (octets.first_chunk(), octets.last_chunk()) {
        (u32::from_le_bytes(*low) as u64, u32::from_le_bytes(*high) as u64)
    } else if let [first, .., last] = octets {
        (*first as u64 | (octets[octets.len() / 2] as u64) << 8, *last as u64)
    } else if let [only] = octets {
        (*only as u64, 0)
    } else {
        (0, 0)
    };
    mix(low ^ octets.len() as u64, high ^ hash)
}

#[inline]
const fn halves(octets: &[u8; 16]) -> (u64, u64) {
    let words = u128::from_le_bytes(*octets);
    (words as u64, (words >> 64) as u64)
}

#[inline]
const fn mix(low: u64, high: u64) -> u64 {
    let product = (low ^ 0x2d35_8dcc_aa6c_78a5) as u128 * (high ^ 0x8bb8_4b93_962e_acc9) as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_go_from_new_to_old() {
        let mut chains = Chains::new();
        assert_eq!((chains.newest(3), chains.older(3)), (None, None));
        chains.reset(8, 0);
        for serial in 0..20 {
            chains.push(u64::from(serial % 2), serial);
        }
        for bucket in 0..2 {
            let newest = chains.newest(bucket);
            assert_eq!(newest, Some(18 + bucket as u32));
            let mut serial = newest;
            for step in 0..3 {
                assert_eq!(serial, newest.map(|newest| newest - 2 * step), "step {step}");
                serial = serial.and_then(|serial| chains.older(serial));
            }
        }
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
