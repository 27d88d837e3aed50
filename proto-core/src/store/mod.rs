//! Where streams live: a generational slab, intrusive lists over it, and the map from wire ids.

pub(crate) mod burst;
pub(crate) mod fifo;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod slab;

pub(crate) use burst::Burst;
pub(crate) use fifo::Fifo;
pub(crate) use list::{Links, List, Which};
pub(crate) use map::StreamMap;
pub(crate) use slab::Slab;

/// "No slot" in links and lookups.
pub(crate) const NIL: u32 = u32::MAX;
