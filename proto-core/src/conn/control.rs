//! Control frames, in and out. What is owed is state, not a queue of frames: an acknowledgement is a
//! counter, a window update a number on its call.

use super::{Connection, Fatal, Phase, Role, Timer};
use crate::{CloseReason, Code, Event, Status, error::ErrorCode, flow::MAX_WINDOW, grpc::Origin, stream::flag};
use alloc::{collections::VecDeque, vec::Vec};
use h2_frame::{GoAway, Ping, Reset, WindowUpdate};

/// Streams that we cut off while the peer's frames for them may be on their way: this many are remembered.
const CUT_OFF: usize = 1_024;
/// Highest id, for the first GOAWAY of a drain (RFC 9113 §6.8).
pub(super) const ALL_STREAMS: u32 = (1 << 31) - 1;
/// The payload of the PING that times a drain's round trip.
const DRAIN_PING: [u8; 8] = *b"drain\0\0\0";

/// The latest streams that we closed before the peer ended its side. Ids grow by two, so a table that is addressed by them directly finds one at
/// once; it grows to `CUT_OFF` where ids get in each other's way, and then the newer one stays.
#[derive(Debug, Default)]
struct CutOff(Vec<u32>);

impl CutOff {
    fn place(&self, id: u32) -> usize {
        (id >> 1) as usize & self.0.len().wrapping_sub(1)
    }

    fn contains(&self, id: u32) -> bool {
        self.0.get(self.place(id)) == Some(&id)
    }

    fn insert(&mut self, id: u32) {
        let place = self.place(id);
        let crowded = self.0.get(place).is_none_or(|&there| there != 0 && there != id);
        if crowded && self.0.len() < CUT_OFF {
            let size = (2 * self.0.len()).max(16);
            let old = core::mem::replace(&mut self.0, alloc::vec![0; size]);
            old.into_iter().filter(|&id| id != 0).for_each(|id| self.insert(id));
            self.insert(id);
        } else if let Some(there) = self.0.get_mut(place) {
            *there = id;
        }
    }
}

/// Control output that is owed.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Some of the below is owed.
    due: bool,
    /// Preface, SETTINGS and window: our first octets.
    preface: bool,
    /// SETTINGS acknowledgements.
    acks: u32,
    /// PINGs to answer.
    pongs: VecDeque<[u8; 8]>,
    pings: Vec<[u8; 8]>,
    resets: VecDeque<(u32, ErrorCode)>,
    connection_credit: bool,
    /// Streams whose credit is due.
    stream_credit: u32,
    /// Last-Stream-ID, code and debug text of GOAWAYs.
    goaways: VecDeque<(u32, ErrorCode, &'static str)>,
    cut_off: CutOff,
}

impl Control {
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    pub(super) const fn owe_preface(&mut self) {
        self.preface = true;
        self.due = true;
    }

    pub(super) const fn owe_connection_credit(&mut self) {
        self.connection_credit = true;
        self.due = true;
    }

    pub(super) const fn owe_stream_credit(&mut self) {
        self.stream_credit += 1;
        self.due = true;
    }

    /// One of them needs it no more. How many are left?
    pub(super) fn forgo_stream_credit(&mut self) -> u32 {
        self.stream_credit = self.stream_credit.saturating_sub(1);
        self.due = self.preface
            || self.acks > 0
            || self.connection_credit
            || self.stream_credit > 0
            || !(self.pongs.is_empty() && self.pings.is_empty() && self.resets.is_empty() && self.goaways.is_empty());
        self.stream_credit
    }

    fn waiting(&self) -> usize {
        self.acks as usize + self.pongs.len() + self.resets.len()
    }

    #[inline]
    pub(super) fn is_crowded(&self, most: u32) -> bool {
        self.waiting() > most as usize
    }

    /// Drops what is owed: the connection ends. A preface that is due still goes ahead of the GOAWAY.
    pub(super) fn clear(&mut self) {
        *self = Self { preface: self.preface, due: self.preface, ..Self::default() };
    }

    /// Drops everything: nobody will read it.
    pub(super) fn abandon(&mut self) {
        *self = Self::default();
    }

    /// Frames for this stream may still be on their way, and are nobody's fault.
    pub(super) fn was_cut_off(&self, id: u32) -> bool {
        self.cut_off.contains(id)
    }

    fn remember(&mut self, id: u32) {
        self.cut_off.insert(id);
    }

    pub(super) fn goaway(&mut self, last: u32, code: ErrorCode, debug: &'static str) {
        self.goaways.push_back((last, code, debug));
        self.due = true;
    }
}

impl Connection {
    pub(super) fn on_ping(&mut self, ping: Ping) -> Result<(), Fatal> {
        if ping.ack {
            if ping.data == DRAIN_PING && self.drain.ours && self.drain.last_accepted.is_none() {
                self.drain_goes_on();
                return Ok(());
            }
            // For no PING of ours.
            return self.guard.useless(self.now);
        }
        self.stats.pings_received += 1;
        self.guard.pings.received(self.now, self.open > 0)?;
        self.control.pongs.push_back(ping.data);
        self.control.due = true;
        self.bound_control()
    }

    pub(super) fn settings_acked_next(&mut self) -> Result<(), Fatal> {
        self.control.acks += 1;
        self.control.due |= !fault!("settings_ack_late");
        self.bound_control()
    }

    fn bound_control(&self) -> Result<(), Fatal> {
        if self.control.waiting() > self.cfg.limits.max_unread_answers as usize {
            return Err(Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, "too_many_unread_answers"));
        }
        Ok(())
    }

    pub(crate) fn queue_reset(&mut self, id: u32, code: ErrorCode) {
        if self.phase != Phase::Closed {
            self.queue_reset_unpaid(id, code);
            self.guard.cut_off();
        }
    }

    /// For a stream that was no stream any more: frames for it that are on their way were not paid for by a call.
    pub(super) fn queue_reset_unpaid(&mut self, id: u32, code: ErrorCode) {
        if self.phase != Phase::Closed {
            self.control.resets.push_back((id, code));
            self.control.due = true;
            self.control.remember(id);
        }
    }

    /// The peer may not have ended its side: what it sends until it knows that the stream is gone is of no use, but no fault.
    pub(super) fn cut_off(&mut self, id: u32) {
        self.control.remember(id);
        self.guard.cut_off();
    }

    pub(super) fn on_window_update(&mut self, update: WindowUpdate) -> Result<(), Fatal> {
        if update.stream == 0 {
            self.guard.window_update()?;
            if self.send_window.grow(update.increment).is_err() {
                return Err(Fatal::new(ErrorCode::FLOW_CONTROL_ERROR, "the connection's window exceeds 2^31-1"));
            }
            return Ok(());
        }
        match self.map.get(update.stream) {
            Some(s) => {
                self.guard.window_update()?;
                let slot = &mut self.slots[s];
                // Half-closed (local): there is no window any more, and nothing wrong with the frame (RFC 9113 §5.1).
                if slot.has(flag::END_SENT) {
                    return Ok(());
                }
                if self.peer.window(slot) + i64::from(update.increment) > MAX_WINDOW || slot.send_window.grow(update.increment).is_err() {
                    return self.stream_error(update.stream, ErrorCode::FLOW_CONTROL_ERROR, "the stream's window exceeds 2^31-1");
                }
                self.peer.granted = self.peer.granted.max(slot.send_window.get());
                if !fault!("stream_wake_lost") {
                    self.schedule(s);
                }
                self.tell_call_room(s);
                Ok(())
            }
            None if self.is_idle_id(update.stream) => Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "WINDOW_UPDATE on an idle stream")),
            // For a stream that is gone: legal (RFC 9113 §5.1).
            None => self.guard.useless(self.now),
        }
    }

    pub(super) fn on_reset(&mut self, reset: Reset) -> Result<(), Fatal> {
        self.stats.resets_received += 1;
        let Some(s) = self.map.get(reset.stream) else {
            if self.is_idle_id(reset.stream) {
                return Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "RST_STREAM on an idle stream"));
            }
            return self.guard.useless(self.now);
        };
        // A call that had an answer took its client as much as one that ends well, and streams of answers end so (cases B53).
        if self.role == Role::Server && !self.slots[s].has(flag::HEAD_SENT) {
            self.guard.reset(self.now)?;
        }
        let slot = &mut self.slots[s];
        slot.reset = reset.code;
        if slot.has(flag::HTTP) {
            slot.set(flag::PEER_RESET);
            self.push_stream_readable(s);
            self.close_wire(s);
            return Ok(());
        }
        match self.role {
            Role::Server => self.cut_short(s, Code::Cancelled),
            Role::Client => {
                let passed = slot.deadline.is_some_and(|at| at <= self.now);
                // A server that has begun to answer cannot take that back: a repetition might be a second processing (gRFC A6).
                if reset.code == ErrorCode::REFUSED_STREAM && !slot.has(flag::HEAD_RECEIVED) {
                    slot.set(flag::UNPROCESSED);
                }
                let status = Status::from_reset(reset.code, passed);
                self.close_wire(s);
                self.end_client(s, status, reset.code);
            }
        }
        Ok(())
    }

    pub(super) fn on_goaway(&mut self, goaway: GoAway<'_>) -> Result<(), Fatal> {
        if self.drain.peer_last.is_some_and(|last| goaway.last_stream > last) {
            return Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "a second GOAWAY with a higher Last-Stream-ID"));
        }
        let (first, moved) = (self.drain.peer_last.is_none(), self.drain.peer_last != Some(goaway.last_stream));
        self.drain.peer_last = Some(goaway.last_stream);
        self.drain.peer_code = Some(goaway.code);
        if first {
            self.push_event(Event::Draining);
        } else {
            self.guard.goaway()?;
        }
        if self.role == Role::Client {
            if moved {
                self.refuse_unprocessed(goaway.last_stream, goaway.code, goaway.debug);
            }
            self.close_if_idle();
        }
        Ok(())
    }

    /// Streams above the GOAWAY's id, and calls that have none, were certainly not processed (RFC 9113 §6.8).
    fn refuse_unprocessed(&mut self, last: u32, code: ErrorCode, debug: &[u8]) {
        let debug = alloc::string::String::from_utf8_lossy(&debug[..debug.len().min(256)]);
        for s in self.slots.all() {
            let slot = &self.slots[s];
            if !slot.live
                || slot.has(flag::CLOSED)
                || (slot.id != 0 && slot.id + u32::from(fault!("goaway_last_excluded")) <= last && !fault!("goaway_kills_all"))
            {
                continue;
            }
            if !self.slots[s].has(flag::HEAD_RECEIVED) {
                self.slots[s].set(flag::UNPROCESSED);
            }
            let text = alloc::format!(
                "the server is going away ({code}{}{debug}) and did not process the call",
                if debug.is_empty() { "" } else { ": " }
            );
            self.close_wire(s);
            self.end_client(s, Status::new(Code::Unavailable, text).with_origin(Origin::Connection), ErrorCode::NO_ERROR);
        }
    }

    /// Frames what is owed. Acknowledgements first: the peer waits for them.
    #[inline(never)]
    pub(super) fn stage_control(&mut self) {
        self.control.due = false;
        if core::mem::take(&mut self.control.preface) {
            self.stage_preface();
        }
        self.steps.add(self.control.waiting() + 1);
        for _ in 0..core::mem::take(&mut self.control.acks) {
            self.outbox.extend(&h2_frame::settings_ack());
        }
        while let Some(data) = self.control.pongs.pop_front() {
            self.outbox.extend(&h2_frame::ping(true, if fault!("pong_empty") { [0; 8] } else { data }));
        }
        while let Some((id, code)) = self.control.resets.pop_front() {
            self.stats.resets_sent += 1;
            self.outbox.extend(&h2_frame::reset(id, code));
        }
        if core::mem::take(&mut self.control.connection_credit) {
            self.stage_connection_credit();
        }
        if core::mem::take(&mut self.control.stream_credit) > 0 {
            self.stage_stream_credit();
        }
        while let Some((last, code, debug)) = self.control.goaways.pop_front() {
            self.outbox.extend(&h2_frame::goaway_head(last, code, debug.len() as u32));
            self.outbox.extend(debug.as_bytes());
        }
        while let Some(data) = self.control.pings.pop() {
            self.outbox.extend(&h2_frame::ping(false, data));
        }
    }

    fn stage_connection_credit(&mut self) {
        let credit = core::mem::take(&mut self.recv_credit);
        if credit > 0 && self.recv_window.grow(credit).is_ok() {
            self.outbox.extend(&h2_frame::window_update(0, credit));
        }
    }

    fn stage_stream_credit(&mut self) {
        while let Some(s) = self.credits.pop() {
            self.steps.add(1);
            let slot = &mut self.slots[s];
            if !slot.live || !slot.has(flag::CREDIT_DUE) {
                continue;
            }
            slot.unset(if fault!("credit_stuck") { 0 } else { flag::CREDIT_DUE });
            let credit = core::mem::take(&mut slot.credit_due);
            if credit > 0 && !slot.has(flag::REMOTE_END | flag::CLOSED) && slot.recv_window.grow(credit).is_ok() {
                let id = slot.id;
                self.outbox.extend(&h2_frame::window_update(id, credit));
            }
        }
    }

    pub(super) fn begin_drain(&mut self, now: crate::Timestamp, within: Option<core::time::Duration>) {
        self.tick(now);
        if self.phase == Phase::Closed {
            return;
        }
        if let Some(within) = within {
            self.timers.set(Timer::DrainEnd, self.now.saturating_add(within));
        }
        if self.drain.ours {
            return;
        }
        self.drain.ours = true;
        self.push_event(Event::Draining);
        if self.role == Role::Client {
            self.close_if_idle();
            return;
        }
        if self.phase == Phase::Preface {
            // Nobody has spoken yet: there is no call to wait for, nor anyone who would understand GOAWAY.
            self.end_connection(CloseReason::Local);
            return;
        }
        self.control.goaway(ALL_STREAMS, ErrorCode::NO_ERROR, "graceful_stop");
        self.control.pings.push(DRAIN_PING);
        self.control.due = true;
        if fault!("drain_hurried") {
            self.drain_goes_on();
        }
        self.timers.set(Timer::DrainPing, self.now.saturating_add(self.cfg.drain_ping_timeout));
    }

    /// The round trip is over, or took too long: what comes now is not processed.
    pub(super) fn drain_goes_on(&mut self) {
        self.timers.cancel(Timer::DrainPing);
        if self.drain.ours && self.drain.last_accepted.is_none() && self.phase != Phase::Closed && !fault!("drain_once") {
            self.drain.last_accepted = Some(self.last_peer_id);
            self.control.goaway(self.last_peer_id, ErrorCode::NO_ERROR, "graceful_stop");
            self.close_if_idle();
        }
    }

    /// A stream beyond our final GOAWAY: ignored, but counted and decoded (RFC 9113 §6.8).
    pub(super) fn after_goaway(&self, id: u32) -> bool {
        self.drain.last_accepted.is_some_and(|last| id > last)
    }

    /// A drain, ours or the peer's, ends when nothing is left.
    pub(super) fn close_if_idle(&mut self) {
        if self.slots.len() > 0 || self.phase == Phase::Closed {
            return;
        }
        let reason = match (self.role, self.drain.peer_code) {
            (Role::Client, None) if !self.drain.ours => return,
            // Who received GOAWAY and has no more use for the connection says so, too (RFC 9113 §6.8).
            (Role::Client, code) => {
                self.control.goaway(0, ErrorCode::NO_ERROR, "");
                code.map_or(CloseReason::Local, |code| CloseReason::Peer { code })
            }
            (Role::Server, _) if self.drain.last_accepted.is_some() => CloseReason::Local,
            _ => return,
        };
        self.end_connection(reason);
    }
}
