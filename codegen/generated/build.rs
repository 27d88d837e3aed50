//! Generates code from the files in `proto`, and from a descriptor set that protoc made.

use std::{env, error::Error, fs, path::Path};

const PROTOS: [&str; 3] = ["proto/shapes.proto", "proto/acme/v1/orders.proto", "proto/no_package.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    let sub = |name: &str| Path::new(&out).join(name);
    pintle_build::core().include("proto").compile(&PROTOS)?;
    // Over those messages, as another crate would have it.
    pintle_build::tokio().and_mio().messages_at("crate").include("proto").out_dir(sub("both")).compile(&PROTOS)?;
    // With messages of their own, and the glue beside them.
    pintle_build::tokio().include("proto").out_dir(sub("tokio")).compile(&PROTOS)?;
    pintle_build::mio().include("proto").out_dir(sub("mio")).compile(&PROTOS)?;
    // Halves.
    pintle_build::tokio().server(false).messages_at("crate").include("proto").out_dir(sub("clients")).compile(&PROTOS)?;
    pintle_build::mio().client(false).descriptors(false).messages_at("crate").include("proto").out_dir(sub("servers")).compile(&PROTOS)?;

    const EDITIONS: &str = "../tests/fixtures/editions.fds";
    println!("cargo:rerun-if-changed={EDITIONS}");
    pintle_build::core().out_dir(sub("editions")).compile_fds(&fs::read(EDITIONS)?)?;
    Ok(())
}
