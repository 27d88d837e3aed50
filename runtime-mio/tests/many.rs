//! 8,000 connections at once, ten calls on each, and everything given back afterwards.

mod common;

use common::{Fixture, HelloReply, LONG, request};
use pintle_mio::{Config, Connection, Endpoint, Shape, now};
use prost::Message;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    process::Command,
    sync::atomic::{AtomicIsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const CONNECTIONS: usize = 8_000;
const CALLS: usize = 10;
const AGAIN: &str =
    r#"n=$(ulimit -H -n) && ulimit -n $n && PINTLE_DESCRIPTORS=$n exec "$0" --exact eight_thousand_connections --nocapture"#;

/// Counts what is allocated.
struct Counting;
static HEAP: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every request is System's, unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP.fetch_add(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HEAP.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A client without an epoll of its own: two descriptors per connection are all that 20,000 allow.
struct Plain<S> {
    stream: S,
    core: Connection,
}

impl<S: Read + Write> Plain<S> {
    fn new(stream: S) -> Self {
        Self { stream, core: Connection::client(&Config::default(), now()) }
    }

    fn call(&mut self) -> String {
        use pintle_core::{CallOptions, Recv, RequestHead};
        let head = RequestHead::new("/hello.Greeter/SayHello", Shape::Unary);
        let id = self.core.start(now(), head, CallOptions::default()).unwrap();
        let octets = request("you").encode_to_vec();
        self.core.call(id).unwrap().send(octets.into()).unwrap();
        let mut buffer = [0; 4_096];
        loop {
            loop {
                let mut out = self.core.transmit(now(), 64 << 10);
                let Some(run) = out.single().filter(|run| !run.is_empty()) else { break };
                let written = self.stream.write(run).unwrap();
                out.advance(written);
            }
            while self.core.poll_event().is_some() {}
            let mut call = self.core.call(id).unwrap();
            if let Recv::Message(message) = call.recv() {
                assert!(matches!(call.recv(), Recv::End));
                assert!(call.take_outcome().unwrap().status.is_ok());
                return HelloReply::decode(message.payload).unwrap().message;
            }
            let n = self.stream.read(&mut buffer).expect("an answer in time");
            assert_ne!(n, 0, "the server keeps the connection");
            self.core.recv_slice(now(), &buffer[..n]);
        }
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until `now` answers at most `most`.
fn settles(what: &str, most: isize, now: impl Fn() -> isize) {
    let begin = Instant::now();
    while now() > most {
        assert!(begin.elapsed() < LONG, "{what}: {} stay above {most}", now());
        thread::sleep(Duration::from_millis(10));
    }
}

fn rush(fixture: &Fixture, connections: usize) {
    let path = fixture.unix.strip_prefix("unix:").unwrap();
    let mut tcp = Vec::new();
    let mut unix = Vec::new();
    for _ in 0..connections.div_ceil(2) {
        let stream = TcpStream::connect(&fixture.tcp).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        tcp.push(Plain::new(stream));
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        unix.push(Plain::new(stream));
    }
    for _ in 0..CALLS {
        for (tcp, unix) in tcp.iter_mut().zip(&mut unix) {
            assert_eq!(tcp.call(), "hello you");
            assert_eq!(unix.call(), "hello you");
        }
    }
}

#[test]
fn eight_thousand_connections() {
    let Some(limit) = std::env::var_os("PINTLE_DESCRIPTORS") else {
        // Both ends are in this process, and the soft limit is often 1,024: again, with as many as the hard limit allows.
        let raised = Command::new("sh").args(["-c", AGAIN]).arg(std::env::current_exe().unwrap()).status().unwrap();
        assert!(raised.success());
        return;
    };
    let limit = limit.to_str().and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX);
    // Under a sanitizer they would time out one after the other.
    let most = if std::env::var_os("PINTLE_SANITIZED").is_some() { CONNECTIONS / 20 } else { CONNECTIONS };
    let connections = most.min(limit.saturating_sub(100) / 2);
    if connections < most {
        println!("only {connections} connections: the hard limit of descriptors is {limit}");
    }
    let fixture = Fixture::with(|server| server.loops(2));
    rush(&fixture, 10);
    settles("descriptors", 40, || descriptors() as isize);
    let (files, heap) = (descriptors() as isize, HEAP.load(Ordering::Relaxed));
    rush(&fixture, connections);
    settles("descriptors", files, || descriptors() as isize);
    // What a loop keeps are lists of a few octets per connection of the rush.
    settles("octets of heap", heap + 256 * 1024, || HEAP.load(Ordering::Relaxed));
    rush(&fixture, 10);
}
