//! The task that owns a connection: what others are left with when it is gone, and what it takes for itself while it lives.

mod hand;

use hand::{
    Door, Echo, Hand, Script, Take, World, build, call, calls, fields, frame, message, messages, request_head, response, serve_script,
};
use pintle_core::{Code, Config, Connection, Endpoint, Shape, Status, Timestamp, Transmit, Wants, codec::Raw};
use pintle_futures::{Channel, ChannelOptions, Connecting, Io, Runtime};
use pintle_futures_server::{Method, Methods, Peer, Service, Spawn, SpawnCall, serve};
use std::{
    cell::Cell,
    collections::VecDeque,
    future::{Future, IntoFuture, pending, poll_fn},
    io,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

type Outcome = Arc<Mutex<Option<Result<bytes::Bytes, Status>>>>;

fn code(outcome: &Outcome) -> Option<Code> {
    outcome.lock().unwrap().as_ref().map(|result| result.as_ref().map_or_else(Status::code, |_| Code::Ok))
}

// ------------------------------------------------------------------------------------------------ a task that is gone

/// A client's connection task that is dropped ends running calls, those that it has not looked at, and all later ones.
#[test]
fn a_client_whose_task_is_dropped_keeps_nobody_waiting() {
    for polled in [true, false] {
        let mut world = World::default();
        let channel = Channel::over(&Hand, Script::new(Take::AtMost(usize::MAX)), &Config::default());
        let first = call(&mut world, &channel);
        if polled {
            world.settle();
            assert_eq!(code(&first), None);
        }
        let waiting = call(&mut world, &channel);
        // Tasks: the first call, the second, and the connection's, which has not been adopted yet where nothing was polled.
        if polled {
            world.kill(1);
        } else {
            hand::SPAWNED.take();
        }
        world.settle();
        let later = call(&mut world, &channel);
        world.settle();
        for (name, outcome) in [("first", first), ("waiting", waiting), ("later", later)] {
            assert_eq!(code(&outcome), Some(Code::Unavailable), "polled {polled}: {name}");
        }
    }
}

/// A connector that never answers.
fn never() -> Connecting<Script> {
    Box::pin(pending())
}

/// A channel that can connect again does so for the next call: its runtime may be another by then.
#[test]
fn a_channel_whose_task_is_dropped_connects_again() {
    let mut world = World::default();
    let second = Script::new(Take::AtMost(usize::MAX));
    let io = second.clone();
    let connector = move || -> Connecting<Script> {
        let io = io.clone();
        Box::pin(async move { Ok(io) })
    };
    let channel = Channel::new(Hand, Script::new(Take::AtMost(usize::MAX)), ChannelOptions::default(), connector);
    world.settle();
    world.kill(0);

    let again = call(&mut world, &channel);
    world.settle();
    let mut octets = Vec::new();
    frame(&mut octets, 4, 0, 0, &[]);
    octets.extend(response(1, b"hello"));
    second.feed(&octets, usize::MAX);
    world.settle();
    assert_eq!(again.lock().unwrap().take().unwrap().unwrap(), "hello");
}

/// Calls that wait for a connection are not forgotten either when the task that connects is dropped.
#[test]
fn a_task_that_is_dropped_while_it_connects_keeps_nobody_waiting() {
    let mut world = World::default();
    let channel = Channel::new(Hand, Script::new(Take::AtMost(usize::MAX)), ChannelOptions::default(), never);
    world.settle();
    world.kill(0);
    let waiting = call(&mut world, &channel);
    world.settle();
    assert_eq!(code(&waiting), None, "it connects");
    // Tasks: the first connection, the call, and the second connection.
    world.kill(2);
    world.settle();
    assert_eq!(code(&waiting), Some(Code::Unavailable));
}

/// Handlers in tasks of their own are told when their connection's task is dropped.
#[test]
fn a_server_task_that_is_dropped_leaves_no_handler() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let task = serve_script(&mut world, false, &io);
    io.feed(&calls(&[b"hang", b"two"]), usize::MAX);
    world.settle();
    assert_eq!(io.with(|state| messages(&state.output)), [(3, b"two".to_vec())]);
    world.kill(task);
    world.settle();
    assert!((0..world.tasks.len()).all(|task| world.is_done(task)), "the handler's task lives on");
}

/// Dropping a server while it drains closes its connections at once, as at any other time.
#[test]
fn a_server_that_is_dropped_while_it_drains_closes_its_connections() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let door = vec![Door(VecDeque::from([Ok(io.clone())]))];
    let acceptor = build::<Spawn<Hand>>(Box::new(Echo));
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let stopped = poll_fn(move |_| if told.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending });
    let serving =
        world.spawn(async move { serve(acceptor, door, std::num::NonZeroUsize::MAX, stopped, Duration::from_secs(3_600)).await.unwrap() });
    io.feed(&calls(&[b"hang"]), usize::MAX);
    world.settle();
    stop.store(true, Ordering::SeqCst);
    world.wake(serving);
    world.pass(Duration::from_secs(1));
    assert!(!world.is_done(serving) && !io.with(|state| state.closed), "the call may take an hour");
    world.kill(serving);
    // The server's last words are written, and it lingers for their sake.
    world.pass(Duration::from_secs(2));
    assert!(io.with(|state| state.closed));
    assert!((0..world.tasks.len()).all(|task| world.is_done(task)), "the connection lives on");
}

/// A response that came whole counts, however far behind its reader is when the server hangs up.
#[test]
fn a_slow_reader_gets_all_that_came_before_the_end() {
    const MESSAGES: usize = 110;
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let channel = Channel::over(&Hand, io.clone(), &Config::default());
    let streaming = channel.server_streaming::<Raw, Raw>("/test.Echo/Many", &"go".into()).into_future();
    let (go, result) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    let (gate, place) = (Arc::clone(&go), Arc::clone(&result));
    let reader = world.spawn(async move {
        let mut streaming = streaming.await.unwrap();
        let mut count = usize::from(streaming.next().await.unwrap().is_some());
        poll_fn(|_| if gate.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }).await;
        let end = loop {
            match streaming.next().await {
                Ok(Some(_)) => count += 1,
                Ok(None) => break Code::Ok,
                Err(status) => break status.code(),
            }
        };
        let trailer = streaming.trailers().and_then(|trailers| trailers.get("last").map(str::to_owned));
        *place.lock().unwrap() = Some((count, end, trailer));
    });
    world.settle();
    let mut octets = Vec::new();
    frame(&mut octets, 4, 0, 0, &[]);
    frame(&mut octets, 1, 4, 1, &fields(&[(":status", "200"), ("content-type", "application/grpc")]));
    // 110 KiB: more than a mailbox holds (64 KiB), less than the stream's first window.
    (0..MESSAGES).for_each(|_| frame(&mut octets, 0, 0, 1, &message(&[7; 1_024])));
    frame(&mut octets, 1, 5, 1, &fields(&[("grpc-status", "0"), ("last", "words")]));
    io.feed(&octets, 9_000);
    world.settle();
    io.end();
    world.settle();
    go.store(true, Ordering::SeqCst);
    world.wake(reader);
    world.settle();
    assert_eq!(result.lock().unwrap().take(), Some((MESSAGES, Code::Ok, Some("words".to_owned()))));
}

// ------------------------------------------------------------------------------------------------ what a mailbox holds

/// Takes messages once it is let, or gives them without end.
#[derive(Clone, Default)]
struct Many {
    let_go: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
}

/// No flood in a test is longer.
const ENOUGH: usize = 200_000;

impl Methods for Many {
    fn methods(&self) -> &'static [Method] {
        const METHODS: &[Method] =
            &[Method::new("/test.Many/Take", Shape::ClientStreaming), Method::new("/test.Many/Give", Shape::ServerStreaming)];
        METHODS
    }
}

impl<R: Runtime> Service<R> for Many {
    fn dispatch(&self, method: usize, call: SpawnCall<'_, R>) {
        let Self { let_go, count } = self.clone();
        match method {
            0 => call.client_streaming::<Raw, Raw, _, _>(|_cx, mut input| async move {
                poll_fn(|_| if let_go.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }).await;
                while input.next().await?.is_some() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                Ok("done".into())
            }),
            _ => call.server_streaming::<Raw, Raw, _, _>(|_cx, _request, mut out| async move {
                while count.load(Ordering::SeqCst) < ENOUGH {
                    out.send(bytes::Bytes::new()).await?;
                    count.fetch_add(1, Ordering::SeqCst);
                }
                Ok(())
            }),
        }
    }
}

/// What WINDOW_UPDATE frames give back to `stream`, RFC 9113 §6.9.
fn credit(mut octets: &[u8], stream: u32) -> u64 {
    let mut sum = 0;
    while octets.len() >= 9 {
        let len = u32::from_be_bytes([0, octets[0], octets[1], octets[2]]) as usize;
        if octets[3] == 8 && octets[5..9] == stream.to_be_bytes() {
            sum += u64::from(u32::from_be_bytes([octets[9], octets[10], octets[11], octets[12]]));
        }
        octets = &octets[9 + len..];
    }
    sum
}

fn serve_many(world: &mut World, many: &Many, io: &Script) {
    let (io, many) = (io.clone(), many.clone());
    world.spawn(async move { build::<Spawn<Hand>>(Box::new(many)).serve_connection(io, Peer::Other("a script".into())).await });
}

/// Messages without octets are not free in the mailbox: flow control holds a peer that sends them to a busy handler.
#[test]
fn empty_messages_for_a_busy_handler_are_held_by_the_window() {
    const MESSAGES: usize = 24_000;
    let mut world = World::default();
    let (many, io) = (Many::default(), Script::new(Take::AtMost(usize::MAX)));
    serve_many(&mut world, &many, &io);
    let mut octets = calls(&[]);
    request_head(&mut octets, 1, "/test.Many/Take");
    // 120,000 octets of five each, within the stream's first window; half of that is given back at the latest once it was taken.
    (0..8).for_each(|_| frame(&mut octets, 0, 0, 1, &message(b"").repeat(MESSAGES / 8)));
    io.feed(&octets, usize::MAX);
    world.settle();
    assert_eq!(io.with(|state| credit(&state.output, 1)), 0, "nobody has taken a message");

    many.let_go.store(true, Ordering::SeqCst);
    (0..world.tasks.len()).for_each(|task| world.wake(task));
    octets.clear();
    frame(&mut octets, 0, 1, 1, b"");
    io.feed(&octets, usize::MAX);
    world.settle();
    assert_eq!(many.count.load(Ordering::SeqCst), MESSAGES);
    assert_eq!(io.with(|state| messages(&state.output)), [(1, b"done".to_vec())]);
}

/// Nor are they free on their way out: a peer whose window is shut holds the handler.
#[test]
fn empty_messages_for_a_deaf_peer_hold_their_sender() {
    let mut world = World::default();
    let (many, io) = (Many::default(), Script::new(Take::AtMost(usize::MAX)));
    serve_many(&mut world, &many, &io);
    let mut octets = calls(&[]);
    // SETTINGS_INITIAL_WINDOW_SIZE 0, RFC 9113 §6.5.2.
    frame(&mut octets, 4, 0, 0, &[0, 4, 0, 0, 0, 0]);
    request_head(&mut octets, 1, "/test.Many/Give");
    frame(&mut octets, 0, 1, 1, &message(b"go"));
    io.feed(&octets, usize::MAX);
    world.settle();
    let sent = many.count.load(Ordering::SeqCst);
    // 64 KiB at 64 octets each before the owner looks, and what the connection's own buffer of 64 KiB takes at five.
    assert!((1_024..20_000).contains(&sent), "{sent} messages are on their way");
}

// ------------------------------------------------------------------------------------------------ fairness

thread_local! {
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// A peer that always has more to say.
struct Torrent;

impl Io for Torrent {
    fn poll_read(&mut self, _cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        READ.set(READ.get() + buffer.len());
        Poll::Ready(Ok(buffer.len()))
    }

    fn poll_write(&mut self, _cx: &mut Context<'_>, octets: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(octets.iter().map(|run| run.len()).sum()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A layer that swallows what comes in: only the driver is under test.
struct Sink(Connection);

impl Endpoint for Sink {
    fn recv_slice(&mut self, _now: Timestamp, _octets: &[u8]) {}

    fn recv_eof(&mut self, now: Timestamp) {
        self.0.recv_eof(now);
    }

    fn read_target(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn filled(&mut self, _now: Timestamp, _n: usize) {}

    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        self.0.transmit(now, budget)
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.0.handle_timeout(now);
    }

    fn wants(&self) -> Wants {
        self.0.wants()
    }

    fn conn(&self) -> &Connection {
        &self.0
    }

    fn conn_mut(&mut self) -> &mut Connection {
        &mut self.0
    }
}

/// A peer that always has more to say does not keep the thread from others: the task comes back for the rest.
#[test]
fn a_torrent_leaves_the_thread_to_others() {
    let acceptor = build::<Spawn<Hand>>(Box::new(Echo));
    let mut serving = pin!(acceptor.serve_layered(Torrent, Peer::Other("a torrent".into()), Sink));
    let mut before = 0;
    for _ in 0..10 {
        assert!(serving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let taken = READ.get() - before;
        assert!((1..=640 << 10).contains(&taken), "{taken} octets in one go");
        before = READ.get();
    }
}
