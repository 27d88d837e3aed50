//! What is done to the connections and the link beneath the calls, and the reasons for which a connection may end.

use super::{MOST_SLIPS, World};
use crate::{
    CallId, CloseReason, Endpoint, Timestamp,
    testing::{
        Jump, Place, Setting,
        referee::{CLIENT, SERVER},
        wire,
    },
};
use alloc::format;
use core::time::Duration;

/// What was done to the connections, so that their ends can be explained.
#[derive(Debug, Default)]
pub(super) struct Acts {
    /// By the end that was told to drain or to close.
    pub(super) ended: [bool; 2],
    /// By the end that was made to fail, with this code.
    pub(super) failed: [Option<u32>; 2],
    pub(super) cut: bool,
    /// By the end that has ended.
    pub(super) over: [bool; 2],
}

/// Time in which a connection between correct ends and over a link that moves waits for nothing.
const PATIENCE: Duration = Duration::from_secs(4);
const START: Timestamp = Timestamp::from_micros(1_000_000);

impl World {
    pub(super) fn disturb(&mut self, end: usize) {
        self.model.disturbed = true;
        self.acts.ended[end] = true;
    }

    pub(super) fn cut(&mut self) {
        self.model.disturbed = true;
        self.acts.cut = true;
    }

    /// Octets that should have moved in this time have not, so timers of the connections may be next.
    pub(super) fn jump(&mut self, call: u8, to: Jump) {
        let serial = usize::from(call) % self.calls.len().max(1);
        let deadline = self.model.calls.get(serial).and_then(|call| call.deadline());
        let micro = Duration::from_micros(1);
        let before = |at: Timestamp| Timestamp::from_micros(at.as_micros().saturating_sub(1));
        let timer = [CLIENT, SERVER].into_iter().filter_map(|end| self.pair.conn(end).wants().deadline).min();
        let target = match to {
            Jump::Before => deadline.map(before),
            Jump::At => deadline,
            Jump::After => deadline.map(|at| at.saturating_add(micro)),
            Jump::Timer => timer,
            Jump::Far => Some(self.pair.now().saturating_add(Duration::from_secs(3_600))),
        };
        let Some(target) = target.filter(|&at| at > self.pair.now()) else { return };
        match to {
            Jump::Before => self.pair.hit(Place::JustBeforeDeadline),
            Jump::At => self.pair.hit(Place::AtDeadline),
            _ => {}
        }
        self.pair.advance_to(target);
    }

    pub(super) fn reset(&mut self, end: usize, serial: usize, id: CallId, error: u32) {
        let Some(stream) = self.pair.conn(end).break_call(id, error) else { return };
        self.pair.hit(if end == CLIENT { Place::ResetByClient } else { Place::ResetByServer });
        self.pair.referee.excuses[end].resets.push((stream, error));
        self.model.reset(end, serial, error);
    }

    /// Time enough has passed for a timer of a connection.
    pub(super) fn is_late(&self) -> bool {
        self.pair.now().saturating_since(START) > PATIENCE
    }

    /// A connection may end only for a reason that this run gave it.
    pub(super) fn closed(&mut self, end: usize) {
        let peer = 1 - end;
        let reason = self.pair.conn(end).close_reason().cloned();
        let acts = &self.acts;
        let explained = match &reason {
            Some(CloseReason::Local) => acts.ended[end],
            Some(CloseReason::Peer { code }) => match code.0 {
                // Who is told of a drain may say good-bye as well.
                0 => acts.ended != [false; 2] || self.is_late(),
                code => acts.failed[peer] == Some(code) || self.is_late(),
            },
            // Who is told of a drain may be the one who leaves.
            Some(CloseReason::Eof) => acts.cut || acts.ended != [false; 2] || self.is_late(),
            Some(CloseReason::Timeout { .. }) => self.is_late(),
            Some(CloseReason::Protocol { code, .. }) => acts.failed[end] == Some(code.0),
            _ => false,
        };
        if !explained {
            self.broken.push(format!("end {end} closed without a reason: {reason:?}"));
        }
        self.model.disturbed = true;
    }

    pub(super) fn slip(&mut self, end: usize, setting: Setting, value: u32) {
        if self.slips == MOST_SLIPS || (setting == Setting::MaxStreams && end == CLIENT) {
            return;
        }
        self.slips += 1;
        self.slipped.push((end, setting));
        // The real receiver holds the other to its real limits.
        let value = value.min(self.original(end, setting));
        match setting {
            Setting::WindowTwice => self.pair.slip(end, wire::settings(&[(4, 0), (4, value)])),
            _ => self.pair.slip(end, wire::settings(&[(setting.id(), value)])),
        }
    }

    /// What the slipped values were before.
    pub(super) fn original(&self, end: usize, setting: Setting) -> u32 {
        let config = &self.configs[end];
        match setting {
            Setting::InitialWindow | Setting::WindowTwice => config.initial_window,
            Setting::MaxFrame => config.max_frame,
            Setting::MaxStreams => config.max_concurrent_streams,
            Setting::HeaderTable => config.header_table,
        }
    }

    pub(super) fn noise(&mut self, end: usize, kind: u8) {
        if self.slips == MOST_SLIPS {
            return;
        }
        self.slips += 1;
        // A stream that the wire knows as over on both sides.
        let over = self.pair.referee.closed_stream(usize::from(kind >> 3));
        let frame = match kind % 8 {
            4 if end == CLIENT && self.pings == 3 => return,
            4 => {
                self.pings += u32::from(end == CLIENT);
                wire::frame(wire::PING, 0, 0, &[kind; 8])
            }
            5 => wire::frame(wire::PING, wire::ACK, 0, b"nobodys!"),
            6 | 7 if over.is_none() => return,
            6 => wire::window_update(over.unwrap_or_default(), 1 + u32::from(kind)),
            7 => wire::rst_stream(over.unwrap_or_default(), u32::from(kind >> 3)),
            0 => wire::frame(0x0a, 0xff, 0, b"\x00\x01A"),
            1 => wire::frame(0x40 + (kind >> 2), 0, 1, &[7; 100]),
            2 => wire::frame(wire::PRIORITY, 0, 1 + 2 * u32::from(kind), &[0, 0, 0, 0, 9]),
            _ => wire::settings(&[(0x1234, 5)]),
        };
        if matches!(kind % 8, 6 | 7) {
            self.pair.hit(Place::FrameForClosedStream);
        }
        self.pair.slip(end, frame);
    }
}
