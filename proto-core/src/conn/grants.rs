//! Room beyond a stream's window, for messages that are larger: granted whole, in order, and taken back from who does not use it.

use super::{Connection, Timer};
use crate::{Code, Status, store::NIL, stream::flag};

/// Octets of a message that must come in each `Config::stall_timeout` (or its rest) while other messages wait for the room that it was given.
const PACE: u32 = 4 << 10;

impl Connection {
    /// Window for the whole rest of the message being received, where it was asked for and the budget allows.
    pub(crate) fn grant_rest(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        // Messages that are whole and not taken yet answer a part of the demand.
        if slot.assembly.prefix_len < 5 || !slot.asks() || slot.has(flag::REMOTE_END | flag::CLOSED) || slot.assembly.extra > 0 {
            return;
        }
        // What the peer may send already, with what is due to it anyway.
        let has = slot.recv_window.get() + i64::from(slot.credit_due);
        // Not more than the message, which gives it back: what lacks beyond is held by others that are to be taken first.
        let [_, len @ ..] = slot.assembly.prefix;
        let lacks = (i64::from(slot.assembly.left) - has).min(i64::from(u32::from_be_bytes(len)));
        if lacks <= 0 {
            if i64::from(slot.assembly.left) > slot.recv_window.get() {
                self.announce_credit(s);
            }
            return;
        }
        if self.budget.grant(lacks as u32) {
            (slot.assembly.extra, slot.assembly.seen) = (lacks as u32, 0);
            slot.credit_due += lacks as u32;
            slot.unset(flag::STARVED);
            self.announce_credit(s);
        } else if !slot.has(flag::STARVED) {
            slot.set(flag::STARVED);
            let id = self.call_id(s);
            self.starved.push_back(id);
            self.watch_grants();
        }
    }

    /// Budget came free: serves those who wait for it, in order.
    pub(super) fn feed_starved(&mut self) {
        while let Some(id) = self.starved.front().copied() {
            self.steps.add(1);
            let s = self.slots.find(id.slot, id.generation);
            if s != NIL && self.slots[s].has(flag::STARVED) {
                self.grant_rest(s);
                if self.slots[s].has(flag::STARVED)
                    && self.slots[s].assembly.extra == 0
                    && self.slots[s].assembly.left > 0
                    && self.slots[s].demand > 0
                {
                    return;
                }
                self.slots[s].unset(flag::STARVED);
            }
            self.starved.pop_front();
            self.end_watch();
        }
    }

    /// Somebody waits: whoever was given room has to use it.
    #[cold]
    fn watch_grants(&mut self) {
        if !self.timers.is_set(Timer::Grants) {
            self.timers.set(Timer::Grants, self.now.saturating_add(self.cfg.stall_timeout));
        }
    }

    /// Nobody waits any more?
    #[cold]
    pub(super) fn end_watch(&mut self) {
        if self.starved.is_empty() {
            self.timers.cancel(Timer::Grants);
        }
    }

    /// Ends the calls whose messages were let in and do not come, while others wait for that room (attacks X19).
    pub(super) fn review_grants(&mut self) {
        if self.starved.is_empty() {
            return;
        }
        for s in self.slots.all() {
            self.steps.add(1);
            let slot = &mut self.slots[s];
            let closed = slot.has(flag::CLOSED);
            let assembly = &mut slot.assembly;
            if assembly.extra == 0 || assembly.left == 0 || closed {
                continue;
            }
            // Not looked at before: it has the next while.
            let moved = assembly.seen.checked_sub(assembly.left).filter(|_| assembly.seen > 0);
            assembly.seen = assembly.left;
            if moved.is_some_and(|octets| octets < PACE) {
                self.refuse_message(s, Status::new(Code::ResourceExhausted, STALLED));
            }
        }
        if !self.starved.is_empty() {
            self.timers.set(Timer::Grants, self.now.saturating_add(self.cfg.stall_timeout));
        }
    }
}

const STALLED: &str =
    "a message that was announced did not come, and others waited for its room (Config::recv_budget, Config::stall_timeout)";
