//! On tokio.

use crate::tour::on_tokio as glue;
use pintle_tokio as runtime;
use std::{error::Error, thread};

#[path = "async_style.rs"]
#[allow(clippy::duplicate_mod, reason = "the point of this example")]
mod async_style;

/// Serves on a free port, from a thread with a tokio runtime.
///
/// # Errors
/// There is no port, or no runtime.
pub fn start() -> Result<String, Box<dyn Error>> {
    let server = runtime::Server::new().add(glue::TourServer::new(async_style::PostOffice)).listen("127.0.0.1:0")?;
    let address = server.local_addresses()[0].to_string();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || tokio.block_on(server.serve()));
    Ok(address)
}
