//! Octets out: which call next, and how much of it.
//!
//! Messages wait whole in their calls and are framed at the last moment, when the transport can take them:
//! control frames first, then calls that open, then round robin. Send credit is never reserved: the length of
//! a DATA frame is computed once, here. New frames are made only when all staged octets are written, so the
//! octets do not depend on how a transport cuts them. (Answers that nothing waits before are framed at once: `answer`.)

use super::{Connection, Phase, Role};
use crate::{
    error::ErrorCode,
    store::NIL,
    stream::{Out, Run, STUCK, flag},
};
use alloc::vec::Vec;
use bytes::{Buf, Bytes};
use h2_frame::data_head;

/// A call gives way to the next one after so many octets.
const QUANTUM: usize = 32 << 10;
/// Pieces of this size and more are lent, not copied.
const LINK: usize = 4 << 10;
/// A budget does not cut frames below this.
const LEAST: usize = 256;

/// The shared segment takes no more beyond this, or beyond `Config::connection_send_buffer`, until it was emptied.
const SEGMENT: usize = 256 << 10;

/// The shared segment: small messages wait here until they are framed. It is emptied when none is left, which under
/// sustained load happens only because it stops taking more when it is full.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    octets: Vec<u8>,
    live: u32,
}

impl Segment {
    /// Whether it takes another message, where the connection's send buffer is `limit`; one that does not fit has a buffer of its own.
    #[inline]
    pub(crate) fn has_room(&self, limit: u32) -> bool {
        self.octets.len() < SEGMENT.min(limit as usize)
    }

    /// Appends a message of `len` octets, written by `fill`, behind its prefix: where it is, and how long with it.
    #[inline(always)]
    pub(crate) fn push(&mut self, len: usize, fill: impl FnOnce(&mut Vec<u8>)) -> (u32, u32) {
        let start = self.octets.len();
        self.octets.reserve(len + 5);
        self.octets.extend_from_slice(&prefix(len));
        fill(&mut self.octets);
        let written = self.octets.len() - start;
        if written != len + 5 {
            // The caller's count was wrong; the prefix must not be.
            self.octets[start..start + 5].copy_from_slice(&prefix(written - 5));
        }
        self.live += written as u32;
        (start as u32, written as u32)
    }

    #[inline]
    pub(crate) fn get(&self, start: u32, len: u32) -> &[u8] {
        &self.octets[start as usize..(start + len) as usize]
    }

    #[inline]
    pub(crate) fn free(&mut self, len: u32) {
        self.live -= len;
        if self.live == 0 {
            self.octets.clear();
        }
    }
}

/// The prefix of an uncompressed message.
#[inline]
pub(crate) const fn prefix(len: usize) -> [u8; 5] {
    let len = (len as u32).to_be_bytes();
    [0, len[0], len[1], len[2], len[3]]
}

impl Connection {
    #[inline]
    pub(super) fn stage(&mut self, budget: usize) {
        if !self.outbox.is_empty() && !self.early {
            self.note_progress();
            return;
        }
        if core::mem::take(&mut self.early) && self.ready.is_empty() && self.blocked.is_empty() && !self.control.is_due() {
            // The answers are all there is.
            self.note_staged();
            return self.tell_room();
        }
        if self.control.is_due() {
            self.stage_control();
        }
        if self.phase != Phase::Closed {
            self.stage_calls(budget);
        }
        self.note_staged();
    }

    #[inline]
    pub(super) fn note_staged(&mut self) {
        self.moved = (self.now, self.outbox.written());
        self.staged = (self.now, self.outbox.len());
    }

    #[inline]
    fn stage_calls(&mut self, budget: usize) {
        while self.outbox.len() < budget {
            self.steps.add(1);
            if self.may_open() {
                self.open_call();
            } else if let Some(s) = self.next_ready() {
                if !self.stage_fused(s) {
                    let left = budget.saturating_sub(self.outbox.len()).clamp(LEAST, QUANTUM);
                    self.stage_call(s, left);
                }
            } else {
                break;
            }
        }
        if self.send_window.room() == 0 && !self.ready.is_empty() {
            self.block();
        }
        self.tell_room();
    }

    /// The ordinary answer in one go: head, one small message, OK.
    #[inline]
    pub(super) fn stage_fused(&mut self, s: u32) -> bool {
        let slot = &mut self.slots[s];
        const MUST: u32 = flag::SEND_ENDED | flag::REMOTE_END;
        const MUST_NOT: u32 = flag::HEAD_SENT | flag::HTTP | flag::HELD | flag::WAITING;
        if slot.flags & (MUST | MUST_NOT) != MUST || slot.ending.is_some() || !slot.out_head.is_empty() {
            return false;
        }
        let Some(answer) = self.heads.answer(&self.encoder) else { return false };
        let Some(&Out::Segment { start, len, run: Run::ONE }) = slot.out.only() else { return false };
        let id = slot.id;
        let n = len as usize;
        if i64::from(len) > self.send_window.get().min(self.peer.window(slot)) || len > self.peer.max_frame {
            return false;
        }
        self.send_window.consume(len);
        self.data_sent += u64::from(len);
        let message = self.segment.get(start, len);
        let out = self.outbox.tail();
        let before = out.len();
        answer.begin(id, n - 5, out);
        out.extend_from_slice(&message[5..]);
        answer.end(id, out);
        self.outbox.appended(before);
        slot.out.drop_front();
        slot.out_len = 0;
        self.queued -= n;
        self.segment.free(len);
        self.answered(s);
        true
    }

    /// Client: gives the next queued call its stream (RFC 9113 §5.1.1) and frames as much of it as may go.
    fn open_call(&mut self) {
        let s = self.opening.front();
        debug_assert!(s != NIL);
        self.unlink(s);
        let id = self.next_id;
        self.next_id += 2;
        self.open_slot(s, id);
        if self.at_capacity && self.opening_len < self.cfg.max_queued_calls {
            self.at_capacity = false;
            self.push_event(crate::Event::Available);
        }
        self.stage_call(s, QUANTUM);
    }

    /// Frames up to about `quantum` octets of one call, and says where it belongs then.
    fn stage_call(&mut self, s: u32, quantum: usize) {
        let before = self.outbox.len();
        if !self.slots[s].has(flag::HEAD_SENT) {
            self.stage_head(s);
        }
        while !self.slots[s].out.is_empty() {
            let used = self.outbox.len() - before;
            if used >= quantum || !self.stage_data(s, (quantum - used).max(LEAST)) {
                break;
            }
        }
        let slot = &self.slots[s];
        if (slot.out.is_empty() || fault!("trailers_overtake") && slot.has(flag::TRAILERS)) && slot.has(flag::SEND_ENDED) {
            if !slot.has(flag::END_SENT) {
                self.stage_end(s);
            }
            self.send_side_ended(s);
        } else {
            self.schedule(s);
            self.settle_stall(s);
            self.tell_call_room(s);
        }
    }

    /// One DATA frame. False: a window is used up.
    fn stage_data(&mut self, s: u32, quantum: usize) -> bool {
        let slot = &mut self.slots[s];
        let windows = self.send_window.room().min(self.peer.room(slot));
        let n = slot.out_len.min(windows).min(self.peer.max_frame as usize).min(quantum)
            + usize::from(fault!("off_by_one_frame") && slot.out_len > windows);
        if n == 0 && slot.out_len > 0 {
            return false;
        }
        let last = n == slot.out_len && slot.has(flag::SEND_ENDED) && !slot.has(flag::TRAILERS);
        self.send_window.consume(n as u32);
        self.data_sent += n as u64;
        slot.send_window.consume(n as u32);
        slot.out_len -= n;
        slot.stall_len = slot.stall_len.saturating_sub(n);
        self.queued -= n;
        if last {
            slot.set(flag::END_SENT);
        }
        self.outbox.extend(&data_head(n as u32, slot.id, last));
        self.guard.sent();
        let mut left = n;
        self.steps.octets(n);
        while let Some(front) = self.slots[s].out.front_mut() {
            if left == 0 && front.len() > 0 {
                break;
            }
            let (moved, ended) = move_octets(front, left, &mut self.segment, &mut self.outbox);
            left -= moved;
            self.stats.messages_sent += u64::from(ended);
            self.steps.add(ended as usize);
            if front.len() == 0 {
                let slot = &mut self.slots[s];
                slot.out.drop_front();
                slot.spilled = slot.spilled.saturating_sub(1);
            }
        }
        true
    }

    /// END_STREAM, where no DATA frame carried it.
    fn stage_end(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        slot.set(flag::END_SENT);
        if slot.has(flag::TRAILERS) {
            self.stage_trailers(s);
        } else {
            let id = slot.id;
            self.outbox.extend(&data_head(0, id, true));
        }
        self.guard.sent();
    }

    /// Our side is over. A server is then done with the stream; a request not yet complete is stopped (RFC 9113 §8.1).
    fn send_side_ended(&mut self, s: u32) {
        let slot = &self.slots[s];
        if self.role == Role::Server {
            if slot.has(flag::ENDED_EARLY) {
                self.guard.call_over()
            } else {
                self.guard.call_ended()
            }
            if !slot.has(flag::REMOTE_END) {
                let id = slot.id;
                self.outbox.extend(&h2_frame::reset(id, ErrorCode::NO_ERROR));
                self.stats.resets_sent += 1;
                self.cut_off(id);
            }
            self.close_wire(s);
        } else {
            self.close_if_done(s);
        }
    }

    /// Messages that wait for a window move out of the shared segment.
    pub(super) fn spill(&mut self, s: u32) {
        let segment = &mut self.segment;
        let slot = &mut self.slots[s];
        // Those that were here the last time were moved then: a peer that grants an octet at a time must not make us look at all of them.
        let seen = core::mem::replace(&mut slot.spilled, slot.out.len());
        for out in slot.out.iter_mut().skip(seen) {
            self.steps.add(1);
            if let Out::Segment { start, len, run } = *out {
                self.steps.octets(len as usize);
                *out = Out::Run { octets: Bytes::copy_from_slice(segment.get(start, len)), run, lent: false };
                segment.free(len);
            }
        }
    }

    /// Room came free in a call's own buffer.
    #[inline]
    pub(super) fn tell_call_room(&mut self, s: u32) {
        let slot = &self.slots[s];
        // A call with nothing queued is always let in, so the last octet framed is the latest moment to tell.
        if slot.has(flag::WANTS_ROOM) && (slot.out.is_empty() || slot.out_len <= self.cfg.send_buffer as usize / 2 && !self.is_crowded()) {
            self.push_writable(s);
        }
    }

    /// Less presses: those who had nothing queued and were refused may try again.
    #[inline]
    pub(super) fn tell_room(&mut self) {
        let buffer = self.cfg.connection_send_buffer as usize;
        if !self.waiting.is_empty() && self.pressing <= buffer / 2 && self.queued <= STUCK * buffer {
            self.tell_all_room();
        }
    }

    #[cold]
    fn tell_all_room(&mut self) {
        while let Some(id) = self.waiting.pop_front() {
            self.steps.add(1);
            let s = self.slots.find(id.slot, id.generation);
            if s != NIL {
                self.slots[s].unset(flag::WAITING);
                if !fault!("writable_lost") {
                    self.push_writable(s);
                }
            }
        }
    }

    /// More waits for the transport, or for the connection's window, than should.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.pressing >= self.cfg.connection_send_buffer as usize
    }
}

/// Moves up to `left` octets from the front of a queue to the outbox; returns how many, and how many messages ended in them.
fn move_octets(front: &mut Out, left: usize, segment: &mut Segment, outbox: &mut crate::tx::Outbox) -> (usize, u32) {
    match front {
        Out::Segment { start, len, run } => {
            let n = left.min(*len as usize);
            let octets = segment.get(*start, *len);
            outbox.extend(&octets[..n]);
            let ended = run.advance(octets, n);
            // What is left waits where it is for its call's next turn; if a window is in the way, `spill` moves it.
            *start += n as u32;
            *len -= n as u32;
            segment.free(n as u32);
            (n, ended)
        }
        Out::Run { octets, run, lent } => {
            let n = left.min(octets.len());
            let ended = run.advance(octets, n);
            (move_buf(octets, lent, n, outbox), ended)
        }
        Out::Message { payload, prefix, prefix_left, lent } => {
            let from_prefix = left.min(*prefix_left as usize);
            let at = 5 - *prefix_left as usize;
            outbox.extend(&prefix[at..at + from_prefix]);
            *prefix_left -= from_prefix as u8;
            let moved = from_prefix + move_buf(payload, lent, left - from_prefix, outbox);
            (moved, u32::from(*prefix_left == 0 && !payload.has_remaining()))
        }
        Out::Raw { octets, lent } => (move_buf(octets, lent, left, outbox), 0),
    }
}

/// Small segments are copied to the arena; of a large one every piece is lent, the last one too.
fn move_buf(buf: &mut impl Buf, lent: &mut bool, left: usize, outbox: &mut crate::tx::Outbox) -> usize {
    let mut moved = 0;
    while moved < left && buf.has_remaining() {
        let segment = buf.chunk().len();
        let n = segment.min(left - moved);
        if *lent || segment >= LINK {
            *lent = n < segment;
            outbox.link(buf.copy_to_bytes(n));
        } else {
            outbox.extend(&buf.chunk()[..n]);
            buf.advance(n);
        }
        moved += n;
    }
    moved
}
