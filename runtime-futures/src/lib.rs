//! What async runtimes share: clients, servers and the tasks that own connections, over `core::future` alone.
//!
//! Applications use `pintle-tokio` or `pintle-smol`, which implement [`Runtime`] and bring sockets. Use this crate
//! to bring Pintle to another runtime: implement [`Runtime`] (a clock, timers, tasks) and [`Io`] (a stream that is
//! polled), then serve with [`server::Acceptor`] and call with [`Channel`].
//!
//! One task owns a connection; there is no lock around it. Handlers and callers talk to that task through a queue
//! and get messages from a mailbox per call. A slow peer holds the sender: at most 64 KiB (or one message) of a call
//! wait outside of the connection, each way.

mod cell;
mod client;
mod context;
mod driver;
mod fifo;
mod message;
mod queue;
mod runtime;
pub mod server;
mod stream;

pub use client::{
    Bidi, BidiCall, CallBuilder, Channel, ChannelOptions, ClientStreaming, ClientStreamingCall, Connecting, Opening, Reply, Response,
    ServerStreaming, ServerStreamingCall, Unary, UnaryCall, UnaryFuture, WithResponse,
};
pub use context::{Cancellation, Context, Credentials, Peer};
pub use runtime::{AcceptFailure, Io, Listener, LocalRuntime, Runtime, Timer};
pub use stream::{Sender, Streaming};

/// For generated code.
pub mod glue {
    pub use crate::{
        runtime::Runtime,
        server::{InlineCall, LocalService, Method, Methods, Service, SpawnCall},
    };
    pub use pintle_core::{Shape, codec::*};
}
