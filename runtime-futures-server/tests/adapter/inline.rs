//! The inline executor on the thread that makes calls too: handlers that are not `Send`, and what `serve` is given.

use crate::{
    common::{
        LIMIT,
        greeter::{GreeterClient, GreeterServer, HelloReply, HelloRequest, LocalGreeter, Note},
        soon,
    },
    rt,
};
use pintle::{Code, Context, Sender, Server, Status, Streaming};
use std::{
    cell::{Cell, RefCell},
    future::{Future, IntoFuture, poll_fn},
    pin::pin,
    rc::Rc,
    task::Poll,
    time::Duration,
};

/// Counts on its thread, and nowhere else.
#[derive(Default)]
struct Counter {
    calls: Rc<Cell<u32>>,
    names: Rc<RefCell<Vec<String>>>,
}

impl LocalGreeter for Counter {
    async fn say_hello(&self, _: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
        let names = Rc::clone(&self.names);
        if request.name == "wait" {
            rt::sleep(Duration::from_millis(20)).await;
        }
        names.borrow_mut().push(request.name);
        self.calls.set(self.calls.get() + 1);
        Ok(HelloReply { message: self.calls.get().to_string() })
    }

    async fn lots_of_replies(&self, _: &Context, request: HelloRequest, out: &mut Sender<HelloReply>) -> Result<(), Status> {
        for _ in 0..request.count {
            self.calls.set(self.calls.get() + 1);
            out.send(HelloReply { message: self.calls.get().to_string() }).await?;
        }
        Ok(())
    }

    async fn lots_of_greetings(&self, _: &Context, input: &mut Streaming<HelloRequest>) -> Result<HelloReply, Status> {
        while let Some(request) = input.next().await? {
            self.names.borrow_mut().push(request.name);
        }
        Ok(HelloReply { message: self.names.borrow().join(",") })
    }

    async fn chat(&self, _: &Context, input: &mut Streaming<Note>, out: &mut Sender<Note>) -> Result<(), Status> {
        while let Some(note) = input.next().await? {
            out.send(note).await?;
        }
        Ok(())
    }
}

/// Polls both; ends with `test`. Boxed, for a test's thread has little stack.
async fn beside<T>(serving: impl Future<Output = Result<(), pintle::ServeError>>, test: impl Future<Output = T>) -> T {
    let (mut serving, mut test) = (Box::pin(serving), Box::pin(test));
    poll_fn(|cx| {
        assert!(serving.as_mut().poll(cx).is_pending(), "the server ended");
        test.as_mut().poll(cx)
    })
    .await
}

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

#[test]
fn handlers_need_not_be_send() {
    rt::run(async {
        let counter = Counter::default();
        let (calls, names) = (Rc::clone(&counter.calls), Rc::clone(&counter.names));
        let server = Server::inline().add(GreeterServer::new(counter)).listen("127.0.0.1:0").unwrap();
        let address = server.local_addresses()[0].to_string();
        let test = Box::pin(async {
            let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
            // The first waits; the second overtakes it, on the same connection.
            let mut first = pin!(client.say_hello(request("wait", 0)).deadline(LIMIT).into_future());
            let begun = poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_pending()));
            assert!(begun.await);
            assert_eq!(client.say_hello(request("x", 0)).await.unwrap().message, "1");
            assert_eq!(soon("the first", first).await.unwrap().message, "2");
            assert_eq!(*names.borrow(), ["x", "wait"]);

            let mut replies = client.lots_of_replies(request("", 100)).await.unwrap();
            for number in 3..=102 {
                assert_eq!(replies.next().await.unwrap().unwrap().message, number.to_string());
            }
            assert_eq!(replies.next().await.unwrap(), None);
            assert_eq!(calls.get(), 102);

            let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
            out.send(request("y", 0)).await.unwrap();
            out.close();
            assert_eq!(reply.await.unwrap().message, "x,wait,y");

            let (mut out, mut input) = client.chat().open().await.unwrap();
            out.send(Note { text: "hi".to_owned(), ..Note::default() }).await.unwrap();
            assert_eq!(input.next().await.unwrap().unwrap().text, "hi");
        });
        soon("four shapes", beside(server.serve(), test)).await;
    });
}

#[test]
fn dropping_the_future_that_serves_closes_its_connections() {
    rt::run(async {
        let counter = Counter::default();
        let kept = Rc::clone(&counter.calls);
        let server = Server::inline().add(GreeterServer::new(counter)).listen("127.0.0.1:0").unwrap();
        let address = server.local_addresses()[0].to_string();
        let test = Box::pin(async {
            let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
            let (mut out, mut input) = client.chat().open().await.unwrap();
            out.send(Note::default()).await.unwrap();
            soon("the echo", input.next()).await.unwrap();
            input
        });
        // It is dropped with its service and handlers as `beside` returns.
        let mut input = beside(server.serve(), test).await;
        assert_eq!(Rc::strong_count(&kept), 1);
        let status = soon("the end", input.next()).await.unwrap_err();
        assert!(matches!(status.code(), Code::Unavailable | Code::Cancelled), "{status}");
    });
}
