//! The floor: what octets over HTTP/2 cost a server that does nothing else: `server_floor ADDRESS`.
//!
//! One thread, one `epoll`. It looks at frame heads, gathers the DATA of a stream, and sends the same octets back between two header
//! blocks that were encoded in advance; one read and one write for what has come. It decodes neither HPACK nor protobuf, counts no
//! window, bounds nothing. It is no server that anyone could use, but the least work that there can be.

use mio::{
    Events, Interest, Poll, Token,
    event::Event,
    net::{TcpListener, UnixListener},
};
use pintle_peers::socket::Socket;
use std::{
    collections::HashMap,
    io::{self, ErrorKind},
};

const LISTENER: Token = Token(usize::MAX);
const FRAME: usize = 16_384;
const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

struct Connection {
    socket: Socket,
    /// The client's preface is behind us.
    open: bool,
    /// The beginning of a frame whose rest has not come.
    rest: Vec<u8>,
    /// Messages that came in several frames, as far as they are here.
    parts: HashMap<u32, Vec<u8>>,
    spare: Vec<Vec<u8>>,
    out: Vec<u8>,
    written: usize,
    /// The kernel takes no more for now.
    blocked: bool,
}

/// The answer's header blocks: literals, so that they are the same for every connection.
struct Canned {
    head: Vec<u8>,
    trailers: Vec<u8>,
}

impl Canned {
    fn new() -> Self {
        // Static table: 8 is `:status 200`, 31 the name `content-type` (RFC 7541, appendix A).
        let mut head = vec![0x88, 0x0f, 31 - 15, 16];
        head.extend_from_slice(b"application/grpc");
        let mut trailers = vec![0x00, 11];
        trailers.extend_from_slice(b"grpc-status\x010");
        Self { head, trailers }
    }

    fn answer(&self, out: &mut Vec<u8>, stream: u32, message: &[u8]) {
        frame(out, 1, 4, stream, &self.head);
        if message.is_empty() {
            frame(out, 0, 0, stream, &[]);
        }
        for piece in message.chunks(FRAME) {
            frame(out, 0, 0, stream, piece);
        }
        frame(out, 1, 5, stream, &self.trailers);
    }
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

impl Connection {
    fn new(socket: Socket) -> Self {
        let mut out = Vec::new();
        // MAX_CONCURRENT_STREAMS 1,000 and INITIAL_WINDOW_SIZE 4 MiB; a connection window that no run uses up.
        frame(&mut out, 4, 0, 0, &[0, 3, 0, 0, 3, 0xe8, 0, 4, 0, 0x40, 0, 0]);
        frame(&mut out, 8, 0, 0, &0x3fff_0000_u32.to_be_bytes());
        Self { socket, open: false, rest: Vec::new(), parts: HashMap::new(), spare: Vec::new(), out, written: 0, blocked: false }
    }

    /// What is to be done for these octets; how many of them were whole frames.
    fn take(&mut self, octets: &[u8], canned: &Canned) -> usize {
        let mut at = 0;
        if !self.open {
            if octets.len() < 24 {
                return 0;
            }
            self.open = true;
            at = 24;
        }
        let mut credit = 0_u32;
        while let Some((head, rest)) = octets[at..].split_first_chunk::<9>() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let Some(payload) = rest.get(..length) else { break };
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let (kind, ends) = (head[3], head[4] & 1 != 0);
            match kind {
                0 => {
                    credit += length as u32;
                    self.data(stream, payload, ends, canned);
                }
                4 if !ends => frame(&mut self.out, 4, 1, 0, &[]),
                6 if !ends => frame(&mut self.out, 6, 1, 0, payload),
                _ => {}
            }
            at += 9 + length;
        }
        if credit > 0 {
            frame(&mut self.out, 8, 0, 0, &credit.to_be_bytes());
        }
        at
    }

    fn data(&mut self, stream: u32, payload: &[u8], ends: bool, canned: &Canned) {
        if ends && !self.parts.contains_key(&stream) {
            canned.answer(&mut self.out, stream, payload);
            return;
        }
        // Rooms of messages before are used again.
        let message = self.parts.entry(stream).or_insert_with(|| self.spare.pop().unwrap_or_default());
        message.extend_from_slice(payload);
        if ends && let Some(mut message) = self.parts.remove(&stream) {
            canned.answer(&mut self.out, stream, &message);
            message.clear();
            self.spare.push(message);
        }
    }

    /// Reads what is there. False: it has ended.
    fn read(&mut self, scratch: &mut [u8], canned: &Canned) -> io::Result<bool> {
        loop {
            let count = match self.socket.read(scratch) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(e) => return Err(e),
            };
            if self.rest.is_empty() {
                let taken = self.take(&scratch[..count], canned);
                self.rest.extend_from_slice(&scratch[taken..count]);
            } else {
                let mut octets = std::mem::take(&mut self.rest);
                octets.extend_from_slice(&scratch[..count]);
                let taken = self.take(&octets, canned);
                octets.drain(..taken);
                self.rest = octets;
            }
            // A read that does not fill the buffer has emptied the socket: what comes next is another event.
            if count < scratch.len() {
                return Ok(true);
            }
        }
    }

    /// One write, if there is something to write. Whether the kernel has taken all.
    fn write(&mut self) -> io::Result<bool> {
        if self.written < self.out.len() {
            match self.socket.write(&self.out[self.written..]) {
                Ok(count) => self.written += count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
        Ok(self.out.is_empty())
    }

    /// Notes whether the kernel takes more. A TCP socket tells by itself when it does again; a Unix socket tells after each read of its
    /// peer, so it is asked only while it matters.
    fn set_blocked(&mut self, yes: bool, poll: &Poll, token: Token) -> io::Result<()> {
        if let Socket::Unix(stream) = &mut self.socket
            && yes != self.blocked
        {
            let interest = if yes { BOTH } else { Interest::READABLE };
            poll.registry().reregister(stream, token, interest)?;
        }
        self.blocked = yes;
        Ok(())
    }
}

struct Floor {
    poll: Poll,
    listener: Listener,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    canned: Canned,
}

impl Floor {
    fn listen(address: &str) -> io::Result<Self> {
        let poll = Poll::new()?;
        let listener = match address.strip_prefix("unix:") {
            Some(path) => {
                let mut listener = UnixListener::bind(path)?;
                poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
                Listener::Unix(listener)
            }
            None => {
                let mut listener = TcpListener::bind(address.parse().map_err(io::Error::other)?)?;
                poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
                Listener::Tcp(listener)
            }
        };
        Ok(Self { poll, listener, connections: Vec::new(), free: Vec::new(), canned: Canned::new() })
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let token = Token(self.free.last().copied().unwrap_or(self.connections.len()));
            let accepted = match &self.listener {
                Listener::Tcp(listener) => listener.accept().and_then(|(mut stream, _)| {
                    stream.set_nodelay(true)?;
                    self.poll.registry().register(&mut stream, token, BOTH).map(|()| Socket::Tcp(stream))
                }),
                Listener::Unix(listener) => listener.accept().and_then(|(mut stream, _)| {
                    self.poll.registry().register(&mut stream, token, Interest::READABLE).map(|()| Socket::Unix(stream))
                }),
            };
            match accepted {
                Ok(socket) if token.0 == self.connections.len() => self.connections.push(Some(Connection::new(socket))),
                Ok(socket) => {
                    self.free.pop();
                    self.connections[token.0] = Some(Connection::new(socket));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
    }

    fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        let mut scratch = vec![0; 256 << 10];
        loop {
            match self.poll.poll(&mut events, None) {
                // Who attaches a debugger or a tracer interrupts it.
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                waited => waited?,
            }
            for event in &events {
                if event.token() == LISTENER {
                    self.accept()?;
                    continue;
                }
                let slot = &mut self.connections[event.token().0];
                let Some(connection) = slot else { continue };
                if !serve(connection, event, &mut scratch, &self.canned, &self.poll).unwrap_or(false) {
                    *slot = None;
                    self.free.push(event.token().0);
                }
            }
        }
    }
}

/// Reads what came, then writes. False: the connection has ended.
fn serve(connection: &mut Connection, event: &Event, scratch: &mut [u8], canned: &Canned, poll: &Poll) -> io::Result<bool> {
    if event.is_readable() && !connection.read(scratch, canned)? {
        return Ok(false);
    }
    if connection.blocked && !event.is_writable() {
        return Ok(true);
    }
    let all = connection.write()?;
    connection.set_blocked(!all, poll, event.token())?;
    Ok(true)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("an address?")?;
    Ok(Floor::listen(&address)?.run()?)
}
