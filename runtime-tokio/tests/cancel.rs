//! Cancelling: what is dropped on the client stops on the server.

mod common;

use common::{
    MODES, Report, TestServer,
    greeter::{GreeterClient, HelloRequest, Note},
    soon,
};
use pintle_tokio::Code;
use std::{future::IntoFuture, time::Duration};

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

#[tokio::test]
async fn dropping_a_unary_call_drops_its_handler() {
    for mode in MODES {
        let server = TestServer::start(mode);
        let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
        let call = tokio::time::timeout(Duration::from_millis(50), client.say_hello(request("hang", 0)).into_future());
        assert!(call.await.is_err(), "the handler hangs");
        assert_eq!(server.report().await, Report::Started);
        assert_eq!(server.report().await, Report::Dropped { cancelled: true });
        // The connection is as good as before.
        assert_eq!(soon("after", client.say_hello(request("x", 0)).into_future()).await.unwrap().message, "Hello x");
    }
}

#[tokio::test]
async fn dropping_a_stream_fails_the_servers_sends() {
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
}

#[tokio::test]
async fn dropping_the_reply_cancels_a_client_stream() {
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
                Ok(()) => tokio::task::yield_now().await,
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), Code::Cancelled);
    }
}

#[tokio::test]
async fn dropping_a_chat_drops_its_handler() {
    for mode in MODES {
        let server = TestServer::start(mode);
        let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
        let (mut out, mut input) = client.chat().open().await.unwrap();
        soon("send", out.send(Note { text: "hi".to_owned(), ..Note::default() })).await.unwrap();
        assert_eq!(soon("echo", input.next()).await.unwrap().unwrap().text, "re: hi");
        drop((out, input));
        assert_eq!(server.report().await, Report::Started);
        assert_eq!(server.report().await, Report::Dropped { cancelled: true });
    }
}

#[tokio::test]
async fn a_call_that_is_never_awaited_is_never_made() {
    for mode in MODES {
        let server = TestServer::start(mode);
        let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
        drop(client.say_hello(request("hang", 0)));
        // Dropped before the connection's task has seen it: nothing reaches the server either way.
        drop(client.say_hello(request("x", 0)).into_future());
        assert_eq!(soon("after", client.say_hello(request("y", 0)).into_future()).await.unwrap().message, "Hello y");
        assert!(server.reports.try_recv().is_err(), "a handler ran");
    }
}

#[tokio::test]
async fn a_vanished_client_drops_its_handlers() {
    for mode in MODES {
        let server = TestServer::start(mode);
        let address = server.address().to_owned();
        // The runtime goes with everything in it, mid-stream, as when a process is killed.
        let client = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
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
}

/// Leaks the handles, so that nothing tells the server in an orderly way.
fn runtime_is_dropped<T>(handles: T) {
    std::mem::forget(handles);
}
