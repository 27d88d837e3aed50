//! The server.

use crate::{Inline, Socket, Spawn, Tokio, TokioIo, listen::TokioListener};
use pintle_core::{Config, Connection, Endpoint};
use pintle_futures_server::{
    Acceptor, BuildError, Builder, Executor, HttpRequest, HttpResponse, LocalService, Peer, Serve, Service, serve,
};
use pintle_net::{Address, AddressError, BindError, BindOptions, Listener};
use std::{
    fmt,
    future::{Future, pending},
    io,
    sync::Arc,
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncWrite};

/// A gRPC server: services, listeners, settings; then [`serve`](Self::serve).
///
/// `X` says how handlers run: [`Spawn`] (the default, made with [`new`](Self::new)) or [`Inline`] (made with
/// [`inline`](Self::inline)).
#[must_use = "a server does nothing until it serves"]
pub struct Server<X: Executor = Spawn> {
    builder: Builder<X>,
    listeners: Vec<Listener>,
    bind: BindOptions,
    grace: Duration,
}

/// Serves connections that the application accepted: see [`Server::connections`]. Cheap to clone.
pub struct ConnectionServer<X: Executor = Spawn> {
    acceptor: Acceptor<Tokio, X>,
}

/// Why a server could not start, or had to stop.
#[derive(Debug)]
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

impl Server<Spawn> {
    /// A server whose handlers run as tasks of their own, on whatever threads the runtime has.
    pub fn new() -> Self {
        Self::with(Builder::new())
    }

    /// Adds a service: `GreeterServer::new(MyGreeter)`.
    #[expect(clippy::should_implement_trait, reason = "adding a service is not arithmetic")]
    pub fn add(mut self, service: impl Service<Tokio>) -> Self {
        self.builder.add(Box::new(service));
        self
    }

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

impl Default for Server<Spawn> {
    fn default() -> Self {
        Self::new()
    }
}

impl Server<Inline> {
    /// A server whose handlers run in the task of their connection, all on the thread that serves. They need not be
    /// `Send`. For more cores, serve on several threads with a current-thread runtime each and [`reuse_port`](Self::reuse_port).
    pub fn inline() -> Self {
        Self::with(Builder::new())
    }

    /// Adds a service: `GreeterServer::new(MyGreeter)`.
    #[expect(clippy::should_implement_trait, reason = "adding a service is not arithmetic")]
    pub fn add(mut self, service: impl LocalService) -> Self {
        self.builder.add(Box::new(service));
        self
    }

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
        // A local task of its own: what `run_until` is given is polled with every local task.
        let serving = async move { tokio::task::spawn_local(self.run(stop)).await };
        match tokio::task::LocalSet::new().run_until(serving).await {
            Ok(result) => result,
            Err(error) => error.try_into_panic().map_or(Ok(()), |panic| std::panic::resume_unwind(panic)),
        }
    }
}

impl<X: Executor> Server<X> {
    fn with(builder: Builder<X>) -> Self {
        Self { builder, listeners: Vec::new(), bind: BindOptions::default(), grace: Duration::from_secs(10) }
    }

    /// Listens on `host:port` or `unix:/path`, from now on. A port 0 takes a free one: see
    /// [`local_addresses`](Self::local_addresses). A socket file that nobody serves any more is replaced.
    ///
    /// # Errors
    /// The address cannot be understood or not be had; the error says why.
    pub fn listen(mut self, address: &str) -> Result<Self, ServeError> {
        let address = Address::parse(address).map_err(ServeError::Address)?;
        self.listeners.push(Listener::bind(&address, &self.bind).map_err(ServeError::Bind)?);
        Ok(self)
    }

    /// Where it listens, in the order of [`listen`](Self::listen), with the real ports.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<Address> {
        self.listeners.iter().filter_map(|listener| listener.local_address().ok()).collect()
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
    pub fn connections(self) -> Result<ConnectionServer<X>, ServeError> {
        Ok(ConnectionServer { acceptor: self.builder.finish(Tokio).map_err(ServeError::Build)? })
    }

    async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError>
    where
        Acceptor<Tokio, X>: Serve<Socket>,
    {
        if self.listeners.is_empty() {
            return Err(ServeError::NoListener);
        }
        let listeners = self.listeners.into_iter().map(TokioListener::new).collect::<io::Result<_>>().map_err(ServeError::Listener)?;
        let acceptor = self.builder.finish(Tokio).map_err(ServeError::Build)?;
        serve(acceptor, listeners, stop, self.grace).await.map_err(ServeError::Listener)
    }
}

impl<X: Executor> Clone for ConnectionServer<X> {
    fn clone(&self) -> Self {
        Self { acceptor: self.acceptor.clone() }
    }
}

impl ConnectionServer<Spawn> {
    /// Serves one connection until it ends. Dropping the future closes it at once.
    pub async fn serve_connection<S: AsyncRead + AsyncWrite + Unpin + 'static>(&self, io: S, peer: Peer) {
        self.acceptor.serve_connection(TokioIo(io), peer).await;
    }

    /// Serves one connection through a layer on the [`Endpoint`] seam, such as TLS or a recorder.
    pub async fn serve_layered<S, E>(&self, io: S, peer: Peer, layer: impl FnOnce(Connection) -> E)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
        E: Endpoint,
    {
        self.acceptor.serve_layered(TokioIo(io), peer, layer).await;
    }
}

impl ConnectionServer<Inline> {
    /// Serves one connection until it ends. Dropping the future closes it at once.
    pub async fn serve_connection<S: AsyncRead + AsyncWrite + Unpin + 'static>(&self, io: S, peer: Peer) {
        self.acceptor.serve_connection(TokioIo(io), peer).await;
    }

    /// Serves one connection through a layer on the [`Endpoint`] seam, such as TLS or a recorder.
    pub async fn serve_layered<S, E>(&self, io: S, peer: Peer, layer: impl FnOnce(Connection) -> E)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
        E: Endpoint,
    {
        self.acceptor.serve_layered(TokioIo(io), peer, layer).await;
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => write!(f, "{error}"),
            Self::Bind(error) => write!(f, "{error}"),
            Self::Build(error) => write!(f, "{error}"),
            Self::NoListener => f.write_str("the server has nothing to listen on: call listen(\"127.0.0.1:50051\") before serve()"),
            Self::Listener(error) => write!(f, "a listener broke: {error}"),
        }
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

impl<X: Executor> fmt::Debug for Server<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("services", &self.builder).field("listeners", &self.local_addresses()).finish_non_exhaustive()
    }
}

impl<X: Executor> fmt::Debug for ConnectionServer<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionServer").field("acceptor", &self.acceptor).finish()
    }
}
