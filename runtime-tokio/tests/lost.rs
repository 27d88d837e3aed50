//! A client's connection whose task is gone: its runtime was shut down, or the task panicked.

extern crate pintle_tokio as pintle;

#[path = "../../runtime-futures-server/tests/adapter/common/mod.rs"]
mod common;
mod rt;

use common::{
    LIMIT, Mode, Report, TestServer,
    greeter::{GreeterClient, HelloRequest},
    soon,
};
use pintle_tokio::{Code, Config, connect_with};
use std::{
    future::{Future, IntoFuture},
    io,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf},
    runtime::{Builder, Runtime},
};

fn request(name: &str) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count: 0 }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A client in a static outlives the runtime of the first test that used it.
#[test]
fn a_client_outlives_its_runtime() {
    let server = TestServer::start(Mode::Spawn);
    let (first, second) = (runtime(), runtime());
    let client = first.block_on(soon("connect", GreeterClient::connect(server.address()))).unwrap();
    let hanging = second.spawn(client.say_hello(request("hang")).into_future());
    assert_eq!(second.block_on(server.report()), Report::Started);
    drop(first);
    let status = second.block_on(soon("the running call", hanging)).unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");

    // The next call connects again, in the runtime that it is made in.
    let reply = second.block_on(async { soon("a later call", client.say_hello(request("x")).deadline(LIMIT).into_future()).await });
    assert_eq!(reply.unwrap().message, "Hello x");
    drop(second);

    // No runtime, no connection: that is an answer too.
    let mut call = pin!(client.say_hello(request("x")).into_future());
    let Poll::Ready(Err(status)) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!("it waits for nobody") };
    assert_eq!(status.code(), Code::Unavailable, "{status}");
}

/// A stream that panics when something comes in.
struct Explosive(DuplexStream);

impl AsyncRead for Explosive {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.0).poll_read(cx, buffer) {
            Poll::Ready(_) => panic!("a test's stream panics"),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for Explosive {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test]
async fn a_task_that_panics_ends_its_calls() {
    let (near, mut far) = tokio::io::duplex(64 << 10);
    let client = GreeterClient::new(connect_with(Explosive(near), &Config::default()));
    let running = tokio::spawn(client.say_hello(request("x")).into_future());
    // The request ends with its message: field 1, a string of one octet.
    let mut said = Vec::new();
    while !said.ends_with(b"\x0a\x01x") {
        soon("the request", far.read_buf(&mut said)).await.unwrap();
    }
    far.write_all(b"!").await.unwrap();
    let status = soon("the running call", running).await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    let status = soon("a later call", client.say_hello(request("x")).into_future()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
}
