//! Clients.

mod driver;
mod embed;

pub use embed::EmbeddedClient;

/// A client that the calling thread drives, made by [`connect_local`] or [`Connect::local`].
pub type LocalClient = pintle_callback::LocalClient<Driver>;
/// A call of a [`LocalClient`].
pub type LocalCall = pintle_callback::LocalCall<Driver>;

use crate::link::{IntoSocket, Socket};
use driver::{Driver, WAKE};
use mio::Waker;
use pintle_callback::{Client, Drive, Engine, Layer};
use pintle_core::{Config, ConfigError, Connection, Endpoint};
use pintle_net::{Address, AddressError, now};
use std::{fmt, io, sync::Arc, sync::mpsc, thread, time::Duration};

/// Connects a [`Client`] to `host:port` or `unix:path`, with the default settings.
///
/// # Errors
/// The address is not valid, or nobody answers there within 10 s.
pub fn connect(address: &str) -> Result<Client, ConnectError> {
    Connect::new().client(address)
}

/// Connects a [`LocalClient`] to `host:port` or `unix:path`, with the default settings.
///
/// # Errors
/// The address is not valid, or nobody answers there within 10 s.
pub fn connect_local(address: &str) -> Result<LocalClient, ConnectError> {
    Connect::new().local(address)
}

/// How to connect.
#[derive(Clone)]
#[must_use = "it only describes: connect with `client` or `local`"]
pub struct Connect {
    config: Config,
    timeout: Duration,
    authority: Option<String>,
    layer: Option<Layer>,
}

impl Default for Connect {
    fn default() -> Self {
        Self::new()
    }
}

impl Connect {
    /// The default settings.
    pub fn new() -> Self {
        Self { config: Config::default(), timeout: Duration::from_secs(10), authority: None, layer: None }
    }

    /// Changes the settings of the connection: limits, windows, timeouts. `authority` counts only for connections that are `_over`
    /// a stream.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// How long connecting may take. Default 10 s.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What to send as `:authority` instead of the address (`localhost` for a Unix socket).
    pub fn authority(mut self, authority: impl Into<String>) -> Self {
        self.authority = Some(authority.into());
        self
    }

    /// Wraps the connection's core in layers of one's own, such as TLS.
    pub fn layer<E: Endpoint + 'static>(mut self, layer: impl Fn(Connection) -> E + Send + Sync + 'static) -> Self {
        self.layer = Some(Arc::new(move |connection| Box::new(layer(connection))));
        self
    }

    /// Connects a client with a background thread.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn client(mut self, address: &str) -> Result<Client, ConnectError> {
        let socket = self.dial(address)?;
        self.client_over(socket)
    }

    /// Connects a client that the calling thread drives.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn local(mut self, address: &str) -> Result<LocalClient, ConnectError> {
        let socket = self.dial(address)?;
        self.local_over(socket)
    }

    /// A client with a background thread, over a stream that is connected already.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn client_over(self, io: impl IntoSocket) -> Result<Client, ConnectError> {
        let socket = io.into_socket()?;
        let (report, started) = mpsc::sync_channel(1);
        // Made on the thread that runs it: layers need not be `Send`.
        let body = move || match self.engine(socket) {
            Ok((client, engine, driver)) => {
                let _ = report.send(Ok(client));
                run(engine, driver);
            }
            Err(e) => {
                let _ = report.send(Err(e));
            }
        };
        thread::Builder::new().name("pintle-client".into()).spawn(body)?;
        started.recv().map_err(|_| io::Error::other("a layer panicked"))?
    }

    /// A client that the calling thread drives, over a stream that is connected already.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn local_over(self, io: impl IntoSocket) -> Result<LocalClient, ConnectError> {
        let socket = io.into_socket()?;
        Ok(LocalClient::new(self.driver(socket)?))
    }

    fn dial(&mut self, address: &str) -> Result<Socket, ConnectError> {
        let address = Address::parse(address).map_err(ConnectError::Address)?;
        self.authority.get_or_insert_with(|| address.authority().to_owned());
        Ok(pintle_net::connect(&address, self.timeout).map_err(ConnectError::Connect)?.into_socket()?)
    }

    fn engine(self, socket: Socket) -> Result<(Client, Engine, Driver), ConnectError> {
        let driver = self.driver(socket)?;
        let waker = Waker::new(driver.poll.registry(), WAKE)?;
        // Waking fails only when the loop's epoll is gone, and then so is the loop.
        let (client, engine) = Client::new(move || drop(waker.wake()));
        Ok((client, engine, driver))
    }

    fn driver(self, socket: Socket) -> Result<Driver, ConnectError> {
        let (config, layer) = self.settings()?;
        Ok(Driver::new(socket, &config, layer.as_ref())?)
    }

    /// Of the connection.
    fn settings(self) -> Result<(Config, Option<Layer>), ConnectError> {
        let mut config = self.config;
        if let Some(authority) = self.authority {
            config.authority = authority;
        }
        config.validate().map_err(ConnectError::Config)?;
        Ok((config, self.layer))
    }
}

/// The background thread of a [`Client`].
fn run(mut engine: Engine, mut driver: Driver) {
    loop {
        engine.dispatch(driver.core());
        if driver.is_over() {
            return engine.end(driver.core());
        }
        if driver.turn_or_wake(None) {
            engine.execute(driver.core(), now());
        }
    }
}

/// Why there is no connection. `Debug` prints the same text as `Display`, for programs that return it from `main`.
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be understood.
    Address(AddressError),
    /// Nobody answers there.
    Connect(pintle_net::ConnectError),
    /// A setting is out of its range.
    Config(ConfigError),
    /// The system refused something.
    Io(io::Error),
}

impl From<io::Error> for ConnectError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(e) => e.fmt(f),
            Self::Connect(e) => e.fmt(f),
            Self::Config(e) => write!(f, "the settings cannot work: {e}"),
            Self::Io(e) => write!(f, "the client's loop cannot start: {e}"),
        }
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address(e) => Some(e),
            Self::Connect(e) => Some(e),
            Self::Config(e) => Some(e),
            Self::Io(e) => Some(e),
        }
    }
}
