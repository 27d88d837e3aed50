//! Stands on the wire between two connections and knows the rules by itself: windows, stream states,
//! limits. It can also slip frames in, which no connection of ours would send by itself.

mod rules;

use super::{
    places::{Place, Places},
    wire::*,
};
use crate::Timestamp;
use alloc::{
    collections::{BTreeMap, VecDeque},
    format,
    string::String,
    vec::Vec,
};

/// A client's side of a pair.
pub const CLIENT: usize = 0;
/// A server's side of a pair.
pub const SERVER: usize = 1;

/// What a receiver's SETTINGS allow its peer.
#[derive(Debug, Clone, Copy)]
struct Limits {
    initial_window: u32,
    max_frame: u32,
    max_streams: u32,
    table: u32,
}

/// One end as a sender.
#[derive(Debug)]
struct End {
    /// What the peer's SETTINGS allow, as far as this end has acknowledged them.
    acknowledged: Limits,
    /// The same after each SETTINGS that this end has received and not acknowledged yet.
    pending: VecDeque<Limits>,
    /// Connection window: 65,535 and what WINDOW_UPDATE brought to this end.
    credit: i64,
    /// Octets of DATA sent.
    sent: i64,
    /// Octets of DATA whose frames' heads reached the other end.
    arrived: i64,
    /// Connection credit that this end gave the other.
    given: i64,
    /// Stream of the header block that is not complete.
    in_block: Option<u32>,
    first: bool,
    goaway: Option<u32>,
    /// When GOAWAY with the highest id went out: a drain waits for a round trip then.
    drain_began: Option<Timestamp>,
    /// A PING's acknowledgement has reached this end since.
    round_trip: bool,
    /// GOAWAY reached this end while it had nothing staged: from here on it opens no stream.
    no_more_streams: bool,
    /// SETTINGS reached this end while it had nothing staged: their acknowledgement goes ahead of everything new.
    ack_first: bool,
    /// Payloads of the PINGs that have reached this end and are not answered.
    pings: VecDeque<Vec<u8>>,
    /// Size of the HPACK table that this end has told its peer.
    table: u32,
    frames: [u64; 16],
}

/// A whole header block, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderBlock {
    /// Its sender.
    pub end: usize,
    /// Its stream.
    pub stream: u32,
    /// It ends the stream.
    pub ends_stream: bool,
    /// HPACK.
    pub octets: Vec<u8>,
}

/// What an endpoint was made to do, so that the wire may show it.
#[derive(Debug, Clone, Default)]
pub struct Excuses {
    /// Streams that were reset with an error code on purpose.
    pub resets: Vec<(u32, u32)>,
    /// The connection was failed on purpose.
    pub failed: bool,
    /// When it was told to drain, where that is known: GOAWAY may be written later.
    pub drained: Option<Timestamp>,
}

impl End {
    fn new() -> Self {
        let defaults = Limits { initial_window: 65_535, max_frame: 16_384, max_streams: u32::MAX, table: 4_096 };
        Self {
            acknowledged: defaults,
            pending: VecDeque::new(),
            credit: 65_535,
            sent: 0,
            arrived: 0,
            given: 65_535,
            in_block: None,
            first: true,
            goaway: None,
            drain_began: None,
            round_trip: false,
            no_more_streams: false,
            ack_first: false,
            pings: VecDeque::new(),
            table: 4_096,
            frames: [0; 16],
        }
    }

    /// Until a reduction is acknowledged, what was legal before it still is (RFC 9113 §6.5.3).
    fn limits(&self) -> Limits {
        self.pending.iter().fold(self.acknowledged, |most, next| Limits {
            initial_window: most.initial_window.max(next.initial_window),
            max_frame: most.max_frame.max(next.max_frame),
            max_streams: most.max_streams.max(next.max_streams),
            table: most.table.max(next.table),
        })
    }
}

/// A stream; the arrays are by the end that sends.
#[derive(Debug, Default)]
struct Stream {
    sent: [i64; 2],
    /// What WINDOW_UPDATE brought to this end, and what this end sent of it.
    credit: [i64; 2],
    given: [i64; 2],
    heads: [u32; 2],
    opening_arrived: bool,
    ended: [bool; 2],
    end_arrived: [bool; 2],
    reset: [bool; 2],
    reset_arrived: [bool; 2],
}

impl Stream {
    /// This end counts it against the stream limit.
    fn is_open_at(&self, end: usize) -> bool {
        let peer = 1 - end;
        let over = self.ended[end] && self.end_arrived[peer];
        !(over || self.reset[end] || self.reset_arrived[peer])
    }
}

/// See the module.
#[derive(Debug)]
pub struct Referee {
    ends: [End; 2],
    streams: BTreeMap<u32, Stream>,
    outgoing: [Cutter; 2],
    incoming: [Cutter; 2],
    /// Frames to slip into what this end sends, at the next boundary.
    slips: [VecDeque<Vec<u8>>; 2],
    /// For each SETTINGS on its way to this end: it was slipped in, so its acknowledgement must not reach the other.
    owed_acks: [VecDeque<bool>; 2],
    /// Largest connection window that each end may grant.
    window_limits: [i64; 2],
    /// The virtual time.
    pub now: Timestamp,
    /// By the end that was made to.
    pub excuses: [Excuses; 2],
    /// Every header block, for who has a decoder of his own; `None`: they are not kept.
    pub blocks: Option<Vec<HeaderBlock>>,
    /// The block that is being written.
    block: [Vec<u8>; 2],
    /// Broken rules, in words.
    pub violations: Vec<String>,
    /// Situations seen on the wire.
    pub places: Places,
}

impl Default for Referee {
    fn default() -> Self {
        Self::new([i64::from(i32::MAX); 2])
    }
}

impl Referee {
    /// For two ends whose connection windows never exceed `window_limits`.
    #[must_use]
    pub fn new(window_limits: [i64; 2]) -> Self {
        Self {
            ends: [End::new(), End::new()],
            streams: BTreeMap::new(),
            outgoing: [Cutter::new(true), Cutter::new(false)],
            incoming: [Cutter::new(true), Cutter::new(false)],
            slips: [VecDeque::new(), VecDeque::new()],
            owed_acks: [VecDeque::new(), VecDeque::new()],
            window_limits,
            now: Timestamp::from_micros(0),
            excuses: [Excuses::default(), Excuses::default()],
            blocks: None,
            block: [Vec::new(), Vec::new()],
            violations: Vec::new(),
            places: Places::default(),
        }
    }

    /// `end` has written `octets`; what really goes on the line is appended to `line`.
    pub fn written(&mut self, end: usize, octets: &[u8], line: &mut Vec<u8>) {
        let mut cutter = core::mem::replace(&mut self.outgoing[end], Cutter::new(false));
        let mut swallow = false;
        cutter.push(octets, |part| match part {
            Part::Preface(octets) => line.extend_from_slice(octets),
            Part::Head(head) => {
                swallow = head.kind == SETTINGS && head.has(ACK) && self.owed_acks[end].pop_front() == Some(true);
                if !swallow {
                    line.extend_from_slice(&head.octets());
                }
            }
            Part::Body(_, octets) => line.extend_from_slice(octets),
            Part::End(head, body) => {
                if head.kind == SETTINGS && !head.has(ACK) {
                    self.owed_acks[1 - end].push_back(false);
                }
                self.judge(end, head, body);
                self.slip_in(end, line);
            }
        });
        self.outgoing[end] = cutter;
    }

    /// `octets` from `end` have reached the other end, which had nothing staged if `idle`.
    pub fn arrived(&mut self, end: usize, octets: &[u8], idle: bool) {
        let mut cutter = core::mem::replace(&mut self.incoming[end], Cutter::new(false));
        let mut frames = 0;
        cutter.push(octets, |part| match part {
            // A frame's whole length counts from its head on: its sender has used that much of the window.
            Part::Head(head) if head.kind == DATA => self.ends[end].arrived += i64::from(head.len),
            Part::End(head, body) => {
                frames += 1;
                self.note_arrival(end, head, body, idle);
            }
            _ => {}
        });
        self.places.hit_if(frames > 1, Place::ManyFramesInOneRead);
        self.places.hit_if(!cutter.at_boundary(), Place::FrameCut);
        self.incoming[end] = cutter;
    }

    /// Slips a whole frame into what `end` sends, now or at the next boundary. The acknowledgement of
    /// slipped SETTINGS is swallowed.
    pub fn slip(&mut self, end: usize, frame: Vec<u8>, line: &mut Vec<u8>) {
        self.slips[end].push_back(frame);
        if self.outgoing[end].at_boundary() && self.ends[end].frames[usize::from(SETTINGS)] > 0 {
            self.slip_in(end, line);
        }
    }

    fn slip_in(&mut self, end: usize, line: &mut Vec<u8>) {
        // Nothing may come between the pieces of a header block (RFC 9113 §4.3).
        if self.ends[end].in_block.is_some() {
            return;
        }
        while let Some(frame) = self.slips[end].pop_front() {
            if frame[3] == SETTINGS {
                self.owed_acks[1 - end].push_back(true);
            }
            line.extend_from_slice(&frame);
        }
    }

    /// The other end has received a part of a frame of `end`.
    #[must_use]
    pub const fn is_mid_frame(&self, end: usize) -> bool {
        !self.incoming[end].at_boundary()
    }

    /// What `end` may still send on the connection, as the wire tells.
    #[must_use]
    pub fn connection_window(&self, end: usize) -> i64 {
        self.ends[end].credit - self.ends[end].sent
    }

    /// What `end` may still send on a stream, as the wire tells.
    #[must_use]
    pub fn stream_window(&self, end: usize, stream: u32) -> Option<i64> {
        let state = self.streams.get(&stream)?;
        Some(i64::from(self.ends[end].limits().initial_window) + state.credit[end] - state.sent[end])
    }

    /// One of the streams that are over for both ends, by the wire.
    #[must_use]
    pub fn closed_stream(&self, number: usize) -> Option<u32> {
        let over = |(_, stream): &(&u32, &Stream)| stream.end_arrived == [true; 2] || stream.reset_arrived == [true; 2];
        let streams = self.streams.iter().filter(over);
        let count = streams.clone().count();
        streams.map(|(&id, _)| id).nth(number % count.max(1))
    }

    /// Frames of `kind` that `end` has sent.
    #[must_use]
    pub fn frames(&self, end: usize, kind: u8) -> u64 {
        self.ends[end].frames[usize::from(kind & 15)]
    }

    fn broken(&mut self, end: usize, head: Head, rule: &str) {
        let name = ["client", "server"][end];
        self.violations.push(format!("{name} sent {head:?}: {rule}"));
    }

    fn judge(&mut self, end: usize, head: Head, body: &[u8]) {
        self.ends[end].frames[usize::from(head.kind & 15)] += 1;
        self.judge_form(end, head);
        if core::mem::replace(&mut self.ends[end].first, false) && (head.kind != SETTINGS || head.has(ACK)) {
            self.broken(end, head, "the first frame must be SETTINGS (RFC 9113 §3.4)");
        }
        if head.len > self.ends[end].limits().max_frame {
            self.broken(end, head, "larger than the peer's SETTINGS_MAX_FRAME_SIZE (§4.2)");
        }
        match self.ends[end].in_block {
            Some(stream) if head.kind != CONTINUATION || head.stream != stream => {
                self.broken(end, head, "inside a header block (§4.3)");
            }
            None if head.kind == CONTINUATION => self.broken(end, head, "outside a header block (§6.10)"),
            _ => {}
        }
        match head.kind {
            DATA => self.judge_data(end, head),
            HEADERS => {
                self.judge_headers(end, head);
                self.judge_block(end, head, body);
            }
            CONTINUATION => {
                self.places.hit(Place::Continuation);
                if head.has(END_HEADERS) {
                    self.ends[end].in_block = None;
                }
                self.judge_block(end, head, body);
            }
            RST_STREAM => self.judge_reset(end, head, word(body, 0)),
            WINDOW_UPDATE => self.judge_window_update(end, head, i64::from(word(body, 0))),
            GOAWAY => self.judge_goaway(end, head, body),
            SETTINGS if head.has(ACK) => {
                self.ends[end].ack_first = false;
                match self.ends[end].pending.pop_front() {
                    Some(limits) => self.ends[end].acknowledged = limits,
                    None => self.broken(end, head, "there is nothing to acknowledge (§6.5.3)"),
                }
            }
            SETTINGS => self.judge_settings(end, head, body),
            PING if head.has(ACK) => {
                self.places.hit(Place::PingAnswered);
                if self.ends[end].pings.pop_front().as_deref() != Some(body) {
                    self.broken(end, head, "no PING had this payload (§6.7)");
                }
            }
            PING => {}
            _ => self.broken(end, head, "we send no such frame"),
        }
    }

    /// Rules that hold for every frame of a stream.
    fn judge_state(&mut self, end: usize, head: Head) {
        let Some(stream) = self.streams.get(&head.stream) else {
            return self.broken(end, head, "on an idle stream (§5.1)");
        };
        let (reset, ended) = (stream.reset[end], stream.ended[end] && matches!(head.kind, DATA | HEADERS));
        let crossing = stream.reset[1 - end] && !stream.reset_arrived[1 - end];
        self.places.hit_if(crossing, Place::ResetInFlight);
        if reset {
            self.broken(end, head, "after RST_STREAM (§5.1)");
        }
        if ended {
            self.broken(end, head, "after END_STREAM (§5.1)");
        }
    }

    fn judge_data(&mut self, end: usize, head: Head) {
        self.judge_state(end, head);
        let len = i64::from(head.len);
        self.ends[end].sent += len;
        let initial = i64::from(self.ends[end].limits().initial_window);
        let Some(stream) = self.streams.get_mut(&head.stream) else { return };
        stream.sent[end] += len;
        stream.ended[end] |= head.ends_stream();
        let (window, headless) = (initial + stream.credit[end] - stream.sent[end], stream.heads[end] == 0);
        if len == 0 && !head.has(END_STREAM) {
            self.broken(end, head, "empty, and it ends nothing (§10.5)");
        }
        if len > 0 && (window < 0 || self.connection_window(end) < 0) {
            self.broken(end, head, "more than the window (§6.9.1)");
        }
        if headless {
            self.broken(end, head, "before HEADERS (§8.1)");
        }
    }

    fn judge_headers(&mut self, end: usize, head: Head) {
        let new = !self.streams.contains_key(&head.stream);
        if new && end == CLIENT {
            self.judge_opening(head);
            self.streams.insert(head.stream, Stream::default());
        }
        self.judge_state(end, head);
        if !head.has(END_HEADERS) {
            self.ends[end].in_block = Some(head.stream);
        }
        let Some(stream) = self.streams.get_mut(&head.stream) else { return };
        let unseen = end == SERVER && !stream.opening_arrived;
        stream.heads[end] += 1;
        stream.ended[end] |= head.ends_stream();
        let (first, trailers) = (stream.heads[end] == 1, stream.heads[end] > 1);
        let early = end == SERVER && head.ends_stream() && !stream.ended[CLIENT] && !stream.reset[CLIENT];
        self.places.hit_if(end == SERVER && first && head.ends_stream(), Place::TrailersOnly);
        self.places.hit_if(early, Place::EarlyAnswer);
        if unseen {
            self.broken(end, head, "before the stream's first HEADERS have arrived (§5.1)");
        }
        if trailers && !head.ends_stream() {
            self.broken(end, head, "trailers must end the stream (§8.1)");
        }
    }

    fn judge_opening(&mut self, head: Head) {
        if head.stream.is_multiple_of(2) || self.streams.last_key_value().is_some_and(|(&last, _)| last > head.stream) {
            self.broken(CLIENT, head, "new streams must have odd, growing ids (§5.1.1)");
        }
        let open = self.streams.values().filter(|stream| stream.is_open_at(CLIENT)).count();
        if open as u64 >= u64::from(self.ends[CLIENT].limits().max_streams) {
            self.broken(CLIENT, head, "more streams than the peer allows (§5.1.2)");
        }
        if self.ends[CLIENT].no_more_streams {
            self.broken(CLIENT, head, "a new stream after GOAWAY (§6.8)");
        }
        let server = &self.ends[SERVER];
        // One that was framed before GOAWAY came may still be written after it: no rule is broken.
        self.places.hit_if(server.goaway.is_some(), Place::GoawayRace);
    }

    fn judge_reset(&mut self, end: usize, head: Head, code: u32) {
        if !self.streams.contains_key(&head.stream) {
            return self.broken(end, head, "on an idle stream (§5.1)");
        }
        let excuse = self.excuses[end].resets.iter().position(|reset| *reset == (head.stream, code));
        match (excuse, code) {
            (Some(at), _) => _ = self.excuses[end].resets.swap_remove(at),
            (None, 0 | 8) => {}
            (None, 7) if end == SERVER => {}
            _ => self.broken(end, head, &format!("a stream between correct peers fails with code {code}")),
        }
        self.places.hit_if(end == SERVER && code == 7, Place::StreamRefused);
        self.places.hit_if(end == CLIENT && code == 8, Place::CancelledOnWire);
        let Some(stream) = self.streams.get_mut(&head.stream) else { return };
        let (again, answers) = (stream.reset[end], excuse.is_none() && end == SERVER && stream.heads[SERVER] > 0);
        stream.reset[end] = true;
        if again {
            self.broken(end, head, "a second time (§5.4.2)");
        }
        if answers && code == 7 {
            self.broken(end, head, "a stream is refused that was answered (§8.7)");
        }
    }

    fn judge_window_update(&mut self, end: usize, head: Head, increment: i64) {
        if increment == 0 {
            self.broken(end, head, "an increment of 0 (§6.9)");
        }
        if head.stream != 0 {
            self.judge_state(end, head);
            let Some(stream) = self.streams.get_mut(&head.stream) else { return };
            stream.given[end] += increment;
            if stream.given[end] + i64::from(self.ends[1 - end].limits().initial_window) - stream.sent[1 - end] > i64::from(i32::MAX) {
                self.broken(end, head, "a stream's window exceeds 2^31-1 (§6.9.1)");
            }
            return;
        }
        self.ends[end].given += increment;
        if self.ends[end].given - self.ends[1 - end].arrived > self.window_limits[end] {
            self.broken(end, head, "more connection credit than the window's size");
        }
    }

    fn note_arrival(&mut self, from: usize, head: Head, body: &[u8], idle: bool) {
        let to = 1 - from;
        self.ends[to].ack_first |= idle && head.kind == SETTINGS && !head.has(ACK);
        self.ends[to].no_more_streams |= idle && head.kind == GOAWAY;
        match head.kind {
            SETTINGS if !head.has(ACK) => {
                let mut limits = self.ends[to].pending.back().copied().unwrap_or(self.ends[to].acknowledged);
                for (id, value) in entries(body) {
                    match id {
                        1 => limits.table = value,
                        3 => limits.max_streams = value,
                        4 => limits.initial_window = value,
                        5 => limits.max_frame = value,
                        _ => {}
                    }
                }
                self.ends[to].pending.push_back(limits);
            }
            WINDOW_UPDATE if head.stream == 0 => self.ends[to].credit += i64::from(word(body, 0)),
            PING if head.has(ACK) => self.ends[to].round_trip = true,
            PING => self.ends[to].pings.push_back(body.to_vec()),
            _ => {}
        }
        let Some(stream) = self.streams.get_mut(&head.stream) else { return };
        match head.kind {
            WINDOW_UPDATE => stream.credit[to] += i64::from(word(body, 0)),
            RST_STREAM => stream.reset_arrived[from] = true,
            HEADERS if from == CLIENT => stream.opening_arrived = true,
            _ => {}
        }
        stream.end_arrived[from] |= head.ends_stream();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn write(referee: &mut Referee, end: usize, octets: &[u8]) -> Vec<u8> {
        let mut line = Vec::new();
        referee.written(end, octets, &mut line);
        referee.arrived(end, &line, true);
        line
    }

    fn open(limit: u32) -> Referee {
        let mut referee = Referee::default();
        write(&mut referee, SERVER, &settings(&[(3, limit), (4, 10)]));
        write(&mut referee, CLIENT, &[PREFACE.to_vec(), settings(&[]), settings_ack()].concat());
        write(&mut referee, SERVER, &settings_ack());
        write(&mut referee, CLIENT, &frame(HEADERS, END_HEADERS, 1, b"x"));
        referee
    }

    #[test]
    fn broken_rules_are_seen() {
        let cases: Vec<(Vec<u8>, &str)> = vec![
            (frame(DATA, 0, 1, &[0; 11]), "more than the window"),
            (frame(DATA, 0, 3, &[0; 1]), "idle"),
            (frame(HEADERS, END_HEADERS, 3, b"x"), "more streams"),
            (frame(HEADERS, END_HEADERS, 2, b"x"), "odd"),
            (rst_stream(9, 8), "idle"),
            (frame(DATA, 0, 1, &[0; 16_385]), "MAX_FRAME_SIZE"),
            ([rst_stream(1, 8), frame(DATA, 0, 1, &[0; 1])].concat(), "after RST_STREAM"),
            ([frame(DATA, END_STREAM, 1, &[]), frame(DATA, 0, 1, &[])].concat(), "after END_STREAM"),
            ([frame(HEADERS, END_STREAM, 1, &[]), window_update(0, 1)].concat(), "inside a header block"),
            (settings_ack(), "nothing to acknowledge"),
        ];
        for (octets, rule) in cases {
            let mut referee = open(1);
            assert_eq!(referee.violations, [""; 0]);
            write(&mut referee, CLIENT, &octets);
            assert!(referee.violations.iter().any(|text| text.contains(rule)), "{rule}: {:?}", referee.violations);
        }
    }

    #[test]
    fn slipped_settings_change_the_rules_and_their_acknowledgement_is_swallowed() {
        let mut referee = open(5);
        let mut line = Vec::new();
        referee.slip(SERVER, settings(&[(4, 2)]), &mut line);
        assert_eq!(line, settings(&[(4, 2)]));
        referee.arrived(SERVER, &line, true);
        assert_eq!(referee.stream_window(CLIENT, 1), Some(10), "the old window stands until the acknowledgement");
        assert_eq!(write(&mut referee, CLIENT, &settings_ack()), b"");
        assert_eq!(referee.stream_window(CLIENT, 1), Some(2));
        assert_eq!(referee.violations, [""; 0]);
    }
}
