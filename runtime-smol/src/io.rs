//! Streams of smol's kind as `pintle_futures::Io`.

use crate::{Smol, Spawner};
use async_io::Async;
use futures_lite::{AsyncRead, AsyncWrite};
use pintle_futures::{Adopt, Io};
use std::{
    io,
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    pin::Pin,
    task::{Context, Poll},
};

/// Any stream with the traits of `futures-io` as an [`Io`]: a socket, a pipe, a TLS stream.
#[derive(Debug)]
pub struct SmolIo<T>(pub T);

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(Async<TcpStream>),
    /// A Unix socket.
    Unix(Async<UnixStream>),
}

impl<E: Spawner, S: AsyncRead + AsyncWrite + Unpin + 'static> Adopt<S> for Smol<E> {
    type Io = SmolIo<S>;

    fn adopt(stream: S) -> SmolIo<S> {
        SmolIo(stream)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Io for SmolIo<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        write(&mut self.0, cx, octets)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

impl Io for Socket {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }

    /// async-io would ask the system once, and once more because it has told of the octets that were read by now.
    fn poll_read_on(&mut self, cx: &mut Context<'_>, _buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        for _ in 0..2 {
            let ready = match self {
                Self::Tcp(stream) => stream.poll_readable(cx),
                Self::Unix(stream) => stream.poll_readable(cx),
            };
            match ready {
                // Old news, or new: asking again makes the reactor tell of whatever is there by then.
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => write(stream, cx, octets),
            Self::Unix(stream) => write(stream, cx, octets),
        }
    }

    /// `Async` knows no end of the output but its drop.
    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match self {
            Self::Tcp(stream) => stream.get_ref().shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.get_ref().shutdown(Shutdown::Write),
        })
    }
}

fn write<T: AsyncWrite + Unpin>(stream: &mut T, cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
    match octets {
        [one] => Pin::new(stream).poll_write(cx, one),
        many => Pin::new(stream).poll_write_vectored(cx, many),
    }
}
