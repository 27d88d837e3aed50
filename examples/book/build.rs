//! One set of messages, with glue for each runtime that the book shows.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_mio().compile(&["proto/shop.proto"])
}
