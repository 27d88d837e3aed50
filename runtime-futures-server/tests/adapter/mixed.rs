//! Many calls of all shapes at once on one connection from several threads, some dropped halfway: nothing hangs, nothing is
//! mixed up, no handler is left behind.

use crate::common::{
    MODES, MyGreeter, Options, Report, TestServer,
    greeter::{GreeterClient, GreeterServer, HelloRequest, Note},
    soon,
};
use crate::rt;
use pintle::{Code, Server, Status};
use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
fn calls_of_all_shapes_at_once() {
    rt::run_on_threads(async {
        for mode in MODES {
            // 60 at once, and those that were dropped: their handlers may be slower to go than the next call is to come.
            let server = TestServer::with(mode, Options { max_calls: Some(1_000), ..Options::default() });
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let tasks: Vec<_> = (0..60).map(|seed| rt::spawn(some_calls(client.clone(), Dice(seed)))).collect();
            for task in tasks {
                soon("all its calls", task).await;
            }
            assert_eq!(soon("a call", client.say_hello(request("x", 0)).into_future()).await.unwrap().message, "Hello x");
            drop(client);
            let mut running = 0;
            soon("every handler's end", async {
                loop {
                    match server.reports.try_recv() {
                        Ok(Report::Started) => running += 1,
                        Ok(Report::Dropped { .. }) => running -= 1,
                        Ok(_) => {}
                        Err(_) if running == 0 => break,
                        Err(_) => rt::sleep(Duration::from_millis(1)).await,
                    }
                }
            })
            .await;
        }
    });
}

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

async fn some_calls(client: GreeterClient, mut dice: Dice) {
    for round in 0..40 {
        match dice.roll(11) {
            0 => {
                let name = format!("{round}");
                let size = dice.roll(3) as u32 * 20_000;
                let reply = client.say_hello(request(&name, size)).await.unwrap();
                assert_eq!(reply.message.len(), "Hello ".len() + name.len() + size as usize);
            }
            1 => {
                let count = dice.roll(50) as u32;
                let mut replies = client.lots_of_replies(request("n", count)).await.unwrap();
                // Sometimes only some of them.
                let wanted = if dice.roll(2) == 0 { count } else { count / 2 };
                for number in 0..wanted {
                    assert_eq!(replies.next().await.unwrap().unwrap().message, format!("n {number}"));
                }
            }
            2 => {
                let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
                let names: Vec<String> = (0..dice.roll(20)).map(|number| number.to_string()).collect();
                for name in &names {
                    out.send(request(name, 0)).await.unwrap();
                }
                out.close();
                assert_eq!(reply.await.unwrap().message, names.join(","));
            }
            3 => {
                let (mut out, mut input) = client.chat().open().await.unwrap();
                for _ in 0..dice.roll(8) {
                    let data = bytes::Bytes::from(vec![7; dice.roll(40_000) as usize]);
                    out.send(Note { text: "x".to_owned(), data: data.clone() }).await.unwrap();
                    assert_eq!(input.next().await.unwrap().unwrap().data, data);
                }
            }
            4 => {
                let after = Duration::from_micros(dice.roll(3_000));
                let _ = rt::timeout(after, client.say_hello(request("wait", 0)).into_future()).await;
            }
            // What one call had besides its messages must not turn up in another, whatever became of it.
            5 | 6 => {
                let name = format!("{round}");
                let call = client.say_hello(request("metadata", 0)).metadata("tenant", &name).metadata_bin("trace-bin", &[round as u8]);
                let response = call.response().await.unwrap();
                assert_eq!(response.headers.get("tenant-was"), Some(&*name));
                assert_eq!(response.trailers.get_bin("trace-was-bin").as_deref(), Some(&[round as u8][..]));
            }
            7 => {
                let response = client.say_hello(request("plain", 0)).response().await.unwrap();
                assert_eq!(response.message.message, "Hello plain");
                assert!(response.headers.is_empty() && response.trailers.is_empty(), "{:?} {:?}", response.headers, response.trailers);
                let response = client.say_hello(request("metadata", 0)).response().await.unwrap();
                assert_eq!(response.headers.get("tenant-was"), Some("none"));
            }
            8 => {
                let status = client.say_hello(request("fail", 0)).await.unwrap_err();
                assert_eq!((status.code(), status.metadata().get("why")), (Code::NotFound, Some("because")));
                let status = client.say_hello(request("panic", 0)).await.unwrap_err();
                assert_eq!((status.code(), status.metadata().is_empty()), (Code::Unknown, true));
            }
            9 => {
                let told = client.say_hello(request("context", 0)).deadline(Duration::from_secs(19)).await.unwrap().message;
                assert_eq!(told, "/helloworld.Greeter/SayHello true Some(7) false");
                let told = client.say_hello(request("context", 0)).await.unwrap().message;
                assert_eq!(told, "/helloworld.Greeter/SayHello none Some(7) false");
            }
            _ => {
                let call = client.say_hello(request("wait", 0)).deadline(Duration::from_micros(1_000 + dice.roll(3_000)));
                let _ = call.await;
            }
        }
    }
}

/// The same without sockets: client and server meet in memory, on several threads.
#[test]
fn calls_of_all_shapes_in_one_process() {
    rt::run_on_threads(async {
        let (reports, _kept) = mpsc::channel();
        let service = GreeterServer::new(MyGreeter { reports, flooded: Arc::default() });
        let configure = |config: &mut pintle::Config| {
            config.recv_budget = 1_000 * u64::from(config.initial_window) + u64::from(config.max_recv_message);
            config.max_concurrent_streams = 1_000;
        };
        let server = Server::new().add(service).configure(configure).connections().unwrap().in_process();
        let clients = [GreeterClient::new(server.channel()), GreeterClient::new(server.channel())];
        let tasks: Vec<_> = (0..40).map(|seed| rt::spawn(some_calls(clients[seed as usize % 2].clone(), Dice(seed)))).collect();
        for task in tasks {
            soon("all its calls", task).await;
        }
    });
}

/// Nobody who calls while the server goes waits for ever or gets a wrong answer.
#[test]
fn calls_that_race_with_the_end_all_end() {
    rt::run_on_threads(async {
        for (round, mode) in MODES.into_iter().cycle().take(8).enumerate() {
            let grace = Duration::from_millis(round as u64 / 2);
            let mut server = TestServer::with(mode, Options { grace, ..Options::default() });
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let calls = Arc::new(AtomicU32::new(0));
            let tasks: Vec<_> = (0..12).map(|number| rt::spawn(until_it_ends(client.clone(), Arc::clone(&calls), number))).collect();
            soon("some calls", async {
                while calls.load(Ordering::SeqCst) < 10 * round as u32 {
                    rt::yield_now().await;
                }
            })
            .await;
            server.stop();
            server.join().await.unwrap();
            for task in tasks {
                let code = soon("the last call", task).await;
                assert!(matches!(code, Code::Unavailable | Code::Cancelled), "{mode:?}: {code}");
            }
        }
    });
}

/// Calls until one fails; how.
async fn until_it_ends(client: GreeterClient, calls: Arc<AtomicU32>, number: u32) -> Code {
    loop {
        let end = match number % 3 {
            0 => client.say_hello(request("x", 10_000)).await.map(drop),
            1 => replies(&client).await,
            _ => client.say_hello(request("wait", 0)).await.map(drop),
        };
        if let Err(status) = end {
            break status.code();
        }
        calls.fetch_add(1, Ordering::SeqCst);
    }
}

async fn replies(client: &GreeterClient) -> Result<(), Status> {
    let mut replies = client.lots_of_replies(request("n", 20)).await?;
    while replies.next().await?.is_some() {}
    Ok(())
}
