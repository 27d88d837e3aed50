//! A queue whose first item needs no memory of its own: most calls have one message each way.

use alloc::collections::VecDeque;
use core::mem;

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    first: Option<T>,
    /// Not empty only when `first` is some.
    rest: VecDeque<T>,
}

impl<T> Fifo<T> {
    pub(crate) const fn new() -> Self {
        Self { first: None, rest: VecDeque::new() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.push_behind(item);
        }
    }

    #[cold]
    fn push_behind(&mut self, item: T) {
        self.rest.push_back(item);
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        // The whole option in one move: through `?` the compiler carries the item about.
        if self.rest.is_empty() { self.first.take() } else { mem::replace(&mut self.first, self.rest.pop_front()) }
    }

    /// Drops the first item where it is.
    #[inline]
    pub(crate) fn drop_front(&mut self) {
        self.first = if self.rest.is_empty() { None } else { self.rest.pop_front() };
    }

    #[inline]
    pub(crate) const fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    pub(crate) const fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        if self.rest.is_empty() { self.first.as_mut() } else { self.rest.back_mut() }
    }

    /// The first item, if it is the only one.
    #[inline]
    pub(crate) fn only(&self) -> Option<&T> {
        if self.rest.is_empty() { self.first.as_ref() } else { None }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.rest)
    }

    /// Gives memory back that a few items do not need. It must be empty.
    #[inline(always)]
    pub(crate) fn slim(&mut self) {
        debug_assert!(self.is_empty());
        if self.rest.capacity() > 16 {
            self.rest = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a plain queue.
    #[test]
    fn keeps_the_order() {
        let (mut fifo, mut model) = (Fifo::new(), VecDeque::new());
        let (mut lone, mut longest) = (0, 0);
        for n in 0..1_000_u32 {
            for item in 0..n % 7 {
                fifo.push_back((n, item));
                model.push_back((n, item));
            }
            longest = longest.max(model.len());
            if n % 3 == 0 {
                fifo.drop_front();
                model.pop_front();
            }
            for _ in 0..n * 5 % 8 {
                assert_eq!(fifo.pop_front(), model.pop_front());
            }
            lone += usize::from(model.len() == 1);
            assert_eq!((fifo.len(), fifo.is_empty()), (model.len(), model.is_empty()));
            assert_eq!((fifo.front(), fifo.only().is_some()), (model.front(), model.len() == 1));
            assert!(fifo.iter().eq(&model));
            assert!(fifo.iter_mut().eq(&mut model));
            assert_eq!(fifo.front_mut().copied(), model.front_mut().copied());
            assert_eq!(fifo.back_mut().copied(), model.back().copied());
        }
        assert!(lone > 0 && longest > 10, "hard places: {lone} times one item, {longest} at most");
    }

    #[test]
    fn memory_of_a_rush_goes_back() {
        let mut fifo = Fifo::new();
        (0..100).for_each(|n| fifo.push_back(n));
        while fifo.pop_front().is_some() {}
        assert!(fifo.rest.capacity() > 16);
        fifo.slim();
        assert_eq!(fifo.rest.capacity(), 0);
    }
}
