//! Hostile peers, on tokio: in a process of its own, which counts its descriptors.
#![cfg(target_os = "linux")]

extern crate pintle_tokio as pintle;

#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
#[path = "../../runtime-net/tests/hostile/mod.rs"]
mod hostile;
mod rt;
#[path = "../../runtime-futures-server/tests/adapter/hostile.rs"]
mod suite;
