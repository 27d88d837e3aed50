//! A queue that holds one item without allocating: most calls have one message each way.

use std::collections::VecDeque;

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    first: Option<T>,
    /// Not empty only when `first` is some.
    rest: VecDeque<T>,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { first: None, rest: VecDeque::new() }
    }
}

impl<T> Fifo<T> {
    pub(crate) fn push(&mut self, item: T) {
        match &self.first {
            None => self.first = Some(item),
            Some(_) => self.rest.push_back(item),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(item)
    }

    /// Puts an item back to where `pop` took it from.
    pub(crate) fn put_back(&mut self, item: T) {
        if let Some(second) = self.first.replace(item) {
            self.rest.push_front(second);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn clear(&mut self) {
        if self.first.take().is_some() {
            self.rest.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fifo;

    #[test]
    fn keeps_the_order_and_gives_back() {
        let mut fifo = Fifo::default();
        assert!(fifo.is_empty());
        (1..=3).for_each(|n| fifo.push(n));
        let one = fifo.pop().unwrap();
        fifo.put_back(one);
        assert_eq!(std::iter::from_fn(|| fifo.pop()).collect::<Vec<_>>(), [1, 2, 3]);
        fifo.put_back(4);
        fifo.push(5);
        assert_eq!(fifo.pop(), Some(4));
        fifo.clear();
        assert_eq!(fifo.pop(), None);
    }
}
