//! pintle-core in a `no_std` static library: see Cargo.toml. CI builds it with and without the prost codec; nothing runs it.
#![no_std]

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    panic::PanicInfo,
    ptr::null_mut,
    sync::atomic::{AtomicUsize, Ordering},
};
use pintle_core::{Config, Connection, Endpoint, Routes, Shape, Timestamp};

/// What a firmware's main loop would do once per turn with the octets that its UART received: they go into a server connection,
/// what it answers comes out. Returns the octets written to `output`.
///
/// # Safety
/// `input` has `input_len` readable octets, `output` has `output_len` writable ones, and they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pintle_turn(now_micros: u64, input: *const u8, input_len: usize, output: *mut u8, output_len: usize) -> usize {
    // SAFETY: the caller's promise.
    let (input, output) = unsafe { (core::slice::from_raw_parts(input, input_len), core::slice::from_raw_parts_mut(output, output_len)) };
    let Ok(routes) = Routes::new([("/thermometer.Sensor/Read", Shape::Unary)]) else { return 0 };
    let now = Timestamp::from_micros(now_micros);
    let mut conn = Connection::server(&Config::default(), routes, now);
    conn.recv_slice(now, input);
    while conn.poll_event().is_some() {}
    conn.handle_timeout(now);
    conn.transmit(now, output.len()).copy_to(output)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The simplest allocator there is: it never gives back.
struct Bump {
    arena: UnsafeCell<[u8; 64 << 10]>,
    used: AtomicUsize,
}

// SAFETY: `used` hands every octet of the arena to one allocation only.
unsafe impl Sync for Bump {}

// SAFETY: the ranges handed out are inside the arena, aligned, and never handed out twice.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.arena.get().cast::<u8>();
        let mut start = 0;
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            start = (base as usize + used).next_multiple_of(layout.align()) - base as usize;
            start.checked_add(layout.size()).filter(|end| *end <= 64 << 10)
        });
        match taken {
            // SAFETY: `start` is inside the arena.
            Ok(_) => unsafe { base.add(start) },
            Err(_) => null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Bump = Bump { arena: UnsafeCell::new([0; 64 << 10]), used: AtomicUsize::new(0) };
