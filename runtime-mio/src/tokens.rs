//! Which tokens of somebody else's `Poll` are ours.

use mio::Token;
use std::{
    io,
    ops::{Bound, RangeBounds},
};

/// Tokens from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Tokens {
    pub(crate) const ALL: Self = Self { first: 0, last: usize::MAX };

    /// Those of `range`.
    ///
    /// # Errors
    /// They are fewer than `least` (which is not 0).
    pub(crate) fn new(range: &impl RangeBounds<usize>, least: usize) -> io::Result<Self> {
        let first = match range.start_bound() {
            Bound::Included(first) => Some(*first),
            Bound::Excluded(before) => before.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let last = match range.end_bound() {
            Bound::Included(last) => Some(*last),
            Bound::Excluded(end) => end.checked_sub(1),
            Bound::Unbounded => Some(usize::MAX),
        };
        match (first, last) {
            (Some(first), Some(last)) if last.checked_sub(first).is_some_and(|more| more >= least - 1) => Ok(Self { first, last }),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the range of tokens is too small: it needs at least {least}"))),
        }
    }

    /// The place of a token among these.
    pub(crate) fn index(self, Token(at): Token) -> Option<usize> {
        (self.first..=self.last).contains(&at).then(|| at - self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::Tokens;
    use mio::Token;

    #[test]
    fn ranges_of_all_kinds() {
        assert_eq!(Tokens::new(&(..), 1).unwrap(), Tokens::ALL);
        assert_eq!(Tokens::new(&(10..), 5).unwrap(), Tokens { first: 10, last: usize::MAX });
        assert_eq!(Tokens::new(&(10..12), 2).unwrap(), Tokens { first: 10, last: 11 });
        assert_eq!(Tokens::new(&(..=3), 4).unwrap(), Tokens { first: 0, last: 3 });
        for range in [10..11, 10..10, 0..0] {
            assert!(Tokens::new(&range, 2).is_err(), "{range:?}");
        }
    }

    #[test]
    fn only_tokens_of_the_range_have_a_place() {
        let tokens = Tokens { first: 10, last: 11 };
        assert_eq!([9, 10, 11, 12].map(|at| tokens.index(Token(at))), [None, Some(0), Some(1), None]);
        assert_eq!(Tokens::ALL.index(Token(usize::MAX)), Some(usize::MAX));
    }
}
