//! Faults planted on purpose, so that tests can be tested: `fuzz/faults`. An ordinary build has none of them.
//!
//! With `--cfg pintle_faults`, a `fault!` of a name is true in a process whose environment has `PINTLE_FAULT=` that name; without, it is a constant
//! `false`. (An `if` on it that is always false costs nothing.)

/// The fault of this name is planted.
macro_rules! fault {
    ($name:literal) => {{
        #[cfg(pintle_faults)]
        let planted = {
            static STATE: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0);
            crate::fault::is_planted(&STATE, $name)
        };
        #[cfg(not(pintle_faults))]
        let planted = false;
        planted
    }};
}

#[cfg(pintle_faults)]
pub(crate) fn is_planted(state: &core::sync::atomic::AtomicU8, name: &str) -> bool {
    use core::sync::atomic::Ordering::Relaxed;
    extern crate std;
    match state.load(Relaxed) {
        0 => {
            let planted = std::env::var_os("PINTLE_FAULT").is_some_and(|fault| fault == name);
            state.store(1 + u8::from(planted), Relaxed);
            planted
        }
        known => known == 2,
    }
}
