//! Listening sockets.

use crate::{Socket, Tokio};
use pintle_futures_server::{Credentials, Listener, Listening, Peer};
use pintle_net::{SocketFile, prepare_tcp};
use std::{
    io,
    task::{Context, Poll, ready},
};
use tokio::net::{TcpListener, UnixListener};

/// A listening socket of the tokio runtime that was current when it was made.
#[derive(Debug)]
pub enum TokioListener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket; its file goes with it.
    Unix(UnixListener, SocketFile),
}

impl Listening for Tokio {
    type Listener = TokioListener;

    fn listener(bound: pintle_net::Listener) -> io::Result<TokioListener> {
        Ok(match bound {
            pintle_net::Listener::Tcp(listener) => TokioListener::Tcp(TcpListener::from_std(listener)?),
            pintle_net::Listener::Unix(listener, file) => TokioListener::Unix(UnixListener::from_std(listener)?, file),
        })
    }
}

impl Listener for TokioListener {
    type Io = Socket;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(Socket, Peer)>> {
        Poll::Ready(match self {
            Self::Tcp(listener) => ready!(listener.poll_accept(cx)).map(|(stream, address)| {
                // A connection that is gone already fails its first read.
                let _ = prepare_tcp(&stream);
                (Socket::Tcp(stream), Peer::Tcp(address))
            }),
            Self::Unix(listener, _) => ready!(listener.poll_accept(cx)).map(|(stream, _)| {
                let who = stream.peer_cred().ok();
                let credentials = who.map(|who| Credentials::new(who.uid(), who.gid(), who.pid()));
                (Socket::Unix(stream), Peer::Unix(credentials))
            }),
        })
    }
}
