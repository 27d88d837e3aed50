//! HTTP/2 by hand, as little of it as a client of the echo service needs. It costs next to nothing, so what is measured is the server.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
};

/// DATA.
pub const DATA: u8 = 0;
/// HEADERS.
pub const HEADERS: u8 = 1;
/// RST_STREAM.
pub const RESET: u8 = 3;
/// SETTINGS.
pub const SETTINGS: u8 = 4;
/// PING.
pub const PING: u8 = 6;
/// GOAWAY.
pub const GOAWAY: u8 = 7;
/// WINDOW_UPDATE.
pub const WINDOW_UPDATE: u8 = 8;
/// The windows that we grant: no server ever waits for us.
pub const WINDOW: u32 = 1 << 30;

/// The largest payload that everybody takes.
const FRAME: i64 = 16_384;

/// Appends a frame.
pub fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// A frame that has come.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream.
    pub stream: u32,
    /// What it carries.
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// END_STREAM, or ACK.
    #[must_use]
    pub const fn ends(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// The first frame of these octets, and how long it is; none while it is not whole.
#[must_use]
pub fn first_frame(octets: &[u8]) -> Option<(Frame<'_>, usize)> {
    let (head, rest) = octets.split_first_chunk::<9>()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let payload = rest.get(..length)?;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some((Frame { kind: head[3], flags: head[4], stream, payload }, 9 + length))
}

/// What a connection begins with: preface, SETTINGS, and a window for the connection.
#[must_use]
pub fn opening() -> Vec<u8> {
    let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut settings = vec![0, 4];
    settings.extend_from_slice(&WINDOW.to_be_bytes());
    frame(&mut out, SETTINGS, 0, 0, &settings);
    frame(&mut out, WINDOW_UPDATE, 0, 0, &(WINDOW - 65_535).to_be_bytes());
    out
}

/// A message as it is on the wire: gRPC's prefix, and `Msg { payload }` with so many octets.
#[must_use]
pub fn body(size: usize) -> Vec<u8> {
    let mut message = Vec::new();
    if size > 0 {
        message.push(0x0a);
        let mut left = size;
        while left > 127 {
            message.push(left as u8 | 128);
            left >>= 7;
        }
        message.push(left as u8);
        message.extend((0..size).map(|at| at as u8 | 1));
    }
    let mut out = vec![0];
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(&message);
    out
}

/// The deadline of each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// It has none.
    None,
    /// `grpc-timeout: 5S`, the same octets each time.
    Same,
    /// Five seconds less some microseconds: other octets each time, as clients send it that have a deadline for a whole request.
    New,
}

impl Timeout {
    /// `none`, `same` or `new`.
    ///
    /// # Panics
    /// Another word.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "none" => Self::None,
            "same" => Self::Same,
            "new" => Self::New,
            other => panic!("timeout={other}?"),
        }
    }
}

/// Writes requests the way gRPC clients do: what repeats goes into the dynamic table with the first, and is an index from then on;
/// `:path` and `grpc-timeout` are literals each time.
#[derive(Debug)]
pub struct Requests {
    timeout: Timeout,
    sent: u32,
    block: Vec<u8>,
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

impl Requests {
    /// Of a new connection.
    #[must_use]
    pub const fn new(timeout: Timeout) -> Self {
        Self { timeout, sent: 0, block: Vec::new() }
    }

    /// Appends a call of `/echo.Echo/Unary`: HEADERS, and the message in one DATA frame. Streams are 1, 3, 5...
    pub fn call(&mut self, out: &mut Vec<u8>, body: &[u8]) -> u32 {
        let stream = self.head(out);
        frame(out, DATA, 1, stream, body);
        stream
    }

    /// Appends the HEADERS of a unary call. What follows on its stream is the caller's affair.
    pub fn head(&mut self, out: &mut Vec<u8>) -> u32 {
        self.head_of("/echo.Echo/Unary", out)
    }

    /// The same for another method.
    fn head_of(&mut self, path: &str, out: &mut Vec<u8>) -> u32 {
        let stream = self.sent * 2 + 1;
        self.block.clear();
        // Static table: 3 is `:method POST`, 6 `:scheme http`, 4 the name `:path`, 1 `:authority`, 31 `content-type`.
        self.block.extend_from_slice(&[0x83, 0x86, 0x04]);
        string(&mut self.block, path);
        if self.sent == 0 {
            self.block.push(0x41);
            string(&mut self.block, "localhost");
            self.block.push(0x40 | 31);
            string(&mut self.block, "application/grpc");
            self.block.push(0x40);
            string(&mut self.block, "te");
            string(&mut self.block, "trailers");
        } else {
            // The three, the latest first.
            self.block.extend_from_slice(&[0x80 | 64, 0x80 | 63, 0x80 | 62]);
        }
        match self.timeout {
            Timeout::None => {}
            Timeout::Same => self.deadline("5S"),
            Timeout::New => self.deadline(&format!("{}u", 4_999_999 - self.sent % 900_000)),
        }
        frame(out, HEADERS, 4, stream, &self.block);
        self.sent += 1;
        stream
    }

    fn deadline(&mut self, value: &str) {
        self.block.push(0);
        string(&mut self.block, "grpc-timeout");
        string(&mut self.block, value);
    }
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn connect(address: &str) -> io::Result<Self> {
        if let Some(path) = address.strip_prefix("unix:") {
            return UnixStream::connect(path).map(Self::Unix);
        }
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, octets: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(octets),
            Self::Unix(stream) => stream.write_all(octets),
        }
    }
}

/// One call after the other over a blocking socket.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    requests: Requests,
    input: Vec<u8>,
    filled: usize,
    out: Vec<u8>,
    /// Octets of DATA since the connection's window was last refilled.
    received: u32,
    /// What the server lets us send: on the connection, on a new stream, on the stream of the call.
    window: i64,
    initial: i64,
    stream_window: i64,
}

impl Client {
    /// Connects; both sides' SETTINGS are through when it returns.
    ///
    /// # Errors
    /// The system's, or the server does not speak HTTP/2.
    pub fn connect(address: &str) -> io::Result<Self> {
        let socket = Socket::connect(address)?;
        let requests = Requests::new(Timeout::None);
        let mut client = Self {
            socket,
            requests,
            input: vec![0; 512],
            filled: 0,
            out: Vec::new(),
            received: 0,
            window: 65_535,
            initial: 65_535,
            stream_window: 0,
        };
        client.socket.write_all(&opening())?;
        while client.out.is_empty() {
            client.read(0, &[])?;
        }
        client.socket.write_all(&std::mem::take(&mut client.out))?;
        Ok(client)
    }

    /// One call: a write if the windows allow it, and reads until its answer is whole and is the message that was sent.
    ///
    /// # Errors
    /// The system's, or the answer is not right.
    pub fn call(&mut self, body: &[u8]) -> io::Result<()> {
        let stream = self.requests.head(&mut self.out);
        self.stream_window = self.initial;
        let (mut to_send, mut to_come) = (body, body);
        loop {
            to_send = self.data(stream, to_send);
            if !self.out.is_empty() {
                self.socket.write_all(&self.out)?;
                self.out.clear();
            }
            let (taken, ended) = self.read(stream, to_come)?;
            to_come = &to_come[taken..];
            if ended {
                return if to_come.is_empty() { Ok(()) } else { Err(io::Error::other("an answer without its message")) };
            }
        }
    }

    /// Opens streams of `/echo.Echo/Bidi` that stay as they are: no message, no end.
    ///
    /// # Errors
    /// The system's.
    pub fn hold(&mut self, streams: usize) -> io::Result<()> {
        for _ in 0..streams {
            self.requests.head_of("/echo.Echo/Bidi", &mut self.out);
        }
        self.socket.write_all(&std::mem::take(&mut self.out))
    }

    /// Appends as much of the message as the windows allow. What is left.
    fn data<'a>(&mut self, stream: u32, mut body: &'a [u8]) -> &'a [u8] {
        while !body.is_empty() && self.window > 0 && self.stream_window > 0 {
            let most = self.window.min(self.stream_window).min(FRAME) as usize;
            let (piece, rest) = body.split_at(most.min(body.len()));
            frame(&mut self.out, DATA, u8::from(rest.is_empty()), stream, piece);
            self.window -= piece.len() as i64;
            self.stream_window -= piece.len() as i64;
            body = rest;
        }
        body
    }

    /// One read. How many octets of `wanted` came, and whether the stream ended.
    fn read(&mut self, stream: u32, wanted: &[u8]) -> io::Result<(usize, bool)> {
        if self.filled == self.input.len() {
            self.input.resize(self.filled * 2, 0);
        }
        let count = self.socket.read(&mut self.input[self.filled..])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.filled += count;
        let (mut at, mut matched, mut ended) = (0, 0, false);
        while let Some((frame, length)) = first_frame(&self.input[at..self.filled]) {
            at += length;
            if frame.kind == DATA && frame.stream == stream {
                if !wanted[matched..].starts_with(frame.payload) {
                    return Err(io::Error::other("an answer that is not what was sent"));
                }
                matched += frame.payload.len();
                self.received += frame.payload.len() as u32;
            }
            ended |= frame.kind == HEADERS && frame.stream == stream && frame.ends();
            let credit = frame.payload.try_into().map(u32::from_be_bytes).map_or(0, i64::from);
            match frame.kind {
                WINDOW_UPDATE if frame.stream == 0 => self.window += credit,
                WINDOW_UPDATE if frame.stream == stream => self.stream_window += credit,
                SETTINGS => {
                    let set = frame.payload.chunks_exact(6).rfind(|setting| setting[..2] == [0, 4]);
                    self.initial = set.map_or(self.initial, |set| u32::from_be_bytes([set[2], set[3], set[4], set[5]]).into());
                }
                _ => {}
            }
            answer(&mut self.out, &frame)?;
        }
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        if self.received > WINDOW / 2 {
            frame(&mut self.out, WINDOW_UPDATE, 0, 0, &self.received.to_be_bytes());
            self.received = 0;
        }
        Ok((matched, ended))
    }
}

/// What a peer must be answered: SETTINGS and PING.
///
/// # Errors
/// The frame ends the stream or the connection.
pub fn answer(out: &mut Vec<u8>, came: &Frame<'_>) -> io::Result<()> {
    match came.kind {
        SETTINGS if !came.ends() => frame(out, SETTINGS, 1, 0, &[]),
        PING if !came.ends() => frame(out, PING, 1, 0, came.payload),
        RESET => return Err(io::Error::other(format!("RST_STREAM {:?}", came.payload))),
        GOAWAY => return Err(io::Error::other(format!("GOAWAY {:?}", came.payload))),
        _ => {}
    }
    Ok(())
}
