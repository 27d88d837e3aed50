//! Clients in the same process, without a socket.

use crate::{Acceptor, ConnectionServer, Executor, Inline, Lease, Peer, Serve, Spawn, serve::Shutdown};
use pintle_core::Config;
use pintle_futures::{Channel, ChannelOptions, Pipe, Runtime, Sockets, owner::Queue, pipe};
use std::{
    fmt,
    future::{Future, ready},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Octets on the way in each direction: small, so that what is sent is framed as late as on a socket.
const CAPACITY: usize = 64 << 10;

/// A server for clients in its own process: see [`ConnectionServer::in_process`]. Clones are the same server.
///
/// Its connections live as long as their channels; [`shutdown`](Self::shutdown) ends them earlier.
pub struct InProcess<R, X: Executor> {
    acceptor: Acceptor<R, X>,
    door: Arc<Door>,
}

struct Door {
    shutdown: Shutdown,
    /// No more connections. Locked while one is made, so that none is made behind a shutdown.
    closed: Mutex<bool>,
}

impl<R: Sockets, X: Executor> ConnectionServer<R, X> {
    /// Serves clients in this process: `in_process().channel()` is a [`Channel`] as any other, without a socket.
    #[must_use]
    pub fn in_process(&self) -> InProcess<R, X> {
        InProcess { acceptor: self.acceptor.clone(), door: Arc::new(Door { shutdown: Shutdown::new(), closed: Mutex::new(false) }) }
    }
}

impl<R: Runtime> InProcess<R, Spawn<R>> {
    /// A channel to this server. Like one to an address it makes another connection when it needs one. Call it where the runtime
    /// runs.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.channel_with(ChannelOptions::default())
    }

    /// The same with other settings of the client's end.
    #[must_use]
    pub fn channel_with(&self, options: ChannelOptions) -> Channel {
        let server = self.clone();
        let connect = move || {
            let (ours, theirs, lease) = server.door.open::<R>()?;
            server.acceptor.launch(theirs, peer(), lease);
            Ok(ours)
        };
        // Without a server it is a stream that has ended; the first call tries again and says why.
        let first = connect().unwrap_or_else(|_: io::Error| pipe(1).0);
        Channel::new(self.acceptor.runtime.clone(), first, options, move || Box::pin(ready(connect())))
    }
}

impl<R: Sockets> InProcess<R, Inline> {
    /// A channel to this server and the future that serves it, handlers and all: it must be polled where handlers may run, and ends
    /// with the connection. Dropping it ends the connection; calls end with UNAVAILABLE then.
    #[must_use = "nobody answers until the future is polled"]
    pub fn channel(&self) -> (Channel, impl Future<Output = ()> + use<R>) {
        self.channel_with(&Config::default())
    }

    /// The same with other settings of the client's end.
    #[must_use = "nobody answers until the future is polled"]
    pub fn channel_with(&self, config: &Config) -> (Channel, impl Future<Output = ()> + use<R>) {
        let (ours, served) = match self.door.open::<R>() {
            Ok((ours, theirs, lease)) => (ours, Some((theirs, lease))),
            Err(_) => (pipe(1).0, None),
        };
        let acceptor = self.acceptor.clone();
        let serving = async move {
            if let Some((theirs, lease)) = served {
                acceptor.attend(theirs, peer(), &lease.queue).await;
            }
        };
        (Channel::over(&self.acceptor.runtime, ours, config), serving)
    }
}

impl<R: Runtime, X: Executor> InProcess<R, X> {
    /// Ends it: running calls may take `grace`, later ones end with UNAVAILABLE. Ready when every connection has ended, at the end
    /// of the grace at the latest.
    pub async fn shutdown(&self, grace: Duration) {
        *self.door.lock() = true;
        self.door.shutdown.drain(grace);
        self.door.shutdown.ended::<R>(&self.acceptor.runtime, grace).await;
    }
}

impl Door {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The two ends of a new connection: the client's, the server's, and what counts it while it is served.
    fn open<R: Runtime>(&self) -> io::Result<(Pipe, Pipe, Lease)> {
        let closed = self.lock();
        if *closed {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "the server in this process was shut down"));
        }
        let (ours, theirs) = pipe(CAPACITY);
        Ok((ours, theirs, self.shutdown.lease(Queue::new(R::now))))
    }
}

fn peer() -> Peer {
    Peer::Other("in-process".into())
}

impl<R: Clone, X: Executor> Clone for InProcess<R, X> {
    fn clone(&self) -> Self {
        Self { acceptor: self.acceptor.clone(), door: Arc::clone(&self.door) }
    }
}

impl<R, X: Executor> fmt::Debug for InProcess<R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("acceptor", &self.acceptor).field("connections", &self.door.shutdown).finish()
    }
}
