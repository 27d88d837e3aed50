//! tokio as a `pintle_futures::Runtime`.

use pintle_core::Timestamp;
use pintle_futures::{Runtime, Timer};
use pintle_futures_server::{LocalRuntime, local};
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
    fn run_local<T: 'static>(root: impl Future<Output = T> + 'static) -> impl Future<Output = T> {
        local::run(root)
    }

    fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        local::spawn(task);
    }
}

impl Timer for TokioTimer {
    fn poll_until(&mut self, at: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        if self.at != Some(at) {
            self.at = Some(at);
            // Never: nothing to wait for.
            let Some(instant) = pintle_net::instant(at).map(Instant::from_std) else {
                self.sleep = None;
                return Poll::Pending;
            };
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
