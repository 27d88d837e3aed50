//! Puts the board's memory where the linker script of cortex-m-rt looks for it.

fn main() {
    println!("cargo::rustc-link-search={}", std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=memory.x");
}
