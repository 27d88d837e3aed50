//! What of a row is measured: sections.

use crate::{
    heap,
    step::{self, Steps},
};
use std::io;

/// Sections at first that do nothing: what of the counting itself is counted.
const EMPTY: u64 = 20;

/// Whose work a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Counts sections of one side.
#[derive(Debug)]
pub(crate) struct Meter {
    side: Side,
    /// Behind the warm-up.
    running: bool,
    sections: u64,
    allocations: u64,
    /// What the empty sections cost. `None`: instructions cannot be counted here.
    empty: Option<Steps>,
    /// What was counted before the row.
    from: Steps,
}

impl Meter {
    pub(crate) fn new(side: Side) -> io::Result<Self> {
        step::prepare()?;
        let mut meter = Self { side, running: true, sections: 0, allocations: 0, empty: None, from: Steps::default() };
        (0..EMPTY).for_each(|_| meter.section(side, || ()));
        let empty = step::counted();
        meter.section(side, step::hundred);
        let from = step::counted();
        // A machine that does not step, or not right, says so here.
        let right = from.own == empty.own + empty.own / EMPTY + 100;
        Ok(Self { running: false, sections: 0, empty: right.then_some(empty), from, ..meter })
    }

    /// The warm-up is over.
    pub(crate) fn start(&mut self) {
        self.running = true;
    }

    /// Does `work`, and measures it if it is of the side that counts.
    #[inline(always)]
    pub(crate) fn section<T>(&mut self, side: Side, work: impl FnOnce() -> T) -> T {
        if side != self.side || !self.running {
            return work();
        }
        self.sections += 1;
        let before = heap::allocations();
        step::begin();
        let done = work();
        step::end();
        self.allocations += heap::allocations() - before;
        done
    }

    /// What was counted, without what the counting itself costs. `None`: see `empty`.
    pub(crate) fn found(&self) -> (Option<Steps>, u64) {
        let (all, from) = (step::counted(), self.from);
        let without = |counted: u64, empty: u64| counted.saturating_sub(empty * self.sections / EMPTY);
        let found = self.empty.map(|empty| Steps {
            own: without(all.own - from.own, empty.own),
            library: without(all.library - from.library, empty.library),
        });
        (found, self.allocations)
    }
}
