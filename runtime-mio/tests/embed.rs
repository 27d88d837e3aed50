//! Servers and clients inside somebody else's loop: one `mio::Poll` and one thread for everything that happens here.

mod common;

use common::{
    Greeter, HelloReply, LATE, LONG, Note, Told, bounded,
    glue::{GreeterClient, GreeterServer},
    request,
    scenarios::four_shapes,
};
use mio::{Events, Poll, Token, Waker};
use pintle_mio::{Code, Connect, EmbeddedClient, EmbeddedServer, SendError, ServeError, Server, Status};
use std::{
    io,
    ops::RangeBounds,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// A loop of one's own.
struct World {
    poll: Poll,
    events: Events,
    servers: Vec<EmbeddedServer>,
    clients: Vec<EmbeddedClient>,
    /// Events that nobody here took.
    others: Vec<Token>,
    told: mpsc::Receiver<Told>,
    tell: mpsc::Sender<Told>,
}

impl World {
    fn new() -> Self {
        let (tell, told) = mpsc::channel();
        let (poll, events) = (Poll::new().unwrap(), Events::with_capacity(16));
        Self { poll, events, servers: vec![], clients: vec![], others: vec![], told, tell }
    }

    fn try_serve(&mut self, tokens: impl RangeBounds<usize>) -> Result<String, ServeError> {
        let tell = self.tell.clone();
        let server = Server::new().add(move || GreeterServer::new(Greeter::new(tell.clone()))).listen("127.0.0.1:0")?;
        let server = server.embed(self.poll.registry(), tokens)?;
        let address = server.local_addresses()[0].to_string();
        self.servers.push(server);
        Ok(address)
    }

    fn serve(&mut self, tokens: impl RangeBounds<usize>) -> String {
        self.try_serve(tokens).unwrap()
    }

    fn connect(&mut self, address: &str, tokens: impl RangeBounds<usize>) -> GreeterClient {
        let (client, embedded) = Connect::new().embed(address, self.poll.registry(), tokens).unwrap();
        self.clients.push(embedded);
        GreeterClient::new(client)
    }

    /// One round of the loop. It sleeps as long as its guests allow, and `most` at most.
    fn turn(&mut self, most: Duration) {
        let guests = self.servers.iter_mut().filter_map(EmbeddedServer::timeout);
        let wait = guests.chain(self.clients.iter().filter_map(EmbeddedClient::timeout)).chain([most]).min();
        match self.poll.poll(&mut self.events, wait) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.events.clear(),
            polled => polled.unwrap(),
        }
        for event in &self.events {
            let taken = self.servers.iter_mut().filter_map(|server| server.handle(event).then_some(())).count()
                + self.clients.iter_mut().filter_map(|client| client.handle(event).then_some(())).count();
            assert!(taken <= 1, "{event:?} was taken by {taken}");
            if taken == 0 {
                self.others.push(event.token());
            }
        }
        self.servers.iter_mut().for_each(EmbeddedServer::turn);
        self.clients.iter_mut().for_each(EmbeddedClient::turn);
    }

    /// Turns until `done` has something.
    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(result) = done(self) {
                return result;
            }
            assert!(begin.elapsed() < LONG, "no end: {what}");
            self.turn(Duration::from_secs(1));
        }
    }

    /// A unary call, to its end.
    fn unary(&mut self, client: &GreeterClient, name: &str, deadline: Duration) -> Result<String, Status> {
        let (done, ended) = mpsc::channel();
        client.say_hello(request(name)).deadline(deadline).on_done(move |reply| done.send(reply).unwrap());
        self.until(name, |_| ended.try_recv().ok()).map(|reply: HelloReply| reply.message)
    }
}

#[test]
fn four_shapes_without_ever_waiting() {
    let mut world = World::new();
    let address = world.serve(100..);
    let client = world.connect(&address, 10..12);
    assert_eq!(world.unary(&client, "you", LONG).unwrap(), "hello you");
    assert_eq!(world.unary(&client, "fail", LONG).unwrap_err().code(), Code::NotFound);

    let mut wish = request("produce");
    (wish.count, wish.blob) = (20, vec![1; 100_000].into());
    let mut replies = client.lots_of_replies(wish).open().unwrap();
    let mut octets = 0;
    world.until("replies", |_| {
        loop {
            match replies.try_next().unwrap() {
                Some(Some(reply)) => octets += reply.blob.len(),
                Some(None) => return Some(()),
                None => return None,
            }
        }
    });
    assert_eq!(octets, 2_000_000);

    let mut upload = client.lots_of_greetings().open().unwrap();
    let mut left = 50;
    let mut blocked = 0;
    world.until("requests", |_| {
        while left > 0 {
            let mut greeting = request("x");
            greeting.blob = vec![2; 30_000].into();
            match upload.try_send(greeting) {
                Ok(()) => left -= 1,
                Err(SendError::Blocked(_)) => {
                    blocked += 1;
                    return None;
                }
                Err(e) => panic!("{e}"),
            }
        }
        Some(())
    });
    assert!(blocked > 0, "a message more than fits is given back");
    let reply = world.until("the reply", |_| upload.try_finish()).unwrap();
    assert!(reply.message.ends_with("and 1500000 octets"), "{}", reply.message);

    let (mut out, mut input) = client.chat().open().unwrap();
    for number in 0..10 {
        out.try_send(Note { number, blob: vec![3; 1_000].into() }).unwrap();
        let note = world.until("a note", |_| input.try_next().unwrap().flatten());
        assert_eq!((note.number, note.blob.len()), (number, 1_000));
    }
    out.close();
    world.until("the end", |_| input.try_next().unwrap().map(|next| assert!(next.is_none())));
    assert_eq!(world.others, []);
}

#[test]
fn blocking_clients_elsewhere_and_answers_from_other_threads() {
    let mut world = World::new();
    let address = world.serve(..);
    let (done, ended) = mpsc::channel();
    for _ in 0..3 {
        let (address, done) = (address.clone(), done.clone());
        thread::spawn(move || {
            let client = GreeterClient::connect(&address).unwrap();
            four_shapes(&client);
            // Answered by a thread of the service, while nothing else happens: the loop must be woken.
            assert_eq!(client.say_hello(request("later")).wait().unwrap().message, "hello later");
            done.send(()).unwrap();
        });
    }
    let mut left = 3;
    world.until("the clients", |_| {
        left -= ended.try_iter().count();
        (left == 0).then_some(())
    });
}

#[test]
fn other_threads_call_through_an_embedded_client() {
    let mut world = World::new();
    let address = world.serve(100..);
    let client = world.connect(&address, ..2);
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        four_shapes(&client);
        done.send(()).unwrap();
    });
    world.until("the thread", |_| ended.try_recv().ok());
    // The thread's was the last clone.
    world.until("the end of the connection", |world| world.clients[0].is_finished().then_some(()));
}

#[test]
fn deadlines_pass_though_nothing_else_happens() {
    let mut world = World::new();
    let address = world.serve(100..);
    let client = world.connect(&address, 10..12);
    for after in LATE {
        let begin = Instant::now();
        let status = world.unary(&client, "never", after).unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(begin.elapsed() >= after);
        // Answered behind it on its connection: by now the service has seen the call, or never will.
        assert_eq!(world.unary(&client, "fail", LONG).unwrap_err().code(), Code::NotFound);
        if let Ok(told) = world.told.try_recv() {
            assert_eq!(told, Told::Seen("never".into()));
            break;
        }
    }
    world.until("the service is told", |world| world.told.try_iter().find(|told| matches!(told, Told::Cancelled(_))));
    assert!(world.clients[0].timeout().is_none_or(|wait| wait > Duration::ZERO), "it does not spin");
}

#[test]
fn the_owner_s_events_stay_the_owner_s() {
    let mut world = World::new();
    // Between the ranges of two servers and a client, and with a waker of its own.
    let waker = Waker::new(world.poll.registry(), Token(7)).unwrap();
    let first = world.serve(8..20);
    let second = world.serve(20..);
    let client = world.connect(&first, 5..7);
    let other = world.connect(&second, 3..5);
    waker.wake().unwrap();
    for (client, name) in [(&client, "one"), (&other, "two")] {
        assert_eq!(world.unary(client, name, LONG).unwrap(), format!("hello {name}"));
    }
    assert_eq!(world.others, [Token(7)]);
}

#[test]
fn a_range_that_ends_limits_connections() {
    let mut world = World::new();
    for range in [0..0, 0..1, 0..2] {
        let refused = world.try_serve(range.clone()).unwrap_err();
        assert!(matches!(&refused, ServeError::Io(e) if e.kind() == io::ErrorKind::InvalidInput), "{range:?}: {refused}");
    }
    // One token to be woken by, one for the listener.
    let address = world.serve(50..54);
    let clients = [10, 20].map(|at| world.connect(&address, at..at + 2));
    for client in &clients {
        world.unary(client, "you", LONG).unwrap();
    }
    let third = world.connect(&address, 30..32);
    let (done, ended) = mpsc::channel();
    third.say_hello(request("third")).on_done(move |reply| done.send(reply).unwrap());
    for _ in 0..20 {
        world.turn(Duration::from_millis(1));
    }
    assert!(ended.try_recv().is_err(), "there is no token for it");
    drop(clients);
    let reply = world.until("a place gets free", |_| ended.try_recv().ok());
    assert_eq!(reply.unwrap().message, "hello third");
}

#[test]
fn waiting_on_the_loop_s_thread_fails_and_does_not_hang() {
    let status = bounded(|| {
        let mut world = World::new();
        let address = world.serve(100..);
        let client = world.connect(&address, 10..12);
        client.say_hello(request("you")).wait().unwrap_err()
    });
    assert_eq!(status.code(), Code::Internal, "{status}");
}

#[test]
fn a_shutdown_lets_calls_finish_and_ends_both_sides() {
    let mut world = World::new();
    let address = world.serve(100..);
    let client = world.connect(&address, 10..12);
    let (done, ended) = mpsc::channel();
    client.say_hello(request("much later")).on_done(move |reply| done.send(reply).unwrap());
    world.turn(Duration::ZERO);
    assert_eq!(world.unary(&client, "you", LONG).unwrap(), "hello you");
    world.servers[0].shutdown(LONG);
    world.until("the server ends", |world| world.servers[0].is_finished().then_some(()));
    assert_eq!(ended.try_recv().unwrap().unwrap().message, "hello much later");
    world.until("the client ends", |world| world.clients[0].is_finished().then_some(()));
    assert_eq!(world.unary(&client, "too late", LONG).unwrap_err().code(), Code::Unavailable);
    assert_eq!((world.servers[0].timeout(), world.clients[0].timeout()), (None, None), "neither needs the loop any more");
}

#[test]
fn a_server_that_is_dropped_ends_its_connections() {
    let mut world = World::new();
    let address = world.serve(100..);
    let client = world.connect(&address, 10..12);
    world.unary(&client, "you", LONG).unwrap();
    let (done, ended) = mpsc::channel();
    client.say_hello(request("keep")).on_done(move |reply| done.send(reply).unwrap());
    world.turn(Duration::ZERO);
    world.servers.clear();
    let reply = world.until("the call ends", |_| ended.try_recv().ok());
    assert_eq!(reply.unwrap_err().code(), Code::Unavailable);
    assert!(world.clients[0].is_finished());
}

#[test]
fn a_client_that_is_dropped_ends_its_calls() {
    let mut world = World::new();
    let address = world.serve(100..);
    let client = world.connect(&address, 10..12);
    let (done, ended) = mpsc::channel();
    client.say_hello(request("never")).on_done(move |reply| done.send(reply).unwrap());
    world.until("the call arrives", |world| world.told.try_iter().next());
    world.clients.clear();
    assert_eq!(ended.try_recv().unwrap().unwrap_err().code(), Code::Unavailable);
    let told = world.until("the service is told", |world| world.told.try_iter().next());
    assert_eq!(told, Told::Cancelled(Code::Cancelled));
}

#[cfg(target_os = "linux")]
#[test]
fn a_socket_may_still_be_connecting() {
    let mut world = World::new();
    let address = world.serve(100..);
    let socket = mio::net::TcpStream::connect(address.parse().unwrap()).unwrap();
    let (client, embedded) = Connect::new().embed_over(socket, world.poll.registry(), 10..12).unwrap();
    world.clients.push(embedded);
    assert_eq!(world.unary(&GreeterClient::new(client), "you", LONG).unwrap(), "hello you");

    // Nobody listens there any more.
    world.servers.clear();
    let socket = mio::net::TcpStream::connect(address.parse().unwrap()).unwrap();
    let (client, embedded) = Connect::new().embed_over(socket, world.poll.registry(), 20..22).unwrap();
    world.clients.push(embedded);
    assert_eq!(world.unary(&GreeterClient::new(client), "you", LONG).unwrap_err().code(), Code::Unavailable);
}
