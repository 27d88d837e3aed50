//! Pintle on a hand-rolled epoll loop: gRPC servers and clients for programs without an async runtime.
//!
//! A server is one loop, or one per core, that owns its connections and calls your service back on its thread. A callback
//! answers at once, or keeps the handle it was given and answers later, from any thread:
//!
//! ```no_run
//! # use pintle_mio::{codec::Raw, Incoming, Method, Service, Shape};
//! # struct Greeter;
//! # impl Service for Greeter {
//! #     fn methods(&self) -> &'static [Method] { const { &[Method::new("/hello.Greeter/SayHello", Shape::Unary)] } }
//! #     fn call(&mut self, _: usize, call: Incoming) { call.unary::<Raw, Raw>(|_, call| call.reply(Default::default())) }
//! # }
//! pintle_mio::Server::new().add(|| Greeter).listen("127.0.0.1:50051")?.listen("unix:/run/greeter.sock")?.loops(2).run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are two clients. [`Client`] is `Clone + Send`; all its clones share one connection and one background thread, and
//! a call costs two thread switches. [`LocalClient`] has no thread: whoever waits for an answer drives the connection,
//! which is the quickest way from one thread, and nothing happens between calls unless [`LocalClient::poll`] is called.
//! Services and typed clients are generated from a .proto by `pintle_build::mio()`.
//!
//! How it works: each loop has a slab of connections, one shared read buffer, one clock read per turn and one heap of
//! deadlines; a connection that nothing happened to costs nothing. Every decision about HTTP/2 and gRPC is `pintle_core`'s;
//! what does not need epoll is in `pintle_callback`.

mod client;
mod link;
mod server;
mod slab;
mod timers;

pub use client::{Connect, ConnectError, LocalCall, LocalClient, connect, connect_local};
pub use link::{IntoSocket, Socket, Transport};
pub use pintle_callback::{
    BidiRequest, Caller, Calling, Client, ClientStreamingRequest, Handle, HttpRequest, HttpResponse, Incoming, Messages, Method, Peer,
    Receiver, RemoteCall, Replies, Request, Requests, Response, ServerStreamingRequest, Service, Unary, UnaryRequest, Upload, kind,
};
pub use pintle_core::{
    Code, Config, ConfigError, Connection, Endpoint, Metadata, Misuse, SendError, Shape, Status, Timestamp, Transmit, Wants, codec,
    tx::Outbox,
};
pub use pintle_net::{Address, AddressError, BindError, BindOptions, now};
pub use server::{ListenError, Running, ServeError, Server, ShutdownHandle};
