#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| pintle_core::testing::fuzz_hpack(data));
