//! tokio as a `pintle_futures::Runtime`.

use pintle_core::Timestamp;
use pintle_futures::{Runtime, Timer};
use pintle_futures_server::LocalRuntime;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    runtime::Handle,
    time::{Instant, Sleep},
};

/// The tokio runtime that is current where its methods are called.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokio;

/// A [`Timer`] over [`tokio::time::Sleep`], made when it is first needed.
#[derive(Debug, Default)]
pub struct TokioTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    at: Option<Timestamp>,
}

impl Runtime for Tokio {
    type Timer = TokioTimer;

    /// tokio's clock: the system's monotonic one, unless a test has paused it.
    fn now() -> Timestamp {
        pintle_net::timestamp(Instant::now().into_std())
    }

    fn timer(&self) -> TokioTimer {
        TokioTimer::default()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // A call on a channel whose runtime is gone may come from no runtime at all: it fails then, and does not panic.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(task);
        }
    }
}

impl LocalRuntime for Tokio {
    async fn run_local<T: 'static>(root: impl Future<Output = T> + 'static) -> T {
        // A local task of its own: what `run_until` is given is polled with every local task.
        let root = async move { tokio::task::spawn_local(root).await };
        match tokio::task::LocalSet::new().run_until(root).await {
            Ok(output) => output,
            // Nobody else has its handle to abort it: it panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(task);
    }
}

impl Timer for TokioTimer {
    fn poll_until(&mut self, at: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        if self.at != Some(at) {
            // An instant that cannot be said is centuries away: nothing to wait for.
            let Some(instant) = pintle_net::instant(at).map(Instant::from_std) else { return Poll::Pending };
            self.at = Some(at);
            match &mut self.sleep {
                Some(sleep) => sleep.as_mut().reset(instant),
                None => self.sleep = Some(Box::pin(tokio::time::sleep_until(instant))),
            }
        }
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}
