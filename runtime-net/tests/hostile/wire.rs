//! HTTP/2 octet for octet (RFC 9113), right or wrong, and a peer that sends it.

use super::{LONG, Target};
use std::{
    collections::HashMap,
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// Error codes, RFC 9113 section 7.
pub const PROTOCOL_ERROR: u32 = 1;
pub const STREAM_CLOSED: u32 = 5;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// RFC 9113 section 3.4.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut octets = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    octets.extend([kind, flags]);
    octets.extend(stream.to_be_bytes());
    octets.extend(payload);
    octets
}

pub fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = entries.iter().flat_map(|(id, value)| id.to_be_bytes().into_iter().chain(value.to_be_bytes())).collect();
    frame(SETTINGS, 0, 0, &payload)
}

pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub fn goaway(last: u32, code: u32, debug: &[u8]) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &code.to_be_bytes(), debug].concat())
}

/// What a client says first. Without a table for header blocks, so that they can be read without one.
pub fn hello(more: &[(u16, u32)]) -> Vec<u8> {
    [PREFACE, &settings(&[&[(1, 0)][..], more].concat()), &frame(SETTINGS, ACK, 0, &[])].concat()
}

/// A literal without indexing with a new name, RFC 7541 section 6.2.2.
pub fn field(block: &mut Vec<u8>, name: &str, value: &[u8]) {
    block.push(0);
    for octets in [name.as_bytes(), value] {
        length(block, octets.len());
        block.extend(octets);
    }
}

/// RFC 7541 section 5.1, with a prefix of seven bits.
fn length(block: &mut Vec<u8>, mut n: usize) {
    if n < 127 {
        return block.push(n as u8);
    }
    block.push(127);
    n -= 127;
    while n >= 128 {
        block.push(n as u8 | 128);
        n >>= 7;
    }
    block.push(n as u8);
}

/// A request's header block; nothing in it depends on a table or changes it.
pub fn request_block(path: &str, authority: Option<&str>, more: &[(&str, &str)]) -> Vec<u8> {
    // RFC 7541 Appendix A: `:method: POST` is number 3, `:scheme: http` number 6.
    let mut block = vec![0x83, 0x86];
    field(&mut block, ":path", path.as_bytes());
    if let Some(authority) = authority {
        field(&mut block, ":authority", authority.as_bytes());
    }
    field(&mut block, "te", b"trailers");
    field(&mut block, "content-type", b"application/grpc");
    for (name, value) in more {
        field(&mut block, name, value.as_bytes());
    }
    block
}

/// A gRPC message: prefix, then `string = 1` and `uint32 = 2`.
pub fn message(name: &str, count: u32) -> Vec<u8> {
    let mut payload = Vec::new();
    if !name.is_empty() {
        payload.push(0x0a);
        varint(&mut payload, name.len() as u32);
        payload.extend(name.as_bytes());
    }
    if count > 0 {
        payload.push(0x10);
        varint(&mut payload, count);
    }
    prefixed(&payload)
}

pub fn prefixed(payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0];
    octets.extend((payload.len() as u32).to_be_bytes());
    octets.extend(payload);
    octets
}

fn varint(out: &mut Vec<u8>, mut n: u32) {
    while n >= 128 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

impl Target {
    /// The head of a call.
    pub fn head(&self, stream: u32, method: &str) -> Vec<u8> {
        let block = request_block(&format!("{}/{method}", self.service), Some("x"), &[]);
        frame(HEADERS, END_HEADERS, stream, &block)
    }

    /// A whole call with one request.
    pub fn call(&self, stream: u32, method: &str, name: &str, count: u32) -> Vec<u8> {
        [self.head(stream, method), frame(DATA, END_STREAM, stream, &message(name, count))].concat()
    }

    pub fn unary(&self, stream: u32, name: &str) -> Vec<u8> {
        self.call(stream, "SayHello", name, 0)
    }
}

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

macro_rules! on_socket {
    ($socket:expr, $stream:ident => $do:expr) => {
        match $socket {
            Socket::Tcp($stream) => $do,
            Socket::Unix($stream) => $do,
        }
    };
}

impl Socket {
    pub fn connect(address: &str) -> Self {
        match address.strip_prefix("unix:") {
            Some(path) => Self::Unix(UnixStream::connect(path).expect("the server listens")),
            None => {
                let stream = TcpStream::connect(address).expect("the server listens");
                stream.set_nodelay(true).expect("a fresh socket");
                Self::Tcp(stream)
            }
        }
    }

    pub fn set_nonblocking(&self, yes: bool) {
        on_socket!(self, stream => stream.set_nonblocking(yes)).expect("an open socket");
    }

    pub fn set_read_timeout(&self, limit: Duration) {
        on_socket!(self, stream => stream.set_read_timeout(Some(limit))).expect("an open socket");
    }

    /// No more from us; we still listen.
    pub fn shutdown_write(&self) {
        // It may be gone altogether.
        let _ = on_socket!(self, stream => stream.shutdown(Shutdown::Write));
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        on_socket!(self, stream => stream.read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        on_socket!(self, stream => stream.write(octets))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How the server ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With GOAWAY and this code, then closed.
    Goaway(u32),
    /// Closed, with or without a word.
    Closed,
    /// It did not: a further call was served.
    Alive,
}

/// What became of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// The server's HEADERS frames.
    pub heads: u32,
    /// Whole messages.
    pub messages: u32,
    /// `grpc-status` of a header block with END_STREAM.
    pub status: Option<u32>,
    /// RST_STREAM and its code.
    pub reset: Option<u32>,
    /// END_STREAM.
    pub ended: bool,
    /// The last whole message.
    pub last: Vec<u8>,
    data: Vec<u8>,
}

impl Stream {
    pub fn is_over(&self) -> bool {
        self.ended || self.reset.is_some()
    }

    fn take_messages(&mut self) {
        while let Some(&[_, a, b, c, d]) = self.data.first_chunk::<5>() {
            let end = 5 + u32::from_be_bytes([a, b, c, d]) as usize;
            if self.data.len() < end {
                break;
            }
            self.last = self.data[5..end].to_vec();
            self.data.drain(..end);
            self.messages += 1;
        }
    }
}

/// A client by hand. Its socket does not block.
#[derive(Debug)]
pub struct Peer {
    socket: Socket,
    /// It reads while it sends.
    pub reads: bool,
    input: Vec<u8>,
    pub streams: HashMap<u32, Stream>,
    pub pongs: u32,
    pub goaway: Option<(u32, Vec<u8>)>,
    /// The server's output has ended, or the connection broke.
    pub over: bool,
}

impl Peer {
    pub fn connect(address: &str) -> Self {
        let socket = Socket::connect(address);
        socket.set_nonblocking(true);
        Self { socket, reads: true, input: Vec::new(), streams: HashMap::new(), pongs: 0, goaway: None, over: false }
    }

    /// Sends it all, unless the server is gone (false) or has said goodbye.
    pub fn send(&mut self, mut octets: &[u8]) -> bool {
        let begin = Instant::now();
        while !octets.is_empty() {
            if self.reads && (!self.read() || self.goaway.is_some()) {
                return false;
            }
            match self.socket.write(octets) {
                Ok(n) if n > 0 => octets = &octets[n..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    assert!(begin.elapsed() < LONG, "the server neither reads nor closes");
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    /// Takes what is there. False: that was all there will be.
    pub fn read(&mut self) -> bool {
        let mut buffer = [0; 16_384];
        while !self.over {
            match self.socket.read(&mut buffer) {
                Ok(n) if n > 0 => self.input.extend(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => self.over = true,
            }
        }
        self.understand();
        !self.over
    }

    fn understand(&mut self) {
        let mut at = 0;
        while let Some(head) = self.input.get(at..at + 9) {
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let (kind, flags, stream) = (head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
            let Some(payload) = self.input.get(at + 9..at + 9 + len) else { break };
            let word =
                |at: usize| payload.get(at..at + 4).map_or(0, |octets| u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]));
            let ended = matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0;
            match kind {
                DATA | HEADERS | RST_STREAM => {
                    let stream = self.streams.entry(stream).or_default();
                    stream.ended |= ended;
                    match kind {
                        DATA => {
                            stream.data.extend(payload);
                            stream.take_messages();
                        }
                        HEADERS => {
                            stream.heads += 1;
                            stream.status = stream.status.or(grpc_status(payload).filter(|_| ended));
                        }
                        _ => stream.reset = Some(word(0)),
                    }
                }
                PING if flags & ACK != 0 => self.pongs += 1,
                GOAWAY if word(4) != 0 || self.goaway.is_none() => {
                    self.goaway = Some((word(4), payload.get(8..).unwrap_or_default().to_vec()))
                }
                _ => {}
            }
            at += 9 + len;
        }
        self.input.drain(..at);
    }

    /// Reads until it holds. False: the connection was over before.
    pub fn wait(&mut self, what: &str, holds: impl FnMut(&Self) -> bool) -> bool {
        let held = self.settle(holds);
        assert!(held || self.over, "{what}: not within {LONG:?}");
        held
    }

    /// As `wait`, but false as well when it takes too long: the caller says what came instead.
    pub fn settle(&mut self, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let begin = Instant::now();
        loop {
            let open = self.read();
            if holds(self) {
                return true;
            }
            if !open || begin.elapsed() > LONG {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until the server has ended it.
    pub fn end(&mut self) -> End {
        self.wait("the server's end of the connection", |peer| peer.over);
        self.goaway.as_ref().map_or(End::Closed, |(code, _)| End::Goaway(*code))
    }

    /// Whether one more call is served, on this stream or a later one: a slot is free when its handler has ended, and until then
    /// calls are refused.
    pub fn alive(&mut self, target: &Target, first: u32) -> End {
        for stream in (first..).step_by(2) {
            if !self.send(&target.unary(stream, "again")) || !self.wait("an answer", |peer| peer.is_over(stream)) {
                break;
            }
            let found = &self.streams[&stream];
            match found.reset {
                Some(REFUSED_STREAM) => thread::sleep(Duration::from_millis(10)),
                _ if found.status == Some(0) => return End::Alive,
                _ => panic!("one more call: {found:?}"),
            }
        }
        self.end()
    }

    pub fn is_over(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_some_and(Stream::is_over)
    }

    pub fn shutdown_write(&self) {
        self.socket.shutdown_write();
    }
}

/// The value of `grpc-status` in a header block that was made without a table: the name as it is, or Huffman-coded (RFC 7541
/// Appendix B), and one or two digits, which no code makes shorter.
fn grpc_status(block: &[u8]) -> Option<u32> {
    let names = [&b"\x0bgrpc-status"[..], b"\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f"];
    let after = names.iter().find_map(|name| block.windows(name.len()).position(|found| found == *name).map(|at| at + name.len()))?;
    let len = usize::from(*block.get(after)?);
    std::str::from_utf8(block.get(after + 1..after + 1 + len)?).ok()?.parse().ok()
}
