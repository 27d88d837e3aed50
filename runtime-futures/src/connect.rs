//! Connecting by address, on any runtime with sockets.

use crate::{Channel, ChannelOptions, Io, Layer, Runtime, Timer};
use pintle_core::{Config, ConfigError, Connection, Endpoint};
use pintle_net::{Address, AddressError};
use std::{
    fmt,
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
    time::Duration,
};

/// A runtime with sockets, TCP and Unix. An adapter implements it; [`Connect`] stands on it.
pub trait Sockets: Runtime {
    /// A connected socket.
    type Socket: Io + Send;

    /// Connects to `address`, in whatever time that takes; over TCP with `pintle_net::prepare_tcp` applied.
    ///
    /// # Errors
    /// The name has no address, or nobody answers there: the last reason.
    fn open(address: &Address) -> impl Future<Output = io::Result<Self::Socket>> + Send;
}

/// Where and how to connect.
#[derive(Debug, Clone)]
#[must_use = "call connect()"]
pub struct Connect<R> {
    runtime: R,
    address: Address,
    options: ChannelOptions,
}

/// Why there is no connection. `Debug` prints the same text as `Display`, for programs that return it from `main`.
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be understood.
    Address(AddressError),
    /// A setting is out of its range.
    Config(ConfigError),
    /// Nobody answers there, or the name has no address.
    Connect(pintle_net::ConnectError),
}

impl<R: Sockets + Default> Connect<R> {
    /// To `host:port` or `unix:/path`. `:authority` is what the address says.
    ///
    /// # Errors
    /// The address cannot be understood.
    pub fn new(address: &str) -> Result<Self, ConnectError> {
        Self::on(R::default(), address)
    }
}

impl<R: Sockets> Connect<R> {
    /// [`new`](Self::new) for connections whose tasks run on `runtime`.
    ///
    /// # Errors
    /// The address cannot be understood.
    pub fn on(runtime: R, address: &str) -> Result<Self, ConnectError> {
        let address = Address::parse(address).map_err(ConnectError::Address)?;
        let mut options = ChannelOptions::default();
        address.authority().clone_into(&mut options.config.authority);
        Ok(Self { runtime, address, options })
    }

    /// Changes the settings of its connections: limits, windows, timeouts, `:authority`.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.options.config);
        self
    }

    /// Wraps each of its connections in layers of one's own on the [`Endpoint`] seam, such as TLS or a recorder.
    pub fn layer<E: Endpoint + Send + 'static>(mut self, layer: impl Fn(Connection) -> E + Send + Sync + 'static) -> Self {
        self.options.layer = Some(Layer::new(layer));
        self
    }

    /// How long an attempt may take. Default 10 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Connects. The channel connects again by itself: when its connection is lost, the next call makes another.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(self) -> Result<Channel, ConnectError> {
        self.options.config.validate().map_err(ConnectError::Config)?;
        let Self { runtime, address, options } = self;
        let socket = open_within(&runtime, &address, options.connect_timeout).await;
        let socket = socket.map_err(|source| ConnectError::Connect(pintle_net::ConnectError { address: address.clone(), source }))?;
        Ok(Channel::new(runtime, socket, options, move || {
            let address = address.clone();
            Box::pin(async move { R::open(&address).await.map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}"))) })
        }))
    }
}

async fn open_within<R: Sockets>(runtime: &R, address: &Address, timeout: Duration) -> io::Result<R::Socket> {
    let give_up = R::now().saturating_add(timeout);
    let mut timer = runtime.timer();
    let mut opening = pin!(R::open(address));
    poll_fn(|cx| match opening.as_mut().poll(cx) {
        Poll::Ready(opened) => Poll::Ready(opened),
        Poll::Pending => timer.poll_until(give_up, cx).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "nobody answered in time"))),
    })
    .await
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => write!(f, "{error}"),
            Self::Config(error) => write!(f, "the settings cannot work: {error}"),
            Self::Connect(error) => write!(f, "{error}"),
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
            Self::Address(error) => Some(error),
            Self::Config(error) => Some(error),
            Self::Connect(error) => Some(error),
        }
    }
}
