//! Listening sockets.

use crate::{Smol, Socket, Spawner};
use async_io::Async;
use pintle_futures_server::{Credentials, Listener, Listening, Peer};
use pintle_net::{SocketFile, prepare_tcp};
use std::{
    io,
    net::TcpListener,
    os::unix::net::{UnixListener, UnixStream},
    task::{Context, Poll, ready},
};

/// A listening socket.
#[derive(Debug)]
pub enum SmolListener {
    /// TCP.
    Tcp(Async<TcpListener>),
    /// A Unix socket; its file goes with it.
    Unix(Async<UnixListener>, SocketFile),
}

impl<E: Spawner> Listening for Smol<E> {
    type Listener = SmolListener;

    fn listener(bound: pintle_net::Listener) -> io::Result<SmolListener> {
        Ok(match bound {
            pintle_net::Listener::Tcp(listener) => SmolListener::Tcp(Async::new(listener)?),
            pintle_net::Listener::Unix(listener, file) => SmolListener::Unix(Async::new(listener)?, file),
        })
    }
}

impl Listener for SmolListener {
    type Io = Socket;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(Socket, Peer)>> {
        Poll::Ready(match self {
            Self::Tcp(listener) => {
                let (stream, address) = ready!(poll_accept(listener, TcpListener::accept, cx))?;
                // A connection that is gone already fails its first read.
                let _ = prepare_tcp(&stream);
                Async::new(stream).map(|stream| (Socket::Tcp(stream), Peer::Tcp(address)))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = ready!(poll_accept(listener, UnixListener::accept, cx))?;
                let peer = Peer::Unix(credentials(&stream));
                Async::new(stream).map(|stream| (Socket::Unix(stream), peer))
            }
        })
    }
}

fn poll_accept<L, A>(listener: &Async<L>, accept: impl Fn(&L) -> io::Result<A>, cx: &mut Context<'_>) -> Poll<io::Result<A>> {
    loop {
        match accept(listener.get_ref()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            accepted => return Poll::Ready(accepted),
        }
        ready!(listener.poll_readable(cx))?;
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn credentials(stream: &UnixStream) -> Option<Credentials> {
    let who = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(Credentials::new(who.uid.as_raw(), who.gid.as_raw(), Some(who.pid.as_raw_pid())))
}

/// std does not ask for them yet, and other systems each have their own way.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn credentials(_: &UnixStream) -> Option<Credentials> {
    None
}
