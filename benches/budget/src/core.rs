//! Calls and messages through the core alone: two connections, and octets that are carried from one to the other unmeasured.

use crate::meter::{
    Meter,
    Side::{self, Client, Server},
};
use bytes::Bytes;
use pintle_core::{
    CallId, CallOptions, Code, Config, Connection, Endpoint, Event, Payload, Recv, RequestHead, Routes, SendError, Shape, Status,
    Timestamp, Token,
};

const NOW: Timestamp = Timestamp::from_micros(1_000_000);
const UNARY: &str = "/pintle.budget.Echo/Unary";
const REPLIES: &str = "/pintle.budget.Echo/Replies";
const UPLOAD: &str = "/pintle.budget.Echo/Upload";
const SMALL: [u8; 8] = [7; 8];
/// Octets framed for one write.
const WRITE: usize = 256 << 10;

struct Pair {
    client: Connection,
    server: Connection,
    wire: Vec<u8>,
}

impl Pair {
    fn new(meter: &mut Meter) -> Self {
        let routes = [(UNARY, Shape::Unary), (REPLIES, Shape::ServerStreaming), (UPLOAD, Shape::ClientStreaming)];
        let (config, routes) = (Config::default(), Routes::new(routes).expect("valid paths"));
        let (client, server) = (Connection::client(&config, NOW), Connection::server(&config, routes, NOW));
        let mut pair = Self { client, server, wire: Vec::new() };
        pair.exchange(meter);
        pair
    }

    /// Until neither has more to say.
    fn exchange(&mut self, meter: &mut Meter) {
        while self.client.wants().write || self.server.wants().write {
            self.carry(meter, Client);
            self.carry(meter, Server);
        }
    }

    /// What one side has to write, whole, to the other.
    fn carry(&mut self, meter: &mut Meter, from: Side) {
        let (near, far, to) = match from {
            Client => (&mut self.client, &mut self.server, Server),
            Server => (&mut self.server, &mut self.client, Client),
        };
        self.wire.clear();
        while near.wants().write {
            let source = &mut *near;
            let mut lent = meter.section(from, move || source.transmit(NOW, WRITE));
            let mut runs: [&[u8]; 64] = [&[]; 64];
            let used = meter.section(from, || lent.chunks(&mut runs));
            let before = self.wire.len();
            runs[..used].iter().for_each(|run| self.wire.extend_from_slice(run));
            meter.section(from, || lent.advance(self.wire.len() - before));
        }
        if !self.wire.is_empty() {
            meter.section(to, || far.recv_slice(NOW, &self.wire));
        }
    }

    fn unary(&mut self, meter: &mut Meter, ids: &mut Vec<CallId>, calls: u32, message: &Bytes) {
        meter.section(Client, || ids.extend((0..calls).map(|_| start_unary(&mut self.client, message))));
        self.carry(meter, Client);
        meter.section(Server, || answer(&mut self.server));
        self.exchange(meter);
        meter.section(Client, || {
            while self.client.poll_event().is_some() {}
            ids.drain(..).for_each(|id| finished(&mut self.client, id, message.len()));
        });
        self.exchange(meter);
    }

    /// One call with so many replies.
    fn replies(&mut self, meter: &mut Meter, messages: u32) {
        let id = meter.section(Client, || {
            let id = start(&mut self.client, REPLIES, Shape::ServerStreaming);
            send(&mut self.client, id, &Bytes::from_static(&SMALL)).expect("room");
            self.client.call(id).expect("live").close_send().expect("open");
            id
        });
        self.carry(meter, Client);
        let serving = meter.section(Server, || accept(&mut self.server));
        let (mut sent, mut received) = (0, 0);
        while received < messages {
            sent += meter.section(Server, || send_small(&mut self.server, serving, messages - sent));
            self.exchange(meter);
            received += meter.section(Client, || take(&mut self.client, id));
            self.exchange(meter);
        }
        meter.section(Server, || self.server.call(serving).expect("live").finish(&Status::ok(), None));
        self.exchange(meter);
        meter.section(Client, || {
            while self.client.poll_event().is_some() {}
            ended(&mut self.client, id);
        });
        while self.server.poll_event().is_some() {}
    }

    /// One call with so many requests.
    fn upload(&mut self, meter: &mut Meter, messages: u32) {
        let id = meter.section(Client, || start(&mut self.client, UPLOAD, Shape::ClientStreaming));
        self.carry(meter, Client);
        let serving = meter.section(Server, || accept(&mut self.server));
        let (mut sent, mut received) = (0, 0);
        while received < messages {
            sent += meter.section(Client, || send_small(&mut self.client, id, messages - sent));
            self.exchange(meter);
            received += meter.section(Server, || take(&mut self.server, serving));
            self.exchange(meter);
        }
        meter.section(Client, || self.client.call(id).expect("live").close_send().expect("open"));
        self.exchange(meter);
        meter.section(Server, || {
            while self.server.poll_event().is_some() {}
            let mut call = self.server.call(serving).expect("live");
            assert!(matches!(call.recv(), Recv::End));
            call.reply_with(SMALL.len(), |out| out.extend_from_slice(&SMALL));
        });
        self.exchange(meter);
        meter.section(Client, || {
            while self.client.poll_event().is_some() {}
            finished(&mut self.client, id, SMALL.len());
        });
    }
}

fn start(client: &mut Connection, path: &'static str, shape: Shape) -> CallId {
    client.start(NOW, RequestHead::new(Bytes::from_static(path.as_bytes()), shape), CallOptions::default()).expect("below the limit")
}

fn start_unary(client: &mut Connection, message: &Bytes) -> CallId {
    let id = start(client, UNARY, Shape::Unary);
    send(client, id, message).expect("room for the first");
    id
}

/// As codecs do: a small message is written in place, a large one is lent.
fn send(conn: &mut Connection, id: CallId, message: &Bytes) -> Result<(), SendError<()>> {
    let mut call = conn.call(id).expect("live");
    if message.len() < 4_096 {
        return call.send_with(message.len(), |out| out.extend_from_slice(message));
    }
    call.send(Payload::from(message.clone())).map_err(|error| match error {
        SendError::Blocked(_) => SendError::Blocked(()),
        error => panic!("{error:?}"),
    })
}

/// Sends until it is told to wait; how many.
fn send_small(conn: &mut Connection, id: CallId, most: u32) -> u32 {
    while conn.poll_event().is_some() {}
    let message = Bytes::from_static(&SMALL);
    for sent in 0..most {
        match send(conn, id, &message) {
            Ok(()) => {}
            Err(SendError::Blocked(())) => return sent,
            Err(error) => panic!("{error:?}"),
        }
    }
    most
}

/// Takes all messages that are there; how many.
fn take(conn: &mut Connection, id: CallId) -> u32 {
    while conn.poll_event().is_some() {}
    let mut call = conn.call(id).expect("live");
    let mut taken = 0;
    while let Recv::Message(message) = call.recv() {
        assert_eq!(message.payload.into_bytes(), &SMALL[..]);
        taken += 1;
    }
    taken
}

fn accept(server: &mut Connection) -> CallId {
    let Some(Event::Incoming { call: id }) = server.poll_event() else { panic!("a request came") };
    server.accept(id, Token(0)).expect("it is there");
    id
}

/// Answers every call that came with its own message.
fn answer(server: &mut Connection) {
    while let Some(event) = server.poll_event() {
        let Event::Incoming { call: id } = event else { continue };
        let (_, mut call) = server.accept_call(id, Token(0)).expect("it is there");
        let Recv::Message(message) = call.recv() else { panic!("a unary request comes whole") };
        let message = message.payload.into_bytes();
        if message.len() < 4_096 {
            call.reply_with(message.len(), |out| out.extend_from_slice(&message));
        } else {
            call.send(Payload::from(message)).expect("room for the first");
            call.finish(&Status::ok(), None);
        }
    }
}

fn finished(client: &mut Connection, id: CallId, octets: usize) {
    let mut call = client.call(id).expect("live");
    let Recv::Message(message) = call.recv() else { panic!("the reply is there") };
    assert_eq!(message.payload.len(), octets);
    ended(client, id);
}

fn ended(client: &mut Connection, id: CallId) {
    let mut call = client.call(id).expect("live");
    assert!(matches!(call.recv(), Recv::End));
    assert_eq!(call.take_outcome().expect("it has ended").status.code(), Code::Ok);
}

/// Unary calls, so many at once; how many in all.
pub(crate) fn unary<const AT_ONCE: u32, const OCTETS: usize, const BATCHES: u32>(meter: &mut Meter) -> u32 {
    let (mut pair, mut ids) = (Pair::new(meter), Vec::new());
    let message = Bytes::from(vec![7; OCTETS]);
    (0..20).for_each(|_| pair.unary(meter, &mut ids, AT_ONCE, &message));
    meter.start();
    (0..BATCHES).for_each(|_| pair.unary(meter, &mut ids, AT_ONCE, &message));
    AT_ONCE * BATCHES
}

/// Replies of one call, so many.
pub(crate) fn replies<const MESSAGES: u32>(meter: &mut Meter) -> u32 {
    let mut pair = Pair::new(meter);
    pair.replies(meter, MESSAGES);
    meter.start();
    pair.replies(meter, MESSAGES);
    MESSAGES
}

/// Requests of one call, so many.
pub(crate) fn upload<const MESSAGES: u32>(meter: &mut Meter) -> u32 {
    let mut pair = Pair::new(meter);
    pair.upload(meter, MESSAGES);
    meter.start();
    pair.upload(meter, MESSAGES);
    MESSAGES
}
