//! gRPC on smol: on `async-io` for sockets and timers, and on an executor.
//!
//! A service is a trait with plain `async fn`s, generated from a .proto by `pintle_build::smol()`. A server listens on TCP and
//! Unix sockets, several at once; a client is cheap to clone, and its clones share one connection. The API is that of
//! `pintle-tokio`, made of the same parts:
//!
//! ```
//! # #[cfg(not(feature = "smol"))]
//! # fn main() {}
//! # #[cfg(feature = "smol")]
//! # use pintle_smol as pintle;
//! # #[cfg(feature = "smol")]
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime-futures-server/tests/doc/hello.rs"));
//! # #[cfg(feature = "smol")]
//! use hello::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest};
//! # #[cfg(feature = "smol")]
//! use pintle_smol::{Context, Server, Status};
//!
//! struct Polite;
//!
//! # #[cfg(feature = "smol")]
//! impl Greeter for Polite {
//!     async fn say_hello(&self, _: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
//!         Ok(HelloReply { text: format!("Hello, {}!", request.name) })
//!     }
//! }
//!
//! # #[cfg(feature = "smol")]
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Port 0: the system chooses. Say `listen` again for more, such as "unix:/run/greeter.sock".
//!     let server = Server::new().add(GreeterServer::new(Polite)).listen("127.0.0.1:0")?;
//!     let address = server.local_addresses()[0].to_string();
//!     // It serves until the calls are made; `serve()` for ever. `smol::block_on` does as well.
//!     async_io::block_on(server.serve_with_shutdown(async {
//!         let client = GreeterClient::connect(&address).await.expect("the server listens");
//!         let call = client.say_hello(HelloRequest { name: "Ada".into() }).metadata("tenant", "a");
//!         assert_eq!(call.await.expect("a reply").text, "Hello, Ada!");
//!     }))?;
//!     Ok(())
//! }
//! ```
//!
//! # Executors
//! Connections and handlers are tasks. With the feature `smol` (on by default) they run on [`Global`], an executor like that of
//! `smol::spawn`. Without it, or whenever you like, bring your own; these are then the only crates of smol's that are used:
//! `async-io` and `futures-lite`.
//!
//! ```
//! use async_executor::Executor;
//! use pintle_smol::{Connect, Server, Smol};
//!
//! static EXECUTOR: Executor<'static> = Executor::new();
//!
//! // The same with smol's own: `Smol::on(|task| smol::spawn(task).detach())`.
//! let smol = Smol::on(|task| EXECUTOR.spawn(task).detach());
//! let server = Server::on(smol);
//! let connect = Connect::on(smol, "127.0.0.1:50051")?;
//! # Ok::<(), pintle_smol::ConnectError>(())
//! ```
//!
//! A task must be detached, as above: dropping it would cancel it. A task that panics ends alone, whatever the executor does
//! with panics.
//!
//! [`Server::inline`] runs handlers in the task of their connection, all of them in the future that serves: less work per
//! call, no `Send`, but a handler that computes for long holds up its connection. Give that future to `smol::block_on` or to a
//! `LocalExecutor`.

mod client;
#[cfg(feature = "smol")]
mod global;
mod io;
mod listen;
mod runtime;

pub use client::Connect;
#[cfg(not(feature = "smol"))]
pub use client::connect;
#[cfg(feature = "smol")]
pub use global::{connect, connect_layered, connect_with};
pub use io::{SmolIo, Socket};
pub use listen::SmolListener;
pub use runtime::{Global, Smol, SmolTimer, Spawner, Task};

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

/// Handlers run as tasks of their own: the default.
pub type Spawn<E = Global> = pintle_futures_server::Spawn<Smol<E>>;

/// A gRPC server: services, listeners, settings; then `serve`. `X` says how handlers run: [`Spawn`] or [`Inline`]; `E` is the
/// executor.
pub type Server<X = Spawn, E = Global> = pintle_futures_server::Server<Smol<E>, X>;

/// Serves connections that the application accepted: see [`Server::connections`]. Cheap to clone.
pub type ConnectionServer<X = Spawn, E = Global> = pintle_futures_server::ConnectionServer<Smol<E>, X>;

/// A server for clients in its own process, without a socket: see [`ConnectionServer::in_process`].
pub type InProcess<X = Spawn, E = Global> = pintle_futures_server::InProcess<Smol<E>, X>;

/// For generated code.
pub mod glue {
    pub use pintle_futures_server::glue::*;
}
