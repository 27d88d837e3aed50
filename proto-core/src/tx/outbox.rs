//! The outbox: small pieces share one arena with an open tail, large ones are linked.
//!
//! A hundred small replies are one run and so one write; a large `Bytes` goes to the transport as it is.
//! Runs are kept as ranges, since the arena moves while it grows.

use alloc::{collections::VecDeque, vec::Vec};
use bytes::Bytes;

/// Written octets at the front of the arena that are tolerated before it is compacted.
const COMPACT: usize = 64 << 10;
/// Room that an empty arena keeps. More was needed for a burst and goes back; twice as much stays as long as rounds need it, or one
/// stream that is sent all the time would make it anew each time.
const KEEP: usize = 64 << 10;

#[derive(Debug)]
enum Run {
    /// Octets of the arena up to this position, counted from the connection's first octet.
    Arena {
        end: u64,
    },
    Linked(Bytes),
}

/// Octets that wait to be written. A [`Connection`](crate::Connection) has one; a layer (TLS, a recorder) owns another for its own octets.
///
/// ```
/// use pintle_core::tx::Outbox;
/// let mut out = Outbox::default();
/// out.extend(b"hello");
/// let mut lent = out.lend();
/// assert_eq!(lent.single(), Some(&b"hello"[..]));
/// lent.advance(2); // a short write
/// assert_eq!(out.lend().single(), Some(&b"llo"[..]));
/// ```
#[derive(Debug, Default)]
pub struct Outbox {
    arena: Vec<u8>,
    /// Position of the arena's first octet.
    base: u64,
    /// Position of the first octet not yet written, where that is in the arena.
    start: u64,
    /// Runs before the open tail.
    runs: VecDeque<Run>,
    /// Position up to which the arena is covered by `runs`; what lies behind is the open tail.
    sealed: u64,
    /// Octets waiting.
    len: usize,
    /// Octets ever written.
    written: u64,
}

impl Outbox {
    /// Octets waiting.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Octets written since the beginning.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Appends a copy of `octets`.
    #[inline]
    pub fn extend(&mut self, octets: &[u8]) {
        self.arena.extend_from_slice(octets);
        self.len += octets.len();
    }

    /// Appends `octets` without copying them. Worth it from about 4 KiB.
    pub fn link(&mut self, octets: Bytes) {
        if octets.is_empty() {
            return;
        }
        let end = self.base + self.arena.len() as u64;
        if end > self.sealed {
            self.runs.push_back(Run::Arena { end });
            self.sealed = end;
        }
        self.len += octets.len();
        self.runs.push_back(Run::Linked(octets));
    }

    /// The arena, to append to; [`appended`](Self::appended) must be told how long it was.
    #[inline(always)]
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.arena
    }

    /// The arena had `before` octets, and grew.
    #[inline(always)]
    pub(crate) fn appended(&mut self, before: usize) {
        self.len += self.arena.len() - before;
    }

    /// Drops everything that waits.
    pub fn clear(&mut self) {
        let written = self.written;
        *self = Self { written, ..Self::default() };
    }

    /// Lends what waits.
    #[must_use]
    pub fn lend(&mut self) -> Transmit<'_> {
        Transmit { out: self }
    }

    fn slice(&self, from: u64, to: u64) -> &[u8] {
        &self.arena[(from - self.base) as usize..(to - self.base) as usize]
    }

    fn arena_end(&self) -> u64 {
        self.base + self.arena.len() as u64
    }

    /// The runs that wait, in order.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = self.start;
        let sealed = self.runs.iter().map(move |run| match run {
            Run::Arena { end } => {
                let slice = self.slice(from, *end);
                from = *end;
                slice
            }
            Run::Linked(octets) => octets,
        });
        let tail = self.slice(self.sealed.max(self.start), self.arena_end());
        sealed.chain(core::iter::once(tail)).filter(|slice| !slice.is_empty())
    }

    fn advance(&mut self, n: usize) {
        assert!(n <= self.len, "more octets advanced than were lent");
        self.len -= n;
        self.written += n as u64;
        let mut left = n as u64;
        while left > 0 {
            match self.runs.front_mut() {
                None => {
                    self.start = self.start.max(self.sealed) + left;
                    break;
                }
                Some(Run::Arena { end }) => {
                    let here = (*end - self.start).min(left);
                    self.start += here;
                    left -= here;
                    if self.start == *end {
                        self.runs.pop_front();
                    }
                }
                Some(Run::Linked(octets)) => {
                    let here = (octets.len() as u64).min(left);
                    bytes::Buf::advance(octets, here as usize);
                    left -= here;
                    if octets.is_empty() {
                        self.runs.pop_front();
                    }
                }
            }
        }
        self.tidy();
    }

    /// Everything is written: the arena begins anew.
    #[inline(always)]
    fn restart(&mut self) {
        self.base = self.arena_end();
        let used = self.arena.len();
        self.arena.clear();
        if self.arena.capacity() > KEEP {
            self.slim(used);
        }
        self.start = self.base;
        self.sealed = self.base;
    }

    #[cold]
    fn slim(&mut self, used: usize) {
        if self.arena.capacity() > 2 * KEEP || used <= KEEP / 2 {
            self.arena.shrink_to(KEEP);
        }
    }

    fn tidy(&mut self) {
        if self.len == 0 {
            return self.restart();
        }
        let done = (self.start - self.base) as usize;
        if done > COMPACT && done > self.arena.len() / 2 {
            self.arena.drain(..done);
            self.base = self.start;
            self.sealed = self.sealed.max(self.base);
        }
    }
}

/// Octets lent for writing, until it is dropped. What is not advanced stays and is lent again.
#[derive(Debug)]
pub struct Transmit<'a> {
    out: &'a mut Outbox,
}

impl Transmit<'_> {
    /// No octet is lent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Octets lent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// The one slice, where everything lent is one run (the ordinary case: one plain write).
    #[must_use]
    #[inline]
    pub fn single(&self) -> Option<&[u8]> {
        if self.out.runs.is_empty() { Some(self.out.slice(self.out.start, self.out.arena_end())) } else { None }
    }

    /// Fills `dst` from the front for a gathering write; returns how many slices were used.
    pub fn chunks<'s>(&'s self, dst: &mut [&'s [u8]]) -> usize {
        let mut used = 0;
        for (place, slice) in dst.iter_mut().zip(self.out.slices()) {
            *place = slice;
            used += 1;
        }
        used
    }

    /// Copies from the front to `dst` and advances by as much; returns how many octets.
    pub fn copy_to(&mut self, dst: &mut [u8]) -> usize {
        let mut n = 0;
        for slice in self.out.slices() {
            let here = slice.len().min(dst.len() - n);
            dst[n..n + here].copy_from_slice(&slice[..here]);
            n += here;
            if n == dst.len() {
                break;
            }
        }
        let lost = usize::from(fault!("short_write_lost") && n > 0 && n < self.out.len);
        self.out.advance(n + lost);
        n
    }

    /// Takes the first run out, owned, and counts it as written: for completion-based I/O, where the
    /// buffer must live until the kernel is done. Linked runs are not copied.
    pub fn pop(&mut self) -> Option<Bytes> {
        let octets = match self.out.runs.front() {
            Some(Run::Linked(octets)) => octets.clone(),
            _ => Bytes::copy_from_slice(self.out.slices().next()?),
        };
        self.out.advance(octets.len());
        Some(octets)
    }

    /// `n` octets from the front were written.
    ///
    /// # Panics
    /// `n` is more than [`len`](Self::len): the driver counted wrong.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        let out = &mut *self.out;
        if n == out.len && out.runs.is_empty() {
            // The ordinary case: one run, written whole.
            out.len = 0;
            out.written += n as u64;
            return out.restart();
        }
        out.advance(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Whatever the mixture of copies, links, partial writes and pops: the same octets in the same order.
    #[test]
    fn octets_keep_their_order_however_they_are_written() {
        let mut seed = 7_u64;
        let mut random = move |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        let (mut out, mut expected, mut got, mut next) = (Outbox::default(), vec![], vec![], 0_u8);
        let (mut compacted, mut many) = (0, 0);
        for round in 0..4_000 {
            let piece: Vec<u8> = (0..random(900))
                .map(|_| {
                    next = next.wrapping_add(1);
                    next
                })
                .collect();
            expected.extend_from_slice(&piece);
            if random(3) == 0 {
                out.link(Bytes::from(piece))
            } else {
                out.extend(&piece)
            }
            // Half of the time a backlog is kept, so that the front of the arena is written and never all of it.
            let hold = round % 2_000 < 1_000 && out.len() < 9_000;
            let base = out.base;
            let mut lent = out.lend();
            match if hold { 4 } else { random(5) } {
                0 => {
                    let mut buffer = vec![0; random(1_000)];
                    let n = lent.copy_to(&mut buffer);
                    got.extend_from_slice(&buffer[..n]);
                }
                1 => got.extend_from_slice(&lent.pop().unwrap_or_default()),
                2 => {
                    let mut slices: [&[u8]; 8] = [&[]; 8];
                    let used = lent.chunks(&mut slices);
                    many = many.max(used);
                    let all: usize = slices[..used].iter().map(|s| s.len()).sum();
                    let n = if all == 0 { 0 } else { random(all + 1) };
                    got.extend(slices[..used].concat().iter().take(n));
                    lent.advance(n);
                }
                _ => {}
            }
            compacted += usize::from(out.base != base && !out.is_empty());
        }
        while let Some(octets) = out.lend().pop() {
            got.extend_from_slice(&octets);
        }
        assert!(got == expected);
        assert!(out.is_empty() && out.lend().is_empty());
        assert!(compacted > 0 && many > 2, "hard places: {compacted} compactions, {many} slices");
        assert_eq!(out.written(), expected.len() as u64);
    }

    /// What an idle connection keeps does not depend on what it once had to send.
    #[test]
    fn memory_of_a_large_round_goes_back() {
        let mut out = Outbox::default();
        for (round, kept) in [(1_000_000, KEEP), (70_000, 2 * KEEP), (70_000, 2 * KEEP), (100, KEEP), (200_000, KEEP)] {
            out.extend(&vec![1; round]);
            // Whole, and in two writes.
            let n = if round == 200_000 { 150_000 } else { round };
            out.lend().advance(n);
            let left = out.len();
            out.lend().advance(left);
            assert!(out.is_empty() && out.arena.capacity() <= kept, "{} kept after {round}", out.arena.capacity());
        }
    }
}
