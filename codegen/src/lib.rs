//! The build-script half of Pintle: .proto in; messages, clients and service traits out. No `protoc` is needed.
//!
//! ```toml
//! [dependencies]
//! pintle-tokio = "0.1"
//! prost = { version = "0.14", default-features = false, features = ["std", "derive"] }
//!
//! [build-dependencies]
//! pintle-build = "0.1"
//! ```
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), pintle_build::Error> {
//!     pintle_build::tokio().compile(&["proto/greeter.proto"])
//! }
//! ```
//!
//! ```text
//! // src/main.rs: declares a module for each package of the .proto files
//! include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
//! use helloworld::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest};
//! ```
//!
//! # What is generated
//!
//! | part | what | of which crates |
//! | --- | --- | --- |
//! | messages | a struct or enum for each message and enum; `bytes` fields are `Bytes`, which are not copied | prost |
//! | descriptors | `FILE_DESCRIPTOR_SET` (custom options kept, comments left out) and, for each service, an enum of its methods with path and shape | pintle-core |
//! | glue | for each service a client, a trait and a server | the preset's |
//!
//! The preset chooses the glue: [`tokio()`] and [`smol()`] make async traits, [`mio()`] makes callback traits, [`core()`] makes none.
//! Several go together, over one set of messages: `pintle_build::tokio().and_mio()` puts the glue into modules `on_tokio` and `on_mio`
//! of each package. Parts can be left out or made in different crates: see [`Builder::client`], [`Builder::server`],
//! [`Builder::descriptors`] and [`Builder::messages_at`].
//!
//! Comments of the .proto become documentation; code in them is shown and never run as a test.
//!
//! For messages without `std`: `pintle_build::core().prost(|config| { config.btree_map(["."]); })`, and prost without its feature `std`.
//!
//! Files with `google.protobuf.Timestamp` and its kin need `prost-types` among the dependencies. `google.protobuf.Empty` is `()`, and the
//! wrappers (`google.protobuf.StringValue` ...) are the plain types.
//!
//! # When a .proto is wrong
//!
//! The error that [`Builder::compile`] returns shows file, line and column as rustc does; returned from `main` or unwrapped, it is what
//! `cargo build` prints.

mod builder;
mod check;
mod docs;
mod editions;
mod error;
mod glue;
mod markdown;
mod messages;
mod output;
mod parse;
mod service;
mod wire;

pub use builder::{Builder, Generated, core, mio, smol, tokio};
pub use error::Error;
pub use prost_build;
