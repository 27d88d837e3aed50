//! Hostile peers, on smol: in a process of its own, which counts its descriptors.
#![cfg(all(target_os = "linux", feature = "smol"))]

extern crate pintle_smol as pintle;

#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
#[path = "../../runtime-net/tests/hostile/mod.rs"]
mod hostile;
mod rt;
#[path = "../../runtime-futures-server/tests/adapter/hostile.rs"]
mod suite;
