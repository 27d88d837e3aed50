//! Connecting.

use crate::{Socket, Tokio, TokioIo};
use pintle_core::{Config, ConfigError, Connection, Endpoint};
use pintle_futures::{Channel, ChannelOptions, Connecting};
use pintle_net::{Address, AddressError, prepare_tcp};
use std::{fmt, io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

/// Connects to `host:port` or `unix:/path` with the default settings; [`Connect`] has the others.
///
/// The channel connects again by itself: when its connection is lost, the next call makes another.
///
/// # Errors
/// See [`ConnectError`].
pub async fn connect(address: &str) -> Result<Channel, ConnectError> {
    Connect::new(address)?.connect().await
}

/// A channel over any stream: a pipe, TLS, a socket that the application connected. It cannot connect again.
#[must_use]
pub fn connect_with<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(io: S, config: &Config) -> Channel {
    Channel::over(&Tokio, TokioIo(io), config)
}

/// A channel over any stream through a layer on the [`Endpoint`] seam, such as TLS or a recorder.
#[must_use]
pub fn connect_layered<S, E>(io: S, config: &Config, layer: impl FnOnce(Connection) -> E) -> Channel
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    E: Endpoint + Send + 'static,
{
    Channel::layered(&Tokio, TokioIo(io), config, layer)
}

/// Where and how to connect.
#[derive(Debug, Clone)]
#[must_use = "call connect()"]
pub struct Connect {
    address: Address,
    options: ChannelOptions,
}

/// Why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be understood.
    Address(AddressError),
    /// A setting is out of its range.
    Config(ConfigError),
    /// Nobody answers there, or the name has no address.
    Connect(pintle_net::ConnectError),
}

impl Connect {
    /// To `host:port` or `unix:/path`. `:authority` is what the address says.
    ///
    /// # Errors
    /// The address cannot be understood.
    pub fn new(address: &str) -> Result<Self, ConnectError> {
        let address = Address::parse(address).map_err(ConnectError::Address)?;
        let mut options = ChannelOptions::default();
        address.authority().clone_into(&mut options.config.authority);
        Ok(Self { address, options })
    }

    /// Changes the settings of its connections: limits, windows, timeouts, `:authority`.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.options.config);
        self
    }

    /// How long an attempt may take. Default 10 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(self) -> Result<Channel, ConnectError> {
        self.options.config.validate().map_err(ConnectError::Config)?;
        let Self { address, options } = self;
        let io = match tokio::time::timeout(options.connect_timeout, open(&address)).await {
            Ok(opened) => opened,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "nobody answered in time")),
        };
        let io = io.map_err(|source| ConnectError::Connect(pintle_net::ConnectError { address: address.clone(), source }))?;
        Ok(Channel::new(Tokio, io, options, move || reopen(address.clone())))
    }
}

fn reopen(address: Address) -> Connecting<Socket> {
    Box::pin(async move { open(&address).await.map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}"))) })
}

async fn open(address: &Address) -> io::Result<Socket> {
    match address {
        Address::Tcp(host) => {
            let stream = TcpStream::connect(host.as_str()).await?;
            prepare_tcp(&stream)?;
            Ok(Socket::Tcp(stream))
        }
        Address::Unix(path) => Ok(Socket::Unix(UnixStream::connect(path).await?)),
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => write!(f, "{error}"),
            Self::Config(error) => write!(f, "{error}"),
            Self::Connect(error) => write!(f, "{error}"),
        }
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
