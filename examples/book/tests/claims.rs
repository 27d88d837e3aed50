//! What the pages say in prose, and no snippet shows.

use pintle_book::{
    Shop, serve_async, serve_mio,
    shop::{Item, Price, on_mio, on_tokio},
};
use pintle_tokio::{Code, Context, Server, Status, Streaming};
use std::{sync::Arc, time::Duration};
use tokio::sync::{Notify, mpsc};

fn item(name: &str) -> Item {
    Item { name: name.into() }
}

struct Early;

impl on_tokio::Till for Early {
    async fn add(&self, _: &Context, items: &mut Streaming<Item>) -> Result<Price, Status> {
        items.next().await?;
        Ok(Price { cents: 1 })
    }
}

/// services.md: you may answer before the client has sent everything.
#[test]
fn an_early_answer_arrives() {
    serve_async(Server::new().add(on_tokio::TillServer::new(Early)), |address| async move {
        let (mut out, sum) = on_tokio::TillClient::connect(&address).await?.add().open().await?;
        out.send(item("tea")).await?;
        assert_eq!(sum.await?.cents, 1);
        // The client never closed its side. What it sends now is refused, with the end of the call as the reason.
        assert!(out.send(item("milk")).await.is_err());
        Ok(())
    });
}

struct Gate {
    names: mpsc::UnboundedSender<String>,
    open: Arc<Notify>,
}

impl on_tokio::Prices for Gate {
    async fn ask(&self, _: &Context, item: Item) -> Result<Price, Status> {
        let _ = self.names.send(item.name);
        self.open.notified().await;
        Ok(Price { cents: 2 })
    }
}

/// clients.md: more calls than the server allows wait in the client, with their deadlines running.
#[test]
fn calls_above_the_limit_wait() {
    let (names, mut told) = mpsc::unbounded_channel();
    let open = Arc::new(Notify::new());
    let gate = Gate { names, open: Arc::clone(&open) };
    let server = Server::new().add(on_tokio::PricesServer::new(gate)).configure(|config| config.max_concurrent_streams = 1);
    serve_async(server, |address| async move {
        let client = on_tokio::PricesClient::connect(&address).await?;
        let first = tokio::spawn(client.ask(item("first")).into_future());
        assert_eq!(told.recv().await.as_deref(), Some("first"));
        let late = client.ask(item("late")).deadline(Duration::from_millis(50)).await.expect_err("it waits");
        assert_eq!(late.code(), Code::DeadlineExceeded);
        let waiting = tokio::spawn(client.ask(item("waiting")).into_future());
        open.notify_one();
        assert_eq!(first.await??.cents, 2);
        assert_eq!(told.recv().await.as_deref(), Some("waiting"), "the server never heard of the late one");
        open.notify_one();
        assert_eq!(waiting.await??.cents, 2);
        Ok(())
    });
}

struct Forgetful;

impl on_mio::PricesService for Forgetful {
    fn ask(&mut self, item: Item, call: pintle_mio::Unary<Price>) {
        assert_ne!(item.name, "panic", "a handler that panics, as it should");
        drop(call);
    }
}

/// services.md and errors-server.md: a dropped handle and a panic end their call, and nothing else.
#[test]
fn a_forgotten_call_and_a_panic_end_alone() {
    serve_mio(pintle_mio::Server::new().add(|| on_mio::PricesServer::new(Forgetful)), |address| {
        let client = on_mio::PricesClient::connect(address)?;
        for (name, expected) in [
            ("tea", "INTERNAL: the handler dropped the call without an answer (from the peer)"),
            ("panic", "UNKNOWN: the handler panicked (from the peer)"),
            ("milk", "INTERNAL: the handler dropped the call without an answer (from the peer)"),
        ] {
            assert_eq!(client.ask(item(name)).wait().expect_err("no answer").to_string(), expected);
        }
        Ok(())
    });
}

/// clients.md: on tokio the next call connects again.
#[test]
fn a_client_connects_again() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let serve = |address: &str| Server::new().add(on_tokio::PricesServer::new(Shop)).listen(address).expect("a free port");
        let server = serve("127.0.0.1:0");
        let address = server.local_addresses()[0].to_string();
        let serving = tokio::spawn(server.serve());
        let client = on_tokio::PricesClient::connect(&address).await.expect("it listens");
        assert_eq!(client.ask(item("tea")).await.expect("a price").cents, 9);
        serving.abort();
        let _ = serving.await;
        let lost = client.ask(item("tea")).await.expect_err("nobody is there");
        assert_eq!(lost.code(), Code::Unavailable);
        tokio::spawn(serve(&address).serve());
        assert_eq!(client.ask(item("tea")).await.expect("a price").cents, 9);
    });
}
