//! The server that applications meet, as every runtime's adapter gives it to them.

use crate::{
    Acceptor, BuildError, Builder, Executor, HttpRequest, HttpResponse, Inline, Listening, LocalRuntime, LocalService, Runs, Serve,
    Service, Spawn, serve,
};
use pintle_core::{Config, Connection, Endpoint};
use pintle_futures::{Adopt, Layer, Sockets};
use pintle_net::{Address, AddressError, BindError, BindOptions, Listener, Peer};
use std::{
    fmt,
    future::{Future, pending},
    io,
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

/// Connections at a time, where the application says nothing.
const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// A gRPC server: services, listeners, settings; then `serve`.
///
/// `R` is the runtime, `X` says how handlers run: [`Spawn`] (made with [`new`](Self::new)) or [`Inline`] (made with
/// [`inline`](Self::inline)).
#[must_use = "a server does nothing until it serves"]
pub struct Server<R, X: Executor> {
    runtime: R,
    builder: Builder<X>,
    listeners: Vec<Listener>,
    /// Where they listen, in their order.
    addresses: Vec<Address>,
    bind: BindOptions,
    most: NonZeroUsize,
    grace: Duration,
}

/// Serves connections that the application accepted: see [`Server::connections`]. Cheap to clone.
pub struct ConnectionServer<R, X: Executor> {
    pub(crate) acceptor: Acceptor<R, X>,
}

/// Why a server could not start, or had to stop. `Debug` prints the same text as `Display`, for programs that return it from `main`.
#[non_exhaustive]
pub enum ServeError {
    /// An address cannot be understood.
    Address(AddressError),
    /// An address cannot be listened on.
    Bind(BindError),
    /// The services or the settings do not fit.
    Build(BuildError),
    /// [`Server::listen`] was not called.
    NoListener,
    /// A listener broke while serving.
    Listener(io::Error),
}

impl<R: Sockets + Default> Server<R, Spawn<R>> {
    /// A server whose handlers run as tasks of their own, on whatever threads the runtime has.
    pub fn new() -> Self {
        Self::on(R::default())
    }
}

impl<R: Sockets + Default> Default for Server<R, Spawn<R>> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Sockets> Server<R, Spawn<R>> {
    /// [`new`](Self::new) with tasks on `runtime`.
    pub fn on(runtime: R) -> Self {
        Self::with(runtime)
    }

    /// Adds a service: `GreeterServer::new(MyGreeter)`.
    #[expect(clippy::should_implement_trait, reason = "adding a service is not arithmetic")]
    pub fn add(mut self, service: impl Service<R>) -> Self {
        self.builder.add(Box::new(service));
        self
    }
}

impl<R: Listening> Server<R, Spawn<R>> {
    /// Serves until the future is dropped, which closes every connection at once.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn serve(self) -> Result<(), ServeError> {
        self.serve_with_shutdown(pending()).await
    }

    /// Serves until `stop` is ready, then shuts down: no new connections and calls, running calls may take until the
    /// [grace](Self::grace) has passed. Always returns at the end of the grace at the latest.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn serve_with_shutdown(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        self.run(stop).await
    }
}

impl<R: Sockets + Default> Server<R, Inline> {
    /// A server whose handlers run in the task of their connection, all on the thread that serves. They need not be
    /// `Send`. For more cores, serve on several threads and listen with [`reuse_port`](Self::reuse_port).
    pub fn inline() -> Self {
        Self::inline_on(R::default())
    }
}

impl<R: Sockets> Server<R, Inline> {
    /// [`inline`](Self::inline) on `runtime`.
    pub fn inline_on(runtime: R) -> Self {
        Self::with(runtime)
    }

    /// Adds a service: `GreeterServer::new(MyGreeter)`.
    #[expect(clippy::should_implement_trait, reason = "adding a service is not arithmetic")]
    pub fn add(mut self, service: impl LocalService) -> Self {
        self.builder.add(Box::new(service));
        self
    }
}

impl<R: Listening + LocalRuntime> Server<R, Inline> {
    /// Serves until the future is dropped, which closes every connection at once.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn serve(self) -> Result<(), ServeError> {
        self.serve_with_shutdown(pending()).await
    }

    /// Serves until `stop` is ready, then shuts down: no new connections and calls, running calls may take until the
    /// [grace](Self::grace) has passed. Always returns at the end of the grace at the latest.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn serve_with_shutdown(self, stop: impl Future<Output = ()> + 'static) -> Result<(), ServeError> {
        R::run_local(self.run(stop)).await
    }
}

impl<R: Sockets, X: Executor> Server<R, X> {
    fn with(runtime: R) -> Self {
        Self {
            runtime,
            builder: Builder::new(),
            listeners: Vec::new(),
            addresses: Vec::new(),
            bind: BindOptions::default(),
            most: CONNECTIONS,
            grace: Duration::from_secs(10),
        }
    }

    /// Listens on `host:port` or `unix:/path`, from now on. A port 0 takes a free one: see
    /// [`local_addresses`](Self::local_addresses). A socket file that nobody serves any more is replaced.
    ///
    /// # Errors
    /// The address cannot be understood or not be had; the error says why.
    pub fn listen(mut self, address: &str) -> Result<Self, ServeError> {
        let address = Address::parse(address).map_err(ServeError::Address)?;
        let listener = Listener::bind(&address, &self.bind).map_err(ServeError::Bind)?;
        let bound = listener.local_address().map_err(|source| ServeError::Bind(BindError::Io { address, source }))?;
        self.listeners.push(listener);
        self.addresses.push(bound);
        Ok(self)
    }

    /// Where it listens, in the order of [`listen`](Self::listen), with the real ports.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<Address> {
        self.addresses.clone()
    }

    /// Listeners added from now on share their port with other servers of this process (`SO_REUSEPORT`).
    pub fn reuse_port(mut self, yes: bool) -> Self {
        self.bind.reuse_port = yes;
        self
    }

    /// Answers requests that are not gRPC, such as `GET /healthz`, in the task of the connection: `handler` must not
    /// block. What it answers with `None` is refused (415 or 405). Request bodies of more than
    /// 64,000 octets are answered 413.
    pub fn http(mut self, handler: impl Fn(&HttpRequest) -> Option<HttpResponse> + Send + Sync + 'static) -> Self {
        self.builder.http(Arc::new(handler));
        self
    }

    /// Changes the settings of its connections: limits, windows, timeouts.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(self.builder.config());
        self
    }

    /// Wraps each of its connections in layers of one's own on the [`Endpoint`] seam, such as TLS or a recorder.
    pub fn layer<E: Endpoint + Send + 'static>(mut self, layer: impl Fn(Connection) -> E + Send + Sync + 'static) -> Self {
        self.builder.layer(Layer::new(layer));
        self
    }

    /// Connections at a time, in all; more wait unaccepted until others close. Default 10,000. Keep it below the descriptors that the
    /// process may have (`ulimit -n`).
    pub const fn max_connections(mut self, most: NonZeroUsize) -> Self {
        self.most = most;
        self
    }

    /// How long running calls may take after a shutdown has begun. Default 10 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Serves connections that the application accepts itself, instead of listening: streams of another kind, TLS,
    /// sockets passed by a supervisor.
    ///
    /// # Errors
    /// The services or the settings do not fit.
    pub fn connections(self) -> Result<ConnectionServer<R, X>, ServeError> {
        Ok(ConnectionServer { acceptor: self.builder.finish(self.runtime).map_err(ServeError::Build)? })
    }

    async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError>
    where
        R: Listening,
        Acceptor<R, X>: Serve<R::Socket>,
    {
        if self.listeners.is_empty() {
            return Err(ServeError::NoListener);
        }
        let listeners = self.listeners.into_iter().map(R::listener).collect::<io::Result<_>>().map_err(ServeError::Listener)?;
        let acceptor = self.builder.finish(self.runtime).map_err(ServeError::Build)?;
        serve::<R, X, R::Listener>(acceptor, listeners, self.most, stop, self.grace).await.map_err(ServeError::Listener)
    }
}

impl<R: Clone, X: Executor> Clone for ConnectionServer<R, X> {
    fn clone(&self) -> Self {
        Self { acceptor: self.acceptor.clone() }
    }
}

impl<R: Sockets, X: Runs<R>> ConnectionServer<R, X> {
    /// Serves one connection until it ends. Dropping the future closes it at once.
    ///
    /// A TCP stream should have TCP_NODELAY (`set_nodelay(true)`), as the adapters give their own: without it small
    /// answers wait for the peer's delayed acknowledgement, some 40 ms.
    pub async fn serve_connection<S>(&self, io: S, peer: Peer)
    where
        R: Adopt<S>,
    {
        self.acceptor.serve_connection(R::adopt(io), peer).await;
    }

    /// Serves one connection through a layer of its own on the [`Endpoint`] seam, such as TLS or a recorder, instead of the server's.
    pub async fn serve_layered<S, E: Endpoint>(&self, io: S, peer: Peer, layer: impl FnOnce(Connection) -> E)
    where
        R: Adopt<S>,
    {
        self.acceptor.serve_layered(R::adopt(io), peer, layer).await;
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => write!(f, "{error}"),
            Self::Bind(error) => write!(f, "{error}"),
            Self::Build(error) => write!(f, "{error}"),
            Self::NoListener => f.write_str("the server has nothing to listen on: call listen(\"127.0.0.1:50051\") first"),
            Self::Listener(error) => write!(f, "a listener broke: {error}"),
        }
    }
}

impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address(error) => Some(error),
            Self::Bind(error) => Some(error),
            Self::Build(error) => Some(error),
            Self::NoListener => None,
            Self::Listener(error) => Some(error),
        }
    }
}

impl<R, X: Executor> fmt::Debug for Server<R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("services", &self.builder).field("listeners", &self.addresses).finish_non_exhaustive()
    }
}

impl<R, X: Executor> fmt::Debug for ConnectionServer<R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionServer").field("acceptor", &self.acceptor).finish()
    }
}
