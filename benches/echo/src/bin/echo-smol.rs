//! The echo service on smol's executor: `echo-smol inline|ct|mt1|mt2 [streams=N] [connections=N] ADDRESS...`. The first two have one
//! thread, the others as many that run tasks as they say.

use async_executor::Executor;
use async_io::block_on;
use pintle_bench_echo::{Options, configured};
use pintle_smol::{Smol, Spawner};
use std::{
    future::{Future, pending},
    thread,
};

pintle_bench_echo::async_service!(on_smol, pintle_smol);

static EXECUTOR: Executor<'static> = Executor::new();

#[derive(Debug, Clone, Copy)]
struct Tasks;

impl Spawner for Tasks {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        EXECUTOR.spawn(task).detach();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let kind = words.next().unwrap_or_default();
    let options = Options::parse(words)?;
    if kind == "inline" {
        return Ok(block_on(configured!(Server::inline_on(Smol::with(Tasks)).add(EchoServer::new(Service)), options).serve())?);
    }
    let serving = configured!(Server::on(Smol::with(Tasks)).add(EchoServer::new(Service)), options).serve();
    let threads = match kind.as_str() {
        "mt1" => 1,
        "mt2" => 2,
        _ => return Ok(block_on(EXECUTOR.run(serving))?),
    };
    for _ in 0..threads {
        thread::spawn(|| block_on(EXECUTOR.run(pending::<()>())));
    }
    Ok(block_on(serving)?)
}
