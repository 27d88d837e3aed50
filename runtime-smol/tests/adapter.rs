//! What every adapter must do, on smol: see `runtime-futures-server/tests/adapter`.
#![cfg(feature = "smol")]

extern crate pintle_smol as pintle;

#[path = "../../runtime-futures-server/tests/adapter/mod.rs"]
mod adapter;
#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
mod rt;
