//! One set of messages; the traits and servers of each runtime in modules of their own.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_smol().and_mio().and_callback().compile(&["../proto/tour.proto"])
}
