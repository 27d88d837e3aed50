//! A tape in words: what happened, record by record, and whether it plays to the same octet.

use h2_frame::{Head, PREFACE, flag, kind};
use pintle_core::{
    Timestamp,
    tape::{Record, Replay, ReplayError, Staged},
};
use std::fmt::{self, Write};

/// What to show of a tape.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Stop behind this record, and show the connection.
    pub to: Option<usize>,
    /// Only the last line.
    pub quiet: bool,
    /// Also the questions that were answered with nothing, which is every other record.
    pub all: bool,
}

/// How a tape played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// To the same octet, as far as it goes.
    Same,
    /// Another way than it was recorded.
    Differs,
    /// Not at all.
    Unreadable,
}

/// Plays a tape, and writes what happens to `out`.
///
/// # Errors
/// Only those of `out`.
pub fn timeline(tape: &[u8], options: Options, out: &mut impl Write) -> Result<Verdict, fmt::Error> {
    let mut replay = match Replay::new(tape) {
        Ok(replay) => replay,
        Err(error) => return failed(&error, out),
    };
    let mut clock = Clock::default();
    let mut wires = [Frames::default(), Frames::default()];
    while options.to.is_none_or(|to| replay.summary().records <= to) {
        match replay.step() {
            Ok(Some(played)) => {
                let line = describe(&played.record, &mut wires);
                let time = clock.read(&played.record);
                let idle = matches!(played.record, Record::Target | Record::Event { told: None });
                if !options.quiet && (options.all || !idle) {
                    writeln!(out, "t=+{time}  #{:<5} {line}", played.index)?;
                }
            }
            Ok(None) => break,
            Err(error) => return failed(&error, out),
        }
    }
    verdict(&replay, options, out)
}

fn verdict(replay: &Replay<'_>, options: Options, out: &mut impl Write) -> Result<Verdict, fmt::Error> {
    let summary = replay.summary();
    if let (Some(_), Some(conn)) = (options.to, replay.conn()) {
        writeln!(out, "the connection here: {:?}", pintle_core::Endpoint::wants(conn))?;
        writeln!(out, "  {:?}", conn.stats())?;
        if let Some(reason) = conn.close_reason() {
            writeln!(out, "  closed: {reason}")?;
        }
    }
    let pintle_core::tape::Summary { records, octets_in, octets_out, .. } = summary;
    writeln!(out, "the same to the octet: {records} records, {octets_in} octets in, {octets_out} octets out")?;
    if summary.stopped {
        writeln!(out, "note: recording stopped before the connection did")?;
    }
    if summary.cut > 0 && options.to.is_none() {
        writeln!(out, "note: the tape was cut; its last {} octets are less than a record and were left out", summary.cut)?;
    }
    Ok(Verdict::Same)
}

fn failed(error: &ReplayError, out: &mut impl Write) -> Result<Verdict, fmt::Error> {
    match error {
        ReplayError::Tape { .. } => {
            writeln!(out, "not readable: {error}")?;
            Ok(Verdict::Unreadable)
        }
        _ => {
            writeln!(out, "DIFFERS: {error}")?;
            Ok(Verdict::Differs)
        }
    }
}

/// Time since the beginning; what has no time of its own happened after what was before it.
#[derive(Debug, Default)]
struct Clock {
    begin: Option<Timestamp>,
    latest: u64,
}

impl Clock {
    fn read(&mut self, record: &Record<'_>) -> String {
        if let Some(now) = record.now() {
            let begin = *self.begin.get_or_insert(now);
            self.latest = now.as_micros().saturating_sub(begin.as_micros());
        }
        format!("{}.{:03}ms", self.latest / 1_000, self.latest % 1_000)
    }
}

const IN: usize = 0;
const OUT: usize = 1;

/// The record in words, and the frames that began in its octets.
fn describe(record: &Record<'_>, wires: &mut [Frames; 2]) -> String {
    let frames = match record {
        Record::Begin(begin) => {
            // A client writes the preface, a server reads it.
            wires[if begin.client { OUT } else { IN }].preface = PREFACE.len();
            String::new()
        }
        Record::In { octets, .. } | Record::Filled { octets, .. } => wires[IN].read(octets),
        Record::Transmit { staged: Staged::Octets(octets), .. } => wires[OUT].read(octets),
        _ => String::new(),
    };
    if frames.is_empty() { record.to_string() } else { format!("{record}: {frames}") }
}

/// Cuts one direction into frames.
#[derive(Debug, Default)]
struct Frames {
    /// Octets of the preface that are still to come.
    preface: usize,
    head: Vec<u8>,
    /// Octets of the present frame's payload that are still to come.
    left: usize,
}

impl Frames {
    fn read(&mut self, mut octets: &[u8]) -> String {
        let mut text = Vec::new();
        if self.left > 0 && !octets.is_empty() {
            text.push(format!("{} more of the frame before", self.left.min(octets.len())));
        }
        loop {
            if self.preface > 0 {
                octets = skip(octets, &mut self.preface);
                if self.preface == 0 {
                    text.push("preface".to_owned());
                }
            }
            octets = skip(octets, &mut self.left);
            if octets.is_empty() {
                return text.join(", ");
            }
            let n = octets.len().min(Head::LEN - self.head.len());
            self.head.extend_from_slice(&octets[..n]);
            octets = &octets[n..];
            if let Ok(head) = <&[u8; Head::LEN]>::try_from(&self.head[..]) {
                let head = Head::parse(head);
                self.head.clear();
                self.left = head.len as usize;
                text.push(name(head));
            }
        }
    }
}

fn skip<'a>(octets: &'a [u8], left: &mut usize) -> &'a [u8] {
    let n = octets.len().min(*left);
    *left -= n;
    &octets[n..]
}

fn name(head: Head) -> String {
    const KINDS: [&str; 10] =
        ["DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION"];
    let mut text = KINDS.get(usize::from(head.kind)).map_or_else(|| format!("kind {}", head.kind), ToString::to_string);
    if head.stream > 0 {
        text += &format!(" stream {}", head.stream);
    }
    if head.len > 0 {
        text += &format!(" ({})", head.len);
    }
    let flags: &[(u8, &str)] = match head.kind {
        kind::DATA => &[(flag::END_STREAM, " END_STREAM")],
        kind::HEADERS => &[(flag::END_STREAM, " END_STREAM"), (flag::END_HEADERS, " END_HEADERS")],
        kind::CONTINUATION => &[(flag::END_HEADERS, " END_HEADERS")],
        kind::SETTINGS | kind::PING => &[(flag::ACK, " ACK")],
        _ => &[],
    };
    text.extend(flags.iter().filter(|(flag, _)| head.has(*flag)).map(|(_, name)| *name));
    text
}

/// Tapes up to this are written into the test itself.
const EMBED: usize = 32 << 10;

/// A Rust test that plays the tape, to be pasted: the failure that was recorded does not come back unseen. `file` is named where the
/// tape is too large to be written out.
#[must_use]
pub fn rust_test(name: &str, tape: &[u8], file: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("tape_{name}") } else { name };
    let octets = if tape.len() <= EMBED { literal(tape) } else { format!("include_bytes!({file:?})") };
    format!(
        "/// Needs the feature `record` of pintle-core.\n#[test]\nfn {name}() {{\n    const TAPE: &[u8] = {octets};\n    if let \
         Err(error) = pintle_core::tape::replay(TAPE) {{\n        panic!(\"{{error}}\");\n    }}\n}}\n"
    )
}

/// A byte string in lines of 30 octets.
fn literal(octets: &[u8]) -> String {
    let mut text = String::from("b\"");
    for line in octets.chunks(30) {
        text += "\\\n        ";
        for octet in line {
            match octet {
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => text.push(char::from(*octet)),
                other => text += &format!("\\x{other:02x}"),
            }
        }
    }
    text + "\\\n    \""
}
