//! Generates code from the files in `proto`, and from a descriptor set that protoc made.

use std::{env, error::Error, fs, path::Path};

const PROTOS: [&str; 3] = ["proto/shapes.proto", "proto/acme/v1/orders.proto", "proto/no_package.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let sub = |name: &str| Path::new(&out).join(name);
    // Messages of their own, and what needs them, as two crates would have it.
    pintle_build::core().include("proto").compile(&PROTOS)?;

    const EDITIONS: &str = "../tests/fixtures/editions.fds";
    println!("cargo:rerun-if-changed={EDITIONS}");
    pintle_build::core().out_dir(sub("editions")).compile_fds(&fs::read(EDITIONS)?)?;
    Ok(())
}
