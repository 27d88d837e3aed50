//! Messages, paths and shapes for the firmware; a client on mio for the tests, in a directory of its own.

use std::{env, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = ["../proto/tour.proto"];
    pintle_build::core().compile(&protos)?;

    let for_tests = PathBuf::from(env::var("OUT_DIR")?).join("mio");
    fs::create_dir_all(&for_tests)?;
    pintle_build::mio().out_dir(for_tests).compile(&protos)?;
    Ok(())
}
