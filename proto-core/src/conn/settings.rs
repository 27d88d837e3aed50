//! SETTINGS, both ways (RFC 9113 §6.5).

use super::{Connection, Fatal, Phase, Role, Timer};
use crate::{
    error::ErrorCode,
    flow::MAX_WINDOW,
    store::{List, NIL},
    stream::{Slot, flag},
};
use h2_frame::{Settings, setting};

/// Both windows before anyone said otherwise (RFC 9113 §6.9.2).
pub(super) const DEFAULT_WINDOW: u32 = 65_535;
const DEFAULT_FRAME: u32 = 16_384;
const DEFAULT_TABLE: u32 = 4_096;
/// Streams that a client opens before it has seen the server's limit: what RFC 9113 §6.5.2 asks servers to allow.
const STREAMS_BEFORE_SETTINGS: u32 = 100;

/// What we announced.
#[derive(Debug, Default)]
pub(crate) struct Local {
    /// SETTINGS of ours that the peer has not acknowledged.
    pub(super) unacked: u32,
}

/// What the peer announced, as far as it binds us.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(super) max_streams: u32,
    pub(super) initial_window: u32,
    pub(super) max_frame: u32,
    pub(super) max_header_list: u32,
    /// No stream's window was granted more octets beyond the initial window, less what was sent: an upper bound.
    pub(super) granted: i64,
}

impl Peer {
    /// Octets that may be sent on a stream. Its own number counts from the initial window, so that a change of that is no work for streams
    /// which have nothing to send. Negative after it was lowered (RFC 9113 §6.9.2).
    #[inline]
    pub(super) const fn window(&self, slot: &Slot) -> i64 {
        self.initial_window as i64 + slot.send_window.get()
    }

    /// The same, never negative.
    #[inline]
    pub(super) const fn room(&self, slot: &Slot) -> usize {
        let window = self.window(slot);
        if window > 0 { window as usize } else { 0 }
    }
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            max_streams: STREAMS_BEFORE_SETTINGS,
            initial_window: DEFAULT_WINDOW,
            max_frame: DEFAULT_FRAME,
            max_header_list: u32::MAX,
            granted: 0,
        }
    }
}

impl Connection {
    pub(super) fn owe_preface(&mut self) {
        self.control.owe_preface();
        self.scanner.set_max_frame(self.cfg.max_frame);
        self.local.unacked += 1;
        self.timers.set(Timer::SettingsAck, self.now.saturating_add(self.cfg.settings_timeout));
    }

    /// Our first octets: the preface, SETTINGS, and the connection's window (which SETTINGS cannot change).
    pub(super) fn stage_preface(&mut self) {
        if self.role == Role::Client {
            self.outbox.extend(&h2_frame::PREFACE);
        }
        let cfg = &self.cfg;
        let client = self.role == Role::Client;
        let wanted = [
            (setting::ENABLE_PUSH, 0, client),
            (setting::MAX_CONCURRENT_STREAMS, if client { 0 } else { cfg.max_concurrent_streams }, !client),
            (setting::INITIAL_WINDOW_SIZE, cfg.initial_window, cfg.initial_window != DEFAULT_WINDOW),
            (setting::MAX_FRAME_SIZE, cfg.max_frame, cfg.max_frame != DEFAULT_FRAME),
            (setting::HEADER_TABLE_SIZE, cfg.header_table, cfg.header_table != DEFAULT_TABLE),
            (setting::MAX_HEADER_LIST_SIZE, cfg.max_header_list, true),
        ];
        let entries = wanted.iter().filter(|(_, _, send)| *send).count() as u32;
        self.outbox.extend(&h2_frame::settings_head(entries));
        for (id, value, _) in wanted.into_iter().filter(|(_, _, send)| *send) {
            self.outbox.extend(&setting(id, value));
        }
        let more = cfg.connection_window - DEFAULT_WINDOW;
        if more > 0 {
            self.outbox.extend(&h2_frame::window_update(0, more));
        }
    }

    pub(super) fn on_settings(&mut self, settings: Settings<'_>) -> Result<(), Fatal> {
        if settings.ack {
            return self.on_settings_ack();
        }
        if self.phase == Phase::Handshake {
            self.phase = Phase::Open;
            self.peer.max_streams = u32::MAX;
            self.timers.cancel(Timer::Handshake);
        } else {
            self.guard.settings(self.now)?;
        }
        // All values, in order, with nothing in between (RFC 9113 §6.5.3); validated when the frame was parsed.
        settings.validate().map_err(|error| Fatal::new(error.code, error.what))?;
        let (before, mut highest) = (self.peer.initial_window, self.peer.initial_window);
        for (id, value) in settings.iter() {
            self.apply_setting(id, value)?;
            highest = highest.max(self.peer.initial_window);
        }
        if highest != before || self.peer.initial_window != before {
            self.move_windows(before, highest)?;
        }
        self.settings_acked_next()
    }

    fn on_settings_ack(&mut self) -> Result<(), Fatal> {
        match self.local.unacked.checked_sub(1) {
            Some(left) => {
                self.local.unacked = left;
                self.timers.cancel(Timer::SettingsAck);
                self.decoder.acknowledged();
                Ok(())
            }
            None => Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "a SETTINGS acknowledgement for no SETTINGS")),
        }
    }

    fn apply_setting(&mut self, id: u16, value: u32) -> Result<(), Fatal> {
        match id {
            setting::HEADER_TABLE_SIZE => self.encoder.set_peer_limit(value),
            setting::ENABLE_PUSH if value == 1 && self.role == Role::Client => {
                return Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "a server sent SETTINGS_ENABLE_PUSH = 1"));
            }
            setting::MAX_CONCURRENT_STREAMS if self.role == Role::Client => self.peer.max_streams = value,
            setting::INITIAL_WINDOW_SIZE => self.peer.initial_window = value,
            setting::MAX_FRAME_SIZE => self.peer.max_frame = value,
            setting::MAX_HEADER_LIST_SIZE => self.peer.max_header_list = value,
            // Unknown settings are ignored (RFC 9113 §6.5.2).
            _ => {}
        }
        Ok(())
    }

    /// The window of every open stream has moved (RFC 9113 §6.9.2), once for all values of a frame; none of them may have taken a window
    /// beyond 2^31-1. Only those that have something to send are looked at; the SETTINGS budget bounds how often.
    fn move_windows(&mut self, before: u32, highest: u32) -> Result<(), Fatal> {
        if i64::from(highest) + self.peer.granted > MAX_WINDOW {
            self.check_windows(highest)?;
        }
        if fault!("window_only_for_new_streams") {
            let by = i64::from(before) - i64::from(self.peer.initial_window);
            self.slots.all().for_each(|s| _ = self.slots[s].send_window.shift(by));
        }
        if fault!("window_clamped") {
            let peer = &self.peer;
            self.slots.all().for_each(|s| {
                let debt = peer.window(&self.slots[s]).min(0);
                let _ = self.slots[s].send_window.shift(-debt);
            });
        }
        // Which list a call belongs in can change only one way.
        if self.peer.initial_window < before {
            self.reschedule(|conn| &conn.ready);
            self.reschedule(|conn| &conn.blocked);
        } else {
            self.reschedule(|conn| &conn.stalled);
        }
        Ok(())
    }

    /// Looks at every stream, and so finds out how much was granted at most.
    #[cold]
    fn check_windows(&mut self, highest: u32) -> Result<(), Fatal> {
        let open = self.slots.live().filter(|(_, slot)| slot.id != 0 && !slot.has(flag::CLOSED | flag::END_SENT));
        self.peer.granted = open.map(|(_, slot)| slot.send_window.get()).fold(0, i64::max);
        if i64::from(highest) + self.peer.granted > MAX_WINDOW {
            return Err(Fatal::new(ErrorCode::FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE takes a stream's window beyond 2^31-1"));
        }
        Ok(())
    }

    fn reschedule(&mut self, list: fn(&Self) -> &List) {
        let mut s = list(self).front();
        while s != NIL {
            self.steps.add(1);
            let next = list(self).after(&self.slots, s);
            self.schedule(s);
            s = next;
        }
    }
}
