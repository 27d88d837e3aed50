//! The driver on a runtime made by hand, with a clock that stands until it is moved and streams that do as they are told.

use pintle_core::{Code, Config, Shape, Status, Timestamp, codec::Raw};
use pintle_futures::{Channel, Io, Reply, Runtime, Timer};
use pintle_futures_server::{
    AcceptFailure, Acceptor, Builder, Executor, Inline, InlineCall, Listener, LocalRuntime, LocalService, Method, Methods, Peer, Service,
    Spawn, SpawnCall, serve,
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

type Task = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1_000_000) };
    /// The task that is being polled.
    static POLLED: Cell<Option<usize>> = const { Cell::new(None) };
    /// Writes to any stream.
    static WRITES: Cell<usize> = const { Cell::new(0) };
    static TIMERS: RefCell<Vec<(u64, Waker)>> = const { RefCell::new(Vec::new()) };
    static SPAWNED: RefCell<Vec<Task>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone)]
struct Hand;

struct HandTimer;

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
    fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        SPAWNED.with_borrow_mut(|spawned| spawned.push(Box::pin(task)));
    }
}

impl Timer for HandTimer {
    fn poll_until(&mut self, at: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        if at <= Hand::now() {
            return Poll::Ready(());
        }
        TIMERS.with_borrow_mut(|timers| timers.push((at.as_micros(), cx.waker().clone())));
        Poll::Pending
    }
}

/// Wakes a task: puts it into the run queue, once. Whom another task wakes runs next, as in tokio; whoever wakes
/// itself goes to the end.
struct Turn {
    task: usize,
    queued: AtomicBool,
    ready: Arc<Mutex<VecDeque<usize>>>,
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
struct World {
    tasks: Vec<(Option<Task>, Arc<Turn>)>,
    ready: Arc<Mutex<VecDeque<usize>>>,
    polls: usize,
}

impl World {
    fn spawn(&mut self, task: impl Future<Output = ()> + 'static) -> usize {
        self.adopt(Box::pin(task))
    }

    fn adopt(&mut self, task: Task) -> usize {
        let number = self.tasks.len();
        let turn = Arc::new(Turn { task: number, queued: AtomicBool::new(false), ready: Arc::clone(&self.ready) });
        self.tasks.push((Some(task), Arc::clone(&turn)));
        turn.wake();
        number
    }

    fn is_done(&self, task: usize) -> bool {
        self.tasks[task].0.is_none()
    }

    /// Polls whoever was woken until nobody is; a world that never rests fails.
    fn settle(&mut self) {
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
    fn pass(&mut self, time: Duration) {
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
enum Take {
    /// At most so many octets per write; a call that is interrupted comes before each.
    AtMost(usize),
    Zero,
    Broken,
}

struct State {
    input: VecDeque<Vec<u8>>,
    ended: bool,
    interrupt: bool,
    output: Vec<u8>,
    writes: usize,
    take: Take,
    closed: bool,
    waker: Option<Waker>,
}

#[derive(Clone)]
struct Script(Arc<Mutex<State>>);

impl Script {
    fn new(take: Take) -> Self {
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

    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    /// Octets that arrive, in pieces of `cut`.
    fn feed(&self, octets: &[u8], cut: usize) {
        let waker = self.with(|state| {
            state.input.extend(octets.chunks(cut).map(<[u8]>::to_vec));
            state.waker.take()
        });
        waker.into_iter().for_each(Waker::wake);
    }

    fn end(&self) {
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
struct Echo;

impl Methods for Echo {
    fn methods(&self) -> &'static [Method] {
        &[const { Method::new("/test.Echo/Echo", Shape::Unary) }]
    }
}

async fn echo(request: bytes::Bytes) -> Result<bytes::Bytes, Status> {
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

async fn yield_once() {
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

fn build<X: Executor>(service: Box<X::Service>) -> Acceptor<Hand, X> {
    let mut builder = Builder::new();
    builder.add(service);
    builder.finish(Hand).unwrap()
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
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

fn message(octets: &[u8]) -> Vec<u8> {
    [&[0][..], &(octets.len() as u32).to_be_bytes(), octets].concat()
}

/// A client's octets: preface, SETTINGS, and a call on each stream.
fn calls(requests: &[&[u8]]) -> Vec<u8> {
    let mut octets = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    frame(&mut octets, 4, 0, 0, &[]);
    for (number, request) in requests.iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        let head = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/test.Echo/Echo"),
            (":authority", "x"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        ];
        frame(&mut octets, 1, 4, stream, &fields(&head));
        frame(&mut octets, 0, 1, stream, &message(request));
    }
    octets
}

/// The messages in DATA frames, by stream.
fn messages(mut octets: &[u8]) -> Vec<(u32, Vec<u8>)> {
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

fn serve_script(world: &mut World, inline: bool, io: &Script) -> usize {
    let (io, peer) = (io.clone(), Peer::Other("a script".into()));
    if inline {
        world.spawn(async move { build::<Inline>(Box::new(Echo)).serve_connection(io, peer).await })
    } else {
        world.spawn(async move { build::<Spawn<Hand>>(Box::new(Echo)).serve_connection(io, peer).await })
    }
}

// ------------------------------------------------------------------------------------------------ tests

/// B77: a read of one octet, an interrupted call, a short write: none of it changes what is said.
#[test]
fn cuts_do_not_matter() {
    for inline in [false, true] {
        let mut said = Vec::new();
        for (cut, take) in [(usize::MAX, usize::MAX), (1, 1), (7, 1), (50, 7), (1, 1_000)] {
            let mut world = World::default();
            let io = Script::new(Take::AtMost(take));
            let task = serve_script(&mut world, inline, &io);
            io.feed(&calls(&[b"one", b"two", &[3; 16_000]]), cut);
            world.settle();
            assert!(!world.is_done(task), "cut {cut}, {:?}", io.with(|state| state.output.clone()));
            said.push(io.with(|state| messages(&state.output)));
        }
        for messages in said {
            assert_eq!(messages, [(1, b"one".to_vec()), (3, b"two".to_vec()), (5, vec![3; 16_000])]);
        }
    }
}

/// Replies of handlers that became runnable together go out in one write, though the owner runs before the second of them.
#[test]
fn replies_are_batched() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        serve_script(&mut world, inline, &io);
        world.settle();
        let requests: Vec<&[u8]> = vec![b"x"; 50];
        let before = io.with(|state| state.writes);
        io.feed(&calls(&requests), usize::MAX);
        world.settle();
        let (writes, replies) = io.with(|state| (state.writes - before, messages(&state.output).len()));
        assert_eq!(replies, 50);
        // Every second write is interrupted.
        assert!(writes <= 4, "{writes} writes for 50 replies that were ready together");
    }
}

/// A handler that is always runnable does not keep the connection from reading and writing.
#[test]
fn a_busy_handler_does_not_starve_its_connection() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        serve_script(&mut world, inline, &io);
        io.feed(&calls(&[b"busy", b"two"]), usize::MAX);
        world.settle();
        let said = io.with(|state| messages(&state.output));
        assert_eq!(said, [(3, b"two".to_vec()), (1, b"others went on".to_vec())]);
    }
}

/// B77: a write that takes nothing is an error, not a reason to try for ever.
#[test]
fn a_stream_that_takes_nothing_ends() {
    for take in [Take::Zero, Take::Broken] {
        for inline in [false, true] {
            let mut world = World::default();
            let io = Script::new(take);
            let task = serve_script(&mut world, inline, &io);
            io.feed(&calls(&[b"one", b"hang"]), usize::MAX);
            world.settle();
            assert!(world.is_done(task));
            assert!(io.with(|state| state.closed));
        }
    }
}

/// A hanging handler is dropped when its peer is gone, and nothing is left running.
#[test]
fn the_end_of_the_input_ends_everything() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        let task = serve_script(&mut world, inline, &io);
        io.feed(&calls(&[b"hang", b"two"]), usize::MAX);
        world.settle();
        assert_eq!(io.with(|state| messages(&state.output)), [(3, b"two".to_vec())]);
        io.end();
        world.settle();
        assert!(world.is_done(task));
        assert!((0..world.tasks.len()).all(|task| world.is_done(task)), "a handler's task lives on");
    }
}

/// What a server says for a call on `stream`: head, one message, trailers.
fn response(stream: u32, octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame(&mut out, 1, 4, stream, &fields(&[(":status", "200"), ("content-type", "application/grpc")]));
    frame(&mut out, 0, 0, stream, &message(octets));
    frame(&mut out, 1, 5, stream, &fields(&[("grpc-status", "0")]));
    out
}

/// Calls `/test.Echo/Echo` and puts the result where the test finds it.
fn call(world: &mut World, channel: &Channel) -> Arc<Mutex<Option<Result<bytes::Bytes, Status>>>> {
    let result = Arc::new(Mutex::new(None));
    let reply: Reply<bytes::Bytes> = channel.unary::<Raw, Raw>("/test.Echo/Echo", &"hi".into()).into_future();
    let place = Arc::clone(&result);
    world.spawn(async move {
        let outcome = reply.await;
        *place.lock().unwrap() = Some(outcome);
    });
    result
}

/// B36: a whole response followed at once by the end is a success, also when our own writes fail already; a call that
/// was not answered is UNAVAILABLE.
#[test]
fn a_response_just_before_the_end_counts() {
    for broken in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        let channel = Channel::over(&Hand, io.clone(), &Config::default());
        let (answered, unanswered) = (call(&mut world, &channel), call(&mut world, &channel));
        world.settle();
        if broken {
            io.with(|state| state.take = Take::Broken);
        }
        let mut octets = Vec::new();
        frame(&mut octets, 4, 0, 0, &[]);
        octets.extend(response(1, b"hello"));
        io.feed(&octets, usize::MAX);
        io.end();
        world.settle();
        assert_eq!(answered.lock().unwrap().take().unwrap().unwrap(), "hello");
        assert_eq!(unanswered.lock().unwrap().take().unwrap().unwrap_err().code(), Code::Unavailable);

        // A channel over a given stream cannot connect again, and says so at once.
        let later = call(&mut world, &channel);
        world.settle();
        assert_eq!(later.lock().unwrap().take().unwrap().unwrap_err().code(), Code::Unavailable);
    }
}

/// A deadline passes by the clock alone.
#[test]
fn a_deadline_needs_no_octets() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let channel = Channel::over(&Hand, io.clone(), &Config::default());
    let reply = channel.unary::<Raw, Raw>("/test.Echo/Echo", &"hi".into()).deadline(Duration::from_millis(250)).into_future();
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    world.spawn(async move {
        let outcome = reply.await;
        *place.lock().unwrap() = Some((Hand::now(), outcome));
    });
    world.settle();
    let start = Hand::now();
    world.pass(Duration::from_secs(1));
    let (at, outcome) = result.lock().unwrap().take().expect("it passed");
    assert_eq!(outcome.unwrap_err().code(), Code::DeadlineExceeded);
    let took = at.saturating_since(start);
    assert!((250..=252).contains(&took.as_millis()), "{took:?}");
}

/// A listener that does as it is told.
struct Door(VecDeque<Result<Script, AcceptFailure>>);

impl Listener for Door {
    type Io = Script;

    fn poll_accept(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(Script, Peer), AcceptFailure>> {
        match self.0.pop_front() {
            Some(next) => Poll::Ready(next.map(|io| (io, Peer::Other("a script".into())))),
            None => Poll::Pending,
        }
    }
}

/// B51, X27: a shortage is a pause, a thousand of them are a thousand pauses; only a broken listener ends the server.
#[test]
fn accept_errors_pause_and_do_not_end_the_server() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let pause = Duration::from_millis(50);
    let mut script: VecDeque<_> = (0..1_000).map(|_| Err(AcceptFailure::BackOff(pause))).collect();
    script.push_back(Ok(io.clone()));
    let acceptor = build::<Spawn<Hand>>(Box::new(Echo));
    let task = world.spawn(async move { serve(acceptor, vec![Door(script)], pending(), Duration::ZERO).await.unwrap() });
    io.feed(&calls(&[b"one"]), usize::MAX);
    world.pass(pause * 999);
    assert!(io.with(|state| state.output.is_empty()), "a pause was cut short");
    world.pass(pause * 2);
    assert_eq!(io.with(|state| messages(&state.output)), [(1, b"one".to_vec())]);
    assert!(!world.is_done(task));
    assert!(world.polls < 5_000, "{} polls for 1,000 pauses", world.polls);

    let broken = VecDeque::from([Err(AcceptFailure::Fatal(io::ErrorKind::InvalidInput.into()))]);
    let acceptor = build::<Inline>(Box::new(Echo));
    let task = world.spawn(async move {
        let error = serve(acceptor, vec![Door(broken)], pending(), Duration::ZERO).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    });
    world.settle();
    assert!(world.is_done(task));
}

/// B50 on a clock of its own: at the end of the grace everything is over, exactly then.
#[test]
fn the_grace_ends_a_handler_that_hangs() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        let grace = Duration::from_secs(3);
        let stop = async {
            let mut timer = HandTimer;
            let at = Hand::now().saturating_add(Duration::from_secs(1));
            std::future::poll_fn(|cx| timer.poll_until(at, cx)).await;
        };
        let door = vec![Door(VecDeque::from([Ok(io.clone())]))];
        let task = if inline {
            let acceptor = build::<Inline>(Box::new(Echo));
            world.spawn(async move { serve(acceptor, door, stop, grace).await.unwrap() })
        } else {
            let acceptor = build::<Spawn<Hand>>(Box::new(Echo));
            world.spawn(async move { serve(acceptor, door, stop, grace).await.unwrap() })
        };
        io.feed(&calls(&[b"hang"]), usize::MAX);
        world.pass(Duration::from_millis(3_900));
        assert!(!world.is_done(task), "the grace was cut short");
        // The peer goes on sending nothing; the server's last words are written, and it lingers for their sake.
        world.pass(Duration::from_millis(1_200));
        assert!(world.is_done(task));
        assert!(io.with(|state| state.closed));
    }
}
