//! The bodies of the fuzz targets: each takes any octets and panics only where a rule of the crate is broken.
//!
//! Each judges by something that shares no code with what is judged: a reading of the rule in a few plain lines, another
//! implementation, or the model.

mod conn;
mod frame;
mod hpack;
mod message;
mod metadata;
#[cfg(feature = "record")]
mod tape;

pub use conn::{fuzz_client, fuzz_ops, fuzz_server};
pub use frame::{fuzz_frame, fuzz_scanner};
pub use hpack::{OtherDecoder, fuzz_hpack};
pub use message::fuzz_message;
pub use metadata::fuzz_metadata;
#[cfg(feature = "record")]
pub use tape::fuzz_tape;

use super::link::Cut;

const fn cut_of(choice: u8) -> Cut {
    match choice % 3 {
        0 => Cut::Whole,
        1 => Cut::Octet,
        _ => Cut::Random(choice as usize + 1),
    }
}
