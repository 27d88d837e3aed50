//! One .proto, two styles of glue.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_mio().compile(&["proto/echo.proto"])
}
