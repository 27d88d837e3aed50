//! gRPC on tokio.
//!
//! A service is a trait with plain `async fn`s, generated from a .proto by `pintle-build`. A server listens on TCP and
//! Unix sockets, several at once:
//!
//! ```no_run
//! # use pintle_tokio::Server;
//! # #[derive(Clone)] struct GreeterServer;
//! # impl pintle_tokio::glue::Methods for GreeterServer { fn methods(&self) -> &'static [pintle_tokio::glue::Method] { &[] } }
//! # impl<R: pintle_tokio::glue::Runtime> pintle_tokio::glue::Service<R> for GreeterServer {
//! #     fn dispatch(&self, _: usize, call: pintle_tokio::glue::SpawnCall<'_, R>) { call.unimplemented() } }
//! # async fn run() -> Result<(), pintle_tokio::ServeError> {
//! Server::new().add(GreeterServer).listen("127.0.0.1:50051")?.listen("unix:/run/greeter.sock")?.serve().await?;
//! # Ok(()) }
//! ```
//!
//! A client is cheap to clone; its clones share one connection:
//!
//! ```no_run
//! # use pintle_tokio::{Status, glue::Raw};
//! # use std::time::Duration;
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let channel = pintle_tokio::connect("127.0.0.1:50051").await?;
//! // `GreeterClient::new(channel)` does this for you:
//! let call = channel.unary::<Raw, Raw>("/helloworld.Greeter/SayHello", &"".into());
//! let reply = call.deadline(Duration::from_millis(200)).metadata("tenant", "a").await?;
//! # Ok(()) }
//! ```
//!
//! Handlers are spawned as tasks, or run in the task of their connection ([`Server::inline`]): less work per call, no
//! `Send`, but a handler that computes for long holds up its connection. Everything else is shared with other runtimes
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
