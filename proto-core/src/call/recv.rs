//! The receiving half of a call, and its end.

use super::{Call, Outcome};
use crate::{
    Message,
    error::ErrorCode,
    shape::{Cardinality, recv::RecvState},
    stream::flag,
};

/// What `recv` answers.
#[derive(Debug)]
#[must_use]
pub enum Recv {
    /// The next message.
    Message(Message),
    /// Nothing yet: wait for `Readable`.
    Pending,
    /// No more messages. Server: the client closed its side, or the call was cut short. Client: take the outcome.
    End,
}

impl Call<'_> {
    /// The next message. `Pending` counts as asking for one.
    ///
    /// A client's call that returns one message answers it only once the status says OK (SO rule: a status that is
    /// not OK wins over a message).
    #[inline(always)]
    pub fn recv(&mut self) -> Recv {
        tap!(self.conn => return self.tape_recv());
        self.next()
    }

    #[cfg(feature = "record")]
    #[cold]
    fn tape_recv(&mut self) -> Recv {
        let got = self.next();
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::Recv((&got).into()) });
        got
    }

    #[inline(always)]
    fn next(&mut self) -> Recv {
        let client = self.conn.is_client();
        let slot = &self.conn.slots[self.s];
        let held_back = client && slot.shape.response() == Cardinality::One && slot.receive != RecvState::Ended;
        if !held_back {
            if let Some(message) = self.conn.take_message(self.s) {
                return Recv::Message(message);
            }
            let slot = &self.conn.slots[self.s];
            let ended = if client { slot.outcome.is_some() } else { slot.has(flag::REMOTE_END | flag::CUT_SHORT | flag::CLOSED) };
            if ended {
                return Recv::End;
            }
        }
        if self.conn.slots[self.s].demand == 0 {
            self.ask(1);
        }
        Recv::Pending
    }

    /// Asks for `n` more messages ahead of `recv`. A message larger than the stream's window is let in only when it
    /// was asked for, so that what nobody wants does not fill the budget.
    pub fn demand(&mut self, n: u32) {
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::Demand(n) });
        self.ask(n);
    }

    fn ask(&mut self, n: u32) {
        let slot = &mut self.conn.slots[self.s];
        slot.demand = slot.demand.saturating_add(n);
        if !slot.assembly.is_empty() {
            self.conn.grant_rest(self.s);
        }
    }

    /// The next message, only if one is there: asks for nothing.
    pub fn try_recv(&mut self) -> Option<Message> {
        tap!(self.conn => return self.tape_try_recv());
        self.conn.take_message(self.s)
    }

    #[cfg(feature = "record")]
    #[cold]
    fn tape_try_recv(&mut self) -> Option<Message> {
        let message = self.conn.take_message(self.s);
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::TryRecv(message.as_ref().into()) });
        message
    }

    /// Client: the outcome, once `recv` answered `End`; lets go of the call. `None`: not yet, the call goes on.
    pub fn take_outcome(self) -> Option<Outcome> {
        tap!(self.conn => tape_outcome(self.s));
        let slot = &mut self.conn.slots[self.s];
        let status = slot.outcome.take()?;
        let outcome = Outcome { status, trailers: core::mem::take(&mut slot.trailers), unprocessed: slot.has(flag::UNPROCESSED) };
        self.conn.let_go(self.s);
        Some(outcome)
    }

    /// Ends the call at once and lets go of it: RST_STREAM(CANCEL) where it has a stream, output that is not framed yet
    /// is dropped. A call that was never opened leaves no trace on the wire.
    pub fn cancel(self) {
        tap!(self.conn, Record::Call { slot: self.s, op: CallOp::Cancel });
        self.conn.close_with_reset(self.s, ErrorCode::CANCEL);
        self.conn.let_go(self.s);
    }
}
