//! How tests use smol: tasks of theirs on an executor of theirs, for that of pintle-smol is its own affair.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "every test file uses its part")]

mod pipe;

use async_executor::{Executor, Task};
use async_io::{Timer, block_on};
use pintle_smol::{Channel, Connect, Smol, Spawner};
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

pub use futures_lite::future::yield_now;
pub use pipe::{Pipe, pipe};

static EXECUTOR: Executor<'static> = Executor::new();

/// Runs `future`, and what was spawned by anybody, on this thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    block_on(EXECUTOR.run(future))
}

/// Runs `future`, and what was spawned on one thread more.
pub fn run_on_threads<T>(future: impl Future<Output = T>) -> T {
    let (end, ended) = futures_end();
    std::thread::scope(|scope| {
        scope.spawn(|| run(ended));
        let output = run(future);
        drop(end);
        output
    })
}

/// A future that ends with the drop of its other half.
fn futures_end() -> (impl Sized, impl Future<Output = ()> + Send) {
    let (near, mut far) = pipe(1);
    (near, async move { assert_eq!(futures_lite::AsyncReadExt::read(&mut far, &mut [0]).await.unwrap(), 0) })
}

/// smol for pintle, on that executor.
pub fn brought() -> Smol<impl Spawner + Copy> {
    Smol::on(|task| EXECUTOR.spawn(task).detach())
}

pub async fn sleep(time: Duration) {
    Timer::after(time).await;
}

/// The time was over first.
#[derive(Debug)]
pub struct Elapsed;

pub async fn timeout<F: IntoFuture>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let over = async {
        Timer::after(limit).await;
        Err(Elapsed)
    };
    futures_lite::future::or(async { Ok(future.await) }, over).await
}

/// A task; dropped, it runs on.
pub struct Job<T>(Option<Task<T>>);

pub fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Job<T> {
    Job(Some(EXECUTOR.spawn(task)))
}

impl<T> Job<T> {
    /// Drops what is left of it.
    pub fn abort(mut self) {
        drop(self.0.take());
    }
}

impl<T> Future for Job<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(self.0.as_mut().expect("only `abort` takes it")).poll(cx)
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.detach();
        }
    }
}

/// An executor that takes its connections with it when it is dropped.
pub struct Mortal(Arc<Executor<'static>>);

impl Mortal {
    pub fn new() -> Self {
        Self(Arc::new(Executor::new()))
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(self.0.run(future))
    }

    pub async fn connect(&self, address: &str) -> Channel {
        let executor = Arc::downgrade(&self.0);
        let smol = Smol::on(move |task| {
            // Nobody is there any more to run it: it is dropped.
            if let Some(executor) = executor.upgrade() {
                executor.spawn(task).detach();
            }
        });
        Connect::on(smol, address).expect("an address").connect().await.expect("the server listens")
    }
}
