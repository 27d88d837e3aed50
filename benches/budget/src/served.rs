//! Calls and messages through the mio server: its loop on this thread, a Unix socket, and a client made of the core, unmeasured.
//!
//! Client and server take turns: a batch is written in one go, the server has its turns until it is answered, then comes the next. So what
//! shares a read or a write is the same in each run.

use crate::meter::{Meter, Side::Server};
use bytes::{Buf, BufMut, Bytes};
use mio::{Events, Poll};
use pintle_core::{CallId, CallOptions, Code, Config, Connection, Endpoint, Payload, Recv, RequestHead, SendError};
use pintle_mio::{EmbeddedServer, Incoming, Method, Receiver, Service, Shape, Unary, codec::Prost, now};
use prost::{
    DecodeError, Message,
    encoding::{self, DecodeContext, WireType},
};
use std::{
    env, fs,
    io::{ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process,
    time::Duration,
};

/// `bytes payload = 1`, as prost's derive writes it; without what builds the derive.
#[derive(Debug, Clone, Default)]
struct Blob {
    payload: Bytes,
}

impl Message for Blob {
    fn encode_raw(&self, out: &mut impl BufMut) {
        if !self.payload.is_empty() {
            encoding::bytes::encode(1, &self.payload, out);
        }
    }

    fn merge_field(&mut self, tag: u32, wire_type: WireType, octets: &mut impl Buf, cx: DecodeContext) -> Result<(), DecodeError> {
        match tag {
            1 => encoding::bytes::merge(wire_type, &mut self.payload, octets, cx),
            _ => encoding::skip_field(wire_type, tag, octets, cx),
        }
    }

    fn encoded_len(&self) -> usize {
        if self.payload.is_empty() { 0 } else { encoding::bytes::encoded_len(1, &self.payload) }
    }

    fn clear(&mut self) {
        self.payload.clear();
    }
}

const METHODS: [Method; 3] = [
    Method::new("/pintle.budget.Echo/Unary", Shape::Unary),
    Method::new("/pintle.budget.Echo/Replies", Shape::ServerStreaming),
    Method::new("/pintle.budget.Echo/Upload", Shape::ClientStreaming),
];
const UNARY: usize = 0;
const REPLIES: usize = 1;
const UPLOAD: usize = 2;

/// Unary: the request comes back. Replies: it comes back for ever. Upload: the last request comes back.
struct Echo;

impl Service for Echo {
    fn methods(&self) -> &'static [Method] {
        &METHODS
    }

    fn call(&mut self, method: usize, call: Incoming) {
        match method {
            UNARY => call.unary::<Prost<Blob>, Prost<Blob>>(|request, call| call.reply(request)),
            REPLIES => call.server_streaming::<Prost<Blob>, Prost<Blob>>(|request, out| {
                out.produce(move |out| while out.send(request.clone()).is_ok() {});
            }),
            UPLOAD => call.client_streaming::<Prost<Blob>, Prost<Blob>>(|call| Box::new(Last { call: Some(call), request: None })),
            _ => call.unimplemented(),
        }
    }
}

struct Last {
    call: Option<Unary<Blob, Prost<Blob>>>,
    request: Option<Blob>,
}

impl Receiver<Blob> for Last {
    fn on_message(&mut self, request: Blob) {
        self.request = Some(request);
    }
    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(self.request.take().unwrap_or_default());
        }
    }
}

struct World {
    poll: Poll,
    events: Events,
    server: EmbeddedServer,
    path: PathBuf,
    socket: UnixStream,
    client: Connection,
    wire: Vec<u8>,
    buffer: Vec<u8>,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl World {
    fn new(meter: &mut Meter) -> Self {
        let path = env::temp_dir().join(format!("pintle-budget-{}.sock", process::id()));
        let poll = Poll::new().expect("epoll");
        let server = pintle_mio::Server::new().add(|| Echo).listen(&format!("unix:{}", path.display())).expect("a free path");
        let server = server.embed(poll.registry(), ..).expect("tokens");
        let socket = UnixStream::connect(&path).expect("it listens");
        socket.set_nonblocking(true).expect("a fresh socket");
        let client = Connection::client(&Config::default(), now());
        let (events, buffer) = (Events::with_capacity(64), vec![0; 1 << 20]);
        let mut world = Self { poll, events, server, path, socket, client, wire: Vec::new(), buffer };
        // Accepting, and greetings both ways.
        (0..4).for_each(|_| world.turn(meter));
        world
    }

    /// The client writes all that it has to say, the server has its turn, and the client reads all of the answer.
    fn turn(&mut self, meter: &mut Meter) {
        self.wire.clear();
        while self.client.wants().write {
            let mut lent = self.client.transmit(now(), 256 << 10);
            let mut runs: [&[u8]; 64] = [&[]; 64];
            let used = lent.chunks(&mut runs);
            let before = self.wire.len();
            runs[..used].iter().for_each(|run| self.wire.extend_from_slice(run));
            let octets = self.wire.len() - before;
            lent.advance(octets);
        }
        let mut octets = &self.wire[..];
        loop {
            let written = if octets.is_empty() { 0 } else { write(&mut self.socket, octets) };
            octets = &octets[written..];
            meter.section(Server, || {
                self.poll.poll(&mut self.events, Some(Duration::ZERO)).expect("epoll");
                for event in &self.events {
                    self.server.handle(event);
                }
                self.server.turn();
            });
            if octets.is_empty() {
                break;
            }
        }
        loop {
            match self.socket.read(&mut self.buffer) {
                Ok(0) => panic!("the server closed: {:?}", self.client.close_reason()),
                Ok(n) => self.client.recv_slice(now(), &self.buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        while self.client.poll_event().is_some() {}
    }

    fn start(&mut self, method: usize) -> CallId {
        let head = RequestHead::new(METHODS[method].path, METHODS[method].shape);
        self.client.start(now(), head, CallOptions::default()).expect("below the limit")
    }

    fn unary(&mut self, meter: &mut Meter, calls: u32, message: &Bytes) {
        let ids: Vec<CallId> = (0..calls).map(|_| self.start(UNARY)).collect();
        for id in &ids {
            self.client.call(*id).expect("live").send(Payload::from(message.clone())).expect("room for the first");
        }
        for id in ids {
            let reply = self.reply(meter, id);
            assert_eq!(&reply, message);
        }
        // What only now is due, such as credit.
        while self.client.wants().write {
            self.turn(meter);
        }
    }

    fn reply(&mut self, meter: &mut Meter, id: CallId) -> Bytes {
        let mut reply = None;
        for _ in 0..100_000 {
            let mut call = self.client.call(id).expect("live");
            match call.recv() {
                Recv::Message(message) => reply = Some(message.payload.into_bytes()),
                Recv::End => {
                    let outcome = call.take_outcome().expect("it has ended");
                    assert_eq!(outcome.status.code(), Code::Ok, "{}", outcome.status);
                    return reply.expect("a message before the status");
                }
                Recv::Pending => self.turn(meter),
            }
        }
        panic!("no reply");
    }

    /// Replies of one call: the first so many are taken, what was sent beyond is counted, too. Then it is cancelled.
    fn replies(&mut self, meter: &mut Meter, wanted: u32, message: &Bytes) -> u32 {
        let id = self.start(REPLIES);
        self.client.call(id).expect("live").send(Payload::from(message.clone())).expect("room for the first");
        let mut taken = 0;
        while taken < wanted {
            self.turn(meter);
            while let Recv::Message(reply) = self.client.call(id).expect("live").recv() {
                assert_eq!(reply.payload.len(), message.len());
                taken += 1;
            }
        }
        self.client.call(id).expect("live").cancel();
        (0..4).for_each(|_| self.turn(meter));
        taken
    }

    fn upload(&mut self, meter: &mut Meter, messages: u32, message: &Bytes) {
        let id = self.start(UPLOAD);
        let mut sent = 0;
        while sent < messages {
            match self.client.call(id).expect("live").send(Payload::from(message.clone())) {
                Ok(()) => sent += 1,
                Err(SendError::Blocked(_)) => self.turn(meter),
                Err(error) => panic!("{error:?}"),
            }
        }
        self.client.call(id).expect("live").close_send().expect("open");
        assert_eq!(&self.reply(meter, id), message);
    }
}

/// 0: there is no room.
fn write(socket: &mut UnixStream, octets: &[u8]) -> usize {
    match socket.write(octets) {
        Ok(n) => n,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

/// A message as it is on the wire.
fn message(octets: usize) -> Bytes {
    Blob { payload: Bytes::from(vec![7; octets]) }.encode_to_vec().into()
}

/// Unary calls, so many at once; how many in all.
pub(crate) fn unary<const AT_ONCE: u32, const OCTETS: usize, const BATCHES: u32>(meter: &mut Meter) -> u32 {
    let (mut world, message) = (World::new(meter), message(OCTETS));
    (0..20).for_each(|_| world.unary(meter, AT_ONCE, &message));
    meter.start();
    (0..BATCHES).for_each(|_| world.unary(meter, AT_ONCE, &message));
    AT_ONCE * BATCHES
}

/// Replies of one call, so many or a few more.
pub(crate) fn replies<const MESSAGES: u32>(meter: &mut Meter) -> u32 {
    let (mut world, message) = (World::new(meter), message(8));
    world.replies(meter, MESSAGES, &message);
    meter.start();
    world.replies(meter, MESSAGES, &message)
}

/// Requests of one call, so many.
pub(crate) fn upload<const MESSAGES: u32>(meter: &mut Meter) -> u32 {
    let (mut world, message) = (World::new(meter), message(8));
    world.upload(meter, MESSAGES, &message);
    meter.start();
    world.upload(meter, MESSAGES, &message);
    MESSAGES
}
