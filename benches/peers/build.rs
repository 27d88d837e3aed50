//! One set of messages for every subject, Pintle's glue and tonic's.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let proto = "../echo/proto/echo.proto";
    println!("cargo:rerun-if-changed={proto}");
    pintle_build::tokio().and_mio().compile(&[proto])?;
    // Both would write `echo.rs`.
    let theirs = PathBuf::from(env::var("OUT_DIR")?).join("tonic");
    fs::create_dir_all(&theirs)?;
    tonic_prost_build::configure()
        .out_dir(theirs)
        .extern_path(".echo", "crate::echo")
        .build_client(true)
        .compile_fds(protox::compile([proto], ["../echo/proto"])?)?;
    Ok(())
}
