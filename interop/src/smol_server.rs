//! The service on smol.

#[allow(clippy::duplicate_mod, reason = "one source for both runtimes")]
#[path = "futures_server.rs"]
mod service;

pub use service::serve;

use crate::{
    pb::on_smol::{Interop, InteropServer},
    smol_client::within,
};
use pintle_smol::{Code, Context, HttpResponse, Sender, Server, Status, Streaming};
use smol::Timer;
use std::time::Duration;

async fn sleep(time: Duration) {
    Timer::after(time).await;
}
