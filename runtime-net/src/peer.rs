//! Who is at the other end of a connection.

use std::{fmt, net::SocketAddr, sync::Arc};

/// Who is at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// A TCP peer.
    Tcp(SocketAddr),
    /// A process on this machine, over a Unix socket; with its credentials where the adapter asks the kernel for them (pintle-tokio
    /// and pintle-smol do, pintle-mio with its feature `credentials`).
    Unix(Option<Credentials>),
    /// Another kind of stream, given to `serve_connection` under this name.
    Other(Arc<str>),
}

/// The process that opened a Unix socket, as it was then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credentials {
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// Process id, where the system tells it.
    pub pid: Option<i32>,
}

impl Credentials {
    /// From what the kernel said.
    #[must_use]
    pub const fn new(uid: u32, gid: u32, pid: Option<i32>) -> Self {
        Self { uid, gid, pid }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(Some(Credentials { uid, pid: Some(pid), .. })) => write!(f, "unix:uid={uid},pid={pid}"),
            Self::Unix(Some(Credentials { uid, .. })) => write!(f, "unix:uid={uid}"),
            Self::Unix(None) => f.write_str("unix"),
            Self::Other(name) => f.write_str(name),
        }
    }
}
