//! A runtime made by hand, with a clock that stands until it is moved and streams that do as they are told.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test file uses its part")]

use pintle_core::{Shape, Status, Timestamp, codec::Raw};
use pintle_futures::{Channel, Io, Reply, Runtime, Timer};
use pintle_futures_server::{
    Acceptor, Builder, Executor, Inline, InlineCall, Listener, LocalRuntime, LocalService, Method, Methods, Peer, Service, Spawn, SpawnCall,
};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::{Future, IntoFuture, pending},
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

// ------------------------------------------------------------------------------------------------ the runtime

pub type Task = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1_000_000) };
    /// The task that is being polled.
    static POLLED: Cell<Option<usize>> = const { Cell::new(None) };
    /// Writes to any stream.
    static WRITES: Cell<usize> = const { Cell::new(0) };
    static TIMERS: RefCell<Vec<(u64, Waker)>> = const { RefCell::new(Vec::new()) };
    pub static SPAWNED: RefCell<Vec<Task>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone)]
pub struct Hand;

pub struct HandTimer;

impl Runtime for Hand {
    type Timer = HandTimer;

    fn now() -> Timestamp {
        Timestamp::from_micros(NOW.get())
    }

    fn timer(&self) -> HandTimer {
        HandTimer
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_local(task);
    }
}

impl LocalRuntime for Hand {
    fn run_local<T: 'static>(root: impl Future<Output = T> + 'static) -> impl Future<Output = T> {
        root
    }

    fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        SPAWNED.with_borrow_mut(|spawned| spawned.push(Box::pin(task)));
    }
}

impl Timer for HandTimer {
    fn poll_until(&mut self, at: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        if at <= Hand::now() {
            return Poll::Ready(());
        }
        if at != Timestamp::MAX {
            TIMERS.with_borrow_mut(|timers| timers.push((at.as_micros(), cx.waker().clone())));
        }
        Poll::Pending
    }
}

/// Wakes a task: puts it into the run queue, once. Whom another task wakes runs next, as in tokio; whoever wakes
/// itself goes to the end.
pub struct Turn {
    pub task: usize,
    pub queued: AtomicBool,
    pub ready: Arc<Mutex<VecDeque<usize>>>,
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            let mut ready = self.ready.lock().unwrap();
            match POLLED.get() {
                Some(task) if task != self.task => ready.push_front(self.task),
                _ => ready.push_back(self.task),
            }
        }
    }
}

/// Runs tasks.
#[derive(Default)]
pub struct World {
    pub tasks: Vec<(Option<Task>, Arc<Turn>)>,
    pub ready: Arc<Mutex<VecDeque<usize>>>,
    pub polls: usize,
}

impl World {
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) -> usize {
        self.adopt(Box::pin(task))
    }

    pub fn adopt(&mut self, task: Task) -> usize {
        let number = self.tasks.len();
        let turn = Arc::new(Turn { task: number, queued: AtomicBool::new(false), ready: Arc::clone(&self.ready) });
        self.tasks.push((Some(task), Arc::clone(&turn)));
        turn.wake();
        number
    }

    /// Drops a task, as a runtime does that is shut down.
    pub fn kill(&mut self, task: usize) {
        self.tasks[task].0 = None;
    }

    pub fn wake(&self, task: usize) {
        Arc::clone(&self.tasks[task].1).wake();
    }

    pub fn is_done(&self, task: usize) -> bool {
        self.tasks[task].0.is_none()
    }

    /// Polls whoever was woken until nobody is; a world that never rests fails.
    pub fn settle(&mut self) {
        let before = self.polls;
        loop {
            SPAWNED.take().into_iter().for_each(|task| {
                self.adopt(task);
            });
            let Some(woken) = self.ready.lock().unwrap().pop_front() else { return };
            let (task, turn) = &mut self.tasks[woken];
            turn.queued.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::clone(turn));
            POLLED.set(Some(woken));
            if task.as_mut().is_some_and(|task| task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()) {
                *task = None;
            }
            POLLED.set(None);
            self.polls += 1;
            assert!(self.polls - before < 100_000, "somebody spins");
        }
    }

    /// Moves the clock by `time`, from timer to timer.
    pub fn pass(&mut self, time: Duration) {
        self.settle();
        let end = NOW.get() + time.as_micros() as u64;
        loop {
            let next = TIMERS.with_borrow(|timers| timers.iter().map(|timer| timer.0).min()).filter(|next| *next <= end);
            NOW.set(next.unwrap_or(end));
            let due = TIMERS.with_borrow_mut(|timers| timers.extract_if(.., |timer| timer.0 <= NOW.get()).collect::<Vec<_>>());
            due.into_iter().for_each(|(_, waker)| waker.wake());
            self.settle();
            if next.is_none() {
                return;
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------ the streams

#[derive(Clone, Copy)]
pub enum Take {
    /// At most so many octets per write; a call that is interrupted comes before each.
    AtMost(usize),
    Zero,
    Broken,
}

pub struct State {
    pub input: VecDeque<Vec<u8>>,
    pub ended: bool,
    pub interrupt: bool,
    pub output: Vec<u8>,
    pub writes: usize,
    pub take: Take,
    pub closed: bool,
    pub waker: Option<Waker>,
}

#[derive(Clone)]
pub struct Script(pub Arc<Mutex<State>>);

impl Script {
    pub fn new(take: Take) -> Self {
        let state = State {
            input: VecDeque::new(),
            ended: false,
            interrupt: false,
            output: Vec::new(),
            writes: 0,
            take,
            closed: false,
            waker: None,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    /// Octets that arrive, in pieces of `cut`.
    pub fn feed(&self, octets: &[u8], cut: usize) {
        let waker = self.with(|state| {
            state.input.extend(octets.chunks(cut).map(<[u8]>::to_vec));
            state.waker.take()
        });
        waker.into_iter().for_each(Waker::wake);
    }

    pub fn end(&self) {
        self.with(|state| state.ended = true);
        self.feed(&[], 1);
    }
}

impl Io for Script {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.with(|state| {
            state.interrupt = !state.interrupt;
            if state.interrupt {
                return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
            }
            match state.input.pop_front() {
                Some(mut octets) => {
                    let rest = octets.split_off(octets.len().min(buffer.len()));
                    if !rest.is_empty() {
                        state.input.push_front(rest);
                    }
                    buffer[..octets.len()].copy_from_slice(&octets);
                    Poll::Ready(Ok(octets.len()))
                }
                None if state.ended => Poll::Ready(Ok(0)),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }

    fn poll_write(&mut self, _cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.with(|state| {
            state.writes += 1;
            WRITES.set(WRITES.get() + 1);
            match state.take {
                Take::AtMost(_) if state.writes.is_multiple_of(2) => Poll::Ready(Err(io::ErrorKind::Interrupted.into())),
                Take::AtMost(most) => {
                    let all: Vec<u8> = octets.iter().flat_map(|run| run.iter().copied()).take(most).collect();
                    state.output.extend(&all);
                    Poll::Ready(Ok(all.len()))
                }
                Take::Zero => Poll::Ready(Ok(0)),
                Take::Broken => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        })
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|state| state.closed = true);
        Poll::Ready(Ok(()))
    }
}

// ------------------------------------------------------------------------------------------------ the service

/// Answers a request with itself.
pub struct Echo;

impl Methods for Echo {
    fn methods(&self) -> &'static [Method] {
        &[const { Method::new("/test.Echo/Echo", Shape::Unary) }]
    }
}

pub async fn echo(request: bytes::Bytes) -> Result<bytes::Bytes, Status> {
    match &request[..] {
        b"hang" => pending().await,
        // Wakes itself all the time, then says what was written meanwhile.
        b"busy" => {
            let before = WRITES.get();
            for _ in 0..5_000 {
                yield_once().await;
            }
            Ok(if WRITES.get() > before { "others went on" } else { "others waited" }.into())
        }
        _ => Ok(request),
    }
}

pub async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl<R: Runtime> Service<R> for Echo {
    fn dispatch(&self, _method: usize, call: SpawnCall<'_, R>) {
        call.unary::<Raw, Raw, _, _>(|_cx, request| echo(request));
    }
}

impl LocalService for Echo {
    fn dispatch(&self, _method: usize, call: InlineCall<'_>) {
        call.unary::<Raw, Raw, _, _>(|_cx, request| echo(request));
    }
}

pub fn build<X: Executor>(service: Box<X::Service>) -> Acceptor<Hand, X> {
    let mut builder = Builder::new();
    builder.add(service);
    builder.finish(Hand).unwrap()
}

pub fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

pub fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        // RFC 7541 §6.2.2: literal without indexing, new name.
        block.extend([0, name.len() as u8]);
        block.extend(name.as_bytes());
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    }
    block
}

pub fn message(octets: &[u8]) -> Vec<u8> {
    [&[0][..], &(octets.len() as u32).to_be_bytes(), octets].concat()
}

/// A client's octets: preface, SETTINGS, and a call on each stream.
pub fn calls(requests: &[&[u8]]) -> Vec<u8> {
    let mut octets = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    frame(&mut octets, 4, 0, 0, &[]);
    for (number, request) in requests.iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        request_head(&mut octets, stream, "/test.Echo/Echo");
        frame(&mut octets, 0, 1, stream, &message(request));
    }
    octets
}

/// HEADERS of a call.
pub fn request_head(octets: &mut Vec<u8>, stream: u32, path: &str) {
    let head = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
    ];
    frame(octets, 1, 4, stream, &fields(&head));
}

/// The messages in DATA frames, by stream.
pub fn messages(mut octets: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut found = Vec::new();
    while octets.len() >= 9 {
        let len = u32::from_be_bytes([0, octets[0], octets[1], octets[2]]) as usize;
        let stream = u32::from_be_bytes([octets[5], octets[6], octets[7], octets[8]]);
        if octets[3] == 0 && len > 0 {
            found.push((stream, octets[9 + 5..9 + len].to_vec()));
        }
        octets = &octets[9 + len..];
    }
    found
}

pub fn serve_script(world: &mut World, inline: bool, io: &Script) -> usize {
    let (io, peer) = (io.clone(), Peer::Other("a script".into()));
    if inline {
        world.spawn(async move { build::<Inline>(Box::new(Echo)).serve_connection(io, peer).await })
    } else {
        world.spawn(async move { build::<Spawn<Hand>>(Box::new(Echo)).serve_connection(io, peer).await })
    }
}

/// What a server says for a call on `stream`: head, one message, trailers.
pub fn response(stream: u32, octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame(&mut out, 1, 4, stream, &fields(&[(":status", "200"), ("content-type", "application/grpc")]));
    frame(&mut out, 0, 0, stream, &message(octets));
    frame(&mut out, 1, 5, stream, &fields(&[("grpc-status", "0")]));
    out
}

/// Calls `/test.Echo/Echo` and puts the result where the test finds it.
pub fn call(world: &mut World, channel: &Channel) -> Arc<Mutex<Option<Result<bytes::Bytes, Status>>>> {
    let result = Arc::new(Mutex::new(None));
    let reply: Reply<bytes::Bytes> = channel.unary::<Raw, Raw>("/test.Echo/Echo", &"hi".into()).into_future();
    let place = Arc::clone(&result);
    world.spawn(async move {
        let outcome = reply.await;
        *place.lock().unwrap() = Some(outcome);
    });
    result
}

/// A listener that does as it is told.
pub struct Door(pub VecDeque<io::Result<Script>>);

impl Listener for Door {
    type Io = Script;

    fn poll_accept(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<(Script, Peer)>> {
        match self.0.pop_front() {
            Some(next) => Poll::Ready(next.map(|io| (io, Peer::Other("a script".into())))),
            None => Poll::Pending,
        }
    }
}
