//! Ending: in good order, at the end of the grace, and when the other side is gone.

use crate::common::{
    LIMIT, MODES, MyGreeter, Options, Report, TestServer,
    greeter::{GreeterClient, GreeterServer, HelloRequest, Note},
    joined, socket_path, soon, wire,
};
use crate::rt;
use pintle::Code;
use std::{
    future::IntoFuture,
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

#[test]
fn running_calls_finish_and_new_ones_are_refused() {
    rt::run(async {
        for mode in MODES {
            let mut server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let (mut out, mut input) = client.chat().open().await.unwrap();
            soon("send", out.send(Note { text: "1".to_owned(), ..Note::default() })).await.unwrap();
            soon("echo", input.next()).await.unwrap();
            server.stop();

            // The listener is gone: a new call finds nobody, once the client has seen the GOAWAY.
            let status = soon("a refusal", async {
                loop {
                    match client.say_hello(request("x", 0)).await {
                        Ok(_) => rt::yield_now().await,
                        Err(status) => break status,
                    }
                }
            });
            assert_eq!(status.await.code(), Code::Unavailable);

            // The running call is served to its end.
            soon("send", out.send(Note { text: "2".to_owned(), ..Note::default() })).await.unwrap();
            assert_eq!(soon("echo", input.next()).await.unwrap().unwrap().text, "re: 2");
            out.close();
            assert_eq!(soon("end", input.next()).await.unwrap(), None);
            server.join().await.unwrap();
        }
    });
}

/// B50: what must not hold a server: silence, half a preface, idleness, a peer that does not read.
#[test]
fn the_grace_is_the_longest_that_a_shutdown_takes() {
    rt::run(async {
        for mode in MODES {
            let grace = Duration::from_millis(300);
            let mut server = TestServer::with(mode, Options { grace, ..Options::default() });
            let silent = TcpStream::connect(server.address()).unwrap();
            let mut half = TcpStream::connect(server.address()).unwrap();
            half.write_all(b"PRI * HT").unwrap();
            let idle = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            soon("a call", idle.say_hello(request("x", 0)).into_future()).await.unwrap();
            // Its socket buffer fills up: nobody reads, not even control frames.
            let deaf = deaf_client(server.address());
            while server.flooded.load(std::sync::atomic::Ordering::SeqCst) < 100_000 {
                std::thread::sleep(Duration::from_millis(5));
            }

            let begin = Instant::now();
            server.stop();
            server.join().await.unwrap();
            assert_eq!(server.report().await, Report::Started);
            while !matches!(server.report().await, Report::Dropped { cancelled: true }) {}
            assert!(begin.elapsed() < LIMIT / 2, "{mode:?}: took {:?}", begin.elapsed());
            drop((silent, half, idle, deaf));
        }
    });
}

/// A client made of octets: calls LotsOfReplies("flood"), opens every window and never reads.
fn deaf_client(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut octets = wire::hello(i32::MAX as u32);
    // RFC 7541 Appendix A: :method POST is number 3, :scheme http number 6.
    let mut block = vec![0x83, 0x86];
    for (name, value) in
        [(":path", "/helloworld.Greeter/LotsOfReplies"), (":authority", "x"), ("te", "trailers"), ("content-type", "application/grpc")]
    {
        wire::field(&mut block, name, value);
    }
    wire::frame(&mut octets, wire::HEADERS, wire::END_HEADERS, 1, &block);
    let message = prost::Message::encode_to_vec(&request("flood", 100_000));
    let mut data = vec![0];
    data.extend((message.len() as u32).to_be_bytes());
    data.extend(&message);
    wire::frame(&mut octets, wire::DATA, wire::END_STREAM, 1, &data);
    stream.write_all(&octets).unwrap();
    stream
}

#[test]
fn a_peer_that_never_reads_costs_a_bounded_amount() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let deaf = deaf_client(server.address());
            let mut last = 0;
            let mut still = 0;
            let begin = Instant::now();
            while still < 10 {
                assert!(begin.elapsed() < LIMIT, "the flood never stands still");
                rt::sleep(Duration::from_millis(30)).await;
                let now = server.flooded.load(std::sync::atomic::Ordering::SeqCst);
                still = if now == last { still + 1 } else { 0 };
                last = now;
            }
            // Windows are open for a gigabyte; only the kernel's buffers (at most some megabytes) and ours take anything.
            assert!((100_000..64 << 20).contains(&last), "{mode:?}: {last} octets");
            drop(deaf);
        }
    });
}

#[test]
fn a_killed_server_ends_every_call_with_unavailable() {
    rt::run(async {
        for mode in MODES {
            let path = format!("unix:{}", socket_path(&format!("killed-{mode:?}")));
            let listen = vec!["127.0.0.1:0".to_owned(), path];
            let mut server = TestServer::with(mode, Options { grace: Duration::ZERO, listen, ..Options::default() });
            let mut calls = Vec::new();
            for address in server.addresses.clone() {
                let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
                let (mut out, mut input) = client.chat().open().await.unwrap();
                soon("send", out.send(Note::default())).await.unwrap();
                soon("echo", input.next()).await.unwrap();
                let hanging = rt::spawn(client.say_hello(request("hang", 0)).deadline(LIMIT).into_future());
                calls.push((out, input, hanging, client));
            }
            while server.report().await != Report::Started {}
            // No grace: connections are closed at once.
            server.stop();
            for (_out, mut input, hanging, client) in calls {
                let stream = soon("the stream's end", input.next()).await.unwrap_err();
                let unary = soon("the call's end", hanging).await.unwrap_err();
                let after = soon("a later call", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
                // Whether the server's last words were read or not: UNAVAILABLE, or CANCELLED by its reset.
                for status in [stream, unary] {
                    assert!(matches!(status.code(), Code::Unavailable | Code::Cancelled), "{status}");
                }
                assert_eq!(after.code(), Code::Unavailable, "{after}");
                assert!(after.message().contains("cannot connect"), "{after}");
            }
        }
    });
}

#[test]
fn a_connection_that_breaks_without_a_word_is_unavailable() {
    rt::run(async {
        // A server that accepts, reads for a while and hangs up.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1_024]);
        });
        let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
        let status = soon("the end", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        server.join().unwrap();
    });
}

#[test]
fn a_channel_connects_again_when_the_server_is_back() {
    rt::run(async {
        for mode in MODES {
            let path = format!("unix:{}", socket_path(&format!("again-{mode:?}")));
            let options = || Options { listen: vec![path.clone()], grace: Duration::ZERO, ..Options::default() };
            let mut first = TestServer::with(mode, options());
            let client = soon("connect", GreeterClient::connect(&path)).await.unwrap();
            soon("a call", client.say_hello(request("x", 0)).into_future()).await.unwrap();
            first.stop();
            first.join().await.unwrap();

            let status = soon("nobody", client.say_hello(request("x", 0)).into_future()).await.unwrap_err();
            assert_eq!(status.code(), Code::Unavailable, "{status}");
            let second = TestServer::with(mode, options());
            let reply = soon("the second server", async {
                loop {
                    match client.say_hello(request("again", 0)).await {
                        Ok(reply) => break reply,
                        Err(status) => assert_eq!(status.code(), Code::Unavailable),
                    }
                }
            });
            assert_eq!(reply.await.message, "Hello again");
            drop(second);
        }
    });
}

#[test]
fn dropping_the_last_handle_closes_the_connection_after_its_calls() {
    rt::run(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            let mut octets = Vec::new();
            stream.read_to_end(&mut octets).unwrap();
            octets
        });
        let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
        drop(client.clone());
        drop(client);
        let octets = soon("the end", joined(server)).await;
        assert!(octets.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    });
}

#[test]
fn dropping_the_server_closes_its_connections() {
    rt::run(async {
        let (reports, kept) = std::sync::mpsc::channel();
        let service = GreeterServer::new(MyGreeter { reports, flooded: std::sync::Arc::default() });
        let server = pintle::Server::new().add(service).listen("127.0.0.1:0").unwrap();
        let address = server.local_addresses()[0].to_string();
        let serving = rt::spawn(server.serve());
        let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
        let (mut out, mut input) = client.chat().open().await.unwrap();
        soon("send", out.send(Note::default())).await.unwrap();
        soon("echo", input.next()).await.unwrap();
        serving.abort();
        let status = soon("the end", input.next()).await.unwrap_err();
        assert!(matches!(status.code(), Code::Unavailable | Code::Cancelled), "{status}");
        soon("the handler's end", async {
            while !matches!(kept.try_recv(), Ok(Report::Dropped { cancelled: true })) {
                rt::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    });
}
