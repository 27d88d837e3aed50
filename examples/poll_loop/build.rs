//! Callback services and clients, over the crate that a loop of one's own stands on.

fn main() -> Result<(), pintle_build::Error> {
    pintle_build::callback().compile(&["../proto/tour.proto"])
}
