//! Reads the .proto files and writes Rust: messages, a client, a trait for the server. No protoc is needed.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::smol().compile(&["../proto/hello.proto", "../proto/tour.proto"])
}
