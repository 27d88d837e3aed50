//! One set of messages, with glue for two runtimes: in the modules `tour::on_tokio` and `tour::on_mio`.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_mio().compile(&["../proto/tour.proto"])
}
