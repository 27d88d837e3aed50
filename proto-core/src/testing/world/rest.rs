//! Bounds at every moment, the end of a run, and what must be so at rest.

use super::{MOST_CALLS, World};
use crate::{
    Code, Endpoint, Shape,
    testing::{
        Place, echo,
        referee::{CLIENT, SERVER},
        wire,
    },
};
use alloc::format;
use core::time::Duration;

impl World {
    /// Memory is a function of the configuration (design rule 5).
    pub(super) fn check_bounds(&mut self) {
        echo::note_places(&mut self.pair);
        self.check_deadlines();
        self.check_wakes();
        for end in [CLIENT, SERVER] {
            let (probe, config) = (self.pair.probe(end), &self.configs[end]);
            let calls = self.calls.len() as u64;
            let bounds = [
                (probe.recv_held <= config.recv_budget, "received octets above recv_budget"),
                (probe.recv_budget_used <= config.recv_budget, "granted octets above recv_budget"),
                (probe.queued <= u64::from(config.connection_send_buffer) + calls * 300_005, "queued octets above the send buffer"),
                (probe.staged <= 1 << 18, "staged octets above 256 KiB"),
                (probe.slots <= MOST_CALLS as u32 + 1, "slots above the calls there were"),
                // Until our SETTINGS are acknowledged the peer may use the default (RFC 7541 §4.2).
                (probe.decoder.size <= config.header_table.max(4_096), "the HPACK decoder's table is too large"),
                (probe.encoder.size <= config.encoder_table, "the HPACK encoder's table is too large"),
                (probe.send_window >= 0, "the connection's send window is negative"),
                (probe.recv_window + probe.recv_pending == probe.recv_target, "connection credit got lost"),
                (probe.slots as usize >= probe.streams.len(), "more streams than slots"),
                (end == CLIENT || probe.slots <= config.max_concurrent_streams, "more handlers than streams are allowed"),
            ];
            for (_, what) in bounds.iter().filter(|(holds, _)| !holds) {
                self.broken.push(format!("end {end}: {what}: {probe:?}"));
            }
            // Inside a frame its window is used, and its octets are not there yet.
            let whole = !self.pair.referee.is_mid_frame(1 - end);
            for stream in probe.streams.iter().filter(|stream| whole && !stream.remote_closed) {
                if stream.recv_window + stream.recv_pending + stream.recv_held as i64 != stream.recv_target {
                    self.broken.push(format!("end {end}: stream credit got lost: {stream:?}"));
                }
            }
        }
    }

    /// Whoever was told `Blocked` is told when there is room again: at the latest when nothing at all waits.
    fn check_wakes(&mut self) {
        for end in [CLIENT, SERVER] {
            if self.pair.conn(end).queued() > 0 {
                continue;
            }
            for serial in 0..self.calls.len() {
                let half = self.calls[serial][end];
                if half.blocked && half.id.is_some_and(|id| self.pair.conn(end).call(id).is_ok()) {
                    self.broken.push(format!("call {serial}: end {end} was told Blocked, nothing waits, and it was not told Writable"));
                }
            }
        }
    }

    /// A deadline that has passed has ended its call, and one that is to come is announced in time.
    fn check_deadlines(&mut self) {
        let (now, open) = (self.pair.now(), self.pair.probe(CLIENT).streams);
        let announced = self.pair.client().wants().deadline;
        for (serial, halves) in self.calls.iter().enumerate() {
            let (Some(id), Some(deadline)) = (halves[CLIENT].id, self.model.calls[serial].deadline()) else { continue };
            if !open.iter().any(|stream| stream.call == Some(id)) {
                continue;
            }
            if deadline <= now || announced.is_none_or(|at| at > deadline) {
                self.broken.push(format!("call {serial} goes on at {now:?}, its deadline is {deadline:?}, announced is {announced:?}"));
            }
        }
    }

    /// Undoes what was slipped in and calms the link, then lets both applications do what they owe until every
    /// call has ended. Returns how many steps that took, and whether every call did end.
    pub fn wind_down(&mut self) -> (usize, bool) {
        for (end, setting) in core::mem::take(&mut self.slipped) {
            let value = self.original(end, setting);
            self.pair.slip(end, wire::settings(&[(setting.id(), value)]));
        }
        self.pair.link().calm();
        // Each call needs a few round trips; 300 KB on a window of 64 KiB needs five more per message.
        let most = 500 + 100 * self.calls.len() + self.octets as usize / 1_000;
        for step in 0..most {
            self.events();
            for serial in 0..self.calls.len() {
                self.settle_client(serial);
                self.settle_server(serial);
            }
            while !self.incoming.is_empty() {
                self.accept();
            }
            if self.calls.iter().flatten().all(|half| half.id.is_none()) && self.incoming.is_empty() {
                return (step, true);
            }
            self.pair.step();
        }
        (most, false)
    }

    fn settle_client(&mut self, serial: usize) {
        let half = self.calls[serial][CLIENT];
        let Some(id) = half.id else { return };
        if self.model.calls[serial].sends_one(CLIENT) && self.model.calls[serial].sent(CLIENT) == 0 {
            self.send(CLIENT, serial, id, 5);
        }
        self.close_send(serial, id);
        if half.readable {
            self.recv(CLIENT, serial, id, usize::MAX);
        }
    }

    fn settle_server(&mut self, serial: usize) {
        let Some(id) = self.calls[serial][SERVER].id else { return };
        if self.calls[serial][SERVER].readable {
            self.recv(SERVER, serial, id, usize::MAX);
        }
        let half = self.calls[serial][SERVER];
        if half.over {
            return self.finish(serial, id, Code::Ok);
        }
        let model = &self.model.calls[serial];
        if !half.ended {
            return;
        }
        let owes_reply = model.sends_one(SERVER) && model.sent(SERVER) == 0;
        if owes_reply {
            self.send(SERVER, serial, id, 7);
        }
        let still_owed = owes_reply && self.model.calls[serial].sent(SERVER) == 0 && self.calls[serial][SERVER].blocked;
        if !still_owed {
            self.finish(serial, id, Code::Ok);
        }
    }

    /// After [`wind_down`](Self::wind_down): nothing is left behind, whether the connection goes on or has ended.
    pub fn check_end(&mut self) {
        self.pair.settle(Duration::from_secs(6));
        self.events();
        let alive = [CLIENT, SERVER].map(|end| self.pair.conn(end).close_reason().is_none());
        match alive {
            [true, true] if self.acts.ended == [false; 2] && !self.pair.link().is_closed() => {
                self.pair.hit(Place::RestCompared);
                self.check_rest();
            }
            [false, false] => {
                self.pair.hit(Place::EndCompared);
                self.check_over();
            }
            // The other end learns of it, or the drain ends: there are no calls, and the link moves.
            _ => self.broken.push(format!("a connection has not ended (client, server: {alive:?}): {}", self.pair.summary())),
        }
    }

    /// Both connections have ended.
    fn check_over(&mut self) {
        // What cannot be written any more is given up in time.
        self.check_sleep();
        for end in [CLIENT, SERVER] {
            let (probe, wants) = (self.pair.probe(end), self.pair.conn(end).wants());
            let rules = [
                (self.pair.conn(end).is_finished(), "not finished"),
                (probe.slots == 0 && probe.queued_calls == 0 && probe.streams.is_empty(), "a slot is left"),
                (probe.queued == 0 && probe.staged == 0 && probe.waiting_for_room == 0, "output is left"),
                (probe.recv_held == 0 && probe.recv_budget_used == 0, "received octets are still held or granted"),
                (!wants.read && !wants.write && !wants.event && wants.deadline.is_none(), "it wants something"),
            ];
            for (_, what) in rules.iter().filter(|(holds, _)| !holds) {
                self.broken.push(format!("end {end} when all is over: {what}: {wants:?}\n  {probe:?}"));
            }
        }
    }

    /// A connection without calls waits for nothing, once bounds that were too early have passed.
    fn check_sleep(&mut self) {
        for _ in 0..100 {
            let next = [CLIENT, SERVER].into_iter().filter_map(|end| self.pair.conn(end).wants().deadline).min();
            let Some(at) = next else { return };
            self.pair.advance_to(at);
            self.pair.settle(Duration::ZERO);
        }
        self.broken.push(format!("without calls, and it still waits: {}", self.pair.summary()));
    }

    /// With every call ended and nothing under way: nothing is left behind, and both ends and the wire agree.
    pub fn check_rest(&mut self) {
        // A change of an HPACK table's size is told with the next block: one more call has one each way.
        self.pair.settle(Duration::from_secs(1));
        self.start(Shape::Unary, 0, 0);
        self.wind_down();
        self.pair.settle(Duration::from_secs(1));
        self.events();
        self.check_sleep();
        self.events();
        self.check_bounds();
        let probes = [self.pair.probe(CLIENT), self.pair.probe(SERVER)];
        for end in [CLIENT, SERVER] {
            let (probe, peer) = (&probes[end], &probes[1 - end]);
            let rules = [
                (probe.streams.is_empty() && probe.open_streams == 0, "a stream is left"),
                (probe.slots == 0 && probe.queued_calls == 0, "a slot is left"),
                (probe.queued == 0 && probe.staged == 0, "output is left"),
                (probe.recv_held == 0 && probe.recv_budget_used == 0, "received octets are still held or granted"),
                (probe.send_window == peer.recv_window, "both ends see another connection window"),
                (probe.send_window == self.pair.referee.connection_window(end), "the wire tells another connection window"),
                (probe.encoder.entries == peer.decoder.entries, "the HPACK tables differ"),
                (probe.encoder.size == peer.decoder.size, "the HPACK tables' sizes differ"),
            ];
            for (_, what) in rules.iter().filter(|(holds, _)| !holds) {
                self.broken.push(format!("end {end} at rest: {what}:\n  {probe:?}\n  peer {peer:?}"));
            }
        }
    }

    /// At rest with calls still open: both ends and the wire agree about every stream's window.
    pub fn check_windows(&mut self) {
        let probes = [self.pair.probe(CLIENT), self.pair.probe(SERVER)];
        for end in [CLIENT, SERVER] {
            for stream in probes[end].streams.iter().filter(|stream| !stream.local_closed) {
                let peer = probes[1 - end].streams.iter().find(|other| other.wire_id == stream.wire_id);
                let wire = self.pair.referee.stream_window(end, stream.wire_id);
                let agreed = peer.is_none_or(|peer| peer.recv_window == stream.send_window) && wire == Some(stream.send_window);
                if !agreed {
                    self.broken.push(format!("end {end}: windows differ: {stream:?}, peer {peer:?}, wire {wire:?}"));
                }
            }
        }
    }

    /// Undoes what was slipped in and waits until nothing moves, applications silent: then windows must agree.
    pub fn pause(&mut self) {
        for (end, setting) in core::mem::take(&mut self.slipped) {
            let value = self.original(end, setting);
            self.pair.slip(end, wire::settings(&[(setting.id(), value)]));
        }
        self.pair.settle(Duration::from_millis(500));
        self.events();
        if !self.pair.link().is_closed() && self.pair.link().is_empty() {
            self.check_windows();
        }
    }
}
