//! A queue for what comes in bursts and is drained whole, as events are: between two bursts it begins at its front
//! again, so pushing and popping need no ring arithmetic.

use alloc::vec::Vec;

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Burst<T> {
    items: Vec<T>,
    /// Items at the front that are popped; fewer than there are, unless there are none.
    popped: usize,
}

impl<T: Copy> Burst<T> {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new(), popped: 0 }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// A queue that is never quite drained must not grow for ever.
    #[cold]
    fn make_room(&mut self) {
        if self.popped > self.items.len() / 2 {
            self.items.drain(..self.popped);
            self.popped = 0;
        } else {
            self.items.reserve(1);
        }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.items.get(self.popped)
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let item = *self.items.get(self.popped)?;
        self.popped += 1;
        if self.popped == self.items.len() {
            self.items.clear();
            self.popped = 0;
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    /// Against a ring, with bursts, and with a backlog that is never drained.
    #[test]
    fn keeps_the_order_and_its_size() {
        let (mut burst, mut model) = (Burst::new(), VecDeque::new());
        let (mut drained, mut moved) = (0, 0);
        for n in 0..10_000_u32 {
            for item in 0..n % 5 {
                burst.push_back((n, item));
                model.push_back((n, item));
                moved += usize::from(burst.popped == 0 && model.len() > 1);
            }
            let backlog = if n / 1_000 % 2 == 0 { 0 } else { 20 };
            while model.len() > backlog {
                assert_eq!(burst.front(), model.front());
                assert_eq!(burst.pop_front(), model.pop_front());
            }
            assert_eq!(burst.is_empty(), model.is_empty());
            drained += usize::from(model.is_empty());
        }
        assert_eq!(burst.items.len() - burst.popped, model.len());
        assert!(drained > 0 && moved > 0, "hard places: {drained} times drained, {moved} pushes behind others at the very front");
        assert!(burst.items.capacity() <= 64, "{}", burst.items.capacity());
    }
}
