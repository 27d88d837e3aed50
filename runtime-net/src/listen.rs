//! Listening sockets, TCP and Unix, with errors that say which address and why.

use crate::Address;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::{
    fmt, fs, io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::OwnedFd,
        unix::{
            fs::{FileTypeExt, MetadataExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
};

/// How to listen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BindOptions {
    /// Connections that the kernel keeps until they are accepted. Default 1,024; the system may cap it (`net.core.somaxconn`).
    pub backlog: i32,
    /// TCP: let [`Listener::sibling`] open more sockets on the same port, among which the kernel spreads connections
    /// (SO_REUSEPORT). Default false.
    pub reuse_port: bool,
    /// Unix: permission bits of the socket's file, set before it listens (0o600: only this user). Default `None`: as umask says.
    pub unix_mode: Option<u32>,
}

impl Default for BindOptions {
    fn default() -> Self {
        Self { backlog: 1_024, reuse_port: false, unix_mode: None }
    }
}

/// A listening socket of std's, non-blocking.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// Unix, with the guard of its file: keep it as long as anything listens there.
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Binds and listens.
    ///
    /// A socket file left behind by a server that is gone (nobody accepts there) is replaced; one that somebody listens on,
    /// and a file that is no socket, never are.
    ///
    /// # Errors
    /// See [`BindError`].
    pub fn bind(address: &Address, options: &BindOptions) -> Result<Self, BindError> {
        match address {
            Address::Tcp(_) => bind_host(address, options).map(Self::Tcp),
            Address::Unix(path) => bind_unix(address, path, options),
        }
    }

    /// The address, with the port that the system chose where 0 was asked for.
    ///
    /// # Errors
    /// The system's.
    pub fn local_address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => Ok(Address::Tcp(listener.local_addr()?.to_string())),
            Self::Unix(_, file) => Ok(Address::Unix(file.path.clone())),
        }
    }

    /// One more listener on the same address, for another loop: over TCP its own socket with its own queue (needs
    /// [`BindOptions::reuse_port`]), over Unix the same socket again. Its [`SocketFile`] removes nothing.
    ///
    /// # Errors
    /// The system's.
    pub fn sibling(&self, options: &BindOptions) -> io::Result<Self> {
        match self {
            Self::Tcp(listener) => bind_tcp(listener.local_addr()?, options.backlog, true).map(Self::Tcp),
            Self::Unix(listener, file) => {
                Ok(Self::Unix(listener.try_clone()?, SocketFile { path: file.path.clone(), inode: None, _socket: None }))
            }
        }
    }
}

fn bind_host(address: &Address, options: &BindOptions) -> Result<TcpListener, BindError> {
    let found = address.resolve().map_err(|source| BindError::Resolve { address: address.clone(), source })?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for at in found {
        match bind_first(at, options) {
            Ok(listener) => return Ok(listener),
            Err(e) => last = e,
        }
    }
    Err(BindError::from_io(address, last))
}

fn bind_first(at: SocketAddr, options: &BindOptions) -> io::Result<TcpListener> {
    if options.reuse_port && at.port() != 0 {
        // With SO_REUSEPORT two servers of one user share a port without a word: ask without it first.
        bind_tcp(at, options.backlog, false)?;
    }
    bind_tcp(at, options.backlog, options.reuse_port)
}

fn bind_tcp(at: SocketAddr, backlog: i32, reuse_port: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    // A restarted server must not wait for TIME_WAIT; on Unix this does not allow two listeners.
    socket.set_reuse_address(true)?;
    if reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    socket.listen(backlog)?;
    Ok(TcpListener::from(OwnedFd::from(socket)))
}

fn bind_unix(address: &Address, path: &Path, options: &BindOptions) -> Result<Listener, BindError> {
    let fail = |source| BindError::from_io(address, source);
    make_room(address, path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(fail)?;
    socket.set_nonblocking(true).map_err(fail)?;
    let pin = Some(socket.try_clone().map_err(fail)?);
    socket.bind(&SockAddr::unix(path).map_err(fail)?).map_err(fail)?;
    let file = SocketFile { path: path.to_owned(), inode: inode(path), _socket: pin };
    if let Some(mode) = options.unix_mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(fail)?;
    }
    socket.listen(options.backlog).map_err(fail)?;
    Ok(Listener::Unix(UnixListener::from(OwnedFd::from(socket)), file))
}

/// Removes a stale socket file, and nothing else.
fn make_room(address: &Address, path: &Path) -> Result<(), BindError> {
    let fail = |source| BindError::from_io(address, source);
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(BindError::NotASocket { address: address.clone() });
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(fail)?;
    probe.set_nonblocking(true).map_err(fail)?;
    match probe.connect(&SockAddr::unix(path).map_err(fail)?) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Err(fail(e)),
        // Connected, or its queue is full, or a socket of another kind: somebody is there.
        _ => return Err(BindError::InUse { address: address.clone() }),
    }
    // Another server may have replaced it since: only what was found dead may go.
    if inode(path) == Some((found.dev(), found.ino())) {
        fs::remove_file(path).map_err(fail)?;
    }
    Ok(())
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The file of a listening Unix socket: removed on drop, unless another has taken its place. Only then is the socket closed.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and number of the file that `bind` made; `None`: somebody else removes it.
    inode: Option<(u64, u64)>,
    /// The socket stays open until the file is gone, in whatever order it and the listener are dropped: nobody can find the file
    /// dead meanwhile, replace it, and (the system uses inode numbers again) have the new one removed.
    _socket: Option<Socket>,
}

impl SocketFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.inode.is_some() && inode(&self.path) == self.inode {
            // It may be gone or the directory closed to us by now: nothing left to do then.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Why nothing listens on an address.
#[non_exhaustive]
pub enum BindError {
    /// Somebody listens there already.
    InUse {
        /// Where.
        address: Address,
    },
    /// The path is an ordinary file, a directory or the like; it was left alone.
    NotASocket {
        /// Where.
        address: Address,
    },
    /// The host's name has no address.
    Resolve {
        /// Which.
        address: Address,
        /// The resolver's error.
        source: io::Error,
    },
    /// Anything else that the system refused.
    Io {
        /// Where.
        address: Address,
        /// Its reason.
        source: io::Error,
    },
}

impl BindError {
    fn from_io(address: &Address, source: io::Error) -> Self {
        let address = address.clone();
        if source.kind() == io::ErrorKind::AddrInUse { Self::InUse { address } } else { Self::Io { address, source } }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { address } => write!(f, "cannot listen on {address}: it is in use, another server listens there"),
            Self::NotASocket { address } => {
                write!(
                    f,
                    "cannot listen on {address}: there is something at that path that is not a socket; remove it or choose another path"
                )
            }
            Self::Resolve { address, source } => write!(f, "cannot listen on {address}: its host cannot be looked up: {source}"),
            Self::Io { address, source } => write!(f, "cannot listen on {address}: {source}"),
        }
    }
}
/// As `Display`: what a program shows that returns it from `main`.
impl fmt::Debug for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InUse { .. } | Self::NotASocket { .. } => None,
            Self::Resolve { source, .. } | Self::Io { source, .. } => Some(source),
        }
    }
}
