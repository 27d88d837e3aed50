//! HTTP/2 frames ([RFC 9113]), as octets that come and go. No alloc, no dependency, no unsafe code, no I/O.
//!
//! Two ways to read and one to write:
//!
//! * [`parse`] takes a whole frame off the front of a buffer, in the manner of httparse: what it returns borrows from the buffer,
//!   and [`Status::Partial`] says that more octets are needed.
//! * [`Scanner`] reads a connection. It takes octets however they were cut, remembers a handful of them at most, and hands DATA out as it
//!   arrives. Use it when the buffer is not yours to keep, or when frames may be larger than the buffer.
//! * Functions such as [`data_head`], [`ping`] and [`window_update`] write frames into arrays on the stack.
//!
//! ```
//! use h2_frame::{Frame, Ping, Status, parse, ping};
//!
//! let wire = ping(false, *b"12345678");
//! // 16,384 is the largest payload that every endpoint must accept (RFC 9113 §4.2).
//! match parse(&wire, 16_384)? {
//!     Status::Complete((frame, size)) => {
//!         assert_eq!(frame, Frame::Ping(Ping { ack: false, data: *b"12345678" }));
//!         assert_eq!(size, wire.len());
//!     }
//!     Status::Partial => unreachable!("the whole frame is there"),
//! }
//! assert_eq!(parse(&wire[..10], 16_384)?, Status::Partial);
//! # Ok::<(), h2_frame::Error>(())
//! ```
//!
//! The same octets through a [`Scanner`], which does not mind where reads end:
//!
//! ```
//! use h2_frame::{Item, Scanner, data_head, kind};
//!
//! let mut wire = data_head(5, 1, true).to_vec();
//! wire.extend(b"hello");
//!
//! let mut scanner = Scanner::new();
//! let mut body = Vec::new();
//! for mut input in wire.chunks(3) {
//!     while let Some(item) = scanner.next(&mut input)? {
//!         match item {
//!             Item::Head(head) => assert_eq!((head.kind, head.stream), (kind::DATA, 1)),
//!             Item::Piece { octets, .. } => body.extend_from_slice(octets),
//!         }
//!     }
//! }
//! assert_eq!(body, b"hello");
//! assert!(!scanner.mid_frame());
//! # Ok::<(), h2_frame::Error>(())
//! ```
//!
//! # What is checked, and what is not
//!
//! Every rule that needs the octets of one frame only: sizes, stream identifier zero or not, padding, values. The [`Scanner`] also keeps
//! the one rule about the order of frames that needs no stream state: a field block is not interrupted (RFC 9113 §6.10). Stream states,
//! flow-control windows, HPACK and which side may send what are the caller's.
//!
//! An [`Error`] has the code to send and says what ends: the connection (GOAWAY) or one stream (RST_STREAM). Where the RFC lets a receiver
//! choose, the whole connection ends: a peer that cannot count octets is not worth a second guess, and every stream error that a peer can
//! provoke at will is a way to make a server work for nothing.
//!
//! [RFC 9113]: https://www.rfc-editor.org/rfc/rfc9113

#![no_std]
#![forbid(unsafe_code)]

mod continuation;
mod data;
mod error;
mod goaway;
mod head;
mod headers;
mod parse;
mod ping;
mod preface;
mod priority;
mod push_promise;
mod reset;
mod scanner;
mod settings;
mod window_update;

pub use continuation::{Continuation, continuation_head};
pub use data::{Data, data_head};
pub use error::{Error, ErrorCode, Scope};
pub use goaway::{GoAway, goaway, goaway_head};
pub use head::{Head, flag, kind};
pub use headers::{Headers, headers_head};
pub use parse::{Frame, Status, Unknown, parse, parse_payload};
pub use ping::{Ping, ping};
pub use preface::{PREFACE, parse_preface};
pub use priority::{Priority, PriorityFields};
pub use push_promise::PushPromise;
pub use reset::{Reset, reset};
pub use scanner::{Item, Scanner};
pub use settings::{Settings, setting, settings_ack, settings_head};
pub use window_update::{WindowUpdate, window_update};
