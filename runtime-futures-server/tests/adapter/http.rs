//! Plain HTTP/2 on the raw floor, spoken by hand.

use crate::common::{LIMIT, MODES, Options, TestServer, wire};
use std::{
    io::{Read, Write},
    net::TcpStream,
};

/// A client made of octets.
struct Hand {
    stream: TcpStream,
}

/// What a response is made of.
#[derive(Debug, Default)]
struct Answer {
    block: Vec<u8>,
    body: Vec<u8>,
}

impl Hand {
    fn connect(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(&wire::hello(16 << 20)).unwrap();
        Self { stream }
    }

    /// One request and its answer, on stream `id`.
    fn ask(&mut self, id: u32, method: &str, path: &str, content_type: Option<&str>, body: &[u8]) -> Answer {
        let mut block = Vec::new();
        let fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "x")];
        for (name, value) in fields.into_iter().chain(content_type.map(|value| ("content-type", value))) {
            wire::field(&mut block, name, value);
        }
        let mut octets = Vec::new();
        let end = |last| if last { wire::END_STREAM } else { 0 };
        wire::frame(&mut octets, wire::HEADERS, wire::END_HEADERS | end(body.is_empty()), id, &block);
        let mut chunks = body.chunks(16_384).peekable();
        while let Some(chunk) = chunks.next() {
            wire::frame(&mut octets, wire::DATA, end(chunks.peek().is_none()), id, chunk);
        }
        self.stream.write_all(&octets).unwrap();
        self.answer(id)
    }

    fn answer(&mut self, id: u32) -> Answer {
        let mut answer = Answer::default();
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).unwrap();
            let (len, kind, flags, stream) = wire::head(&head);
            let mut payload = vec![0; len];
            self.stream.read_exact(&mut payload).unwrap();
            if stream != id {
                continue;
            }
            match kind {
                wire::HEADERS => answer.block.extend(&payload),
                wire::DATA => answer.body.extend(&payload),
                wire::RST_STREAM => return answer,
                _ => continue,
            }
            if flags & wire::END_STREAM != 0 {
                return answer;
            }
        }
    }
}

impl Answer {
    /// The first field of a response is `:status`, RFC 9113 §8.3: indexed (RFC 7541 Appendix A) or a literal of 3 digits.
    fn status(&self) -> u16 {
        match self.block.first() {
            Some(0x88) => 200,
            Some(0x8c) => 400,
            Some(0x8d) => 404,
            Some(0x8e) => 500,
            _ => {
                let len = usize::from(self.block[1] & 0x7f);
                let text =
                    if self.block[1] & 0x80 != 0 { huffman_digits(&self.block[2..2 + len]) } else { self.block[2..2 + len].to_vec() };
                String::from_utf8(text).unwrap().parse().unwrap()
            }
        }
    }
}

/// RFC 7541 Appendix B, digits only: 0 to 2 have 5 bits (00000 ..), 3 to 9 have 6 (011001 ..).
fn huffman_digits(octets: &[u8]) -> Vec<u8> {
    let bits: Vec<u8> = octets.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1)).collect();
    let value = |bits: &[u8]| bits.iter().fold(0, |value, bit| value << 1 | bit);
    let mut digits = Vec::new();
    let mut rest = &bits[..];
    while rest.len() >= 5 {
        let five = value(&rest[..5]);
        if five < 3 {
            digits.push(b'0' + five);
            rest = &rest[5..];
        } else if rest.len() >= 6 && (25..=31).contains(&value(&rest[..6])) {
            digits.push(b'3' + value(&rest[..6]) - 25);
            rest = &rest[6..];
        } else {
            break;
        }
    }
    digits
}

#[test]
fn plain_requests_are_answered_by_the_handler() {
    for mode in MODES {
        let server = TestServer::with(mode, Options { http: true, ..Options::default() });
        let mut hand = Hand::connect(server.address());

        let health = hand.ask(1, "GET", "/healthz", None, b"");
        assert_eq!((health.status(), &health.body[..]), (200, &b"fine\n"[..]));

        let large = hand.ask(3, "GET", "/large", None, b"");
        assert_eq!((large.status(), large.body.len()), (200, 3 << 20));

        let body: Vec<u8> = (0..50_000).map(|n| n as u8).collect();
        let echo = hand.ask(5, "PUT", "/echo", Some("text/plain"), &body);
        assert_eq!((echo.status(), echo.body == body), (200, true));
        let too_large = hand.ask(7, "PUT", "/echo", Some("text/plain"), &[0; 100_000]);
        assert_eq!(too_large.status(), 413);

        let panic = hand.ask(9, "GET", "/panic", None, b"");
        assert_eq!(panic.status(), 500);

        // What the handler leaves, a gRPC server refuses: PROTOCOL-HTTP2, "Requests".
        let wrong = hand.ask(11, "POST", "/helloworld.Greeter/SayHello", Some("text/plain"), b"hi");
        assert_eq!(wrong.status(), 415);
        let nothing = hand.ask(13, "GET", "/nothing", None, b"");
        assert!((400..500).contains(&nothing.status()), "{nothing:?}");
    }
}

#[test]
fn without_a_handler_plain_requests_are_refused() {
    for mode in MODES {
        let server = TestServer::start(mode);
        let mut hand = Hand::connect(server.address());
        let wrong = hand.ask(1, "POST", "/helloworld.Greeter/SayHello", Some("text/plain"), b"hi");
        assert_eq!(wrong.status(), 415);
        let get = hand.ask(3, "GET", "/healthz", None, b"");
        assert!((400..500).contains(&get.status()), "{get:?}");
    }
}
