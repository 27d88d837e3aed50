//! Runs a row: sets up, gives the input, and compares everything that was said and seen.
//!
//! Frames that the connection said are written as `DATA 1 5 ES` (stream, octets), `HEADERS 1 ES 200 grpc=0` (`:status`,
//! `grpc-status`), `RST_STREAM 1 CANCEL`, `SETTINGS`, `SETTINGS ACK`, `PING`, `PING ACK 0102030405060708`, `GOAWAY 1 NO_ERROR`,
//! `WINDOW_UPDATE 0 1000`. What the application saw: `incoming` (which it accepts), `http`, `headers`, `message ping`, `end`,
//! `finished Cancelled`, `outcome Ok` (`outcome Unavailable unprocessed`: may be repeated), `draining`, `available`, `foreign`, `closed`. It takes every message at once.

use super::case::*;
use super::peer::{Peer, Said, fresh_to_client, fresh_to_server};
use bytes::Bytes;
use pintle_core::{
    CallId, CloseReason, Config, Endpoint, ErrorCode, Event, Metadata, Payload, Recv, Shape, Status, StreamId, Token,
    testing::{
        Cut,
        raw::{REQUEST, RESPONSE, TRAILERS_OK},
        wire::*,
    },
};

/// A stream that no row uses.
const NEXT: u32 = 9_001;
/// What a proof's PING carries.
const PROOF: [u8; 8] = *b"proof\0\0\0";

pub(crate) struct Lab {
    pub(crate) peer: Peer,
    pub(crate) server: bool,
    /// Calls that the application holds.
    pub(crate) calls: Vec<CallId>,
    http: Vec<StreamId>,
    /// Calls of a server whose end the application has seen.
    ended: Vec<CallId>,
    /// The connection's end was told, and is to be written behind that of its calls.
    closed: bool,
    /// What was said since the set-up.
    pub(crate) said: Vec<Said>,
    /// How many frames had been said at each look.
    rounds: Vec<usize>,
    /// What the application saw since the set-up.
    pub(crate) app: Vec<String>,
}

impl Lab {
    pub(crate) fn new(server: bool, given: Given, settings: &[(u16, u32)], config: fn(&mut Config), cut: Cut) -> Self {
        let mut configured = Config::default();
        if given == Given::Refused {
            configured.max_concurrent_streams = 1;
        }
        config(&mut configured);
        let peer = if server { fresh_to_server(&configured, cut) } else { fresh_to_client(&configured, cut) };
        let mut lab = Self {
            peer,
            server,
            calls: Vec::new(),
            http: Vec::new(),
            ended: Vec::new(),
            closed: false,
            said: Vec::new(),
            rounds: Vec::new(),
            app: Vec::new(),
        };
        lab.greet(given, settings);
        if server {
            lab.set_up_server(given)
        } else {
            lab.set_up_client(given)
        }
        lab.observe();
        assert_eq!(lab.peer.conn.close_reason(), None, "the set-up is legal");
        lab.said.clear();
        lab.rounds.clear();
        lab.app.clear();
        lab
    }

    /// Octets of a set-up are not cut: that is tried on the row's own.
    fn feed(&mut self, octets: &[u8]) {
        let now = self.peer.now;
        self.peer.conn.recv_slice(now, octets);
    }

    fn greet(&mut self, given: Given, entries: &[(u16, u32)]) {
        if given == Given::Nothing {
            return;
        }
        if self.server {
            self.feed(PREFACE);
        }
        if given == Given::Preface {
            return;
        }
        self.feed(&settings(entries));
        if given != Given::Unacked {
            self.feed(&settings_ack());
        }
        self.observe();
    }

    fn set_up_server(&mut self, given: Given) {
        use Given::*;
        let half = matches!(given, HalfRemote | ClosedBoth);
        match given {
            Nothing | Preface | Unacked | Ready => return,
            Sent | HalfLocal | GoneAway => panic!("{given:?} is a state of clients"),
            _ => self.feed(&headers(1, if half { END_STREAM } else { 0 }, REQUEST)),
        }
        self.observe();
        match given {
            Answered => self.call().send_headers(&Metadata::new(), true).expect("the first head"),
            ClosedBoth => self.act(Act::Finish),
            PeerReset => {
                self.feed(&rst_stream(1, 8));
                self.observe();
                self.act(Act::Finish);
            }
            OurReset => self.act(Act::Cancel),
            Forgotten => {
                self.act(Act::Cancel);
                for n in 1..=FORGET {
                    self.feed(&headers(1 + 2 * n, 0, REQUEST));
                    self.observe();
                    self.act(Act::Cancel);
                }
            }
            Skipped => self.feed(&headers(5, 0, REQUEST)),
            Drained => {
                self.act(Act::Drain);
                self.observe();
                let ping = self.said.iter().find(|said| said.kind() == PING).expect("a PING times the drain");
                let ack = frame(PING, ACK, 0, &ping.frame.payload.clone());
                self.feed(&ack);
                self.observe();
                self.feed(&headers(3, 0, REQUEST));
            }
            Refused => self.feed(&headers(3, 0, REQUEST)),
            _ => {}
        }
    }

    fn set_up_client(&mut self, given: Given) {
        use Given::*;
        match given {
            Nothing | Unacked | Ready => return,
            Preface | Answered | HalfRemote | Skipped | Drained | Refused => panic!("{given:?} is a state of servers"),
            _ => self.act(Act::Start(Shape::Bidi)),
        }
        self.observe();
        if given != Sent {
            self.feed(&headers(1, 0, RESPONSE));
            self.observe();
        }
        match given {
            HalfLocal | ClosedBoth => self.act(Act::Close),
            PeerReset => self.feed(&rst_stream(1, 8)),
            OurReset => self.act(Act::Cancel),
            Forgotten => {
                self.act(Act::Cancel);
                for _ in 1..=FORGET {
                    self.act(Act::Start(Shape::Bidi));
                    self.observe();
                    self.act(Act::Cancel);
                    self.observe();
                }
            }
            GoneAway => {
                let first = self.calls.clone();
                self.act(Act::Start(Shape::Bidi));
                self.observe();
                self.feed(&goaway(1, 0, b""));
                self.observe();
                assert_eq!(self.calls, first, "only the first is left");
            }
            _ => {}
        }
        self.observe();
        if given == ClosedBoth {
            self.feed(&headers(1, END_STREAM, TRAILERS_OK));
        }
    }

    fn call(&mut self) -> pintle_core::Call<'_> {
        let id = *self.calls.last().expect("a call");
        self.peer.call(id)
    }

    pub(crate) fn act(&mut self, act: Act) {
        let now = self.peer.now;
        match act {
            Act::Start(shape) => {
                let id = self.peer.start(shape);
                self.calls.push(id);
            }
            Act::Send(octets) => assert_eq!(self.call().send(Payload::from(Bytes::from(vec![b'm'; octets]))), Ok(())),
            Act::Close => self.call().close_send().expect("an open side"),
            Act::Finish => {
                self.call().finish(&Status::ok(), None);
                self.calls.pop();
            }
            Act::Cancel => {
                self.call().cancel();
                self.calls.pop();
            }
            Act::Drain => self.peer.conn.drain(now, None),
            Act::Shut => self.peer.conn.close(now),
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        match step {
            Step::In(octets) => {
                self.peer.send(octets);
            }
            Step::Wait(time) => {
                self.peer.advance(*time);
            }
            Step::Eof => {
                self.peer.eof();
            }
            Step::Do(act) => self.act(*act),
        }
        self.observe();
    }

    /// Takes every event, every message, and all output.
    pub(crate) fn observe(&mut self) {
        while let Some(event) = self.peer.event() {
            self.hear(event);
        }
        for id in self.calls.clone() {
            self.read(id);
        }
        let said = self.peer.said();
        self.said.extend(said);
        self.rounds.push(self.said.len());
        while let Some(event) = self.peer.event() {
            self.hear(event);
        }
        if std::mem::take(&mut self.closed) {
            self.app.push("closed".into());
        }
    }

    fn hear(&mut self, event: Event) {
        let seen = match event {
            Event::Incoming { call } => {
                self.peer.conn.accept(call, Token(1)).expect("the request is still there");
                self.calls.push(call);
                "incoming".into()
            }
            Event::IncomingHttp { stream } => {
                self.http.push(stream);
                "http".into()
            }
            Event::Headers { .. } => "headers".into(),
            Event::Finished { call, code, .. } => {
                self.ended.push(call);
                format!("finished {code:?}")
            }
            Event::Draining => "draining".into(),
            Event::Available => "available".into(),
            Event::Foreign => "foreign".into(),
            Event::Closed => {
                self.closed = true;
                return;
            }
            _ => return,
        };
        self.app.push(seen);
    }

    fn read(&mut self, id: CallId) {
        loop {
            match self.peer.call(id).recv() {
                Recv::Message(message) => {
                    let octets = message.payload.into_bytes();
                    let short = String::from_utf8_lossy(&octets[..octets.len().min(16)]);
                    self.app.push(if octets.len() > 16 { format!("message {}", octets.len()) } else { format!("message {short}") });
                }
                Recv::Pending => return,
                Recv::End if self.server => {
                    // Said once: the call stays the application's to finish.
                    if !self.ended.contains(&id) {
                        self.ended.push(id);
                        self.app.push("end".into());
                    }
                    return;
                }
                Recv::End => {
                    let outcome = self.peer.call(id).take_outcome().expect("an outcome behind the end");
                    let again = if outcome.unprocessed { " unprocessed" } else { "" };
                    self.app.push(format!("outcome {:?}{again}", outcome.status.code()));
                    self.calls.retain(|call| *call != id);
                    return;
                }
            }
        }
    }

    pub(crate) fn wire(&self) -> String {
        let lines: Vec<_> = self.said.iter().map(line).collect();
        lines.join("; ")
    }

    /// The same, the DATA of a stream between two steps as one: how it is cut below the peer's maximum is nobody's rule.
    pub(crate) fn summed(&self) -> String {
        let mut sums: Vec<(usize, u32, u32)> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        for (at, said) in self.said.iter().enumerate() {
            let round = self.rounds.partition_point(|start| *start <= at);
            match sums.last_mut() {
                Some((last, stream, octets)) if said.kind() == DATA && (*last, *stream) == (round, said.stream()) && !said.ends() => {
                    *octets += said.frame.head.len;
                    lines.pop();
                    lines.push(format!("DATA {stream} {octets}"));
                }
                _ => {
                    let octets = if said.kind() == DATA { said.frame.head.len } else { 0 };
                    sums.push((round, if said.kind() == DATA { said.stream() } else { 0 }, octets));
                    lines.push(line(said));
                }
            }
        }
        lines.join("; ")
    }

    pub(crate) fn seen(&self) -> String {
        self.app.join("; ")
    }

    pub(crate) fn run(&mut self, row: &Row) {
        let held = self.calls.len();
        for step in &row.steps {
            self.step(step);
        }
        match row.expect {
            Expect::Unsaid => panic!("the row says no outcome"),
            Expect::Conn(code) => return self.assert_ended(code, row.last.unwrap_or(if self.server { row.given.last() } else { 0 }), held),
            Expect::Stream(stream, code) => self.assert_reset(stream, code),
            Expect::Does { wire, app } => {
                let said = if row.summed { self.summed() } else { self.wire() };
                assert_eq!((said.as_str(), self.seen().as_str()), (wire, app));
            }
        }
        if self.peer.conn.close_reason().is_none() {
            self.prove(row);
        }
    }

    fn assert_ended(&mut self, code: ErrorCode, last: u32, held: usize) {
        let wire = self.wire();
        let goaway = format!("GOAWAY {last} {code}");
        assert_eq!(wire.rsplit("; ").next(), Some(goaway.as_str()), "said {wire}");
        assert_eq!(wire.matches("GOAWAY").count(), if wire.contains("NO_ERROR") { 2 } else { 1 }, "said {wire}");
        assert!(matches!(
            self.peer.conn.close_reason(),
            Some(CloseReason::Protocol { .. } | CloseReason::Foreign { .. } | CloseReason::Timeout { .. })
        ));
        assert!(self.peer.conn.is_finished() && !self.peer.conn.wants().read && !self.peer.conn.wants().write);
        assert_eq!(self.app.last().map(String::as_str), Some("closed"), "{:?}", self.app);
        let told = self.app.iter().filter(|seen| seen.starts_with("finished ") || seen.starts_with("outcome ")).count();
        assert!(told >= held, "{held} calls were open, the application saw {:?}", self.app);
        // Whatever comes now is read by nobody.
        self.said.clear();
        self.app.clear();
        self.peer.send(&frame(PING, 0, 0, &PROOF));
        self.observe();
        assert_eq!((self.wire(), self.seen()), (String::new(), String::new()));
    }

    fn assert_reset(&mut self, stream: u32, code: ErrorCode) {
        assert_eq!(self.wire(), format!("RST_STREAM {stream} {code}"), "the application saw {:?}", self.app);
        let probe = self.peer.conn.probe();
        assert!(probe.streams.iter().all(|open| open.wire_id != stream), "the stream is closed");
        // What is still on its way is discarded in silence (RFC 9113 §5.1), and no reset is answered by a reset (§5.4.2).
        self.said.clear();
        self.peer.send(&[frame(DATA, 0, stream, b"late"), rst_stream(stream, 8), frame(PRIORITY, 0, stream, &[0; 5])].concat());
        self.observe();
        assert_eq!(self.wire(), "");
    }

    /// The connection is as good as before: a new call works, the old one goes on, and nothing leaks.
    fn prove(&mut self, row: &Row) {
        self.said.clear();
        self.app.clear();
        if row.usable {
            if self.server { self.prove_server() } else { self.prove_client() }
        }
        if row.goes_on && !matches!(row.expect, Expect::Stream(..)) {
            if self.server { self.finish_server() } else { self.finish_client() }
        }
        self.assert_whole();
    }

    fn prove_server(&mut self) {
        let others = self.calls.clone();
        self.peer.send(&[headers(NEXT, 0, REQUEST), frame(DATA, END_STREAM, NEXT, &message(b"ping"))].concat());
        self.observe();
        let id = *self.calls.last().expect("a call");
        assert!(!others.contains(&id), "a new call, said {}", self.wire());
        assert!(self.seen().contains("message ping"), "{:?}", self.app);
        self.act(Act::Send(4));
        self.act(Act::Finish);
        self.observe();
        let said: Vec<_> = self.said.iter().filter(|said| said.stream() == NEXT).map(line).collect();
        assert_eq!(said.join("; "), format!("HEADERS {NEXT} 200; DATA {NEXT} 9; HEADERS {NEXT} ES grpc=0"));
    }

    fn prove_client(&mut self) {
        let others = self.calls.len();
        self.act(Act::Start(Shape::Unary));
        self.act(Act::Send(4));
        self.observe();
        let stream = self.said.iter().rfind(|said| said.kind() == HEADERS).expect("a new request").stream();
        let answer = [headers(stream, 0, RESPONSE), frame(DATA, 0, stream, &message(b"pong")), headers(stream, END_STREAM, TRAILERS_OK)];
        self.peer.send(&answer.concat());
        self.observe();
        assert_eq!(self.seen(), "headers; message pong; outcome Ok");
        assert_eq!(self.calls.len(), others);
    }

    fn finish_server(&mut self) {
        self.said.clear();
        let open = self.peer.conn.probe().streams.iter().any(|open| open.wire_id == 1 && !open.remote_closed);
        if open {
            self.peer.send(&frame(DATA, END_STREAM, 1, &message(b"last")));
            self.observe();
            assert!(self.seen().contains("message last"), "{:?}", self.app);
        }
        self.act(Act::Finish);
        self.observe();
        let ends = self.said.iter().find(|said| said.ends()).expect("an answer");
        assert_eq!((ends.stream(), ends.field("grpc-status")), (1, Some("0")));
    }

    fn finish_client(&mut self) {
        self.said.clear();
        self.app.clear();
        let answer = [frame(DATA, 0, 1, &message(b"last")), headers(1, END_STREAM, TRAILERS_OK)];
        self.peer.send(&answer.concat());
        self.observe();
        let seen = self.seen();
        assert!(seen.starts_with("message last; outcome Ok"), "{seen}");
    }

    /// Ends everything: then nothing is left, and all credit is back.
    fn assert_whole(&mut self) {
        while !self.calls.is_empty() {
            if self.server { self.act(Act::Finish) } else { self.act(Act::Cancel) }
        }
        for stream in std::mem::take(&mut self.http) {
            self.peer.conn.stream(stream).expect("a stream that is held").reset(ErrorCode::CANCEL);
        }
        for open in self.peer.conn.probe().streams {
            self.peer.send(&rst_stream(open.wire_id, 8));
        }
        self.observe();
        let probe = self.peer.conn.probe();
        assert_eq!((probe.open_streams, probe.slots, probe.queued_calls), (0, 0, 0), "{probe:?}");
        assert_eq!((probe.recv_held, probe.recv_window + probe.recv_pending), (0, probe.recv_target), "{probe:?}");
    }
}

/// One frame in words.
pub(crate) fn line(said: &Said) -> String {
    let head = said.frame.head;
    let (stream, word) = (head.stream, |at| said.frame.word(at));
    let end = if said.ends() { " ES" } else { "" };
    match head.kind {
        DATA => format!("DATA {stream} {}{end}", head.len),
        HEADERS => {
            let status = said.field(":status").map(|status| format!(" {status}")).unwrap_or_default();
            let grpc = said.field("grpc-status").map(|status| format!(" grpc={status}")).unwrap_or_default();
            format!("HEADERS {stream}{end}{status}{grpc}")
        }
        RST_STREAM => format!("RST_STREAM {stream} {}", ErrorCode(word(0))),
        SETTINGS if head.has(ACK) => "SETTINGS ACK".into(),
        SETTINGS => "SETTINGS".into(),
        PING if head.has(ACK) => {
            let octets: String = said.frame.payload.iter().map(|octet| format!("{octet:02x}")).collect();
            format!("PING ACK {octets}")
        }
        PING => "PING".into(),
        GOAWAY => format!("GOAWAY {} {}", word(0), ErrorCode(word(4))),
        WINDOW_UPDATE => format!("WINDOW_UPDATE {stream} {}", word(0)),
        CONTINUATION => format!("CONTINUATION {stream} {}", head.len),
        kind => format!("{kind} {stream} {}", head.len),
    }
}

/// HEADERS in one frame.
pub(crate) fn headers(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, block)
}

/// DATA in one frame.
pub(crate) fn data(stream: u32, flags: u8, octets: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, octets)
}
