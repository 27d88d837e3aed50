//! The superloop on a Cortex-M3: UART0, the SysTick counter, and nothing else. `./run` builds it and calls it in an emulator.
//!
//! Everything that is `unsafe` is in `board.rs` (registers, stack) and `heap.rs`.
#![no_std]
#![no_main]

mod board;
mod heap;

use board::{Clock, Uart};
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use superloop::Superloop;

#[entry]
fn main() -> ! {
    heap::init();
    let (mut clock, mut uart) = (Clock::start(), Uart::open());
    let mut superloop = Superloop::new();
    let mut told = 0;
    hprintln!("the superloop itself, on the stack: {} octets", size_of::<Superloop>());
    loop {
        // A product would sleep here until an octet comes or the time that `step` answers has come. The emulator may burn.
        let _ = superloop.step(clock.now(), &mut uart);
        if !superloop.is_connected() && heap::peak() > told {
            told = heap::peak();
            // Through the debugger, not over the line: `run` reads it from there.
            hprintln!("figures: heap {} peak {} now, stack {} peak", heap::peak(), heap::used(), board::stack_peak());
        }
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {}
}
