//! What every adapter must do, on tokio: see `runtime-futures-server/tests/adapter`.

extern crate pintle_tokio as pintle;

#[path = "../../runtime-futures-server/tests/adapter/mod.rs"]
mod adapter;
#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
mod rt;
