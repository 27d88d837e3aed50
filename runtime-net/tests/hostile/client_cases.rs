//! Faults that clients of gRPC have had (`B…` numbers a list of reports), as octets of a server, in three cuts each, and how calls end.

use super::{
    LONG, all_at_once,
    server_cases::{CUTS, Cut},
    socket_path,
    wire::{
        ACK, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, SETTINGS, Socket, field, frame, goaway, message, rst_stream,
        settings,
    },
};
use std::{
    io::{ErrorKind, Read, Write},
    net::TcpListener,
    os::unix::net::UnixListener,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// What the client under test is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SayHello.
    Unary,
    /// LotsOfReplies, read to its end.
    Replies,
    /// LotsOfGreetings: sends messages of 10,000 octets until it is told to stop (at most 500), then awaits the reply.
    Upload,
}

/// How a call ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub code: u32,
    /// The text of the last reply, or of the status.
    pub text: String,
}

/// A client of some runtime: connects to an address, starts these calls, and says how they ended.
pub type Client = fn(&str, &[Kind]) -> Vec<Outcome>;

enum Right {
    /// OK, and the last reply says this.
    Says(&'static str),
    /// This code.
    Fails(u32),
    /// This code, and a text that says why.
    FailsWith(u32, &'static str),
    /// Anything but OK.
    NotOk,
}
use Right::{Fails, FailsWith, NotOk, Says};

impl Right {
    fn is(&self, outcome: &Outcome) -> bool {
        match self {
            Self::Says(text) => outcome.code == 0 && outcome.text == *text,
            Self::Fails(code) => outcome.code == *code,
            Self::FailsWith(code, text) => outcome.code == *code && outcome.text.contains(text),
            Self::NotOk => outcome.code != 0,
        }
    }
}

/// What the server does once it has said it all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Reads on until the client closes.
    Stay,
    /// Ends its output in the same breath, and reads on.
    Fin,
    /// Leaves octets of the client unread, so that the kernel resets the connection.
    Rst,
}
use Then::{Fin, Rst, Stay};

struct Case {
    name: &'static str,
    calls: &'static [Kind],
    says: fn() -> Vec<u8>,
    then: Then,
    /// Of each call, in any order: calls that start together may come in any.
    ends: &'static [Right],
}

const UNKNOWN: u32 = 2;
const NOT_FOUND: u32 = 5;
const RESOURCE_EXHAUSTED: u32 = 8;
const INTERNAL: u32 = 13;
const UNAVAILABLE: u32 = 14;
const UNARY: &[Kind] = &[Kind::Unary];
const UPLOAD: &[Kind] = &[Kind::Upload];

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "a plain answer", calls: UNARY, says: || said(&[&fine()]), then: Stay, ends: &[Says("fine")] },
    Case { name: "B12 frames of no known type", calls: UNARY, says: || said(&[&frame(0x0a, 0, 0, b"\x01A\0"), &frame(0xff, 0xff, 1, b"x"), &fine()]),
        then: Stay, ends: &[Says("fine")] },
    Case { name: "B13 a server of HTTP/1.1", calls: UNARY, says: || b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec(), then: Fin,
        ends: &[FailsWith(UNAVAILABLE, "HTTP/1")] },
    Case { name: "B14 frames of no octets at most", calls: UNARY, says: || settings(&[(5, 0)]), then: Stay, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "B34 an answer and a reset without error", calls: UNARY, says: || said(&[&fine(), &rst_stream(1, 0)]), then: Stay, ends: &[Says("fine")] },
    Case { name: "B34 the same during an upload", calls: UPLOAD, says: || said(&[&fine(), &rst_stream(1, 0)]), then: Stay, ends: &[Says("fine")] },
    Case { name: "B34 a status alone and a reset without error", calls: UNARY, says: || said(&[&alone("5"), &rst_stream(1, 0)]), then: Stay,
        ends: &[Fails(NOT_FOUND)] },
    Case { name: "B34 a reset without error instead of trailers", calls: UNARY, says: || said(&[&head(), &reply("fine"), &rst_stream(1, 0)]), then: Stay,
        ends: &[Fails(INTERNAL)] },
    Case { name: "B35 a status while the client waits for credit", calls: UPLOAD, says: || said(&[&alone("8"), &rst_stream(1, 0)]), then: Stay,
        ends: &[Fails(RESOURCE_EXHAUSTED)] },
    Case { name: "B36 an answer and the end of the stream", calls: UNARY, says: || said(&[&fine()]), then: Fin, ends: &[Says("fine")] },
    Case { name: "B36 one answered, one not", calls: &[Kind::Unary, Kind::Unary], says: || said(&[&fine()]), then: Fin,
        ends: &[Says("fine"), Fails(UNAVAILABLE)] },
    Case { name: "B36 the end during an upload", calls: UPLOAD, says: || said(&[&fine()]), then: Fin, ends: &[Says("fine")] },
    Case { name: "B36 an answer and a reset of the connection", calls: UNARY, says: || said(&[&fine()]), then: Rst, ends: &[Says("fine")] },
    Case { name: "B36 the same during an upload, whose writes fail", calls: UPLOAD, says: || said(&[&fine()]), then: Rst, ends: &[Says("fine")] },
    Case { name: "the end in the middle of an answer", calls: UNARY, says: || said(&[&head(), &reply("fine")]), then: Fin, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "a reset of the connection in the middle of an answer", calls: UNARY, says: || said(&[&head(), &reply("fine")]), then: Rst,
        ends: &[Fails(UNAVAILABLE)] },
    Case { name: "a reset of the connection during an upload", calls: UPLOAD, says: || said(&[&head()]), then: Rst, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "a connection that is reset at once", calls: UNARY, says: Vec::new, then: Rst, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "a connection that ends at once", calls: UNARY, says: Vec::new, then: Fin, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "B38 trailers without an end", calls: UNARY, says: || said(&[&head(), &reply("fine"), &block(END_HEADERS, &[("grpc-status", "0")])]),
        then: Stay, ends: &[Fails(INTERNAL)] },
    Case { name: "B39 a length that is not so", calls: UNARY,
        says: || said(&[&block(END_HEADERS, &[(":status", "200"), ("content-type", "application/grpc"), ("content-length", "5")]), &reply("fine"), &trailers("0")]),
        then: Stay, ends: &[NotOk] },
    Case { name: "B40 informational heads first", calls: UNARY,
        says: || said(&[&block(END_HEADERS, &[(":status", "103"), ("link", "x")]), &block(END_HEADERS, &[(":status", "100")]), &fine()]),
        then: Stay, ends: &[Says("fine")] },
    Case { name: "B40 an informational head that ends", calls: UNARY, says: || said(&[&block(END_HEADERS | END_STREAM, &[(":status", "103")])]), then: Stay,
        ends: &[Fails(INTERNAL)] },
    Case { name: "B43 two replies", calls: UNARY, says: || said(&[&head(), &reply("fine"), &reply("twice"), &trailers("0")]), then: Stay, ends: &[NotOk] },
    Case { name: "B43 no reply", calls: UNARY, says: || said(&[&head(), &trailers("0")]), then: Stay, ends: &[NotOk] },
    Case { name: "B43 a reply and a bit", calls: UNARY, says: || said(&[&head(), &reply("fine"), &frame(DATA, 0, 1, b"\0"), &trailers("0")]), then: Stay,
        ends: &[Fails(INTERNAL)] },
    Case { name: "B44 no status after the reply", calls: UNARY, says: || said(&[&head(), &frame(DATA, END_STREAM, 1, &message("fine", 0))]), then: Stay,
        ends: &[NotOk] },
    Case { name: "B44 no status at all", calls: &[Kind::Replies],
        says: || said(&[&block(END_HEADERS | END_STREAM, &[(":status", "200"), ("content-type", "application/grpc")])]), then: Stay, ends: &[NotOk] },
    Case { name: "B44 a status in spite of HTTP", calls: &[Kind::Replies],
        says: || said(&[&block(END_HEADERS, &[(":status", "502"), ("content-type", "application/grpc")]), &reply("fine"), &trailers("0")]), then: Stay,
        ends: &[Says("fine")] },
    Case { name: "B46 a goodbye in two steps, the second with noise", calls: UNARY,
        says: || said(&[&goaway(i32::MAX as u32, 0, b""), &goaway(1, 0, &[0xff; 16_000]), &fine()]), then: Stay, ends: &[Says("fine")] },
    Case { name: "B48 goodbye and end, the call was seen", calls: UNARY, says: || said(&[&goaway(1, 0, b"")]), then: Fin, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "B48 goodbye and end, one answered, one too late", calls: &[Kind::Unary, Kind::Unary], says: || said(&[&goaway(1, 0, b""), &fine()]),
        then: Fin, ends: &[Says("fine"), Fails(UNAVAILABLE)] },
    Case { name: "B49 goodbye to every call", calls: UNARY, says: || said(&[&goaway(0, ENHANCE_YOUR_CALM, b"no")]), then: Fin, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "B58 an unknown status", calls: UNARY, says: || said(&[&alone("42")]), then: Stay, ends: &[Fails(UNKNOWN)] },
    Case { name: "B58 a status that is no number", calls: UNARY, says: || said(&[&alone("abc")]), then: Stay, ends: &[NotOk] },
    Case { name: "B58 OK without a reply", calls: UNARY, says: || said(&[&alone("0")]), then: Stay, ends: &[NotOk] },
    Case { name: "B60 a proxy's page", calls: UNARY,
        says: || said(&[&block(END_HEADERS, &[(":status", "503"), ("content-type", "text/html")]), &frame(DATA, END_STREAM, 1, b"<html>no</html>")]),
        then: Fin, ends: &[Fails(UNAVAILABLE)] },
    Case { name: "B65 a reply in frames of one octet", calls: UNARY, says: || said(&[&head(), &octets("fine"), &trailers("0")]), then: Stay,
        ends: &[Says("fine")] },
    Case { name: "B65 empty frames between replies", calls: &[Kind::Replies],
        says: || said(&[&head(), &reply("one"), &frame(DATA, 0, 1, b""), &reply("two"), &frame(DATA, 0, 1, b""), &trailers("0")]), then: Stay,
        ends: &[Says("two")] },
    Case { name: "B66 a reply of four gigabytes is announced", calls: UNARY, says: || said(&[&head(), &frame(DATA, 0, 1, b"\0\xff\xff\xff\xff")]),
        then: Stay, ends: &[Fails(RESOURCE_EXHAUSTED)] },
];

fn said(parts: &[&[u8]]) -> Vec<u8> {
    [&settings(&[])[..], &frame(SETTINGS, ACK, 0, &[]), &parts.concat()].concat()
}

fn block(flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        field(&mut block, name, value.as_bytes());
    }
    frame(HEADERS, flags, 1, &block)
}

fn head() -> Vec<u8> {
    block(END_HEADERS, &[(":status", "200"), ("content-type", "application/grpc")])
}

fn reply(text: &str) -> Vec<u8> {
    frame(DATA, 0, 1, &message(text, 0))
}

fn octets(text: &str) -> Vec<u8> {
    message(text, 0).chunks(1).flat_map(|octet| frame(DATA, 0, 1, octet)).collect()
}

fn trailers(status: &str) -> Vec<u8> {
    block(END_HEADERS | END_STREAM, &[("grpc-status", status)])
}

/// Trailers-Only.
fn alone(status: &str) -> Vec<u8> {
    block(END_HEADERS | END_STREAM, &[(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", status)])
}

fn fine() -> Vec<u8> {
    [head(), reply("fine"), trailers("0")].concat()
}

/// Every case in every cut, over TCP or a Unix socket.
pub fn run(client: Client, unix: bool) {
    all_at_once(CASES, |case| case.name.to_owned(), |case| CUTS.iter().try_for_each(|cut| one(client, case, *cut, unix.then(socket_path))));
}

fn one(client: Client, case: &Case, cut: Cut, unix: Option<String>) -> Result<(), String> {
    let listener = Listener::bind(unix);
    let (over, connections) = (AtomicBool::new(false), AtomicU32::new(0));
    let outcomes = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                match listener.accept() {
                    Some(socket) => {
                        connections.fetch_add(1, Ordering::SeqCst);
                        serve(socket, case, cut, &over);
                    }
                    None => thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        let outcomes =
            thread::Builder::new().spawn_scoped(scope, || client(&listener.address, case.calls)).map(thread::ScopedJoinHandle::join);
        over.store(true, Ordering::SeqCst);
        outcomes
    });
    let outcomes = outcomes.expect("a thread").map_err(|_| format!("{cut:?}: the client panicked"))?;
    // A client may connect for each call, and once more for what it may send again.
    let (most, connections) = (2 * case.calls.len() as u32, connections.into_inner());
    if connections > most {
        return Err(format!("{cut:?}: {connections} connections, {outcomes:?}"));
    }
    let mut left: Vec<&Right> = case.ends.iter().collect();
    for outcome in &outcomes {
        match left.iter().position(|right| right.is(outcome)) {
            Some(found) => drop(left.remove(found)),
            None => return Err(format!("{cut:?}: {outcomes:?}")),
        }
    }
    if left.is_empty() { Ok(()) } else { Err(format!("{cut:?}: {outcomes:?}")) }
}

/// Waits for the calls, says its lines, and goes as the case wants it.
fn serve(mut socket: Socket, case: &Case, cut: Cut, over: &AtomicBool) {
    socket.set_read_timeout(Duration::from_millis(5));
    let mut heard = Vec::new();
    // Unread octets are what makes it a reset: those of the request, behind its head.
    let sip = if case.then == Rst { 64 } else { 16_384 };
    hear(&mut socket, &mut heard, sip, over, |heard| heads(heard) >= case.calls.len());
    // A reset destroys what is not on its way yet: one segment is.
    let cut = if case.then == Rst { Cut::Whole } else { cut };
    for piece in cut.pieces(&(case.says)()) {
        if socket.write_all(piece).is_err() {
            return;
        }
    }
    match case.then {
        Rst => return,
        Fin => socket.shutdown_write(),
        Stay => {}
    }
    hear(&mut socket, &mut heard, 16_384, over, |_| false);
}

/// Reads, so much at a time, until it holds, the client has closed, or the case is over.
fn hear(socket: &mut Socket, heard: &mut Vec<u8>, sip: usize, over: &AtomicBool, holds: impl Fn(&[u8]) -> bool) {
    let begin = Instant::now();
    let mut buffer = vec![0; sip];
    while !holds(heard) && !over.load(Ordering::SeqCst) && begin.elapsed() < LONG {
        match socket.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => heard.extend(&buffer[..n]),
            // The last: signal(7), a process that was stopped and goes on.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
    }
}

/// HEADERS frames after a client's preface.
fn heads(heard: &[u8]) -> usize {
    let (mut at, mut found) = (super::wire::PREFACE.len(), 0);
    while let Some(head) = heard.get(at..at + 9) {
        at += 9 + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        found += usize::from(head[3] == HEADERS && at <= heard.len());
    }
    found
}

struct Listener {
    socket: Bound,
    address: String,
}

enum Bound {
    Tcp(TcpListener),
    Unix(UnixListener, String),
}

impl Listener {
    fn bind(unix: Option<String>) -> Self {
        let (socket, address) = match unix {
            None => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
                listener.set_nonblocking(true).expect("a fresh socket");
                let address = listener.local_addr().expect("it is bound").to_string();
                (Bound::Tcp(listener), address)
            }
            Some(path) => {
                let listener = UnixListener::bind(&path).expect("a free path");
                listener.set_nonblocking(true).expect("a fresh socket");
                let address = format!("unix:{path}");
                (Bound::Unix(listener, path), address)
            }
        };
        Self { socket, address }
    }

    fn accept(&self) -> Option<Socket> {
        let socket = match &self.socket {
            Bound::Tcp(listener) => Socket::Tcp(listener.accept().ok()?.0),
            Bound::Unix(listener, _) => Socket::Unix(listener.accept().ok()?.0),
        };
        socket.set_nonblocking(false);
        Some(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Bound::Unix(_, path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}
