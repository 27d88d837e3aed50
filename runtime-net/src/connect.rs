//! Connecting, blocking with a time limit, and what every TCP connection of ours is set to.

use crate::Address;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::{
    fmt, io,
    net::{SocketAddr, TcpStream},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Octets that the kernel may hold unsent before it says "not writable". More only ages there: Pintle frames at the last
/// moment, so that cancelled calls cost nothing and urgent frames overtake data.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "ios"))]
const NOTSENT_LOWAT: u32 = 128 << 10;

/// A connected socket of std's, blocking.
#[derive(Debug)]
pub enum Stream {
    /// With [`prepare_tcp`] applied.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

/// Resolves `address` (blocking) and connects to the first address that answers, all within about `timeout`.
///
/// # Errors
/// None answered: the last reason, with the address.
pub fn connect(address: &Address, timeout: Duration) -> Result<Stream, ConnectError> {
    let result = match address {
        Address::Tcp(_) => address.resolve().and_then(|found| connect_tcp(&found, timeout)).map(Stream::Tcp),
        Address::Unix(path) => connect_unix(path, timeout).map(Stream::Unix),
    };
    result.map_err(|source| ConnectError { address: address.clone(), source })
}

/// Sets a TCP connection for gRPC: TCP_NODELAY (the core batches by itself), and TCP_NOTSENT_LOWAT where the system has it.
/// Takes std's, tokio's and mio's streams alike.
///
/// # Errors
/// The socket is broken or closed.
pub fn prepare_tcp(stream: &impl AsFd) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "ios"))]
    socket.set_tcp_notsent_lowat(NOTSENT_LOWAT)?;
    Ok(())
}

fn connect_tcp(found: &[SocketAddr], timeout: Duration) -> io::Result<TcpStream> {
    let begin = Instant::now();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (tried, at) in found.iter().enumerate() {
        // An address that swallows packets must leave time for the next one.
        let left = timeout.saturating_sub(begin.elapsed()) / u32::try_from(found.len() - tried).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(at, left.max(Duration::from_millis(1))) {
            Ok(stream) => {
                prepare_tcp(&stream)?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let begin = Instant::now();
    let at = SockAddr::unix(path)?;
    loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&at) {
            // unix(7) has no EINPROGRESS: EAGAIN says that the listener's queue is full, and nothing tells when it is not.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && begin.elapsed() < timeout => thread::sleep(Duration::from_millis(2)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(()) => {
                socket.set_nonblocking(false)?;
                return Ok(UnixStream::from(OwnedFd::from(socket)));
            }
        }
    }
}

/// No connection came up.
pub struct ConnectError {
    /// Where to.
    pub address: Address,
    /// Why not.
    pub source: io::Error,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}: {}", self.address, self.source)
    }
}
/// As `Display`: what a program shows that returns it from `main`.
impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
