//! Faults that servers of gRPC have had (`B…` numbers a list of reports), as octets of a client, in three cuts each: the answers,
//! and the state afterwards, which one more call on the same connection shows.

use super::{
    Target, all_at_once,
    wire::{
        DATA, END_HEADERS, END_STREAM, End, HEADERS, PROTOCOL_ERROR, Peer, Stream, frame, hello, message, prefixed, request_block,
        window_update,
    },
};

/// How octets are written.
#[derive(Debug, Clone, Copy)]
pub enum Cut {
    Whole,
    /// One octet a write.
    Octet,
    /// Pieces of 1 to 40 octets, by this seed.
    Random(u32),
}

pub const CUTS: [Cut; 3] = [Cut::Whole, Cut::Octet, Cut::Random(0x2545_f491)];

impl Cut {
    pub fn pieces(self, octets: &[u8]) -> Vec<&[u8]> {
        let Self::Random(mut seed) = self else {
            return octets.chunks(if matches!(self, Self::Octet) { 1 } else { octets.len().max(1) }).collect();
        };
        let (mut pieces, mut rest) = (Vec::new(), octets);
        while !rest.is_empty() {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (piece, after) = rest.split_at((1 + (seed >> 16) as usize % 40).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

/// What became of a stream.
enum Answer {
    /// One reply with this text, and OK.
    Says(&'static str),
    /// No reply, and OK.
    Empty,
    /// No reply, and this `grpc-status` in a single header block (Trailers-Only).
    Fails(u32),
    /// As `Fails`, then RST_STREAM(NO_ERROR): the request was not over.
    Early(u32),
    /// Anything but OK.
    NotOk,
    /// RST_STREAM with this code.
    Reset(u32),
    /// Whatever it is, it ends.
    Over,
}

impl Answer {
    fn fits(&self, stream: &Stream) -> bool {
        let single = stream.heads == 1 && stream.messages == 0;
        match self {
            Self::Says(text) => stream.status == Some(0) && stream.messages == 1 && stream.last == message(text, 0)[5..],
            Self::Empty => stream.status == Some(0) && stream.messages == 0,
            Self::Fails(status) => stream.status == Some(*status) && single,
            Self::Early(status) => stream.status == Some(*status) && single && stream.reset == Some(0),
            Self::NotOk => stream.is_over() && stream.status != Some(0),
            Self::Reset(code) => stream.reset == Some(*code) && stream.status.is_none(),
            Self::Over => stream.is_over(),
        }
    }
}

struct Case {
    name: &'static str,
    octets: fn(&Target) -> Vec<u8>,
    answers: &'static [(u32, Answer)],
}

use Answer::{Early, Empty, Fails, NotOk, Over, Reset, Says};

const RESOURCE_EXHAUSTED: u32 = 8;
const UNIMPLEMENTED: u32 = 12;
const INTERNAL: u32 = 13;
const DEADLINE_EXCEEDED: u32 = 4;

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "B10 bad base64 harms its own call", octets: |t| [with(t, 1, &[("x-bin", "!!!")]), t.unary(3, "you")].concat(),
        answers: &[(1, Over), (3, Says("Hello you"))] },
    Case { name: "B11 a field of the connection", octets: |t| [with(t, 1, &[("connection", "close")]), t.unary(3, "you")].concat(),
        answers: &[(1, Reset(PROTOCOL_ERROR)), (3, Says("Hello you"))] },
    Case { name: "B11 a name in upper case", octets: |t| [with(t, 1, &[("Upper", "x")]), t.unary(3, "you")].concat(),
        answers: &[(1, Reset(PROTOCOL_ERROR)), (3, Says("Hello you"))] },
    Case { name: "B12 frames of no known type", octets: |t| [frame(0x0a, 0, 0, b"\x01A\0"), frame(0xff, 0xff, 1, b""), t.unary(1, "you")].concat(),
        answers: &[(1, Says("Hello you"))] },
    Case { name: "B15 padding is given back", octets: padding, answers: &[(1, Says("1"))] },
    Case { name: "B35 an answer before the end of the request", octets: |t| stop(t, b""), answers: &[(1, Early(RESOURCE_EXHAUSTED))] },
    Case { name: "B35 the same, and the client goes on", octets: |t| stop(t, &[7; 10_000]), answers: &[(1, Early(RESOURCE_EXHAUSTED))] },
    Case { name: "B37 no request message, client streaming", octets: |t| ended_head(t, "LotsOfGreetings"), answers: &[(1, Says("0"))] },
    Case { name: "B37 no request message, bidi", octets: |t| ended_head(t, "Chat"), answers: &[(1, Empty)] },
    Case { name: "B37 no request message, unary", octets: |t| ended_head(t, "SayHello"), answers: &[(1, NotOk)] },
    Case { name: "B37 the end in an empty DATA frame", octets: |t| [t.head(1, "LotsOfGreetings"), end(1)].concat(), answers: &[(1, Says("0"))] },
    Case { name: "B38 trailers without an end", octets: |t| [t.head(1, "LotsOfGreetings"), t.head(1, "Chat"), t.unary(3, "you")].concat(),
        answers: &[(1, Reset(PROTOCOL_ERROR)), (3, Says("Hello you"))] },
    Case { name: "B55 a deadline of nothing", octets: |t| timeout(t, "0n"), answers: &[(1, Fails(DEADLINE_EXCEEDED))] },
    Case { name: "B55 a deadline of a millisecond", octets: |t| timeout(t, "1m"), answers: &[(1, NotOk)] },
    Case { name: "B55 a deadline in thousands of years", octets: |t| timeout(t, "99999999H"), answers: &[(1, Says("Hello you"))] },
    Case { name: "B55 a deadline that is none", octets: |t| timeout(t, "1s"), answers: &[(1, NotOk)] },
    Case { name: "B55 a deadline of nine digits", octets: |t| timeout(t, "100000000S"), answers: &[(1, NotOk)] },
    Case { name: "B62 an unknown method", octets: |t| t.unary_of(1, "SayGoodbye", "you"), answers: &[(1, Fails(UNIMPLEMENTED))] },
    Case { name: "B62 a handler that panics", octets: |t| [t.unary(1, "panic"), t.unary(3, "you")].concat(),
        answers: &[(1, NotOk), (3, Says("Hello you"))] },
    Case { name: "B62 a handler that panics at a message", octets: |t| [upload(t, &[&message("panic", 0)]), t.unary(3, "you")].concat(),
        answers: &[(1, NotOk), (3, Says("Hello you"))] },
    Case { name: "B64 compressed in no known way", octets: |t| flagged(t, 1, &[]), answers: &[(1, Fails(INTERNAL))] },
    Case { name: "B64 compressed in an unknown way", octets: |t| flagged(t, 1, &[("grpc-encoding", "br")]), answers: &[(1, Fails(UNIMPLEMENTED))] },
    Case { name: "B64 a flag of 2", octets: |t| flagged(t, 2, &[]), answers: &[(1, Fails(INTERNAL))] },
    Case { name: "B65 one octet a frame", octets: |t| upload(t, &three().iter().flat_map(|m| m.chunks(1)).collect::<Vec<_>>()), answers: &[(1, Says("3"))] },
    Case { name: "B65 empty frames between", octets: |t| upload(t, &[&three()[0], b"", &three()[1], b"", b"", &three()[2]]), answers: &[(1, Says("3"))] },
    Case { name: "B65 all in one frame", octets: |t| upload(t, &[&three().concat()]), answers: &[(1, Says("3"))] },
    Case { name: "B65 prefixes in two frames", octets: |t| upload(t, &three().iter().flat_map(|m| [&m[..1], &m[1..]]).collect::<Vec<_>>()),
        answers: &[(1, Says("3"))] },
    Case { name: "B65 the end inside a prefix", octets: |t| [t.head(1, "LotsOfGreetings"), frame(DATA, END_STREAM, 1, b"\0\0\0")].concat(),
        answers: &[(1, NotOk)] },
    Case { name: "B65 the end inside a message", octets: |t| [t.head(1, "LotsOfGreetings"), frame(DATA, END_STREAM, 1, b"\0\0\0\0\x09abc")].concat(),
        answers: &[(1, NotOk)] },
    Case { name: "B66 four gigabytes are announced", octets: |t| [t.head(1, "SayHello"), frame(DATA, 0, 1, b"\0\xff\xff\xff\xff"), t.unary(3, "you")].concat(),
        answers: &[(1, Early(RESOURCE_EXHAUSTED)), (3, Says("Hello you"))] },
    Case { name: "B70 a path without its slash", octets: |t| path(&t.service[1..], "/SayHello"), answers: &[(1, NotOk)] },
    Case { name: "B70 a slash too many", octets: |t| path("/", &format!("{}/SayHello", t.service)), answers: &[(1, Fails(UNIMPLEMENTED))] },
    Case { name: "B70 a slash at the end", octets: |t| path(t.service, "/SayHello/"), answers: &[(1, Fails(UNIMPLEMENTED))] },
    Case { name: "B70 a query", octets: |t| path(t.service, "/SayHello?x=1"), answers: &[(1, Fails(UNIMPLEMENTED))] },
];

/// B54: what clients send as `:authority` over Unix sockets. All of it is served there.
const AUTHORITIES: &[Option<&str>] =
    &[Some("/var/run/x.sock"), Some("%2Fvar%2Frun%2Fx.sock"), Some(""), None, Some("localhost"), Some("unix:/x")];

fn with(target: &Target, stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let block = request_block(&format!("{}/SayHello", target.service), Some("x"), fields);
    [frame(HEADERS, END_HEADERS, stream, &block), frame(DATA, END_STREAM, stream, &message("you", 0))].concat()
}

fn timeout(target: &Target, value: &str) -> Vec<u8> {
    // With a method that takes its time where the time is short.
    let name = if value == "1m" { "hang" } else { "you" };
    let block = request_block(&format!("{}/SayHello", target.service), Some("x"), &[("grpc-timeout", value)]);
    [frame(HEADERS, END_HEADERS, 1, &block), frame(DATA, END_STREAM, 1, &message(name, 0))].concat()
}

fn path(one: &str, two: &str) -> Vec<u8> {
    let block = request_block(&format!("{one}{two}"), Some("x"), &[]);
    [frame(HEADERS, END_HEADERS, 1, &block), frame(DATA, END_STREAM, 1, &message("you", 0))].concat()
}

fn flagged(target: &Target, flag: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let block = request_block(&format!("{}/SayHello", target.service), Some("x"), fields);
    let mut octets = message("you", 0);
    octets[0] = flag;
    [frame(HEADERS, END_HEADERS, 1, &block), frame(DATA, END_STREAM, 1, &octets)].concat()
}

fn end(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, b"")
}

fn ended_head(target: &Target, method: &str) -> Vec<u8> {
    let block = request_block(&format!("{}/{method}", target.service), Some("x"), &[]);
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)
}

/// A call that is refused at its first message, and what the client sends after that.
fn stop(target: &Target, more: &[u8]) -> Vec<u8> {
    let mut octets = [target.head(1, "LotsOfGreetings"), frame(DATA, 0, 1, &message("stop", 0))].concat();
    if !more.is_empty() {
        octets.extend(frame(DATA, 0, 1, &prefixed(more)));
    }
    octets
}

/// Messages of 0, some and more octets.
fn three() -> [Vec<u8>; 3] {
    [prefixed(b""), message("five", 0), message(&"s".repeat(50), 0)]
}

fn upload(target: &Target, parts: &[&[u8]]) -> Vec<u8> {
    let frames: Vec<u8> = parts.iter().flat_map(|part| frame(DATA, 0, 1, part)).collect();
    [target.head(1, "LotsOfGreetings"), frames, end(1)].concat()
}

/// Twice the windows in padding, RFC 9113 section 6.1, in pieces that fit: credit comes back as they arrive.
fn padding(target: &Target) -> Vec<u8> {
    const PADDED: u8 = 8;
    let pad = [&[255][..], &[0; 255]].concat();
    let octets = [target.head(1, "LotsOfGreetings"), frame(DATA, PADDED, 1, &pad).repeat(80)].concat();
    [octets, window_update(0, 1), frame(DATA, END_STREAM, 1, &prefixed(b""))].concat()
}

impl Target {
    fn unary_of(&self, stream: u32, method: &str, name: &str) -> Vec<u8> {
        self.call(stream, method, name, 0)
    }
}

/// Every case in every cut against the server.
pub fn run(target: &Target) {
    all_at_once(
        CASES,
        |case| case.name.to_owned(),
        |case| CUTS.iter().try_for_each(|cut| one(target, &(case.octets)(target), case.answers, *cut)),
    );
    if target.address.starts_with("unix:") {
        all_at_once(AUTHORITIES, |authority| format!("B54 {authority:?}"), |authority| authorities(target, *authority));
    }
}

fn authorities(target: &Target, authority: Option<&str>) -> Result<(), String> {
    let block = request_block(&format!("{}/SayHello", target.service), authority, &[]);
    let octets = [frame(HEADERS, END_HEADERS, 1, &block), frame(DATA, END_STREAM, 1, &message("you", 0))].concat();
    CUTS.iter().try_for_each(|cut| one(target, &octets, &[(1, Says("Hello you"))], *cut))
}

fn one(target: &Target, octets: &[u8], answers: &[(u32, Answer)], cut: Cut) -> Result<(), String> {
    let mut peer = Peer::connect(&target.address);
    let sent = [hello(&[]), octets.to_vec()].concat();
    for piece in cut.pieces(&sent) {
        if !peer.send(piece) {
            return Err(format!("{cut:?}: it ended with {:?}", peer.end()));
        }
    }
    for (stream, answer) in answers {
        // What ends a stream may be followed by its RST_STREAM.
        if !peer.settle(|peer| peer.streams.get(stream).is_some_and(|found| answer.fits(found))) {
            return Err(format!("{cut:?}: stream {stream}: {:?}, GOAWAY {:?}", peer.streams.get(stream), peer.goaway));
        }
    }
    match peer.alive(target, 101) {
        End::Alive => Ok(()),
        end => Err(format!("{cut:?}: the connection is not as it was: {end:?}")),
    }
}
