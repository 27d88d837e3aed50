//! The tour on smol.

#[allow(clippy::duplicate_mod, reason = "one source for both runtimes")]
#[path = "on_futures.rs"]
mod on_futures;

use crate::{
    Wrong,
    tour::on_smol::{Tour, TourClient, TourServer},
};
use on_futures::{Client, PostOffice};
use pintle_smol::{Context, Sender, Server, Status, Streaming};

pub(crate) fn serve(addresses: &[String]) -> Result<Vec<String>, Wrong> {
    let mut server = Server::new().add(TourServer::new(PostOffice));
    for address in addresses {
        server = server.listen(address)?;
    }
    let bound = server.local_addresses().iter().map(ToString::to_string).collect();
    std::thread::spawn(move || smol::block_on(server.serve()).expect("the tour never stops a server"));
    Ok(bound)
}

pub(crate) fn connect(address: &str) -> Result<Box<dyn crate::Client>, Wrong> {
    let client = smol::block_on(TourClient::connect(address))?;
    Ok(Box::new(Client { runtime: Runtime, client }))
}

pub(crate) fn in_process() -> Result<Box<dyn crate::Client>, Wrong> {
    let server = Server::new().add(TourServer::new(PostOffice)).connections()?.in_process();
    Ok(Box::new(Client { runtime: Runtime, client: TourClient::new(server.channel()) }))
}

/// There is one for all; it needs no making.
struct Runtime;

impl Runtime {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }
}
