//! One service, everywhere.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `post_office.rs` | what a post office does. Plain Rust: messages and statuses, no runtime, no style |
//! | `async_style.rs` | how calls reach it in async style: the same file for tokio and smol |
//! | `callback_style.rs` | how calls reach it by callbacks: the same file for mio and for a loop of one's own |
//! | `on_tokio.rs`, `on_smol.rs`, `on_mio.rs`, `on_own_loop.rs` | how a server is started there |
//! | `visit.rs` | a client that calls all four shapes |
//!
//! `cargo run --bin everywhere` starts all four servers and calls each.

pub mod on_mio;
pub mod on_own_loop;
pub mod on_smol;
pub mod on_tokio;
pub mod post_office;
pub mod visit;

/// Made from `tour.proto`: the messages, and glue for each runtime.
#[allow(missing_docs, reason = "the .proto has them")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
}
pub use generated::tour;

/// Starts a server on a free port, in a thread of its own, and answers where it listens.
pub type Start = fn() -> Result<String, Box<dyn std::error::Error>>;

/// Every way to serve: its name, its style, how to start it.
pub const SERVERS: [(&str, &str, Start); 4] = [
    ("tokio", "async", on_tokio::start),
    ("smol", "async", on_smol::start),
    ("mio", "callbacks", on_mio::start),
    ("own loop", "callbacks", on_own_loop::start),
];
