//! Messages, paths and shapes only: no client, no server, no adapter.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::core().compile(&["../proto/hello.proto"])
}
