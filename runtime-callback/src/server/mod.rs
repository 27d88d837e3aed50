//! The server's side: services, sessions, and the handles that callbacks get.

mod app;
mod handle;
mod http;
mod session;

pub use app::Services;
pub(crate) use handle::give_back;
pub use handle::{Handle, Incoming, Method, Receiver, Replies, Service, Unary};
pub use http::{HttpHandler, HttpRequest, HttpResponse};
pub use session::{Command, Order, Peer, Place, Session};
