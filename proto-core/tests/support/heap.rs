//! An allocator that counts, for one thread at a time: tests that use it take [`lock`] first.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::disallowed_types, reason = "tests take turns; the core has no lock")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// Allocations of at least `LARGE` octets.
static LARGE: AtomicUsize = AtomicUsize::new(0);
static LARGE_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn added(size: usize) {
    COUNT.fetch_add(1, Relaxed);
    if size >= LARGE_FROM.load(Relaxed) {
        LARGE.fetch_add(1, Relaxed);
    }
    let live = LIVE.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the arguments it came with; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        added(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        added(size);
        // SAFETY: the caller keeps `realloc`'s contract, and the block came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }
}

static TURN: Mutex<()> = Mutex::new(());

/// The counters count one test at a time.
pub(crate) fn lock() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What happened to the heap while `work` ran.
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

pub(crate) fn measure_large<T>(large_from: usize, work: impl FnOnce() -> T) -> (T, Use) {
    let live = LIVE.load(Relaxed);
    PEAK.store(live, Relaxed);
    LARGE_FROM.store(large_from, Relaxed);
    let (count, large) = (COUNT.load(Relaxed), LARGE.load(Relaxed));
    let result = work();
    let used = Use {
        allocations: COUNT.load(Relaxed) - count,
        large: LARGE.load(Relaxed) - large,
        peak: PEAK.load(Relaxed).saturating_sub(live),
        kept: LIVE.load(Relaxed) as isize - live as isize,
    };
    LARGE_FROM.store(usize::MAX, Relaxed);
    (result, used)
}
