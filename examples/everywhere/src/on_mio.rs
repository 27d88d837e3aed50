//! On mio.

use crate::tour::on_mio as glue;
use std::error::Error;

#[path = "callback_style.rs"]
#[allow(clippy::duplicate_mod, reason = "the point of this example")]
mod callback_style;

/// Serves on a free port, from a thread with an epoll loop.
///
/// # Errors
/// There is no port, or no thread.
pub fn start() -> Result<String, Box<dyn Error>> {
    let server = pintle_mio::Server::new().add(|| glue::TourServer::new(callback_style::PostOffice)).listen("127.0.0.1:0")?;
    let running = server.spawn()?;
    Ok(running.local_addresses()[0].to_string())
}
