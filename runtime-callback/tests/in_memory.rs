//! A loop of one's own in its smallest form: a server's session and a client's core that hand each other octets, no socket, no
//! thread but the test's. So every order of events can be had.

use pintle_callback::{
    Client, Command, Engine, Incoming, Mailbox, Method, Place, Receiver, Replies, Request, Service, Services, Session, Stack, Unary, kind,
};
use pintle_core::{Code, Config, Connection, Endpoint, SendError, Shape, Status, bytes::Bytes, codec::Raw};
use pintle_net::{Peer, now};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

const METHODS: [Method; 6] = [
    Method::new("/test.Test/Unary", Shape::Unary),
    Method::new("/test.Test/Many", Shape::ServerStreaming),
    Method::new("/test.Test/Collect", Shape::ClientStreaming),
    Method::new("/test.Test/Both", Shape::Bidi),
    Method::new("/test.Test/Each", Shape::Bidi),
    Method::new("/test.Test/Afterwards", Shape::Bidi),
];

/// What the service was given and has not answered.
#[derive(Default)]
struct Kept {
    calls: Vec<Unary<Bytes, Raw>>,
    streams: Vec<Replies<Bytes, Raw>>,
    told: Vec<&'static str>,
}

/// It is not `Send`, as a service of a loop may be.
struct Test(Rc<RefCell<Kept>>);

impl Service for Test {
    fn methods(&self) -> &'static [Method] {
        &METHODS
    }
    fn call(&mut self, method: usize, call: Incoming) {
        let kept = &self.0;
        match method {
            0 => call.unary::<Raw, Raw>(|request, call| match &request[..] {
                b"now" => call.reply(request),
                b"panic" => panic!("this panic is part of the test"),
                b"drop" => drop(call),
                _ => kept.borrow_mut().calls.push(call),
            }),
            1 => call.server_streaming::<Raw, Raw>(|_, out| kept.borrow_mut().streams.push(out)),
            2 => call.client_streaming::<Raw, Raw>(|call| Box::new(Collect { kept: Rc::clone(kept), call: Some(call), got: Vec::new() })),
            3 => call.bidi::<Raw, Raw>(|out| {
                kept.borrow_mut().streams.push(out);
                Box::new(Both(Rc::clone(kept)))
            }),
            4 => call.bidi::<Raw, Raw>(|out| {
                let kept = Rc::clone(kept);
                out.answer_each(move |message: Bytes, replies| {
                    kept.borrow_mut().told.push("message");
                    match &message[..] {
                        b"none" => {}
                        b"fail" => return Err(Status::aborted("as it was asked to")),
                        b"too large" => replies.push(vec![0; 2 << 20].into()),
                        _ => replies.extend([message.clone(), message]),
                    }
                    Ok(())
                })
            }),
            5 => call.bidi::<Raw, Raw>(|out| Box::new(Afterwards { kept: Rc::clone(kept), out: Some(out) })),
            _ => call.unimplemented(),
        }
    }
}

/// Replies when the client has said all, as fast as it takes.
struct Afterwards {
    kept: Rc<RefCell<Kept>>,
    out: Option<Replies<Bytes, Raw>>,
}

impl Receiver<Bytes> for Afterwards {
    fn on_message(&mut self, _: Bytes) {
        self.kept.borrow_mut().told.push("message");
    }
    fn on_end(&mut self) {
        let mut left = 100;
        let out = self.out.take().expect("one end");
        out.produce(move |out| {
            while left > 0 && out.send(vec![left; 20_000].into()).is_ok() {
                left -= 1;
            }
            if left == 0 {
                out.finish(Status::ok());
            }
        });
    }
}

struct Collect {
    kept: Rc<RefCell<Kept>>,
    call: Option<Unary<Bytes, Raw>>,
    got: Vec<u8>,
}

impl Receiver<Bytes> for Collect {
    fn on_message(&mut self, message: Bytes) {
        if let (b"pause", Some(call)) = (&message[..], &self.call) {
            call.pause();
        }
        self.got.extend_from_slice(&message);
        self.kept.borrow_mut().told.push("message");
    }
    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(self.got.clone().into());
        }
    }
    fn on_cancel(&mut self, code: Code) {
        self.kept.borrow_mut().told.push(code.name());
    }
}
impl Drop for Collect {
    fn drop(&mut self) {
        self.kept.borrow_mut().told.push("dropped");
    }
}

/// Its replies are kept; it finishes them when the client has sent its last message.
struct Both(Rc<RefCell<Kept>>);

impl Receiver<Bytes> for Both {
    fn on_message(&mut self, _: Bytes) {
        panic!("this panic is part of the test");
    }
    fn on_end(&mut self) {
        let out = self.0.borrow_mut().streams.pop();
        out.expect("nobody has it now").finish(Status::ok());
    }
}
impl Drop for Both {
    fn drop(&mut self) {
        self.0.borrow_mut().told.push("dropped");
    }
}

/// Both ends.
struct World {
    services: Services,
    session: Option<Box<Session>>,
    mailbox: Arc<Mailbox<Command>>,
    wakes: Arc<AtomicUsize>,
    kept: Rc<RefCell<Kept>>,
    core: Connection,
    engine: Engine,
}

impl World {
    fn new() -> (Self, Client) {
        let kept = Rc::new(RefCell::new(Kept::default()));
        let services = Services::new(vec![Box::new(Test(Rc::clone(&kept)))], None).unwrap();
        let wakes = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&wakes);
        let mailbox = Arc::new(Mailbox::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        let mut config = Config::default();
        config.max_send_message = 1 << 20;
        let core = Connection::server(&config, services.routes().clone(), now());
        let place = Arc::new(Place { mailbox: Arc::clone(&mailbox), key: 1, peer: Peer::Other("memory".into()) });
        let session = Some(Box::new(Session::new(Stack::Plain(core), place)));
        let (client, engine) = Client::new(|| ());
        (Self { services, session, mailbox, wakes, kept, core: Connection::client(&Config::default(), now()), engine }, client)
    }

    /// A turn of the server's loop, in which `happens` happens to the connection.
    fn serve<R>(&mut self, happens: impl FnOnce(&mut Session) -> R) -> R {
        let mut session = self.session.take().expect("it is always put back");
        let mut commands = Vec::new();
        self.mailbox.swap(&mut commands);
        for command in commands {
            if let Command::Call { key: 1, order } = command {
                session = self.services.execute(session, order);
            }
        }
        let result = happens(&mut session);
        self.session = Some(self.services.dispatch(session));
        result
    }

    /// Until nothing moves.
    fn settle(&mut self) {
        loop {
            self.engine.execute(&mut self.core, now());
            self.engine.dispatch(&mut self.core);
            let mut core = std::mem::replace(&mut self.core, Connection::client(&Config::default(), now()));
            self.serve(|_| ());
            let moved = self.serve(|session| carry(&mut core, &mut session.endpoint) + carry(&mut session.endpoint, &mut core));
            self.core = core;
            if moved == 0 {
                return;
            }
        }
    }

    fn unary(&mut self, client: &Client, request: &'static [u8]) -> mpsc::Receiver<Result<Bytes, Status>> {
        type Call<'c> = Request<'c, Client, Raw, Raw, kind::Unary>;
        let (tell, told) = mpsc::channel();
        let call = Call::unary(client, METHODS[0].path, Bytes::from_static(request));
        call.on_done(move |result| drop(tell.send(result)));
        self.settle();
        told
    }
}

fn carry(from: &mut impl Endpoint, to: &mut impl Endpoint) -> usize {
    let mut out = from.transmit(now(), 64 << 10);
    let mut octets = vec![0; out.len()];
    let moved = out.copy_to(&mut octets);
    to.recv_slice(now(), &octets);
    moved
}

#[test]
fn an_answer_in_the_callback_needs_no_mailbox() {
    let (mut world, client) = World::new();
    for _ in 0..3 {
        let told = world.unary(&client, b"now");
        assert_eq!(told.try_recv().unwrap().unwrap(), "now");
    }
    assert_eq!(world.wakes.load(Ordering::Relaxed), 0);
}

#[test]
fn answers_from_elsewhere_wake_the_loop_once() {
    let (mut world, client) = World::new();
    let told = [world.unary(&client, b"a"), world.unary(&client, b"b")];
    let calls = std::mem::take(&mut world.kept.borrow_mut().calls);
    std::thread::spawn(move || calls.into_iter().for_each(|call| call.reply("late".into()))).join().unwrap();
    assert!(told.iter().all(|told| told.try_recv().is_err()), "the loop has not turned yet");
    assert_eq!(world.wakes.load(Ordering::Relaxed), 1, "only the first finds the mailbox empty");
    world.settle();
    assert!(told.iter().all(|told| told.try_recv().unwrap().unwrap() == "late"));
}

#[test]
fn unanswered_calls_end_with_a_status_that_says_why() {
    let (mut world, client) = World::new();
    for (request, code) in [(&b"panic"[..], Code::Unknown), (b"drop", Code::Internal)] {
        let status = world.unary(&client, request).try_recv().unwrap().unwrap_err();
        assert_eq!(status.code(), code, "{status}");
    }
    assert_eq!(world.unary(&client, b"now").try_recv().unwrap().unwrap(), "now");
}

#[test]
fn a_thread_that_sends_too_fast_is_told_and_one_that_waits_is_held() {
    let (mut world, client) = World::new();
    let call = Request::<_, Raw, Raw, kind::ServerStreaming>::server_streaming(&client, METHODS[1].path, Bytes::new());
    let replies = call.open().unwrap();
    world.settle();
    let mut out = world.kept.borrow_mut().streams.pop().unwrap();
    let message = Bytes::from(vec![7; 40 << 10]);
    // One message is always taken on its way to the loop; the second of this size is not.
    assert_eq!(out.send(message.clone()), Ok(()));
    assert_eq!(out.send(message.clone()), Err(SendError::Blocked(message.clone())));
    world.settle();
    assert_eq!(out.send(message.clone()), Ok(()), "the loop has taken the first");
    let waiting = std::thread::spawn(move || {
        while out.send_wait(message.clone()).is_ok() {}
        out.wait_ready()
    });
    // Nobody takes the replies: the thread is held, until the call is cancelled.
    world.settle();
    assert!(!waiting.is_finished());
    drop(replies);
    while !waiting.is_finished() {
        world.settle();
        std::thread::yield_now();
    }
    assert!(!waiting.join().unwrap(), "the call has ended");
}

#[test]
fn a_paused_receiver_gets_nothing_more_and_is_told_of_the_end() {
    let (mut world, client) = World::new();
    let call = Request::<_, Raw, Raw, kind::ClientStreaming>::client_streaming(&client, METHODS[2].path);
    let mut upload = call.open().unwrap();
    upload.send("pause".into()).unwrap();
    upload.send("more".into()).unwrap();
    world.settle();
    assert_eq!(world.kept.borrow().told, ["message"]);
    drop(upload);
    world.settle();
    assert_eq!(world.kept.borrow().told, ["message", "CANCELLED", "dropped"]);
}

#[test]
fn waiting_where_callbacks_run_fails_instead_of_hanging() {
    let (mut world, client) = World::new();
    let call = Request::<_, Raw, Raw, kind::Unary>::unary(&client, METHODS[0].path, Bytes::from_static(b"now"));
    assert_eq!(call.wait().unwrap_err().code(), Code::Internal, "the engine was made on this thread");
    world.settle();
}

#[test]
fn the_end_of_the_connection_ends_every_call() {
    let (mut world, client) = World::new();
    let told = world.unary(&client, b"kept");
    world.core.recv_eof(now());
    world.engine.dispatch(&mut world.core);
    world.engine.end(&mut world.core);
    assert_eq!(told.try_recv().unwrap().unwrap_err().code(), Code::Unavailable);
    assert!(!client.is_connected());
    let (tell, told) = mpsc::channel();
    let late = Request::<_, Raw, Raw, kind::Unary>::unary(&client, METHODS[0].path, Bytes::from_static(b"now"));
    late.on_done(move |result| drop(tell.send(result)));
    assert_eq!(told.try_recv().unwrap().unwrap_err().code(), Code::Unavailable);
}

#[test]
fn only_who_speaks_grpc_is_worth_connecting_to_again() {
    for (octets, again) in [(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], false), (b"", true)] {
        let (mut world, client) = World::new();
        let told = world.unary(&client, b"kept");
        // The server's preface has come already: a core that has seen nothing yet.
        world.core = Connection::client(&Config::default(), now());
        world.core.recv_slice(now(), octets);
        world.core.recv_eof(now());
        world.engine.dispatch(&mut world.core);
        world.engine.end(&mut world.core);
        let status = told.try_recv().unwrap().unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert_eq!(status.message().contains("connect again"), again, "{status}");
    }
}

#[test]
fn a_kept_handle_is_told_when_its_client_goes() {
    let (mut world, client) = World::new();
    let _told = world.unary(&client, b"kept");
    let call = world.kept.borrow_mut().calls.pop().unwrap();
    let (tell, cancelled) = mpsc::channel();
    let early = tell.clone();
    call.on_cancel(move |code| early.send(("early", code)).unwrap());
    world.serve(|session| session.endpoint.recv_eof(now()));
    assert_eq!(cancelled.try_recv(), Ok(("early", Code::Cancelled)));
    // Asked after the fact, it is told at once.
    call.on_cancel(move |code| tell.send(("late", code)).unwrap());
    world.serve(|_| ());
    assert_eq!(cancelled.try_recv(), Ok(("late", Code::Cancelled)));
    assert!(!world.session.as_deref_mut().unwrap().core().is_idle(), "the handle still holds the call");
    call.reply("too late".into());
    world.serve(|_| ());
    assert!(world.session.as_deref_mut().unwrap().core().is_idle(), "and lets go of it");
}

#[test]
fn a_late_message_does_not_touch_the_call_that_has_its_slot_now() {
    let (mut world, client) = World::new();
    let call = Request::<_, Raw, Raw, kind::Bidi>::bidi(&client, METHODS[3].path);
    let (mut requests, mut replies) = call.open().unwrap();
    world.settle();
    let mut out = world.kept.borrow_mut().streams.pop().unwrap();
    // The session ends the call itself: `out` does not know.
    requests.send("panic".into()).unwrap();
    world.settle();
    assert_eq!(replies.try_next().unwrap_err().code(), Code::Unknown);
    let mut upload = Request::<_, Raw, Raw, kind::ClientStreaming>::client_streaming(&client, METHODS[2].path).open().unwrap();
    world.settle();
    let mut out = std::thread::spawn(move || {
        out.send("late".into()).unwrap();
        out
    })
    .join()
    .unwrap();
    world.settle();
    assert_eq!(out.send("later".into()), Err(SendError::Ended("later".into())));
    upload.send("mine".into()).unwrap();
    let finishing = std::thread::spawn(move || upload.finish());
    while !finishing.is_finished() {
        world.settle();
        std::thread::yield_now();
    }
    assert_eq!(finishing.join().unwrap().unwrap(), "mine");
}

#[test]
fn a_callback_that_finishes_does_not_overtake_other_threads() {
    let (mut world, client) = World::new();
    let (requests, mut replies) = Request::<_, Raw, Raw, kind::Bidi>::bidi(&client, METHODS[3].path).open().unwrap();
    world.settle();
    requests.close();
    world.engine.execute(&mut world.core, now());
    let mut out = world.kept.borrow_mut().streams.pop().unwrap();
    let kept = Rc::clone(&world.kept);
    let mut core = std::mem::replace(&mut world.core, Connection::client(&Config::default(), now()));
    // The thread's messages and the client's end come in the same turn: the end is told first.
    world.serve(|session| {
        carry(&mut core, &mut session.endpoint);
        let sent = std::thread::spawn(move || {
            (0..10_u8).for_each(|n| out.send(vec![n].into()).unwrap());
            out
        });
        kept.borrow_mut().streams.push(sent.join().unwrap());
    });
    world.core = core;
    assert!(world.kept.borrow().streams.is_empty(), "it has finished");
    world.settle();
    for n in 0..10 {
        assert_eq!(replies.try_next().unwrap(), Some(Some(vec![n].into())));
    }
    assert_eq!(replies.try_next().unwrap(), Some(None));
    assert_eq!(world.kept.borrow().told, ["dropped"]);
}

#[test]
fn each_message_is_answered_in_order_and_the_call_ends_after_them() {
    let (mut world, client) = World::new();
    let each = || Request::<_, Raw, Raw, kind::Bidi>::bidi(&client, METHODS[4].path).open().unwrap();
    let (mut requests, mut replies) = each();
    for request in ["a", "none", "b"] {
        requests.send(request.into()).unwrap();
    }
    world.settle();
    for reply in ["a", "a", "b", "b"] {
        assert_eq!(replies.try_next().unwrap(), Some(Some(reply.into())));
    }
    assert_eq!(replies.try_next().unwrap(), None, "the client has not ended it");
    requests.close();
    world.settle();
    assert_eq!(replies.try_next().unwrap(), Some(None));

    for (request, code) in [("fail", Code::Aborted), ("too large", Code::Internal)] {
        let (mut requests, mut replies) = each();
        requests.send("a".into()).unwrap();
        requests.send(request.into()).unwrap();
        world.settle();
        assert_eq!(replies.try_next().unwrap(), Some(Some("a".into())));
        assert_eq!(replies.try_next().unwrap(), Some(Some("a".into())));
        assert_eq!(replies.try_next().unwrap_err().code(), code);
    }
    assert!(world.session.as_deref_mut().unwrap().core().is_idle());
}

/// Its receiver stands aside for the producer, which goes on when there is room.
#[test]
fn a_receiver_may_hand_over_to_a_producer() {
    let (mut world, client) = World::new();
    let (mut requests, mut replies) = Request::<_, Raw, Raw, kind::Bidi>::bidi(&client, METHODS[5].path).open().unwrap();
    requests.send("a".into()).unwrap();
    requests.send("b".into()).unwrap();
    requests.close();
    for number in (1..=100_u8).rev() {
        let mut next = replies.try_next().unwrap();
        for _ in 0..100 {
            if next.is_none() {
                world.settle();
                next = replies.try_next().unwrap();
            }
        }
        assert_eq!(next.expect("it does not stop").expect("there are more")[0], number);
    }
    world.settle();
    assert_eq!(replies.try_next().unwrap(), Some(None));
    assert_eq!(world.kept.borrow().told, ["message", "message"]);
    assert!(world.session.as_deref_mut().unwrap().core().is_idle());
}

#[test]
fn who_does_not_read_its_answers_has_no_more_messages_answered() {
    let (mut world, client) = World::new();
    let (mut requests, mut replies) = Request::<_, Raw, Raw, kind::Bidi>::bidi(&client, METHODS[4].path).open().unwrap();
    let mut sent = 0_usize;
    // Until the client itself is held back; 10 MB are more than all that lies between.
    while sent < 1_000 {
        let message = Bytes::from(vec![u8::try_from(sent % 251).unwrap(); 10_000]);
        if requests.try_send(message).is_ok() {
            sent += 1;
        } else {
            let before = world.kept.borrow().told.len();
            world.settle();
            if world.kept.borrow().told.len() == before {
                break;
            }
        }
        world.settle();
    }
    let answered = world.kept.borrow().told.len();
    assert!(answered < sent, "{answered} of {sent} messages were taken though no answer is read");
    requests.close();
    // Now it reads: all come, in order, then the end.
    for number in 0..2 * sent {
        let mut next = replies.try_next().unwrap();
        for _ in 0..100 {
            if next.is_none() {
                world.settle();
                next = replies.try_next().unwrap();
            }
        }
        let reply = next.expect("it does not stop").expect("there are more");
        assert_eq!((reply.len(), usize::from(reply[0])), (10_000, number / 2 % 251));
    }
    world.settle();
    assert_eq!(replies.try_next().unwrap(), Some(None));
    assert_eq!(world.kept.borrow().told.len(), sent);
}

#[test]
fn what_came_before_the_end_of_the_connection_is_not_lost() {
    let (mut world, client) = World::new();
    let many = || Request::<_, Raw, Raw, kind::ServerStreaming>::server_streaming(&client, METHODS[1].path, Bytes::new()).open().unwrap();
    let (mut whole, mut half) = (many(), many());
    world.settle();
    let mut outs = std::mem::take(&mut world.kept.borrow_mut().streams);
    // More than the client takes before it is asked for.
    for out in &mut outs {
        for n in 0..100_u8 {
            out.send(vec![n; 1 << 10].into()).unwrap();
            world.settle();
        }
    }
    outs[0].finish(Status::ok());
    world.settle();
    world.core.recv_eof(now());
    world.engine.dispatch(&mut world.core);
    world.engine.end(&mut world.core);
    for messages in [&mut whole, &mut half] {
        for n in 0..100_u8 {
            assert_eq!(messages.try_next().unwrap(), Some(Some(vec![n; 1 << 10].into())));
        }
    }
    assert_eq!(whole.try_next().unwrap(), Some(None), "its status came too");
    assert_eq!(half.try_next().unwrap_err().code(), Code::Unavailable);
}

#[test]
fn a_loop_that_is_gone_ends_calls_that_wait_to_be_started() {
    let (world, client) = World::new();
    let (tell, told) = mpsc::channel();
    let start = |tell: mpsc::Sender<Result<Bytes, Status>>| {
        let call = Request::<_, Raw, Raw, kind::Unary>::unary(&client, METHODS[0].path, Bytes::from_static(b"now"));
        call.on_done(move |result| drop(tell.send(result)));
    };
    start(tell.clone());
    // As in a panic: without a word.
    drop(world);
    start(tell);
    for _ in 0..2 {
        assert_eq!(told.try_recv().expect("it has ended").unwrap_err().code(), Code::Unavailable);
    }
    assert!(!client.is_connected());
}

#[test]
fn empty_messages_are_not_free() {
    let (mut world, client) = World::new();
    let _replies = Request::<_, Raw, Raw, kind::ServerStreaming>::server_streaming(&client, METHODS[1].path, Bytes::new()).open().unwrap();
    world.settle();
    let mut out = world.kept.borrow_mut().streams.pop().unwrap();
    let sent = (0..10_000).take_while(|_| out.send(Bytes::new()).is_ok()).count();
    // 64 KiB in all, and what each occupies is some tens of octets.
    assert!((1..=2_048).contains(&sent), "{sent}");
}
