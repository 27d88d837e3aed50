//! On an executor that the application brings: with the feature `smol` and without it.

extern crate pintle_smol as pintle;

#[path = "../../runtime-futures-server/tests/adapter/common/greeter.rs"]
#[allow(missing_docs, dead_code, unreachable_pub, reason = "as codegen emits it")]
mod greeter;
mod rt;

use async_executor::Executor;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use greeter::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest, Note};
use pintle::{Channel, Code, Config, Connect, Context, Sender, Server, Smol, SmolIo, Spawner, Status, Streaming};
use pintle_futures::{Runtime, Timer};
use std::{
    future::{Future, IntoFuture, pending, poll_fn},
    io,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{self, Poll},
    time::Duration,
};

/// No wait in a test is longer.
const LIMIT: Duration = Duration::from_secs(20);

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    rt::timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what}: not within {LIMIT:?}"))
}

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

struct Polite;

impl Greeter for Polite {
    async fn say_hello(&self, _: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
        match request.name.as_str() {
            "hang" => pending().await,
            "panic" => panic!("a test's handler panics"),
            name => Ok(HelloReply { message: format!("Hello {name}") }),
        }
    }

    async fn lots_of_replies(&self, _: &Context, request: HelloRequest, out: &mut Sender<HelloReply>) -> Result<(), Status> {
        for number in 0..request.count {
            out.send(HelloReply { message: number.to_string() }).await?;
        }
        Ok(())
    }

    async fn lots_of_greetings(&self, _: &Context, input: &mut Streaming<HelloRequest>) -> Result<HelloReply, Status> {
        let mut message = String::new();
        while let Some(request) = input.next().await? {
            message += &request.name;
        }
        Ok(HelloReply { message })
    }

    async fn chat(&self, _: &Context, input: &mut Streaming<Note>, out: &mut Sender<Note>) -> Result<(), Status> {
        while let Some(note) = input.next().await? {
            out.send(note).await?;
        }
        Ok(())
    }
}

async fn shapes(client: &GreeterClient) {
    assert_eq!(client.say_hello(request("x", 0)).await.unwrap().message, "Hello x");
    assert_eq!(client.say_hello(request("panic", 0)).await.unwrap_err().code(), Code::Unknown);
    let mut replies = client.lots_of_replies(request("", 100)).await.unwrap();
    for number in 0..100 {
        assert_eq!(replies.next().await.unwrap().unwrap().message, number.to_string());
    }
    assert_eq!(replies.next().await.unwrap(), None);
    let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
    for name in ["a", "b", "c"] {
        out.send(request(name, 0)).await.unwrap();
    }
    out.close();
    assert_eq!(reply.await.unwrap().message, "abc");
    let (mut out, mut input) = client.chat().open().await.unwrap();
    out.send(Note { text: "hi".to_owned(), ..Note::default() }).await.unwrap();
    assert_eq!(input.next().await.unwrap().unwrap().text, "hi");
    out.close();
    assert_eq!(input.next().await.unwrap(), None);
}

/// Ends with `test`; the server must not end before. Boxed, for a test's thread has little stack.
async fn beside<T>(serving: impl Future<Output = Result<(), pintle::ServeError>>, test: impl Future<Output = T>) -> T {
    let serving = Box::pin(serving);
    future::or(Box::pin(async { panic!("the server ended: {:?}", serving.await) }), Box::pin(test)).await
}

#[test]
fn four_shapes_on_a_closure() {
    let smol = rt::brought();
    let path = format!("unix:{}/pintle-brought-{}.sock", std::env::temp_dir().display(), std::process::id());
    rt::run(async {
        let server = Server::on(smol).add(GreeterServer::new(Polite)).listen("127.0.0.1:0").unwrap().listen(&path).unwrap();
        let addresses = server.local_addresses();
        let test = Box::pin(async {
            for address in addresses {
                let channel = soon("connect", Connect::on(smol, &address.to_string()).unwrap().connect()).await.unwrap();
                shapes(&GreeterClient::new(channel)).await;
            }
        });
        soon("spawned handlers", beside(server.serve(), test)).await;

        let server = Server::inline_on(smol).add(GreeterServer::new(Polite)).listen("127.0.0.1:0").unwrap();
        let address = server.local_addresses()[0].to_string();
        let test = Box::pin(async {
            let channel = soon("connect", Connect::on(smol, &address).unwrap().connect()).await.unwrap();
            shapes(&GreeterClient::new(channel)).await;
        });
        soon("inline handlers", beside(server.serve(), test)).await;
    });
}

/// An executor of a type of its own, which counts.
#[derive(Clone, Copy)]
struct Counting(&'static Executor<'static>, &'static AtomicUsize);

impl Spawner for Counting {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.spawn(task).detach();
    }
}

#[test]
fn every_task_goes_to_the_executor_that_was_brought() {
    static EXECUTOR: Executor<'static> = Executor::new();
    static TASKS: AtomicUsize = AtomicUsize::new(0);
    let smol = Smol::with(Counting(&EXECUTOR, &TASKS));
    let (near, far) = rt::pipe(1_000);
    let server = Server::on(smol).add(GreeterServer::new(Polite)).connections().unwrap();
    async_io::block_on(EXECUTOR.run(async {
        let test = Box::pin(async {
            let client = GreeterClient::new(Channel::over(&smol, SmolIo(near), &Config::default()));
            for _ in 0..3 {
                soon("a call", client.say_hello(request("x", 0)).into_future()).await.unwrap();
            }
        });
        future::zip(server.serve_connection(far, pintle::Peer::Other("a pipe".into())), test).await;
    }));
    // The client's connection, and a handler for each call.
    assert_eq!(TASKS.load(Ordering::Relaxed), 1 + 3);
}

#[test]
fn a_client_whose_executor_is_gone_says_so() {
    rt::run(async {
        let server = Server::on(rt::brought()).add(GreeterServer::new(Polite)).listen("127.0.0.1:0").unwrap();
        let address = server.local_addresses()[0].to_string();
        let _serving = rt::spawn(server.serve());
        let (client, hanging) = std::thread::spawn(move || {
            let mortal = rt::Mortal::new();
            mortal.run(async {
                let client = GreeterClient::new(soon("connect", mortal.connect(&address)).await);
                let mut hanging = Box::pin(client.say_hello(request("hang", 0)).into_future());
                assert!(future::poll_once(&mut hanging).await.is_none());
                soon("another call", client.say_hello(request("x", 0)).into_future()).await.unwrap();
                (client, hanging)
            })
        })
        .join()
        .unwrap();
        let status = soon("the running call", hanging).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        let status = soon("a later call", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    });
}

/// A stream that panics when something comes in.
struct Explosive(rt::Pipe);

impl AsyncRead for Explosive {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.0).poll_read(cx, buffer) {
            Poll::Ready(_) => panic!("a test's stream panics"),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for Explosive {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

/// An executor of smol's would pass the panic on to this thread, which runs it.
#[test]
fn a_task_that_panics_ends_alone() {
    rt::run(async {
        let (near, mut far) = rt::pipe(64 << 10);
        let client = GreeterClient::new(Channel::over(&rt::brought(), SmolIo(Explosive(near)), &Config::default()));
        let running = rt::spawn(client.say_hello(request("x", 0)).into_future());
        // The request ends with its message: field 1, a string of one octet.
        let mut said = Vec::new();
        while !said.ends_with(b"\x0a\x01x") {
            let mut octet = [0];
            soon("the request", far.read_exact(&mut octet)).await.unwrap();
            said.extend(octet);
        }
        far.write_all(b"!").await.unwrap();
        let status = soon("the running call", running).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        let status = soon("a later call", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    });
}

#[test]
fn a_timer_is_set_again() {
    let smol = rt::brought();
    fn now<R: Runtime>(_: &R) -> pintle::Timestamp {
        R::now()
    }
    rt::run(async {
        let mut timer = smol.timer();
        let (begin, far) = (now(&smol), now(&smol).saturating_add(2 * LIMIT));
        assert!(poll_fn(|cx| Poll::Ready(timer.poll_until(far, cx).is_pending())).await);
        // An earlier instant, twice: one that has fired fires again.
        let near = begin.saturating_add(Duration::from_millis(20));
        for _ in 0..2 {
            soon("the timer", poll_fn(|cx| timer.poll_until(near, cx))).await;
            assert!(now(&smol) >= near, "too early");
        }
        // And a later one.
        let later = now(&smol).saturating_add(Duration::from_millis(20));
        soon("the timer", poll_fn(|cx| timer.poll_until(later, cx))).await;
        assert!(now(&smol) >= later, "too early");
        assert!(poll_fn(|cx| Poll::Ready(timer.poll_until(far, cx).is_pending())).await);
    });
}

#[cfg(not(feature = "smol"))]
#[test]
fn connecting_without_an_executor_says_what_to_do() {
    let error = async_io::block_on(GreeterClient::connect("127.0.0.1:1")).unwrap_err();
    assert!(error.to_string().contains("Connect::on"), "{error}");
}
