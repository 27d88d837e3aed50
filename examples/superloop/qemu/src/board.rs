//! The board: UART0, a clock, and how deep the stack was. See the data sheet of the LM3S6965.

use core::ptr;
use cortex_m::peripheral::{SYST, syst::SystClkSource};
use superloop::{Pipe, Timestamp};

/// UART0, polled. Its queues hold 16 octets each way.
pub struct Uart(());

/// Data: the next octet received, or to send.
const DATA: *mut u32 = 0x4000_C000 as *mut u32;
/// Flags.
const FLAGS: *mut u32 = 0x4000_C018 as *mut u32;
const RECEIVED_NOTHING: u32 = 1 << 4;
const NO_ROOM: u32 = 1 << 5;
/// Line control: 8 bits, with queues.
const LINE: *mut u32 = 0x4000_C02C as *mut u32;
const EIGHT_BITS_AND_QUEUES: u32 = 0b111 << 4;
/// Control: on, both ways.
const CONTROL: *mut u32 = 0x4000_C030 as *mut u32;
const ON: u32 = 1 | 1 << 8 | 1 << 9;
/// Run-mode clock gating, where a device's clock is switched on.
const CLOCKS: *mut u32 = 0x400F_E104 as *mut u32;
const CLOCK_OF_UART0: u32 = 1;

fn get(register: *mut u32) -> u32 {
    // SAFETY: called only with the registers above: they are there on this board, and reading them touches no memory of the program.
    unsafe { ptr::read_volatile(register) }
}

fn set(register: *mut u32, value: u32) {
    // SAFETY: as for `get`; the UART moves no memory by itself.
    unsafe { ptr::write_volatile(register, value) }
}

impl Uart {
    /// Switches it on. The speed stays: an emulator has none.
    pub fn open() -> Self {
        set(CLOCKS, get(CLOCKS) | CLOCK_OF_UART0);
        set(LINE, EIGHT_BITS_AND_QUEUES);
        set(CONTROL, ON);
        Self(())
    }
}

impl Pipe for Uart {
    fn read(&mut self, into: &mut [u8]) -> usize {
        let mut n = 0;
        while n < into.len() && get(FLAGS) & RECEIVED_NOTHING == 0 {
            into[n] = get(DATA) as u8;
            n += 1;
        }
        n
    }

    fn write(&mut self, octets: &[u8]) -> usize {
        let mut n = 0;
        while n < octets.len() && get(FLAGS) & NO_ROOM == 0 {
            set(DATA, octets[n].into());
            n += 1;
        }
        n
    }
}

/// Microseconds, from the SysTick counter: 24 bits that count down. Must be read before they have gone round, which takes 1.3 s.
pub struct Clock {
    last: u32,
    ticks: u64,
}

/// SysTick runs at the processor's clock: 200 MHz divided by 16, as it is after reset on the emulated board.
const TICKS_PER_2_MICROS: u64 = 25;
const ROUND: u32 = 1 << 24;

impl Clock {
    pub fn start() -> Self {
        let mut counter = cortex_m::Peripherals::take().expect("nobody took them before").SYST;
        counter.set_clock_source(SystClkSource::Core);
        counter.set_reload(ROUND - 1);
        counter.clear_current();
        counter.enable_counter();
        Self { last: 0, ticks: 0 }
    }

    pub fn now(&mut self) -> Timestamp {
        let current = SYST::get_current();
        self.ticks += u64::from(self.last.wrapping_sub(current) % ROUND);
        self.last = current;
        Timestamp::from_micros(self.ticks * 2 / TICKS_PER_2_MICROS)
    }
}

unsafe extern "C" {
    /// Where the stack ends, below which there is static memory, and where it starts. From the linker script of cortex-m-rt.
    static mut _stack_end: u32;
    static mut _stack_start: u32;
}

/// Octets of the stack that were ever written to: cortex-m-rt has painted it before `main`.
pub fn stack_peak() -> usize {
    let (mut at, start) = ((&raw const _stack_end), (&raw const _stack_start));
    // SAFETY: every word between the two symbols is RAM, and aligned; only its value matters, whoever wrote it.
    while at < start && unsafe { ptr::read_volatile(at) } == cortex_m_rt::STACK_PAINT_VALUE {
        // SAFETY: `at` is below `start`, so the next word is at most one past the end.
        at = unsafe { at.add(1) };
    }
    start as usize - at as usize
}
