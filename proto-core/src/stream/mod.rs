//! Streams: the slot that a call or a raw stream lives in, and the raw HTTP/2 floor under gRPC.

mod raw;
mod run;
mod slot;

pub use raw::{HttpRequest, Stream, StreamRecv};
pub(crate) use run::Run;
pub(crate) use slot::{Assembly, Ending, Inbound, LONE, Out, STUCK, Slot, flag};
