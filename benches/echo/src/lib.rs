//! The echo service's messages and glue, for the servers in `src/bin`.
#![allow(missing_docs)]

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
