//! One set of messages, with glue for three runtimes: in the modules `tour::on_tokio`, `tour::on_smol` and `tour::on_mio`.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::tokio().and_smol().and_mio().compile(&["../proto/tour.proto"])
}
