//! HPACK, the field compression of HTTP/2 (RFC 7541).
//!
//! [`Decoder`] turns a field block into fields, [`Encoder`] does the reverse. Each connection has one of both, because each direction
//! has its own dynamic table. Nothing here knows what a field means: the user of a decoder says so once per field by a [`Tag`], which the table keeps,
//! so that a field that was seen before is recognised without looking at its octets.
//!
//! The module is public for the benches and fuzz targets of this workspace; it is not covered by semver.
//!
//! ```
//! use pintle_core::hpack::{Decoder, Encoder, Fields, Indexing, Tag};
//!
//! struct Print;
//! impl Fields for Print {
//!     fn static_tag(&self, _index: u8) -> Tag {
//!         Tag(0)
//!     }
//!     fn classify(&mut self, _name: &[u8], _value: &[u8]) -> Tag {
//!         Tag(0)
//!     }
//!     fn field(&mut self, _tag: Tag, name: &[u8], value: &[u8]) {
//!         println!("{}: {}", name.escape_ascii(), value.escape_ascii());
//!     }
//! }
//!
//! let mut encoder = Encoder::new(4096);
//! let mut block = Vec::new();
//! encoder.begin(&mut block);
//! encoder.field(&mut block, b":method", b"POST", Indexing::Add);
//! encoder.field(&mut block, b"te", b"trailers", Indexing::Add);
//!
//! let mut decoder = Decoder::new(4096);
//! decoder.decode(&block, &mut Print)?;
//! # Ok::<(), pintle_core::hpack::DecodeError>(())
//! ```

mod decode;
mod encode;
pub mod huffman;
mod huffman_table;
mod int;
mod lookup;
mod memo;
mod static_table;
mod table;

pub use decode::{DecodeError, Decoder, Fields, Tag};
pub use encode::{Encoder, Indexing};
pub use static_table::static_entry;

/// Size of the dynamic table that both sides assume until a SETTINGS_HEADER_TABLE_SIZE is acknowledged, in octets (RFC 9113 §6.5.2).
const DEFAULT_TABLE: usize = 4096;

/// No table is ever larger than this, whatever is asked for: the largest size update that fits an integer of five octets.
const LARGEST_TABLE: usize = 1 << 28;
