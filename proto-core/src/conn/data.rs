//! DATA in: both windows, and octets to messages.

use super::{
    Connection, Fatal, Role,
    settings::DEFAULT_WINDOW,
    whole::{copy_in, is_whole, run_at_front, whole_at_front},
};
use crate::{
    Code, Event, Message, Payload, Status, StreamId,
    error::ErrorCode,
    flow::Credit,
    grpc::prefix::{Prefix, PrefixError},
    shape::{
        Cardinality,
        recv::{self as shape, ClientInput, RecvState, ServerInput, Verdict, Violation},
    },
    store::NIL,
    stream::{Inbound, Slot, flag},
};
use alloc::vec::Vec;
use bytes::Bytes;
use h2_frame::Head;

/// Whole messages that a call holds as messages; what comes behind them stays octets, since a
/// message in memory costs more than the five octets that it may have on the wire.
const INBOX: usize = 32;
/// Set aside for a message on the strength of its prefix alone, while `AHEAD` allows.
const TRUST: u32 = 64 << 10;
/// Most octets of a connection set aside for messages that were announced and not received.
const AHEAD: u32 = 4 << 20;

impl Connection {
    /// A DATA frame begins: its whole length, padding included, counts against both windows (RFC 9113 §6.9.1).
    #[inline]
    pub(super) fn data_begins(&mut self, head: Head) -> Result<(), Fatal> {
        self.recv_window.consume(head.len);
        if self.recv_window.get() < 0 {
            return Err(Fatal::new(ErrorCode::FLOW_CONTROL_ERROR, "more DATA than the connection's window"));
        }
        // Connection credit goes back on receipt: the stream windows and the budget bound what is held,
        // and a call that nobody reads must not stall the others.
        self.return_connection_credit(head.len);
        if head.has(h2_frame::flag::END_STREAM) {
            if head.len > 0 {
                self.guard.last_data();
            }
        } else if let Err(fatal) = self.guard.data(head.len) {
            self.excuse_short(head, fatal)?;
        }
        self.rx_data = 0;
        self.rx_slot = match self.map.get(head.stream) {
            Some(s) => self.data_for(s, head)?,
            None => self.data_for_nobody(head)?,
        };
        if fault!("credit_lost_on_reset") && self.rx_slot == NIL {
            self.recv_credit = self.recv_credit.saturating_sub(head.len);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn return_connection_credit(&mut self, octets: u32) {
        self.recv_credit += octets << u32::from(fault!("credit_twice"));
        if self.recv_credit > self.cfg.connection_window / 2 {
            self.control.owe_connection_credit();
        }
    }

    #[inline]
    fn data_for(&mut self, s: u32, head: Head) -> Result<u32, Fatal> {
        let unaware = self.is_unaware();
        let slot = &mut self.slots[s];
        slot.recv_window.consume(head.len);
        let fault = if slot.has(flag::REMOTE_END) {
            (ErrorCode::STREAM_CLOSED, "DATA after END_STREAM")
        } else if slot.recv_window.get() < 0 && head.len > 0 && !unaware {
            (ErrorCode::FLOW_CONTROL_ERROR, "more DATA than the stream's window")
        } else if self.role == Role::Client && !slot.has(flag::HEAD_RECEIVED) {
            (ErrorCode::PROTOCOL_ERROR, "DATA before the response's head")
        } else {
            return Ok(s);
        };
        self.stream_error(head.stream, fault.0, fault.1)?;
        Ok(NIL)
    }

    #[inline]
    pub(super) fn data_goes_on(&mut self, octets: &[u8], last: bool) -> Result<(), Fatal> {
        let s = self.rx_slot;
        if s == NIL {
            return Ok(());
        }
        self.rx_data += octets.len() as u32;
        if !self.is_in_budget(octets.len()) {
            return self.stream_error(self.rx_head.stream, ErrorCode::FLOW_CONTROL_ERROR, "more DATA than the stream's window");
        }
        if !octets.is_empty() {
            self.take_in(s, octets)?;
        }
        if last { self.frame_ends(s) } else { Ok(()) }
    }

    /// The peer has not read our SETTINGS and goes by the default window, which is larger than ours (RFC 9113 §6.9.3). Until then the
    /// budget of the connection counts, not the windows of streams: at half of it we stop reading, beyond it a stream ends.
    #[inline]
    pub(super) fn is_unaware(&self) -> bool {
        self.local.unacked > 0 && self.cfg.initial_window < DEFAULT_WINDOW && !fault!("window_before_ack")
    }

    /// Reading goes on when the application has taken what came. If it never does, the SETTINGS timeout ends the connection.
    #[inline]
    pub(super) fn is_glutted(&self) -> bool {
        self.is_unaware() && self.budget.held() > self.cfg.recv_budget / 2 && self.has_untaken()
    }

    /// Half messages do not count: without reading, neither their rest nor the acknowledgement would ever come.
    #[cold]
    fn has_untaken(&self) -> bool {
        let held_back = |slot: &Slot| self.role == Role::Client && slot.shape.response() == Cardinality::One && slot.outcome.is_none();
        self.slots.live().any(|(_, slot)| slot.has(flag::HELD | flag::OFFERED) && !slot.inbox.is_empty() && !held_back(slot))
    }

    /// A peer that goes by our windows never gets beyond the budget. One that did not know them may have, or come near it.
    #[inline]
    pub(super) fn is_in_budget(&self, more: usize) -> bool {
        self.budget.held() + more as u64 <= self.cfg.recv_budget
    }

    /// The last octet of a DATA frame was handled; the stream may have ended by it.
    #[inline]
    pub(super) fn frame_ends(&mut self, s: u32) -> Result<(), Fatal> {
        if self.rx_slot != s {
            return Ok(());
        }
        self.rx_slot = NIL;
        if self.rx_data >= 5 && !self.slots[s].backlog.is_empty() {
            // It may well hold a message; how much of it piles up there is the window's affair.
            self.guard.message_whole();
        }
        let padding = self.rx_head.len - self.rx_data;
        if padding > 0 && !fault!("padding_uncredited") {
            self.return_stream_credit(s, padding);
        }
        if self.rx_head.has(h2_frame::flag::END_STREAM) { self.remote_ends(s) } else { Ok(()) }
    }

    /// Octets of a body, for a slot that is open.
    fn take_in(&mut self, s: u32, octets: &[u8]) -> Result<(), Fatal> {
        self.steps.octets(octets.len());
        if self.slots[s].has(flag::DISCARD) {
            // Its window, which is not renewed, bounds how many short frames there may be.
            self.guard.frame_of_use();
            return Ok(());
        }
        if self.slots[s].content_length.is_some() && !self.content_length_holds(s, octets.len() as u64)? {
            return Ok(());
        }
        if self.slots[s].has(flag::SNIPPET) {
            self.snippet_goes_on(s, octets);
            return Ok(());
        }
        let credit = self.budget.charge(octets.len() as u32);
        if self.slots[s].has(flag::HTTP) {
            let slot = &mut self.slots[s];
            slot.backlog.extend_from_slice(octets);
            slot.backlog_credit.join(credit);
            self.push_stream_readable(s);
            return Ok(());
        }
        self.messages(s, octets, credit);
        Ok(())
    }

    /// RFC 9113 §8.1.1: `content-length` must equal the octets of DATA.
    #[cold]
    fn content_length_holds(&mut self, s: u32, octets: u64) -> Result<bool, Fatal> {
        let slot = &mut self.slots[s];
        match slot.content_length.and_then(|left| left.checked_sub(octets)) {
            Some(left) => {
                slot.content_length = Some(left);
                Ok(true)
            }
            None => {
                let id = slot.id;
                self.stream_error(id, ErrorCode::PROTOCOL_ERROR, "more DATA than content-length says")?;
                Ok(false)
            }
        }
    }

    /// Octets of length-prefixed messages. `credit` is for all of them.
    #[inline]
    fn messages(&mut self, s: u32, octets: &[u8], credit: Credit) {
        let slot = &mut self.slots[s];
        if slot.inbox.len() >= INBOX || !slot.backlog.is_empty() {
            self.put_off(s, octets, credit);
            return;
        }
        // One whole message, the ordinary case.
        if slot.assembly.is_empty() && is_whole(octets, self.cfg.max_recv_message) {
            let payload = copy_in(&mut self.small, &octets[5..]);
            self.deliver(s, Inbound { payload, credit, extra: 0, run: 0 });
            return;
        }
        self.messages_in_pieces(s, octets, credit);
    }

    /// Octets from the wire, in whatever pieces they came.
    fn messages_in_pieces(&mut self, s: u32, octets: &[u8], credit: Credit) {
        if let Some((left, credit)) = self.read_messages(s, octets, credit) {
            self.put_off(s, &octets[octets.len() - left..], credit);
        }
    }

    /// Makes messages of octets. `Some`: the inbox is full, so many octets are left.
    fn read_messages(&mut self, s: u32, mut rest: &[u8], mut credit: Credit) -> Option<(usize, Credit)> {
        while !rest.is_empty() {
            self.steps.add(1);
            let whole = if self.slots[s].assembly.is_empty() { whole_at_front(rest, self.cfg.max_recv_message) } else { None };
            let alive = if let Some(n) = whole {
                let many = matches!(self.slots[s].receive, RecvState::Open | RecvState::Ended);
                let (messages, end) = if many { run_at_front(rest, n, self.cfg.max_recv_message) } else { (1, n) };
                let (part, left) = credit.split(end as u32);
                let run = &rest[..end];
                (credit, rest) = (left, &rest[end..]);
                self.take_whole(s, messages, run, part)
            } else {
                let before = rest.len();
                let assembled = self.assemble(s, &mut rest);
                let (part, left) = credit.split((before - rest.len()) as u32);
                credit = left;
                self.slots[s].assembly.credit.join(part);
                match assembled {
                    Ok(false) => true,
                    Ok(true) => self.complete(s),
                    Err(status) => {
                        self.refuse_message(s, status);
                        false
                    }
                }
            };
            if !alive {
                break;
            }
            if self.slots[s].inbox.len() >= INBOX && !rest.is_empty() {
                return Some((rest.len(), credit));
            }
        }
        let _ = self.budget.settle(credit);
        None
    }

    /// Nothing to assemble: these octets are whole messages with their prefixes. Several stay as they lie, one item for all. False: it
    /// ended the call.
    fn take_whole(&mut self, s: u32, messages: u32, octets: &[u8], credit: Credit) -> bool {
        if messages == 1 {
            let payload = copy_in(&mut self.small, &octets[5..]);
            return self.deliver(s, Inbound { payload, credit, extra: 0, run: 0 });
        }
        self.steps.add(messages as usize);
        // All but the last, which `deliver` counts.
        self.stats.messages_received += u64::from(messages - 1);
        (1..messages).for_each(|_| self.guard.message_whole());
        self.deliver(s, Inbound { payload: Bytes::copy_from_slice(octets).into(), credit, extra: 0, run: messages })
    }

    /// The inbox is full: the octets stay octets.
    #[cold]
    fn put_off(&mut self, s: u32, octets: &[u8], credit: Credit) {
        let slot = &mut self.slots[s];
        if slot.backlog_at > slot.backlog.len() / 2 {
            self.steps.octets(slot.backlog.len() - slot.backlog_at);
            slot.backlog.drain(..core::mem::take(&mut slot.backlog_at));
        }
        slot.backlog.extend_from_slice(octets);
        slot.backlog_credit.join(credit);
    }

    /// Moves octets into the message being received; true: it is whole.
    fn assemble(&mut self, s: u32, rest: &mut &[u8]) -> Result<bool, Status> {
        let max = self.cfg.max_recv_message;
        let assembly = &mut self.slots[s].assembly;
        if assembly.prefix_len < 5 {
            let at = if fault!("prefix_cut") { 0 } else { assembly.prefix_len as usize };
            let n = rest.len().min(5 - at);
            assembly.prefix[at..at + n].copy_from_slice(&rest[..n]);
            assembly.prefix_len += n as u8;
            *rest = &rest[n..];
            if assembly.prefix_len < 5 {
                return Ok(false);
            }
            let Prefix { len, compressed } = Prefix::parse(assembly.prefix, max).map_err(PrefixError::status)?;
            if compressed {
                return Err(Status::new(Code::Internal, COMPRESSED));
            }
            assembly.left = len;
            self.make_room(s);
        }
        let assembly = &mut self.slots[s].assembly;
        let n = rest.len().min(assembly.left as usize);
        assembly.octets.extend_from_slice(&rest[..n]);
        assembly.left -= n as u32;
        *rest = &rest[n..];
        Ok(assembly.left == 0)
    }

    /// A prefix came: sets memory aside and lets the rest in, if the application asked for the message.
    fn make_room(&mut self, s: u32) {
        let announced = self.slots[s].assembly.left;
        let trust = if self.ahead.saturating_add(announced) <= AHEAD { announced } else { announced.min(TRUST) };
        if announced > TRUST && trust == announced {
            self.ahead += announced;
            self.slots[s].assembly.reserved = announced;
        }
        self.slots[s].assembly.octets.reserve_exact(trust as usize);
        if i64::from(announced) > self.slots[s].recv_window.get() {
            self.grant_rest(s);
        }
    }

    /// The message being received is whole. False: it ended the call.
    pub(super) fn complete(&mut self, s: u32) -> bool {
        let assembly = core::mem::take(&mut self.slots[s].assembly);
        self.ahead -= assembly.reserved;
        let payload = if assembly.octets.is_empty() { Payload::new() } else { Bytes::from(assembly.octets).into() };
        let message = Inbound { payload, credit: assembly.credit, extra: assembly.extra, run: 0 };
        self.deliver(s, message)
    }

    /// A whole message: what it means is the shape's affair. False: it ended the call.
    #[inline]
    fn deliver(&mut self, s: u32, message: Inbound) -> bool {
        self.stats.messages_received += 1;
        self.guard.message_whole();
        let slot = &mut self.slots[s];
        let (state, verdict) = match self.role {
            Role::Server => shape::server(slot.receive, ServerInput::Message),
            Role::Client => shape::client(slot.receive, ClientInput::Message),
        };
        slot.receive = state;
        match verdict {
            Verdict::Deliver => {
                slot.inbox.push_back(message);
                self.push_readable(s);
                true
            }
            Verdict::Hold => {
                slot.inbox.push_back(message);
                true
            }
            Verdict::Violation(violation) => {
                self.drop_message(s, message);
                self.refuse_message(s, Status::new(Violation::CODE, violation.text()));
                false
            }
            // The direction ended before its octets did: they came from behind a full inbox.
            _ => {
                slot.inbox.push_back(message);
                true
            }
        }
    }

    fn drop_message(&mut self, s: u32, message: Inbound) {
        let octets = self.budget.settle(message.credit);
        self.return_message_credit(s, octets, message.extra);
    }

    /// The application takes the next message.
    #[inline(always)]
    pub(crate) fn take_message(&mut self, s: u32) -> Option<Message> {
        let slot = &mut self.slots[s];
        // Out of a run it goes straight to the application: every move of what was just built waits for it to be there.
        if let Some((octets, credit)) = slot.inbox.front_mut().and_then(Inbound::next_of_run) {
            slot.demand = slot.demand.saturating_sub(1);
            let n = self.budget.settle(credit);
            self.return_stream_credit(s, n);
            return Some(Message { payload: octets.into(), compressed: false });
        }
        let Inbound { payload, credit, extra, .. } = slot.inbox.pop_front()?.last_of_run();
        slot.demand = slot.demand.saturating_sub(1);
        let octets = self.budget.settle(credit);
        self.return_message_credit(s, octets, extra);
        let slot = &self.slots[s];
        if slot.inbox.is_empty() && !slot.backlog.is_empty() {
            self.read_backlog(s);
        }
        Some(Message { payload, compressed: false })
    }

    /// Octets of a message are no longer held. What was let in beyond the window goes back to the budget, not to the peer.
    #[inline]
    fn return_message_credit(&mut self, s: u32, octets: u32, extra: u32) {
        self.return_stream_credit(s, octets.saturating_sub(extra));
        if extra > 0 {
            self.budget.give_back(extra);
            self.feed_starved();
        }
    }

    /// Octets that waited behind a full inbox become messages.
    #[cold]
    fn read_backlog(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        let octets: Vec<u8> = core::mem::take(&mut slot.backlog);
        let at = core::mem::take(&mut slot.backlog_at);
        let credit = core::mem::take(&mut slot.backlog_credit);
        if let Some((left, credit)) = self.read_messages(s, &octets[at..], credit) {
            let slot = &mut self.slots[s];
            slot.backlog_at = octets.len() - left;
            slot.backlog = octets;
            slot.backlog_credit = credit;
        }
    }

    /// What is wrong with a stream that ends here, as far as its octets are not messages yet: they end in the middle of
    /// one, or hold one that would be refused. Looked at once, so that the outcome is final before the last message is taken.
    pub(super) fn unread_fault(&self, s: u32) -> Option<Status> {
        let slot = &self.slots[s];
        let mut rest = &slot.backlog[slot.backlog_at..];
        let mut whole = slot.assembly.is_empty();
        while let Some((prefix, more)) = rest.split_first_chunk() {
            self.steps.add(1);
            match Prefix::parse(*prefix, self.cfg.max_recv_message) {
                Err(error) => return Some(error.status()),
                Ok(Prefix { compressed: true, .. }) => return Some(Status::new(Code::Internal, COMPRESSED)),
                Ok(Prefix { len, .. }) => match more.get(len as usize..) {
                    Some(more) => rest = more,
                    None => break,
                },
            }
        }
        whole &= rest.is_empty();
        if whole { None } else { Some(Status::new(Code::Internal, TRUNCATED)) }
    }

    /// The peer ended its side on DATA.
    pub(super) fn remote_ends(&mut self, s: u32) -> Result<(), Fatal> {
        let slot = &mut self.slots[s];
        slot.set(flag::REMOTE_END);
        self.forget_credit(s);
        let slot = &mut self.slots[s];
        // What is discarded is not counted.
        if slot.content_length.is_some_and(|left| left != 0) && !slot.has(flag::DISCARD) {
            let id = slot.id;
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, "less DATA than content-length says");
        }
        if slot.has(flag::HTTP) {
            self.push_stream_readable(s);
            self.close_if_done(s);
            return Ok(());
        }
        match self.role {
            Role::Client if slot.has(flag::SNIPPET) => self.snippet_ends(s),
            Role::Client => {
                self.end_client(s, Status::new(Code::Internal, "the server closed the stream without sending trailers"), ErrorCode::CANCEL)
            }
            Role::Server => self.request_ends(s),
        }
        Ok(())
    }

    /// Server: END_STREAM of a request.
    pub(super) fn request_ends(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if slot.has(flag::DISCARD | flag::SEND_ENDED) {
            self.close_if_done(s);
            return;
        }
        if let Some(fault) = self.unread_fault(s) {
            self.refuse_message(s, fault);
            return;
        }
        let slot = &mut self.slots[s];
        let (state, verdict) = shape::server(slot.receive, ServerInput::End);
        slot.receive = state;
        match verdict {
            Verdict::DeliverEnd => self.offer(s),
            Verdict::End => self.push_readable(s),
            Verdict::Violation(violation) => self.refuse_message(s, Status::new(Violation::CODE, violation.text())),
            _ => {}
        }
    }

    /// Raw: takes what came of the body.
    pub(crate) fn take_body(&mut self, s: u32) -> Bytes {
        let slot = &mut self.slots[s];
        let octets = Bytes::from(core::mem::take(&mut slot.backlog));
        let credit = core::mem::take(&mut slot.backlog_credit);
        let n = self.budget.settle(credit);
        self.guard.frame_of_use();
        self.return_stream_credit(s, n);
        octets
    }

    /// Octets of the stream's window are free again; announced once they are worth a frame (RFC 9113 §6.9).
    #[inline(always)]
    pub(crate) fn return_stream_credit(&mut self, s: u32, octets: u32) {
        let slot = &mut self.slots[s];
        if slot.has(flag::REMOTE_END | flag::CLOSED) {
            return;
        }
        slot.credit_due += octets;
        if slot.credit_due > self.cfg.initial_window / 2 {
            self.announce_credit(s);
        }
    }

    pub(super) fn announce_credit(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if !slot.has(flag::CREDIT_DUE) && slot.credit_due > 0 {
            slot.set(flag::CREDIT_DUE);
            self.credits.push(s);
            self.control.owe_stream_credit();
        }
    }

    /// The peer sends no more on the stream: it needs no credit (RFC 9113 §6.9).
    #[inline(always)]
    pub(super) fn forget_credit(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if slot.has(flag::CREDIT_DUE) {
            slot.unset(flag::CREDIT_DUE);
            if self.control.forgo_stream_credit() == 0 {
                self.credits.clear();
            }
        }
    }

    /// The event for a raw stream.
    pub(super) fn push_stream_readable(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if slot.has(flag::HELD) && !slot.has(flag::EVENT_READABLE) {
            slot.set(flag::EVENT_READABLE);
            let (stream, token) = (StreamId { slot: s, generation: slot.generation }, slot.token);
            self.push_event(Event::StreamReadable { stream, token });
        }
    }
}

/// No coding but identity is offered, so the flag is a fault of the sender (compression.md, case 6).
const COMPRESSED: &str = "a message has its compressed flag set, but no grpc-encoding was agreed";
const TRUNCATED: &str = "END_STREAM in the middle of a message";
