//! What the buffers of the loop must stand: the fuzz target `mio` (`fuzz/` compiles this file too) and the test beside it.
//!
//! One `mio::Poll` and one thread hold a server on a Unix socket and its peer. The peer is a client of ours over a transport that reads and
//! writes as little as it is told to, is interrupted, and may fail; or octets by hand.

use bytes::Bytes;
use mio::{Events, Interest, Poll, Registry, Token, event::Source, net::UnixStream};
use pintle_mio::{
    Client, Code, Connect, EmbeddedClient, EmbeddedServer, Incoming, Method, Replies, Request, Server, Service, Shape, Status, Transport,
    Unary, codec::Raw,
};
use std::{
    io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write},
    path::PathBuf,
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

const METHODS: [Method; 2] = [Method::new("/f.Echo/Unary", Shape::Unary), Method::new("/f.Echo/Chat", Shape::Bidi)];

/// Sends back what comes.
struct Echo;

impl Service for Echo {
    fn methods(&self) -> &'static [Method] {
        &METHODS
    }

    fn call(&mut self, method: usize, call: Incoming) {
        match method {
            0 => call.unary::<Raw, Raw>(|request: Bytes, call: Unary<Bytes, Raw>| call.reply(request)),
            _ => call.bidi::<Raw, Raw>(|out: Replies<Bytes, Raw>| {
                out.answer_each(|message, replies| {
                    replies.push(message);
                    Ok(())
                })
            }),
        }
    }
}

/// What a transport does, operation by operation; over and over.
struct Script {
    steps: Vec<u8>,
    at: usize,
    in_a_row: u8,
    /// Operations until it fails; how.
    fails: Option<(u32, bool)>,
}

enum Step {
    Most(usize),
    Fail(ErrorKind),
    Nothing,
}

impl Script {
    fn next(&mut self) -> Step {
        const MOST: [usize; 16] = [1, 2, 3, 5, 8, 9, 10, 13, 24, 64, 255, 1_000, 4_096, 16_384, 65_536, usize::MAX];
        if let Some((left, nothing)) = &mut self.fails {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None if *nothing => return Step::Nothing,
                None => return Step::Fail(ErrorKind::ConnectionReset),
            }
        }
        let Some(&step) = self.steps.get(self.at) else { return Step::Most(usize::MAX) };
        self.at = (self.at + 1) % self.steps.len();
        if step & 7 == 0 && self.in_a_row < 3 {
            self.in_a_row += 1;
            return Step::Fail(ErrorKind::Interrupted);
        }
        self.in_a_row = 0;
        Step::Most(MOST[usize::from(step >> 4)])
    }
}

/// A stream that does what the script says.
struct Scripted {
    stream: UnixStream,
    script: Script,
}

impl Read for Scripted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_vectored(&mut [IoSliceMut::new(buffer)])
    }

    /// Into the buffers in order, across their borders.
    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let room = buffers.iter().map(|buffer| buffer.len()).sum::<usize>();
        let most = match self.script.next() {
            Step::Fail(kind) => return Err(kind.into()),
            Step::Most(most) => most.min(room).min(64 << 10),
            Step::Nothing => room.min(64 << 10),
        };
        let mut octets = vec![0; most];
        let n = self.stream.read(&mut octets)?;
        let mut rest = &octets[..n];
        for buffer in buffers {
            let (here, later) = rest.split_at(buffer.len().min(rest.len()));
            buffer[..here.len()].copy_from_slice(here);
            rest = later;
        }
        Ok(n)
    }
}

impl Write for Scripted {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(octets)])
    }

    fn write_vectored(&mut self, runs: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = match self.script.next() {
            Step::Fail(kind) => return Err(kind.into()),
            Step::Nothing => return Ok(0),
            Step::Most(most) => most,
        };
        let octets = runs.iter().flat_map(|run| run.iter().copied()).take(most.min(64 << 10)).collect::<Vec<_>>();
        self.stream.write(&octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Scripted {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.stream.register(registry, token, interests)
    }
    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.stream.reregister(registry, token, interests)
    }
    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.stream.deregister(registry)
    }
}

/// The loop.
struct World {
    poll: Poll,
    events: Events,
    server: EmbeddedServer,
    path: PathBuf,
    client: Option<(Client, EmbeddedClient)>,
    turns: u32,
    /// Turns in which nothing came.
    idle: u32,
}

impl World {
    fn new(choice: u8) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pintle-mio-cuts-{}-{number}.sock", process::id()));
        let poll = Poll::new().expect("a poll");
        let server = Server::new().add(|| Echo).configure(|config| {
            config.max_recv_message = 1 << 20;
            if choice & 0x20 != 0 {
                config.initial_window = 65_535;
                config.connection_window = 65_535;
            }
        });
        let server = server.listen(&format!("unix:{}", path.display())).expect("a socket");
        let server = server.embed(poll.registry(), 100..).expect("a server");
        Self { poll, events: Events::with_capacity(64), server, path, client: None, turns: 0, idle: 0 }
    }

    fn connect(&mut self, io: Box<dyn Transport>) -> Client {
        let (client, embedded) = Connect::new().embed_over(io, self.poll.registry(), 10..12).expect("a client");
        self.client = Some((client.clone(), embedded));
        client
    }

    fn dial(&self) -> std::os::unix::net::UnixStream {
        let stream = std::os::unix::net::UnixStream::connect(&self.path).expect("somebody listens");
        stream.set_nonblocking(true).expect("a socket");
        stream
    }

    fn turn(&mut self, most: Duration) {
        let client = self.client.as_ref().and_then(|(_, embedded)| embedded.timeout());
        let wait = [self.server.timeout(), client, Some(most)].into_iter().flatten().min();
        match self.poll.poll(&mut self.events, wait) {
            Err(e) if e.kind() == ErrorKind::Interrupted => return,
            result => result.expect("a poll"),
        }
        self.idle += u32::from(self.events.is_empty() && wait == Some(most));
        for event in &self.events {
            let taken = self.server.handle(event) || self.client.as_mut().is_some_and(|(_, embedded)| embedded.handle(event));
            assert!(taken, "an event for nobody");
        }
        self.server.turn();
        if let Some((_, embedded)) = &mut self.client {
            embedded.turn();
        }
        self.turns += 1;
    }

    /// Turns until `done`; not for ever if it spins, nor if it sleeps on work: there is nobody else who could do any.
    fn until(&mut self, what: &str, most: u32, mut done: impl FnMut(&mut Self) -> bool) {
        let (last, asleep) = (self.turns + most, self.idle + 100);
        while !done(self) {
            assert!(self.turns < last, "{what}: not after {most} turns");
            assert!(self.idle < asleep, "{what}: everybody sleeps");
            self.turn(Duration::from_millis(20));
        }
    }

    /// The server answers whatever was before, and ends when it is told to.
    fn end(mut self) {
        let stream = UnixStream::from_std(self.dial());
        let client = self.connect(Box::new(Scripted { stream, script: Script { steps: vec![], at: 0, in_a_row: 0, fails: None } }));
        let ends = calls(&client, &[10]);
        drop(client);
        self.until("the last call", 1_000, |_| ends.lock().expect("no panic").len() == 1);
        assert_eq!(ends.lock().expect("no panic")[0], Ok(10));
        self.client = None;
        self.server.shutdown(Duration::from_millis(200));
        self.until("the server's end", 1_000, |world| world.server.is_finished());
    }
}

type Ends = Arc<Mutex<Vec<Result<usize, Code>>>>;

/// Unary calls of these lengths; how each ended: with so many right octets, or this code.
fn calls(client: &Client, lengths: &[usize]) -> Ends {
    let ends = Ends::default();
    for (number, &len) in lengths.iter().enumerate() {
        let ends = Arc::clone(&ends);
        let request: Bytes = (0..len).map(|at| (at.wrapping_mul(31) + number) as u8).collect::<Vec<_>>().into();
        let wanted = request.clone();
        Request::<_, Raw, Raw, _>::unary(client, METHODS[0].path, request).on_done(move |result: Result<Bytes, Status>| {
            let end = result.map(|reply| if reply == wanted { reply.len() } else { usize::MAX });
            ends.lock().expect("no panic").push(end.map_err(|status| status.code()));
        });
    }
    ends
}

/// Any octets: what a transport does, and which calls are made over it; or what a peer sends by hand.
pub(crate) fn fuzz_mio(data: &[u8]) {
    let [choice, rest @ ..] = data else { return };
    let mut world = World::new(*choice);
    if choice & 1 == 0 {
        by_script(&mut world, *choice, rest)
    } else {
        by_hand(&mut world, *choice, rest)
    }
    world.end();
}

fn by_script(world: &mut World, choice: u8, data: &[u8]) {
    let Some((&[count, large, ops], rest)) = data.split_first_chunk() else { return };
    let (sizes, steps) = rest.split_at(usize::from(count % 12).min(rest.len()));
    let fails = (choice & 2 != 0).then(|| (u32::from(ops) * 3, choice & 4 != 0));
    // Each of up to 12 calls: small ones, and if the steps are not tiny, some that are larger than a socket's buffer.
    let tiny = steps.iter().take(64).any(|step| step >> 4 < 10);
    let large = usize::from(large) * if tiny { 16 } else { 2_000 };
    let lengths = sizes.iter().map(|&size| if size & 1 == 0 { usize::from(size) } else { large }).collect::<Vec<_>>();
    let script = Script { steps: steps[..steps.len().min(64)].to_vec(), at: 0, in_a_row: 0, fails };
    let stream = UnixStream::from_std(world.dial());
    let client = world.connect(Box::new(Scripted { stream, script }));
    let ends = calls(&client, &lengths);
    // One octet an operation, both ways, and a few operations a turn.
    let octets = lengths.iter().sum::<usize>() as u32 * 2 + 2_000;
    world.until("the calls", 200 + octets * 4, |_| ends.lock().expect("no panic").len() == lengths.len());
    let ends = ends.lock().expect("no panic");
    let mut wanted = lengths;
    for end in ends.iter() {
        match end {
            Ok(len) => {
                let at = wanted.iter().position(|wanted| wanted == len).expect("the reply of another call");
                wanted.swap_remove(at);
            }
            Err(code) => assert!(fails.is_some() && *code == Code::Unavailable, "a call ended with {code:?}"),
        }
    }
    drop(client);
    if fails.is_none() {
        assert!(wanted.is_empty());
    }
    world.client = None;
}

fn by_hand(world: &mut World, choice: u8, mut data: &[u8]) {
    let mut peer = world.dial();
    if choice & 2 == 0 {
        // The preface and empty SETTINGS.
        let _ = peer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    }
    if choice & 4 == 0 {
        let fields = b"\x83\x86\x04\x0d/f.Echo/Unary\x41\x01x\x5f\x10application/grpc\x40\x02te\x08trailers";
        let _ = peer.write(&[&[0, 0, fields.len() as u8, 1, 4, 0, 0, 0, 1], &fields[..]].concat());
    }
    let mut sink = [0; 4_096];
    while let [len, rest @ ..] = data {
        let (octets, rest) = rest.split_at(usize::from(len & 0x7f).min(rest.len()));
        data = rest;
        // A peer that is closed already takes nothing.
        let _ = peer.write(octets);
        world.turn(Duration::ZERO);
        if len & 0x80 != 0 {
            let _ = peer.read(&mut sink);
        }
    }
    if choice & 8 == 0 {
        let _ = peer.shutdown(std::net::Shutdown::Write);
        world.turn(Duration::ZERO);
    }
    drop(peer);
    world.turn(Duration::ZERO);
}
