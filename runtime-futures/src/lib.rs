//! What async runtimes share, over `core::future` alone: clients, and the task that owns a connection.
//!
//! Applications use `pintle-tokio` or `pintle-smol`, which implement [`Runtime`] and [`Sockets`]. Use this crate and
//! `pintle-futures-server` to bring Pintle to another runtime: implement [`Runtime`] (a clock, timers, tasks), [`Io`]
//! (a stream that is polled) and, to connect by address, [`Sockets`].
//!
//! One task owns a connection; there is no lock around it. Handlers and callers talk to that task through a queue and
//! get messages from a mailbox per call. A slow peer holds the sender: at most 64 KiB (or one message) of a call wait
//! outside of the connection, each way.

/// `Debug` for what has nothing to show.
macro_rules! opaque {
    ($($name:ident $(<$($param:ident),+>)?),+) => {$(
        impl $(<$($param),+>)? std::fmt::Debug for $name $(<$($param),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
}
pub(crate) use opaque;

mod cell;
mod client;
mod connect;
mod driver;
mod fifo;
mod layer;
mod message;
mod pipe;
mod queue;
mod runtime;
mod stream;

pub use client::{
    Bidi, BidiCall, CallBuilder, Channel, ChannelOptions, ClientStreaming, ClientStreamingCall, Connecting, Opening, Reply, Response,
    ServerStreaming, ServerStreamingCall, Unary, UnaryCall, WithResponse,
};
pub use connect::{Connect, ConnectError, Sockets};
pub use layer::{Layer, Layered};
pub use pipe::{Pipe, pipe};
pub use runtime::{Adopt, Io, Runtime, Timer};
pub use stream::{Sender, Streaming};

/// What owns a connection, for crates that build servers on this one; not for applications.
pub mod owner {
    pub use crate::{
        cell::{CallCell, Extra, Request, Served},
        driver::{App, Driver},
        message::{decode, encode},
        queue::{Command, Queue, Starting},
    };
}
