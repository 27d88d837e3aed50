//! For tests: the inside of a connection as numbers.

use super::Connection;
use crate::{
    CallId,
    stream::{Slot, flag},
    testing::{Probe, StreamProbe, TableProbe},
};

impl Connection {
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
            send_window: slot.send_window.get(),
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
