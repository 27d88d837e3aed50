//! What carries octets: layers on the `Endpoint` seam, and transports that do little at a time or fail.

mod common;

use common::{
    Fixture, LONG, bounded,
    glue::{GreeterClient, GreeterServer},
    request,
    scenarios::four_shapes,
};
use mio::{Interest, Registry, Token, event::Source, net::UnixStream};
use pintle_mio::{Code, Connect, Connection, Endpoint, IntoSocket, Outbox, Peer, Server, Socket, Timestamp, Transmit, Transport, Wants};
use std::{
    io::{self, IoSlice, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// Like TLS in what it asks of a driver: it greets before anything else passes (the client writes first, the server before
/// it reads on), every octet becomes two, and what came in is released a moment later, by a timeout.
struct Doubling {
    inner: Connection,
    out: Outbox,
    /// Greetings still to come in.
    greeting: &'static [u8],
    answer: Option<&'static [u8]>,
    half: Option<u8>,
    held: Vec<u8>,
    release: Option<Timestamp>,
    ended: bool,
}

const DELAY: Duration = Duration::from_millis(1);

impl Doubling {
    fn client(inner: Connection) -> Self {
        let mut out = Outbox::default();
        out.extend(b"client hello");
        Self { inner, out, greeting: b"server hello", answer: None, half: None, held: vec![], release: None, ended: false }
    }
    fn server(inner: Connection) -> Self {
        let (greeting, answer) = (b"client hello", Some(&b"server hello"[..]));
        Self { inner, out: Outbox::default(), greeting, answer, half: None, held: vec![], release: None, ended: false }
    }
}

impl Endpoint for Doubling {
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        for &octet in octets {
            if let Some((expected, rest)) = self.greeting.split_first() {
                assert_eq!(octet, *expected, "the layers greet each other");
                self.greeting = rest;
                if rest.is_empty() {
                    self.out.extend(self.answer.take().unwrap_or_default());
                }
            } else if let Some(first) = self.half.take() {
                assert_eq!(first, !octet, "every octet comes with its complement");
                self.held.push(octet);
            } else {
                self.half = Some(octet);
            }
        }
        if !self.held.is_empty() && self.release.is_none() {
            self.release = Some(now.saturating_add(DELAY));
        }
    }
    fn recv_eof(&mut self, now: Timestamp) {
        self.ended = true;
        if self.release.is_none() {
            self.inner.recv_eof(now);
        }
    }
    fn read_target(&mut self) -> Option<&mut [u8]> {
        None
    }
    fn filled(&mut self, _: Timestamp, _: usize) {
        unreachable!("there was no target");
    }
    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        if self.greeting.is_empty() && self.out.is_empty() {
            let mut plain = self.inner.transmit(now, budget);
            let mut octets = vec![0; plain.len()];
            let taken = plain.copy_to(&mut octets);
            let doubled: Vec<u8> = octets[..taken].iter().flat_map(|octet| [!octet, *octet]).collect();
            self.out.extend(&doubled);
        }
        self.out.lend()
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        if self.release.is_some_and(|at| at <= now) {
            self.release = None;
            self.inner.recv_slice(now, &std::mem::take(&mut self.held));
            if self.ended {
                self.inner.recv_eof(now);
            }
        }
        self.inner.handle_timeout(now);
    }
    fn wants(&self) -> Wants {
        let mut wants = self.inner.wants();
        wants.write = !self.out.is_empty() || (self.greeting.is_empty() && wants.write);
        wants.deadline = wants.deadline.into_iter().chain(self.release).min();
        wants
    }
    fn conn(&self) -> &Connection {
        &self.inner
    }
    fn conn_mut(&mut self) -> &mut Connection {
        &mut self.inner
    }
}

#[test]
fn a_layer_that_expands_delays_and_greets_carries_the_four_shapes() {
    let fixture = Fixture::with(|server| server.layer(Doubling::server));
    for address in fixture.addresses() {
        let address = address.to_owned();
        bounded(move || {
            let connect = Connect::new().layer(Doubling::client);
            four_shapes(&GreeterClient::new(connect.clone().client(&address).unwrap()));
            four_shapes(&GreeterClient::new(connect.local(&address).unwrap()));
        });
    }
    assert!(fixture.stop(LONG) < LONG);
}

#[test]
fn a_layer_that_panics_ends_its_connection_and_no_other() {
    let fixture = Fixture::with(|server| server.layer(Doubling::server));
    let client = GreeterClient::new(Connect::new().layer(Doubling::client).client(&fixture.tcp).unwrap());
    bounded({
        let client = client.clone();
        move || assert_eq!(client.say_hello(request("you")).wait().unwrap().message, "hello you")
    });
    let mut rude = std::net::TcpStream::connect(&fixture.tcp).unwrap();
    rude.set_read_timeout(Some(LONG)).unwrap();
    rude.write_all(b"no greeting").unwrap();
    let end = rude.read(&mut [0]).map_err(|e| e.kind());
    assert!(matches!(end, Ok(0) | Err(io::ErrorKind::ConnectionReset)), "{end:?}");
    bounded(move || assert_eq!(client.say_hello(request("you")).wait().unwrap().message, "hello you"));
    assert!(fixture.stop(LONG) < LONG);
}

/// How a transport misbehaves, within what sockets may do.
#[derive(Debug, Clone, Copy)]
enum Whim {
    /// Reads one octet at a time, writes at most seven.
    Little,
    /// Every second operation is interrupted (EINTR).
    Interrupted,
    /// After so many octets, writes take nothing: the transport is broken.
    WritesNothing(usize),
    /// After so many octets, reads fail.
    ReadFails(usize),
}

struct Whimsical {
    stream: UnixStream,
    whim: Whim,
    operations: Arc<AtomicUsize>,
    moved: usize,
}

impl Whimsical {
    fn boxed(stream: std::os::unix::net::UnixStream, whim: Whim, operations: &Arc<AtomicUsize>) -> Box<dyn Transport> {
        stream.set_nonblocking(true).unwrap();
        Box::new(Self { stream: UnixStream::from_std(stream), whim, operations: Arc::clone(operations), moved: 0 })
    }

    fn interrupted(&self) -> bool {
        let before = self.operations.fetch_add(1, Ordering::Relaxed);
        matches!(self.whim, Whim::Interrupted) && before.is_multiple_of(2)
    }
}

impl Read for Whimsical {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = match self.whim {
            Whim::Little => 1,
            Whim::ReadFails(after) if self.moved >= after => return Err(io::Error::other("part of the test")),
            _ => buffer.len(),
        };
        let n = self.stream.read(&mut buffer[..most])?;
        self.moved += n;
        Ok(n)
    }
}

impl Write for Whimsical {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = match self.whim {
            Whim::Little => octets.len().min(7),
            Whim::WritesNothing(after) if self.moved >= after => return Ok(0),
            _ => octets.len(),
        };
        let n = self.stream.write(&octets[..most])?;
        self.moved += n;
        Ok(n)
    }
    fn write_vectored(&mut self, runs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write(runs.iter().find(|run| !run.is_empty()).map_or(&[], |run| run))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Whimsical {
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

/// A server of one connection over whatever it is given.
fn serve(io: impl FnOnce() -> io::Result<Socket> + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let (told, _keep) = mpsc::channel();
        let server = Server::new().add(move || GreeterServer::new(common::Greeter::new(told.clone())));
        server.serve_connection(io().unwrap(), Peer::Other("a transport".into())).unwrap();
    })
}

#[test]
fn transports_that_do_little_or_are_interrupted_change_nothing() {
    for whim in [Whim::Little, Whim::Interrupted] {
        let operations = Arc::new(AtomicUsize::new(0));
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let counter = Arc::clone(&operations);
        let server = serve(move || Whimsical::boxed(theirs, whim, &counter).into_socket());
        let counter = Arc::clone(&operations);
        bounded(move || {
            let client = Connect::new().local_over(Whimsical::boxed(ours, whim, &counter)).unwrap();
            let greeter = GreeterClient::new(client.clone());
            assert_eq!(greeter.say_hello(request("you")).wait().unwrap().message, "hello you");
            assert_eq!(greeter.say_hello(common::scenarios::blob("big", 0, 20_000)).wait().unwrap().message, "hello big");
            // At rest nobody asks the transport for anything.
            client.poll(Duration::from_millis(100));
            let before = counter.load(Ordering::Relaxed);
            client.poll(Duration::from_millis(200));
            assert!(counter.load(Ordering::Relaxed) - before < 10, "{whim:?}: it spins");
        });
        bounded(move || server.join().unwrap());
    }
}

#[test]
fn a_transport_that_fails_ends_calls_and_the_server_of_it() {
    for whim in [Whim::WritesNothing(60), Whim::WritesNothing(5_000), Whim::ReadFails(60), Whim::ReadFails(5_000)] {
        let operations = Arc::new(AtomicUsize::new(0));
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let server = serve(move || theirs.into_socket());
        let counter = Arc::clone(&operations);
        let status = bounded(move || {
            let client = GreeterClient::new(Connect::new().client_over(Whimsical::boxed(ours, whim, &counter)).unwrap());
            loop {
                if let Err(status) = client.say_hello(common::scenarios::blob("x", 0, 1_000)).wait() {
                    return status;
                }
            }
        });
        assert_eq!(status.code(), Code::Unavailable, "{whim:?}: {status}");
        assert!(operations.load(Ordering::Relaxed) < 1_000, "{whim:?}: it spins");
        bounded(move || server.join().unwrap());
    }
}

/// A server of one connection, by hand: answers the first request, leaves the second alone, and closes in the same breath.
fn answer_one_of_two(mut stream: impl Read + Write) -> Option<String> {
    use pintle_core::{Event, Recv, Routes, Token as Word};
    let routes = Routes::new([("/hello.Greeter/SayHello", pintle_mio::Shape::Unary)]).unwrap();
    let mut core = Connection::server(&pintle_mio::Config::default(), routes, pintle_mio::now());
    let (mut calls, mut buffer) = (Vec::new(), [0; 4_096]);
    while calls.len() < 2 {
        let n = stream.read(&mut buffer).unwrap();
        assert_ne!(n, 0);
        core.recv_slice(pintle_mio::now(), &buffer[..n]);
        while let Some(event) = core.poll_event() {
            if let Event::Incoming { call } = event {
                core.accept(call, Word::default()).unwrap();
                calls.push(call);
            }
        }
    }
    let mut call = core.call(calls[0]).unwrap();
    let authority = call.authority().map(str::to_owned);
    assert!(matches!(call.recv(), Recv::Message(_)));
    call.send(pintle_core::Payload::from(bytes::Bytes::from_static(b"\x0a\x02ok"))).unwrap();
    call.finish(&pintle_mio::Status::ok(), None);
    let mut out = core.transmit(pintle_mio::now(), 64 << 10);
    let mut octets = vec![0; out.len()];
    out.copy_to(&mut octets);
    stream.write_all(&octets).unwrap();
    authority
}

/// Two calls at once to such a server: the first one's end, the second one's.
fn two_calls(address: String) -> [Result<String, pintle_mio::Status>; 2] {
    bounded(move || {
        let client = GreeterClient::new(Connect::new().client(&address).unwrap());
        let (tell, told) = mpsc::channel();
        for name in ["first", "second"] {
            let tell = tell.clone();
            client.say_hello(request(name)).on_done(move |result| tell.send((name, result.map(|reply| reply.message))).unwrap());
        }
        let mut ends = [told.recv_timeout(LONG).unwrap(), told.recv_timeout(LONG).unwrap()];
        ends.sort_by_key(|(name, _)| *name);
        ends.map(|(_, end)| end)
    })
}

fn one_ok_one_unavailable(ends: &[Result<String, pintle_mio::Status>; 2]) {
    assert_eq!(ends[0].as_deref(), Ok("ok"), "what was complete before the end of the stream counts");
    let status = ends[1].as_ref().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
}

#[test]
fn an_answer_right_before_the_end_of_the_stream_counts() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || answer_one_of_two(listener.accept().unwrap().0));
    one_ok_one_unavailable(&two_calls(address.clone()));
    assert_eq!(server.join().unwrap(), Some(address), "over TCP, `:authority` is the address");

    let path = std::env::temp_dir().join(format!("pintle-mio-{}-by-hand.sock", std::process::id()));
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || answer_one_of_two(listener.accept().unwrap().0));
    one_ok_one_unavailable(&two_calls(format!("unix:{}", path.display())));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(server.join().unwrap().as_deref(), Some("localhost"), "a path is no authority");
}

#[test]
fn a_connection_made_elsewhere_is_served_until_it_closes() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let server = serve(move || theirs.into_socket());
    bounded(move || four_shapes(&GreeterClient::new(Connect::new().client_over(ours).unwrap())));
    bounded(move || server.join().unwrap());
}
