//! One .proto, three styles of glue.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_smol().and_mio().compile(&["proto/echo.proto"])
}
