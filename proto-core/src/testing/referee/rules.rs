//! Rules of single frames, of SETTINGS, GOAWAY and header blocks.

use super::{CLIENT, HeaderBlock, Referee, SERVER};
use crate::testing::{places::Place, wire::*};
use alloc::{format, string::String};
use core::time::Duration;

/// Without a round trip, the second GOAWAY of a drain waits so long (`Config::drain_ping_timeout`).
const DRAIN_WAIT: Duration = Duration::from_secs(5);

/// A connection begins at a second; its timeouts are ten seconds and more.
const LEAST_TIMEOUT: u64 = 11_000_000 - 1;

impl Referee {
    /// What the frame alone shows (§4.1, §6).
    pub(super) fn judge_form(&mut self, end: usize, head: Head) {
        let (flags, length) = match head.kind {
            DATA => (END_STREAM, true),
            HEADERS => (END_STREAM | END_HEADERS, true),
            CONTINUATION => (END_HEADERS, true),
            RST_STREAM | WINDOW_UPDATE => (0, head.len == 4),
            SETTINGS => (ACK, head.len.is_multiple_of(6) && (head.len == 0 || !head.has(ACK))),
            PING => (ACK, head.len == 8),
            GOAWAY => (0, head.len >= 8),
            _ => (u8::MAX, true),
        };
        if head.flags & !flags != 0 {
            self.broken(end, head, "with a flag that we never set, or that is not defined (§4.1)");
        }
        if !length {
            self.broken(end, head, "of a wrong length (§6)");
        }
        let of_stream = match head.kind {
            DATA | HEADERS | CONTINUATION | RST_STREAM => head.stream != 0,
            SETTINGS | PING | GOAWAY => head.stream == 0,
            _ => true,
        };
        if !of_stream {
            self.broken(end, head, "on stream 0, or on one though it belongs to the connection (§6)");
        }
        if self.ends[end].ack_first && matches!(head.kind, DATA | HEADERS) {
            self.broken(end, head, "ahead of the acknowledgement of SETTINGS (§6.5.3)");
        }
    }

    pub(super) fn judge_settings(&mut self, end: usize, head: Head, body: &[u8]) {
        for (id, value) in entries(body) {
            let legal = match id {
                2 => value == 0 && end == CLIENT,
                3 => end == SERVER,
                4 => value <= i32::MAX as u32,
                5 => (16_384..=16_777_215).contains(&value),
                _ => true,
            };
            if !legal {
                self.broken(end, head, "with a value that it may not have (§6.5.2)");
            }
        }
    }

    pub(super) fn judge_goaway(&mut self, end: usize, head: Head, body: &[u8]) {
        let (last, code) = (word(body, 0), word(body, 4));
        if self.ends[end].goaway.is_some_and(|before| last > before) {
            self.broken(end, head, "the last stream id must not grow (§6.8)");
        }
        let timed_out = matches!(code, 4 | 0xb) && self.now.as_micros() > LEAST_TIMEOUT;
        if code != 0 && !self.excuses[end].failed && !timed_out {
            self.broken(
                end,
                head,
                &format!("the connection fails with code {code}: {}", String::from_utf8_lossy(&body[8.min(body.len())..])),
            );
        }
        let answered = self.streams.iter().rev().find(|(_, stream)| stream.heads[SERVER] > 0).map_or(0, |(&id, _)| id);
        if end == SERVER && last < answered {
            self.broken(end, head, "the last stream id is below a stream that was answered (§6.8)");
        }
        match self.ends[end].drain_began {
            None if last == i32::MAX as u32 => {
                self.ends[end].drain_began = Some(self.now);
                self.ends[end].round_trip = false;
            }
            // Its debug data tells the end of a drain from other ends.
            Some(written) if body.ends_with(b"graceful_stop") => {
                let began = self.excuses[end].drained.unwrap_or(written);
                if !self.ends[end].round_trip && self.now < began.saturating_add(DRAIN_WAIT) {
                    self.broken(end, head, "the second GOAWAY of a drain must wait for a round trip (§6.8)");
                }
                self.places.hit(Place::SecondGoaway);
            }
            _ => {}
        }
        self.ends[end].goaway = Some(last);
    }

    /// A header block, in one frame or more: an HPACK table that was made smaller is so before anything refers to it
    /// (RFC 7541 §4.2, RFC 9113 §4.3.1).
    pub(super) fn judge_block(&mut self, end: usize, head: Head, body: &[u8]) {
        if head.kind == HEADERS {
            self.block[end].clear();
        }
        self.block[end].extend_from_slice(body);
        if !head.has(END_HEADERS) {
            return;
        }
        let octets = core::mem::take(&mut self.block[end]);
        let mut rest = &octets[..];
        while rest.first().is_some_and(|first| first & 0xe0 == 0x20) {
            let Some((size, more)) = number(rest, 5) else { break };
            self.ends[end].table = size;
            rest = more;
        }
        if self.ends[end].table > self.ends[end].limits().table {
            self.broken(end, head, "the HPACK table is larger than the peer allows, and nothing says otherwise (§4.3.1)");
        }
        if let Some(blocks) = &mut self.blocks {
            let ends_stream = self.streams.get(&head.stream).is_some_and(|stream| stream.ended[end]);
            blocks.push(HeaderBlock { end, stream: head.stream, ends_stream, octets: octets.clone() });
        }
        self.block[end] = octets;
    }
}

/// A number with an `n`-bit prefix (RFC 7541 §5.1), and what follows it.
fn number(octets: &[u8], n: u32) -> Option<(u32, &[u8])> {
    let (&first, mut rest) = octets.split_first()?;
    let most = (1_u32 << n) - 1;
    let mut value = u32::from(first) & most;
    if value < most {
        return Some((value, rest));
    }
    for shift in (0..28).step_by(7) {
        let (&octet, more) = rest.split_first()?;
        rest = more;
        value += u32::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return Some((value, rest));
        }
    }
    None
}
