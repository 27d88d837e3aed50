//! DATA in that needs no assembly: one whole message in one frame.

use super::{Connection, Role};
use crate::{
    Payload,
    shape::recv::{self as shape, RecvState, ServerInput},
    stream::{Inbound, flag},
};
use bytes::{Bytes, BytesMut};
use h2_frame::Head;

/// Messages up to `SMALL` are cut from a shared segment of `SEGMENT` octets, which saves an allocation each. Both are
/// small, and so is the number of messages that a call holds, because one message that nobody takes keeps its segment.
const SMALL: usize = 256;
const SEGMENT: usize = 1 << 10;

impl Connection {
    /// Server: the ordinary request in one go, its one message and its end in one frame. False: it is not one of these,
    /// and nothing was done.
    #[inline]
    pub(super) fn whole_request(&mut self, head: Head, octets: &[u8]) -> bool {
        let Some(s) = self.map.get(head.stream) else { return false };
        let slot = &mut self.slots[s];
        const MUST_NOT: u32 = flag::REMOTE_END | flag::DISCARD | flag::HTTP | flag::CREDIT_DUE;
        let plain = slot.receive == RecvState::Empty
            && self.role == Role::Server
            && head.has(h2_frame::flag::END_STREAM)
            && !slot.has(MUST_NOT)
            && slot.assembly.is_empty()
            && slot.content_length.is_none_or(|all| all == octets.len() as u64)
            && i64::from(head.len) <= slot.recv_window.get().min(self.recv_window.get())
            && self.budget.held() + u64::from(head.len) <= self.cfg.recv_budget
            && is_whole(octets, self.cfg.max_recv_message);
        if !plain {
            return false;
        }
        slot.recv_window.consume(head.len);
        slot.set(flag::REMOTE_END);
        let (held, _) = shape::server(slot.receive, ServerInput::Message);
        (slot.receive, _) = shape::server(held, ServerInput::End);
        let (payload, credit) = (copy_in(&mut self.small, &octets[5..]), self.budget.charge(head.len));
        slot.inbox.push_back(Inbound { payload, credit, extra: 0, run: 0 });
        self.guard.last_data();
        self.recv_window.consume(head.len);
        self.return_connection_credit(head.len);
        self.stats.messages_received += 1;
        self.offer(s);
        true
    }
}

/// A small message goes to what is left of the segment, a large one has memory of its own.
// `always`, as elsewhere on the way of a small request: one call saved is 10 to 20 instructions of some 1,800.
#[inline(always)]
pub(super) fn copy_in(segment: &mut BytesMut, octets: &[u8]) -> Payload {
    if octets.len() > SMALL || octets.is_empty() {
        return Bytes::copy_from_slice(octets).into();
    }
    if segment.capacity() < octets.len() {
        *segment = BytesMut::with_capacity(SEGMENT);
    }
    segment.extend_from_slice(octets);
    // All of it: what is in it was taken the last time.
    segment.split().freeze().into()
}

/// The octets are one uncompressed message that is not too large.
#[inline]
pub(super) fn is_whole(octets: &[u8], max: u32) -> bool {
    whole_at_front(octets, max) == Some(octets.len())
}

/// The octets begin with a whole uncompressed message that is not too large: how many it has with its prefix.
#[inline]
pub(super) fn whole_at_front(octets: &[u8], max: u32) -> Option<usize> {
    let Some(([0, len @ ..], message)) = octets.split_first_chunk::<5>() else { return None };
    let len = u32::from_be_bytes(*len);
    (message.len() >= len as usize && len <= max).then_some(len as usize + 5)
}

/// A message that shares memory with others may keep so many times its own octets, or `SEGMENT`.
const PIN: usize = 8;
/// From here on a message has memory of its own.
const LARGE: usize = 4 << 10;

/// How many whole messages the octets begin with that may share memory, and where they end. `n`: where the first does.
#[inline]
pub(super) fn run_at_front(octets: &[u8], n: usize, max: u32) -> (u32, usize) {
    let (mut messages, mut end, mut most) = (1, n, (n * PIN).max(SEGMENT));
    if n >= LARGE {
        return (messages, end);
    }
    while let Some(next) = whole_at_front(&octets[end..], max) {
        most = most.min((next * PIN).max(SEGMENT));
        if end + next > most {
            break;
        }
        messages += 1;
        end += next;
    }
    (messages, end)
}
