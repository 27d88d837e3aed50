//! Time passes: what is due.

use super::{Connection, Phase, Role, Timer, life::PACE, timer::earlier};
use core::time::Duration;

use crate::{CloseReason, Timestamp, error::ErrorCode, store::Which, stream::flag};

/// Octets a second that a peer must read at least, beside `Config::write_timeout`.
const SLOWEST: u64 = 1_024;

impl Connection {
    /// The earliest instant at which something is due: exact for the connection's own waits, a lower bound for calls.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        let due = self.timers.earliest();
        if self.outbox.is_empty() { due } else { earlier(due, Some(self.write_deadline())) }
    }

    /// When a transport that takes nothing, or next to nothing, is given up.
    fn write_deadline(&self) -> Timestamp {
        let timeout = self.cfg.write_timeout;
        let (since, octets) = self.staged;
        let slow = since.saturating_add(timeout).saturating_add(Duration::from_secs(octets as u64 / SLOWEST));
        slow.min(self.moved.0.saturating_add(timeout))
    }

    /// Staged octets were written, or not.
    pub(super) fn note_progress(&mut self) {
        if self.moved.1 != self.outbox.written() {
            self.moved = (self.now, self.outbox.written());
        }
    }

    pub(super) fn time_out(&mut self) {
        let now = self.now;
        if !self.outbox.is_empty() {
            self.note_progress();
            if self.write_deadline() <= now {
                self.write_stalled();
            }
        }
        while let Some(timer) = self.timers.due(now) {
            self.timer_fired(timer);
        }
        if self.timers.calls_due(now) {
            self.scan_deadlines();
        }
    }

    /// The transport takes nothing: nobody will ever read what waits.
    fn write_stalled(&mut self) {
        self.end_connection(CloseReason::Timeout { what: "the peer reads nothing" });
        self.control.abandon();
        self.outbox.clear();
    }

    fn timer_fired(&mut self, timer: Timer) {
        match timer {
            Timer::Handshake => self.give_up("the peer's preface and SETTINGS did not come", ErrorCode::SETTINGS_TIMEOUT),
            Timer::SettingsAck => self.give_up("our SETTINGS were not acknowledged", ErrorCode::SETTINGS_TIMEOUT),
            Timer::HeaderBlock => self.give_up("a header block did not end", ErrorCode::ENHANCE_YOUR_CALM),
            Timer::DrainPing => self.drain_goes_on(),
            Timer::Grants => self.review_grants(),
            Timer::DrainEnd => {
                self.control.clear();
                if self.phase != Phase::Preface {
                    let last = self.drain.last_accepted.unwrap_or(self.last_peer_id);
                    self.control.goaway(if self.role == Role::Server { last } else { 0 }, ErrorCode::NO_ERROR, "drain_deadline");
                }
                self.end_connection(CloseReason::Local);
            }
        }
    }

    fn give_up(&mut self, what: &'static str, code: ErrorCode) {
        self.control.clear();
        if self.phase != Phase::Preface {
            self.control.goaway(self.last_peer_id, code, what);
        }
        self.end_connection(CloseReason::Timeout { what });
    }

    /// Calls that wait for their turn.
    fn in_line(&self) -> u64 {
        self.slots.live().filter(|(_, slot)| matches!(slot.links.which, Which::Ready | Which::Blocked)).count() as u64
    }

    /// A call's own window is open, but it is not its turn with the connection's, or with the transport. The wait begins anew where the peer let
    /// enough through for somebody: `share`, as much as lets every call that waits keep its pace, or what a transport must take. The window may
    /// have come at this very moment (`enough`), and then the transport's deadline counts; but once only: it may go again unused.
    fn wait_for_turn(&mut self, s: u32, share: u64, enough: bool) {
        let slot = &mut self.slots[s];
        let most = if slot.has(flag::HELD) { self.cfg.held_stall_timeout } else { self.cfg.stall_timeout };
        let slowest = u64::try_from(most.as_millis()).unwrap_or(u64::MAX).saturating_mul(SLOWEST) / 1_000;
        if self.data_sent - slot.stall_sent >= share.min(slowest).max(1) {
            slot.stall = Some(self.now.saturating_add(most));
            slot.stall_sent = self.data_sent;
            slot.unset(flag::PUT_OFF);
        } else if enough && !slot.has(flag::PUT_OFF) {
            slot.set(flag::PUT_OFF);
            slot.stall = Some(self.now.saturating_add(self.cfg.write_timeout));
        }
    }

    /// Ends the calls whose deadline has passed, and finds the next one.
    fn scan_deadlines(&mut self) {
        let is_due = |at, now| if fault!("deadline_late") { at < now } else { at <= now };
        let room = self.send_window.room();
        let mut share = None;
        for s in self.slots.all() {
            let slot = &mut self.slots[s];
            let enough = self.peer.room(slot).min(room) >= slot.out_len.min(PACE);
            match slot.links.which {
                _ if self.role == Role::Client || slot.stall.is_none_or(|at| !is_due(at, self.now)) => {}
                Which::Ready if !enough => {}
                Which::Ready | Which::Blocked => {
                    let share = *share.get_or_insert_with(|| PACE as u64 * self.in_line());
                    self.wait_for_turn(s, share, enough);
                }
                _ => {}
            }
            let slot = &self.slots[s];
            if slot.live && !slot.has(flag::CLOSED) && earlier(slot.deadline, slot.stall).is_some_and(|at| is_due(at, self.now)) {
                self.deadline_passed(s);
            }
        }
        let open = self.slots.live().filter(|(_, slot)| !slot.has(flag::CLOSED));
        let next = open.fold(None, |least, (_, slot)| earlier(least, earlier(slot.deadline, slot.stall)));
        self.timers.calls_scanned(next);
    }
}
