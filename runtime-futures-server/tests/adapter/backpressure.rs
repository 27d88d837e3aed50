//! A slow peer holds the sender, not memory; and one slow reader does not hold the others.

use crate::common::{
    LIMIT, MODES, Options, Report, TestServer,
    greeter::{GreeterClient, HelloRequest, Note},
    soon,
};
use crate::rt;
use std::{
    future::IntoFuture,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    num::NonZeroUsize,
    sync::atomic::Ordering,
    time::Duration,
};

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

/// Waits until the flood has stood still for a while, and says where.
async fn level(server: &TestServer) -> u64 {
    let mut last = server.flooded.load(Ordering::SeqCst);
    soon("the flood stands still", async {
        let mut still = 0;
        while still < 10 {
            rt::sleep(Duration::from_millis(20)).await;
            let now = server.flooded.load(Ordering::SeqCst);
            still = if now == last { still + 1 } else { 0 };
            last = now;
        }
    })
    .await;
    last
}

#[test]
fn a_client_that_does_not_read_holds_the_servers_sender() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let mut replies = client.lots_of_replies(request("flood", 10_000)).await.unwrap();
            assert!(soon("a reply", replies.next()).await.unwrap().is_some());

            // Permit and connection buffer on the server (64 KiB each), window (128 KiB) and mailbox (64 KiB) on the client,
            // a message over each: far below a megabyte, and then nothing more.
            let held = level(&server).await;
            assert!((64 << 10..1 << 20).contains(&held), "{mode:?}: {held} octets are on their way");

            // Other calls of the connection go on meanwhile.
            assert_eq!(soon("another call", client.say_hello(request("x", 0)).into_future()).await.unwrap().message, "Hello x");

            // Reading lets it go on.
            while server.flooded.load(Ordering::SeqCst) < held + (2 << 20) {
                assert!(soon("more", replies.next()).await.unwrap().is_some());
            }
            drop(replies);
            assert_eq!(server.report().await, Report::Started);
            while !matches!(server.report().await, Report::Dropped { cancelled: true }) {}
        }
    });
}

#[test]
fn a_server_that_does_not_read_holds_the_clients_sender() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            // The echo's own sender is held because we do not read: then it does not read either.
            let (mut out, mut input) = client.chat().open().await.unwrap();
            let data = bytes::Bytes::from(vec![7; 50_000]);
            let mut sent = 0;
            // The first two fit into permits and windows, however long they take.
            let patience = |sent| if sent < 2 { LIMIT } else { Duration::from_millis(300) };
            while let Ok(sending) = rt::timeout(patience(sent), out.send(Note { text: sent.to_string(), data: data.clone() })).await {
                sending.unwrap();
                sent += 1;
                assert!(sent < 60, "{mode:?}: nothing holds the sender");
            }
            assert!(sent >= 2, "{mode:?}: two messages fit");

            // Nothing was lost or repeated on the way.
            out.close();
            for number in 0..sent {
                let echo = soon("echo", input.next()).await.unwrap().unwrap();
                assert_eq!((echo.text, echo.data.len()), (format!("re: {number}"), data.len()));
            }
            assert_eq!(soon("the end", input.next()).await.unwrap(), None);
        }
    });
}

/// Connections above the limit wait unaccepted, and are served when others have closed.
#[test]
fn a_connection_limit_makes_others_wait() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::with(mode, Options { max_connections: Some(NonZeroUsize::MIN), ..Options::default() });
            let request = || HelloRequest { name: "x".to_owned(), count: 0 };
            let first = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            soon("the first call", first.say_hello(request()).into_future()).await.unwrap();
            let mut second = TcpStream::connect(server.address()).unwrap();
            second.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
            second.set_nonblocking(true).unwrap();
            let mut head = [0; 9];
            rt::sleep(Duration::from_millis(50)).await;
            assert_eq!(second.read(&mut head).unwrap_err().kind(), ErrorKind::WouldBlock, "{mode:?}");
            drop(first);
            soon("its turn", async {
                while second.peek(&mut head).unwrap_or(0) < head.len() {
                    rt::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            assert_eq!(head[3], 4, "{mode:?}: SETTINGS");
        }
    });
}
