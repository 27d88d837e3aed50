//! The whole table of stream states and frames (RFC 9113 §5.1 with the rules of §6), for both roles, from the specification.
//!
//! States that cannot be reached are left out: "reserved", because push is refused; a server's "half-closed (local)", because it
//! stops the rest of a request by RST_STREAM(NO_ERROR) in the same breath as its END_STREAM (§8.1); a client's "half-closed
//! (remote)" for the same reason. Stream 0 is a column of its own.

use super::{
    case::Given::{self, *},
    frames::padded,
    lab::{Lab, data, headers},
};
use pintle_core::{
    ErrorCode,
    testing::{Cut, raw::*, wire::*},
};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Name, set-up, stream.
type State = (&'static str, Given, u32);

const SERVER: [State; 13] = [
    ("stream 0", Open, 0),
    ("idle, ours", Ready, 2),
    ("idle, theirs", Ready, 7),
    ("open", Open, 1),
    ("open, answered", Answered, 1),
    ("half-closed (remote)", HalfRemote, 1),
    ("closed by both", ClosedBoth, 1),
    ("reset by the client", PeerReset, 1),
    ("reset by us", OurReset, 1),
    ("forgotten", Forgotten, 1),
    ("skipped", Skipped, 3),
    ("refused", Refused, 3),
    ("behind our GOAWAY", Drained, 3),
];

const CLIENT: [State; 11] = [
    ("stream 0", Open, 0),
    ("idle, ours", Open, 3),
    ("idle, theirs", Open, 2),
    ("open, not answered", Sent, 1),
    ("open", Open, 1),
    ("half-closed (local)", HalfLocal, 1),
    ("closed by both", ClosedBoth, 1),
    ("reset by the server", PeerReset, 1),
    ("reset by us", OurReset, 1),
    ("forgotten", Forgotten, 1),
    ("behind the server's GOAWAY", GoneAway, 3),
];

/// One line for each frame, one letter for each state in the order above:
///
/// `.` nothing happens; `+` it is taken, and the application sees it; `k` it is acknowledged; `e` the call ends;
/// `P` connection error PROTOCOL_ERROR, `Z` FRAME_SIZE_ERROR, `C` STREAM_CLOSED;
/// `p` stream error PROTOCOL_ERROR, `z` FRAME_SIZE_ERROR, `c` STREAM_CLOSED.
///
/// Choices: HEADERS on a closed stream are a connection error (§5.1), of type PROTOCOL_ERROR where the id was never used (§5.1.1). What
/// comes for a stream that we reset, refused or excluded by GOAWAY is discarded, even if it is wrong (§5.1, §6.8). PRIORITY of a
/// wrong length on an idle stream is promoted, since such a stream must not be reset (§6.4).
const SERVER_TABLE: &str = "
    DATA                       P P P + + c c c . c c . .
    DATA ES                    P P P + + c c c . c c . .
    DATA, bad padding          P P P P P P P P P P P P P
    DATA, no pad length        P Z Z Z Z Z Z Z Z Z Z Z Z
    HEADERS                    P P + p p c C C . C P . .
    HEADERS ES                 P P + + + c C C . C P . .
    HEADERS, bad padding       P P P P P P P P P P P P P
    HEADERS, short priority    P Z Z Z Z Z Z Z Z Z Z Z Z
    PRIORITY                   P . . . . . . . . . . . .
    PRIORITY of 4              P Z Z z z z z z . z z . .
    PRIORITY on itself         P P P p p p p p . p p . .
    RST_STREAM                 P P P e e e . . . . . . .
    RST_STREAM of 3            P Z Z Z Z Z Z Z Z Z Z Z Z
    SETTINGS                   k P P P P P P P P P P P P
    SETTINGS of 7              Z P P P P P P P P P P P P
    SETTINGS ACK               P P P P P P P P P P P P P
    PUSH_PROMISE               P P P P P P P P P P P P P
    PUSH_PROMISE of 3          P Z Z Z Z Z Z Z Z Z Z Z Z
    PING                       k P P P P P P P P P P P P
    PING of 7                  Z P P P P P P P P P P P P
    PING ACK                   . P P P P P P P P P P P P
    GOAWAY                     + P P P P P P P P P P P P
    GOAWAY of 7                Z P P P P P P P P P P P P
    WINDOW_UPDATE              . P P . . . . . . . . . .
    WINDOW_UPDATE by 0         P P P p p p p p . p p . .
    WINDOW_UPDATE of 3         Z Z Z Z Z Z Z Z Z Z Z Z Z
    CONTINUATION               P P P P P P P P P P P P P
    unknown                    . . . . . . . . . . . . .
    unknown, all flags         . . . . . . . . . . . . .
";

/// A client's closed streams: HEADERS are decoded and dropped (§5.1 allows it, and it costs no more than any other late frame).
const CLIENT_TABLE: &str = "
    DATA                       P P P p + + c c . c c
    DATA ES                    P P P p + + c c . c c
    DATA, bad padding          P P P P P P P P P P P
    DATA, no pad length        P Z Z Z Z Z Z Z Z Z Z
    HEADERS                    P P P + p p . . . . .
    HEADERS ES                 P P P + + + . . . . .
    HEADERS, bad padding       P P P P P P P P P P P
    HEADERS, short priority    P Z Z Z Z Z Z Z Z Z Z
    PRIORITY                   P . . . . . . . . . .
    PRIORITY of 4              P Z Z z z z z z . z z
    PRIORITY on itself         P P P p p p p p . p p
    RST_STREAM                 P P P e e e . . . . .
    RST_STREAM of 3            P Z Z Z Z Z Z Z Z Z Z
    SETTINGS                   k P P P P P P P P P P
    SETTINGS of 7              Z P P P P P P P P P P
    SETTINGS ACK               P P P P P P P P P P P
    PUSH_PROMISE               P P P P P P P P P P P
    PUSH_PROMISE of 3          P Z Z Z Z Z Z Z Z Z Z
    PING                       k P P P P P P P P P P
    PING of 7                  Z P P P P P P P P P P
    PING ACK                   . P P P P P P P P P P
    GOAWAY                     + P P P P P P P P P P
    GOAWAY of 7                Z P P P P P P P P P P
    WINDOW_UPDATE              . P P . . . . . . . .
    WINDOW_UPDATE by 0         P P P p p p p p . p p
    WINDOW_UPDATE of 3         Z Z Z Z Z Z Z Z Z Z Z
    CONTINUATION               P P P P P P P P P P P
    unknown                    . . . . . . . . . . .
    unknown, all flags         . . . . . . . . . . .
";

/// Every frame for a stream in a state: all ten types and one that does not exist; with and without END_STREAM, and of right and
/// wrong length, where it matters.
fn frames(server: bool, given: Given, stream: u32) -> Vec<(&'static str, Vec<u8>)> {
    let block: &[u8] = match given {
        Ready if server => REQUEST,
        Sent => RESPONSE,
        _ => TRAILERS_OK,
    };
    let short = |kind, flags, octets: usize| frame(kind, flags, stream, &vec![0; octets]);
    vec![
        ("DATA", data(stream, 0, &message(b"hi"))),
        ("DATA ES", data(stream, END_STREAM, &message(b"hi"))),
        ("DATA, bad padding", data(stream, PADDED, &[9, 0, 0])),
        ("DATA, no pad length", data(stream, PADDED, b"")),
        ("HEADERS", headers(stream, 0, block)),
        ("HEADERS ES", headers(stream, END_STREAM | PADDED, &padded(block, 3))),
        ("HEADERS, bad padding", headers(stream, PADDED, &[9, 0x88])),
        ("HEADERS, short priority", headers(stream, PRIORITIZED, &[0; 4])),
        ("PRIORITY", short(PRIORITY, 0, 5)),
        ("PRIORITY of 4", short(PRIORITY, 0, 4)),
        ("PRIORITY on itself", frame(PRIORITY, 0, stream, &[&stream.to_be_bytes()[..], &[9]].concat())),
        ("RST_STREAM", rst_stream(stream, 8)),
        ("RST_STREAM of 3", short(RST_STREAM, 0, 3)),
        ("SETTINGS", short(SETTINGS, 0, 0)),
        ("SETTINGS of 7", short(SETTINGS, 0, 7)),
        ("SETTINGS ACK", short(SETTINGS, ACK, 0)),
        ("PUSH_PROMISE", frame(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2])),
        ("PUSH_PROMISE of 3", short(PUSH_PROMISE, END_HEADERS, 3)),
        ("PING", short(PING, 0, 8)),
        ("PING of 7", short(PING, 0, 7)),
        ("PING ACK", short(PING, ACK, 8)),
        ("GOAWAY", frame(GOAWAY, 0, stream, &[0, 0, 0, 1, 0, 0, 0, 0])),
        ("GOAWAY of 7", short(GOAWAY, 0, 7)),
        ("WINDOW_UPDATE", window_update(stream, 1)),
        ("WINDOW_UPDATE by 0", short(WINDOW_UPDATE, 0, 4)),
        ("WINDOW_UPDATE of 3", short(WINDOW_UPDATE, 0, 3)),
        ("CONTINUATION", frame(CONTINUATION, END_HEADERS, stream, b"")),
        ("unknown", short(0x5a, 0, 5)),
        ("unknown, all flags", short(0xf0, 0xff, 0)),
    ]
}

/// The table by frame: a letter for each state.
fn parse(table: &'static str, states: &[State]) -> BTreeMap<&'static str, Vec<u8>> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    let rows = lines.map(|line| {
        let (name, letters) = line.split_at(31);
        let letters: Vec<u8> = letters.split_whitespace().map(|letter| letter.as_bytes()[0]).collect();
        assert_eq!(letters.len(), states.len(), "a letter for each state: {line}");
        (name.trim(), letters)
    });
    rows.collect()
}

#[test]
fn every_frame_in_every_state_of_a_server() {
    check(true, &SERVER, SERVER_TABLE);
}

#[test]
fn every_frame_in_every_state_of_a_client() {
    check(false, &CLIENT, CLIENT_TABLE);
}

fn check(server: bool, states: &[State], table: &'static str) {
    let table = parse(table, states);
    let (mut failed, mut pairs) = (Vec::new(), 0);
    for (column, &(state, given, stream)) in states.iter().enumerate() {
        let frames = frames(server, given, stream);
        assert_eq!(frames.len(), table.len(), "the table has every frame, and no other");
        for (frame, octets) in frames {
            let letter = table.get(frame).unwrap_or_else(|| panic!("{frame} is not in the table"))[column];
            // To forget a stream takes a thousand others: once is enough.
            let cuts: &[Cut] = if given == Forgotten { &[Cut::Octet] } else { &[Cut::Whole, Cut::Octet] };
            for &cut in cuts {
                let outcome =
                    catch_unwind(AssertUnwindSafe(|| meets(Lab::new(server, given, &[], |_| {}, cut), given, stream, &octets, letter)));
                if outcome.is_err() {
                    failed.push(format!("{frame} on a stream that is {state} ({cut:?}): {} expected", letter as char));
                    eprintln!("^ {}", failed[failed.len() - 1]);
                }
            }
            pairs += 1;
        }
    }
    println!("{pairs} pairs of state and frame");
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

fn meets(mut lab: Lab, given: Given, stream: u32, octets: &[u8], letter: u8) {
    lab.peer.send(octets);
    lab.observe();
    let (wire, seen) = (lab.wire(), lab.seen());
    let last = if lab.server { given.last() } else { 0 };
    let ended = |code| {
        assert_eq!(wire, format!("GOAWAY {last} {code}"));
        assert!(seen.ends_with("closed") && lab.peer.conn.is_finished(), "{seen}");
    };
    let reset = |code| assert_eq!(wire, format!("RST_STREAM {stream} {code}"), "{seen}");
    match letter {
        b'.' => assert_eq!((wire.as_str(), seen.as_str()), ("", "")),
        // What ends a call before its request is whole is followed by RST_STREAM(NO_ERROR): allowed, and nothing else is.
        b'+' => assert!((wire.is_empty() || wire == "RST_STREAM 1 NO_ERROR") && !seen.is_empty(), "{wire} / {seen}"),
        b'k' => assert!(matches!(wire.as_str(), "SETTINGS ACK" | "PING ACK 0000000000000000") && seen.is_empty(), "{wire} / {seen}"),
        b'e' => assert!(wire.is_empty() && matches!(seen.as_str(), "finished Cancelled" | "outcome Cancelled"), "{wire} / {seen}"),
        b'P' => ended(ErrorCode::PROTOCOL_ERROR),
        b'Z' => ended(ErrorCode::FRAME_SIZE_ERROR),
        b'C' => ended(ErrorCode::STREAM_CLOSED),
        b'p' => reset(ErrorCode::PROTOCOL_ERROR),
        b'z' => reset(ErrorCode::FRAME_SIZE_ERROR),
        b'c' => reset(ErrorCode::STREAM_CLOSED),
        other => panic!("{other} is no letter of the table"),
    }
    if letter.is_ascii_uppercase() {
        return;
    }
    // The connection lives: it answers.
    lab.said.clear();
    lab.peer.send(&frame(PING, 0, 0, &[7; 8]));
    lab.observe();
    assert_eq!((lab.wire().as_str(), lab.peer.conn.close_reason()), ("PING ACK 0707070707070707", None));
}
