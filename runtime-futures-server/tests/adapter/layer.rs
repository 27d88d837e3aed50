//! A layer on the Endpoint seam that does what TLS does: it expands, it must write before it can read, and it
//! holds octets back for a while. The four shapes go through it on both executors.

use crate::common::{
    MODES, Mode, MyGreeter, Options, TestServer,
    greeter::{GreeterClient, GreeterServer, HelloRequest, Note},
    joined, socket_path, soon,
};
use crate::rt;
use pintle::{Code, Config, Connect, Connection, Peer, Server, connect_layered};
use pintle_core::{Endpoint, Timestamp, Transmit, Wants, tx::Outbox};
use pintle_futures::{Layer, Layered};
use std::{future::IntoFuture, sync::mpsc, time::Duration};

/// Each octet travels as two (itself and its complement), in records of at most 1,000 octets behind a length. The first
/// record is a hello: nothing else is sent or understood before both were exchanged.
struct Doubling {
    inner: Connection,
    out: Outbox,
    hello_sent: bool,
    hello_seen: bool,
    /// Octets of a record that is not complete.
    partial: Vec<u8>,
    /// A record waits until then before it is sealed.
    hold: Hold,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Nothing is held; the next octets will be.
    Idle,
    Until(Timestamp),
    /// What there is may go.
    Over,
}

/// Short, so that hundreds of records pass in a test.
const DELAY: Duration = Duration::from_micros(100);

const HELLO: &[u8] = b"doubling layer 1";
const RECORD: usize = 1_000;

impl Doubling {
    fn new(inner: Connection) -> Self {
        Self { inner, out: Outbox::default(), hello_sent: false, hello_seen: false, partial: Vec::new(), hold: Hold::Idle }
    }

    /// Octets of the inner endpoint wait for a record.
    fn waits(&self) -> bool {
        self.hello_seen && self.out.is_empty() && self.inner.wants().write
    }

    fn seal(&mut self, octets: &[u8]) {
        let mut record = (octets.len() as u16).to_be_bytes().to_vec();
        record.extend(octets.iter().flat_map(|octet| [*octet, !*octet]));
        self.out.extend(&record);
    }

    /// The octets of the next complete record.
    fn open(&mut self) -> Option<Vec<u8>> {
        let len = usize::from(u16::from_be_bytes([*self.partial.first()?, *self.partial.get(1)?]));
        let record = self.partial.get(2..2 + 2 * len)?;
        assert!(record.chunks(2).all(|pair| pair[0] == !pair[1]), "the layer below garbled the octets");
        let octets = record.chunks(2).map(|pair| pair[0]).collect();
        self.partial.drain(..2 + 2 * len);
        Some(octets)
    }
}

impl Endpoint for Doubling {
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        self.partial.extend_from_slice(octets);
        while let Some(record) = self.open() {
            if self.hello_seen {
                self.inner.recv_slice(now, &record);
            } else {
                assert_eq!(record, HELLO);
                self.hello_seen = true;
            }
        }
    }

    fn recv_eof(&mut self, now: Timestamp) {
        self.inner.recv_eof(now);
    }

    fn read_target(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn filled(&mut self, _now: Timestamp, _n: usize) {
        unreachable!("there was no target");
    }

    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        if !self.hello_sent {
            self.hello_sent = true;
            self.seal(HELLO);
        }
        if self.hello_seen && self.out.is_empty() && self.hold == Hold::Over {
            self.hold = Hold::Idle;
            let mut plain = [0; RECORD];
            let n = self.inner.transmit(now, budget.min(RECORD)).copy_to(&mut plain);
            if n > 0 {
                self.seal(&plain[..n]);
            }
        }
        self.out.lend()
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.inner.handle_timeout(now);
        match self.hold {
            Hold::Idle if self.waits() => self.hold = Hold::Until(now.saturating_add(DELAY)),
            Hold::Until(at) if at <= now => self.hold = Hold::Over,
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        let mut wants = self.inner.wants();
        // A record that waits and has no instant yet gets it at once: only `handle_timeout` knows the time.
        let delay = match self.hold {
            Hold::Idle if self.waits() => Some(Timestamp::from_micros(0)),
            Hold::Until(at) => Some(at),
            _ => None,
        };
        wants.deadline = [wants.deadline, delay].into_iter().flatten().min();
        wants.write = !self.hello_sent || !self.out.is_empty() || (self.waits() && self.hold == Hold::Over);
        wants
    }

    fn conn(&self) -> &Connection {
        &self.inner
    }

    fn conn_mut(&mut self) -> &mut Connection {
        &mut self.inner
    }
}

fn request(name: &str, count: u32) -> HelloRequest {
    HelloRequest { name: name.to_owned(), count }
}

/// Serves one connection of the layer over a pipe whose buffer holds `buffer` octets.
fn serve(mode: Mode, io: rt::Pipe) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (reports, _kept) = mpsc::channel();
        let service = GreeterServer::new(MyGreeter { reports, flooded: Default::default() });
        let peer = Peer::Other("a pipe".into());
        match mode {
            Mode::Spawn => {
                let server = Server::new().add(service).connections().unwrap();
                rt::run(server.serve_layered(io, peer, Doubling::new));
            }
            Mode::Inline => {
                let server = Server::inline().add(service).connections().unwrap();
                rt::run(server.serve_layered(io, peer, Doubling::new));
            }
        }
    })
}

#[test]
fn four_shapes_through_a_layer() {
    rt::run(async {
        for mode in MODES {
            // Through a pipe of 7 octets everything is cut into pieces, and less of it is enough.
            for (buffer, scale) in [(64 << 10, 10), (7, 1)] {
                let (ours, theirs) = rt::pipe(buffer);
                let server = serve(mode, theirs);
                let client = GreeterClient::new(connect_layered(ours, &Config::default(), Doubling::new));
                soon(&format!("{mode:?}, buffer {buffer}"), shapes(&client, scale)).await;
                assert_eq!(client.say_hello(request("peer", 0)).await.unwrap().message, "a pipe");
                drop(client);
                soon("the server's end", joined(server)).await;
            }
        }
    });
}

/// Said once, for every connection that a server accepts and a client makes.
#[test]
fn four_shapes_through_the_layers_of_a_server_and_a_client() {
    rt::run(async {
        for mode in MODES {
            let layer: fn(Connection) -> Layered = |connection| Layer::new(Doubling::new).wrap(connection);
            let path = format!("unix:{}", socket_path(&format!("layer-{mode:?}")));
            let listen = vec!["127.0.0.1:0".to_owned(), path];
            let server = TestServer::with(mode, Options { listen, layer: Some(layer), ..Options::default() });
            for address in &server.addresses {
                let connect = Connect::new(address).unwrap().layer(Doubling::new);
                let client = GreeterClient::new(soon("connect", connect.connect()).await.unwrap());
                soon(&format!("{mode:?} over {address}"), shapes(&client, 1)).await;
            }
            // Who does not know the layer is not understood.
            let bare = GreeterClient::connect(server.address()).await.unwrap();
            assert_eq!(soon("bare", bare.say_hello(request("x", 0)).into_future()).await.unwrap_err().code(), Code::Unavailable);
        }
    });
}

async fn shapes(client: &GreeterClient, scale: u32) {
    let reply = client.say_hello(request("World", scale * 10_000)).await.unwrap();
    assert_eq!(reply.message.len(), "Hello World".len() + scale as usize * 10_000);
    assert_eq!(client.say_hello(request("fail", 0)).await.unwrap_err().code(), Code::NotFound);

    let mut replies = client.lots_of_replies(request("n", scale * 10)).await.unwrap();
    for number in 0..scale * 10 {
        assert_eq!(replies.next().await.unwrap().unwrap().message, format!("n {number}"));
    }
    assert_eq!(replies.next().await.unwrap(), None);

    let (mut out, reply) = client.lots_of_greetings().open().await.unwrap();
    for _ in 0..scale * 10 {
        out.send(request("a", 0)).await.unwrap();
    }
    out.close();
    assert_eq!(reply.await.unwrap().message.len(), scale as usize * 20 - 1);

    let (mut out, mut input) = client.chat().open().await.unwrap();
    for number in 0..2 * scale as usize {
        out.send(Note { text: number.to_string(), data: vec![1; number * 500].into() }).await.unwrap();
        let echo = input.next().await.unwrap().unwrap();
        assert_eq!((echo.text, echo.data.len()), (format!("re: {number}"), number * 500));
    }
    out.close();
    assert_eq!(input.next().await.unwrap(), None);
    let held = client.say_hello(request("wait", 0)).into_future().await;
    assert_eq!(held.unwrap().message, "Hello wait");
}
