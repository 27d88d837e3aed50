//! A socket that does not block, of either kind.

use mio::net::{TcpStream, UnixStream};
use std::io::{self, Read, Write};

/// It is registered by whoever made it.
#[derive(Debug)]
pub enum Socket {
    /// With TCP_NODELAY.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// One `read`.
    ///
    /// # Errors
    /// The system's, `WouldBlock` among them.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    /// One `write`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(octets),
            Self::Unix(stream) => stream.write(octets),
        }
    }
}
