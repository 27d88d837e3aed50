//! Octets in: the preface, the scanner, and which frame goes where.
//!
//! Frames other than DATA are handled whole, from the input where they lie there whole; DATA is handled in
//! the pieces in which it comes, so a large message is copied once and never buffered as a frame.

use super::{Connection, Fatal, Phase, Role};
use crate::{CloseReason, Event, error::ErrorCode};
use alloc::string::String;
use h2_frame::{Frame, Head, Headers, Item, PREFACE, Scope, kind, parse_payload};

/// Entries of one SETTINGS frame. There are about ten kinds; nghttp2 takes 32.
const MOST_SETTINGS: u32 = 200;
/// Octets kept of a GOAWAY: 8, and more debug data than is ever quoted.
const GOAWAY_KEPT: usize = 1 << 10;

impl Connection {
    #[inline]
    pub(super) fn receive(&mut self, octets: &[u8]) {
        self.stats.octets_received += octets.len() as u64;
        if self.phase == Phase::Closed {
            return;
        }
        self.drop_target();
        if let Err(fatal) = self.scan(octets) {
            self.fail(fatal);
        }
    }

    #[inline]
    fn scan(&mut self, mut input: &[u8]) -> Result<(), Fatal> {
        if self.phase < Phase::Open {
            self.scan_start(&mut input)?;
        }
        loop {
            self.steps.add(1);
            // Whole HEADERS and DATA frames: nearly all there are.
            if self.phase == Phase::Open
                && let Some((head, payload)) = self.scanner.take_frame(&mut input)
            {
                self.whole_frame(head, payload)?;
                if input.is_empty() {
                    return Ok(());
                }
                continue;
            }
            match self.scanner.next(&mut input) {
                Ok(Some(Item::Head(head))) => self.frame_begins(head, &mut input)?,
                Ok(Some(Item::Piece { octets, last })) => self.frame_goes_on(octets, last)?,
                Ok(None) => return Ok(()),
                Err(error) => self.frame_error(error)?,
            }
            if self.phase == Phase::Closed {
                return Ok(());
            }
        }
    }

    #[inline]
    fn whole_frame(&mut self, head: Head, payload: &[u8]) -> Result<(), Fatal> {
        if head.kind == kind::DATA {
            if self.whole_request(head, payload) {
                return Ok(());
            }
            self.rx_head = head;
            self.data_begins(head)?;
            return self.data_goes_on(payload, true);
        }
        self.bound_frame(head)?;
        match Headers::parse(head, payload) {
            Ok(headers) => self.on_headers(headers),
            Err(error) => self.frame_error(error),
        }
    }

    /// Before the first SETTINGS: keeps the first octets, and reads the preface off the input.
    #[cold]
    fn scan_start(&mut self, input: &mut &[u8]) -> Result<(), Fatal> {
        let have = self.first_len as usize;
        let more = input.len().min(self.first.len() - have);
        self.first[have..have + more].copy_from_slice(&input[..more]);
        self.first_len += more as u8;
        if self.role == Role::Client {
            // An HTTP/1.x answer would read as the head of a frame of 4.7 MB (cases B13).
            return if self.first_len >= 5 && self.first.starts_with(b"HTTP/") { Err(self.foreign_peer(HTTP_1)) } else { Ok(()) };
        }
        if self.phase == Phase::Preface {
            *input = &input[more..];
            let seen = self.first_len as usize;
            if self.first[..seen] != PREFACE[..seen] {
                // Enough octets to say what it is, however they were cut; the handshake timer bounds the wait.
                if seen < ENOUGH {
                    return Ok(());
                }
                return Err(self.foreign_peer(looks_like(&self.first[..seen])));
            }
            if seen == PREFACE.len() {
                self.phase = Phase::Handshake;
                self.owe_preface();
            }
        }
        Ok(())
    }

    fn foreign_peer(&mut self, looks_like: &'static str) -> Fatal {
        let octets = self.first_head();
        let words = self.role == Role::Client && looks_like != HTTP_1 && are_words(octets);
        let begins = if words { String::from_utf8_lossy(octets).into_owned() } else { String::new() };
        self.close_reason = Some(CloseReason::Foreign { looks_like, begins });
        self.push_event(Event::Foreign);
        Fatal { code: ErrorCode::PROTOCOL_ERROR, what: "the peer does not speak HTTP/2" }
    }

    /// The connection's first octets as far as they would be the head of a frame: what is judged by them does not depend on how they were cut.
    fn first_head(&self) -> &[u8] {
        &self.first[..usize::from(self.first_len).min(Head::LEN)]
    }

    /// What a server's first octets look like that are no frame.
    fn server_looks_like(&self) -> &'static str {
        let first = self.first_head();
        match looks_like(first) {
            UNKNOWN if are_words(first) => words_look_like(first),
            looks => looks,
        }
    }

    #[inline]
    fn frame_begins(&mut self, head: Head, input: &mut &[u8]) -> Result<(), Fatal> {
        self.rx_head = head;
        if self.phase == Phase::Handshake {
            self.first_frame(head)?;
        }
        if head.kind == kind::DATA {
            return self.data_begins(head);
        }
        self.bound_frame(head)?;
        match self.scanner.take_payload(input) {
            Some(payload) => self.frame(head, payload),
            None => {
                self.rx_partial.clear();
                Ok(())
            }
        }
    }

    /// A frame that is handled whole is kept until it is: not one that is longer than can be meant.
    #[inline]
    fn bound_frame(&mut self, head: Head) -> Result<(), Fatal> {
        match head.kind {
            kind::HEADERS | kind::CONTINUATION => self.bound_block_frame(head),
            kind::SETTINGS if head.len > MOST_SETTINGS * 6 => Err(Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, "too_many_settings_in_a_frame")),
            _ => Ok(()),
        }
    }

    /// The first frame must be SETTINGS (RFC 9113 §3.4).
    #[cold]
    fn first_frame(&mut self, head: Head) -> Result<(), Fatal> {
        if head.kind == kind::SETTINGS && !head.has(h2_frame::flag::ACK) {
            return Ok(());
        }
        Err(self.broken_start(Fatal { code: ErrorCode::PROTOCOL_ERROR, what: NOT_SETTINGS }))
    }

    /// What a server begins with is wrong: it may not be HTTP/2 at all.
    fn broken_start(&mut self, fatal: Fatal) -> Fatal {
        if self.role == Role::Server {
            return fatal;
        }
        match self.server_looks_like() {
            // Of noise as of frames this says more than which rule it broke first.
            UNKNOWN if self.first[3] != kind::SETTINGS => Fatal { what: NOT_SETTINGS, ..fatal },
            UNKNOWN => fatal,
            looks => self.foreign_peer(looks),
        }
    }

    #[inline]
    fn frame_goes_on(&mut self, octets: &[u8], last: bool) -> Result<(), Fatal> {
        if self.rx_head.kind == kind::DATA {
            return self.data_goes_on(octets, last);
        }
        // The payload of an unknown frame is of no use to anyone.
        if self.rx_head.kind <= kind::CONTINUATION {
            let most = if self.rx_head.kind == kind::GOAWAY { GOAWAY_KEPT.saturating_sub(self.rx_partial.len()) } else { octets.len() };
            let octets = &octets[..octets.len().min(most)];
            self.steps.octets(octets.len());
            self.rx_partial.extend_from_slice(octets);
        }
        if last {
            let payload = core::mem::take(&mut self.rx_partial);
            let result = self.frame(self.rx_head, &payload);
            self.rx_partial = payload;
            self.rx_partial.clear();
            return result;
        }
        Ok(())
    }

    fn frame(&mut self, head: Head, payload: &[u8]) -> Result<(), Fatal> {
        if head.kind > kind::CONTINUATION {
            return self.guard.useless(self.now);
        }
        match parse_payload(head, payload) {
            Ok(frame) => self.dispatch(frame),
            Err(error) => self.frame_error(error),
        }
    }

    #[inline]
    fn dispatch(&mut self, frame: Frame<'_>) -> Result<(), Fatal> {
        match frame {
            Frame::Headers(headers) => self.on_headers(headers),
            Frame::WindowUpdate(update) => self.on_window_update(update),
            Frame::Continuation(continuation) => self.on_continuation(continuation),
            Frame::Reset(reset) => self.on_reset(reset),
            Frame::Settings(settings) => self.on_settings(settings),
            Frame::Ping(ping) => self.on_ping(ping),
            Frame::GoAway(goaway) => self.on_goaway(goaway),
            // We send ENABLE_PUSH = 0 in our first SETTINGS, and no server that we talk to has a reason to push (RFC 9113 §8.4).
            Frame::PushPromise(_) => Err(Fatal { code: ErrorCode::PROTOCOL_ERROR, what: "PUSH_PROMISE, but push is disabled" }),
            Frame::Priority(_) | Frame::Unknown(_) => self.guard.useless(self.now),
            // DATA never comes here: it is handled in pieces.
            Frame::Data(_) => Ok(()),
        }
    }

    /// A frame broke a rule: the connection ends, or its stream.
    #[cold]
    fn frame_error(&mut self, error: h2_frame::Error) -> Result<(), Fatal> {
        match error.scope {
            Scope::Connection => {
                let fatal = Fatal { code: error.code, what: error.what };
                Err(if self.phase == Phase::Handshake { self.broken_start(fatal) } else { fatal })
            }
            Scope::Stream(id) => {
                // RST_STREAM must not be sent for an idle stream (RFC 9113 §6.4).
                if self.is_idle_id(id) {
                    return Err(Fatal { code: error.code, what: error.what });
                }
                // Nor a second one for a stream that is reset already (§5.4.2), or one for a stream that our GOAWAY excluded.
                if self.map.get(id).is_none() && (self.control.was_cut_off(id) || self.after_goaway(id)) {
                    return self.guard.useless(self.now);
                }
                self.stream_error(id, error.code, error.what)
            }
        }
    }

    /// A stream error (RFC 9113 §5.4.2): RST_STREAM, and the call ends.
    #[cold]
    pub(super) fn stream_error(&mut self, id: u32, code: ErrorCode, what: &'static str) -> Result<(), Fatal> {
        self.guard.reset(self.now)?;
        match self.map.get(id) {
            Some(s) => self.break_stream(s, code, what),
            None => self.queue_reset_unpaid(id, code),
        }
        Ok(())
    }

    /// The stream was never opened (RFC 9113 §5.1).
    pub(super) fn is_idle_id(&self, id: u32) -> bool {
        let ours = (id & 1 == 1) == (self.role == Role::Client);
        if ours { id >= self.next_id || self.role == Role::Server } else { id > self.highest_peer_id }
    }

    pub(super) fn receive_eof(&mut self) {
        if self.phase == Phase::Closed {
            return;
        }
        if self.phase < Phase::Open && self.first_len > 0 {
            let looks_like = if self.role == Role::Client { self.server_looks_like() } else { looks_like(self.first_head()) };
            if looks_like != UNKNOWN {
                let _ = self.foreign_peer(looks_like);
            }
        }
        let drained = self.drain.ours && self.slots.len() == 0;
        let reason = match self.drain.peer_code {
            _ if drained => CloseReason::Local,
            Some(code) => CloseReason::Peer { code },
            None => CloseReason::Eof,
        };
        self.end_connection(reason);
        // Nobody is there to read it.
        self.control.abandon();
        self.outbox.clear();
    }
}

/// Octets that tell HTTP/1.x and TLS apart from noise.
const ENOUGH: usize = 5;

const NOT_SETTINGS: &str = "the first frame is not SETTINGS";
const UNKNOWN: &str = "nothing we know";
const HTTP_1: &str = "HTTP/1.x";

/// What a peer's first octets look like.
fn looks_like(first: &[u8]) -> &'static str {
    const METHODS: [&[u8]; 9] = [b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"CONN", b"PATC", b"TRAC"];
    match first {
        // A TLS handshake record: type 22, version 3.x (RFC 8446 §5.1).
        [0x16, 0x03, ..] | [0x15, 0x03, ..] => "TLS",
        _ if METHODS.iter().any(|m| first.starts_with(m)) => "an HTTP/1.x request",
        _ if first.starts_with(b"HTTP") => HTTP_1,
        _ => UNKNOWN,
    }
}

/// Words, of which no frame's head consists: the length alone would be over two million.
fn are_words(first: &[u8]) -> bool {
    first.iter().all(|octet| matches!(octet, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

/// What a server says that speaks in words: an error page without a head (HTTP/0.9), the greeting of another protocol.
fn words_look_like(first: &[u8]) -> &'static str {
    match first {
        [b'<', b'!' | b'h' | b'H', ..] => "an HTML page",
        [b'<', b'?', ..] => "XML",
        [b'{' | b'[', ..] => "JSON",
        [b'S', b'S', b'H', ..] => "SSH",
        [b'P', b'R', b'I', ..] => "an HTTP/2 client's",
        _ => "words of another protocol",
    }
}
