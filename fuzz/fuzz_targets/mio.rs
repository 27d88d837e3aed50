#![no_main]
#[path = "../../runtime-mio/tests/cuts/body.rs"]
mod body;
libfuzzer_sys::fuzz_target!(|data: &[u8]| body::fuzz_mio(data));
