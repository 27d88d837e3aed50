//! Pintle without async: callback services and blocking clients over the core, without a socket or an epoll of their own.
//!
//! Users meet this crate through `pintle-mio`, which re-exports what they need. A loop of one's own can stand on it too, and
//! then serves the same generated services:
//!
//! - **Server**: the loop has one [`Services`] per thread, and one [`Session`] per connection. It moves octets between socket and
//!   [`Session::endpoint`], calls [`Services::dispatch`] after each read, write and timeout, and [`Services::execute`] for each
//!   [`Command`] in its [`Mailbox`].
//! - **Client**: [`Client::new`] gives the handle and an [`Engine`], which the loop feeds with the connection's events and the
//!   mailbox's commands. Loops that the caller drives implement [`Caller`] instead.
//!
//! Nothing here decides anything about HTTP/2 or gRPC: that is `pintle_core`'s.

mod client;
mod mailbox;
mod outflow;
mod server;
mod stack;

pub use client::{
    BidiRequest, Caller, Calling, Client, ClientStreamingRequest, End, Engine, Head, Messages, Next, RemoteCall, Request, Requests,
    Response, ServerStreamingRequest, UnaryRequest, Upload, kind, lost, not_started,
};
pub use mailbox::Mailbox;
pub use server::{
    Command, Handle, HttpHandler, HttpRequest, HttpResponse, Incoming, Method, Order, Peer, Place, Receiver, Replies, Service, Services,
    Session, Unary,
};
pub use stack::{Layer, Stack};
