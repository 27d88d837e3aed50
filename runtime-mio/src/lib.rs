//! Pintle on a hand-rolled epoll loop: gRPC servers and clients for programs without an async runtime.
//!
//! A server is one loop, or one per core, that owns its connections and calls your service back on its thread. A callback
//! answers at once, or keeps the handle it was given and answers later, from any thread. Services and typed clients are generated
//! from a .proto by `pintle_build::mio()`:
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/hello.rs"));
//! use hello::{GreeterClient, GreeterServer, GreeterService, HelloReply, HelloRequest};
//! use pintle_mio::{Server, Unary};
//! use std::time::Duration;
//!
//! struct Polite;
//!
//! impl GreeterService for Polite {
//!     fn say_hello(&mut self, request: HelloRequest, call: Unary<HelloReply>) {
//!         call.reply(HelloReply { text: format!("Hello, {}!", request.name) });
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Port 0: the system chooses. The closure makes a service for each loop; `run` instead of `spawn` serves on this thread.
//!     let server = Server::new().add(|| GreeterServer::new(Polite)).listen("127.0.0.1:0")?.spawn()?;
//!
//!     let client = GreeterClient::connect(&server.local_addresses()[0].to_string())?;
//!     let reply = client.say_hello(HelloRequest { name: "Ada".into() }).deadline(Duration::from_secs(10)).wait()?;
//!     assert_eq!(reply.text, "Hello, Ada!");
//!
//!     server.shutdown(Duration::from_secs(10))?;
//!     Ok(())
//! }
//! ```
//!
//! There are two clients. [`Client`] is `Clone + Send`; all its clones share one connection and one background thread, and
//! a call costs two thread switches. [`LocalClient`] has no thread: whoever waits for an answer drives the connection,
//! which is the quickest way from one thread, and nothing happens between calls unless [`LocalClient::poll`] is called.
//!
//! # Inside your own loop
//!
//! A program that has a `mio::Poll` already takes servers and clients in as guests: [`Server::embed`] and [`Connect::embed`] register
//! their sockets with it, under tokens of a range that you choose, and leave the loop to you. Everything then happens on one thread,
//! without a lock between your state and your calls. Each round:
//!
//! 1. poll no longer than every guest's `timeout()`, and your own;
//! 2. offer each event to the guests' `handle(event)`; what nobody takes is yours;
//! 3. call every guest's `turn()`, once, whatever happened. Here services and callbacks run.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/hello.rs"));
//! # use hello::{GreeterClient, GreeterServer, GreeterService, HelloReply, HelloRequest};
//! # use pintle_mio::{Connect, Server, Unary};
//! # struct Polite;
//! # impl GreeterService for Polite {
//! #     fn say_hello(&mut self, request: HelloRequest, call: Unary<HelloReply>) {
//! #         call.reply(HelloReply { text: format!("Hello, {}!", request.name) });
//! #     }
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut poll = mio::Poll::new()?;
//! let mut events = mio::Events::with_capacity(1_024);
//! let mut server = Server::new().add(|| GreeterServer::new(Polite)).listen("127.0.0.1:0")?.embed(poll.registry(), 100..)?;
//! let address = server.local_addresses()[0].to_string();
//! let (client, mut connection) = Connect::new().embed(&address, poll.registry(), 10..12)?;
//!
//! let (answers, answered) = std::sync::mpsc::channel();
//! let request = HelloRequest { name: "Ada".into() };
//! GreeterClient::new(client).say_hello(request).on_done(move |reply| drop(answers.send(reply)));
//!
//! let reply = loop {
//!     poll.poll(&mut events, server.timeout().into_iter().chain(connection.timeout()).min())?;
//!     for event in &events {
//!         if !server.handle(event) && !connection.handle(event) {
//!             // a token of yours
//!         }
//!     }
//!     server.turn();
//!     connection.turn();
//!     if let Ok(reply) = answered.try_recv() {
//!         break reply?;
//!     }
//! };
//! assert_eq!(reply.text, "Hello, Ada!");
//! # Ok(())
//! # }
//! ```
//!
//! Nothing may wait on the loop's thread: unary calls answer by `on_done`; streams are asked after each round, by `try_next`, `try_send` and
//! `try_finish`. It must be the same `mio` as this crate's: 1.x. For a loop without mio see `pintle_callback`.
//!
//! # How it works
//!
//! Each loop has a slab of connections, one shared read buffer, one clock read per turn and one heap of
//! deadlines; a connection that nothing happened to costs nothing. Every decision about HTTP/2 and gRPC is `pintle_core`'s;
//! what does not need epoll is in `pintle_callback`.

mod client;
mod link;
mod server;
mod slab;
mod timers;
mod tokens;
mod wake;

pub use client::{Connect, ConnectError, EmbeddedClient, LocalCall, LocalClient, connect, connect_local};
pub use link::{IntoSocket, Socket, Transport};
pub use pintle_callback::{
    BidiRequest, Caller, Calling, Client, ClientStreamingRequest, Handle, HttpRequest, HttpResponse, Incoming, Messages, Method, Pending,
    Receiver, RemoteCall, Replies, Request, Requests, Response, ServerStreamingRequest, Service, Unary, UnaryRequest, Upload, kind,
};
pub use pintle_core::{
    Code, Config, ConfigError, Connection, Endpoint, Metadata, Misuse, SendError, Shape, Status, Timestamp, Transmit, Wants, codec,
    tx::Outbox,
};
pub use pintle_net::{Address, AddressError, BindError, BindOptions, Credentials, Peer, now};
pub use server::{EmbeddedServer, Joined, LocalInProcess, Running, ServeError, Server, ShutdownHandle};
