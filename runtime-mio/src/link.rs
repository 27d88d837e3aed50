//! The socket of a connection.

use mio::{
    Interest, Registry, Token,
    event::{Event, Source},
    net::{TcpStream, UnixStream},
};
use pintle_callback::Stack;
use pintle_core::{Endpoint, Timestamp, Transmit, Wants};
use pintle_net::prepare_tcp;
use std::{
    fmt,
    io::{self, IoSlice, IoSliceMut, Read, Write},
    net::Shutdown,
    time::Duration,
};

/// Octets framed for one write.
const WRITE_BUDGET: usize = 256 << 10;
/// Runs gathered into one write; the kernel takes up to 1,024 (UIO_MAXIOV).
const MOST_RUNS: usize = 64;
/// How long a finished connection waits for the peer to close too.
const LINGER: Duration = Duration::from_secs(1);

/// Any other byte stream for a connection: non-blocking reads and writes, and readiness through mio.
///
/// Readiness is edge-triggered: it is read until `WouldBlock`.
pub trait Transport: Read + Write + Source + Send {}
impl<T: Read + Write + Source + Send> Transport for T {}

/// A byte stream that a connection may run on; made by [`IntoSocket`].
pub struct Socket(Kind);

enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
    Other(Box<dyn Transport>),
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Tcp(stream) => stream.fmt(f),
            Kind::Unix(stream) => stream.fmt(f),
            Kind::Other(_) => f.write_str("Transport"),
        }
    }
}

/// What `serve_connection` and `Connect::over` take: std's and mio's TCP and Unix streams, and a boxed [`Transport`].
pub trait IntoSocket {
    /// Makes it non-blocking, and sets TCP options.
    ///
    /// # Errors
    /// The socket is broken or closed.
    fn into_socket(self) -> io::Result<Socket>;
}

impl IntoSocket for std::net::TcpStream {
    fn into_socket(self) -> io::Result<Socket> {
        self.set_nonblocking(true)?;
        TcpStream::from_std(self).into_socket()
    }
}
impl IntoSocket for std::os::unix::net::UnixStream {
    fn into_socket(self) -> io::Result<Socket> {
        self.set_nonblocking(true)?;
        UnixStream::from_std(self).into_socket()
    }
}
impl IntoSocket for TcpStream {
    fn into_socket(self) -> io::Result<Socket> {
        prepare_tcp(&self)?;
        Ok(Socket(Kind::Tcp(self)))
    }
}
impl IntoSocket for UnixStream {
    fn into_socket(self) -> io::Result<Socket> {
        Ok(Socket(Kind::Unix(self)))
    }
}
impl IntoSocket for Box<dyn Transport> {
    fn into_socket(self) -> io::Result<Socket> {
        Ok(Socket(Kind::Other(self)))
    }
}
impl IntoSocket for Socket {
    fn into_socket(self) -> io::Result<Socket> {
        Ok(self)
    }
}
impl IntoSocket for pintle_net::Stream {
    fn into_socket(self) -> io::Result<Socket> {
        match self {
            Self::Tcp(stream) => stream.into_socket(),
            Self::Unix(stream) => stream.into_socket(),
        }
    }
}

/// Calls the same method on whichever stream it is; the ordinary two without a virtual call.
macro_rules! on_stream {
    ($socket:expr, $stream:ident => $do:expr) => {
        match &mut $socket.0 {
            Kind::Tcp($stream) => $do,
            Kind::Unix($stream) => $do,
            Kind::Other($stream) => $do,
        }
    };
}

/// A socket and what is known of it. Readiness is edge-triggered: it is remembered until the socket says otherwise.
#[derive(Debug)]
pub(crate) struct Link {
    socket: Socket,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The end of the peer's output was announced: read until it is there, no other edge will come.
    hung: bool,
    /// It was read, or the socket failed: the core knows.
    input_over: bool,
    /// The socket failed: nothing can be written any more.
    broken: bool,
    /// Its epoll was asked for room to write, too.
    asked_for_room: bool,
}

impl Link {
    pub(crate) const fn new(socket: Socket) -> Self {
        Self { socket, readable: true, writable: true, hung: false, input_over: false, broken: false, asked_for_room: true }
    }

    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        on_stream!(self.socket, stream => registry.register(stream, token, Interest::READABLE | Interest::WRITABLE))
    }

    /// Asks for room to write where some is awaited, and where it costs nothing: Linux tells of it after *each* read of a Unix
    /// socket's peer (`unix_write_space`), which is one more wake-up a call. To be called before each wait. `more`: something
    /// waits to be written.
    #[inline]
    pub(crate) fn ask_for_room(&mut self, registry: &Registry, token: Token, more: bool) -> io::Result<()> {
        let Kind::Unix(stream) = &mut self.socket.0 else { return Ok(()) };
        let asks = more || !self.writable;
        if asks != self.asked_for_room {
            self.asked_for_room = asks;
            let interest = if asks { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            registry.reregister(stream, token, interest)?;
        }
        Ok(())
    }

    pub(crate) fn deregister(&mut self, registry: &Registry) {
        // Closing deregisters, unless somebody else keeps the file open.
        if let Kind::Other(stream) = &mut self.socket.0 {
            let _ = registry.deregister(stream);
        }
    }

    pub(crate) fn ready(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.writable |= event.is_writable() || event.is_write_closed() || event.is_error();
        self.hung |= event.is_read_closed() || event.is_error();
    }

    /// Reads once, if the socket may have something. True: more may be there.
    #[inline]
    pub(crate) fn fill(&mut self, stack: &mut Stack, now: Timestamp, scratch: &mut [u8]) -> bool {
        if !self.readable || self.input_over {
            return false;
        }
        let (target, read) = match stack.read_target() {
            Some(target) if !target.is_empty() => {
                let mut buffers = [IoSliceMut::new(target), IoSliceMut::new(scratch)];
                let read = on_stream!(self.socket, stream => stream.read_vectored(&mut buffers));
                (buffers[0].len(), read)
            }
            _ => (0, on_stream!(self.socket, stream => stream.read(scratch))),
        };
        match read {
            Ok(0) => self.end_input(stack, now),
            Ok(n) => {
                if target > 0 {
                    stack.filled(now, n.min(target));
                }
                if n > target {
                    stack.recv_slice(now, &scratch[..n - target]);
                }
                // epoll(7): a short read has emptied a stream socket. Other transports may cut as they please.
                self.readable = self.hung || n == target + scratch.len() || matches!(self.socket.0, Kind::Other(_));
            }
            // Where nothing can be written any more, nothing is awaited either.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && self.broken => self.end_input(stack, now),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.readable = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.fail(stack, now),
        }
        self.readable
    }

    /// Writes once, if the core has octets and the socket may take some. True: something was written.
    #[inline]
    pub(crate) fn flush(&mut self, stack: &mut Stack, now: Timestamp) -> bool {
        if !self.writable || self.broken {
            return false;
        }
        let mut out = stack.transmit(now, WRITE_BUDGET);
        if out.is_empty() {
            return false;
        }
        let (lent, written) = match out.single() {
            Some(run) => (run.len(), on_stream!(self.socket, stream => stream.write(run))),
            None => write_runs(&mut self.socket, &out),
        };
        match written {
            Ok(0) => self.fail_to_write(stack, now),
            Ok(n) => {
                out.advance(n);
                self.writable = n == lent || matches!(self.socket.0, Kind::Other(_));
                return true;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return true,
            Err(_) => self.fail_to_write(stack, now),
        }
        false
    }

    /// Another turn could do something without a new edge.
    pub(crate) fn has_work(&self, wants: &Wants) -> bool {
        (wants.read && self.readable && !self.input_over) || (wants.write && self.writable && !self.broken) || wants.event
    }

    /// Nothing more will come of it: the socket failed, or the core is done and its layers have nothing left to say.
    pub(crate) fn is_over(&self, stack: &Stack, wants: &Wants) -> bool {
        (self.broken && self.input_over) || (!wants.write && stack.conn().is_finished())
    }

    /// The transport is given up.
    pub(crate) fn fail(&mut self, stack: &mut Stack, now: Timestamp) {
        self.broken = true;
        self.end_input(stack, now);
    }

    /// The peer is gone, but its last words may be here already (cases B36): they are read first, if they are wanted.
    fn fail_to_write(&mut self, stack: &mut Stack, now: Timestamp) {
        if self.input_over || !stack.wants().read {
            return self.fail(stack, now);
        }
        (self.broken, self.readable) = (true, true);
    }

    fn end_input(&mut self, stack: &mut Stack, now: Timestamp) {
        self.readable = false;
        if !self.input_over {
            self.input_over = true;
            stack.recv_eof(now);
        }
    }

    /// Says goodbye: a socket closed with unread octets sends a reset, which can destroy our last words (GOAWAY, an answer)
    /// on their way. `None`: it may be dropped now; else call `linger` when it is readable, and drop it at that time.
    pub(crate) fn begin_close(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.broken || self.input_over {
            return None;
        }
        let shut = match &self.socket.0 {
            Kind::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Kind::Unix(stream) => stream.shutdown(Shutdown::Write),
            Kind::Other(_) => return None,
        };
        self.readable = true;
        shut.is_ok().then(|| now.saturating_add(LINGER))
    }

    /// Reads and forgets. True: the peer has closed, drop it.
    pub(crate) fn linger(&mut self, scratch: &mut [u8]) -> bool {
        // Bounded: what comes faster is met by the next turn.
        for _ in 0..4 {
            match on_stream!(self.socket, stream => stream.read(scratch)) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.readable = false;
                    return e.kind() != io::ErrorKind::WouldBlock;
                }
            }
        }
        false
    }
}

fn write_runs(socket: &mut Socket, out: &Transmit<'_>) -> (usize, io::Result<usize>) {
    let mut runs: [&[u8]; MOST_RUNS] = [&[]; MOST_RUNS];
    let used = out.chunks(&mut runs);
    let lent = runs[..used].iter().map(|run| run.len()).sum();
    let slices: [IoSlice<'_>; MOST_RUNS] = std::array::from_fn(|i| IoSlice::new(runs[i]));
    (lent, on_stream!(*socket, stream => stream.write_vectored(&slices[..used])))
}
