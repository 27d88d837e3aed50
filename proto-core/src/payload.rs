//! Messages as ropes of [`Bytes`]: large runs are linked, never copied.
//!
//! ```
//! use pintle_core::{Payload, bytes::Bytes};
//! let mut payload = Payload::from(Bytes::from_static(b"hello "));
//! payload.push(Bytes::from_static(b"world"));
//! assert_eq!(payload.len(), 11);
//! assert_eq!(payload.into_bytes(), "hello world");
//! ```

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use bytes::{Buf, BufMut, Bytes, BytesMut, buf::UninitSlice};
use core::fmt;

/// The octets of a message: one run of [`Bytes`], or a few linked ones.
///
/// Cloning is cheap (reference counts). It is a [`Buf`], so every decoder that reads one reads this without a copy
/// first. Two payloads are equal when their octets are, however they are cut.
#[derive(Clone)]
pub struct Payload {
    repr: Repr,
}

#[derive(Clone)]
enum Repr {
    /// The ordinary case; also the empty payload.
    Flat(Bytes),
    /// Two or more runs. Boxed, because a call's small messages should not pay for the size of a rope.
    Rope(Box<Rope>),
}

/// At least two segments, none of them empty; `len` is their sum.
#[derive(Clone)]
struct Rope {
    segments: VecDeque<Bytes>,
    len: usize,
}

/// A received message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Its octets, without the prefix.
    pub payload: Payload,
    /// The compressed flag of the prefix: the octets are in the coding that `grpc-encoding` names.
    pub compressed: bool,
}

impl Payload {
    /// Empty, without allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self { repr: Repr::Flat(Bytes::new()) }
    }

    /// Octets in all runs.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Flat(bytes) => bytes.len(),
            Repr::Rope(rope) => rope.len,
        }
    }

    /// No octets. An empty message is legal in gRPC.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a run without copying it.
    pub fn push(&mut self, segment: Bytes) {
        if segment.is_empty() {
            return;
        }
        match &mut self.repr {
            Repr::Flat(first) if first.is_empty() => *first = segment,
            Repr::Flat(first) => {
                let len = first.len() + segment.len();
                let segments = VecDeque::from([core::mem::take(first), segment]);
                self.repr = Repr::Rope(Box::new(Rope { segments, len }));
            }
            Repr::Rope(rope) => {
                rope.len += segment.len();
                rope.segments.push_back(segment);
            }
        }
    }

    /// The octets, where they are one run.
    #[inline(always)]
    pub(crate) const fn as_flat(&mut self) -> Option<&mut Bytes> {
        match &mut self.repr {
            Repr::Flat(bytes) => Some(bytes),
            Repr::Rope(_) => None,
        }
    }

    /// Takes the first run out. `None`: the payload is empty.
    pub fn pop_segment(&mut self) -> Option<Bytes> {
        match &mut self.repr {
            Repr::Flat(bytes) if bytes.is_empty() => None,
            Repr::Flat(bytes) => Some(core::mem::take(bytes)),
            Repr::Rope(rope) => {
                let first = rope.segments.pop_front()?;
                rope.len -= first.len();
                self.flatten_single();
                Some(first)
            }
        }
    }

    /// The runs in order; none for an empty payload.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let (flat, rope) = match &self.repr {
            Repr::Flat(bytes) => (Some(bytes), None),
            Repr::Rope(rope) => (None, Some(rope.segments.iter())),
        };
        flat.into_iter().chain(rope.into_iter().flatten()).map(|b| &b[..]).filter(|b| !b.is_empty())
    }

    /// As one `Bytes`: without a copy where the payload is one run, gathered into a new allocation otherwise.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self.repr {
            Repr::Flat(bytes) => bytes,
            Repr::Rope(rope) => gather(&rope),
        }
    }

    /// As one `Bytes` where it is one run already; the payload back where it is not.
    ///
    /// # Errors
    /// The payload has two or more runs.
    pub fn try_into_flat(self) -> Result<Bytes, Self> {
        match self.repr {
            Repr::Flat(bytes) => Ok(bytes),
            Repr::Rope(_) => Err(self),
        }
    }

    /// Restores the invariant that a rope has at least two segments.
    fn flatten_single(&mut self) {
        if let Repr::Rope(rope) = &mut self.repr
            && rope.segments.len() < 2
        {
            self.repr = Repr::Flat(rope.segments.pop_front().unwrap_or_default());
        }
    }
}

fn gather(rope: &Rope) -> Bytes {
    let mut out = Vec::with_capacity(rope.len);
    for segment in &rope.segments {
        out.extend_from_slice(segment);
    }
    out.into()
}

impl Default for Payload {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Bytes> for Payload {
    #[inline]
    fn from(bytes: Bytes) -> Self {
        Self { repr: Repr::Flat(bytes) }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(octets: Vec<u8>) -> Self {
        Bytes::from(octets).into()
    }
}

impl From<&'static [u8]> for Payload {
    fn from(octets: &'static [u8]) -> Self {
        Bytes::from_static(octets).into()
    }
}

impl FromIterator<Bytes> for Payload {
    fn from_iter<I: IntoIterator<Item = Bytes>>(segments: I) -> Self {
        let mut payload = Self::new();
        for segment in segments {
            payload.push(segment);
        }
        payload
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.segments().flatten().eq(other.segments().flatten())
    }
}
impl Eq for Payload {}

/// Sizes only: a payload may be megabytes, and may be secret.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} octets in {} runs)", self.len(), self.segments().count())
    }
}

/// Like every [`Buf`], `advance` and `copy_to_bytes` panic when asked for more than `remaining`.
impl Buf for Payload {
    fn remaining(&self) -> usize {
        self.len()
    }

    fn chunk(&self) -> &[u8] {
        match &self.repr {
            Repr::Flat(bytes) => bytes,
            Repr::Rope(rope) => rope.segments.front().map_or(&[], |first| first),
        }
    }

    fn advance(&mut self, n: usize) {
        match &mut self.repr {
            Repr::Flat(bytes) => bytes.advance(n),
            Repr::Rope(rope) => {
                rope.advance(n);
                self.flatten_single();
            }
        }
    }

    /// A slice of the run it lies in; only a range over several runs is copied.
    fn copy_to_bytes(&mut self, n: usize) -> Bytes {
        let out = match &mut self.repr {
            Repr::Flat(bytes) => return bytes.copy_to_bytes(n),
            Repr::Rope(rope) => rope.take(n),
        };
        self.flatten_single();
        out
    }
}

impl Rope {
    fn advance(&mut self, mut n: usize) {
        assert!(n <= self.len, "cannot advance past the end of a payload: {n} of {}", self.len);
        self.len -= n;
        while n > 0 {
            let first = self.segments.front_mut().expect("`len` is the sum of the segments");
            if n < first.len() {
                first.advance(n);
                return;
            }
            n -= first.len();
            self.segments.pop_front();
        }
    }

    fn take(&mut self, n: usize) -> Bytes {
        assert!(n <= self.len, "cannot take past the end of a payload: {n} of {}", self.len);
        let Some(first) = self.segments.front_mut() else { return Bytes::new() };
        if n < first.len() {
            self.len -= n;
            return first.split_to(n);
        }
        if n == first.len() {
            self.len -= n;
            return self.segments.pop_front().unwrap_or_default();
        }
        let mut out = Vec::with_capacity(n);
        while out.len() < n {
            let first = self.segments.front().expect("`len` is the sum of the segments");
            let part = first.len().min(n - out.len());
            out.extend_from_slice(&first[..part]);
            self.advance(part);
        }
        out.into()
    }
}

/// Builds a [`Payload`]: a [`BufMut`] that links large runs instead of copying them.
///
/// A `Bytes` of [`LINK_THRESHOLD`](Self::LINK_THRESHOLD) octets or more that is written with [`BufMut::put`] (as prost
/// writes `bytes` fields that are `Bytes`) becomes a segment of its own; everything else is copied into the open run.
///
/// ```
/// use pintle_core::{bytes::{BufMut, Bytes}, payload::Builder};
/// let large = Bytes::from(vec![7; 100_000]);
/// let mut builder = Builder::new();
/// builder.put_slice(b"head");
/// builder.put(large.clone());
/// let payload = builder.finish();
/// assert_eq!(payload.len(), 100_004);
/// assert_eq!(payload.segments().nth(1).unwrap().as_ptr(), large.as_ptr());
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    done: Payload,
    tail: BytesMut,
}

impl Builder {
    /// Runs of at least this many octets are linked. Below, a copy is cheaper than a segment: one more slice in every
    /// gathering write, one more reference count.
    pub const LINK_THRESHOLD: usize = 4096;

    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Octets written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.done.len() + self.tail.len()
    }

    /// Nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was written.
    #[must_use]
    pub fn finish(mut self) -> Payload {
        self.seal();
        self.done
    }

    /// Closes the open run, so that a linked one can follow it. What it had left in capacity serves the next.
    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.done.push(self.tail.split().freeze());
        }
    }
}

// SAFETY: `chunk_mut` and `advance_mut` are delegated to `tail`, a `BytesMut`, which upholds the contract of `BufMut`; the
// methods overridden besides only append to `tail` or close it between two of those calls, never within.
#[allow(unsafe_code)]
unsafe impl BufMut for Builder {
    fn remaining_mut(&self) -> usize {
        // A `Vec` cannot hold more either; saturating because linked runs are counted as often as they are linked.
        (isize::MAX as usize).saturating_sub(self.len())
    }

    unsafe fn advance_mut(&mut self, n: usize) {
        // SAFETY: the caller promises that the first `n` octets of the last `chunk_mut`, which was the tail's, are initialised.
        unsafe { self.tail.advance_mut(n) }
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        self.tail.chunk_mut()
    }

    fn put<T: Buf>(&mut self, mut src: T) {
        let n = src.remaining();
        if n >= Self::LINK_THRESHOLD && src.chunk().len() == n {
            self.seal();
            // Only a reference count where `T` is `Bytes`; one exact copy where it is a slice.
            self.done.push(src.copy_to_bytes(n));
            return;
        }
        while src.has_remaining() {
            let chunk = src.chunk();
            let n = chunk.len();
            self.tail.extend_from_slice(chunk);
            src.advance(n);
        }
    }

    fn put_slice(&mut self, octets: &[u8]) {
        if octets.len() >= Self::LINK_THRESHOLD {
            // An exact allocation of its own, rather than doubling the open run up to it.
            self.seal();
            self.done.push(Bytes::copy_from_slice(octets));
        } else {
            self.tail.extend_from_slice(octets);
        }
    }
}
