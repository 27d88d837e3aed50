//! The heap: a list of free blocks in a static array, and a count of what was taken from it at most.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::{RefCell, UnsafeCell},
    ptr::{NonNull, null_mut},
    sync::atomic::{AtomicUsize, Ordering},
};
use linked_list_allocator::Heap;
use superloop::HEAP as SIZE;

struct Counting {
    heap: RefCell<Heap>,
    peak: AtomicUsize,
}

/// Memory that only the heap looks at.
#[repr(align(8))]
struct Arena(UnsafeCell<[u8; SIZE]>);

// SAFETY: there is one core, and no interrupt handler in this program: nothing runs beside the main loop.
unsafe impl Sync for Counting {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; SIZE]));
#[global_allocator]
static HEAP: Counting = Counting { heap: RefCell::new(Heap::empty()), peak: AtomicUsize::new(0) };

/// Must be called once, before anything is allocated.
pub fn init() {
    // SAFETY: called once, and nobody else touches the arena, which lives for ever.
    unsafe { HEAP.heap.borrow_mut().init(ARENA.0.get().cast(), SIZE) }
}

/// Octets taken now, with what the heap adds to round them up.
pub fn used() -> usize {
    HEAP.heap.borrow().used()
}

/// The most that was taken at any time.
pub fn peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

// SAFETY: `Heap` hands out disjoint blocks of the arena that fit their layouts. It allocates nothing itself, so the
// `RefCell` is never borrowed twice.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut heap = self.heap.borrow_mut();
        let block = heap.allocate_first_fit(layout).map_or(null_mut(), NonNull::as_ptr);
        self.peak.fetch_max(heap.used(), Ordering::Relaxed);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: the caller got the block from `alloc` with this layout.
            unsafe { self.heap.borrow_mut().deallocate(block, layout) }
        }
    }
}
