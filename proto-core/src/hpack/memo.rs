//! Huffman-coded literals that were seen before, by their octets on the wire.
//!
//! Many clients send the same few fields as literals in each request, `:path` above all, Huffman-coded and never in the table. Recognising the
//! octets saves decoding them, and asking again what they mean. For plain literals it would save nothing: they are kept out.

use alloc::vec::Vec;

use super::decode::Tag;
use super::lookup::hash;

const LITERALS: usize = 4;

/// Longer literals are not kept: with them a connection keeps about 1.5 KB.
const MAX_WIRE: usize = 128;

#[derive(Debug)]
pub(super) struct Memo {
    /// Hashes of the octets of `literals`, apart because they are looked at for each literal.
    hashes: [u32; LITERALS],
    literals: Vec<Literal>,
    /// Hashes of literals that came once. Only what comes again is kept, so that fields that differ each time cost little and displace nothing.
    once: [u32; 8],
    /// Who is looked at first when a place is needed.
    hand: usize,
}

#[derive(Debug)]
struct Literal {
    /// The literal as on the wire, then its name, then its value.
    octets: Vec<u8>,
    wire_len: usize,
    name_len: usize,
    tag: Tag,
    /// Found since the hand came by: spared once.
    used: bool,
}

/// A literal that is worth keeping, and its hash.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    wire: &'a [u8],
    hash: u32,
}

impl<'a> Candidate<'a> {
    /// The octets of a literal whose meaning does not depend on the dynamic table.
    #[inline]
    pub(super) fn new(wire: &'a [u8]) -> Option<Self> {
        (wire.len() <= MAX_WIRE).then(|| Self { wire, hash: hash(0, wire) as u32 })
    }
}

impl Memo {
    pub(super) const fn new() -> Self {
        Self { hashes: [0; LITERALS], literals: Vec::new(), once: [0; 8], hand: 0 }
    }

    /// What these octets mean, if they are kept: tag, name, value.
    #[inline]
    pub(super) fn find(&mut self, candidate: Candidate<'_>) -> Option<(Tag, &[u8], &[u8])> {
        let place = self.hashes.iter().position(|&hash| hash == candidate.hash)?;
        let literal = self.literals.get_mut(place)?;
        let (wire, field) = literal.octets.split_at_checked(literal.wire_len)?;
        if wire != candidate.wire {
            return None;
        }
        literal.used = true;
        let (name, value) = field.split_at_checked(literal.name_len)?;
        Some((literal.tag, name, value))
    }

    /// Keeps a literal, if it is not the first time that it comes.
    #[inline]
    pub(super) fn put(&mut self, candidate: Candidate<'_>, tag: Tag, name: &[u8], value: &[u8]) {
        let once = &mut self.once[candidate.hash as usize % 8];
        if *once != candidate.hash {
            *once = candidate.hash;
            return;
        }
        *once = 0;
        self.keep(candidate, tag, name, value);
    }

    #[cold]
    fn keep(&mut self, candidate: Candidate<'_>, tag: Tag, name: &[u8], value: &[u8]) {
        let place = self.take_place();
        let literal = &mut self.literals[place];
        let octets = &mut literal.octets;
        octets.clear();
        octets.reserve_exact(candidate.wire.len() + name.len() + value.len());
        octets.extend_from_slice(candidate.wire);
        octets.extend_from_slice(name);
        octets.extend_from_slice(value);
        (literal.wire_len, literal.name_len, literal.tag, literal.used) = (candidate.wire.len(), name.len(), tag, false);
        self.hashes[place] = candidate.hash;
    }

    /// A new place while there are free ones; else turns the hand to a literal that was not used lately.
    fn take_place(&mut self) -> usize {
        if self.literals.len() < LITERALS {
            self.literals.push(Literal { octets: Vec::new(), wire_len: 0, name_len: 0, tag: Tag(0), used: false });
            return self.literals.len() - 1;
        }
        while core::mem::take(&mut self.literals[self.hand].used) {
            self.hand = (self.hand + 1) % LITERALS;
        }
        let place = self.hand;
        self.hand = (self.hand + 1) % LITERALS;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(wire: &[u8]) -> Candidate<'_> {
        Candidate::new(wire).expect("short enough")
    }

    #[test]
    fn a_literal_is_kept_when_it_comes_again() {
        let mut memo = Memo::new();
        for _ in 0..2 {
            assert_eq!(memo.find(candidate(b"wire")), None);
            memo.put(candidate(b"wire"), Tag(7), b"name", b"value");
        }
        assert_eq!(memo.find(candidate(b"wire")), Some((Tag(7), &b"name"[..], &b"value"[..])));
        assert_eq!(memo.find(candidate(b"wirf")), None);
        assert!(Candidate::new(&[0; MAX_WIRE + 1]).is_none());
    }

    #[test]
    fn equal_hashes_are_not_equal_literals() {
        let mut memo = Memo::new();
        memo.put(candidate(b"wire"), Tag(7), b"name", b"value");
        memo.put(candidate(b"wire"), Tag(7), b"name", b"value");
        let other = Candidate { wire: b"other", hash: candidate(b"wire").hash };
        assert_eq!(memo.find(other), None);
        let longer = Candidate { wire: b"wirename", hash: candidate(b"wire").hash };
        assert_eq!(memo.find(longer), None);
    }

    #[test]
    fn what_is_used_stays_when_others_need_a_place() {
        let mut memo = Memo::new();
        let put_twice = |memo: &mut Memo, wire: &[u8]| {
            memo.put(candidate(wire), Tag(0), b"", wire);
            memo.put(candidate(wire), Tag(0), b"", wire);
        };
        put_twice(&mut memo, b"steady");
        for number in 0..100u8 {
            put_twice(&mut memo, &[number]);
            assert!(memo.find(candidate(b"steady")).is_some(), "after {number}");
        }
        assert!(memo.literals.len() <= LITERALS);
    }
}
