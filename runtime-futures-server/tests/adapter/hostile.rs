//! The suites of `runtime-net/tests/hostile` against servers and clients of an async runtime.

use crate::common::{
    MODES, Mode, Options, TestServer,
    greeter::{Greeter, GreeterClient, HelloReply, HelloRequest, Note},
    soon,
};
use crate::hostile::{
    self, Diary, Gauge, LONG, MOST_CALLS, PATIENCE, STOP, Seat, Target,
    client_cases::{Kind, Outcome},
};
use crate::rt;
use pintle::{Context, Sender, Status, Streaming};
use std::{
    cell::RefCell,
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Descriptors are counted: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The service that `hostile::Target` describes.
struct Counted(Gauge);

impl Counted {
    fn seat(&self, cx: &Context) -> Seat {
        self.0.enter(cx.peer().to_string())
    }
}

impl Greeter for Counted {
    async fn say_hello(&self, cx: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
        let _seat = self.seat(cx);
        match request.name.as_str() {
            "hang" => pending().await,
            "panic" => panic!("this panic is part of the test"),
            name => Ok(HelloReply { message: format!("Hello {name}") }),
        }
    }

    async fn lots_of_replies(&self, cx: &Context, request: HelloRequest, out: &mut Sender<HelloReply>) -> Result<(), Status> {
        let _seat = self.seat(cx);
        for _ in 0..request.count {
            out.send(HelloReply { message: request.name.clone() }).await?;
            self.0.sent(request.name.len());
        }
        Ok(())
    }

    async fn lots_of_greetings(&self, cx: &Context, input: &mut Streaming<HelloRequest>) -> Result<HelloReply, Status> {
        let _seat = self.seat(cx);
        let mut count = 0;
        while let Some(request) = input.next().await? {
            match request.name.as_str() {
                "stop" => return Err(Status::resource_exhausted("enough")),
                "panic" => panic!("this panic is part of the test"),
                _ => count += 1,
            }
        }
        Ok(HelloReply { message: format!("{count}") })
    }

    async fn chat(&self, cx: &Context, input: &mut Streaming<Note>, out: &mut Sender<Note>) -> Result<(), Status> {
        let _seat = self.seat(cx);
        while let Some(note) = input.next().await? {
            if note.data.first() == Some(&STOP) {
                pending::<()>().await;
            }
            out.send(note).await?;
        }
        Ok(())
    }
}

fn serve(mode: Mode, listen: &str) -> (TestServer, Target, Gauge) {
    serve_with(mode, listen, |config| {
        config.max_concurrent_streams = MOST_CALLS;
        config.write_timeout = PATIENCE;
    })
}

fn serve_hastily(mode: Mode, listen: &str) -> (TestServer, Target, Gauge) {
    serve_with(mode, listen, |config| {
        config.handshake_timeout = PATIENCE;
        config.header_block_timeout = PATIENCE;
    })
}

fn serve_with(mode: Mode, listen: &str, configure: fn(&mut pintle::Config)) -> (TestServer, Target, Gauge) {
    let gauge = Gauge::default();
    let options = Options { listen: vec![listen.to_owned()], configure: Some(configure), ..Options::default() };
    let server = TestServer::of(mode, options, Counted(gauge.clone()));
    let target = Target { address: server.address().to_owned(), service: "/helloworld.Greeter" };
    (server, target, gauge)
}

fn unix() -> String {
    format!("unix:{}", hostile::socket_path())
}

/// A client that does nothing wrong, with calls of every shape.
fn good(address: &str, diary: &Diary) -> Result<(), String> {
    rt::run(async {
        let client = GreeterClient::connect(address).await.map_err(|error| error.to_string())?;
        while diary.goes_on(0) {
            let calls = rt::timeout(LONG, good_calls(&client)).await.map_err(|_| "it hangs".to_owned())?;
            diary.goes_on(calls.map_err(|status| status.to_string())?);
        }
        Ok(())
    })
}

async fn good_calls(client: &GreeterClient) -> Result<u32, Status> {
    let request = |name: &str, count| HelloRequest { name: name.to_owned(), count };
    assert_eq!(client.say_hello(request("you", 0)).await?.message, "Hello you");
    let mut replies = client.lots_of_replies(request(&"r".repeat(1_000), 10)).await?;
    let mut got = 0;
    while replies.next().await?.is_some() {
        got += 1;
    }
    assert_eq!(got, 10);
    let (mut out, mut input) = client.chat().open().await?;
    let note = Note { text: "note".to_owned(), data: bytes::Bytes::from(vec![7; 20_000]) };
    out.send(note.clone()).await?;
    assert_eq!(input.next().await?, Some(note));
    out.close();
    assert_eq!(input.next().await?, None);
    Ok(3)
}

#[test]
fn attacks_harm_nobody_else() {
    let _alone = alone();
    for (mode, [listen, other]) in MODES.into_iter().zip([["127.0.0.1:0", "127.0.0.1:0"], [&unix(), &unix()]]) {
        let (_server, target, gauge) = serve(mode, listen);
        let (_hasty_server, hasty, _) = serve_hastily(mode, other);
        hostile::siege(&target, &hasty, &gauge, good);
    }
}

#[test]
fn servers_have_none_of_the_known_faults() {
    let _alone = alone();
    for mode in MODES {
        for listen in ["127.0.0.1:0", &unix()] {
            let (_server, target, _) = serve(mode, listen);
            hostile::server_cases::run(&target);
        }
    }
}

/// The client of `hostile::client_cases`.
fn client(address: &str, kinds: &[Kind]) -> Vec<Outcome> {
    rt::run(async {
        let client = match GreeterClient::connect(address).await {
            Ok(client) => client,
            Err(error) => return kinds.iter().map(|_| Outcome { code: 14, text: error.to_string() }).collect(),
        };
        let calls: Vec<_> = kinds.iter().map(|kind| rt::spawn(call(client.clone(), *kind))).collect();
        let mut outcomes = Vec::new();
        for call in calls {
            outcomes.push(match soon("a call", call).await {
                Ok(text) => Outcome { code: 0, text },
                Err(status) => Outcome { code: status.code() as u32, text: status.message().to_owned() },
            });
        }
        outcomes
    })
}

async fn call(client: GreeterClient, kind: Kind) -> Result<String, Status> {
    let request = || HelloRequest { name: "x".repeat(10_000), count: 1 };
    match kind {
        Kind::Unary => Ok(client.say_hello(request()).await?.message),
        Kind::Replies => {
            let mut replies = client.lots_of_replies(request()).await?;
            let mut last = String::new();
            while let Some(reply) = replies.next().await? {
                last = reply.message;
            }
            Ok(last)
        }
        Kind::Upload => {
            let (mut out, reply) = client.lots_of_greetings().open().await?;
            for _ in 0..500 {
                if out.send(request()).await.is_err() {
                    break;
                }
            }
            out.close();
            Ok(reply.await?.message)
        }
    }
}

#[test]
fn clients_have_none_of_the_known_faults() {
    let _alone = alone();
    let before = hostile::descriptors();
    hostile::client_cases::run(client, false);
    hostile::client_cases::run(client, true);
    // What a runtime opens with its first connection stays.
    hostile::until("the end of all connections", || hostile::descriptors() <= before + 8);
}

#[test]
fn peers_are_who_the_kernel_says_they_are() {
    let _alone = alone();
    for mode in MODES {
        let servers = RefCell::new(Vec::new());
        hostile::identities("suite::peers_are_who_the_kernel_says_they_are", |listen| {
            let (server, target, gauge) = serve(mode, listen);
            servers.borrow_mut().push(server);
            (target, gauge)
        });
    }
}

#[test]
fn paths_of_servers_that_live_are_refused() {
    let _alone = alone();
    let servers = RefCell::new(Vec::new());
    let listen = |address: &str| pintle::Server::new().listen(address).map(drop).map_err(|error| error.to_string());
    hostile::paths(listen, |address| {
        let (server, target, _) = serve(Mode::Spawn, address);
        servers.borrow_mut().push(server);
        target
    });
}
