//! Answers that are framed when they are given: one small message, OK, and nothing that waits before them.
//!
//! Everything else waits in its call until the transport can take it (see `send`). For such an answer that would change no
//! octet, and cost it a list, a copy and a second visit of its slot: 95 instructions of 2,383 a call at one stream, 44 of 1,715 at 100.

use super::{Connection, Phase, Role, send::prefix};
use crate::{
    Payload,
    stream::{Out, flag},
};
use alloc::vec::Vec;
use h2_frame::{Head, data_head, headers_head};

/// What stands around the message of an answer that is OK and has no metadata: good as long as the encoder's table stays as it
/// was. Arrays, because a copy of a fixed size is a few instructions and no call.
#[derive(Debug)]
pub(super) struct Answer {
    generation: u32,
    /// HEADERS, the head of the one DATA frame, and the prefix of its message, but for the stream id and lengths.
    front: [u8; Self::FRONT],
    /// Octets of the HEADERS frame. 0: nothing is known.
    head_len: u8,
    /// HEADERS with END_STREAM.
    back: [u8; Self::BACK],
    back_len: u8,
}

impl Default for Answer {
    fn default() -> Self {
        Self { generation: 0, front: [0; Self::FRONT], head_len: 0, back: [0; Self::BACK], back_len: 0 }
    }
}

impl Answer {
    const FRONT: usize = 48;
    const BACK: usize = 32;
    /// The head of a DATA frame, and a message's prefix.
    const BETWEEN: usize = Head::LEN + 5;

    /// `None`: a block is too long for it.
    pub(super) fn new(generation: u32, head: &[u8], trailers: &[u8]) -> Option<Self> {
        let mut answer = Self { generation, ..Self::default() };
        answer.head_len = put_headers(answer.front.get_mut(..Self::FRONT - Self::BETWEEN)?, head, false)?;
        answer.back_len = put_headers(&mut answer.back, trailers, true)?;
        Some(answer)
    }

    #[inline(always)]
    pub(super) fn good_for(&self, generation: u32) -> Option<&Self> {
        (self.generation == generation && self.head_len > 0).then_some(self)
    }

    /// Appends what comes before the `len` octets of the message.
    #[inline(always)]
    pub(super) fn begin(&self, id: u32, len: usize, out: &mut Vec<u8>) {
        let mut octets = self.front;
        octets[Head::LEN - 4..Head::LEN].copy_from_slice(&id.to_be_bytes());
        let at = usize::from(self.head_len);
        let end = out.len() + at + Self::BETWEEN;
        if let Some(place) = octets.get_mut(at..at + Self::BETWEEN) {
            place[..Head::LEN].copy_from_slice(&data_head(len as u32 + 5, id, false));
            place[Head::LEN..].copy_from_slice(&prefix(len));
        }
        out.extend_from_slice(&octets);
        out.truncate(end);
    }

    /// Appends what comes behind it.
    #[inline(always)]
    pub(super) fn end(&self, id: u32, out: &mut Vec<u8>) {
        let mut octets = self.back;
        octets[Head::LEN - 4..Head::LEN].copy_from_slice(&id.to_be_bytes());
        let end = out.len() + usize::from(self.back_len);
        out.extend_from_slice(&octets);
        out.truncate(end);
    }
}

/// Writes a HEADERS frame without its stream id; its length. `None`: it does not fit.
fn put_headers(out: &mut [u8], block: &[u8], end_stream: bool) -> Option<u8> {
    let len = Head::LEN + block.len();
    let place = out.get_mut(..len)?;
    place[..Head::LEN].copy_from_slice(&headers_head(block.len() as u32, 0, end_stream, true));
    place[Head::LEN..].copy_from_slice(block);
    Some(len as u8)
}

/// An answer that is not whole: dropped, it leaves nothing behind. The encoder is the application's, and may panic.
struct Half<'a> {
    out: &'a mut Vec<u8>,
    before: usize,
}

impl Drop for Half<'_> {
    fn drop(&mut self) {
        self.out.truncate(self.before);
    }
}

/// Octets of early answers at most: beyond it, calls wait their turn as they do behind any others.
const EARLY: usize = 64 << 10;

/// What a call must be for its answer to be framed whole, and what it must not be.
const MUST: u32 = flag::REMOTE_END;
const MUST_NOT: u32 = flag::HEAD_SENT | flag::HEAD_DUE | flag::HTTP | flag::WAITING | flag::CLOSED | flag::CUT_SHORT | flag::EVENTS;

impl Connection {
    /// Nothing waits to be framed before what is given now.
    #[inline(always)]
    fn is_next(&self) -> bool {
        (self.outbox.is_empty() || self.early)
            && self.outbox.len() < EARLY.min(self.cfg.connection_send_buffer as usize)
            && self.blocked.is_empty()
            && !self.control.is_due()
            && self.phase == Phase::Open
            && self.role == Role::Server
    }

    /// The one message of a call that has sent nothing, of at most `SHARED` octets, and OK.
    #[inline(always)]
    pub(crate) fn answer(&mut self, s: u32, len: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        if self.is_next() && self.ready.is_empty() && self.may_frame(s, len) {
            if let Err(octets) = self.frame_answer(s, len, fill) {
                self.queue_answer(s, Out::message(Payload::from(octets)));
            }
        } else {
            let out = Out::segment(self.segment.push(len, fill));
            self.queue_answer(s, out);
        }
    }

    /// The call has its memo, and room for all of it.
    #[inline(always)]
    fn may_frame(&self, s: u32, len: usize) -> bool {
        let slot = &self.slots[s];
        let octets = len + 5;
        slot.flags & (MUST | MUST_NOT) == MUST
            && slot.out_head.is_empty()
            && octets as i64 <= self.send_window.get().min(self.peer.window(slot))
            && octets <= self.peer.max_frame as usize
            && self.heads.answer(&self.encoder).is_some()
    }

    /// Head, message and trailers, straight to the transport. What was written comes back if its length is not what was said: the
    /// checks were for another.
    #[inline(always)]
    fn frame_answer(&mut self, s: u32, len: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), Vec<u8>> {
        let id = self.slots[s].id;
        let Some(answer) = self.heads.answer(&self.encoder) else { return Ok(()) };
        let out = self.outbox.tail();
        let before = out.len();
        let half = Half { out, before };
        answer.begin(id, len, half.out);
        let start = half.out.len();
        fill(half.out);
        if half.out.len() - start != len {
            return Err(half.out.split_off(start));
        }
        answer.end(id, half.out);
        core::mem::forget(half);
        self.outbox.appended(before);
        self.note_early();
        self.send_window.consume(len as u32 + 5);
        self.data_sent += len as u64 + 5;
        self.answered(s);
        Ok(())
    }

    /// A call has finished: frames it now if nothing waits before it and it is an answer like that.
    #[inline]
    pub(super) fn frame_finished(&mut self, s: u32) {
        if self.ready.is_only(s) && self.is_next() {
            self.unlink(s);
            if self.stage_fused(s) {
                self.note_early();
            } else {
                self.schedule(s);
            }
        }
    }

    /// All of a call is framed, and the peer has said all: its slot is free.
    #[inline(always)]
    pub(super) fn answered(&mut self, s: u32) {
        self.stats.messages_sent += 1;
        self.guard.sent();
        self.guard.call_ended();
        self.close_answered(s);
    }

    fn note_early(&mut self) {
        if !self.early {
            self.early = true;
            self.note_staged();
        }
    }
}
