//! Out of descriptors, on tokio: in a process of its own.
#![cfg(target_os = "linux")]

extern crate pintle_tokio as pintle;

#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
mod rt;
#[path = "../../runtime-futures-server/tests/adapter/starved.rs"]
mod starved;
