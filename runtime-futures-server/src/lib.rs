//! The server half of `pintle-futures`: services, their two executors, accepting connections and shutting down.
//!
//! Applications use `pintle-tokio` or `pintle-smol`. A runtime has the [`Server`] when it implements [`Listening`], and its
//! inline executor when it implements [`LocalRuntime`].

mod app;
mod context;
mod in_process;
mod inline;
pub mod local;
mod serve;
mod server;
mod spawn;

pub use app::HttpHandler;
pub use context::{Cancellation, Context};
pub use in_process::InProcess;
pub use inline::{Inline, InlineCall};
pub use pintle_core::http::{Request as HttpRequest, Response as HttpResponse};
pub use pintle_net::{Credentials, Peer};
pub use serve::{Lease, Listener, Listening, LocalRuntime, Serve, serve};
pub use server::{ConnectionServer, ServeError, Server};
pub use spawn::{Spawn, SpawnCall};

use pintle_core::{Config, ConfigError, Connection, Endpoint, Routes, Shape, grpc::InvalidRoute};
use pintle_futures::{
    Io, Layer, Runtime,
    owner::{Driver, Queue},
};
use std::{
    fmt,
    future::{Future, poll_fn},
    sync::Arc,
};

/// A method that a service has: its path and shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    path: &'static str,
    shape: Shape,
}

impl Method {
    /// `path` is `/package.Service/Method`.
    #[must_use]
    pub const fn new(path: &'static str, shape: Shape) -> Self {
        Self { path, shape }
    }
}

/// The methods of a service; the index in this list is what `dispatch` gets.
pub trait Methods {
    /// All of them, always the same.
    fn methods(&self) -> &'static [Method];
}

/// A service whose handlers run as tasks of their own. Generated code implements it.
pub trait Service<R: Runtime>: Methods + Send + Sync + 'static {
    /// Starts the handler of method number `method`.
    fn dispatch(&self, method: usize, call: SpawnCall<'_, R>);
}

/// A service whose handlers run in the task of their connection. Generated code implements it.
pub trait LocalService: Methods + 'static {
    /// Starts the handler of method number `method`.
    fn dispatch(&self, method: usize, call: InlineCall<'_>);
}

/// How handlers run: [`Spawn`] or [`Inline`].
pub trait Executor: 'static {
    /// A service of this kind, made into an object.
    type Service: ?Sized + Methods;
}

/// An executor on runtime `R`: all of them are, [`Spawn`] only on its own.
pub trait Runs<R: Runtime>: Executor + Sized {
    /// Serves one connection until it ends; `queue` reaches it.
    #[doc(hidden)]
    fn run<S: Io, E: Endpoint>(
        acceptor: &Acceptor<R, Self>,
        io: S,
        peer: Peer,
        layer: impl FnOnce(Connection) -> E,
        queue: &Arc<Queue>,
    ) -> impl Future<Output = ()>;
}

/// The services of a server and its settings, before it serves.
pub struct Builder<X: Executor> {
    services: Vec<Box<X::Service>>,
    http: Option<Arc<HttpHandler>>,
    config: Config,
    layer: Option<Layer>,
}

/// What serves connections; cheap to clone. Make it with [`Builder::finish`].
pub struct Acceptor<R, X: Executor> {
    pub(crate) runtime: R,
    pub(crate) shared: Arc<Shared<X>>,
}

pub(crate) struct Shared<X: Executor> {
    services: Vec<Box<X::Service>>,
    /// By route: which service, which of its methods, and its path.
    targets: Vec<(usize, usize, &'static str)>,
    routes: Routes,
    http: Option<Arc<HttpHandler>>,
    config: Config,
    layer: Option<Layer>,
}

/// A server that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A method is there twice (a service was added twice), or its path is not `/service/method`.
    Route(InvalidRoute),
    /// A setting is out of its range.
    Config(ConfigError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route(error) => write!(f, "the services do not fit together: {error}"),
            Self::Config(error) => write!(f, "the settings cannot work: {error}"),
        }
    }
}

impl std::error::Error for BuildError {}

impl<X: Executor> Builder<X> {
    /// No service, default settings.
    #[must_use]
    pub fn new() -> Self {
        Self { services: Vec::new(), http: None, config: Config::default(), layer: None }
    }

    /// Adds a service.
    pub fn add(&mut self, service: Box<X::Service>) {
        self.services.push(service);
    }

    /// Answers requests that are not gRPC.
    pub fn http(&mut self, handler: Arc<HttpHandler>) {
        self.http = Some(handler);
    }

    /// Wraps every connection in layers of one's own.
    pub fn layer(&mut self, layer: Layer) {
        self.layer = Some(layer);
    }

    /// The settings of every connection.
    pub fn config(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Checks it all.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn finish<R: Runtime>(mut self, runtime: R) -> Result<Acceptor<R, X>, BuildError> {
        self.config.accept_http = self.http.is_some();
        self.config.validate().map_err(BuildError::Config)?;
        let mut targets = Vec::new();
        for (index, service) in self.services.iter().enumerate() {
            targets.extend(service.methods().iter().enumerate().map(|(number, method)| (index, number, method.path)));
        }
        let methods = self.services.iter().flat_map(|service| service.methods());
        let routes = Routes::new(methods.map(|method| (method.path, method.shape))).map_err(BuildError::Route)?;
        let shared = Shared { services: self.services, targets, routes, http: self.http, config: self.config, layer: self.layer };
        Ok(Acceptor { runtime, shared: Arc::new(shared) })
    }
}

impl<X: Executor> Default for Builder<X> {
    fn default() -> Self {
        Self::new()
    }
}

impl<X: Executor> fmt::Debug for Builder<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("services", &self.services.len()).finish_non_exhaustive()
    }
}

impl<R: Clone, X: Executor> Clone for Acceptor<R, X> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<R, X: Executor> fmt::Debug for Acceptor<R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("methods", &self.shared.targets.len()).finish_non_exhaustive()
    }
}

impl<R: Runtime, X: Runs<R>> Acceptor<R, X> {
    /// Serves one connection over any stream until it ends. With [`Inline`] the future must stay on its thread.
    pub async fn serve_connection<S: Io>(&self, io: S, peer: Peer) {
        self.attend(io, peer, &Queue::new(R::now)).await;
    }

    /// Serves one connection, in the server's layers if there are any.
    pub(crate) async fn attend<S: Io>(&self, io: S, peer: Peer, queue: &Arc<Queue>) {
        match &self.shared.layer {
            None => X::run(self, io, peer, |connection| connection, queue).await,
            Some(layer) => X::run(self, io, peer, |connection| layer.wrap(connection), queue).await,
        }
    }

    /// Serves one connection through a layer of its own on the [`Endpoint`] seam (TLS, a recorder, a proxy's preamble) instead of the server's.
    pub async fn serve_layered<S: Io, E: Endpoint>(&self, io: S, peer: Peer, layer: impl FnOnce(Connection) -> E) {
        X::run(self, io, peer, layer, &Queue::new(R::now)).await;
    }
}

impl<R: Runtime> Runs<R> for Spawn<R> {
    fn run<S: Io, E: Endpoint>(
        acceptor: &Acceptor<R, Self>,
        io: S,
        peer: Peer,
        layer: impl FnOnce(Connection) -> E,
        queue: &Arc<Queue>,
    ) -> impl Future<Output = ()> {
        let executor = spawn::Spawner { runtime: acceptor.runtime.clone(), shared: Arc::clone(&acceptor.shared) };
        drive(acceptor, executor, io, peer, layer, queue)
    }
}

impl<R: Runtime> Runs<R> for Inline {
    fn run<S: Io, E: Endpoint>(
        acceptor: &Acceptor<R, Self>,
        io: S,
        peer: Peer,
        layer: impl FnOnce(Connection) -> E,
        queue: &Arc<Queue>,
    ) -> impl Future<Output = ()> {
        let executor = inline::Inliner::new(Arc::clone(&acceptor.shared), Arc::clone(queue));
        drive(acceptor, executor, io, peer, layer, queue)
    }
}

/// No `async fn`s, here and above: each would be one more to go through at every wake-up.
fn drive<R: Runtime, X: Executor, S: Io, E: Endpoint>(
    acceptor: &Acceptor<R, X>,
    executor: impl app::Execute,
    io: S,
    peer: Peer,
    layer: impl FnOnce(Connection) -> E,
    queue: &Arc<Queue>,
) -> impl Future<Output = ()> {
    let shared = &acceptor.shared;
    let connection = Connection::server(&shared.config, shared.routes.clone(), R::now());
    let app = app::ServerApp::new(executor, shared.http.clone(), Arc::new(peer), Arc::clone(queue));
    let mut driver = Driver::new(&acceptor.runtime, io, layer(connection), app, Arc::clone(queue));
    poll_fn(move |cx| driver.poll(cx))
}

/// For generated code.
pub mod glue {
    pub use crate::{InlineCall, LocalService, Method, Methods, Service, SpawnCall};
    pub use pintle_core::{Shape, codec::*};
    pub use pintle_futures::Runtime;
}
