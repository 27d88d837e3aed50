//! On smol.

use crate::tour::on_smol as glue;
use pintle_smol as runtime;
use std::error::Error;

#[path = "async_style.rs"]
#[allow(clippy::duplicate_mod, reason = "the point of this example")]
mod async_style;

/// Serves on a free port, as a task of smol's executor.
///
/// # Errors
/// There is no port.
pub fn start() -> Result<String, Box<dyn Error>> {
    let server = runtime::Server::new().add(glue::TourServer::new(async_style::PostOffice)).listen("127.0.0.1:0")?;
    let address = server.local_addresses()[0].to_string();
    smol::spawn(server.serve()).detach();
    Ok(address)
}
