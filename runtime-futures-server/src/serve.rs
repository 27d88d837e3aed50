//! Accepting connections and ending them: the loop over listeners, and the graceful shutdown.

use crate::{Acceptor, Executor, Inline, Peer, Spawn};
use pintle_futures::{
    Io, Runtime, Sockets, Timer,
    owner::{Command, Queue},
};
use pintle_net::{AcceptError, accept_error};
use std::{
    fmt,
    future::{Future, poll_fn},
    io,
    num::NonZeroUsize,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

/// Connections accepted from one listener before the others, and other tasks, have their turn.
const ACCEPTS: u32 = 64;

/// A runtime that also runs tasks that must stay on their thread: what the inline executor needs.
pub trait LocalRuntime: Runtime {
    /// Runs `root` on this thread, and beside it the tasks that it and they give to [`spawn_local`](Self::spawn_local).
    /// What of them is left at the end of `root` is dropped.
    fn run_local<T: 'static>(root: impl Future<Output = T> + 'static) -> impl Future<Output = T>;

    /// Runs `task` on its own, on this thread. To be called inside of [`run_local`](Self::run_local).
    fn spawn_local(&self, task: impl Future<Output = ()> + 'static);
}

/// A runtime with listening sockets: what [`Server`](crate::Server) stands on.
pub trait Listening: Sockets {
    /// One of them.
    type Listener: Listener<Io = Self::Socket>;

    /// Takes a bound one over; called where it will be polled.
    ///
    /// # Errors
    /// The system's.
    fn listener(bound: pintle_net::Listener) -> io::Result<Self::Listener>;
}

/// A source of connections: a listening socket.
pub trait Listener: Unpin + 'static {
    /// What it gives.
    type Io: Io;

    /// The next connection and who is at its other end.
    ///
    /// # Errors
    /// As the system says them; what they mean is judged by [`serve`].
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Io, Peer)>>;
}

/// Starts the task of a connection.
pub trait Serve<S: Io> {
    /// Serves `io` in a task of its own; `lease` goes when it has ended.
    fn launch(&self, io: S, peer: Peer, lease: Lease);
}

impl<R: Runtime, S: Io + Send> Serve<S> for Acceptor<R, Spawn<R>> {
    fn launch(&self, io: S, peer: Peer, lease: Lease) {
        let acceptor = self.clone();
        self.runtime.spawn(async move { acceptor.attend(io, peer, &lease.queue).await });
    }
}

impl<R: LocalRuntime, S: Io> Serve<S> for Acceptor<R, Inline> {
    fn launch(&self, io: S, peer: Peer, lease: Lease) {
        let acceptor = self.clone();
        self.runtime.spawn_local(async move { acceptor.attend(io, peer, &lease.queue).await });
    }
}

/// Serves everybody who connects to `listeners`, `most` connections at a time, until `stop` is ready, then drains: no new connections, no
/// new calls; running calls may take `grace`. Returns when every connection has ended, at the end of the grace at the latest.
/// Dropping the future closes every connection at once.
///
/// # Errors
/// A listener broke; the others are closed and their connections drained as well.
pub async fn serve<R, X, L>(
    acceptor: Acceptor<R, X>,
    listeners: Vec<L>,
    most: NonZeroUsize,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> io::Result<()>
where
    R: Runtime,
    X: Executor,
    L: Listener,
    Acceptor<R, X>: Serve<L::Io>,
{
    let shutdown = Shutdown::new();
    let most = most.get();
    let _closes = CloseAll(shutdown.clone());
    let result = {
        let mut stop = pin!(stop);
        let door = |listener| Door { listener, timer: acceptor.runtime.timer(), closed_until: None, failures: 0 };
        let mut doors: Vec<Door<L, R::Timer>> = listeners.into_iter().map(door).collect();
        poll_fn(|cx| {
            if stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            for door in &mut doors {
                if let Poll::Ready(error) = door.poll(&acceptor, &shutdown, most, cx) {
                    return Poll::Ready(Err(error));
                }
            }
            Poll::Pending
        })
        .await
    };
    shutdown.drain(grace);
    shutdown.ended::<R>(&acceptor.runtime, grace).await;
    result
}

/// A listener and its pause after an error.
struct Door<L, T> {
    listener: L,
    timer: T,
    closed_until: Option<pintle_core::Timestamp>,
    /// Pauses in a row.
    failures: u32,
}

impl<L: Listener, T: Timer> Door<L, T> {
    /// Accepts what is there. Ready: the listener is broken.
    fn poll<R: Runtime, X: Executor>(
        &mut self,
        acceptor: &Acceptor<R, X>,
        shutdown: &Shutdown,
        most: usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Error>
    where
        Acceptor<R, X>: Serve<L::Io>,
    {
        for _ in 0..ACCEPTS {
            if let Some(until) = self.closed_until {
                if self.timer.poll_until(until, cx).is_pending() {
                    return Poll::Pending;
                }
                self.closed_until = None;
            }
            ready!(shutdown.poll_room(most, cx));
            match ready!(self.listener.poll_accept(cx)) {
                Ok((io, peer)) => {
                    self.failures = 0;
                    acceptor.launch(io, peer, shutdown.lease(Queue::new(R::now)));
                }
                Err(error) => match accept_error(&error, self.failures) {
                    AcceptError::Retry => {}
                    AcceptError::BackOff(pause) => {
                        self.failures = self.failures.saturating_add(1);
                        self.closed_until = Some(R::now().saturating_add(pause));
                    }
                    AcceptError::Fatal => return Poll::Ready(error),
                },
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The live connections of a server.
#[derive(Clone, Default)]
pub(crate) struct Shutdown {
    inner: Arc<Mutex<Connections>>,
}

#[derive(Default)]
struct Connections {
    live: usize,
    /// Whoever waits goes on when fewer than this are live.
    most: usize,
    queues: Vec<Weak<Queue>>,
    /// Waits for the end of a connection: `serve`, for room or for the last one.
    waiting: Option<Waker>,
}

/// Closes what is still there when `serve` is dropped before its end.
struct CloseAll(Shutdown);

impl Drop for CloseAll {
    fn drop(&mut self) {
        self.0.drain(Duration::ZERO);
    }
}

/// Held by a connection's task while it lives.
pub struct Lease {
    pub(crate) queue: Arc<Queue>,
    shutdown: Shutdown,
}

impl Shutdown {
    /// No connection yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn lease(&self, queue: Arc<Queue>) -> Lease {
        let mut inner = self.lock();
        inner.live += 1;
        if inner.queues.len() == inner.queues.capacity() {
            // Grows only by what is alive.
            inner.queues.retain(|queue| queue.strong_count() > 0);
        }
        inner.queues.push(Arc::downgrade(&queue));
        Lease { queue, shutdown: self.clone() }
    }

    /// Ready: fewer than `most` connections live.
    fn poll_room(&self, most: usize, cx: &Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        inner.most = most;
        if inner.live < most {
            return Poll::Ready(());
        }
        inner.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Tells every connection to drain; again, with a shorter grace, where that came before.
    pub(crate) fn drain(&self, grace: Duration) {
        let queues: Vec<_> = self.lock().queues.iter().filter_map(Weak::upgrade).collect();
        for queue in queues {
            queue.push(Command::Drain(Some(grace)));
        }
    }

    /// Waits until no connection lives. Their own clocks end them at the grace; ours ends the wait for a task that is
    /// stuck in user code.
    pub(crate) async fn ended<R: Runtime>(&self, runtime: &R, grace: Duration) {
        let until = R::now().saturating_add(grace).saturating_add(Duration::from_secs(1));
        let mut timer = runtime.timer();
        poll_fn(|cx| {
            let mut inner = self.lock();
            if inner.live == 0 {
                return Poll::Ready(());
            }
            inner.most = 1;
            inner.waiting = Some(cx.waker().clone());
            drop(inner);
            timer.poll_until(until, cx)
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut inner = self.shutdown.lock();
        inner.live -= 1;
        let waiting = if inner.live < inner.most { inner.waiting.take() } else { None };
        drop(inner);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown").field("live", &self.lock().live).finish()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
