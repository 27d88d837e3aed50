//! Which list a call belongs in, and the events.

use super::{Connection, Phase};
use crate::{
    CallId, Event,
    shape::send::SendState,
    store::{NIL, Which},
    stream::{Out, flag},
};

impl Connection {
    pub(crate) fn call_id(&self, s: u32) -> CallId {
        CallId { slot: s, generation: self.slots[s].generation }
    }

    /// The slot of an id that the application may still use, or `NIL`: it was let go of, or is somebody else's.
    #[inline]
    pub(super) fn reachable(&self, slot: u32, generation: u32) -> u32 {
        match self.slots.find(slot, generation) {
            s if s != NIL && self.slots[s].has(flag::HELD | flag::OFFERED) => s,
            _ => NIL,
        }
    }

    /// Puts a call where it belongs after something changed: ready if something of it can be framed now.
    ///
    /// `Wants::write` is exact because a call is in `ready` only while this holds of it.
    #[inline]
    pub(crate) fn schedule(&mut self, s: u32) {
        let slot = &self.slots[s];
        let belongs = if slot.has(flag::CLOSED) {
            Which::None
        } else if slot.id == 0 {
            Which::Opening
        } else if slot.has(flag::HEAD_DUE) {
            Which::Ready
        } else if let Some(front) = slot.out.front() {
            let first_message = !slot.has(flag::HEAD_SENT | flag::HTTP);
            if first_message || front.len() == 0 || (self.peer.room(slot) > 0 && self.send_window.room() > 0) {
                Which::Ready
            } else if self.peer.room(slot) > 0 {
                Which::Blocked
            } else {
                Which::Stalled
            }
        } else if slot.has(flag::SEND_ENDED) && !slot.has(flag::END_SENT) && !(fault!("end_needs_window") && self.peer.room(slot) == 0) {
            Which::Ready
        } else {
            Which::None
        };
        if slot.links.which != belongs {
            if slot.links.which != Which::None {
                self.unlink(s);
            }
            match belongs {
                Which::Ready => {
                    self.pressing += self.slots[s].out_len;
                    self.ready.push(&mut self.slots, s);
                }
                Which::Blocked => {
                    self.pressing += self.slots[s].out_len;
                    self.blocked.push(&mut self.slots, s);
                    self.stalled(s);
                }
                Which::Opening => {
                    self.opening.push(&mut self.slots, s);
                    self.opening_len += 1;
                }
                Which::Stalled => {
                    self.stalled.push(&mut self.slots, s);
                    self.stalled(s);
                }
                Which::None => {}
            }
        } else if belongs == Which::Stalled {
            self.stalled(s);
        }
    }

    /// Queues the one message of an answer that is to be framed whole, and its end: what `queue`, `schedule` and `finished`
    /// come to for a call that has sent nothing yet and is in no list.
    #[inline(always)]
    pub(crate) fn queue_answer(&mut self, s: u32, out: Out) {
        let octets = out.len();
        self.queued += octets;
        self.pressing += octets;
        self.ready.push(&mut self.slots, s);
        let slot = &mut self.slots[s];
        slot.out.push_back(out);
        slot.out_len = octets;
        slot.sent = SendState::Ended;
        slot.stall = None;
        slot.unset(flag::HELD | flag::OFFERED);
        slot.set(flag::SEND_ENDED | flag::TRAILERS | flag::DISCARD);
        let (unread, told) = (!slot.inbox.is_empty() || !slot.backlog.is_empty(), slot.has(flag::EVENTS));
        if unread {
            self.drop_inbox(s);
        }
        if told {
            self.prune_events();
        }
    }

    /// A call that waits for the peer's window must not hold the shared segment, nor wait for ever.
    #[inline]
    fn stalled(&mut self, s: u32) {
        if !self.slots[s].out.is_empty() {
            self.spill(s);
            self.bound_stall(s);
        }
    }

    #[inline]
    pub(super) fn unlink(&mut self, s: u32) {
        self.pressing -= self.slots[s].pressing();
        match self.slots[s].links.which {
            Which::None => {}
            Which::Ready => self.ready.remove(&mut self.slots, s),
            Which::Blocked => self.blocked.remove(&mut self.slots, s),
            Which::Stalled => self.stalled.remove(&mut self.slots, s),
            Which::Opening => {
                self.opening.remove(&mut self.slots, s);
                self.opening_len -= 1;
            }
        }
    }

    /// The connection's window has room again for those who waited for it. They stay in their list until it is their turn: a peer that
    /// grants an octet at a time must not make us look at all of them each time.
    #[inline]
    fn may_unblock(&self) -> bool {
        !self.blocked.is_empty() && self.send_window.room() > 0 && !fault!("lost_wake")
    }

    /// The next call that has something to frame; those who had to wait come first.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<u32> {
        let list = if self.may_unblock() { &mut self.blocked } else { &mut self.ready };
        let s = list.pop(&mut self.slots)?;
        self.pressing -= self.slots[s].out_len;
        Some(s)
    }

    /// The connection's window is used up: those who need it leave the ready list.
    pub(super) fn block(&mut self) {
        let mut s = self.ready.front();
        while s != NIL {
            self.steps.add(1);
            let next = self.ready.after(&self.slots, s);
            self.schedule(s);
            s = next;
        }
    }

    /// A queued call may be opened now (RFC 9113 §5.1.2).
    #[inline]
    pub(super) fn may_open(&self) -> bool {
        !self.opening.is_empty() && self.open < self.peer.max_streams && self.drain.peer_last.is_none() && self.next_id < MAX_ID
    }

    #[inline]
    pub(super) fn wants_write(&self) -> bool {
        !self.outbox.is_empty()
            || self.control.is_due()
            || (self.phase != Phase::Closed && (!self.ready.is_empty() || self.may_open() || self.may_unblock()))
    }

    #[inline]
    pub(super) fn wants_read(&self) -> bool {
        self.phase != Phase::Closed && !self.control.is_crowded(self.cfg.limits.unread_answers) && !self.is_glutted()
    }

    #[inline]
    pub(super) fn push_event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    #[inline]
    pub(super) fn push_readable(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        // Before it is accepted, `Incoming` implies it.
        if slot.has(flag::HELD) && !slot.has(flag::EVENT_READABLE) {
            slot.set(flag::EVENT_READABLE);
            let (call, token) = (CallId { slot: s, generation: slot.generation }, slot.token);
            self.events.push_back(Event::Readable { call, token });
        }
    }

    pub(crate) fn push_headers(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if slot.has(flag::HELD) && !slot.has(flag::EVENT_HEADERS) {
            slot.set(flag::EVENT_HEADERS);
            let (call, token) = (CallId { slot: s, generation: slot.generation }, slot.token);
            self.events.push_back(Event::Headers { call, token });
        }
    }

    /// Room came free for a call whose `send` was refused.
    #[inline]
    pub(crate) fn push_writable(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if slot.flags & (flag::WANTS_ROOM | flag::HELD | flag::EVENT_WRITABLE) == flag::WANTS_ROOM | flag::HELD {
            slot.unset(flag::WANTS_ROOM);
            slot.set(flag::EVENT_WRITABLE);
            let (generation, token) = (slot.generation, slot.token);
            let event = if slot.has(flag::HTTP) {
                Event::StreamWritable { stream: crate::StreamId { slot: s, generation }, token }
            } else {
                Event::Writable { call: CallId { slot: s, generation }, token }
            };
            self.events.push_back(event);
        }
    }

    /// The next event whose call is still there.
    #[inline]
    pub(super) fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Some((slot, _, kind)) = target(event) {
            // It is live, or `prune_events` would have dropped it.
            self.slots[slot].unset(kind);
        }
        if self.events_gone {
            self.drop_gone_events();
        }
        Some(event)
    }

    /// A call is gone, and events of it may be queued: drops those at the front, so that `Wants::event` is exact. Those
    /// behind others are dropped when they come there.
    #[inline]
    pub(super) fn prune_events(&mut self) {
        if !self.events.is_empty() {
            self.events_gone = true;
            self.drop_gone_events();
        }
    }

    #[cold]
    fn drop_gone_events(&mut self) {
        while let Some(event) = self.events.front() {
            self.steps.add(1);
            match target(*event) {
                Some((slot, generation, _)) if self.reachable(slot, generation) == NIL => {
                    self.events.pop_front();
                }
                _ => return,
            }
        }
        self.events_gone = false;
    }
}

/// Slot and generation that an event is about, and the flag that says it is queued.
#[inline]
fn target(event: Event) -> Option<(u32, u32, u32)> {
    Some(match event {
        Event::Incoming { call } | Event::Finished { call, .. } => (call.slot, call.generation, 0),
        Event::IncomingHttp { stream } => (stream.slot, stream.generation, 0),
        Event::Readable { call, .. } => (call.slot, call.generation, flag::EVENT_READABLE),
        Event::StreamReadable { stream, .. } => (stream.slot, stream.generation, flag::EVENT_READABLE),
        Event::Writable { call, .. } => (call.slot, call.generation, flag::EVENT_WRITABLE),
        Event::StreamWritable { stream, .. } => (stream.slot, stream.generation, flag::EVENT_WRITABLE),
        Event::Headers { call, .. } => (call.slot, call.generation, flag::EVENT_HEADERS),
        Event::Available | Event::Draining | Event::Foreign | Event::Closed => return None,
    })
}

/// Stream ids end here (RFC 9113 §5.1.1); `start` drains a connection that has used them up.
pub(super) const MAX_ID: u32 = 1 << 31;
