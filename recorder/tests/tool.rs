//! `pintle-replay` as its users meet it.

use pintle_core::{CallOptions, Config, Connection, Endpoint, Metadata, RequestHead, Routes, Shape, Timestamp, bytes::Bytes, pair::Line};
use pintle_recorder::{Recorder, Tapes, Writer, rust_test};
use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The tape of a client with one call that nobody accepted.
fn tape() -> Vec<u8> {
    let now = Timestamp::from_micros(5_000);
    let mut server = Connection::server(&Config::default(), Routes::new([("/a.B/C", Shape::Unary)]).expect("a route"), now);
    let mut client = Recorder::new(Connection::client(&Config::default(), now), Vec::new());
    let secret = Metadata::from_pairs([("authorization", "Bearer sesame")]).expect("valid");
    let head = RequestHead::new("/a.B/C", Shape::Unary).with_metadata(&secret);
    let call = client.conn_mut().start(now, head, CallOptions::default()).expect("room");
    client.conn_mut().call(call).expect("live").send(Bytes::from_static(b"hello").into()).expect("room");
    Line::new().exchange(Timestamp::from_micros(6_204), &mut client, &mut server);
    client.into_parts().1
}

struct File(PathBuf);

impl File {
    fn new(name: &str, octets: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("pintle-tool-{name}-{}.tape", std::process::id()));
        fs::write(&path, octets).expect("a file");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn run(arguments: &[&str], file: &Path) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_pintle-replay")).args(arguments).arg(file).output().expect("it runs");
    let text = |octets| String::from_utf8(octets).expect("text");
    (status.code().expect("it ends by itself"), text(stdout), text(stderr))
}

#[test]
fn the_timeline_says_what_happened() {
    let file = File::new("whole", &tape());
    let (status, text, _) = run(&[], &file.0);
    assert_eq!(status, 0, "{text}");
    for part in [
        "t=+0.000ms  #0     a client begins",
        "start /a.B/C (unary), 1 fields of metadata",
        "send 5 octets on call 0",
        "t=+1.204ms",
        "preface, SETTINGS",
        "HEADERS stream 1",
        "DATA stream 1 (10) END_STREAM",
        "SETTINGS ACK",
        "the same to the octet: ",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("sesame") && !text.contains("hello"), "what may be secret is not shown:\n{text}");
    let (status, text, _) = run(&["--quiet"], &file.0);
    assert_eq!((status, text.lines().count()), (0, 1));
    let (status, text, _) = run(&["--to", "3"], &file.0);
    assert!(status == 0 && text.contains("#3 ") && !text.contains("#4 ") && text.contains("the connection here: Wants"), "{text}");
}

#[test]
fn a_tape_that_was_cut_plays_with_a_note() {
    let tape = tape();
    let (status, text, _) = run(&[], &File::new("cut", &tape[..tape.len() - 1]).0);
    assert!(status == 0 && text.contains("note: the tape was cut"), "{text}");
}

#[test]
fn what_does_not_play_says_why() {
    let mut changed = tape();
    // The user agent is sent as it stands in the settings; on the wire it is another then.
    let at = changed.windows(7).position(|octets| octets == b"pintle/").expect("the user agent");
    changed[at] ^= 1;
    let (status, text, _) = run(&[], &File::new("changed", &changed).0);
    assert!(status == 1 && text.contains("DIFFERS: record ") && text.contains("of what was sent"), "{text}");
    let (status, text, _) = run(&[], &File::new("other", b"GET / HTTP/1.1\r\n").0);
    assert!(status == 2 && text.contains("not readable") && text.contains("not a tape"), "{text}");
    let (status, _, error) = run(&[], Path::new("/nowhere/at.all"));
    assert!(status == 2 && error.contains("cannot read /nowhere/at.all"), "{error}");
    let (status, _, error) = run(&["--fast"], Path::new("x"));
    assert!(status == 2 && error.contains("--fast") && error.contains("usage:"), "{error}");
}

/// The test that it prints holds the tape, octet for octet.
#[test]
fn a_tape_becomes_a_test() {
    let tape = tape();
    let (status, text, _) = run(&["--test", "lost reply"], &File::new("test", &tape).0);
    assert_eq!((status, text.as_str()), (0, rust_test("lost reply", &tape, "").as_str()));
    assert!(text.contains("#[test]\nfn lost_reply() {"));
    let (_, literal) = text.split_once("b\"").expect("a byte string");
    let (literal, _) = literal.split_once('"').expect("its end");
    let mut octets = Vec::new();
    // As the language has it: a backslash before the line's end skips white space.
    let mut rest = literal.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some('\n')) => while rest.next_if(|c| c.is_whitespace()).is_some() {},
            ('\\', Some('x')) => {
                let hex: String = rest.by_ref().skip(1).take(2).collect();
                octets.push(u8::from_str_radix(&hex, 16).expect("two digits"));
            }
            _ => octets.push(c as u8),
        }
    }
    assert_eq!(octets, tape);
    assert!(rust_test("large", &vec![0; 1 << 20], "a.tape").contains("include_bytes!(\"a.tape\")"));
}

#[test]
fn a_full_file_ends_the_tape_and_says_so() {
    let now = Timestamp::from_micros(0);
    let mut client = Recorder::new(Connection::client(&Config::default(), now), Writer::new(Cursor::new(vec![0; 300].into_boxed_slice())));
    for n in 1..100 {
        client.handle_timeout(Timestamp::from_micros(n));
    }
    assert!(!client.is_recording() && client.stopped() == Some("the sink failed"));
    let error = client.sink().error().expect("the reason");
    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);

    let tapes = Tapes::new(std::env::temp_dir().join(format!("pintle-tool-limit-{}", std::process::id()))).expect("a directory").limit(260);
    let mut client = tapes.record(Connection::client(&Config::default(), now));
    for n in 1..100 {
        client.handle_timeout(Timestamp::from_micros(n));
    }
    assert_eq!(client.sink().error().expect("the reason").kind(), std::io::ErrorKind::StorageFull);
    let [file] = &tapes.files().expect("readable")[..] else { panic!("one connection, one file") };
    let played = pintle_recorder::replay(&fs::read(file).expect("readable")).expect("what is there plays");
    assert!(played.cut == 0 && played.records > 1);
    fs::remove_dir_all(file.parent().expect("the directory")).expect("nobody else wants it");
}
