//! For tests: the inside of a connection as numbers.

use super::{Connection, Fatal, Phase};
use crate::{
    CallId,
    error::ErrorCode,
    stream::{Slot, flag},
    testing::{Probe, StreamProbe, TableProbe},
};

impl Connection {
    /// Work done so far (see `steps.rs`): what an attack costs, as a number that is the same in every run. [`probe`](Self::probe) itself is work, too.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.get() + self.slots.steps.get() + self.decoder.steps() + self.encoder.steps()
    }

    /// Octets framed and not yet taken by the transport.
    #[must_use]
    pub(crate) const fn staged(&self) -> usize {
        self.outbox.len()
    }

    /// Octets that the application's `send` has queued and nothing has framed.
    #[must_use]
    pub(crate) const fn queued(&self) -> usize {
        self.queued
    }

    /// As if this end had found a stream error (RFC 9113 §5.4.2) on a call that is open on the wire: its stream. `None`: it is not open.
    pub fn break_call(&mut self, id: CallId, code: u32) -> Option<u32> {
        let s = self.slots.find(id.slot, id.generation);
        if s == crate::store::NIL || self.slots[s].has(flag::CLOSED) || self.slots[s].id == 0 {
            return None;
        }
        let stream = self.slots[s].id;
        self.break_stream(s, ErrorCode(code), "broken on purpose");
        Some(stream)
    }

    /// As if this end had found a connection error (RFC 9113 §5.4.1); not while it does not know yet that the peer speaks HTTP/2.
    /// False: it cannot be broken now.
    pub fn break_connection(&mut self, code: u32) -> bool {
        let can = matches!(self.phase, Phase::Handshake | Phase::Open);
        if can {
            self.fail(Fatal::new(ErrorCode(code), "broken on purpose"));
        }
        can
    }

    /// The inside of the connection at this moment.
    #[must_use]
    pub fn probe(&self) -> Probe {
        Probe {
            send_window: self.send_window.get(),
            recv_window: self.recv_window.get(),
            recv_pending: i64::from(self.recv_credit),
            recv_target: i64::from(self.cfg.connection_window),
            recv_held: self.budget.held(),
            recv_budget_used: self.budget.held() + self.budget.granted(),
            staged: self.outbox.len() as u64,
            queued: self.queued as u64,
            open_streams: self.open,
            queued_calls: self.opening_len,
            waiting_for_room: self.waiting.len() as u32,
            slots: self.slots.len() as u32,
            peer_max_streams: self.peer.max_streams,
            encoder: TableProbe {
                entries: self.encoder.entries().map(|(n, v)| (n.to_vec(), v.to_vec())).collect(),
                size: self.encoder.table_size() as u32,
            },
            decoder: TableProbe {
                entries: self.decoder.entries().map(|(n, v)| (n.to_vec(), v.to_vec())).collect(),
                size: self.decoder.table_size() as u32,
            },
            streams: self
                .slots
                .live()
                .filter(|(_, slot)| slot.id != 0 && !slot.has(flag::CLOSED))
                .map(|(s, slot)| self.stream_probe(s, slot))
                .collect(),
        }
    }

    fn stream_probe(&self, s: u32, slot: &Slot) -> StreamProbe {
        let held = slot.inbox.iter().map(|m| m.credit.octets()).sum::<u32>() + slot.assembly.credit.octets() + slot.backlog_credit.octets();
        let extra = slot.inbox.iter().map(|m| m.extra).sum::<u32>() + slot.assembly.extra;
        let (window, pending) = (slot.recv_window.get(), i64::from(slot.credit_due));
        StreamProbe {
            wire_id: slot.id,
            call: if slot.has(flag::HTTP) { None } else { Some(CallId { slot: s, generation: slot.generation }) },
            send_window: self.peer.window(slot),
            recv_window: window,
            recv_pending: pending,
            recv_held: u64::from(held),
            // What is discarded is not credited: the stream is about to end.
            recv_target: if slot.has(flag::DISCARD) {
                window + pending + i64::from(held)
            } else {
                i64::from(self.cfg.initial_window) + i64::from(extra)
            },
            queued: slot.out_len as u64,
            local_closed: slot.has(flag::END_SENT),
            remote_closed: slot.has(flag::REMOTE_END),
        }
    }
}
