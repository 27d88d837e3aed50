//! Octets out: staged once, lent until they are written.

mod outbox;

pub use outbox::{Outbox, Transmit};
