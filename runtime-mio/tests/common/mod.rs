//! The service that these tests call, and what they share. Every wait here is bounded.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test program uses its own part")]

pub mod glue;
pub mod scenarios;

use glue::{GreeterServer, GreeterService};
use pintle_mio::{Receiver, Replies, Running, SendError, Server, Status, Unary};
use std::{
    path::PathBuf,
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// More than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

/// Deadlines that pass, one after the other until one has left a call the time to arrive: how much that takes is the machine's affair.
pub const LATE: [Duration; 4] = [Duration::from_millis(30), Duration::from_millis(300), Duration::from_secs(3), Duration::from_secs(20)];

#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloRequest {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub count: u32,
    #[prost(bytes = "bytes", tag = "3")]
    pub blob: bytes::Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloReply {
    #[prost(string, tag = "1")]
    pub message: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub blob: bytes::Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Note {
    #[prost(uint32, tag = "1")]
    pub number: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub blob: bytes::Bytes,
}

pub fn request(name: &str) -> HelloRequest {
    HelloRequest { name: name.into(), ..Default::default() }
}

/// What befell calls, told to the test.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Cancelled(pintle_mio::Code),
    Seen(String),
    Sent(usize),
}

/// Does what a request's name says.
pub struct Greeter {
    pub told: mpsc::Sender<Told>,
    /// Calls that are answered with the next one.
    pub kept: Vec<Unary<HelloReply>>,
    pub kept_streams: Vec<Replies<HelloReply>>,
}

impl Greeter {
    pub fn new(told: mpsc::Sender<Told>) -> Self {
        Self { told, kept: Vec::new(), kept_streams: Vec::new() }
    }
}

impl GreeterService for Greeter {
    fn say_hello(&mut self, req: HelloRequest, call: Unary<HelloReply>) {
        let reply = HelloReply { message: format!("hello {}", req.name), blob: req.blob.clone() };
        match req.name.as_str() {
            "later" | "much later" => drop(thread::spawn(move || {
                thread::sleep(Duration::from_millis(if req.name == "later" { 5 } else { 300 }));
                call.reply(reply);
            })),
            "fail" => {
                let mut trailers = pintle_mio::Metadata::new();
                trailers.append("why", "because").unwrap();
                call.fail(Status::not_found("no such name, 100% sure").with_metadata(trailers));
            }
            "fail later" => drop(thread::spawn(move || call.fail(Status::aborted("on second thought")))),
            "metadata" => {
                let mut headers = pintle_mio::Metadata::new();
                headers.append("echo", call.metadata().get("tenant").unwrap_or("none")).unwrap();
                headers.append_bin("echo-bin", &call.metadata().get_bin("key-bin").unwrap_or_default()).unwrap();
                call.send_headers(&headers);
                let mut trailers = pintle_mio::Metadata::new();
                trailers.append("cost", "7").unwrap();
                call.reply_with(reply, Status::ok().with_metadata(trailers));
            }
            "panic" => panic!("this panic is part of the test"),
            "drop" => drop(call),
            "keep" => self.kept.push(call),
            "never" => {
                let told = self.told.clone();
                call.on_cancel(move |code| told.send(Told::Cancelled(code)).unwrap());
                self.told.send(Told::Seen(req.name)).unwrap();
                self.kept.push(call);
            }
            _ => {
                for kept in self.kept.drain(..) {
                    kept.reply(HelloReply { message: "kept".into(), ..Default::default() });
                }
                for kept in self.kept_streams.drain(..) {
                    kept.produce(|out| while out.send(HelloReply::default()).is_ok() {});
                }
                call.reply(reply);
            }
        }
    }

    fn lots_of_replies(&mut self, req: HelloRequest, mut out: Replies<HelloReply>) {
        let mut left = req.count;
        let message = if req.name == "forever" { String::new() } else { req.name.clone() };
        let reply = HelloReply { message, blob: req.blob };
        let told = self.told.clone();
        match req.name.as_str() {
            "thread" => drop(thread::spawn(move || {
                for sent in 0..req.count {
                    if out.send_wait(reply.clone()).is_err() {
                        return drop(told.send(Told::Sent(sent as usize)));
                    }
                }
                out.finish(Status::ok());
            })),
            "produce elsewhere" => drop(thread::spawn(move || {
                out.produce(move |out| {
                    while left > 0 && out.send(reply.clone()).is_ok() {
                        left -= 1;
                    }
                    if left == 0 {
                        out.finish(Status::ok());
                    }
                });
            })),
            "fail midway" => {
                out.send(reply).unwrap();
                out.finish(Status::data_loss("half of it"));
            }
            "forever" => {
                let cancelled = told.clone();
                out.on_cancel(move |code| cancelled.send(Told::Cancelled(code)).unwrap());
                let mut sent = 0;
                out.produce(move |out| {
                    while out.send(reply.clone()).is_ok() {
                        sent += 1;
                    }
                    told.send(Told::Sent(sent)).unwrap();
                });
            }
            "panic" => panic!("this panic is part of the test"),
            "keep" => {
                out.on_cancel(move |code| told.send(Told::Cancelled(code)).unwrap());
                self.told.send(Told::Seen(req.name)).unwrap();
                self.kept_streams.push(out);
            }
            _ => out.produce(move |out| {
                while left > 0 && out.send(reply.clone()).is_ok() {
                    left -= 1;
                }
                if left == 0 {
                    out.finish(Status::ok());
                }
            }),
        }
    }

    fn lots_of_greetings(&mut self, call: Unary<HelloReply>) -> Box<dyn Receiver<HelloRequest>> {
        Box::new(Collect { call: Some(call), names: Vec::new(), octets: 0, told: self.told.clone() })
    }

    fn chat(&mut self, out: Replies<Note>) -> Box<dyn Receiver<Note>> {
        Box::new(Echo { out, kept: None, ended: false, told: self.told.clone() })
    }
}

struct Collect {
    call: Option<Unary<HelloReply>>,
    names: Vec<String>,
    octets: usize,
    told: mpsc::Sender<Told>,
}

impl Receiver<HelloRequest> for Collect {
    fn on_message(&mut self, message: HelloRequest) {
        assert_ne!(message.name, "panic", "this panic is part of the test");
        if message.name == "enough"
            && let Some(call) = self.call.take()
        {
            call.fail(Status::out_of_range("enough"));
        }
        self.octets += message.blob.len();
        self.told.send(Told::Seen(message.name.clone())).unwrap();
        self.names.push(message.name);
    }
    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(HelloReply { message: format!("{} and {} octets", self.names.join(", "), self.octets), ..Default::default() });
        }
    }
    fn on_cancel(&mut self, code: pintle_mio::Code) {
        self.told.send(Told::Cancelled(code)).unwrap();
    }
}

struct Echo {
    out: Replies<Note>,
    kept: Option<Note>,
    ended: bool,
    told: mpsc::Sender<Told>,
}

impl Receiver<Note> for Echo {
    fn on_message(&mut self, note: Note) {
        match self.out.send(note) {
            Err(SendError::Blocked(note)) => {
                self.kept = Some(note);
                self.out.pause();
            }
            sent => sent.unwrap(),
        }
    }
    fn on_ready(&mut self) {
        if let Some(note) = self.kept.take() {
            self.on_message(note);
        }
        if self.kept.is_none() {
            self.out.resume();
            if self.ended {
                self.out.finish(Status::ok());
            }
        }
    }
    fn on_end(&mut self) {
        self.ended = true;
        if self.kept.is_none() {
            self.out.finish(Status::ok());
        }
    }
    fn on_cancel(&mut self, code: pintle_mio::Code) {
        self.told.send(Told::Cancelled(code)).unwrap();
    }
}

/// A server of the greeter, and what it tells.
pub struct Fixture {
    pub server: Option<Running>,
    pub tcp: String,
    pub unix: String,
    pub told: mpsc::Receiver<Told>,
    path: PathBuf,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(|server| server)
    }

    pub fn with(refine: impl FnOnce(Server) -> Server) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pintle-mio-{}-{number}.sock", std::process::id()));
        let unix = format!("unix:{}", path.display());
        let (tell, told) = mpsc::channel();
        let server = Server::new().add(move || GreeterServer::new(Greeter::new(tell.clone())));
        let server = refine(server).listen("127.0.0.1:0").unwrap().listen(&unix).unwrap().spawn().unwrap();
        let tcp = server.local_addresses()[0].to_string();
        Self { server: Some(server), tcp, unix, told, path }
    }

    pub fn addresses(&self) -> [&str; 2] {
        [&self.tcp, &self.unix]
    }

    /// The next thing that the service tells.
    pub fn told(&self) -> Told {
        self.told.recv_timeout(LONG).expect("the service says something")
    }

    /// Shuts down; says how long it took.
    pub fn stop(mut self, grace: Duration) -> Duration {
        let server = self.server.take().unwrap();
        let begin = Instant::now();
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(server.shutdown(grace)));
        ended.recv_timeout(grace + LONG).expect("a shutdown always ends").unwrap();
        begin.elapsed()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown(Duration::ZERO).unwrap();
        }
        assert!(!self.path.exists(), "the socket file is gone with the server");
    }
}

/// Runs `f` on a thread of its own, and fails if it takes too long: what hangs shall not hang the tests.
pub fn bounded<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    let thread = thread::spawn(move || done.send(f()));
    match ended.recv_timeout(LONG) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(_) => unreachable!("it has sent nothing"),
        },
    }
}
