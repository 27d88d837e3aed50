//! Clients that speak something else, methods and messages that cannot be served, addresses that cannot be listened on: each gets
//! a clear answer, and the server serves on.

mod common;

use common::{Fixture, HelloReply, HelloRequest, LONG, glue::GreeterClient, request};
use pintle_mio::{
    BindError, Code, Config, Connect, ConnectError, HttpResponse, Request, ServeError, Server, codec::Prost, connect, connect_local, kind,
};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Sends octets and reads until the server closes.
fn answer_to(address: &str, octets: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(octets).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server closes, and not with a reset that would destroy its answer");
    answer
}

/// The frames in some octets: type, flags, stream, payload (RFC 9113 §4.1).
fn frames(mut octets: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut found = Vec::new();
    while octets.len() >= 9 {
        let length = u32::from_be_bytes([0, octets[0], octets[1], octets[2]]) as usize;
        let stream = u32::from_be_bytes([octets[5], octets[6], octets[7], octets[8]]);
        found.push((octets[3], octets[4], stream, octets[9..9 + length].to_vec()));
        octets = &octets[9 + length..];
    }
    assert!(octets.is_empty(), "whole frames only");
    found
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut octets = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    octets.extend([kind, flags]);
    octets.extend(stream.to_be_bytes());
    octets.extend(payload);
    octets
}

fn assert_serves(fixture: &Fixture) {
    let client = GreeterClient::new(connect_local(&fixture.tcp).unwrap());
    assert_eq!(client.say_hello(request("you")).deadline(LONG).wait().unwrap().message, "hello you");
}

#[test]
fn what_is_not_http2_is_told_so() {
    let fixture = Fixture::new();
    let hello = [0x16, 3, 1, 0, 0x80, 1, 0, 0, 0x7c, 3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.to_be_bytes()[0]
    })
    .take(100_000)
    .collect();
    for (what, octets) in [
        ("HTTP/1.1", &b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..]),
        ("HTTP/1.1 POST", &b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"[..]),
        ("TLS", &hello[..]),
        ("noise", &noise[..]),
        ("zeros", &[0; 5_000][..]),
    ] {
        let answer = answer_to(&fixture.tcp, octets);
        assert!(!answer.is_empty(), "{what} gets an answer");
        assert_serves(&fixture);
    }
}

#[test]
fn broken_http2_gets_a_goaway_with_the_reason() {
    let fixture = Fixture::new();
    // DATA on stream 0 is a connection error PROTOCOL_ERROR (RFC 9113 §6.1).
    let octets = [PREFACE, &frame(4, 0, 0, &[]), &frame(0, 0, 0, b"x")].concat();
    let (kind, _, _, payload) = frames(&answer_to(&fixture.tcp, &octets)).pop().unwrap();
    assert_eq!((kind, &payload[4..8]), (7, &[0, 0, 0, 1][..]), "GOAWAY(PROTOCOL_ERROR)");
    assert_serves(&fixture);
}

#[test]
fn unknown_methods_and_services_are_unimplemented() {
    let fixture = Fixture::new();
    let client = connect(&fixture.tcp).unwrap();
    for path in ["/hello.Greeter/SayGoodbye", "/nobody.Nothing/Never", "/hello.Greeter/sayHello"] {
        type Call<'c> = Request<'c, pintle_mio::Client, Prost<HelloRequest>, Prost<HelloReply>, kind::Unary>;
        let status = Call::unary(&client, path, request("x")).deadline(LONG).wait().unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{path}: {status}");
    }
    assert_serves(&fixture);
}

#[test]
fn messages_that_are_too_large_are_refused_on_either_side() {
    let fixture = Fixture::new();
    let client = GreeterClient::new(connect_local(&fixture.tcp).unwrap());
    // The server takes 4 MiB.
    let large = HelloRequest { blob: vec![0; 5 << 20].into(), ..request("large") };
    let status = client.say_hello(large.clone()).deadline(LONG).wait().unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert_eq!(client.say_hello(request("you")).deadline(LONG).wait().unwrap().message, "hello you");
    // A client that sends at most 1 MiB.
    let connect = || Connect::new().configure(|config| config.max_send_message = 1 << 20);
    let strict = GreeterClient::new(connect().client(&fixture.tcp).unwrap());
    assert_eq!(strict.say_hello(large.clone()).wait().unwrap_err().code(), Code::ResourceExhausted);
    let strict = GreeterClient::new(connect().local(&fixture.tcp).unwrap());
    assert_eq!(strict.say_hello(large).wait().unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(strict.say_hello(request("you")).wait().unwrap().message, "hello you");
}

#[test]
fn a_request_that_cannot_be_decoded_is_internal() {
    let fixture = Fixture::new();
    let client = connect_local(&fixture.tcp).unwrap();
    // Field 1 is a string, and 0xff no UTF-8.
    let octets = bytes::Bytes::from_static(&[0x0a, 1, 0xff]);
    let call = Request::<_, pintle_mio::codec::Raw, Prost<HelloReply>, kind::Unary>::unary(&client, "/hello.Greeter/SayHello", octets);
    assert_eq!(call.deadline(LONG).wait().unwrap_err().code(), Code::Internal);
    assert_serves(&fixture);
}

#[test]
fn addresses_in_use_or_taken_by_files_are_errors_that_say_so() {
    let fixture = Fixture::new();
    for address in fixture.addresses() {
        let error = Server::new().listen(address).expect_err(address);
        assert!(matches!(error, ServeError::Bind(BindError::InUse { .. })), "{error}");
        assert!(error.to_string().contains("in use") && error.to_string().contains(address), "{error}");
    }
    let path = std::env::temp_dir().join(format!("pintle-mio-{}-file", std::process::id()));
    fs::write(&path, "precious").unwrap();
    let error = Server::new().listen(&format!("unix:{}", path.display())).expect_err("it is a file");
    assert!(error.to_string().contains("not a socket"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
    let error = Server::new().listen("localhost").expect_err("no port");
    assert!(error.to_string().contains("localhost:50051"), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string(), "main() shows the same text");
    assert_serves(&fixture);
}

#[test]
fn servers_and_clients_that_cannot_work_say_why() {
    assert!(matches!(Server::new().spawn().err(), Some(ServeError::NoListener)));
    let server = Server::new().listen("127.0.0.1:0").unwrap().listen("localhost:0").unwrap();
    let addresses: Vec<String> = server.local_addresses().iter().map(ToString::to_string).collect();
    assert!(addresses.len() == 2 && addresses.iter().all(|address| !address.ends_with(":0")), "{addresses:?}");
    assert_eq!(server.spawn().unwrap().local_addresses().len(), 2);
    let none = |config: &mut Config| config.max_concurrent_streams = 0;
    let error = Server::new().listen("127.0.0.1:0").unwrap().configure(none).spawn().err().unwrap();
    assert!(error.to_string().contains("max_concurrent_streams"), "{error}");
    let (tell, _) = std::sync::mpsc::channel();
    let greeter = move || common::glue::GreeterServer::new(common::Greeter::new(tell.clone()));
    let error = Server::new().add(greeter.clone()).add(greeter).listen("127.0.0.1:0").unwrap().loops(2).spawn().err().unwrap();
    assert!(matches!(error, ServeError::Route(_)), "{error}");
    assert!(error.to_string().contains("/hello.Greeter/"), "{error}");

    let fixture = Fixture::new();
    let error = Connect::new().configure(none).client(&fixture.tcp).expect_err("no streams");
    assert!(matches!(error, ConnectError::Config(_)), "{error}");
    let error = connect("unix:/nowhere/to/be.sock").expect_err("no such socket");
    assert!(error.to_string().contains("/nowhere/to/be.sock"), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string(), "main() shows the same text");
    assert!(matches!(connect_local("https://localhost:1").expect_err("TLS"), ConnectError::Address(_)));
}

/// A request head by static-table indices (RFC 7541 Appendix A), `:path` and `content-type` as literals.
fn head(method: u8, path: &str, content_type: Option<&str>) -> Vec<u8> {
    let mut block = vec![method, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend(path.bytes());
    block.extend([0x01, 1, b'h']);
    if let Some(value) = content_type {
        block.extend([0x0f, 0x10, u8::try_from(value.len()).unwrap()]);
        block.extend(value.bytes());
    }
    block
}

/// A plain request on stream 1, which keeps to the server's windows, and what has come of it.
struct Plain {
    stream: TcpStream,
    /// What may still be sent: on the connection, and on the stream (RFC 9113 §6.9.2).
    windows: [i64; 2],
    /// The first octet of the response's head block; 0: none yet.
    first: u8,
    body: Vec<u8>,
    over: bool,
}

impl Plain {
    fn read_frame(&mut self) {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header).expect("a whole response");
        let mut payload = vec![0; u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize];
        self.stream.read_exact(&mut payload).expect("a whole response");
        let number = |octets: &[u8]| i64::from(u32::from_be_bytes(octets.try_into().unwrap()));
        match (header[3], header[8]) {
            (4, 0) => {
                for setting in payload.chunks(6).filter(|setting| setting[..2] == [0, 4]) {
                    self.windows[1] += number(&setting[2..]) - 65_535;
                }
            }
            (8, stream) => self.windows[usize::from(stream)] += number(&payload),
            (0, 1) => self.body.extend(&payload),
            (1, 1) if self.first == 0 => self.first = payload[0],
            (3, 1) => self.over = true,
            _ => {}
        }
        self.over |= header[3] <= 1 && header[8] == 1 && header[4] & 1 == 1;
    }
}

/// One plain request; the first octet of the response's head block (0: it was reset without one), and its body.
fn plain(address: &str, method: u8, path: &str, content_type: Option<&str>, body: &[u8]) -> (u8, Vec<u8>) {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut request = Plain { stream, windows: [65_535; 2], first: 0, body: Vec::new(), over: false };
    // Windows that let any answer through: SETTINGS_INITIAL_WINDOW_SIZE and one WINDOW_UPDATE.
    let settings = frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
    let credit = frame(8, 0, 0, &0x7000_0000_u32.to_be_bytes());
    let start = frame(1, if body.is_empty() { 5 } else { 4 }, 1, &head(method, path, content_type));
    request.stream.write_all(&[PREFACE, &settings, &credit, &start].concat()).unwrap();
    for (n, part) in body.chunks(16_384).enumerate() {
        while !request.over && request.windows.iter().any(|window| *window < part.len() as i64) {
            request.read_frame();
        }
        if request.over {
            break;
        }
        request.windows = request.windows.map(|window| window - part.len() as i64);
        request.stream.write_all(&frame(0, u8::from((n + 1) * 16_384 >= body.len()), 1, part)).unwrap();
    }
    while !request.over {
        request.read_frame();
    }
    (request.first, request.body)
}

const GET: u8 = 0x82;
const POST: u8 = 0x83;
/// `:status: 200` of the static table.
const OK: u8 = 0x88;

#[test]
fn plain_requests_reach_the_handler_and_others_are_refused() {
    let fixture = Fixture::with(|server| {
        server.http(|request| match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/healthz") => Some(HttpResponse::text("fine\n")),
            ("GET", "/big") => Some(HttpResponse::new(200, vec![1; 1_000_000])),
            ("GET", "/empty") => Some(HttpResponse::new(200, "")),
            ("POST", "/count") => Some(HttpResponse::text(request.body.len().to_string())),
            ("GET", "/panic") => panic!("this panic is part of the test"),
            ("GET", "/wrong") => Some(HttpResponse::new(7, "no such status")),
            _ => None,
        })
    });
    let get = |path| plain(&fixture.tcp, GET, path, None, b"");
    assert_eq!(get("/healthz"), (OK, b"fine\n".to_vec()));
    assert_eq!(get("/big"), (OK, vec![1; 1_000_000]));
    assert_eq!(get("/empty"), (OK, vec![]));
    let post = |path, size| plain(&fixture.tcp, POST, path, Some("text/plain"), &vec![0; size]);
    assert_eq!(post("/count", 3), (OK, b"3".to_vec()));
    assert_eq!(post("/count", 60_000), (OK, b"60000".to_vec()));
    // Everything else is not 200.
    for (first, _) in [get("/nothing"), post("/nothing", 3)] {
        assert_ne!(first, OK);
    }
    let (_, page) = post("/count", 2 << 20);
    assert!(String::from_utf8(page).unwrap().starts_with("the body is larger than"));
    // `:status: 500` of the static table.
    assert_eq!(get("/panic"), (0x8e, b"the handler panicked\n".to_vec()));
    assert_eq!(get("/wrong"), (0, vec![]), "what is no answer is a reset");
    assert_serves(&fixture);
    assert!(fixture.stop(Duration::from_secs(20)) < LONG);
}
