//! The echo service on tokio: `echo-tokio inline|spawn|mt1|mt2 [streams=N] [connections=N] ADDRESS...`. The first two have one thread,
//! the others as many worker threads as they say.

use pintle_bench_echo::{Options, configured};
use tokio::runtime::{Builder, Runtime};

pintle_bench_echo::async_service!(on_tokio, pintle_tokio);

fn runtime(kind: &str) -> std::io::Result<Runtime> {
    match kind {
        "mt1" => Builder::new_multi_thread().worker_threads(1).enable_all().build(),
        "mt2" => Builder::new_multi_thread().worker_threads(2).enable_all().build(),
        _ => Builder::new_current_thread().enable_all().build(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let kind = words.next().unwrap_or_default();
    let options = Options::parse(words)?;
    runtime(&kind)?.block_on(async move {
        if kind == "inline" {
            Ok(configured!(Server::inline().add(EchoServer::new(Service)), options).serve().await?)
        } else {
            Ok(configured!(Server::new().add(EchoServer::new(Service)), options).serve().await?)
        }
    })
}
