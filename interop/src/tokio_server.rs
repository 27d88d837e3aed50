//! The service on tokio.

#[allow(clippy::duplicate_mod, reason = "one source for both runtimes")]
#[path = "futures_server.rs"]
mod service;

pub use service::serve;

use crate::{
    pb::on_tokio::{Interop, InteropServer},
    tokio_client::within,
};
use pintle_tokio::{Code, Context, HttpResponse, Sender, Server, Status, Streaming};
use tokio::time::sleep;
