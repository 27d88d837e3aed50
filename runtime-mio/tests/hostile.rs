//! Hostile peers, in a process of its own, which counts its descriptors: the suites of `runtime-net/tests/hostile`.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../runtime-net/tests/hostile/mod.rs"]
mod hostile;

use common::{
    HelloReply, HelloRequest, Note,
    glue::{GreeterClient, GreeterServer, GreeterService},
};
use hostile::{
    Diary, Gauge, LONG, MOST_CALLS, PATIENCE, Seat, Target,
    client_cases::{Kind, Outcome},
};
use pintle_mio::{Caller, Config, Receiver, Replies, Running, Server, Status, Unary, connect, connect_local};
use std::{
    cell::RefCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Descriptors are counted: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The service that `hostile::Target` describes.
struct Counted(Gauge);

/// A handler runs until its handle is gone: what is never answered is kept until it is cancelled.
type Held = Arc<Mutex<Option<(Unary<HelloReply>, Seat)>>>;

impl GreeterService for Counted {
    fn say_hello(&mut self, request: HelloRequest, call: Unary<HelloReply>) {
        let seat = self.0.enter(call.peer().to_string());
        match request.name.as_str() {
            "hang" => {
                let held = Held::default();
                let gone = Arc::clone(&held);
                let mut place = held.lock().unwrap();
                let (call, _) = place.insert((call, seat));
                call.on_cancel(move |_| drop(gone.lock().map(|mut held| held.take())));
            }
            "panic" => panic!("this panic is part of the test"),
            name => call.reply(HelloReply { message: format!("Hello {name}"), ..Default::default() }),
        }
    }

    fn lots_of_replies(&mut self, request: HelloRequest, out: Replies<HelloReply>) {
        let (gauge, seat) = (self.0.clone(), self.0.enter(out.peer().to_string()));
        let (mut left, reply) = (request.count, HelloReply { message: request.name, ..Default::default() });
        out.produce(move |out| {
            let _seat = &seat;
            while left > 0 && out.send(reply.clone()).is_ok() {
                gauge.sent(reply.message.len());
                left -= 1;
            }
            if left == 0 {
                out.finish(Status::ok());
            }
        });
    }

    fn lots_of_greetings(&mut self, call: Unary<HelloReply>) -> Box<dyn Receiver<HelloRequest>> {
        Box::new(Counting { _seat: self.0.enter(call.peer().to_string()), call: Some(call), count: 0 })
    }

    fn chat(&mut self, out: Replies<Note>) -> Box<dyn Receiver<Note>> {
        let seat = self.0.enter(out.peer().to_string());
        out.answer_each(move |note, replies| {
            let _seat = &seat;
            replies.push(note);
            Ok(())
        })
    }
}

struct Counting {
    call: Option<Unary<HelloReply>>,
    count: u32,
    _seat: Seat,
}

impl Receiver<HelloRequest> for Counting {
    fn on_message(&mut self, request: HelloRequest) {
        match request.name.as_str() {
            "stop" => self.call.take().unwrap().fail(Status::resource_exhausted("enough")),
            "panic" => panic!("this panic is part of the test"),
            _ => self.count += 1,
        }
    }
    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(HelloReply { message: self.count.to_string(), ..Default::default() });
        }
    }
}

/// Ends its server.
struct Ended(Option<Running>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown(PATIENCE).unwrap();
    }
}

fn serve(listen: &str) -> (Ended, Target, Gauge) {
    serve_with(listen, |config| {
        config.max_concurrent_streams = MOST_CALLS;
        config.write_timeout = PATIENCE;
    })
}

fn serve_hastily(listen: &str) -> (Ended, Target, Gauge) {
    serve_with(listen, |config| {
        config.handshake_timeout = PATIENCE;
        config.header_block_timeout = PATIENCE;
    })
}

fn serve_with(listen: &str, configure: fn(&mut Config)) -> (Ended, Target, Gauge) {
    let gauge = Gauge::default();
    let counted = gauge.clone();
    let server = Server::new().add(move || GreeterServer::new(Counted(counted.clone()))).configure(configure);
    let server = server.listen(listen).unwrap().spawn().unwrap();
    let target = Target { address: server.local_addresses()[0].to_string(), service: "/hello.Greeter" };
    (Ended(Some(server)), target, gauge)
}

fn unix() -> String {
    format!("unix:{}", hostile::socket_path())
}

/// A client that does nothing wrong, with calls of every shape.
fn good(address: &str, diary: &Diary) -> Result<(), String> {
    let client = GreeterClient::new(connect(address).map_err(|error| error.to_string())?);
    while diary.goes_on(0) {
        diary.goes_on(good_calls(&client).map_err(|status| status.to_string())?);
    }
    Ok(())
}

fn good_calls<C: Caller>(client: &GreeterClient<C>) -> Result<u32, Status> {
    let request = |name: &str, count| HelloRequest { name: name.to_owned(), count, ..Default::default() };
    assert_eq!(client.say_hello(request("you", 0)).deadline(LONG).wait()?.message, "Hello you");
    let mut replies = client.lots_of_replies(request(&"r".repeat(1_000), 10)).deadline(LONG).open()?;
    let mut got = 0;
    while replies.next()?.is_some() {
        got += 1;
    }
    assert_eq!(got, 10);
    let (mut out, mut input) = client.chat().deadline(LONG).open()?;
    let note = Note { number: 7, blob: bytes::Bytes::from(vec![7; 20_000]) };
    out.send(note.clone()).map_err(|error| Status::internal(format!("{error:?}")))?;
    assert_eq!(input.next()?, Some(note));
    out.close();
    assert_eq!(input.next()?, None);
    Ok(3)
}

#[test]
fn attacks_harm_nobody_else() {
    let _alone = alone();
    for [listen, other] in [["127.0.0.1:0", "127.0.0.1:0"], [&unix(), &unix()]] {
        let (_server, target, gauge) = serve(listen);
        let (_hasty_server, hasty, _) = serve_hastily(other);
        hostile::siege(&target, &hasty, &gauge, good);
    }
}

#[test]
fn servers_have_none_of_the_known_faults() {
    let _alone = alone();
    for listen in ["127.0.0.1:0", &unix()] {
        let (_server, target, _) = serve(listen);
        hostile::server_cases::run(&target);
    }
}

/// The client of `hostile::client_cases`.
fn client(address: &str, kinds: &[Kind]) -> Vec<Outcome> {
    let client = match connect(address) {
        Ok(client) => GreeterClient::new(client),
        Err(error) => return kinds.iter().map(|_| Outcome { code: 14, text: error.to_string() }).collect(),
    };
    thread::scope(|scope| {
        let calls: Vec<_> = kinds.iter().map(|kind| scope.spawn(|| outcome(call(&client, *kind)))).collect();
        calls.into_iter().map(|call| call.join().expect("it does not panic")).collect()
    })
}

/// The same on the thread that calls; one call at a time.
fn local_client(address: &str, kinds: &[Kind]) -> Vec<Outcome> {
    if kinds.len() > 1 {
        return client(address, kinds);
    }
    match connect_local(address) {
        Ok(client) => vec![outcome(call(&GreeterClient::new(client), kinds[0]))],
        Err(error) => vec![Outcome { code: 14, text: error.to_string() }],
    }
}

fn outcome(end: Result<String, Status>) -> Outcome {
    match end {
        Ok(text) => Outcome { code: 0, text },
        Err(status) => Outcome { code: status.code() as u32, text: status.message().to_owned() },
    }
}

fn call<C: Caller>(client: &GreeterClient<C>, kind: Kind) -> Result<String, Status> {
    let request = || HelloRequest { name: "x".repeat(10_000), count: 1, ..Default::default() };
    match kind {
        Kind::Unary => Ok(client.say_hello(request()).deadline(LONG).wait()?.message),
        Kind::Replies => {
            let mut replies = client.lots_of_replies(request()).deadline(LONG).open()?;
            let mut last = String::new();
            while let Some(reply) = replies.next()? {
                last = reply.message;
            }
            Ok(last)
        }
        Kind::Upload => {
            let mut upload = client.lots_of_greetings().deadline(LONG).open()?;
            for _ in 0..500 {
                if upload.send(request()).is_err() {
                    break;
                }
            }
            Ok(upload.finish()?.message)
        }
    }
}

#[test]
fn clients_have_none_of_the_known_faults() {
    let _alone = alone();
    let before = hostile::descriptors();
    hostile::client_cases::run(client, false);
    hostile::client_cases::run(local_client, true);
    hostile::until("the end of all connections", || hostile::descriptors() <= before);
}

#[test]
fn peers_are_who_the_kernel_says_they_are() {
    let _alone = alone();
    let servers = RefCell::new(Vec::new());
    hostile::identities("peers_are_who_the_kernel_says_they_are", |listen| {
        let (server, target, gauge) = serve(listen);
        servers.borrow_mut().push(server);
        (target, gauge)
    });
}

#[test]
fn paths_of_servers_that_live_are_refused() {
    let _alone = alone();
    let servers = RefCell::new(Vec::new());
    let listen = |address: &str| Server::new().listen(address).map(drop).map_err(|error| error.to_string());
    hostile::paths(listen, |address| {
        let (server, target, _) = serve(address);
        servers.borrow_mut().push(server);
        target
    });
}
