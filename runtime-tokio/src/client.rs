//! Connecting.

use crate::{Socket, Tokio, TokioIo};
use pintle_core::{Config, Connection, Endpoint};
use pintle_futures::{Channel, ConnectError, Sockets};
use pintle_net::{Address, prepare_tcp};
use std::io;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

/// Where and how to connect.
pub type Connect = pintle_futures::Connect<Tokio>;

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
///
/// A TCP stream should have TCP_NODELAY (`set_nodelay(true)`), as the adapter gives its own: without it small calls wait for the peer's
/// delayed acknowledgement, some 40 ms.
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

impl Sockets for Tokio {
    type Socket = Socket;

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
}
