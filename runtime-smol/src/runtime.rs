//! smol as a `pintle_futures::Runtime`: async-io's timers, and somebody's executor.

use async_io::Timer;
use futures_lite::FutureExt;
use pintle_core::Timestamp;
use pintle_futures::Runtime;
use pintle_futures_server::{LocalRuntime, local};
use std::{
    fmt,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll},
};

/// smol, with tasks on the executor `E`: [`Global`], or one that the application brings.
#[derive(Clone, Copy)]
pub struct Smol<E = Global> {
    executor: E,
}

/// A task, on its way to an executor.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An executor: a closure that takes a [`Task`] (see [`Smol::on`]), or a type that implements this without boxing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` runs no tasks",
    note = "enable the feature `smol` of pintle-smol, or bring an executor: `Smol::on(|task| executor.spawn(task).detach())`"
)]
pub trait Spawner: Clone + Send + Sync + 'static {
    /// Runs `task` on its own, on any thread. Where nothing can run it, it is dropped.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
}

impl<F: Fn(Task) + Clone + Send + Sync + 'static> Spawner for F {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self(Box::pin(task));
    }
}

/// The executor of this crate, with the feature `smol`. Its threads, `SMOL_THREADS` of them (an environment variable, as
/// smol itself reads it; default 1, at most 1,000), start with the first task and never end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Global;

impl<F: Fn(Task) + Clone + Send + Sync + 'static> Smol<F> {
    /// Runs tasks by `spawn`: `Smol::on(|task| EXECUTOR.spawn(task).detach())`.
    pub fn on(spawn: F) -> Self {
        Self { executor: spawn }
    }
}

impl<E: Spawner> Smol<E> {
    /// Runs tasks on `executor`.
    pub fn with(executor: E) -> Self {
        Self { executor }
    }
}

impl<E> fmt::Debug for Smol<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smol").finish_non_exhaustive()
    }
}

impl<E: Spawner> Runtime for Smol<E> {
    type Timer = SmolTimer;

    fn now() -> Timestamp {
        pintle_net::now()
    }

    fn timer(&self) -> SmolTimer {
        SmolTimer { timer: Timer::never(), at: None }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // An executor of smol's passes a panic on to whoever runs it, a thread that serves others too. The panic hook has told of it.
        self.executor.spawn(async move { drop(AssertUnwindSafe(task).catch_unwind().await) });
    }
}

impl<E: Spawner> LocalRuntime for Smol<E> {
    fn run_local<T: 'static>(root: impl Future<Output = T> + 'static) -> impl Future<Output = T> {
        local::run(root)
    }

    fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        local::spawn(task);
    }
}

/// A timer of async-io's, set again without a new one.
#[derive(Debug)]
pub struct SmolTimer {
    timer: Timer,
    /// What it waits for.
    at: Option<Timestamp>,
}

impl pintle_futures::Timer for SmolTimer {
    fn poll_until(&mut self, at: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        if self.at != Some(at) {
            self.at = Some(at);
            // Never: nothing to wait for.
            match pintle_net::instant(at) {
                Some(instant) => self.timer.set_at(instant),
                None => self.timer = Timer::never(),
            }
        }
        let fired = self.timer.poll(cx).map(drop);
        if fired.is_ready() {
            // One that has fired would not fire again.
            self.at = None;
        }
        fired
    }
}
