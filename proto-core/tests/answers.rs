//! An answer in one step is the answer in two: the same octets, the same slot given back, whatever the message and whatever
//! waits before it. And one that is framed when it is given keeps its place among what else there is to say.

#[path = "support/peer.rs"]
mod peer;

use peer::*;
use pintle_core::{
    CallId, Code, Config, Endpoint, Metadata, Status,
    testing::{Cut, wire::*},
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How the application answers.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// `reply_with`.
    OneStep,
    /// `send_with`, then `finish`.
    TwoSteps,
}

/// One situation. `wrong`: the encoder writes so many octets more than it said.
struct Row {
    name: &'static str,
    octets: usize,
    wrong: isize,
    /// The client's initial window, and the connection's has room for 65,535.
    window: u32,
    before: fn(&mut Peer, CallId),
}

const ROW: Row = Row { name: "", octets: 8, wrong: 0, window: 65_535, before: |_, _| {} };

fn rows() -> Vec<Row> {
    let headers = |peer: &mut Peer, id| {
        let mut metadata = Metadata::new();
        metadata.insert("x-key", "value").unwrap();
        peer.call(id).send_headers(&metadata, true).unwrap();
    };
    vec![
        Row { name: "eight octets", ..ROW },
        Row { name: "nothing", octets: 0, ..ROW },
        Row { name: "as large as the segment takes", octets: 4_096, ..ROW },
        Row { name: "larger", octets: 4_097, ..ROW },
        Row { name: "longer than was said", wrong: 3, ..ROW },
        Row { name: "shorter than was said", wrong: -3, ..ROW },
        Row { name: "longer than was said, and than the window", octets: 90, wrong: 20, window: 100, ..ROW },
        Row { name: "larger than the stream's window", octets: 200, window: 100, ..ROW },
        Row { name: "exactly the stream's window", octets: 95, window: 100, ..ROW },
        Row { name: "with headers that went ahead", before: headers, ..ROW },
        Row {
            name: "with headers that are on the wire",
            before: |peer, id| {
                peer.call(id).send_headers(&Metadata::new(), true).unwrap();
                peer.said();
            },
            ..ROW
        },
        Row {
            name: "behind a PING that wants its answer",
            before: |peer, _| {
                peer.send(&frame(PING, 0, 0, b"12345678"));
            },
            ..ROW
        },
    ]
}

fn fill(out: &mut Vec<u8>, octets: usize) {
    out.extend((0..octets).map(|n| n as u8));
}

fn answer(peer: &mut Peer, id: CallId, way: Way, row: &Row) {
    let written = row.octets.checked_add_signed(row.wrong).unwrap();
    let fill = |out: &mut Vec<u8>| fill(out, written);
    match way {
        Way::OneStep => peer.call(id).reply_with(row.octets, fill),
        Way::TwoSteps => {
            peer.call(id).send_with(row.octets, fill).unwrap();
            peer.finish_ok(id);
        }
    }
}

/// The first answers teach the memos, and the table.
fn warm(peer: &mut Peer) {
    for stream in [1, 3] {
        peer.request(stream, "/S/U", false, &[]).data(stream, true, &message(b"ask"));
        let id = peer.accept();
        answer(peer, id, Way::OneStep, &ROW);
        peer.said();
    }
}

/// What was said, and by which `transmit`, until the call is over. The peer's window opens as far as it is needed.
fn play(row: &Row, way: Way, cut: Cut) -> Vec<Vec<Said>> {
    let mut peer = fresh_to_server(&Config::default(), cut);
    peer.handshake(&[(4, row.window)]);
    let mut heard = Vec::new();
    // The first answers teach the memos.
    for (stream, warm) in [(1, true), (3, true), (5, false), (7, false)] {
        peer.request(stream, "/S/U", false, &[]).data(stream, true, &message(b"ask"));
        let id = peer.accept();
        if warm {
            answer(&mut peer, id, way, &ROW);
        } else {
            (row.before)(&mut peer, id);
            answer(&mut peer, id, way, row);
            assert!(peer.conn.call(id).is_err() || peer.conn.wants().write || row.octets > 90, "{}: nothing to do", row.name);
        }
        heard.push(peer.said());
        peer.send(&window_update(stream, 1 << 16));
        heard.push(peer.said());
        assert!(peer.conn.call(id).is_err(), "{}: the slot is still taken", row.name);
    }
    peer.assert_whole();
    heard
}

#[test]
fn one_step_says_what_two_say() {
    for row in rows() {
        for cut in [Cut::Whole, Cut::Octet] {
            let (one, two) = (play(&row, Way::OneStep, cut), play(&row, Way::TwoSteps, cut));
            assert_eq!(format!("{one:?}"), format!("{two:?}"), "{}", row.name);
            let said: Vec<_> = one.iter().flatten().filter(|said| said.stream() == 7).collect();
            let data: Vec<u8> = said.iter().filter(|said| said.kind() == DATA).flat_map(|said| said.frame.payload.clone()).collect();
            let mut octets = Vec::new();
            fill(&mut octets, row.octets.checked_add_signed(row.wrong).unwrap());
            assert_eq!(data, message(&octets), "{}", row.name);
            let last = said.last().unwrap();
            assert_eq!((last.field("grpc-status"), last.ends()), (Some("0"), true), "{}", row.name);
        }
    }
}

/// Answers wait in their order, behind those that could not be framed at once, and the control frames of their time.
#[test]
fn early_answers_do_not_overtake() {
    let mut peer = fresh_to_server(&Config::default(), Cut::Whole);
    peer.handshake(&[(4, 50)]);
    let mut ids = Vec::new();
    for stream in [1, 3, 5, 7, 9] {
        peer.request(stream, "/S/U", false, &[]).data(stream, true, &message(b"ask"));
        ids.push(peer.accept());
    }
    peer.call(ids[0]).reply_with(8, |out| fill(out, 8));
    // Too large for its window: it waits, and holds up nobody.
    peer.call(ids[1]).reply_with(80, |out| fill(out, 80));
    peer.call(ids[2]).reply_with(8, |out| fill(out, 8));
    peer.send(&frame(PING, 0, 0, b"12345678"));
    peer.call(ids[3]).reply_with(8, |out| fill(out, 8));
    peer.call(ids[4]).finish(&Status::new(Code::NotFound, "none"), None);
    let said = peer.said();
    let ends: Vec<u32> = said.iter().filter(|said| said.ends()).map(|said| said.stream()).collect();
    assert_eq!(ends, [1, 5, 7, 9]);
    assert_eq!(said.iter().filter(|said| said.kind() == PING).count(), 1);
    peer.send(&window_update(3, 100));
    assert_eq!(peer.said().iter().filter(|said| said.ends()).map(|said| said.stream()).collect::<Vec<_>>(), [3]);
    peer.assert_whole();
}

/// Early answers wait for a transport that is behind no longer than others, and not without bound.
#[test]
fn early_answers_are_bounded() {
    let mut config = Config::default();
    config.connection_send_buffer = 10_000;
    let mut peer = to_server_with(&config, Cut::Whole);
    warm(&mut peer);
    let (mut most, before) = (0, peer.conn.stats().messages_sent);
    for n in 2..92 {
        let stream = 2 * n + 1;
        peer.request(stream, "/S/U", false, &[]).data(stream, true, &message(b"ask"));
        let id = peer.accept();
        peer.call(id).reply_with(1_000, |out| fill(out, 1_000));
        most = most.max(peer.conn.stats().messages_sent - before);
    }
    // Eleven fill the buffer at most; the rest waits in its calls, whose number the stream limit bounds.
    assert!((5..=11).contains(&most), "{most} were framed before the transport asked");
    let said = peer.said();
    peer.send(&window_update(0, 1 << 17));
    let rest = peer.said();
    assert_eq!(said.iter().chain(&rest).filter(|said| said.ends()).count(), 90);
}

/// A peer that takes nothing is given up, also where all that waits was framed early and nobody asked to transmit.
#[test]
fn early_answers_have_a_write_deadline() {
    let mut peer = to_server_with(&Config::default(), Cut::Whole);
    warm(&mut peer);
    peer.request(5, "/S/U", false, &[]).data(5, true, &message(b"ask"));
    let id = peer.accept();
    peer.call(id).reply_with(8, |out| fill(out, 8));
    assert!(peer.conn.wants().write);
    let deadline = peer.conn.wants().deadline.expect("something waits to be written");
    assert!(deadline > peer.now && deadline <= peer.now.saturating_add(Config::default().write_timeout));
    let wait = deadline.saturating_since(peer.now);
    peer.advance(wait);
    assert!(peer.conn.close_reason().is_some(), "the peer reads nothing");
}

/// Encoders are the application's. One that panics halfway ends its own call, where somebody catches it, and leaves no octet of what it had
/// written among the answers of others.
#[test]
fn an_encoder_that_panics_leaves_nothing_behind() {
    for cut in [Cut::Whole, Cut::Octet] {
        let mut peer = fresh_to_server(&Config::default(), cut);
        peer.handshake(&[]);
        warm(&mut peer);
        let mut ids = Vec::new();
        for stream in [5, 7, 9] {
            peer.request(stream, "/S/U", false, &[]).data(stream, true, &message(b"ask"));
            ids.push(peer.accept());
        }
        peer.call(ids[0]).reply_with(8, |out| fill(out, 8));
        let mut call = Some(peer.call(ids[1]));
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let Some(call) = call.take() else { return };
            call.reply_with(8, |out| {
                fill(out, 3);
                resume_unwind(Box::new("an encoder panics"));
            });
        }));
        assert!(broken.is_err());
        peer.call(ids[1]).finish(&Status::new(Code::Unknown, "the handler panicked"), None);
        peer.call(ids[2]).reply_with(8, |out| fill(out, 8));
        let said = peer.said();
        let ends: Vec<_> = said.iter().filter(|said| said.ends()).map(|said| (said.stream(), said.field("grpc-status"))).collect();
        assert_eq!(ends, [(5, Some("0")), (7, Some("2")), (9, Some("0"))]);
        let data: Vec<_> = said.iter().filter(|said| said.kind() == DATA).map(|said| (said.stream(), said.frame.payload.len())).collect();
        assert_eq!(data, [(5, 13), (9, 13)]);
        peer.assert_whole();
    }
}
