//! The sending half of a call.

use super::Call;
use crate::{
    CallId, Metadata, Misuse, Payload, SendError, Status,
    shape::send::{self, Action, ClientSend, MISSING_CODE, MISSING_TEXT, SendState, ServerSend},
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
                let len = payload.len();
                self.queue(Out::message(payload), len + 5, action);
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
        if len > SHARED || !self.conn.segment.has_room(self.conn.cfg.connection_send_buffer) {
            let mut octets = Vec::with_capacity(len);
            fill(&mut octets);
            let out = Out::message(octets.into());
            tap!(self.conn => tape_send_with(self.s, len, &out));
            let queued = out.len();
            self.queue(out, queued, action);
            return Ok(());
        }
        let (start, written) = self.conn.segment.push(len, fill);
        tap!(self.conn => tape_send_with(self.s, len, &Out::segment((start, written))));
        let slot = &mut self.conn.slots[self.s];
        match slot.out.back_mut() {
            // A stream's small messages lie one behind the other in the segment: they are one piece from here on. No `Out` is made for
            // them: building one and taking it apart again takes longer than all the rest.
            Some(Out::Segment { start: begins, len: before, run }) if *begins + *before == start => {
                *before += written;
                run.messages += 1;
            }
            _ => slot.out.push_back(Out::segment((start, written))),
        }
        self.queued(written as usize, action);
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

    fn queue(&mut self, out: Out, octets: usize, action: Action) {
        self.conn.slots[self.s].out.push_back(out);
        self.queued(octets, action);
    }

    /// So many octets more are in the queue.
    #[inline(always)]
    fn queued(&mut self, octets: usize, action: Action) {
        let slot = &mut self.conn.slots[self.s];
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

/// Why a reply to a call that takes many messages is not sent.
const MANY: &str = "a reply is for a method that returns one message: this one returns many, and has no room now";

/// A server's call that has sent nothing, and whose head nobody asked for.
const FRESH_NOT: u32 = OVER | flag::HEAD_SENT | flag::HEAD_DUE;

impl Call<'_> {
    /// Server: the one message of a method that returns one, and OK: [`send_with`](Self::send_with) and
    /// [`finish`](Self::finish) in one step, at less than the price of both.
    ///
    /// A message larger than [`Config::max_send_message`](crate::Config::max_send_message) ends the call with RESOURCE_EXHAUSTED, one that
    /// finds no room because the method returns many with INTERNAL. A call that ended meanwhile is let go of.
    // `always`: see `send_with`.
    #[inline(always)]
    pub fn reply_with(self, len: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        tap!(self.conn => return self.reply_in_steps(len, fill));
        let conn = self.conn;
        let slot = &conn.slots[self.s];
        let fresh = slot.sent == SendState::Empty && !slot.has(FRESH_NOT) && slot.links.which == Which::None && !conn.is_client();
        if fresh && len <= SHARED && len <= conn.cfg.max_send_message as usize && conn.segment.has_room(conn.cfg.connection_send_buffer) {
            return conn.answer(self.s, len, fill);
        }
        Call::new(conn, self.s).reply_in_steps(len, fill);
    }

    fn reply_in_steps(mut self, len: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        let sent = self.send_with(len, fill);
        self.finish_reply(sent);
    }

    /// Ends a call whose one message was sent, or why it was not.
    pub(crate) fn finish_reply(self, sent: Result<(), SendError<()>>) {
        match sent {
            Err(SendError::Refused((), why)) => self.finish(&Status::resource_exhausted(why.0), None),
            Err(SendError::Blocked(())) => self.finish(&Status::internal(MANY), None),
            // Ended by itself meanwhile: this only lets go of it.
            Ok(()) | Err(SendError::Ended(())) => self.finish(&Status::ok(), None),
        }
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
