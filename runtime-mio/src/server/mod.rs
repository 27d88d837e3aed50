//! Servers.

mod embed;
mod in_process;
mod own;
mod turn;

pub use embed::EmbeddedServer;
pub use in_process::{Joined, LocalInProcess};

use crate::{link::IntoSocket, tokens::Tokens};
use mio::Registry;
use own::OwnLoop;
use pintle_callback::{Command, HttpHandler, HttpRequest, HttpResponse, Layer, Mailbox, Service, Services};
use pintle_core::{Config, ConfigError, Connection, Endpoint, grpc::InvalidRoute};
use pintle_net::{Address, AddressError, BindError, BindOptions, Listener, Peer};
use std::{
    fmt, io,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};
use turn::Loop;

type Factory = Box<dyn Fn() -> Box<dyn Service> + Send + Sync>;
/// The listeners of one loop.
type Share = Vec<Listener>;

/// What all loops of a server share.
pub(crate) struct Setup {
    factories: Vec<Factory>,
    pub(crate) config: Config,
    pub(crate) layer: Option<Layer>,
    http: Option<Arc<HttpHandler>>,
    /// Open at present, and at most.
    connections: AtomicUsize,
    max_connections: usize,
}

/// A server under construction: add services, listen, run.
///
/// ```no_run
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/hello.rs"));
/// # use hello::GreeterServer;
/// # struct Polite;
/// # impl hello::GreeterService for Polite {
/// #     fn say_hello(&mut self, _: hello::HelloRequest, call: pintle_mio::Unary<hello::HelloReply>) { call.reply(Default::default()) }
/// # }
/// # use pintle_mio::Server;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new().add(|| GreeterServer::new(Polite)).listen("127.0.0.1:50051")?.listen("unix:/run/greeter.sock")?.loops(2).spawn()?;
/// // … and at the end:
/// server.shutdown(std::time::Duration::from_secs(10))?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a server does nothing until `run` or `spawn`"]
pub struct Server {
    setup: Setup,
    bind: BindOptions,
    listeners: Vec<Listener>,
    /// Of the listeners, ports chosen by the system included.
    addresses: Vec<Address>,
    loops: usize,
    control: ShutdownHandle,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server without services, with one loop and at most 10,000 connections.
    pub fn new() -> Self {
        let mut bind = BindOptions::default();
        bind.reuse_port = true;
        Self {
            setup: Setup {
                factories: Vec::new(),
                config: Config::default(),
                layer: None,
                http: None,
                connections: AtomicUsize::new(0),
                max_connections: 10_000,
            },
            bind,
            listeners: Vec::new(),
            addresses: Vec::new(),
            loops: 1,
            control: ShutdownHandle::default(),
        }
    }

    /// Adds a service: each loop makes one of its own, on its thread, so it need be neither `Send` nor `Sync`.
    #[allow(clippy::should_implement_trait, reason = "the word for it on every runtime")]
    pub fn add<S: Service>(mut self, make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        self.setup.factories.push(Box::new(move || Box::new(make())));
        self
    }

    /// Answers plain HTTP/2 requests (not gRPC) with `handler`, which runs on the loops' threads. `None`: refused as a gRPC server
    /// refuses them (415 for a POST, 405 otherwise).
    pub fn http(mut self, handler: impl Fn(&HttpRequest) -> Option<HttpResponse> + Send + Sync + 'static) -> Self {
        self.setup.http = Some(Arc::new(handler));
        self.setup.config.accept_http = true;
        self
    }

    /// Changes the settings of its connections: limits, windows, timeouts.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.setup.config);
        self.setup.config.accept_http |= self.setup.http.is_some();
        self
    }

    /// Wraps every connection's core in layers of one's own, such as TLS.
    pub fn layer<E: Endpoint + 'static>(mut self, layer: impl Fn(Connection) -> E + Send + Sync + 'static) -> Self {
        self.setup.layer = Some(Arc::new(move |connection| Box::new(layer(connection))));
        self
    }

    /// How the following [`listen`](Self::listen) binds.
    pub fn bind_options(mut self, options: BindOptions) -> Self {
        self.bind = options;
        // Whether there will be more than one loop is not known yet.
        self.bind.reuse_port = true;
        self
    }

    /// Listens on `host:port` (port 0: the system chooses) or `unix:path`; may be said more than once. Clients may connect from
    /// now on; they are served once it runs.
    ///
    /// # Errors
    /// The address is not valid, or nothing can listen there.
    pub fn listen(mut self, address: &str) -> Result<Self, ServeError> {
        let address = Address::parse(address).map_err(ServeError::Address)?;
        let listener = Listener::bind(&address, &self.bind).map_err(ServeError::Bind)?;
        self.addresses.push(listener.local_address()?);
        self.listeners.push(listener);
        Ok(self)
    }

    /// Runs so many loops, each a thread with its own connections; the kernel spreads them (TCP: SO_REUSEPORT). Default 1, at least 1.
    pub const fn loops(mut self, loops: usize) -> Self {
        self.loops = if loops == 0 { 1 } else { loops };
        self
    }

    /// Connections in all; more wait unaccepted until others close. Default 10,000.
    pub const fn max_connections(mut self, most: NonZeroUsize) -> Self {
        self.setup.max_connections = most.get();
        self
    }

    /// Where it listens, in the order of [`listen`](Self::listen), with the real ports.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<Address> {
        self.addresses.clone()
    }

    /// Ends it from anywhere, also before it runs.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.control.clone()
    }

    /// Runs until it is shut down: one loop on this thread, the others of `loops` on threads of their own.
    ///
    /// # Errors
    /// No listener, a [`Config`] out of range, a method that is there twice, the system's refusal, or a loop's epoll failed.
    pub fn run(self) -> Result<(), ServeError> {
        let (mut shares, mut running, setup) = self.share()?;
        // A process with one thread spares the system calls their thread-safety: no thread that is not needed.
        let mine = OwnLoop::start(Arc::clone(&setup), shares.remove(0), &running.control)?;
        running.start_threads(shares, &setup, 1)?;
        let result = mine.run();
        if result.is_err() {
            running.control.shutdown(Duration::ZERO);
        }
        running.join()?;
        Ok(result?)
    }

    /// Starts the loops, each on a thread of its own, and returns once they run.
    ///
    /// # Errors
    /// No listener, a [`Config`] out of range, a method that is there twice, or the system's refusal.
    pub fn spawn(self) -> Result<Running, ServeError> {
        let (shares, mut running, setup) = self.share()?;
        running.start_threads(shares, &setup, 0)?;
        Ok(running)
    }

    /// The listeners of each loop.
    fn share(self) -> Result<(Vec<Share>, Running, Arc<Setup>), ServeError> {
        if self.listeners.is_empty() {
            return Err(ServeError::NoListener);
        }
        self.setup.config.validate().map_err(ServeError::Config)?;
        let running = Running { addresses: self.addresses, control: self.control, threads: Vec::new() };
        let mut shares = vec![self.listeners];
        for _ in 1..self.loops {
            let share = shares[0].iter().map(|listener| listener.sibling(&self.bind)).collect::<io::Result<_>>()?;
            shares.push(share);
        }
        Ok((shares, running, Arc::new(self.setup)))
    }

    /// Serves one connection that came to be elsewhere, on this thread, until it is closed. Needs no listener. `peer` is what
    /// handlers see of its other end.
    ///
    /// # Errors
    /// It could not start, or the loop's epoll failed.
    pub fn serve_connection(self, io: impl IntoSocket, peer: Peer) -> Result<(), ServeError> {
        self.setup.config.validate().map_err(ServeError::Config)?;
        let mut only = OwnLoop::start(Arc::new(self.setup), Vec::new(), &self.control)?;
        only.adopt(io.into_socket()?, peer)?;
        Ok(only.run()?)
    }
}

/// Makes a loop, on its own thread.
fn start(
    setup: Arc<Setup>,
    listeners: Vec<Listener>,
    control: &ShutdownHandle,
    registry: Registry,
    tokens: Tokens,
    wake: impl Fn() + Send + Sync + 'static,
) -> Result<Loop, ServeError> {
    let services = setup.factories.iter().map(|make| make()).collect();
    let services = Services::new(services, setup.http.clone()).map_err(ServeError::Route)?;
    let mut new = Loop::new(setup, services, registry, tokens, wake);
    for listener in listeners {
        new.listen(listener)?;
    }
    control.register(new.mailbox());
    Ok(new)
}

/// A server that runs on threads of its own. Dropping it does not end it.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<Address>,
    control: ShutdownHandle,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// A thread for each share, named from `first`; on error those that run are ended.
    fn start_threads(&mut self, shares: Vec<Share>, setup: &Arc<Setup>, first: usize) -> Result<(), ServeError> {
        let (report, started) = mpsc::channel();
        for (number, listeners) in (first..).zip(shares) {
            let (setup, control, report) = (Arc::clone(setup), self.control.clone(), report.clone());
            let body = move || match OwnLoop::start(setup, listeners, &control) {
                Ok(ready) => {
                    let _ = report.send(Ok(()));
                    drop(report);
                    ready.run()
                }
                Err(e) => {
                    let _ = report.send(Err(e));
                    Ok(())
                }
            };
            self.threads.push(thread::Builder::new().name(format!("pintle-loop-{number}")).spawn(body)?);
        }
        drop(report);
        // Ends when every loop has reported or (a service's constructor panicked) is gone.
        if let Some(error) = started.iter().find_map(Result::err) {
            self.control.shutdown(Duration::ZERO);
            self.join_threads()?;
            return Err(error);
        }
        Ok(())
    }

    /// Where it listens, in the order of [`Server::listen`], with the real ports.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<Address> {
        self.addresses.clone()
    }

    /// Ends it from anywhere.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.control.clone()
    }

    /// Shuts down (see [`ShutdownHandle::shutdown`]) and waits until all loops have ended.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn shutdown(self, grace: Duration) -> Result<(), ServeError> {
        self.control.shutdown(grace);
        self.join()
    }

    /// Waits until somebody shuts it down.
    ///
    /// # Errors
    /// A loop's epoll failed, or a loop panicked.
    pub fn join(mut self) -> Result<(), ServeError> {
        self.join_threads()
    }

    fn join_threads(&mut self) -> Result<(), ServeError> {
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("a loop panicked")));
            result = result.and(ended.map_err(ServeError::Io));
        }
        result
    }
}

/// Shuts a server down. Clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct ShutdownHandle(Arc<Mutex<Control>>);

#[derive(Debug, Default)]
struct Control {
    loops: Vec<Arc<Mailbox<Command>>>,
    /// Shut down before the loops were there.
    grace: Option<Duration>,
}

impl ShutdownHandle {
    /// Stops listening, lets running calls finish, takes no new ones, and closes whatever is left after `grace`: it always ends.
    /// Idle connections close after a round trip. Said again, the earlier end counts.
    pub fn shutdown(&self, grace: Duration) {
        let mut control = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        control.grace = Some(control.grace.map_or(grace, |before| before.min(grace)));
        for home in &control.loops {
            home.post(Command::Drain { grace });
        }
    }

    fn register(&self, mailbox: &Arc<Mailbox<Command>>) {
        let mut control = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grace) = control.grace {
            mailbox.post(Command::Drain { grace });
        }
        control.loops.push(Arc::clone(mailbox));
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("listeners", &self.local_addresses()).field("loops", &self.loops).finish_non_exhaustive()
    }
}

/// Why a server does not listen, did not start, or ended before it was shut down. `Debug` prints the same text as `Display`, for
/// programs that return it from `main`.
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be understood.
    Address(AddressError),
    /// Nothing can listen there.
    Bind(BindError),
    /// `listen` was never said.
    NoListener,
    /// A setting is out of its range.
    Config(ConfigError),
    /// Two services have the same method, or a path is malformed.
    Route(InvalidRoute),
    /// The system refused something.
    Io(io::Error),
}

impl From<io::Error> for ServeError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(e) => e.fmt(f),
            Self::Bind(e) => e.fmt(f),
            Self::NoListener => f.write_str("the server has nothing to listen on: call listen(\"127.0.0.1:50051\") first"),
            Self::Config(e) => write!(f, "the settings cannot work: {e}"),
            Self::Route(e) => write!(f, "the services do not fit together: {e}"),
            Self::Io(e) => write!(f, "the server's loop failed: {e}"),
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
            Self::Address(e) => Some(e),
            Self::Bind(e) => Some(e),
            Self::NoListener => None,
            Self::Config(e) => Some(e),
            Self::Route(e) => Some(e),
            Self::Io(e) => Some(e),
        }
    }
}
