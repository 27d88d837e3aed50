//! Out of descriptors, on smol: in a process of its own.
#![cfg(all(target_os = "linux", feature = "smol"))]

extern crate pintle_smol as pintle;

#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
mod rt;
#[path = "../../runtime-futures-server/tests/adapter/starved.rs"]
mod starved;
