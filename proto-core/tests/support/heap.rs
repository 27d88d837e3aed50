//! An allocator that counts, each thread for itself: what other tests do meanwhile does not show.
#![allow(dead_code, reason = "each test program uses its part")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone, Copy)]
struct Counters {
    allocations: usize,
    /// Allocations of at least `large_from` octets.
    large: usize,
    large_from: usize,
    /// Octets allocated and not freed; negative where a thread frees what another allocated.
    live: isize,
    peak: isize,
}

thread_local! {
    static COUNTERS: Cell<Counters> = const { Cell::new(Counters { allocations: 0, large: 0, large_from: usize::MAX, live: 0, peak: 0 }) };
}

fn update(change: impl FnOnce(&mut Counters)) {
    // A thread that ends has no counters any more; nobody will ask for them.
    let _ = COUNTERS.try_with(|cell| {
        let mut counters = cell.get();
        change(&mut counters);
        cell.set(counters);
    });
}

fn added(size: usize) {
    update(|counters| {
        counters.allocations += 1;
        counters.large += usize::from(size >= counters.large_from);
        counters.live += size as isize;
        counters.peak = counters.peak.max(counters.live);
    });
}

fn removed(size: usize) {
    update(|counters| counters.live -= size as isize);
}

// SAFETY: every call goes to the system's allocator with the arguments it came with; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        added(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        removed(layout.size());
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        removed(layout.size());
        added(size);
        // SAFETY: the caller keeps `realloc`'s contract, and the block came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// What happened to the heap while some work ran on this thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    /// Allocations, reallocations included.
    pub(crate) allocations: usize,
    /// Those of at least the size that [`measure_large`] was given.
    pub(crate) large: usize,
    /// Octets more than at the start, at the worst moment.
    pub(crate) peak: usize,
    /// Octets more than at the start, at the end; negative where less.
    pub(crate) kept: isize,
}

pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, Use) {
    measure_large(usize::MAX, work)
}

/// Calls may nest; the outer one's peak is then that of the last part only.
pub(crate) fn measure_large<T>(large_from: usize, work: impl FnOnce() -> T) -> (T, Use) {
    update(|counters| {
        counters.large_from = large_from;
        counters.peak = counters.live;
    });
    let before = COUNTERS.get();
    let result = work();
    let after = COUNTERS.get();
    update(|counters| counters.large_from = usize::MAX);
    let used = Use {
        allocations: after.allocations - before.allocations,
        large: after.large - before.large,
        peak: (after.peak - before.live).max(0) as usize,
        kept: after.live - before.live,
    };
    (result, used)
}
