//! Many unary calls over many connections: `calls ADDRESS connections=10 streams=10 n=100000 warm=2000 size=8 timeout=none|same|new
//! compare=100 pid=SERVER`. With `milliseconds=N` instead of `n=`, as many as take about so long. Every answer is counted, one in a hundred compared. What it sends fits into the windows that every server grants.

use mio::{
    Events, Interest, Poll, Token,
    net::{TcpStream, UnixStream},
};
use pintle_peers::{
    load::{Args, Clocks},
    raw::{self, DATA, Frame, HEADERS, Requests, SETTINGS, Timeout, WINDOW, WINDOW_UPDATE, body, first_frame},
    socket::Socket,
};
use std::{
    io::{self, ErrorKind},
    time::Instant,
};

fn connect(address: &str, poll: &Poll, token: Token) -> io::Result<Socket> {
    let both = Interest::READABLE | Interest::WRITABLE;
    if let Some(path) = address.strip_prefix("unix:") {
        let mut stream = UnixStream::connect(path)?;
        poll.registry().register(&mut stream, token, both)?;
        return Ok(Socket::Unix(stream));
    }
    let stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut stream = TcpStream::from_std(stream);
    poll.registry().register(&mut stream, token, both)?;
    Ok(Socket::Tcp(stream))
}

/// What all connections share.
struct Load {
    body: Vec<u8>,
    streams: usize,
    /// Calls that may still begin, and answers that are still to come.
    to_start: usize,
    to_come: usize,
    answers: usize,
    /// One answer in so many is compared.
    compare: usize,
}

struct Connection {
    socket: Socket,
    requests: Requests,
    input: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    in_flight: usize,
    /// Octets of the answer so far, by stream: a ring, much longer than calls overtake each other.
    came: Vec<u32>,
    /// Octets that the connection's window lets us send; the windows of streams are larger than a message.
    window: i64,
    received: u32,
    settled: bool,
}

impl Connection {
    fn open(address: &str, poll: &Poll, token: Token, load: &Load, timeout: Timeout) -> io::Result<Self> {
        Ok(Self {
            socket: connect(address, poll, token)?,
            requests: Requests::new(timeout),
            input: Vec::new(),
            out: raw::opening(),
            written: 0,
            in_flight: 0,
            came: vec![0; (load.streams * 64).next_power_of_two()],
            window: 65_535,
            received: 0,
            settled: false,
        })
    }

    fn slot(&mut self, stream: u32) -> &mut u32 {
        let mask = self.came.len() - 1;
        &mut self.came[(stream as usize / 2) & mask]
    }

    /// Begins calls as long as there are some, the window allows it, and few enough are in flight.
    fn start(&mut self, load: &mut Load) {
        while self.settled && load.to_start > 0 && self.in_flight < load.streams && self.window >= load.body.len() as i64 {
            let stream = self.requests.call(&mut self.out, &load.body);
            *self.slot(stream) = 0;
            self.window -= load.body.len() as i64;
            self.in_flight += 1;
            load.to_start -= 1;
        }
    }

    fn take(&mut self, came: &Frame<'_>, load: &mut Load) -> io::Result<()> {
        match came.kind {
            DATA => self.data(came, load)?,
            HEADERS if came.ends() => {
                if *self.slot(came.stream) as usize != load.body.len() {
                    return Err(io::Error::other("an answer without its message"));
                }
                self.in_flight -= 1;
                load.to_come -= 1;
                load.answers += 1;
            }
            WINDOW_UPDATE if came.stream == 0 => {
                self.window += came.payload.try_into().map(u32::from_be_bytes).map_or(0, i64::from);
            }
            SETTINGS => self.settled = true,
            _ => {}
        }
        raw::answer(&mut self.out, came)
    }

    fn data(&mut self, came: &Frame<'_>, load: &Load) -> io::Result<()> {
        let before = *self.slot(came.stream) as usize;
        let wanted = load.body.get(before..before + came.payload.len()).unwrap_or_default();
        if wanted.len() != came.payload.len() || load.answers.is_multiple_of(load.compare) && wanted != came.payload {
            return Err(io::Error::other("an answer that is not what was sent"));
        }
        *self.slot(came.stream) += came.payload.len() as u32;
        self.received += came.payload.len() as u32;
        if self.received > WINDOW / 2 {
            raw::frame(&mut self.out, WINDOW_UPDATE, 0, 0, &self.received.to_be_bytes());
            self.received = 0;
        }
        Ok(())
    }

    fn read(&mut self, scratch: &mut [u8], load: &mut Load) -> io::Result<()> {
        loop {
            let count = match self.socket.read(scratch) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            };
            let kept = std::mem::take(&mut self.input);
            let joined = if kept.is_empty() { Vec::new() } else { [&kept, &scratch[..count]].concat() };
            let octets = if kept.is_empty() { &scratch[..count] } else { &joined[..] };
            let mut at = 0;
            while let Some((frame, length)) = first_frame(&octets[at..]) {
                at += length;
                self.take(&frame, load)?;
            }
            self.input.extend_from_slice(&octets[at..]);
            if count < scratch.len() {
                return Ok(());
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.socket.write(&self.out[self.written..]) {
                Ok(count) => self.written += count,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }
}

/// Makes `count` calls.
fn run(poll: &mut Poll, connections: &mut [Connection], load: &mut Load, count: usize) -> io::Result<()> {
    (load.to_start, load.to_come) = (count, count);
    let mut events = Events::with_capacity(1_024);
    let mut scratch = vec![0; 256 << 10];
    for connection in &mut *connections {
        connection.start(load);
        connection.write()?;
    }
    while load.to_come > 0 {
        match poll.poll(&mut events, None) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            waited => waited?,
        }
        for event in &events {
            let connection = &mut connections[event.token().0];
            if event.is_readable() {
                connection.read(&mut scratch, load)?;
                connection.start(load);
            }
            connection.write()?;
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let args = Args::take();
    let timeout = Timeout::from_word(&args.word("timeout", "none"));
    let body = body(args.number("size", 8));
    assert!(body.len() <= 16_384, "one frame for a message");
    let mut load =
        Load { body, streams: args.number("streams", 10), to_start: 0, to_come: 0, answers: 0, compare: args.number("compare", 100) };
    let mut poll = Poll::new()?;
    let mut connections = Vec::new();
    for number in 0..args.number("connections", 10) {
        connections.push(Connection::open(&args.address, &poll, Token(number), &load, timeout)?);
    }
    let each = connections.len() * load.streams;
    let warm = args.number("warm", 2_000).max(each);
    run(&mut poll, &mut connections, &mut load, warm)?;
    // How many there are to be, or how long they are to take: then a second run finds out how many that is.
    let count = match args.number("milliseconds", 0) {
        0 => args.number("n", 100_000),
        wanted => {
            let began = Instant::now();
            run(&mut poll, &mut connections, &mut load, warm * 2)?;
            (warm as f64 * 2.0 * wanted as f64 / 1e3 / began.elapsed().as_secs_f64()) as usize
        }
    };
    let count = count.max(each);
    let clocks = Clocks::start(&args);
    run(&mut poll, &mut connections, &mut load, count)?;
    clocks.report("calls", &args, count);
    Ok(())
}
