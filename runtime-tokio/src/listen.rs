//! Listening sockets.

use crate::Socket;
use pintle_futures_server::{AcceptFailure, Credentials, Listener, Peer};
use pintle_net::{AcceptError, SocketFile, accept_error, prepare_tcp};
use std::{
    io,
    task::{Context, Poll, ready},
};
use tokio::net::{TcpListener, UnixListener};

/// A listening socket of the current tokio runtime.
#[derive(Debug)]
pub(crate) struct TokioListener {
    socket: Listening,
    /// Errors in a row.
    failures: u32,
}

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    /// The file goes with the listener.
    Unix(UnixListener, #[expect(dead_code, reason = "held for its destructor")] SocketFile),
}

impl TokioListener {
    pub(crate) fn new(listener: pintle_net::Listener) -> io::Result<Self> {
        let socket = match listener {
            pintle_net::Listener::Tcp(listener) => Listening::Tcp(TcpListener::from_std(listener)?),
            pintle_net::Listener::Unix(listener, file) => Listening::Unix(UnixListener::from_std(listener)?, file),
        };
        Ok(Self { socket, failures: 0 })
    }
}

impl Listener for TokioListener {
    type Io = Socket;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Socket, Peer), AcceptFailure>> {
        loop {
            let error = match ready!(self.socket.poll_accept(cx)) {
                Ok(accepted) => {
                    self.failures = 0;
                    return Poll::Ready(Ok(accepted));
                }
                Err(error) => error,
            };
            let verdict = accept_error(&error, self.failures);
            match verdict {
                AcceptError::Retry => {}
                AcceptError::BackOff(pause) => {
                    self.failures = self.failures.saturating_add(1);
                    return Poll::Ready(Err(AcceptFailure::BackOff(pause)));
                }
                AcceptError::Fatal => return Poll::Ready(Err(AcceptFailure::Fatal(error))),
            }
        }
    }
}

impl Listening {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Socket, Peer)>> {
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
