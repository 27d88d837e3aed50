//! The server's side: services, sessions, and the handles that callbacks get.

mod answer;
mod app;
mod handle;
mod session;

pub use app::{HttpHandler, Services};
pub(crate) use handle::give_back;
pub use handle::{Handle, Incoming, Method, Receiver, Replies, Service, Unary};
pub use pintle_core::http::{Request as HttpRequest, Response as HttpResponse};
pub use session::{Command, Order, Place, Session};
