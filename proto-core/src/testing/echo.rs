//! A service with one method of each shape and a client for it, on nothing but the public API.
//!
//! - `Unary` answers with the request's payload.
//! - `Collect` (client streaming) answers with the number of messages and the sum of their lengths.
//! - `Expand` (server streaming) is asked for `count` messages of `size` octets and sends them (at most 1,000 of 300,000).
//! - `Chat` (bidirectional) sends every message back.
//!
//! All end with OK and the trailer `x-echo: done`, or with the status that `x-status` of the request names.

use super::{pair::Pair, places::Place, referee::CLIENT, referee::SERVER, rng::Rng};
use crate::{
    CallId, CallOptions, Code, Connection, Event, Metadata, Outcome, Payload, Recv, RequestHead, Routes, SendError, Shape, Status,
    Timestamp, Token,
};
use alloc::{collections::VecDeque, format, string::String, vec::Vec};
use bytes::Bytes;

/// The four methods, in the order of [`shape_number`].
pub const METHODS: [(&str, Shape); 4] = [
    ("/pintle.test.Echo/Unary", Shape::Unary),
    ("/pintle.test.Echo/Collect", Shape::ClientStreaming),
    ("/pintle.test.Echo/Expand", Shape::ServerStreaming),
    ("/pintle.test.Echo/Chat", Shape::Bidi),
];

/// The service's routes.
///
/// # Panics
/// Never: the paths above are valid.
#[must_use]
pub fn routes() -> Routes {
    Routes::new(METHODS).expect("four different, valid paths")
}

/// The position of a shape's method in [`METHODS`].
#[must_use]
pub const fn shape_number(shape: Shape) -> usize {
    match shape {
        Shape::Unary => 0,
        Shape::ClientStreaming => 1,
        Shape::ServerStreaming => 2,
        Shape::Bidi => 3,
    }
}

/// A payload of `len` octets that belongs to `seed` alone.
#[must_use]
pub fn pattern(seed: u64, len: usize) -> Bytes {
    let mut rng = Rng::new(seed);
    let mut octets = Vec::with_capacity(len + 7);
    while octets.len() < len {
        octets.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    octets.truncate(len);
    Bytes::from(octets)
}

/// The request of `Expand`.
#[must_use]
pub fn expand_request(count: u32, size: u32) -> Bytes {
    Bytes::from([count.to_be_bytes(), size.to_be_bytes()].concat())
}

/// How many messages of which size a request of `Expand` asks for; anybody may ask for anything, so at most 1,000 of 300,000 octets.
fn order(payload: &[u8]) -> (u32, u32) {
    (super::wire::word(payload, 0).min(1_000), super::wire::word(payload, 4).min(300_000))
}

/// The messages that `Expand` sends.
#[must_use]
pub fn expanded(index: u32, size: u32) -> Bytes {
    pattern(u64::from(index) << 32 | u64::from(size), size as usize)
}

/// What a server call is doing.
#[derive(Debug)]
struct Serving {
    call: CallId,
    shape: Shape,
    received: u32,
    octets: u32,
    /// Messages to send, in order; the first may have been refused before.
    replies: VecDeque<Bytes>,
    /// `Expand`: next index, how many, how large.
    expand: Option<(u32, u32, u32)>,
    ended: bool,
    status: Code,
}

/// The service.
#[derive(Debug, Default)]
pub struct EchoServer {
    calls: Vec<Option<Serving>>,
}

impl EchoServer {
    /// Calls that are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.calls.iter().flatten().count()
    }

    /// Reacts to one event.
    pub fn on_event(&mut self, conn: &mut Connection, event: Event) {
        match event {
            Event::Incoming { call } => self.accept(conn, call),
            Event::Readable { call, .. } | Event::Writable { call, .. } => self.work(conn, call),
            Event::Finished { call, .. } => {
                if let Ok(view) = conn.call(call) {
                    view.cancel();
                }
                self.forget(call);
            }
            _ => {}
        }
    }

    fn accept(&mut self, conn: &mut Connection, call: CallId) {
        let Some(accepted) = conn.accept(call, Token(call.slot() as u64)) else { return };
        let status = conn
            .call(call)
            .ok()
            .and_then(|view| view.metadata().get("x-status").and_then(|text| text.parse().ok()))
            .map_or(Code::Ok, Code::from_u32);
        if self.calls.len() <= call.slot() {
            self.calls.resize_with(call.slot() + 1, || None);
        }
        let serving =
            Serving { call, shape: accepted.shape, received: 0, octets: 0, replies: VecDeque::new(), expand: None, ended: false, status };
        self.calls[call.slot()] = Some(serving);
        self.work(conn, call);
    }

    fn forget(&mut self, call: CallId) {
        if let Some(entry) = self.calls.get_mut(call.slot())
            && entry.as_ref().is_some_and(|serving| serving.call == call)
        {
            *entry = None;
        }
    }

    fn work(&mut self, conn: &mut Connection, call: CallId) {
        let Some(Some(serving)) = self.calls.get_mut(call.slot()) else { return };
        if serving.call != call {
            return;
        }
        if serving.turn(conn) {
            self.forget(call);
        }
    }
}

impl Serving {
    /// Sends what waits, then reads more; true once the call is finished.
    fn turn(&mut self, conn: &mut Connection) -> bool {
        loop {
            if !self.flush(conn) {
                return false;
            }
            if self.ended {
                break;
            }
            let Ok(mut view) = conn.call(self.call) else { return true };
            match view.recv() {
                Recv::Message(message) => self.take(message.payload.into_bytes()),
                Recv::Pending => return false,
                Recv::End => self.end(),
            }
        }
        let Ok(view) = conn.call(self.call) else { return true };
        let mut trailers = Metadata::new();
        trailers.append("x-echo", "done").expect("a valid field");
        let status = if self.status == Code::Ok { Status::ok() } else { Status::new(self.status, "as asked") };
        view.finish(&status, Some(&trailers));
        true
    }

    fn take(&mut self, payload: Bytes) {
        self.received += 1;
        self.octets += payload.len() as u32;
        match self.shape {
            Shape::Unary | Shape::Bidi => self.replies.push_back(payload),
            Shape::ServerStreaming => {
                let (count, size) = order(&payload);
                self.expand = Some((0, count, size));
            }
            Shape::ClientStreaming => {}
        }
    }

    fn end(&mut self) {
        self.ended = true;
        if self.shape == Shape::ClientStreaming && self.status == Code::Ok {
            self.replies.push_back(expand_request(self.received, self.octets));
        }
    }

    /// Sends; false where the call must wait.
    fn flush(&mut self, conn: &mut Connection) -> bool {
        let Ok(mut view) = conn.call(self.call) else { return true };
        loop {
            if self.replies.is_empty()
                && let Some((index, count, size)) = &mut self.expand
                && index < count
            {
                self.replies.push_back(expanded(*index, *size));
                *index += 1;
            }
            let Some(payload) = self.replies.pop_front() else { return true };
            match view.send(Payload::from(payload)) {
                Ok(()) => {}
                Err(SendError::Blocked(payload)) => {
                    self.replies.push_front(payload.into_bytes());
                    return false;
                }
                // The call is over: `Finished` follows.
                Err(_) => return true,
            }
        }
    }
}

/// One call that a client makes.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Position in [`METHODS`].
    pub method: usize,
    /// What it sends.
    pub messages: Vec<Bytes>,
    /// Its metadata.
    pub metadata: Metadata,
    /// When it must be over.
    pub deadline: Option<Timestamp>,
}

impl Request {
    /// A call of this shape with these messages.
    #[must_use]
    pub fn new(shape: Shape, messages: Vec<Bytes>) -> Self {
        Self { method: shape_number(shape), messages, ..Self::default() }
    }

    /// What the service sends back.
    #[must_use]
    pub fn expected(&self) -> Vec<Bytes> {
        match METHODS[self.method].1 {
            Shape::Unary | Shape::Bidi => self.messages.clone(),
            Shape::ClientStreaming => {
                let octets: usize = self.messages.iter().map(Bytes::len).sum();
                Vec::from([expand_request(self.messages.len() as u32, octets as u32)])
            }
            Shape::ServerStreaming => {
                let (count, size) = order(&self.messages[0]);
                (0..count).map(|index| expanded(index, size)).collect()
            }
        }
    }
}

/// A call under way.
#[derive(Debug)]
struct Calling {
    id: CallId,
    sent: usize,
    closed: bool,
}

/// What came of a call.
#[derive(Debug, Default)]
pub struct Answer {
    /// The messages, in order.
    pub messages: Vec<Bytes>,
    /// How it ended.
    pub outcome: Option<Outcome>,
}

/// Makes calls and keeps the answers; the token of call `n` is `n`.
#[derive(Debug, Default)]
pub struct EchoClient {
    requests: Vec<Request>,
    calls: Vec<Option<Calling>>,
    /// By request.
    pub answers: Vec<Answer>,
    ended: usize,
}

impl EchoClient {
    /// Starts every request.
    ///
    /// # Panics
    /// If a call cannot start: the connection must be fresh and its queue long enough.
    #[must_use]
    pub fn start(conn: &mut Connection, now: Timestamp, requests: Vec<Request>) -> Self {
        let mut client = Self { requests, ..Self::default() };
        for (index, request) in client.requests.iter().enumerate() {
            let (path, shape) = METHODS[request.method];
            let head = RequestHead::new(Bytes::from_static(path.as_bytes()), shape).with_metadata(&request.metadata);
            let options = CallOptions::default().token(Token(index as u64)).deadline(request.deadline);
            let id = conn.start(now, head, options).expect("a fresh connection takes calls");
            client.calls.push(Some(Calling { id, sent: 0, closed: false }));
            client.answers.push(Answer::default());
        }
        for index in 0..client.calls.len() {
            client.work(conn, index);
        }
        client
    }

    /// Every call has its outcome.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ended == self.calls.len()
    }

    /// Reacts to one event.
    pub fn on_event(&mut self, conn: &mut Connection, event: Event) {
        match event {
            Event::Readable { token, .. } | Event::Writable { token, .. } | Event::Headers { token, .. } => {
                self.work(conn, token.0 as usize);
            }
            _ => {}
        }
    }

    fn work(&mut self, conn: &mut Connection, index: usize) {
        let Some(Some(calling)) = self.calls.get_mut(index) else { return };
        let Ok(mut view) = conn.call(calling.id) else { return };
        let messages = &self.requests[index].messages;
        while let Some(message) = messages.get(calling.sent) {
            match view.send(Payload::from(message.clone())) {
                Ok(()) => calling.sent += 1,
                Err(SendError::Blocked(_)) => break,
                Err(_) => calling.sent = messages.len(),
            }
        }
        if calling.sent == messages.len() && !calling.closed {
            calling.closed = true;
            // A call with one request message may have closed with it.
            let _ = view.close_send();
        }
        loop {
            match view.recv() {
                Recv::Message(message) => self.answers[index].messages.push(message.payload.into_bytes()),
                Recv::Pending => return,
                Recv::End => break,
            }
        }
        self.answers[index].outcome = view.take_outcome();
        if self.answers[index].outcome.is_some() {
            self.calls[index] = None;
            self.ended += 1;
        }
    }

    /// Every answer that differs from what the service must send, in words.
    #[must_use]
    pub fn wrong_answers(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (index, (request, answer)) in self.requests.iter().zip(&self.answers).enumerate() {
            let expected = request.expected();
            if answer.messages != expected {
                let lengths = |list: &[Bytes]| list.iter().map(Bytes::len).collect::<Vec<_>>();
                wrong.push(format!("call {index}: expected messages {:?}, got {:?}", lengths(&expected), lengths(&answer.messages)));
            }
            match &answer.outcome {
                Some(outcome) if outcome.status.code() == Code::Ok && outcome.trailers.get("x-echo") == Some("done") => {}
                other => wrong.push(format!("call {index}: expected OK and x-echo, got {other:?}")),
            }
        }
        wrong
    }
}

/// Runs both until every call has its outcome, or `most` steps were taken. Returns the steps.
pub fn drive(pair: &mut Pair, server: &mut EchoServer, client: &mut EchoClient, most: usize) -> usize {
    for step in 0..most {
        while let Some(event) = pair.poll_event(SERVER) {
            server.on_event(pair.server(), event);
        }
        while let Some(event) = pair.poll_event(CLIENT) {
            client.on_event(pair.client(), event);
        }
        // A probe copies HPACK tables: not at every step of a link that moves single octets.
        if step % 16 == 0 {
            note_places(pair);
        }
        if client.is_done() {
            return step;
        }
        pair.step();
    }
    most
}

/// Counts the hard places that only a probe shows.
pub fn note_places(pair: &mut Pair) {
    for end in [CLIENT, SERVER] {
        let probe = pair.probe(end);
        let blocked = probe.streams.iter().any(|stream| stream.queued > 0 && stream.send_window <= 0);
        let negative = probe.streams.iter().any(|stream| stream.send_window < 0);
        let held = probe.streams.iter().any(|stream| stream.recv_held > 0);
        let found = [
            (blocked, Place::StreamWindowBlocked),
            (probe.queued > 0 && probe.send_window == 0, Place::ConnectionWindowBlocked),
            (negative, Place::NegativeWindow),
            (held, Place::UnreadHeld),
            (probe.queued_calls > 0, Place::QueuedAboveStreamLimit),
            (pair.table_moved(end, &probe), Place::TableEviction),
        ];
        for (_, place) in found.iter().filter(|(reached, _)| *reached) {
            pair.hit(*place);
        }
    }
}
