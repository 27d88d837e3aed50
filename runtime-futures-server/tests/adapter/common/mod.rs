//! A service with one method per shape, and servers of it on both executors.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its part")]

#[path = "greeter.rs"]
#[allow(missing_docs, unreachable_pub, reason = "as codegen emits it")]
pub mod greeter;
pub mod wire;

use crate::rt;
use greeter::{Greeter, GreeterServer, HelloReply, HelloRequest, Note};
use pintle::{Address, Cancellation, Connection, Context, Sender, ServeError, Server, Status, Streaming};
use std::{
    future::{Future, pending, poll_fn},
    num::NonZeroUsize,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    task::{Poll, Waker},
    thread::JoinHandle,
    time::Duration,
};

/// No wait in a test is longer.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Waits for `future`, but not for ever.
pub async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match rt::timeout(LIMIT, future).await {
        Ok(output) => output,
        Err(rt::Elapsed) => panic!("{what}: not within {LIMIT:?}"),
    }
}

/// What handlers report.
#[derive(Debug, PartialEq, Eq)]
pub enum Report {
    Started,
    /// A handler future was dropped, and what its context said then.
    Dropped {
        cancelled: bool,
    },
    /// A send failed with this code.
    SendFailed(pintle::Code),
    /// The input ended with this code, or well.
    Input(Option<pintle::Code>),
}

/// The service under test; what it does is named by the request.
pub struct MyGreeter {
    pub reports: mpsc::Sender<Report>,
    /// Octets that `flood` has sent.
    pub flooded: Arc<AtomicU64>,
}

/// Reports when a handler is dropped.
struct Guard {
    reports: mpsc::Sender<Report>,
    call: Cancellation,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.reports.send(Report::Dropped { cancelled: self.call.is_cancelled() });
    }
}

impl MyGreeter {
    fn guard(&self, cx: &Context) -> Guard {
        let _ = self.reports.send(Report::Started);
        Guard { reports: self.reports.clone(), call: cx.cancellation() }
    }
}

impl Greeter for MyGreeter {
    async fn say_hello(&self, cx: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
        match request.name.as_str() {
            "fail" => {
                cx.add_trailer("why", "because").map_err(|error| Status::internal(error.to_string()))?;
                return Err(Status::not_found("no such person: 日本").with_details(bytes::Bytes::from_static(b"\x08\x05")));
            }
            "panic" => panic!("a test's handler panics"),
            "hang" => {
                let _guard = self.guard(cx);
                pending::<()>().await;
            }
            "wait" => rt::sleep(Duration::from_millis(20)).await,
            "metadata" => {
                let tenant = cx.metadata().get("tenant").unwrap_or("none").to_owned();
                let trace = cx.metadata().get_bin("trace-bin").unwrap_or_default();
                let reply = |error: pintle::InvalidMetadata| Status::internal(error.to_string());
                cx.add_header("tenant-was", &tenant).map_err(reply)?;
                cx.add_trailer_bin("trace-was-bin", &trace).map_err(reply)?;
            }
            "context" => {
                cx.insert(7_u32);
                let left = cx.time_left().map_or_else(|| "none".to_owned(), |left| (left <= LIMIT && left > Duration::ZERO).to_string());
                let message = format!("{} {left} {:?} {}", cx.method(), cx.get::<u32>(), cx.is_cancelled());
                return Ok(HelloReply { message });
            }
            "peer" => return Ok(HelloReply { message: cx.peer().to_string() }),
            _ => {}
        }
        let big = if request.count > 0 { "x".repeat(request.count as usize) } else { String::new() };
        Ok(HelloReply { message: format!("Hello {}{big}", request.name) })
    }

    async fn lots_of_replies(&self, cx: &Context, request: HelloRequest, out: &mut Sender<HelloReply>) -> Result<(), Status> {
        let _guard = self.guard(cx);
        match request.name.as_str() {
            "flood" => loop {
                let message = "x".repeat(request.count as usize);
                if let Err(status) = out.send(HelloReply { message }).await {
                    let _ = self.reports.send(Report::SendFailed(status.code()));
                    return Err(status);
                }
                self.flooded.fetch_add(u64::from(request.count), Ordering::SeqCst);
            },
            "headers first" => {
                cx.add_header("early", "yes").map_err(|error| Status::internal(error.to_string()))?;
                cx.flush_headers();
                pending::<()>().await;
            }
            _ => {}
        }
        for number in 0..request.count {
            out.send(HelloReply { message: format!("{} {number}", request.name) }).await?;
        }
        if request.name == "fail" { Err(Status::data_loss("after the last")) } else { Ok(()) }
    }

    async fn lots_of_greetings(&self, cx: &Context, input: &mut Streaming<HelloRequest>) -> Result<HelloReply, Status> {
        let _guard = self.guard(cx);
        let mut names = Vec::new();
        let ended = loop {
            match input.next().await {
                Ok(Some(request)) if request.name == "stop" => return Err(Status::resource_exhausted("enough")),
                Ok(Some(request)) => names.push(request.name),
                Ok(None) => break None,
                Err(status) => break Some(status.code()),
            }
        };
        let _ = self.reports.send(Report::Input(ended));
        Ok(HelloReply { message: names.join(",") })
    }

    async fn chat(&self, cx: &Context, input: &mut Streaming<Note>, out: &mut Sender<Note>) -> Result<(), Status> {
        let _guard = self.guard(cx);
        while let Some(note) = input.next().await? {
            if note.text == "bye" {
                return Err(Status::aborted("bye"));
            }
            out.send(Note { text: format!("re: {}", note.text), data: note.data }).await?;
        }
        Ok(())
    }
}

/// How a server runs its handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Spawn,
    Inline,
}

pub const MODES: [Mode; 2] = [Mode::Spawn, Mode::Inline];

/// A server in a thread of its own.
pub struct TestServer {
    pub addresses: Vec<String>,
    pub reports: mpsc::Receiver<Report>,
    pub flooded: Arc<AtomicU64>,
    stop: Option<Stop>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// Tells a server to stop by its drop.
#[derive(Default)]
struct Stop(Arc<Mutex<(bool, Option<Waker>)>>);

impl Stop {
    fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let state = Arc::clone(&self.0);
        poll_fn(move |cx| {
            let mut state = state.lock().unwrap();
            state.1 = Some(cx.waker().clone());
            if state.0 { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }
}

/// Waits for a thread's end. Other tasks of this thread run meanwhile.
pub async fn joined<T>(thread: JoinHandle<T>) -> T {
    while !thread.is_finished() {
        rt::sleep(Duration::from_millis(1)).await;
    }
    thread.join().expect("it does not panic")
}

/// Options that tests change.
pub struct Options {
    pub listen: Vec<String>,
    pub grace: Duration,
    pub http: bool,
    pub max_send: Option<u32>,
    /// Calls of a connection at once; a call that was cancelled counts until its handler is gone.
    pub max_calls: Option<u32>,
    pub max_connections: Option<NonZeroUsize>,
    /// Whatever else of the settings.
    pub configure: Option<fn(&mut pintle::Config)>,
    /// Around each connection.
    pub layer: Option<fn(Connection) -> pintle_futures::Layered>,
}

impl Default for Options {
    fn default() -> Self {
        let listen = vec!["127.0.0.1:0".to_owned()];
        Self {
            listen,
            grace: Duration::from_secs(5),
            http: false,
            max_send: None,
            max_calls: None,
            max_connections: None,
            configure: None,
            layer: None,
        }
    }
}

impl TestServer {
    pub fn start(mode: Mode) -> Self {
        Self::with(mode, Options::default())
    }

    pub fn with(mode: Mode, options: Options) -> Self {
        let (report, reports) = mpsc::channel();
        let flooded = Arc::new(AtomicU64::new(0));
        let greeter = MyGreeter { reports: report, flooded: Arc::clone(&flooded) };
        Self { reports, flooded, ..Self::of(mode, options, greeter) }
    }

    /// A server of another greeter, which does not report.
    pub fn of(mode: Mode, options: Options, greeter: impl Greeter) -> Self {
        let (tell, told) = mpsc::channel();
        let stop = Stop::default();
        let stopped = stop.stopped();
        let thread = std::thread::spawn(move || {
            let service = GreeterServer::new(greeter);
            match mode {
                Mode::Spawn => {
                    let server = prepare(Server::new().add(service), &options);
                    tell.send(server.local_addresses()).unwrap();
                    rt::run_on_threads(server.serve_with_shutdown(stopped))
                }
                Mode::Inline => {
                    let server = prepare(Server::inline().add(service), &options);
                    tell.send(server.local_addresses()).unwrap();
                    rt::run(server.serve_with_shutdown(stopped))
                }
            }
        });
        let addresses = told.recv_timeout(LIMIT).expect("the server listens").iter().map(Address::to_string).collect();
        let (_, reports) = mpsc::channel();
        Self { addresses, reports, flooded: Arc::default(), stop: Some(stop), thread: Some(thread) }
    }

    pub fn address(&self) -> &str {
        &self.addresses[0]
    }

    /// The next report of a handler. Other tasks of this thread run meanwhile.
    pub async fn report(&self) -> Report {
        soon("a report", async {
            loop {
                match self.reports.try_recv() {
                    Ok(report) => break report,
                    Err(_) => rt::sleep(Duration::from_millis(1)).await,
                }
            }
        })
        .await
    }

    /// Begins the shutdown.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits for the end of `serve_with_shutdown`. Other tasks of this thread run meanwhile.
    pub async fn join(&mut self) -> Result<(), ServeError> {
        let thread = self.thread.take().expect("joined once");
        soon("the server's end", joined(thread)).await
    }
}

fn prepare<X: pintle_futures_server::Executor>(mut server: Server<X>, options: &Options) -> Server<X> {
    for address in &options.listen {
        server = server.listen(address).expect("a free address");
    }
    if options.http {
        server = server.http(|request| match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/healthz") => Some(pintle::HttpResponse::text("fine\n")),
            ("GET", "/large") => Some(pintle::HttpResponse::new(200, vec![b'x'; 3 << 20])),
            ("PUT", "/echo") => Some(pintle::HttpResponse::new(200, request.body.clone())),
            ("GET", "/panic") => panic!("a test's handler panics"),
            _ => None,
        });
    }
    if let Some(layer) = options.layer {
        server = server.layer(layer);
    }
    if let Some(max) = options.max_send {
        server = server.configure(|config| config.max_send_message = max);
    }
    if let Some(max) = options.max_calls {
        server = server.configure(|config| {
            config.recv_budget = u64::from(max) * u64::from(config.initial_window) + u64::from(config.max_recv_message);
            config.max_concurrent_streams = max;
        });
    }
    if let Some(configure) = options.configure {
        server = server.configure(configure);
    }
    if let Some(max) = options.max_connections {
        server = server.max_connections(max);
    }
    server.grace(options.grace)
}

/// A path for a Unix socket that no other test uses.
pub fn socket_path(name: &str) -> String {
    format!("{}/pintle-{name}-{}.sock", std::env::temp_dir().display(), std::process::id())
}
