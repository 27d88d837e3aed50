//! The four shapes, metadata, statuses and contexts, over TCP and Unix sockets, on both executors.

use crate::common::{
    LIMIT, MODES, Mode, Options, Report, TestServer,
    greeter::{GreeterClient, HelloRequest, Note},
    socket_path, soon,
};
use crate::rt;
use pintle::{Code, Origin};
use std::{
    future::{Future, IntoFuture},
    time::Duration,
};

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

/// Runs `test` against each executor over each kind of socket.
async fn everywhere<F: Future<Output = ()>>(name: &str, test: impl Fn(GreeterClient, Mode) -> F) {
    for mode in MODES {
        let path = format!("unix:{}", socket_path(&format!("{name}-{mode:?}")));
        let server = TestServer::with(mode, Options { listen: vec!["127.0.0.1:0".to_owned(), path], ..Options::default() });
        for address in &server.addresses {
            let client = soon("connect", GreeterClient::connect(address)).await.unwrap();
            soon(&format!("{mode:?} over {address}"), test(client, mode)).await;
        }
    }
}

#[test]
fn unary() {
    rt::run(async {
        everywhere("unary", |client, _| async move {
            assert_eq!(client.say_hello(request("World", 0)).await.unwrap().message, "Hello World");
            // A handler that is not ready at its first poll.
            assert_eq!(client.say_hello(request("wait", 0)).await.unwrap().message, "Hello wait");
            // Larger than a window, a frame and a permit.
            let reply = client.say_hello(request(&"y".repeat(300_000), 3_000_000)).await.unwrap();
            assert_eq!(reply.message.len(), "Hello ".len() + 3_300_000);
        })
        .await;
    });
}

#[test]
fn server_streaming() {
    rt::run(async {
        everywhere("replies", |client, _| async move {
            let mut replies = client.lots_of_replies(request("n", 500)).await.unwrap();
            for number in 0..500 {
                assert_eq!(replies.next().await.unwrap().unwrap().message, format!("n {number}"));
            }
            assert_eq!(replies.next().await.unwrap(), None);
            assert_eq!(replies.next().await.unwrap(), None);

            let mut failing = client.lots_of_replies(request("fail", 2)).await.unwrap();
            assert!(failing.next().await.unwrap().is_some());
            assert!(failing.next().await.unwrap().is_some());
            let status = failing.next().await.unwrap_err();
            assert_eq!((status.code(), status.message()), (Code::DataLoss, "after the last"));
        })
        .await;
    });
}

#[test]
fn client_streaming() {
    rt::run(async {
        everywhere("greetings", |client, _| async move {
            let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
            for name in ["a", "b", "c"] {
                out.send(request(name, 0)).await.unwrap();
            }
            out.close();
            assert_eq!(reply.await.unwrap().message, "a,b,c");

            // No message at all.
            let (out, reply) = client.lots_of_greetings().open().await.unwrap();
            drop(out);
            assert_eq!(reply.await.unwrap().message, "");
        })
        .await;
    });
}

#[test]
fn a_server_that_has_enough_ends_the_stream() {
    rt::run(async {
        everywhere("enough", |client, _| async move {
            let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
            out.send(request("stop", 0)).await.unwrap();
            let status = reply.await.unwrap_err();
            assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "enough"));
            // The sender learns it too, sooner or later, and from then on.
            let failed = loop {
                match out.send(request(&"z".repeat(10_000), 0)).await {
                    Ok(()) => rt::yield_now().await,
                    Err(status) => break status,
                }
            };
            assert_eq!(failed.code(), Code::ResourceExhausted);
        })
        .await;
    });
}

#[test]
fn bidirectional() {
    rt::run(async {
        everywhere("chat", |client, _| async move {
            let (mut out, mut input) = client.chat().open().await.unwrap();
            for number in 0..100 {
                let data = bytes::Bytes::from(vec![number as u8; number * 997]);
                out.send(Note { text: number.to_string(), data: data.clone() }).await.unwrap();
                let echo = input.next().await.unwrap().unwrap();
                assert_eq!((echo.text, echo.data), (format!("re: {number}"), data));
            }
            out.close();
            assert_eq!(input.next().await.unwrap(), None);

            let (mut out, mut input) = client.chat().open().await.unwrap();
            out.send(Note { text: "bye".to_owned(), ..Note::default() }).await.unwrap();
            assert_eq!(input.next().await.unwrap_err().code(), Code::Aborted);
        })
        .await;
    });
}

#[test]
fn metadata_travels_both_ways() {
    rt::run(async {
        everywhere("metadata", |client, _| async move {
            let call = client.say_hello(request("metadata", 0)).metadata("tenant", "a b").metadata_bin("trace-bin", &[0, 255, 7]);
            let response = call.response().await.unwrap();
            assert_eq!(response.message.message, "Hello metadata");
            assert_eq!(response.headers.get("tenant-was"), Some("a b"));
            assert_eq!(response.trailers.get_bin("trace-was-bin").as_deref(), Some(&[0_u8, 255, 7][..]));

            // The next call, in the same place, has none of it; nor has one after a call whose handler did nothing with it.
            for _ in 0..2 {
                let response = client.say_hello(request("metadata", 0)).response().await.unwrap();
                assert_eq!(response.headers.get("tenant-was"), Some("none"));
                assert!(response.trailers.get_bin("trace-was-bin").unwrap_or_default().is_empty());
                client.say_hello(request("x", 0)).metadata("tenant", "a b").await.unwrap();
            }

            // A key that cannot be sent ends the call before it starts.
            let status = client.say_hello(request("x", 0)).metadata("grpc-status", "0").await.unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument);
            assert!(status.message().contains("this side"), "{status}");
            assert!(status.message().contains("grpc-status"), "{status}");
        })
        .await;
    });
}

#[test]
fn headers_can_go_ahead_of_messages() {
    rt::run(async {
        everywhere("early", |client, _| async move {
            let mut replies = client.lots_of_replies(request("headers first", 0)).await.unwrap();
            assert_eq!(replies.headers().await.get("early"), Some("yes"));
            assert_eq!(replies.trailers(), None);
        })
        .await;
    });
}

#[test]
fn a_status_arrives_whole() {
    rt::run(async {
        everywhere("status", |client, _| async move {
            let status = client.say_hello(request("fail", 0)).await.unwrap_err();
            assert_eq!(status.code(), Code::NotFound);
            assert_eq!(status.message(), "no such person: 日本");
            assert_eq!(status.details(), b"\x08\x05");
            assert_eq!(status.metadata().get("why"), Some("because"));
            assert_eq!(status.origin(), Origin::Peer);
        })
        .await;
    });
}

#[test]
fn a_panic_ends_one_call() {
    rt::run(async {
        everywhere("panic", |client, _| async move {
            let other = rt::spawn(client.say_hello(request("wait", 0)).into_future());
            let status = client.say_hello(request("panic", 0)).await.unwrap_err();
            assert_eq!((status.code(), status.message()), (Code::Unknown, "the handler panicked"));
            assert_eq!(other.await.unwrap().message, "Hello wait");
            assert_eq!(client.say_hello(request("again", 0)).await.unwrap().message, "Hello again");
        })
        .await;
    });
}

#[test]
fn a_deadline_passes_on_both_sides() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            // Long enough for the handler to begin on a busy machine.
            let call = client.say_hello(request("hang", 0)).deadline(Duration::from_secs(1));
            let status = soon("deadline", call.into_future()).await.unwrap_err();
            assert_eq!(status.code(), Code::DeadlineExceeded);
            assert_eq!(server.report().await, Report::Started);
            assert_eq!(server.report().await, Report::Dropped { cancelled: true });
            // Far enough away, it does no harm.
            let reply = client.say_hello(request("World", 0)).deadline(LIMIT).await.unwrap();
            assert_eq!(reply.message, "Hello World");
        }
    });
}

#[test]
fn a_context_tells_about_the_call() {
    rt::run(async {
        everywhere("context", |client, _| async move {
            let reply = client.say_hello(request("context", 0)).deadline(LIMIT).await.unwrap();
            assert_eq!(reply.message, "/helloworld.Greeter/SayHello true Some(7) false");
            let reply = client.say_hello(request("context", 0)).await.unwrap();
            assert_eq!(reply.message, "/helloworld.Greeter/SayHello none Some(7) false");
        })
        .await;
    });
}

#[test]
fn the_peer_is_known() {
    rt::run(async {
        let path = format!("unix:{}", socket_path("peer"));
        let server = TestServer::with(Mode::Spawn, Options { listen: vec!["127.0.0.1:0".to_owned(), path], ..Options::default() });
        let mut peers = Vec::new();
        for address in &server.addresses {
            let client = soon("connect", GreeterClient::connect(address)).await.unwrap();
            peers.push(soon("peer", client.say_hello(request("peer", 0)).into_future()).await.unwrap().message);
        }
        assert!(peers[0].starts_with("127.0.0.1:"), "{peers:?}");
        assert!(peers[1].contains(&format!("pid={}", std::process::id())), "{peers:?}");
    });
}

#[test]
fn an_unknown_method_is_unimplemented() {
    rt::run(async {
        everywhere("unknown", |client, _| async move {
            drop(client);
        })
        .await;
        for mode in MODES {
            let server = TestServer::start(mode);
            let channel = soon("connect", pintle::connect(server.address())).await.unwrap();
            for path in ["/helloworld.Greeter/Missing", "/no.Such/Method"] {
                let call = channel.unary::<pintle::glue::Raw, pintle::glue::Raw>(path, &bytes::Bytes::new());
                let status = soon("unknown method", call.into_future()).await.unwrap_err();
                assert_eq!(status.code(), Code::Unimplemented, "{path}");
            }
            let client = GreeterClient::new(channel);
            assert_eq!(soon("after", client.say_hello(request("x", 0)).into_future()).await.unwrap().message, "Hello x");
        }
    });
}

#[test]
fn a_message_that_cannot_be_decoded_is_internal() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let channel = soon("connect", pintle::connect(server.address())).await.unwrap();
            // Field 1 is a string; these octets are not UTF-8.
            let bad = bytes::Bytes::from_static(b"\x0a\x02\xff\xfe");
            let call = channel.unary::<pintle::glue::Raw, pintle::glue::Raw>("/helloworld.Greeter/SayHello", &bad);
            let status = soon("bad message", call.into_future()).await.unwrap_err();
            assert_eq!(status.code(), Code::Internal);
            assert!(status.message().contains("decode"), "{status}");
        }
    });
}

#[test]
fn a_thousand_calls_in_flight() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let calls: Vec<_> =
                (0..1_000).map(|number| rt::spawn(client.say_hello(request(&number.to_string(), 0)).into_future())).collect();
            for (number, call) in calls.into_iter().enumerate() {
                assert_eq!(soon("a call", call).await.unwrap().message, format!("Hello {number}"));
            }
        }
    });
}

#[test]
fn a_name_is_looked_up() {
    rt::run(async {
        let server = TestServer::start(Mode::Spawn);
        let (_, port) = server.address().rsplit_once(':').unwrap();
        let client = soon("connect", GreeterClient::connect(&format!("localhost:{port}"))).await.unwrap();
        assert_eq!(soon("a call", client.say_hello(request("x", 0)).into_future()).await.unwrap().message, "Hello x");
    });
}
