//! The [flight recorder](crate::tape) in the connection: what it notes, and what a replay needs of the inside.

use super::{Accepted, Connection, Role, Timer};
use crate::{
    CallId, CallOptions, Event, Metadata, RequestHead, StartError, Status, StreamId, Timestamp, Token,
    store::{NIL, Slab},
    stream::{Out, Slot},
    tape::{Begin, CallOp, Detail, NotFresh, Record, StreamOp, Tap, Told, flat},
};
use alloc::borrow::Cow;

/// For drivers that hold a connection itself; a [`Recorder`](crate::tape::Recorder) does all of it.
impl Connection {
    /// Writes every input and operation down from now on; [`drain_tape`](Self::drain_tape) takes the records.
    ///
    /// # Errors
    /// The connection is not fresh; nothing is recorded.
    pub fn start_tape(&mut self, detail: Detail) -> Result<(), NotFresh> {
        // The timer of the handshake remembers when the connection was made.
        let made = self.timers.at(Timer::Handshake) == Some(self.now.saturating_add(self.cfg.handshake_timeout));
        let untouched = self.stats() == crate::Stats::default() && self.slots.all().is_empty() && self.outbox.is_empty();
        if !made || !untouched || !self.events.is_empty() || self.drain.ours || self.tap.is_some() {
            return Err(NotFresh);
        }
        self.tap = Some(Tap::new(Begin {
            client: self.role == Role::Client,
            hashed: detail == Detail::Hash,
            now: self.now,
            config: (*self.cfg).clone(),
            routes: self.routes.iter().map(|(path, shape)| (path.into(), shape)).collect(),
        }));
        Ok(())
    }

    /// Gives the records so far to `take`, whole records and not none, and forgets them.
    ///
    /// # Errors
    /// What `take` answered; the records are forgotten all the same.
    pub fn drain_tape<E>(&mut self, take: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let Some(tap) = &mut self.tap else { return Ok(()) };
        tap.settle(&self.outbox);
        if tap.buffer.is_empty() {
            return Ok(());
        }
        let result = take(&tap.buffer);
        tap.buffer.clear();
        tap.buffer.shrink_to(64 << 10);
        result
    }

    /// Is being recorded.
    #[must_use]
    pub fn is_taped(&self) -> bool {
        self.tap.as_ref().is_some_and(|tap| !tap.is_stopped())
    }

    /// Records no more; what was not drained is dropped.
    pub fn stop_tape(&mut self) {
        self.tap = None;
    }
}

impl Connection {
    #[cold]
    pub(crate) fn tape(&mut self, record: &Record<'_>) {
        if let Some(tap) = &mut self.tap {
            tap.note(&self.outbox, record);
        }
    }

    /// Output may have been dropped.
    #[cold]
    pub(super) fn tape_settle(&mut self) {
        if let Some(tap) = &mut self.tap {
            tap.settle(&self.outbox);
        }
    }

    #[cold]
    pub(super) fn tape_transmit(&mut self, now: Timestamp, budget: usize) {
        let Some(tap) = &mut self.tap else { return };
        tap.settle(&self.outbox);
        let staged = tap.staged(&self.outbox);
        tap.note(&self.outbox, &Record::Transmit { now, budget: budget as u64, staged });
    }

    /// The first `n` octets of the target, before they are accounted for.
    #[cold]
    pub(super) fn tape_filled(&mut self, now: Timestamp, n: usize) {
        let Some(tap) = &mut self.tap else { return };
        let target: &[u8] = match get(&self.slots, self.rx_slot) {
            Some(slot) => {
                let octets = &slot.assembly.octets;
                &octets[octets.len().saturating_sub(self.target as usize)..]
            }
            None => &[],
        };
        tap.note(&self.outbox, &Record::Filled { now, octets: target[..n.min(target.len())].into() });
    }

    #[cold]
    pub(super) fn tape_event(&mut self) -> Option<Event> {
        let event = self.next_event();
        self.tape(&Record::Event { told: event.map(Told::new) });
        event
    }

    #[cold]
    pub(super) fn tape_start(&mut self, now: Timestamp, head: RequestHead<'_>, options: CallOptions) -> Result<CallId, StartError> {
        let CallOptions { deadline, token } = options;
        let (metadata, path) = (head.metadata.map(Cow::Borrowed), head.path[..].into());
        self.tape(&Record::Start { now, shape: head.shape, deadline, token, metadata, path });
        let call = self.start_call(now, head, options);
        self.tape(&Record::Started { slot: call.ok().map(|call| call.slot) });
        call
    }

    /// One that was not taken changed nothing.
    #[cold]
    pub(super) fn tape_accept(&mut self, call: CallId, token: Token) -> Option<Accepted> {
        let accepted = self.take_over(call, token)?;
        self.tape(&Record::Accept { slot: call.slot, token });
        Some(accepted)
    }

    #[cold]
    pub(crate) fn tape_outcome(&mut self, slot: u32) {
        let code = self.slots[slot].outcome.as_ref().map(|status| status.code().as_u32() as u8);
        self.tape(&Record::Call { slot, op: CallOp::TakeOutcome(code) });
    }

    #[cold]
    pub(crate) fn tape_headers(&mut self, slot: u32, metadata: &Metadata, flush: bool) {
        self.tape(&Record::Call { slot, op: CallOp::SendHeaders { flush, metadata: Cow::Borrowed(metadata) } });
    }

    #[cold]
    pub(crate) fn tape_finish(&mut self, slot: u32, status: &Status, trailers: Option<&Metadata>) {
        let (status, trailers) = (Cow::Borrowed(status), trailers.map(Cow::Borrowed));
        self.tape(&Record::Call { slot, op: CallOp::Finish { status, trailers } });
    }

    #[cold]
    pub(crate) fn tape_http_head(&mut self, slot: u32, status: u16, headers: &Metadata, end: bool) {
        self.tape(&Record::Stream { slot, op: StreamOp::SendHeaders { status, end, metadata: Cow::Borrowed(headers) } });
    }

    #[cold]
    pub(crate) fn tape_http_trailers(&mut self, slot: u32, trailers: &Metadata) {
        self.tape(&Record::Stream { slot, op: StreamOp::SendTrailers(Cow::Borrowed(trailers)) });
    }

    /// A message that `send_with` took, as it was queued.
    #[cold]
    pub(crate) fn tape_send_with(&mut self, slot: u32, len: usize, out: &Out) {
        let Some(tap) = &mut self.tap else { return };
        let octets: Cow<'_, [u8]> = match out {
            Out::Segment { start, len, .. } => self.segment.get(*start, *len).get(5..).unwrap_or_default().into(),
            Out::Message { payload, .. } => flat(payload),
            Out::Run { octets, .. } | Out::Raw { octets, .. } => octets[..].into(),
        };
        tap.note(&self.outbox, &Record::Call { slot, op: CallOp::SendWith { len: len as u64, octets } });
    }
}

fn get(slots: &Slab, slot: u32) -> Option<&Slot> {
    slots.all().contains(&slot).then(|| &slots[slot])
}

/// For the replay.
impl Connection {
    /// The id of what is in a slot, where the application may use it.
    pub(crate) fn taped_call(&self, slot: u32) -> Option<CallId> {
        let generation = get(&self.slots, slot)?.generation;
        (self.reachable(slot, generation) != NIL).then_some(CallId { slot, generation })
    }

    pub(crate) fn taped_stream(&self, slot: u32) -> Option<StreamId> {
        self.taped_call(slot).map(|CallId { slot, generation }| StreamId { slot, generation })
    }

    /// Counts `n` octets of what is staged as written. False: so many are not.
    pub(crate) fn replay_advance(&mut self, n: u64) -> bool {
        let fits = n <= self.outbox.len() as u64;
        if fits {
            self.outbox.lend().advance(n as usize);
        }
        fits
    }

    /// Writes to the target that the last `read_target` lent. False: it lent less.
    pub(crate) fn replay_target(&mut self, octets: &[u8]) -> bool {
        let lent = self.target as usize;
        if octets.is_empty() || octets.len() > lent || get(&self.slots, self.rx_slot).is_none() {
            return octets.is_empty();
        }
        let target = &mut self.slots[self.rx_slot].assembly.octets;
        let Some(at) = target.len().checked_sub(lent) else { return false };
        target[at..at + octets.len()].copy_from_slice(octets);
        true
    }
}
