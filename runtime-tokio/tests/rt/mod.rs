//! How tests use tokio.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "every test file uses its part")]

use pintle_tokio::Channel;
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{runtime::Builder, task::JoinHandle};

pub use tokio::{
    io::{DuplexStream as Pipe, duplex as pipe},
    task::yield_now,
    time::sleep,
};

/// Runs `future`, and what it spawns, on this thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Runs `future`, and what it spawns on threads of its own.
pub fn run_on_threads<T>(future: impl Future<Output = T>) -> T {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

/// The time was over first.
#[derive(Debug)]
pub struct Elapsed;

pub async fn timeout<F: IntoFuture>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    tokio::time::timeout(limit, future).await.map_err(|_| Elapsed)
}

/// A task; dropped, it runs on.
pub struct Job<T>(JoinHandle<T>);

pub fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Job<T> {
    Job(tokio::spawn(task))
}

impl<T> Job<T> {
    /// Drops what is left of it.
    pub fn abort(self) {
        self.0.abort();
    }
}

impl<T> Future for Job<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(cx)).expect("the task does not panic"))
    }
}

/// A runtime that takes its connections with it when it is dropped.
pub struct Mortal(tokio::runtime::Runtime);

impl Mortal {
    pub fn new() -> Self {
        Self(Builder::new_current_thread().enable_all().build().unwrap())
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }

    pub async fn connect(&self, address: &str) -> Channel {
        pintle_tokio::connect(address).await.expect("the server listens")
    }
}
