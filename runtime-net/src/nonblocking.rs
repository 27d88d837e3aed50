//! What a loop of one's own needs of sockets that do not wait: std's, either kind behind one name, for `poll(2)` and everything
//! else that tells levels and not edges.

use crate::{AcceptError, Listener, Peer, Stream, accept_error, prepare_tcp};
use pintle_core::{Endpoint, Timestamp, Wants};
use std::{
    io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write},
    net::Shutdown,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

/// Octets framed for one write.
const BUDGET: usize = 256 << 10;
/// Runs gathered into one write.
const MOST_RUNS: usize = 16;
/// How long a finished connection waits for the peer to close too.
const LINGER: Duration = Duration::from_secs(1);

/// A listener, and how it fares: it survives whatever befalls `accept`.
#[derive(Debug)]
pub struct Acceptor {
    listener: Listener,
    failures: u32,
    rests: Option<Timestamp>,
}

impl Acceptor {
    /// Accepts from `listener`.
    #[must_use]
    pub const fn new(listener: Listener) -> Self {
        Self { listener, failures: 0, rests: None }
    }

    /// Short of descriptors or memory, it is to be left alone until then: do not wait for it to be readable, it is.
    #[must_use]
    pub fn rests(&self, now: Timestamp) -> Option<Timestamp> {
        self.rests.filter(|until| *until > now)
    }

    /// Takes a connection, if one waits. `None`: none, or none yet (see [`rests`](Self::rests)).
    ///
    /// # Errors
    /// The listener itself is broken: report it and drop it.
    pub fn accept(&mut self, now: Timestamp) -> io::Result<Option<(Wire, Peer)>> {
        let accepted = match &self.listener {
            Listener::Tcp(listener) => listener.accept().map(|(stream, peer)| (Stream::Tcp(stream), Peer::Tcp(peer))),
            Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| (Stream::Unix(stream), Peer::Unix(None))),
        };
        match accepted {
            Ok((stream, peer)) => {
                self.failures = 0;
                // Systems refuse options on a socket whose peer is gone: then there is no connection, and nothing is wrong.
                return Ok(Wire::new(stream).ok().map(|wire| (wire, peer)));
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => match accept_error(&e, self.failures) {
                AcceptError::Retry => {}
                AcceptError::BackOff(pause) => {
                    self.failures = self.failures.saturating_add(1);
                    self.rests = Some(now.saturating_add(pause));
                }
                AcceptError::Fatal => return Err(e),
            },
        }
        Ok(None)
    }
}

impl AsFd for Acceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.listener {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }
}

/// The socket of a connection. It moves octets between the kernel and an [`Endpoint`], and closes without losing last words.
///
/// ```no_run
/// # use pintle_core::{Config, Connection, Endpoint};
/// # use pintle_net::{Address, Wire, now};
/// let address = Address::parse("localhost:50051")?;
/// let mut wire = Wire::new(pintle_net::connect(&address, std::time::Duration::from_secs(10))?)?;
/// let mut conn = Connection::client(&Config::default(), now());
/// let mut scratch = [0; 16 << 10];
/// while !wire.is_over(&conn, now()) {
///     let wants = wire.wants(&conn);
///     // … wait until `wire` is readable (if `wants.read`), writable (if `wants.write`), or `wants.deadline` …
///     conn.handle_timeout(now());
///     wire.read(&mut conn, now(), &mut scratch);
///     // … look at events and calls …
///     wire.write(&mut conn, now());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// It has said goodbye, and waits until then for the peer to do so.
    Closing(Timestamp),
    Gone,
}

impl Wire {
    /// A connection's socket; it becomes non-blocking, and is set for gRPC.
    ///
    /// # Errors
    /// The socket is broken or closed.
    pub fn new(stream: Stream) -> io::Result<Self> {
        match &stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true).and_then(|()| prepare_tcp(stream))?,
            Stream::Unix(stream) => stream.set_nonblocking(true)?,
        }
        Ok(Self { stream, state: State::Open })
    }

    /// What to wait for.
    pub fn wants(&self, endpoint: &impl Endpoint) -> Wants {
        match self.state {
            State::Open => endpoint.wants(),
            State::Closing(until) => Wants { read: true, write: false, event: false, deadline: Some(until) },
            State::Gone => Wants { read: false, write: false, event: false, deadline: None },
        }
    }

    /// Reads once, if the endpoint wants that: into the place of a large message if one is under way, else by way of `scratch`. Call it
    /// when the socket is readable, and when it has hung up or failed: that is the end of input.
    pub fn read(&mut self, endpoint: &mut impl Endpoint, now: Timestamp, scratch: &mut [u8]) {
        match self.state {
            State::Open if endpoint.wants().read => self.read_open(endpoint, now, scratch),
            // Nobody is interested in what still comes.
            State::Closing(_) => match self.stream.read(scratch) {
                Ok(1..) => {}
                Err(e) if is_passing(&e) => {}
                Ok(0) | Err(_) => self.state = State::Gone,
            },
            State::Open | State::Gone => {}
        }
    }

    fn read_open(&mut self, endpoint: &mut impl Endpoint, now: Timestamp, scratch: &mut [u8]) {
        let (target, read) = match endpoint.read_target() {
            Some(target) if !target.is_empty() => {
                let mut buffers = [IoSliceMut::new(target), IoSliceMut::new(scratch)];
                let read = self.stream.read_vectored(&mut buffers);
                (buffers[0].len(), read)
            }
            _ => (0, self.stream.read(scratch)),
        };
        match read {
            Ok(n @ 1..) => {
                if target > 0 {
                    endpoint.filled(now, n.min(target));
                }
                if n > target {
                    endpoint.recv_slice(now, &scratch[..n - target]);
                }
            }
            Err(e) if is_passing(&e) => {}
            Ok(0) | Err(_) => endpoint.recv_eof(now),
        }
    }

    /// The socket has hung up or failed while the endpoint does not read (`poll` says so again and again): nobody is there any more.
    pub fn hang_up(&mut self, endpoint: &mut impl Endpoint, now: Timestamp) {
        if self.state == State::Open {
            endpoint.recv_eof(now);
        }
        self.state = State::Gone;
    }

    /// Writes once, if there is something to write. True: something was written, and there may be more.
    pub fn write(&mut self, endpoint: &mut impl Endpoint, now: Timestamp) -> bool {
        if self.state != State::Open {
            return false;
        }
        let mut out = endpoint.transmit(now, BUDGET);
        let mut runs = [&[][..]; MOST_RUNS];
        let used = out.chunks(&mut runs);
        if used == 0 {
            return false;
        }
        match self.stream.write_vectored(&runs.map(IoSlice::new)[..used]) {
            Ok(n @ 1..) => {
                // What the kernel did not take is lent again.
                out.advance(n);
                return true;
            }
            Err(e) if is_passing(&e) => {}
            Ok(0) | Err(_) => self.hang_up(endpoint, now),
        }
        false
    }

    /// Whether to drop it, to be asked at the end of each turn: the socket is broken, or both sides have said goodbye.
    ///
    /// A socket that is closed while octets wait unread sends a reset, which can destroy the last words on their way. So a finished
    /// connection ends its output first, and waits a second at most for the peer to do the same.
    pub fn is_over(&mut self, endpoint: &impl Endpoint, now: Timestamp) -> bool {
        if self.state == State::Open && endpoint.conn().is_finished() && !endpoint.wants().write {
            let ended = match &self.stream {
                Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
                Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            };
            self.state = ended.map_or(State::Gone, |()| State::Closing(now.saturating_add(LINGER)));
        }
        match self.state {
            State::Open => false,
            State::Closing(until) => until <= now,
            State::Gone => true,
        }
    }
}

/// Nothing for now: the next turn will try again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

/// How other threads wake a loop: the stream is readable once the function was called. Read it empty then.
///
/// # Errors
/// The process is short of descriptors.
pub fn bell() -> io::Result<(UnixStream, impl Fn() + Send + Sync + 'static)> {
    let (bell, rope) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    rope.set_nonblocking(true)?;
    // A full socket rings already.
    Ok((bell, move || drop((&rope).write(&[0]))))
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }
    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_vectored(into),
            Self::Unix(stream) => stream.read_vectored(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(octets),
            Self::Unix(stream) => stream.write(octets),
        }
    }
    fn write_vectored(&mut self, runs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write_vectored(runs),
            Self::Unix(stream) => stream.write_vectored(runs),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
