#![no_main]
#[path = "../../proto-core/tests/support/bodies.rs"]
mod bodies;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::run("tape", data));
