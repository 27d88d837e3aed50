//! DATA that nobody waits for: for streams that are gone, and in frames that are too short for their trouble.

use super::{Connection, Fatal};
use crate::{
    error::ErrorCode,
    store::NIL,
    stream::{Slot, flag},
};
use h2_frame::Head;

/// So many octets for streams that are gone count as one useless frame; a frame as at least a 64th of that.
const LATE: u32 = 1 << 20;

impl Connection {
    /// DATA for a stream that is gone: credited already, dropped. On its way when we reset the stream: nobody's fault.
    #[cold]
    pub(super) fn data_for_nobody(&mut self, head: Head) -> Result<u32, Fatal> {
        if self.is_idle_id(head.stream) {
            return Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "DATA on an idle stream"));
        }
        // Cheap to drop, and on a long fast link much may be on its way (cases B53); but not for ever.
        self.late += head.len.max(LATE / 64);
        if self.late > LATE {
            self.late = 0;
            self.guard.useless(self.now)?;
        }
        if head.has(h2_frame::flag::END_STREAM) {
            // Once for each stream.
            self.guard.useless(self.now)?;
        }
        if !self.is_late(head.stream) {
            self.guard.useless(self.now)?;
            self.queue_reset_unpaid(head.stream, ErrorCode::STREAM_CLOSED);
        } else if head.len > 0 {
            // It has its budget here: that of short frames is for streams that are open.
            self.guard.frame_of_use();
        }
        Ok(NIL)
    }

    /// Frames for this stream may have been on their way when we reset it, or excluded it by our GOAWAY.
    fn is_late(&self, id: u32) -> bool {
        self.control.was_cut_off(id) || self.after_goaway(id)
    }

    /// Short frames beyond their budget pass while they bring a message that the application waits for: its size bounds them (cases
    /// B65). What may be nothing but padding has the budget of useless frames, and so have those for streams that are gone.
    #[cold]
    pub(super) fn excuse_short(&mut self, head: Head, fatal: Fatal) -> Result<(), Fatal> {
        let waits = |slot: &Slot| slot.has(flag::DISCARD) || slot.asks();
        let excused = match self.map.get(head.stream) {
            Some(s) => !self.slots[s].has(flag::HTTP | flag::REMOTE_END) && waits(&self.slots[s]),
            None => self.is_late(head.stream),
        };
        if head.len == 0 || !excused {
            return Err(fatal);
        }
        if head.has(h2_frame::flag::PADDED) { self.guard.useless(self.now) } else { Ok(()) }
    }
}
