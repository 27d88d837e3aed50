//! One set of messages, with glue for every runtime.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_smol().and_mio().compile(&["proto/interop.proto"])
}
