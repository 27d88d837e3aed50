//! The device's memory is a function of its configuration, whatever the peer sends. Counted on the host, where a pointer has 8
//! octets: a 32-bit device needs less.

#[path = "support/mod.rs"]
mod support;

use pintle_core::Endpoint;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};
use superloop::{
    Superloop, Timestamp,
    tour::{Letter, Subscription, TourMethod},
};
use support::*;

/// Octets of heap that no peer gets the device beyond: what the README says a board must have.
const BOUND: usize = superloop::HEAP;

thread_local! {
    /// Counting is on; octets taken; the most that were.
    static HEAP: Cell<(bool, usize, usize)> = const { Cell::new((false, 0, 0)) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(size: isize) {
    // A thread that ends has no counter any more; nobody will ask for it.
    let _ = HEAP.try_with(|heap| {
        let (on, used, peak) = heap.get();
        if on {
            let used = used.checked_add_signed(size).expect("the device frees only what it has allocated");
            heap.set((on, used, peak.max(used)));
        }
    });
}

// SAFETY: every call goes to the system's allocator with the arguments it came with; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // A simple heap has both blocks for a while.
        count(size as isize);
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps `realloc`'s contract, and the block came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }
}

fn counted<T>(work: impl FnOnce() -> T) -> T {
    let switch = |on| HEAP.with(|heap| heap.set((on, heap.get().1, heap.get().2)));
    switch(true);
    let result = work();
    switch(false);
    result
}

/// A device alone, whose every step is counted.
struct Device {
    superloop: Superloop,
    uart: Uart,
    now: u64,
}

impl Device {
    fn new() -> Self {
        HEAP.with(|heap| heap.set((false, 0, 0)));
        let World { uart, .. } = World::new(16);
        Self { superloop: counted(Superloop::new), uart, now: 0 }
    }

    /// Takes octets as long as it will; `reads`: what it says is taken.
    fn hears(&mut self, octets: &[u8], reads: bool) {
        self.uart.to_device.extend(octets);
        for _ in 0..octets.len() + 5_000 {
            if reads {
                self.uart.to_host.clear();
            }
            self.now += 10;
            let (superloop, uart, now) = (&mut self.superloop, &mut self.uart, Timestamp::from_micros(self.now));
            let wait = counted(|| superloop.step(now, uart));
            let rests = wait.until.is_none_or(|until| until > now) && !(wait.write && reads);
            if rests && (uart.to_device.is_empty() || !wait.read) {
                break;
            }
        }
        self.uart.to_device.clear();
    }

    fn ends(mut self, what: &str, reads: bool) {
        let peak = HEAP.get().2;
        println!("{what}, {}: {peak} octets at most", if reads { "which reads" } else { "which does not read" });
        assert!(peak < BOUND, "{what}: {peak} octets of heap");
        // It serves the next one, and gives everything back.
        let mut world = World::new(16);
        world.device = std::mem::take(&mut self.superloop);
        world.connect();
        world.must_serve();
    }
}

/// What a client says that starts calls and goes on however little room it has: all windows are far open.
fn said(calls: Vec<Call>) -> Vec<u8> {
    said_with(calls, &[])
}

/// The same, with these octets behind it.
fn said_with(calls: Vec<Call>, rest: &[u8]) -> Vec<u8> {
    let mut world = World::new(64);
    world.connect();
    for mut call in calls {
        call.start(&mut world);
        world.step_host();
        call.go_on(&mut world);
    }
    // A server that gives credit for everything.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    world.client.recv_slice(world.now, &settings);
    world.step_host();
    world.say(rest);
    world.uart.to_device.into_iter().collect()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// After an ordinary beginning: mark, preface, SETTINGS.
fn after_the_beginning(rest: &[u8]) -> Vec<u8> {
    let mut world = World::new(64);
    world.connect();
    world.step_host();
    world.say(rest);
    world.uart.to_device.into_iter().collect()
}

#[test]
fn no_peer_gets_beyond_the_bound() {
    let letters =
        |size: usize| -> Vec<Letter> { vec![Letter { to: "Ada".into(), content: vec![7; size].into(), number: 0 }; 60_000 / (size + 20)] };
    let without_end = Subscription { to: "A".repeat(40), letters: u32::MAX, octets: 900 };
    let headers = |stream, len: usize| frame(1, 4, stream, &vec![0x82; len]);
    let repeated = |n: u32, make: &dyn Fn(u32) -> Vec<u8>| (0..n).flat_map(make).collect::<Vec<u8>>();
    let metadata = |n: u32| {
        // A new field in each block, at the end of the table: literals with incremental indexing.
        let value = vec![b'v'; 100 + n as usize % 20];
        frame(
            1,
            4,
            2 * n + 1,
            &[&[0x83, 0x86, 0x44, 2, b'/', b'x', 0x40, 2, b'k', b'0' + n as u8 % 10, value.len() as u8][..], &value].concat(),
        )
    };
    let long_head =
        [frame(1, 0, 9, &[0x82; 1_000]), repeated(7, &|_| frame(9, 0, 9, &[0x82; 1_000])), frame(9, 0, 9, &[0x82; 192])].concat();
    let attacks: Vec<(&str, Vec<u8>)> = vec![
        ("an ordinary client", said(vec![Call::new(TourMethod::Post, &[letter(0)])])),
        ("four calls that bring large letters", said((0..4).map(|_| Call::new(TourMethod::Correspond, &letters(1_000))).collect())),
        ("four calls that bring small letters", said((0..4).map(|_| Call::new(TourMethod::Correspond, &letters(1))).collect())),
        ("four calls that bring many letters", said((0..4).map(|_| Call::new(TourMethod::PostAll, &letters(300))).collect())),
        (
            "four subscriptions without end",
            said((0..4).map(|_| Call::new(TourMethod::Subscribe, std::slice::from_ref(&without_end))).collect()),
        ),
        // Every call full, and the largest head that is still waited for.
        ("all of this at once", said_with((0..4).map(|_| Call::new(TourMethod::Correspond, &letters(1_000))).collect(), &long_head)),
        ("all of this at once, small", said_with((0..4).map(|_| Call::new(TourMethod::Correspond, &letters(1))).collect(), &long_head)),
        ("a hundred calls", said((0..100).map(|n| Call::new(TourMethod::Correspond, &[letter(n)])).collect())),
        ("a head of 16 kB", after_the_beginning(&headers(1, 16_384))),
        ("a head of 8 kB", after_the_beginning(&headers(1, 8_000))),
        (
            "a head in many frames",
            after_the_beginning(&[frame(1, 0, 1, &[0x82; 1_000]), repeated(100, &|_| frame(9, 0, 1, &[0x82; 1_000]))].concat()),
        ),
        ("SETTINGS of 16 kB", after_the_beginning(&frame(4, 0, 0, &[0, 9, 0, 0, 0, 0].repeat(2_730)))),
        ("much SETTINGS", after_the_beginning(&repeated(2_000, &|_| frame(4, 0, 0, &[0, 1, 0, 0, 255, 255])))),
        ("GOAWAY of 16 kB", after_the_beginning(&frame(7, 0, 0, &[0; 16_384]))),
        ("an unknown frame of 16 kB", after_the_beginning(&frame(99, 0, 0, &[0; 16_384]))),
        ("many PINGs", after_the_beginning(&repeated(5_000, &|_| frame(6, 0, 0, &[1; 8])))),
        (
            "many streams that are reset",
            after_the_beginning(&repeated(3_000, &|n| [headers(2 * n + 1, 3), frame(3, 0, 2 * n + 1, &[0; 4])].concat())),
        ),
        ("many heads that are wrong", after_the_beginning(&repeated(3_000, &|n| headers(2 * n + 1, 3)))),
        ("many fields for the table", after_the_beginning(&repeated(1_000, &metadata))),
        ("DATA for nobody", after_the_beginning(&[headers(1, 3), repeated(200, &|_| frame(0, 0, 1, &[0; 300]))].concat())),
    ];
    for (what, octets) in attacks {
        for reads in [true, false] {
            let mut device = Device::new();
            device.hears(&octets, reads);
            device.ends(what, reads);
        }
    }
}
