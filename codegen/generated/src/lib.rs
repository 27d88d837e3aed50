//! What pintle-build generates from difficult files. That this crate compiles, without a warning and with every public item
//! documented, is the first test; the others are in `tests`.

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

/// From a descriptor set, of files in editions.
pub mod editions {
    include!(concat!(env!("OUT_DIR"), "/editions/pintle.rs"));
}
