//! Clients in the server's own process, without a socket.

use crate::common::{
    LIMIT, MyGreeter, Report,
    greeter::{GreeterClient, GreeterServer, HelloRequest, Note},
    soon,
};
use crate::rt;
use pintle::{Channel, Code, Server};
use std::{
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    task::Poll,
    time::Duration,
};

struct World {
    reports: mpsc::Receiver<Report>,
    flooded: Arc<AtomicU64>,
}

fn greeter() -> (GreeterServer<MyGreeter>, World) {
    let (report, reports) = mpsc::channel();
    let flooded = Arc::new(AtomicU64::new(0));
    let greeter = MyGreeter { reports: report, flooded: Arc::clone(&flooded) };
    (GreeterServer::new(greeter), World { reports, flooded })
}

/// Polls `serving` as long as `work` takes.
async fn beside<T>(serving: impl Future<Output = ()>, work: impl Future<Output = T>) -> T {
    let (mut serving, mut work, mut served) = (pin!(serving), pin!(work), false);
    poll_fn(|cx| {
        served = served || serving.as_mut().poll(cx).is_ready();
        work.as_mut().poll(cx)
    })
    .await
}

/// Does the same on both executors.
fn on_both<F: Future<Output = ()>>(work: impl Fn(GreeterClient, World) -> F) {
    rt::run(async {
        let (service, world) = greeter();
        let server = Server::new().add(service).connections().unwrap().in_process();
        soon("spawned", work(GreeterClient::new(server.channel()), world)).await;

        let (service, world) = greeter();
        let server = Server::inline().add(service).connections().unwrap().in_process();
        let (channel, serving) = server.channel();
        soon("inline", beside(serving, work(GreeterClient::new(channel), world))).await;
    });
}

async fn report(world: &World) -> Report {
    loop {
        match world.reports.try_recv() {
            Ok(report) => return report,
            Err(_) => rt::sleep(Duration::from_millis(1)).await,
        }
    }
}

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

#[test]
fn four_shapes() {
    on_both(|client, _| async move {
        assert_eq!(client.say_hello(request("x", 0)).await.unwrap().message, "Hello x");
        assert_eq!(client.say_hello(request("peer", 0)).await.unwrap().message, "in-process");
        let mut replies = client.lots_of_replies(request("n", 300)).await.unwrap();
        for n in 0..300 {
            assert_eq!(replies.next().await.unwrap().unwrap().message, format!("n {n}"));
        }
        assert!(replies.next().await.unwrap().is_none());
        let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
        for name in ["a", "b", "c"] {
            out.send(request(name, 0)).await.unwrap();
        }
        drop(out);
        assert_eq!(reply.await.unwrap().message, "a,b,c");
        let (mut out, mut notes) = client.chat().open().await.unwrap();
        for n in 0..100_usize {
            out.send(Note { text: n.to_string(), data: vec![n as u8; n * 100].into() }).await.unwrap();
            let note = notes.next().await.unwrap().unwrap();
            assert_eq!((note.text, note.data.len()), (format!("re: {n}"), n * 100));
        }
        drop(out);
        assert!(notes.next().await.unwrap().is_none());
    });
}

#[test]
fn a_message_of_three_megabytes() {
    on_both(|client, _| async move {
        let reply = client.say_hello(request("x", 3_000_000)).await.unwrap();
        assert_eq!(reply.message.len(), "Hello x".len() + 3_000_000);
    });
}

#[test]
fn a_slow_reader_holds_the_sender() {
    on_both(|client, world| async move {
        let mut replies = client.lots_of_replies(request("flood", 10_000)).await.unwrap();
        assert!(replies.next().await.unwrap().is_some());
        // Until the sender stands still.
        let mut before = u64::MAX;
        while before != world.flooded.load(Ordering::SeqCst) {
            before = world.flooded.load(Ordering::SeqCst);
            assert_eq!(client.say_hello(request("x", 0)).await.unwrap().message, "Hello x");
            rt::sleep(Duration::from_millis(20)).await;
        }
        assert!(before < 1_000_000, "{before} octets were sent to a client that reads none");
        for _ in 0..50 {
            assert!(replies.next().await.unwrap().is_some());
        }
    });
}

#[test]
fn deadlines_and_cancellation_reach_the_handler() {
    on_both(|client, world| async move {
        let late = client.say_hello(request("hang", 0)).deadline(Duration::from_secs(1));
        assert_eq!(late.await.unwrap_err().code(), Code::DeadlineExceeded);
        assert_eq!(report(&world).await, Report::Started);
        assert_eq!(report(&world).await, Report::Dropped { cancelled: true });
        let mut call = Box::pin(client.say_hello(request("hang", 0)).into_future());
        let pending = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending()));
        assert!(pending.await, "the handler hangs");
        assert_eq!(report(&world).await, Report::Started);
        drop(call);
        assert_eq!(report(&world).await, Report::Dropped { cancelled: true });
    });
}

#[test]
fn a_client_that_is_dropped_lets_its_calls_finish_and_then_ends_the_connection() {
    rt::run(async {
        let (service, world) = greeter();
        let server = Server::new().add(service).connections().unwrap().in_process();
        let client = GreeterClient::new(server.channel());
        let replies = client.lots_of_replies(request("flood", 1_000)).await.unwrap();
        drop(client);
        assert_eq!(soon("started", report(&world)).await, Report::Started);
        drop(replies);
        // Ends because nothing is left, long before its grace does.
        soon("the end", server.shutdown(LIMIT)).await;
        loop {
            match soon("the handler's end", report(&world)).await {
                Report::SendFailed(code) => assert_eq!(code, Code::Cancelled),
                dropped => break assert_eq!(dropped, Report::Dropped { cancelled: true }),
            }
        }
    });
}

#[test]
fn a_server_that_shuts_down_ends_the_calls_with_a_status() {
    rt::run(async {
        let (service, world) = greeter();
        let server = Server::new().add(service).connections().unwrap().in_process();
        let channel: Channel = server.channel();
        let client = GreeterClient::new(channel);
        let hanging = rt::spawn({
            let client = client.clone();
            async move { client.say_hello(request("hang", 0)).await }
        });
        assert_eq!(soon("started", report(&world)).await, Report::Started);
        soon("the end", server.shutdown(Duration::from_millis(30))).await;
        let status = soon("the call's end", hanging).await.unwrap_err();
        assert!(matches!(status.code(), Code::Unavailable | Code::Cancelled), "{status}");
        let refused = soon("a later call", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        assert!(refused.message().contains("shut down"), "{refused}");
        let refused = soon("a later channel", GreeterClient::new(server.channel()).say_hello(request("x", 0)).into_future()).await;
        assert!(refused.unwrap_err().message().contains("shut down"));
    });
}

#[test]
fn an_inline_server_that_is_dropped_ends_its_calls() {
    rt::run(async {
        let (service, _world) = greeter();
        let server = Server::inline().add(service).connections().unwrap().in_process();
        let (channel, serving) = server.channel();
        let client = GreeterClient::new(channel);
        let first = beside(serving, client.say_hello(request("x", 0)).into_future());
        assert_eq!(soon("a call", first).await.unwrap().message, "Hello x");
        let lost = soon("a later call", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
        assert_eq!(lost.code(), Code::Unavailable, "{lost}");
        // It counts no more.
        soon("the end", server.shutdown(LIMIT)).await;
        let (channel, serving) = server.channel();
        let refused = beside(serving, GreeterClient::new(channel).say_hello(request("x", 0)).into_future());
        assert_eq!(soon("refused", refused).await.unwrap_err().code(), Code::Unavailable);
    });
}
