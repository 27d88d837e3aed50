//! What is not gRPC, or not well: a clear answer or error, and the server serves on.

use crate::common::{
    LIMIT, MODES, Mode, MyGreeter, Options, TestServer,
    greeter::{GreeterClient, GreeterServer, HelloRequest},
    socket_path, soon, wire,
};
use crate::rt;
use pintle::{Code, ServeError, Server};
use std::{
    future::IntoFuture,
    io::{Read, Write},
    net::TcpStream,
};

fn request(name: &str) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count: 0 }
}

/// Sends octets and reads until the server hangs up.
fn talk(address: &str, octets: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(octets).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// The payload of the first GOAWAY (type 7, RFC 9113 §6.8) among the frames of `octets`.
fn goaway(mut octets: &[u8]) -> Option<&[u8]> {
    while octets.len() >= 9 {
        let (len, kind, _, _) = wire::head(octets);
        let payload = octets.get(9..9 + len)?;
        if kind == wire::GOAWAY {
            return Some(payload);
        }
        octets = &octets[9 + len..];
    }
    None
}

async fn serves_on(server: &TestServer) {
    let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
    assert_eq!(soon("a call", client.say_hello(request("x")).into_future()).await.unwrap().message, "Hello x");
}

#[test]
fn http1_is_told_that_this_is_http2() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let answer = talk(server.address(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            let text = String::from_utf8_lossy(&answer);
            assert!(text.contains("HTTP/1.1 ") || goaway(&answer).is_some(), "{text:?}");
            serves_on(&server).await;
        }
    });
}

#[test]
fn tls_and_noise_are_hung_up_on() {
    rt::run(async {
        // The start of a ClientHello (RFC 8446 §5.1: handshake record of TLS 1.0 compatibility), and noise.
        let hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[0xa5; 501]].concat();
        let noise: Vec<u8> = (0..4_096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for mode in MODES {
            let server = TestServer::start(mode);
            for octets in [&hello, &noise] {
                let answer = talk(server.address(), octets);
                assert!(answer.len() < 1_024, "{} octets of answer", answer.len());
            }
            serves_on(&server).await;
        }
    });
}

#[test]
fn a_broken_frame_gets_goaway() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let mut octets = wire::hello(65_535);
            // A PING of 7 octets: FRAME_SIZE_ERROR (6), RFC 9113 §6.7.
            wire::frame(&mut octets, wire::PING, 0, 0, &[1, 2, 3, 4, 5, 6, 7]);
            let answer = talk(server.address(), &octets);
            let payload = goaway(&answer).expect("a GOAWAY");
            assert_eq!(payload[4..8], [0, 0, 0, 6]);
            serves_on(&server).await;
        }
    });
}

#[test]
fn a_message_over_the_limit_ends_one_call() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            // The server takes 4 MiB.
            let status = soon("too large", client.say_hello(request(&"y".repeat(5 << 20))).into_future()).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
            assert_eq!(soon("after", client.say_hello(request("x")).into_future()).await.unwrap().message, "Hello x");
            // And so does the client.
            let large = HelloRequest { name: "x".to_owned(), count: 5 << 20 };
            let status = soon("too large a reply", client.say_hello(large).into_future()).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
            assert_eq!(soon("after", client.say_hello(request("x")).into_future()).await.unwrap().message, "Hello x");
        }
    });
}

#[test]
fn a_message_that_we_must_not_send_ends_its_call() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::with(mode, Options { max_send: Some(1_000), ..Options::default() });
            let client = soon("connect", GreeterClient::connect(server.address())).await.unwrap();
            let large = HelloRequest { name: "x".to_owned(), count: 1_001 };
            let status = soon("a reply", client.say_hello(large).into_future()).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
            let flood = HelloRequest { name: "flood".to_owned(), count: 1_001 };
            let mut replies = client.lots_of_replies(flood).await.unwrap();
            let status = soon("a stream", replies.next()).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
            assert!(status.message().contains("max_send_message"), "{status}");
            assert_eq!(soon("after", client.say_hello(request("x")).into_future()).await.unwrap().message, "Hello x");

            // And on a client.
            let connect = pintle::Connect::new(server.address()).unwrap().configure(|config| config.max_send_message = 1_000);
            let client = GreeterClient::new(soon("connect", connect.connect()).await.unwrap());
            let status = soon("a request", client.say_hello(request(&"y".repeat(1_001))).into_future()).await.unwrap_err();
            assert_eq!((status.code(), status.origin()), (Code::ResourceExhausted, pintle::Origin::Local), "{status}");
            assert_eq!(soon("after", client.say_hello(request("x")).into_future()).await.unwrap().message, "Hello x");
        }
    });
}

#[test]
fn a_call_to_something_else_says_so() {
    rt::run(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // As often as it is asked: it may have said so before the call begins, which then asks anew.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
        let status = soon("the end", client.say_hello(request("x")).into_future()).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("HTTP/1"), "{status}");
    });
}

#[test]
fn addresses_that_cannot_be_listened_on() {
    let first = Server::new().listen("127.0.0.1:0").unwrap();
    let taken = first.local_addresses()[0].to_string();
    let error = Server::new().listen(&taken).unwrap_err();
    assert!(matches!(error, ServeError::Bind(_)), "{error:?}");
    assert!(error.to_string().contains(&taken), "{error}");

    // A file that is no socket is never removed.
    let path = socket_path("file");
    std::fs::write(&path, "precious").unwrap();
    let error = Server::new().listen(&format!("unix:{path}")).unwrap_err();
    assert!(error.to_string().contains(&path), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();

    let error = Server::new().listen("localhost").unwrap_err();
    assert!(matches!(error, ServeError::Address(_)), "{error:?}");
}

#[test]
fn a_server_that_cannot_work_says_why() {
    rt::run(async {
        let error = soon("serve", Server::new().serve()).await.unwrap_err();
        assert!(matches!(error, ServeError::NoListener), "{error:?}");

        let (reports, _) = std::sync::mpsc::channel();
        let greeter = GreeterServer::new(MyGreeter { reports, flooded: Default::default() });
        let twice = Server::new().add(greeter.clone()).add(greeter).listen("127.0.0.1:0").unwrap();
        let error = soon("serve", twice.serve()).await.unwrap_err();
        assert!(matches!(error, ServeError::Build(_)), "{error:?}");
        assert!(error.to_string().contains("/helloworld.Greeter/") && error.to_string().contains("twice"), "{error}");

        let narrow = Server::new().configure(|config| config.initial_window = 1).listen("127.0.0.1:0").unwrap();
        let error = soon("serve", narrow.serve()).await.unwrap_err();
        assert!(error.to_string().contains("initial_window"), "{error}");
    });
}

#[test]
fn a_client_that_cannot_connect_says_why() {
    rt::run(async {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let error = soon("connect", pintle::connect(&free)).await.unwrap_err();
        assert!(error.to_string().contains(&free), "{error}");
        let error = soon("connect", pintle::connect("unix:/nowhere/at/all.sock")).await.unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all.sock"), "{error}");
        let error = soon("connect", pintle::connect("no port")).await.unwrap_err();
        assert!(matches!(error, pintle::ConnectError::Address(_)), "{error:?}");
    });
}

#[test]
fn a_socket_file_goes_with_its_server() {
    rt::run(async {
        let path = socket_path("goes");
        let mut server = TestServer::with(Mode::Spawn, Options { listen: vec![format!("unix:{path}")], ..Options::default() });
        assert!(std::fs::exists(&path).unwrap());
        server.stop();
        server.join().await.unwrap();
        assert!(!std::fs::exists(&path).unwrap());
    });
}

/// X27: connections that are reset before or right after they are accepted cost nothing that lasts.
#[test]
fn resets_do_not_end_the_accept_loop() {
    rt::run(async {
        for mode in MODES {
            let server = TestServer::start(mode);
            for _ in 0..300 {
                let stream = TcpStream::connect(server.address()).unwrap();
                // Unread input (the server's SETTINGS) or none: closing resets or ends the connection.
                drop(stream);
            }
            serves_on(&server).await;
        }
    });
}
