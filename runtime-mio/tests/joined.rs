//! Client and services in one process, without a socket: with a thread for the services, and without any.

use bytes::Bytes;
use pintle_mio::{
    Caller, Client, Code, Incoming, LocalInProcess, Metadata, Method, Receiver, Request, Server, Service, Shape, ShutdownHandle, Status,
    Unary, codec::Raw, kind,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

const METHODS: [Method; 4] = [
    Method::new("/test.Test/Unary", Shape::Unary),
    Method::new("/test.Test/Many", Shape::ServerStreaming),
    Method::new("/test.Test/Collect", Shape::ClientStreaming),
    Method::new("/test.Test/Both", Shape::Bidi),
];

type Echo<'c, C> = Request<'c, C, Raw, Raw, kind::Unary>;
type Many<'c, C> = Request<'c, C, Raw, Raw, kind::ServerStreaming>;
type Collect<'c, C> = Request<'c, C, Raw, Raw, kind::ClientStreaming>;
type Both<'c, C> = Request<'c, C, Raw, Raw, kind::Bidi>;

/// What the handlers tell the test.
#[derive(Clone)]
struct Test {
    told: mpsc::Sender<Code>,
    /// Replies that `Many` has sent.
    sent: Arc<AtomicUsize>,
    /// Calls that nobody answers.
    kept: mpsc::Sender<Unary<Bytes, Raw>>,
}

const REPLY: usize = 30_000;

impl Service for Test {
    fn methods(&self) -> &'static [Method] {
        &METHODS
    }

    fn call(&mut self, method: usize, call: Incoming) {
        let Self { told, sent, kept } = self.clone();
        match method {
            0 => call.unary::<Raw, Raw>(|request, call| match &request[..] {
                b"elsewhere" => drop(thread::spawn(move || call.reply(request))),
                b"never" => {
                    call.on_cancel(move |code| told.send(code).unwrap_or_default());
                    kept.send(call).expect("the test lives");
                }
                b"peer" => {
                    let peer = call.peer().to_string();
                    call.reply(peer.into());
                }
                _ => call.reply(request),
            }),
            1 => call.server_streaming::<Raw, Raw>(|count, out| {
                let count: usize = std::str::from_utf8(&count).expect("digits").parse().expect("a number");
                let mut left = count;
                out.produce(move |out| {
                    while left > 0 && out.send(vec![left as u8; REPLY].into()).is_ok() {
                        left -= 1;
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                    if left == 0 {
                        out.finish(Status::ok());
                    }
                });
            }),
            2 => call.client_streaming::<Raw, Raw>(|call| Box::new(Sum { call: Some(call), octets: 0 })),
            _ => call.bidi::<Raw, Raw>(|out| {
                out.answer_each(|message: Bytes, replies| {
                    replies.push(message);
                    Ok(())
                })
            }),
        }
    }
}

struct Sum {
    call: Option<Unary<Bytes, Raw>>,
    octets: usize,
}

impl Receiver<Bytes> for Sum {
    fn on_message(&mut self, message: Bytes) {
        self.octets += message.len();
    }
    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(self.octets.to_string().into());
        }
    }
}

struct World {
    told: mpsc::Receiver<Code>,
    kept: mpsc::Receiver<Unary<Bytes, Raw>>,
    sent: Arc<AtomicUsize>,
}

fn test() -> (Test, World) {
    let ((tell, told), (keep, kept)) = (mpsc::channel(), mpsc::channel());
    let sent = Arc::new(AtomicUsize::new(0));
    (Test { told: tell, sent: Arc::clone(&sent), kept: keep }, World { told, kept, sent })
}

fn server(test: Test) -> Server {
    Server::new().add(move || test.clone())
}

fn local() -> (LocalInProcess, ShutdownHandle, World) {
    let (test, world) = test();
    let server = server(test);
    let stop = server.shutdown_handle();
    (server.in_process_local().expect("it fits"), stop, world)
}

fn threaded() -> (Client, ShutdownHandle, World) {
    let (test, world) = test();
    let server = server(test);
    let stop = server.shutdown_handle();
    (server.in_process().expect("it starts"), stop, world)
}

fn unary<C: Caller>(client: &C, request: &'static [u8]) -> Result<Bytes, Status> {
    Echo::unary(client, METHODS[0].path, Bytes::from_static(request)).wait()
}

fn all_shapes<C: Caller>(client: &C) {
    assert_eq!(unary(client, b"hello").unwrap(), "hello");
    assert_eq!(unary(client, b"elsewhere").unwrap(), "elsewhere");
    assert_eq!(unary(client, b"peer").unwrap(), "in-process");
    let mut replies = Many::server_streaming(client, METHODS[1].path, Bytes::from_static(b"40")).open().unwrap();
    for left in (1..=40_u8).rev() {
        assert_eq!(replies.next().unwrap().unwrap()[..], [left; REPLY]);
    }
    assert!(replies.next().unwrap().is_none());
    let mut upload = Collect::client_streaming(client, METHODS[2].path).open().unwrap();
    for _ in 0..50 {
        upload.send(vec![1; 10_001].into()).unwrap();
    }
    assert_eq!(upload.finish().unwrap(), "500050");
    let (mut requests, mut replies) = Both::bidi(client, METHODS[3].path).open().unwrap();
    for n in 0..20_u8 {
        requests.send(vec![n; 1_000].into()).unwrap();
        assert_eq!(replies.next().unwrap().unwrap()[..], [n; 1_000]);
    }
    requests.close();
    assert!(replies.next().unwrap().is_none());
}

#[test]
fn four_shapes() {
    all_shapes(&local().0);
    all_shapes(&threaded().0);
}

/// Larger than any window.
#[test]
fn a_message_of_three_megabytes() {
    let octets: Bytes = (0..3_000_000_u32).map(|n| (n * 7) as u8).collect();
    let echo = |reply: Result<Bytes, Status>| assert!(reply.unwrap() == octets);
    echo(Echo::unary(&local().0, METHODS[0].path, octets.clone()).wait());
    echo(Echo::unary(&threaded().0, METHODS[0].path, octets.clone()).wait());
}

/// Who does not read holds back the sender, not memory, and no other call.
#[test]
fn a_slow_reader_holds_the_sender() {
    fn run<C: Caller>(client: &C, world: &World) {
        let mut replies = Many::server_streaming(client, METHODS[1].path, Bytes::from_static(b"200")).open().unwrap();
        replies.headers();
        assert_eq!(unary(client, b"another").unwrap(), "another");
        let ahead = world.sent.load(Ordering::SeqCst);
        // The stream's window, the client's prefetch and the send buffer: far from six megabytes.
        assert!((1..40).contains(&ahead), "{ahead} replies were sent to a client that reads none");
        let mut got = 0;
        while replies.next().unwrap().is_some() {
            got += 1;
        }
        assert_eq!(got, 200);
    }
    let (client, _, world) = local();
    run(&client, &world);
    let (client, _, world) = threaded();
    run(&client, &world);
}

#[test]
fn deadlines_pass_on_both_sides() {
    fn run<C: Caller>(client: &C, world: &World) {
        // Until a deadline leaves the call the time to arrive: how much that takes is the machine's affair.
        let kept = [20, 200, 2_000, 20_000].into_iter().find_map(|after| {
            let call = Echo::unary(client, METHODS[0].path, Bytes::from_static(b"never")).deadline(Duration::from_millis(after));
            assert_eq!(call.wait().unwrap_err().code(), Code::DeadlineExceeded);
            // A local client's services run only while somebody waits.
            assert_eq!(unary(client, b"another").unwrap(), "another");
            world.kept.try_recv().ok()
        });
        let kept = kept.expect("it arrives within seconds");
        assert!(matches!(world.told.recv().unwrap(), Code::DeadlineExceeded | Code::Cancelled));
        kept.reply("too late".into());
        assert_eq!(unary(client, b"another").unwrap(), "another");
    }
    let (client, _, world) = local();
    run(&client, &world);
    let (client, _, world) = threaded();
    run(&client, &world);
}

#[test]
fn a_call_that_is_dropped_reaches_the_handler() {
    fn run<C: Caller>(client: &C, world: &World) {
        let replies = Many::server_streaming(client, METHODS[1].path, Bytes::from_static(b"100000")).open().unwrap();
        assert_eq!(unary(client, b"another").unwrap(), "another");
        drop(replies);
        assert_eq!(unary(client, b"another").unwrap(), "another");
        let sent = world.sent.load(Ordering::SeqCst);
        assert_eq!(unary(client, b"another").unwrap(), "another");
        assert_eq!(sent, world.sent.load(Ordering::SeqCst), "it is sent on after the call was dropped");
    }
    let (client, _, world) = local();
    run(&client, &world);
    let (client, _, world) = threaded();
    run(&client, &world);
}

#[test]
fn a_client_that_is_dropped_reaches_the_handler() {
    let (client, _, world) = local();
    let call = Many::server_streaming(&client, METHODS[1].path, Bytes::from_static(b"3")).open().unwrap();
    // Not waited for: the last clone goes with the call still open.
    let unanswered = Both::bidi(&client, METHODS[3].path).open().unwrap();
    client.poll(Duration::ZERO);
    drop((call, unanswered));
    let never = pintle_callback::Head { path: METHODS[0].path, shape: Shape::Unary, metadata: Metadata::new(), deadline: None };
    let started = client.start::<Raw>(never, Some(&Bytes::from_static(b"never"))).unwrap();
    client.poll(Duration::ZERO);
    let kept = world.kept.recv().unwrap();
    drop((client, started));
    assert_eq!(world.told.recv().unwrap(), Code::Cancelled);
    kept.reply("nobody hears it".into());
}

/// A shutdown lets running calls end within its grace, and ends them with a status then. Later calls are told so.
#[test]
fn a_server_that_shuts_down_ends_the_calls() {
    let (client, stop, world) = threaded();
    let (tell, told) = mpsc::channel();
    Echo::unary(&client, METHODS[0].path, Bytes::from_static(b"never")).on_done(move |result| drop(tell.send(result)));
    let kept = world.kept.recv().unwrap();
    stop.shutdown(Duration::from_millis(30));
    let status = told.recv().unwrap().unwrap_err();
    assert!(matches!(status.code(), Code::Unavailable | Code::Cancelled), "{status}");
    assert!(!status.message().is_empty());
    drop(kept);
    while client.is_connected() {
        thread::yield_now();
    }
    let refused = unary(&client, b"late").unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");

    let (client, stop, _) = local();
    assert_eq!(unary(&client, b"hello").unwrap(), "hello");
    stop.shutdown(Duration::from_millis(30));
    while client.poll(Duration::from_millis(1)) {}
    let refused = unary(&client, b"late").unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
}

#[test]
fn what_cannot_be_joined_says_why() {
    let (first, second) = (test().0, test().0);
    let error = server(first).add(move || second.clone()).in_process().unwrap_err();
    assert!(error.to_string().contains("is there twice"), "{error}");
    let error = server(test().0).configure(|config| config.recv_budget = 1).in_process().unwrap_err();
    assert!(error.to_string().contains("recv_budget"), "{error}");
}
