//! What this crate asks of an async runtime. `pintle-tokio` and `pintle-smol` answer; so can you for your own.

use pintle_core::Timestamp;
use std::{
    future::Future,
    io,
    task::{Context, Poll},
};

/// An async runtime: a clock, timers and tasks. Cheap to clone.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// Its timers.
    type Timer: Timer;

    /// Now, on the clock of this runtime. Never goes backwards. Adapters over std use `CLOCK_MONOTONIC`, so that
    /// deadlines can be passed from one to another.
    fn now() -> Timestamp;

    /// A timer that waits for nothing yet.
    fn timer(&self) -> Self::Timer;

    /// Runs `task` on its own, on any thread. Where nothing can run it (a runtime that is shut down), it is dropped: what it
    /// would have served then ends with UNAVAILABLE.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
}

/// One timer.
pub trait Timer: Unpin + Send + 'static {
    /// Ready at `at` or later, never earlier. Another `at` than the last time re-arms it; the latest task is woken. `Timestamp::MAX` is never:
    /// what it waited for is forgotten.
    fn poll_until(&mut self, at: Timestamp, cx: &mut Context<'_>) -> Poll<()>;
}

/// A runtime that knows how to poll streams of type `S`: for an adapter, every `S` with its runtime's own stream traits.
pub trait Adopt<S>: Runtime {
    /// Such a stream as an [`Io`].
    type Io: Io;

    /// Makes it one.
    fn adopt(stream: S) -> Self::Io;
}

/// A two-way octet stream: a socket, a pipe, a TLS stream.
pub trait Io: Unpin + 'static {
    /// Reads to the front of `buffer`. `Ok(0)` is the end of the input.
    ///
    /// # Errors
    /// Any but `WouldBlock` and `Interrupted`, which are `Pending` and a retry: the stream is broken.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// [`poll_read`](Self::poll_read) right after one that did not fill its buffer. A socket is empty then: one that would ask the system again
    /// may leave that out and answer `Pending`, as long as the task is woken for what came meanwhile.
    ///
    /// # Errors
    /// As for [`poll_read`](Self::poll_read).
    fn poll_read_on(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_read(cx, buffer)
    }

    /// Writes from the front of `octets` (never empty); says how many were taken. `Ok(0)` counts as an error.
    ///
    /// # Errors
    /// As for [`poll_read`](Self::poll_read).
    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>>;

    /// Ends the output; reading may go on.
    ///
    /// # Errors
    /// As for [`poll_read`](Self::poll_read).
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}
