//! The build-script half of Pintle: .proto in; messages, clients and service traits out. No `protoc` is needed.
//!
//! ```toml
//! [dependencies]
//! pintle-tokio = "0.1" # or pintle-smol, pintle-mio; there is no release yet: by `path` or `git`
//! prost = { version = "0.14", default-features = false, features = ["std", "derive"] }
//! tokio = { version = "1", features = ["macros", "rt"] } # for pintle-tokio
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
//! | descriptors | `FILE_DESCRIPTOR_SET` (custom options kept, comments left out) and, for each service, an enum of its methods with path and shape | the preset's |
//! | glue | for each service a client, a trait and a server | the preset's |
//!
//! The preset chooses the glue: [`tokio()`] and [`smol()`] make async traits, [`mio()`] makes callback traits, and so does
//! [`callback()`] for a loop of one's own; [`core()`] makes none.
//! Several go together, over one set of messages: `pintle_build::tokio().and_mio()` puts the glue into modules `on_tokio` and `on_mio`
//! of each package. Parts can be left out or made in different crates: see [`Builder::client`], [`Builder::server`],
//! [`Builder::descriptors`] and [`Builder::messages_at`].
//!
//! # Names and signatures
//!
//! A `service Greeter` becomes, in the module of its package:
//!
//! | name | on tokio and smol | on mio |
//! | --- | --- | --- |
//! | `Greeter` | the trait to implement, with `async fn`s whose futures are `Send` | |
//! | `LocalGreeter` | the same without `Send`, for `Server::inline`; whatever is a `Greeter` is one | |
//! | `GreeterService` | | the trait to implement, with callbacks; neither `Send` nor `Sync` |
//! | `GreeterServer` | `.add(GreeterServer::new(service))`; one service for all connections | `.add(\|\| GreeterServer::new(service))`; one for each loop |
//! | `GreeterClient` | `GreeterClient::connect(address).await?`, or `new(channel)` | `GreeterClient::connect(address)?`, or `new(client)` with a `Client` or `LocalClient` |
//! | `GreeterMethod` | an enum: `SayHello.path()`, `.shape()`, `.name()`, `GreeterMethod::ALL`; also with [`core()`] | the same |
//!
//! With requests `Q` and replies `R`, a method of each shape is, in `Greeter`:
//!
//! ```text
//! async fn say_hello(&self, cx: &Context, request: Q) -> Result<R, Status>;
//! async fn lots_of_replies(&self, cx: &Context, request: Q, out: &mut Sender<R>) -> Result<(), Status>;
//! async fn lots_of_greetings(&self, cx: &Context, input: &mut Streaming<Q>) -> Result<R, Status>;
//! async fn chat(&self, cx: &Context, input: &mut Streaming<Q>, out: &mut Sender<R>) -> Result<(), Status>;
//! ```
//!
//! and in `GreeterService`, where `call` and `out` may be kept and answered later, from any thread:
//!
//! ```text
//! fn say_hello(&mut self, request: Q, call: Unary<R>);
//! fn lots_of_replies(&mut self, request: Q, out: Replies<R>);
//! fn lots_of_greetings(&mut self, call: Unary<R>) -> Box<dyn Receiver<Q>>;
//! fn chat(&mut self, out: Replies<R>) -> Box<dyn Receiver<Q>>;
//! ```
//!
//! What a method of `GreeterClient` returns is refined (`.deadline(..)`, `.metadata(..)`) and then started:
//!
//! | shape | on tokio and smol | on mio, blocking |
//! | --- | --- | --- |
//! | unary | `say_hello(q).await?` | `say_hello(q).wait()?`, or `.on_done(\|result\| ..)` |
//! | server streaming | `let mut input = lots_of_replies(q).await?;` then `input.next().await?` | `.open()?`, then `input.next()?` |
//! | client streaming | `let (mut out, reply) = lots_of_greetings().open().await?;` then `out.send(q).await?`, `out.close()`, `reply.await?` | `.open()?`, then `out.send(q)?`, `out.finish()?` |
//! | bidi | `let (mut out, mut input) = chat().open().await?;` | `.open()?` |
//!
//! `next` answers `None` after the last message. Where the name of an rpc is taken, in Rust or by `connect`, `new` and `clone`, its method is
//! raw (`r#type`) or ends in `_`.
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
//!
//! # When a crate is missing
//!
//! Generated code needs the preset's crate and `prost` among the dependencies. Where one is missing, the first error of the build is
//! "can't find crate", and shows the line for Cargo.toml. Crates that are renamed or re-exported are named by [`Builder::crate_path`] and
//! [`Builder::prost_path`].

mod advice;
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

pub use builder::{Builder, Generated, callback, core, mio, smol, tokio};
pub use error::Error;
pub use prost_build;
