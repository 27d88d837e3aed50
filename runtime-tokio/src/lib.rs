//! gRPC on tokio.
//!
//! A service is a trait with plain `async fn`s, generated from a .proto by `pintle_build::tokio()`. A server listens on TCP and
//! Unix sockets, several at once. A client is cheap to clone; its clones share one connection:
//!
//! ```
//! # use pintle_tokio as pintle;
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime-futures-server/tests/doc/hello.rs"));
//! use hello::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest};
//! use pintle_tokio::{Context, Server, Status};
//! use std::time::Duration;
//!
//! struct Polite;
//!
//! impl Greeter for Polite {
//!     async fn say_hello(&self, _: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
//!         Ok(HelloReply { text: format!("Hello, {}!", request.name) })
//!     }
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Port 0: the system chooses. Say `listen` again for more, such as "unix:/run/greeter.sock".
//!     let server = Server::new().add(GreeterServer::new(Polite)).listen("127.0.0.1:0")?;
//!     let address = server.local_addresses()[0].to_string();
//!     tokio::spawn(server.serve()); // or, with nothing else to do: server.serve().await?
//!
//!     let client = GreeterClient::connect(&address).await?;
//!     let call = client.say_hello(HelloRequest { name: "Ada".into() }).deadline(Duration::from_secs(10)).metadata("tenant", "a");
//!     assert_eq!(call.await?.text, "Hello, Ada!");
//!     Ok(())
//! }
//! ```
//!
//! Handlers are spawned as tasks, or run in the task of their connection ([`Server::inline`]): less work per call, no
//! `Send`, but a handler that computes for long holds up its connection. (One that calls `tokio::task::spawn_local` needs a
//! `LocalSet` around the future that serves, as anybody who calls it.) Everything else is shared with other runtimes
//! and documented in `pintle_futures` and `pintle_futures_server`.

mod client;
mod io;
mod listen;
mod runtime;

pub use client::{Connect, connect, connect_layered, connect_with};
pub use io::{Socket, TokioIo};
pub use listen::TokioListener;
pub use runtime::{Tokio, TokioTimer};

pub use pintle_core::{
    Code, Config, Connection, Endpoint, Metadata, Status, Timestamp,
    grpc::{InvalidMetadata, Origin},
};
pub use pintle_futures::{
    BidiCall, CallBuilder, Channel, ChannelOptions, ClientStreamingCall, ConnectError, Reply, Response, Sender, ServerStreamingCall,
    Streaming, UnaryCall,
};
pub use pintle_futures_server::{Cancellation, Context, Credentials, HttpRequest, HttpResponse, Inline, Peer, ServeError};
pub use pintle_net::{Address, AddressError, BindError};

/// Handlers run as tokio tasks of their own: the default.
pub type Spawn = pintle_futures_server::Spawn<Tokio>;

/// A gRPC server: services, listeners, settings; then `serve`. `X` says how handlers run: [`Spawn`] or [`Inline`].
pub type Server<X = Spawn> = pintle_futures_server::Server<Tokio, X>;

/// Serves connections that the application accepted: see [`Server::connections`]. Cheap to clone.
pub type ConnectionServer<X = Spawn> = pintle_futures_server::ConnectionServer<Tokio, X>;

/// A server for clients in its own process, without a socket: see [`ConnectionServer::in_process`].
pub type InProcess<X = Spawn> = pintle_futures_server::InProcess<Tokio, X>;

/// For generated code.
pub mod glue {
    pub use pintle_futures_server::glue::*;
}
