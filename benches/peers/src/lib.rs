//! What the subjects and the load generators share: the messages with Pintle's glue, and how load is measured.

pub mod load;
pub mod raw;
pub mod socket;

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

/// tonic's client and server, over the same messages.
pub mod on_tonic {
    #![allow(missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/tonic/echo.rs"));
}
