//! What the snippets of the book (`docs/*.md`) stand on: the generated code of `proto/shop.proto`, and a shop to call.
//!
//! Each page with a Rust snippet is a module here, so that `cargo test -p pintle-book` compiles and runs its snippets.
//! `tests/pages.rs` sees to it that no page and no snippet is forgotten.

#![doc(test(attr(deny(unused_imports, unused_must_use, deprecated))))]

pub mod page;
#[cfg(doctest)]
mod pages;

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

use pintle_tokio::{Context, Sender, Server, Status, Streaming};
use shop::{
    Item, Price,
    on_tokio::{Haggle, HaggleServer, Prices, PricesServer, Ticker, TickerServer, Till, TillServer},
};

/// A shop where everything costs 3 cents for each letter of its name.
#[derive(Debug, Clone, Copy)]
pub struct Shop;

/// What an item costs here.
///
/// # Errors
/// NOT_FOUND: it has no name.
pub fn price_of(item: &Item) -> Result<Price, Status> {
    match u32::try_from(item.name.len()) {
        Ok(1..) => Ok(Price { cents: 3 * item.name.len() as u32 }),
        _ => Err(Status::not_found("there is nothing without a name")),
    }
}

impl Prices for Shop {
    async fn ask(&self, _: &Context, item: Item) -> Result<Price, Status> {
        price_of(&item)
    }
}

impl Ticker for Shop {
    async fn watch(&self, _: &Context, item: Item, out: &mut Sender<Price>) -> Result<(), Status> {
        let mut price = price_of(&item)?;
        for _ in 0..3 {
            out.send(price).await?;
            price.cents += 1;
        }
        Ok(())
    }
}

impl Till for Shop {
    async fn add(&self, _: &Context, items: &mut Streaming<Item>) -> Result<Price, Status> {
        let mut sum = Price::default();
        while let Some(item) = items.next().await? {
            sum.cents += price_of(&item)?.cents;
        }
        Ok(sum)
    }
}

impl Haggle for Shop {
    async fn talk(&self, _: &Context, offers: &mut Streaming<Price>, out: &mut Sender<Price>) -> Result<(), Status> {
        while let Some(offer) = offers.next().await? {
            out.send(Price { cents: offer.cents + 1 }).await?;
        }
        Ok(())
    }
}

/// The whole shop, on a free port. Not served yet.
///
/// # Panics
/// There is no free port.
pub fn server() -> Server {
    let server = Server::new().add(PricesServer::new(Shop)).add(TickerServer::new(Shop));
    let server = server.add(TillServer::new(Shop)).add(HaggleServer::new(Shop));
    server.listen("127.0.0.1:0").expect("a free port")
}

/// What a visit comes to.
pub type Visited = Result<(), Box<dyn std::error::Error>>;

/// Serves `server`, which listens, in a tokio runtime of its own, and runs `visit` with its address.
///
/// # Panics
/// `visit` fails.
pub fn serve<F: Future<Output = Visited>>(server: impl FnOnce() -> Server, visit: impl FnOnce(String) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let server = server();
        let address = server.local_addresses()[0].to_string();
        tokio::spawn(server.serve());
        visit(address).await.expect("the visit goes well");
    });
}

/// For snippets that write a service in async style.
///
/// # Panics
/// `visit` fails.
pub fn serve_async<F: Future<Output = Visited>>(server: Server, visit: impl FnOnce(String) -> F) {
    serve(|| server.listen("127.0.0.1:0").expect("a free port"), visit);
}

/// For snippets that write a service in callback style.
///
/// # Panics
/// `visit` fails.
pub fn serve_mio(server: pintle_mio::Server, visit: impl FnOnce(&str) -> Visited) {
    let running = server.listen("127.0.0.1:0").and_then(pintle_mio::Server::spawn).expect("it runs");
    visit(&running.local_addresses()[0].to_string()).expect("the visit goes well");
    running.shutdown(std::time::Duration::ZERO).expect("it ends");
}

/// For snippets that call the shop in async style.
///
/// # Panics
/// `visit` fails.
pub fn visit_async<F: Future<Output = Visited>>(visit: impl FnOnce(String) -> F) {
    serve(server, visit);
}

/// For snippets that call the shop without async.
///
/// # Panics
/// `visit` fails.
pub fn visit(visit: impl FnOnce(&str) -> Visited) {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        visit_async(|address| async move {
            tell.send(address)?;
            std::future::pending().await
        });
    });
    visit(&told.recv().expect("the shop opens")).expect("the visit goes well");
}
