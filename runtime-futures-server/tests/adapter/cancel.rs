//! Cancelling: what is dropped on the client stops on the server.

use crate::common::{
    MODES, Report, TestServer,
    greeter::{GreeterClient, HelloRequest, Note},
    soon,
};
use crate::rt;
use pintle::Code;
use std::{
    any::Any,
    future::{Future, IntoFuture, poll_fn},
    sync::Mutex,
    task::Poll,
};

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

#[test]
fn dropping_a_unary_call_drops_its_handler() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let mut call = Box::pin(client.say_hello(request("hang", 0)).into_future());
            let pending = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending()));
            assert!(pending.await, "the handler hangs");
            assert_eq!(server.report().await, Report::Started);
            drop(call);
            assert_eq!(server.report().await, Report::Dropped { cancelled: true });
            // The connection is as good as before.
            assert_eq!(soon("after", client.say_hello(request("x", 0)).into_future()).await.unwrap().message, "Hello x");
        }
    });
}

#[test]
fn dropping_a_stream_fails_the_servers_sends() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let mut replies = client.lots_of_replies(request("flood", 1_000)).await.unwrap();
            assert!(soon("a reply", replies.next()).await.unwrap().is_some());
            drop(replies);
            assert_eq!(server.report().await, Report::Started);
            // The handler learns it at its send or is dropped while it waits there: either ends it, cancelled.
            match server.report().await {
                Report::SendFailed(code) => {
                    assert_eq!(code, Code::Cancelled);
                    assert_eq!(server.report().await, Report::Dropped { cancelled: true });
                }
                dropped => assert_eq!(dropped, Report::Dropped { cancelled: true }),
            }
        }
    });
}

#[test]
fn dropping_the_reply_cancels_a_client_stream() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
            soon("send", out.send(request("a", 0))).await.unwrap();
            assert_eq!(server.report().await, Report::Started);
            drop(reply);
            // The handler is told what its input ended with before it is dropped.
            assert_eq!(server.report().await, Report::Input(Some(Code::Cancelled)));
            assert_eq!(server.report().await, Report::Dropped { cancelled: true });
            let status = loop {
                match soon("send", out.send(request("b", 0))).await {
                    Ok(()) => rt::yield_now().await,
                    Err(status) => break status,
                }
            };
            assert_eq!(status.code(), Code::Cancelled);
        }
    });
}

#[test]
fn dropping_a_chat_drops_its_handler() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let (mut out, mut input) = client.chat().open().await.unwrap();
            soon("send", out.send(Note { text: "hi".to_owned(), ..Note::default() })).await.unwrap();
            assert_eq!(soon("echo", input.next()).await.unwrap().unwrap().text, "re: hi");
            // In this order: the end of our messages alone would end the call well.
            drop((input, out));
            assert_eq!(server.report().await, Report::Started);
            assert_eq!(server.report().await, Report::Dropped { cancelled: true });
        }
    });
}

#[test]
fn a_call_that_is_never_awaited_is_never_made() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            drop(client.say_hello(request("hang", 0)));
            // Dropped before the connection's task has seen it: nothing reaches the server either way.
            drop(client.say_hello(request("x", 0)).into_future());
            assert_eq!(soon("after", client.say_hello(request("y", 0)).into_future()).await.unwrap().message, "Hello y");
            assert!(server.reports.try_recv().is_err(), "a handler ran");
        }
    });
}

#[test]
fn a_vanished_client_drops_its_handlers() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let address = server.address().to_owned();
            // The executor goes with everything in it, mid-stream, as when a process is killed.
            let client = std::thread::spawn(move || {
                let mortal = rt::Mortal::new();
                mortal.run(async {
                    let client = GreeterClient::new(soon("connect", mortal.connect(&address)).await);
                    let mut replies = client.lots_of_replies(request("flood", 10_000)).await.unwrap();
                    let (mut out, mut input) = client.chat().open().await.unwrap();
                    soon("send", out.send(Note::default())).await.unwrap();
                    soon("echo", input.next()).await.unwrap();
                    soon("a reply", replies.next()).await.unwrap();
                    runtime_is_dropped((out, input, replies));
                });
            });
            client.join().unwrap();
            let mut dropped = 0;
            while dropped < 2 {
                if let Report::Dropped { cancelled } = server.report().await {
                    assert!(cancelled);
                    dropped += 1;
                }
            }
        }
    });
}

/// Keeps the handles for ever, so that nothing tells the server in an orderly way.
fn runtime_is_dropped<T: Send + 'static>(handles: T) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(Box::new(handles));
}
