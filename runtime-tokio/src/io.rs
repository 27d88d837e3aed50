//! tokio's streams as `pintle_futures::Io`.

use crate::Tokio;
use pintle_futures::{Adopt, Io};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// Any tokio stream as an [`Io`]: a socket, a pipe, a TLS stream.
#[derive(Debug)]
pub struct TokioIo<T>(pub T);

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Adopt<S> for Tokio {
    type Io = TokioIo<S>;

    fn adopt(stream: S) -> TokioIo<S> {
        TokioIo(stream)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Io for TokioIo<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        read(&mut self.0, cx, buffer)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        write(&mut self.0, cx, octets)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl Io for Socket {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => read(stream, cx, buffer),
            Self::Unix(stream) => read(stream, cx, buffer),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => match try_write(octets, |one| stream.try_write(one), |many| stream.try_write_vectored(many)) {
                Some(written) => Poll::Ready(written),
                None => write(stream, cx, octets),
            },
            Self::Unix(stream) => match try_write(octets, |one| stream.try_write(one), |many| stream.try_write_vectored(many)) {
                Some(written) => Poll::Ready(written),
                None => write(stream, cx, octets),
            },
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

fn read<T: AsyncRead + Unpin>(stream: &mut T, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    let mut buffer = ReadBuf::new(buffer);
    ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
    Poll::Ready(Ok(buffer.filled().len()))
}

/// A socket nearly always takes what it is given, and so need not be asked first whether it will, which costs as much as the rest of a small
/// write. `None`: it takes nothing now.
fn try_write(
    octets: &[io::IoSlice<'_>],
    one: impl FnOnce(&[u8]) -> io::Result<usize>,
    many: impl FnOnce(&[io::IoSlice<'_>]) -> io::Result<usize>,
) -> Option<io::Result<usize>> {
    let written = match octets {
        [octets] => one(octets),
        octets => many(octets),
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        written => Some(written),
    }
}

fn write<T: AsyncWrite + Unpin>(stream: &mut T, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
    match octets {
        [one] => Pin::new(stream).poll_write(cx, one),
        many => Pin::new(stream).poll_write_vectored(cx, many),
    }
}
