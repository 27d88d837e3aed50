//! The sending half of a call.

use super::Call;
use crate::{
    CallId, Metadata, Misuse, Payload, SendError, Status,
    conn::prefix,
    shape::send::{self, Action, ClientSend, MISSING_CODE, MISSING_TEXT, ServerSend},
    store::Which,
    stream::{Ending, Out, flag},
};
use alloc::{boxed::Box, vec::Vec};

/// Messages up to this share one segment; larger ones have a buffer of their own, which is then lent to the transport.
const SHARED: usize = 4 << 10;
/// Sending is over: it ended, or the call did.
const OVER: u32 = flag::CLOSED | flag::CUT_SHORT | flag::SEND_ENDED;

impl Call<'_> {
    /// Queues a message. It is framed when the transport can take it.
    ///
    /// A call with nothing queued takes one message whatever its size; after that `Config::send_buffer` is the limit. While
    /// `Config::connection_send_buffer` is full, a streaming call with nothing queued takes only one of up to 16 KiB.
    ///
    /// # Errors
    /// The message comes back: see [`SendError`].
    pub fn send(&mut self, payload: Payload) -> Result<(), SendError<Payload>> {
        match self.admit(payload.len()) {
            Ok(action) => {
                tap!(self.conn, Record::Call { slot: self.s, op: CallOp::Send(crate::tape::flat(&payload)) });
                let (len, prefix) = (payload.len(), prefix(payload.len()));
                self.queue(Out::Message { payload, prefix, prefix_left: 5, lent: false }, len + 5, action);
                Ok(())
            }
            Err(SendError::Blocked(())) => Err(SendError::Blocked(payload)),
            Err(SendError::Ended(())) => Err(SendError::Ended(payload)),
            Err(SendError::Refused((), misuse)) => Err(SendError::Refused(payload, misuse)),
        }
    }

    /// Queues a message of exactly `len` octets, which `fill` appends to the buffer it is given (and touches nothing
    /// else of it). The cheapest way for small messages: no allocation.
    ///
    /// # Errors
    /// `fill` was not called: see [`SendError`].
    // `always`, here and down to the shared segment: a reply's message passes six of these, and on its own the compiler calls
    // each, which costs as much as the encoding.
    #[inline(always)]
    pub fn send_with(&mut self, len: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), SendError<()>> {
        let action = self.admit(len)?;
        let out = if len <= SHARED && self.conn.segment.has_room(self.conn.cfg.connection_send_buffer) {
            self.conn.segment.push(len, fill)
        } else {
            let mut octets = Vec::with_capacity(len);
            fill(&mut octets);
            let prefix = prefix(octets.len());
            Out::Message { payload: octets.into(), prefix, prefix_left: 5, lent: false }
        };
        tap!(self.conn => tape_send_with(self.s, len, &out));
        let queued = out.len();
        self.queue(out, queued, action);
        Ok(())
    }

    /// May a message of `len` octets go now?
    #[inline]
    pub(crate) fn admit(&mut self, len: usize) -> Result<Action, SendError<()>> {
        tap!(self.conn => return self.tape_admit(len));
        self.admitted(len)
    }

    #[cfg(feature = "record")]
    #[cold]
    fn tape_admit(&mut self, len: usize) -> Result<Action, SendError<()>> {
        let admitted = self.admitted(len);
        if admitted.is_err() {
            tap!(self.conn, Record::Call { slot: self.s, op: CallOp::SendRefused(len as u64) });
        }
        admitted
    }

    #[inline(always)]
    fn admitted(&mut self, len: usize) -> Result<Action, SendError<()>> {
        let cfg = &self.conn.cfg;
        let max = cfg.max_send_message as usize;
        let crowded = self.conn.is_crowded();
        let client = self.conn.is_client();
        let initial = self.conn.peer_initial_window();
        let slot = &mut self.conn.slots[self.s];
        if slot.has(OVER & !flag::SEND_ENDED) || slot.outcome.is_some() {
            return Err(SendError::Ended(()));
        }
        if len > max {
            return Err(SendError::Refused((), Misuse("the message is larger than Config::max_send_message")));
        }
        let (state, action) =
            if client { send::client(slot.sent, ClientSend::Message) } else { send::server(slot.sent, ServerSend::Message) };
        if let Action::Misuse(misuse) = action {
            return Err(SendError::Refused((), misuse));
        }
        if !slot.admits(len, state, crowded, self.conn.queued, initial, &self.conn.cfg) {
            slot.set(flag::WANTS_ROOM);
            if slot.out_len == 0 && !slot.has(flag::WAITING) {
                slot.set(flag::WAITING);
                let id = CallId { slot: self.s, generation: slot.generation };
                self.conn.waiting.push_back(id);
            }
            return Err(SendError::Blocked(()));
        }
        slot.sent = state;
        Ok(action)
    }

    #[inline(always)]
    fn queue(&mut self, out: Out, octets: usize, action: Action) {
        let slot = &mut self.conn.slots[self.s];
        slot.out.push_back(out);
        slot.out_len += octets;
        if slot.pressing() > 0 {
            self.conn.pressing += octets;
        }
        if action == Action::SendClose {
            slot.set(flag::SEND_ENDED);
        }
        self.conn.queued += octets;
        // More to send takes no call out of the ready list.
        if slot.links.which != Which::Ready {
            self.conn.schedule(self.s);
        }
    }

    /// Octets that `send` takes before it answers `Blocked`; 0: it would. With nothing queued it takes any one message.
    #[must_use]
    pub fn send_room(&self) -> usize {
        let slot = &self.conn.slots[self.s];
        if slot.has(OVER) {
            return 0;
        }
        let limit = self.conn.cfg.send_buffer as usize;
        if slot.out_len == 0 {
            if self.conn.is_crowded() { limit.min(crate::stream::LONE) } else { limit }
        } else if self.conn.is_crowded() {
            0
        } else {
            limit.saturating_sub(slot.out_len + 5)
        }
    }

    /// Octets queued and not framed yet.
    #[must_use]
    pub fn send_queued(&self) -> usize {
        self.conn.slots[self.s].out_len
    }

    /// Client: no more messages; END_STREAM goes with the last of them. A method that takes one message closes by itself.
    ///
    /// # Errors
    /// This is a server (which ends with [`finish`](Self::finish)), it was closed already, or the one message is missing.
    pub fn close_send(&mut self) -> Result<(), Misuse> {
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::CloseSend });
        if !self.conn.is_client() {
            return Err(Misuse("a server ends a call with finish"));
        }
        let slot = &mut self.conn.slots[self.s];
        if slot.has(flag::CLOSED) {
            // The call ended meanwhile; there is nothing left to close.
            return Ok(());
        }
        let (state, action) = send::client(slot.sent, ClientSend::Close);
        slot.sent = state;
        match action {
            Action::Misuse(misuse) => Err(misuse),
            Action::Close => {
                slot.set(flag::SEND_ENDED);
                self.conn.schedule(self.s);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Server: initial metadata, sent ahead of the first message, or at once with `flush`. A later call replaces it.
    ///
    /// # Errors
    /// The head was framed already, or this is a client.
    pub fn send_headers(&mut self, metadata: &Metadata, flush: bool) -> Result<(), Misuse> {
        tap!(self.conn => tape_headers(self.s, metadata, flush));
        if self.conn.is_client() {
            return Err(Misuse("a client's metadata goes with start"));
        }
        let slot = &mut self.conn.slots[self.s];
        if slot.has(flag::HEAD_SENT) {
            return Err(Misuse("the response's head was sent already"));
        }
        if slot.has(OVER) {
            return Err(Misuse("the call is over"));
        }
        slot.out_head.clear();
        slot.out_head.push_call_fields(metadata);
        if flush {
            slot.set(flag::HEAD_DUE);
            self.conn.schedule(self.s);
        }
        Ok(())
    }

    /// Server: ends the call with a status and lets go of it. Messages queued before go out first, but not those that a
    /// status other than OK makes moot. On a call that ended already (`Event::Finished`) it only lets go.
    ///
    /// A method that returns one message and finishes with OK but without it ends with INTERNAL. (A client ends with
    /// [`cancel`](Self::cancel); there this is the same.)
    #[inline(always)]
    pub fn finish(self, status: &Status, trailers: Option<&Metadata>) {
        if self.conn.is_client() {
            return self.cancel();
        }
        tap!(self.conn => tape_finish(self.s, status, trailers));
        let s = self.s;
        let slot = &mut self.conn.slots[s];
        if slot.has(OVER) {
            self.conn.let_go(s);
            return;
        }
        let input = if status.is_ok() { ServerSend::FinishOk } else { ServerSend::FinishError };
        let (state, action) = send::server(slot.sent, input);
        slot.sent = state;
        let plain = status.is_ok() && trailers.is_none_or(Metadata::is_empty) && status.metadata().is_empty();
        if action == Action::FinishWithout {
            slot.ending = Some(ending(Status::new(MISSING_CODE, MISSING_TEXT), trailers));
        } else if !plain {
            slot.ending = Some(ending(status.clone(), trailers));
        }
        slot.set(flag::SEND_ENDED | flag::TRAILERS | flag::DISCARD);
        if !status.is_ok() && !slot.mid_message() && slot.shape.response() == crate::shape::Cardinality::One {
            self.conn.drop_out(s);
        }
        self.conn.finished(s);
    }
}

#[cold]
fn ending(status: Status, extra: Option<&Metadata>) -> Box<Ending> {
    let mut trailers = Metadata::new();
    for fields in extra.into_iter().chain([status.metadata()]) {
        trailers.push_call_fields(fields);
    }
    Box::new(Ending { status, trailers, http_status: 200 })
}
