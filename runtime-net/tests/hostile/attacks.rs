//! Known attacks on HTTP/2 and gRPC, over a socket each, and beside some of them what is legal and only looks like one.

use super::{
    MOST_CALLS, PATIENCE, STOP, Target,
    wire::{
        ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, End, HEADERS, PING, PREFACE, PRIORITY, PROTOCOL_ERROR, Peer,
        SETTINGS, STREAM_CLOSED, Socket, field, frame, hello, message, prefixed, request_block, rst_stream, settings, window_update,
    },
};
use std::{io::Write, thread, time::Duration};

pub struct Attack {
    pub name: &'static str,
    /// Any of these is a right end.
    ends: &'static [End],
    attack: fn(&Target) -> End,
}

impl Attack {
    pub fn run(&self, target: &Target) -> Result<(), String> {
        let end = (self.attack)(target);
        if self.ends.contains(&end) { Ok(()) } else { Err(format!("{end:?} and not {:?}", self.ends)) }
    }
}

const CALM: &[End] = &[End::Goaway(ENHANCE_YOUR_CALM)];
/// An end, whatever is said with it: a peer that does not read, or has said nothing yet, may miss it.
const ENDED: &[End] =
    &[End::Closed, End::Goaway(0), End::Goaway(ENHANCE_YOUR_CALM), End::Goaway(PROTOCOL_ERROR), End::Goaway(SETTINGS_TIMEOUT)];
const ALIVE: &[End] = &[End::Alive];

const SETTINGS_TIMEOUT: u32 = 4;
/// SETTINGS_INITIAL_WINDOW_SIZE and the largest window, RFC 9113 sections 6.5.2 and 6.9.1.
const INITIAL_WINDOW: u16 = 4;
const LARGEST: u32 = i32::MAX as u32;

pub const ATTACKS: &[Attack] = &[
    Attack { name: "X01 rapid reset", ends: CALM, attack: rapid_reset },
    Attack { name: "X01 reset of running handlers", ends: CALM, attack: reset_running },
    Attack { name: "X01 legal: some hundred cancels", ends: ALIVE, attack: some_cancels },
    Attack { name: "X02 an empty WINDOW_UPDATE", ends: CALM, attack: |target| made_to_reset(target, |id| window_update(id, 0)) },
    Attack { name: "X02 a window that overflows", ends: CALM, attack: |target| made_to_reset(target, |id| window_update(id, LARGEST)) },
    Attack { name: "X02 a short PRIORITY", ends: CALM, attack: |target| made_to_reset(target, |id| frame(PRIORITY, 0, id, &[0; 4])) },
    Attack {
        name: "X02 DATA after the end",
        ends: CALM_OR_CLOSED,
        attack: |target| made_to_reset(target, |id| frame(DATA, 0, id, b"late")),
    },
    Attack {
        name: "X02 HEADERS after the end",
        ends: CALM_OR_CLOSED,
        attack: |target| made_to_reset(target, |id| target.head(id, "SayHello")),
    },
    Attack { name: "X03 resets that nobody reads", ends: CALM, attack: unread_resets },
    Attack { name: "X04 streams over the limit", ends: CALM, attack: refused_streams },
    Attack { name: "X05 pings, read", ends: CALM, attack: |target| pings(target, true) },
    Attack { name: "X05 pings, not read", ends: CALM, attack: |target| pings(target, false) },
    Attack { name: "X06 settings with open streams", ends: CALM, attack: many_settings },
    Attack { name: "X07 priorities", ends: CALM, attack: priorities },
    Attack { name: "X08 window updates of no use", ends: CALM, attack: useless_updates },
    Attack { name: "X08 all windows open and nobody reads", ends: ENDED, attack: deaf },
    Attack { name: "X08 legal: one octet at a time", ends: ALIVE, attack: one_octet_at_a_time },
    Attack { name: "X09 empty DATA", ends: CALM, attack: |target| small_data(target, b"") },
    Attack { name: "X09 DATA of one octet", ends: CALM, attack: |target| small_data(target, b"\x01") },
    Attack { name: "X09 legal: empty messages", ends: ALIVE, attack: empty_messages },
    Attack { name: "X11 full CONTINUATIONs", ends: CALM, attack: |target| continuations(target, &[0x82; 16_384]) },
    Attack { name: "X11 empty CONTINUATIONs", ends: CALM, attack: |target| continuations(target, b"") },
    Attack { name: "X12 a bomb, windows closed", ends: CALM, attack: |target| bombs(target, 16_000) },
    Attack { name: "X12 small bombs, windows closed", ends: ALIVE, attack: |target| bombs(target, 800) },
    Attack { name: "X18 answers held by closed windows", ends: ALIVE, attack: held_answers },
    Attack { name: "X21 a message of 4 GiB is announced", ends: ALIVE, attack: announced_too_much },
    Attack { name: "X21 many large messages are announced", ends: ALIVE, attack: announced_much },
    Attack { name: "X22 metadata over the limit", ends: ALIVE, attack: |target| metadata(target, 40_000) },
    Attack { name: "X22 metadata far over the limit", ends: CALM, attack: |target| metadata(target, 1 << 20) },
    Attack { name: "X27 connections that are reset", ends: ALIVE, attack: reset_connections },
    Attack { name: "X32 unknown frames", ends: CALM, attack: |target| useless(target, |_| frame(0xbe, 0, 0, &[7; 100])) },
    Attack { name: "X32 frames for a stream that is gone", ends: CALM_OR_CLOSED, attack: |target| useless(target, |_| rst_stream(1, 0)) },
    Attack { name: "sessions that break anywhere", ends: ALIVE, attack: broken_sessions },
];

/// For a server that does not wait for long. The others have no time to lose: a busy machine may hold up what they begin with.
pub const SLOW: &[Attack] = &[
    Attack { name: "X17 silence", ends: ENDED, attack: |target| slow(target, &[]) },
    Attack { name: "X17 half a preface", ends: ENDED, attack: |target| slow(target, &PREFACE[..10]) },
    Attack { name: "X17 a preface, octet for octet", ends: ENDED, attack: dripping },
    Attack { name: "X17 half a header block", ends: ENDED, attack: |target| slow(target, &half_a_block(target)) },
];

/// RFC 9113 section 5.1 lets the server choose: a stream error, of which there may be some hundred, or a connection error at once.
const CALM_OR_CLOSED: &[End] = &[End::Goaway(ENHANCE_YOUR_CALM), End::Goaway(STREAM_CLOSED)];

/// More than any budget of the server, with what flows back into it while the attack runs.
const FLOOD: u32 = 60_000;

/// A call on a connection of its own is served.
pub fn assert_serves(target: &Target) {
    assert!(serves(target), "a fresh connection is not served");
}

pub fn serves(target: &Target) -> bool {
    let mut peer = Peer::connect(&target.address);
    peer.send(&hello(&[])) && peer.alive(target, 1) == End::Alive
}

/// Says hello and then `octets(n)` for n = 0, 1, 2, some at a time.
fn flood(target: &Target, reads: bool, opening: &[u8], octets: impl FnMut(u32) -> Vec<u8>) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.reads = reads;
    pour(peer, [&hello(&[]), opening].concat(), octets)
}

fn pour(mut peer: Peer, mut batch: Vec<u8>, mut octets: impl FnMut(u32) -> Vec<u8>) -> End {
    for n in 0..FLOOD {
        batch.extend(octets(n));
        if batch.len() >= 4_096 {
            if !peer.send(&batch) {
                break;
            }
            batch.clear();
        }
    }
    peer.end()
}

/// The n-th stream of a client.
const fn id(n: u32) -> u32 {
    1 + 2 * n
}

fn rapid_reset(target: &Target) -> End {
    flood(target, true, &[], |n| [target.unary(id(n), "hang"), rst_stream(id(n), 8)].concat())
}

/// The handlers run when they are cancelled, so their ends, and not the frames, make room for others.
fn reset_running(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.send(&hello(&[]));
    for round in 0..FLOOD / MOST_CALLS {
        let ids = || (round * MOST_CALLS..(round + 1) * MOST_CALLS).map(id);
        let calls: Vec<u8> = ids().flat_map(|id| target.unary(id, "hang")).collect();
        if !peer.send(&calls) || !peer.send(&ids().flat_map(|id| rst_stream(id, 8)).collect::<Vec<u8>>()) {
            break;
        }
    }
    peer.end()
}

fn some_cancels(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.send(&hello(&[]));
    for n in 0..300 {
        peer.send(&[target.unary(id(n), "hang"), rst_stream(id(n), 8)].concat());
    }
    peer.alive(target, id(300))
}

fn made_to_reset(target: &Target, fault: impl Fn(u32) -> Vec<u8>) -> End {
    flood(target, true, &[], |n| [target.unary(id(n), "hang"), fault(id(n))].concat())
}

fn unread_resets(target: &Target) -> End {
    // A connection-specific field: malformed, RFC 9113 section 8.2.2.
    let bad = request_block(&format!("{}/SayHello", target.service), Some("x"), &[("connection", "close")]);
    flood(target, false, &[], |n| frame(HEADERS, END_HEADERS | END_STREAM, id(n), &bad))
}

fn refused_streams(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    // Our SETTINGS are not acknowledged either.
    let mut batch = [PREFACE, &settings(&[])].concat();
    for n in 0..FLOOD {
        batch.extend(target.unary(id(n), "hang"));
        if batch.len() >= 4_096 {
            if !peer.send(&batch) {
                break;
            }
            batch.clear();
        }
    }
    peer.end()
}

fn pings(target: &Target, reads: bool) -> End {
    flood(target, reads, &[], |n| frame(PING, 0, 0, &u64::from(n).to_be_bytes()))
}

fn many_settings(target: &Target) -> End {
    let open: Vec<u8> = (0..MOST_CALLS).flat_map(|n| target.unary(id(n), "hang")).collect();
    flood(target, true, &open, |n| settings(&[(INITIAL_WINDOW, 65_535 + n % 2)]))
}

fn priorities(target: &Target) -> End {
    flood(target, true, &[], |n| frame(PRIORITY, 0, id(n + 1), &[0, 0, 0, 0, 5]))
}

fn useless_updates(target: &Target) -> End {
    flood(target, true, &target.unary(1, "hang"), |_| window_update(1, 1))
}

fn deaf(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.reads = false;
    let windows = [hello(&[(INITIAL_WINDOW, LARGEST)]), window_update(0, LARGEST - 65_535)].concat();
    peer.send(&[windows, target.call(1, "LotsOfReplies", &"x".repeat(10_000), u32::MAX)].concat());
    // Until the server has given up, which it can say to nobody, and has closed: only a write shows that.
    for _ in 0..1_000 {
        if !peer.send(&frame(0xbe, 0, 0, b"")) {
            break;
        }
        thread::sleep(PATIENCE / 50);
    }
    peer.end()
}

fn one_octet_at_a_time(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.send(&[hello(&[(INITIAL_WINDOW, 0)]), target.unary(1, &"y".repeat(600))].concat());
    for _ in 0..600 {
        peer.send(&window_update(1, 1));
    }
    peer.send(&settings(&[(INITIAL_WINDOW, 65_535)]));
    assert!(peer.wait("the rest", |peer| peer.is_over(1)));
    peer.alive(target, 3)
}

/// On a stream that is not read any more: the first note stops who takes each by itself, and the others fill what there is for them;
/// who takes no more than can be echoed may echo nothing. (Where a message is waited for, short DATA passes: its size bounds it.)
fn small_data(target: &Target, octets: &[u8]) -> End {
    // `bytes = 2` with 10,000 octets: a note of either service.
    let note = prefixed(&[&[0x12, 0x90, 0x4e][..], &[STOP; 10_000]].concat());
    let notes: Vec<u8> = (0..11).flat_map(|_| frame(DATA, 0, 1, &note)).collect();
    // And a message that never gets whole.
    let begun = frame(DATA, 0, 1, &[0, 0, 1, 0, 0]);
    let mut peer = Peer::connect(&target.address);
    peer.send(&[hello(&[(INITIAL_WINDOW, 0)]), target.head(1, "Chat"), notes, begun, frame(PING, 0, 0, b"all here")].concat());
    // What can be taken may be taken.
    assert!(peer.wait("the answer to the ping", |peer| peer.pongs == 1), "{:?}", peer.goaway);
    thread::sleep(Duration::from_millis(50));
    pour(peer, Vec::new(), |_| frame(DATA, 0, 1, octets))
}

fn empty_messages(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.send(&[hello(&[]), target.head(1, "LotsOfGreetings")].concat());
    for n in 0..2_000 {
        peer.send(&frame(DATA, u8::from(n == 1_999), 1, &prefixed(b"")));
    }
    assert!(peer.wait("the count", |peer| peer.is_over(1)));
    peer.alive(target, 3)
}

fn continuations(target: &Target, piece: &[u8]) -> End {
    flood(target, true, &frame(HEADERS, END_STREAM, 1, &[]), |_| frame(CONTINUATION, 0, 1, piece))
}

/// A field in the table that is named again and again: one octet each.
fn bombs(target: &Target, names: usize) -> End {
    let mut peer = Peer::connect(&target.address);
    let path = format!("{}/SayHello", target.service);
    // RFC 7541 section 6.2.1: with indexing; section 6.1: number 62 is the newest entry.
    let planted = [&request_block(&path, Some("x"), &[])[..], b"\x40\x04bomb\x01v"].concat();
    let named = [request_block(&path, Some("x"), &[]), vec![0xbe; names]].concat();
    let first = [frame(HEADERS, END_HEADERS, 1, &planted), frame(DATA, END_STREAM, 1, &message("z", 0))].concat();
    peer.send(&[hello(&[(INITIAL_WINDOW, 0)]), first].concat());
    for n in 1..MOST_CALLS {
        if !peer.send(&frame(HEADERS, END_HEADERS | END_STREAM, id(n), &named)) {
            break;
        }
    }
    peer.send(&settings(&[(INITIAL_WINDOW, 65_535)]));
    peer.alive(target, id(MOST_CALLS))
}

/// As many streaming calls as may be, none of which may send, and one PING that is answered all the same.
fn held_answers(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    let calls: Vec<u8> = (0..MOST_CALLS).flat_map(|n| target.call(id(n), "LotsOfReplies", &"w".repeat(10_000), u32::MAX)).collect();
    peer.send(&[hello(&[(INITIAL_WINDOW, 0)]), calls, frame(PING, 0, 0, b"are you?")].concat());
    assert!(peer.wait("the answer to the ping", |peer| peer.pongs == 1), "{:?}", peer.goaway);
    peer.send(&(0..MOST_CALLS).flat_map(|n| rst_stream(id(n), 8)).collect::<Vec<u8>>());
    peer.send(&settings(&[(INITIAL_WINDOW, 65_535)]));
    peer.alive(target, id(MOST_CALLS))
}

fn slow(target: &Target, octets: &[u8]) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.send(octets);
    peer.end()
}

fn dripping(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    // It would take four times as long as the server is patient.
    for octet in PREFACE {
        if !peer.send(&[*octet]) {
            break;
        }
        thread::sleep(PATIENCE / 6);
    }
    peer.end()
}

fn half_a_block(target: &Target) -> Vec<u8> {
    let block = request_block(&format!("{}/SayHello", target.service), Some("x"), &[]);
    [hello(&[]), frame(HEADERS, END_STREAM, 1, &block[..10])].concat()
}

fn announced_too_much(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    peer.send(&[hello(&[]), target.head(1, "SayHello"), frame(DATA, 0, 1, &[0, 0xff, 0xff, 0xff, 0xff])].concat());
    assert!(peer.wait("the refusal", |peer| peer.is_over(1)));
    // RESOURCE_EXHAUSTED
    assert_eq!(peer.streams[&1].status, Some(8), "{:?}", peer.streams[&1]);
    peer.alive(target, 3)
}

fn announced_much(target: &Target) -> End {
    let mut peer = Peer::connect(&target.address);
    // 4 MiB, which is allowed, and one octet of them.
    let begun: Vec<u8> = (0..MOST_CALLS)
        .flat_map(|n| [target.head(id(n), "LotsOfGreetings"), frame(DATA, 0, id(n), &[0, 0, 0x40, 0, 0, 7])].concat())
        .collect();
    peer.send(&[hello(&[]), begun, frame(PING, 0, 0, b"are you?")].concat());
    assert!(peer.wait("the answer to the ping", |peer| peer.pongs == 1), "{:?}", peer.goaway);
    // A sanitizer has a memory of its own.
    let sanitized = std::env::var_os("PINTLE_SANITIZED").is_some();
    assert!(sanitized || resident() < 256 << 20, "{} octets in memory", resident());
    peer.send(&rst_stream(1, 8));
    peer.alive(target, id(MOST_CALLS))
}

/// Octets of this process that are in memory: proc_pid_statm(5), in pages of 4 KiB.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    4_096 * statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("the second number")
}

/// So many octets of fields, in frames of the largest size that is allowed.
fn metadata(target: &Target, octets: usize) -> End {
    let mut block = request_block(&format!("{}/SayHello", target.service), Some("x"), &[]);
    while block.len() < octets {
        field(&mut block, "filler", &[b'f'; 1_000]);
    }
    let mut peer = Peer::connect(&target.address);
    let mut sent = hello(&[]);
    let pieces = block.chunks(16_384).count();
    for (n, piece) in block.chunks(16_384).enumerate() {
        let (kind, end) = if n == 0 { (HEADERS, END_STREAM) } else { (CONTINUATION, 0) };
        sent.extend(frame(kind, end | if n + 1 == pieces { END_HEADERS } else { 0 }, 1, piece));
    }
    peer.send(&sent);
    if peer.wait("the refusal", |peer| peer.is_over(1)) {
        assert_ne!(peer.streams[&1].status, Some(0), "{:?}", peer.streams[&1]);
    }
    peer.alive(target, 3)
}

fn reset_connections(target: &Target) -> End {
    for n in 0..200 {
        let mut socket = Socket::connect(&target.address);
        if n % 2 == 0 {
            // Its answer stays unread: closing resets the connection.
            let _ = socket.write_all(&hello(&[]));
        }
    }
    assert_serves(target);
    End::Alive
}

fn useless(target: &Target, octets: impl Fn(u32) -> Vec<u8>) -> End {
    flood(target, true, &target.unary(1, "over soon"), octets)
}

/// Good sessions that end anywhere: in the middle of a frame, a block, a message; closed, half closed, or reset.
fn broken_sessions(target: &Target) -> End {
    let session = [
        hello(&[]),
        target.unary(1, "one"),
        target.call(3, "LotsOfReplies", "three", 50),
        target.head(5, "Chat"),
        frame(DATA, 0, 5, &message("five", 0)),
        target.unary(7, "hang"),
        frame(SETTINGS, ACK, 0, &[]),
        target.head(9, "LotsOfGreetings"),
        frame(DATA, END_STREAM, 9, &message("nine", 0)),
        rst_stream(7, 8),
    ]
    .concat();
    for n in 0..120 {
        // 7,919 is prime: every place has its turn.
        let cut = n * 7_919 % session.len();
        let mut peer = Peer::connect(&target.address);
        peer.send(&session[..cut]);
        match n % 4 {
            0 => {}
            1 => {
                peer.shutdown_write();
                peer.end();
            }
            2 => {
                thread::sleep(Duration::from_millis(2));
                peer.read();
            }
            _ => peer.shutdown_write(),
        }
    }
    assert_serves(target);
    End::Alive
}
