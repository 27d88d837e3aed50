//! The tour on tokio.

#[allow(clippy::duplicate_mod, reason = "one source for both runtimes")]
#[path = "on_futures.rs"]
mod on_futures;

use crate::{
    Wrong,
    tour::on_tokio::{Tour, TourClient, TourServer},
};
use on_futures::{Client, PostOffice};
use pintle_tokio::{Context, Sender, Server, Status, Streaming};
use tokio::runtime::{Builder, Runtime};

pub(crate) fn serve(addresses: &[String]) -> Result<Vec<String>, Wrong> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let server = {
        let _inside = runtime.enter();
        let mut server = Server::new().add(TourServer::new(PostOffice));
        for address in addresses {
            server = server.listen(address)?;
        }
        server
    };
    let bound = server.local_addresses().iter().map(ToString::to_string).collect();
    std::thread::spawn(move || runtime.block_on(server.serve()).expect("the tour never stops a server"));
    Ok(bound)
}

pub(crate) fn connect(address: &str) -> Result<Box<dyn crate::Client>, Wrong> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let client = runtime.block_on(TourClient::connect(address))?;
    Ok(Box::new(Client { runtime, client }))
}

/// The server's handlers run beside the client's calls, in the same runtime.
pub(crate) fn in_process() -> Result<Box<dyn crate::Client>, Wrong> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let server = Server::new().add(TourServer::new(PostOffice)).connections()?.in_process();
    let client = TourClient::new(runtime.block_on(async { server.channel() }));
    Ok(Box::new(Client { runtime, client }))
}
