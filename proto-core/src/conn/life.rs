//! How calls begin and end, and how the connection does.
//!
//! A slot is free again when both have let go of it: the wire (`CLOSED`) and the application (`HELD` is
//! unset). So a reset frees no slot whose handler still runs (attacks X01, X02).

use super::{Block, Connection, Fatal, Phase, Role, lists::MAX_ID, stage_head::list_size};
use crate::{
    CallId, CallOptions, CloseReason, Code, Event, Metadata, RequestHead, RouteId, Shape, StartError, Status, Timestamp, Token,
    error::ErrorCode,
    flow::Window,
    grpc::Origin,
    shape::{
        Cardinality,
        recv::{self, ClientInput, RecvState, Verdict, Violation},
        send::SendState,
    },
    store::{NIL, Which},
    stream::{Ending, Out, flag},
};
use alloc::{boxed::Box, format};
use core::time::Duration;

/// Octets of an answer that a peer must take within the stall timeouts at least (attacks X12, X18).
pub(super) const PACE: usize = 4 << 10;

/// What `accept` tells about a request.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Accepted {
    /// Which of the server's routes; `None` only with `Config::accept_unknown_methods`.
    pub route: Option<RouteId>,
    /// The method's shape (bidirectional where the route is unknown).
    pub shape: Shape,
    /// From `grpc-timeout`.
    pub deadline: Option<Timestamp>,
}

impl Connection {
    // -- client ---------------------------------------------------------------------------------------------

    pub(super) fn start_call(&mut self, now: Timestamp, head: RequestHead<'_>, options: CallOptions) -> Result<CallId, StartError> {
        self.tick(now);
        if self.role == Role::Server {
            return Err(StartError::NotAClient);
        }
        if self.phase == Phase::Closed {
            return Err(StartError::Closed);
        }
        if self.drain.ours || self.drain.peer_last.is_some() {
            return Err(StartError::Draining);
        }
        if u64::from(self.next_id) + 2 * u64::from(self.opening_len) >= u64::from(MAX_ID) {
            // No stream id is left for it (RFC 9113 §5.1.1): this connection ends when its calls have.
            self.begin_drain(now, None);
            return Err(StartError::Draining);
        }
        if self.opening_len >= self.cfg.max_queued_calls {
            self.at_capacity = true;
            return Err(StartError::AtCapacity);
        }
        if let Some(metadata) = head.metadata
            && list_size(metadata) + HEAD_SIZE + head.path.len() as u64 > u64::from(self.peer.max_header_list)
        {
            return Err(StartError::HeadTooLarge);
        }
        self.stats.calls += 1;
        let s = self.slots.take();
        let slot = &mut self.slots[s];
        slot.flags = flag::HELD;
        slot.shape = head.shape;
        slot.receive = RecvState::new(head.shape.response());
        slot.sent = SendState::new(head.shape.request());
        slot.demand = u32::from(head.shape.response() == Cardinality::One);
        slot.path = head.path;
        slot.token = options.token;
        slot.deadline = options.deadline;
        if let Some(metadata) = head.metadata {
            slot.out_head.push_call_fields(metadata);
        }
        let id = self.call_id(s);
        match options.deadline {
            Some(at) if at <= self.now => self.deadline_passed(s),
            Some(at) => {
                self.timers.call(at);
                self.schedule(s);
            }
            None => self.schedule(s),
        }
        Ok(id)
    }

    /// Client: the call has an outcome. `reset` goes out where the stream is not over on both sides.
    pub(crate) fn end_client(&mut self, s: u32, status: Status, reset: ErrorCode) {
        let slot = &mut self.slots[s];
        if slot.outcome.is_some() {
            return;
        }
        let mut status = match self.unread_fault(s) {
            Some(fault) if status.is_ok() => fault,
            _ => status,
        };
        let slot = &mut self.slots[s];
        let input = if status.code() == Code::Ok { ClientInput::Ok } else { ClientInput::Error };
        let (state, verdict) = recv::client(slot.receive, input);
        slot.receive = state;
        match verdict {
            Verdict::Violation(violation) => {
                status = Status::new(Violation::CODE, violation.text());
                self.drop_inbox(s);
            }
            Verdict::DropEnd => self.drop_inbox(s),
            _ => {}
        }
        // A second response message: the verdict fell when it came, and the one held must not be delivered.
        if state == RecvState::Ended && status.code() != Code::Ok && self.slots[s].shape.response() == Cardinality::One {
            self.drop_inbox(s);
        }
        self.slots[s].outcome = Some(status);
        self.close_with_reset(s, reset);
        self.guard.call_ended();
        self.push_readable(s);
    }

    /// Closes the stream; RST_STREAM tells a peer that is not done with it.
    pub(crate) fn close_with_reset(&mut self, s: u32, code: ErrorCode) {
        let slot = &self.slots[s];
        if slot.has(flag::CLOSED) {
            return;
        }
        let over = slot.flags & (flag::REMOTE_END | flag::END_SENT) == flag::REMOTE_END | flag::END_SENT;
        if fault!("idle_reset") && slot.id == 0 {
            self.queue_reset(self.next_id, code);
        } else if slot.id != 0 && !over {
            // NO_ERROR says that the response is complete (RFC 9113 §8.1); anything else that the call failed.
            let answered = if self.role == Role::Client { flag::REMOTE_END } else { flag::END_SENT };
            let (id, code) = (slot.id, if slot.has(answered) { ErrorCode::NO_ERROR } else { code });
            self.queue_reset(id, code);
        }
        self.close_wire(s);
    }

    // -- server ---------------------------------------------------------------------------------------------

    /// The request is the application's to take.
    #[inline(always)]
    pub(super) fn offer(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        slot.set(flag::OFFERED);
        let call = self.call_id(s);
        self.push_event(Event::Incoming { call });
    }

    pub(super) fn take_over(&mut self, call: CallId, token: Token) -> Option<Accepted> {
        let s = self.slots.find(call.slot, call.generation);
        if s == NIL {
            return None;
        }
        let slot = &mut self.slots[s];
        if slot.flags & (flag::OFFERED | flag::HELD | flag::SEND_ENDED | flag::HTTP) != flag::OFFERED {
            return None;
        }
        slot.set(flag::HELD);
        slot.token = token;
        let route = if slot.route == NIL { None } else { Some(RouteId(slot.route)) };
        Some(Accepted { route, shape: slot.shape, deadline: slot.deadline })
    }

    /// Server: the call ends by what the peer did, with a status.
    pub(crate) fn end_early(&mut self, s: u32, status: Status, http_status: u16) {
        let slot = &mut self.slots[s];
        slot.set(flag::DISCARD);
        if slot.has(flag::SEND_ENDED) {
            return;
        }
        slot.set(flag::ENDED_EARLY);
        if slot.mid_message() {
            // A message cut in the middle cannot be followed by trailers.
            let (id, code) = (slot.id, status.code());
            self.queue_reset(id, ErrorCode::CANCEL);
            self.cut_short(s, code);
            return;
        }
        let code = status.code();
        self.drop_out(s);
        let slot = &mut self.slots[s];
        slot.set(flag::SEND_ENDED | flag::TRAILERS);
        slot.ending = Some(Box::new(Ending { status, trailers: Metadata::new(), http_status }));
        self.tell_finished(s, code);
        self.schedule(s);
    }

    fn tell_finished(&mut self, s: u32, code: Code) {
        let slot = &mut self.slots[s];
        if slot.has(flag::HELD) && !slot.has(flag::CUT_SHORT) {
            slot.set(flag::CUT_SHORT);
            let (call, token) = (CallId { slot: s, generation: slot.generation }, slot.token);
            self.push_event(Event::Finished { call, token, code });
        }
    }

    /// Server: the stream is gone; a handler that runs is told.
    pub(super) fn cut_short(&mut self, s: u32, code: Code) {
        self.tell_finished(s, code);
        self.close_wire(s);
    }

    // -- both -----------------------------------------------------------------------------------------------

    /// The peer's messages break a rule or a limit.
    pub(super) fn refuse_message(&mut self, s: u32, status: Status) {
        match self.role {
            Role::Client => self.end_client(s, status, ErrorCode::CANCEL),
            Role::Server => self.end_early(s, status, 200),
        }
    }

    /// A stream error (RFC 9113 §5.4.2) on a stream that is open.
    #[cold]
    pub(super) fn break_stream(&mut self, s: u32, code: ErrorCode, what: &'static str) {
        let slot = &mut self.slots[s];
        slot.reset = code;
        let id = slot.id;
        self.queue_reset(id, code);
        if self.slots[s].has(flag::HTTP) {
            self.slots[s].set(flag::PEER_RESET);
            self.push_stream_readable(s);
            self.close_wire(s);
            return;
        }
        match self.role {
            Role::Server => self.cut_short(s, Code::Cancelled),
            Role::Client => {
                self.close_wire(s);
                self.end_client(s, Status::new(Code::Internal, format!("the peer broke the protocol: {what}")), code);
            }
        }
    }

    pub(super) fn deadline_passed(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        let own = slot.deadline.is_some_and(|at| at <= self.now);
        slot.stall = None;
        if !own {
            return if slot.has(flag::SNIPPET) { self.snippet_ends(s) } else { self.stall_passed(s) };
        }
        slot.deadline = None;
        self.stats.deadlines_passed += 1;
        if self.slots[s].has(flag::HTTP) {
            self.break_stream(s, ErrorCode::CANCEL, "the deadline passed");
        } else if self.role == Role::Client {
            self.end_client(s, Status::new(Code::DeadlineExceeded, "the deadline passed"), ErrorCode::CANCEL);
        } else if self.slots[s].has(flag::SEND_ENDED) {
            // The answer is ready, but the peer does not take it.
            let id = self.slots[s].id;
            self.queue_reset(id, ErrorCode::CANCEL);
            self.cut_short(s, Code::DeadlineExceeded);
        } else {
            self.end_early(s, Status::new(Code::DeadlineExceeded, "the deadline passed on the server"), 200);
        }
    }

    /// An answer that waits for the peer's window does so for a bounded time: a short one where the application has finished it, a long one
    /// where it has not, since a client that is slow to take messages is nothing unusual. It begins anew with progress, not with every look at it.
    pub(super) fn bound_stall(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if self.role != Role::Server || (slot.stall.is_some() && slot.stall_len > 0) {
            return;
        }
        let most = if slot.has(flag::HELD) { self.cfg.held_stall_timeout } else { self.cfg.stall_timeout };
        let until = self.now.saturating_add(most);
        slot.stall = Some(until);
        slot.unset(flag::PUT_OFF);
        slot.stall_len = PACE;
        slot.stall_sent = self.data_sent;
        self.timers.call(until);
    }

    /// Nothing is queued: an idle stream may be idle for ever.
    #[inline]
    pub(super) fn settle_stall(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if slot.stall.is_some() && slot.out.is_empty() && self.role == Role::Server {
            slot.stall = None;
        }
    }

    /// The peer lets nothing of the answer through: it will not take the rest, either.
    fn stall_passed(&mut self, s: u32) {
        if self.slots[s].has(flag::HTTP) {
            self.break_stream(s, ErrorCode::CANCEL, "the peer takes nothing of the answer");
            return;
        }
        let id = self.slots[s].id;
        self.queue_reset(id, ErrorCode::CANCEL);
        self.cut_short(s, Code::Cancelled);
    }

    /// Server: the application finished the call and let go.
    #[inline(always)]
    pub(crate) fn finished(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        slot.unset(flag::HELD | flag::OFFERED);
        slot.stall = None;
        if !slot.inbox.is_empty() || !slot.backlog.is_empty() {
            self.drop_inbox(s);
        }
        if self.slots[s].links.which != Which::Ready {
            self.schedule(s);
            if self.slots[s].links.which != Which::Ready {
                self.bound_stall(s);
            }
        }
        // Whoever has the call's id took its `Incoming` from the queue; other events of it that are queued have a flag.
        if self.slots[s].has(flag::EVENTS) {
            self.prune_events();
        }
        self.frame_finished(s);
    }

    /// Raw: when the stream is reset if it is not over.
    pub(crate) fn limit_stream(&mut self, s: u32, after: Option<Duration>) {
        let at = after.map(|after| self.now.saturating_add(after));
        self.slots[s].deadline = at;
        if let Some(at) = at {
            self.timers.call(at);
        }
    }

    /// Both sides have ended, or one that need not wait for the other.
    pub(super) fn close_if_done(&mut self, s: u32) {
        let slot = &self.slots[s];
        if slot.flags & (flag::REMOTE_END | flag::END_SENT) == flag::REMOTE_END | flag::END_SENT && !slot.has(flag::CLOSED) {
            self.close_wire(s);
        }
    }

    /// Nothing more of this stream goes over the wire.
    pub(crate) fn close_wire(&mut self, s: u32) {
        self.unlink(s);
        self.drop_out(s);
        self.drop_assembly(s);
        self.forget_credit(s);
        if self.rx_slot == s {
            self.rx_slot = NIL;
        }
        let slot = &mut self.slots[s];
        if slot.has(flag::WAITING) {
            let id = CallId { slot: s, generation: slot.generation };
            self.steps.add(self.waiting.len());
            self.waiting.retain(|waiting| *waiting != id);
        }
        slot.set(flag::CLOSED);
        if slot.id != 0 {
            self.map.remove(slot.id);
            self.open -= u32::from(slot.reset == ErrorCode::NO_ERROR || !fault!("reset_uncounted"));
        }
        self.push_writable(s);
        if !self.slots[s].has(flag::HELD) {
            self.release(s);
        }
    }

    /// Server: an answer was framed whole, the request was whole, and the application has let go, its events dropped: nothing
    /// else is left to undo.
    #[inline(always)]
    pub(super) fn close_answered(&mut self, s: u32) {
        debug_assert!(self.slots[s].links.which == Which::None && self.rx_slot != s);
        self.map.remove(self.slots[s].id);
        self.open -= 1;
        self.free(s);
    }

    /// The application lets go of a call.
    pub(crate) fn let_go(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        slot.unset(flag::HELD | flag::OFFERED);
        slot.stall = None;
        if slot.has(flag::CLOSED) {
            self.release(s);
        } else {
            if slot.links.which != Which::Ready && !slot.out.is_empty() {
                self.bound_stall(s);
            }
            self.prune_events();
        }
    }

    /// Nobody needs the slot any more.
    fn release(&mut self, s: u32) {
        self.free(s);
        self.prune_events();
    }

    /// The slot goes back. Events of it that may be queued are the caller's affair.
    // `always`: it ends each answered call.
    #[inline(always)]
    fn free(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        debug_assert!(slot.links.which == Which::None);
        if !slot.inbox.is_empty() || !slot.backlog.is_empty() {
            self.drop_inbox(s);
        }
        // What is left in the middle of a message must not be the beginning of the next user's.
        if !self.slots[s].assembly.is_empty() {
            self.drop_assembly(s);
        }
        self.slots.give_back(s);
        if self.at_capacity && self.opening_len < self.cfg.max_queued_calls {
            self.at_capacity = false;
            self.push_event(Event::Available);
        }
        if self.drain.ours || self.drain.peer_last.is_some() {
            self.close_if_idle();
        }
    }

    pub(super) fn drop_inbox(&mut self, s: u32) {
        while let Some(message) = self.slots[s].inbox.pop_front() {
            let _ = self.budget.settle(message.credit);
            self.budget.give_back(message.extra);
        }
        let slot = &mut self.slots[s];
        slot.backlog.clear();
        slot.backlog_at = 0;
        let credit = core::mem::take(&mut slot.backlog_credit);
        if !fault!("budget_leak") {
            let _ = self.budget.settle(credit);
        }
        self.feed_starved();
    }

    fn drop_assembly(&mut self, s: u32) {
        if self.slots[s].assembly.is_empty() {
            return;
        }
        if self.slots[s].has(flag::STARVED) {
            let id = self.call_id(s);
            self.steps.add(self.starved.len());
            self.starved.retain(|waiting| *waiting != id);
            self.end_watch();
        }
        let assembly = core::mem::take(&mut self.slots[s].assembly);
        let _ = self.budget.settle(assembly.credit);
        self.ahead -= assembly.reserved;
        if assembly.extra > 0 {
            self.budget.give_back(assembly.extra);
            self.feed_starved();
        }
    }

    /// Drops what was queued and not framed.
    pub(crate) fn drop_out(&mut self, s: u32) {
        self.slots[s].spilled = 0;
        while let Some(out) = self.slots[s].out.pop_front() {
            if let Out::Segment { len, .. } = out {
                self.segment.free(len);
            }
        }
        let slot = &mut self.slots[s];
        self.pressing -= slot.pressing();
        self.queued -= core::mem::take(&mut slot.out_len) * usize::from(!fault!("queued_leak"));
        self.tell_room();
    }

    // -- the connection -------------------------------------------------------------------------------------

    /// The peer broke a rule that costs the connection: GOAWAY says which (RFC 9113 §5.4.1).
    #[cold]
    pub(super) fn fail(&mut self, fatal: Fatal) {
        if matches!(self.close_reason, Some(CloseReason::Foreign { .. })) {
            self.answer_foreign();
        } else {
            self.control.clear();
            self.control.goaway(self.last_peer_id, fatal.code, fatal.what);
        }
        self.end_connection(CloseReason::Protocol { code: fatal.code, what: fatal.what });
    }

    /// A peer of another protocol gets its answer in words of its own.
    fn answer_foreign(&mut self) {
        self.control.clear();
        if self.role == Role::Client {
            return;
        }
        match self.close_reason {
            Some(CloseReason::Foreign { looks_like: "TLS", .. }) => self.outbox.extend(&TLS_ALERT),
            Some(CloseReason::Foreign { looks_like: "an HTTP/1.x request", .. }) => self.outbox.extend(HTTP1_ANSWER),
            _ => self.control.goaway(
                0,
                ErrorCode::PROTOCOL_ERROR,
                "no HTTP/2 connection preface: this port speaks gRPC (HTTP/2 with prior knowledge)",
            ),
        }
    }

    pub(super) fn close_local(&mut self) {
        if self.phase == Phase::Closed {
            return;
        }
        self.control.clear();
        if self.phase != Phase::Preface {
            self.control.goaway(self.last_peer_id, ErrorCode::NO_ERROR, "");
        }
        self.end_connection(CloseReason::Local);
    }

    /// Ends every call and goes to `Closed`. What is staged, and a GOAWAY that is due, may still go out.
    pub(super) fn end_connection(&mut self, reason: CloseReason) {
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Closed;
        self.timers.cancel_all();
        // An owner may keep a connection that is closed; not half a header block with it.
        self.block = Block::default();
        self.rx_slot = NIL;
        let reason = self.close_reason.get_or_insert(reason).clone();
        // What does not speak HTTP/2 has processed no call. (A peer whose SETTINGS did not come may have.)
        let unheard = matches!(reason, CloseReason::Foreign { .. });
        let text = format!("the connection was lost: {reason}");
        for s in self.slots.all() {
            if !self.slots[s].live {
                continue;
            }
            if self.slots[s].has(flag::HTTP) {
                if !self.slots[s].has(flag::CLOSED) {
                    self.slots[s].set(flag::PEER_RESET);
                    self.slots[s].reset = ErrorCode::CANCEL;
                    self.push_stream_readable(s);
                    self.close_wire(s);
                }
            } else if self.role == Role::Server {
                if !self.slots[s].has(flag::CLOSED) {
                    self.cut_short(s, Code::Cancelled);
                }
            } else if self.slots[s].outcome.is_none() {
                if self.slots[s].id == 0 || unheard {
                    self.slots[s].set(flag::UNPROCESSED);
                }
                self.close_wire(s);
                self.end_client(s, Status::new(Code::Unavailable, text.as_str()).with_origin(Origin::Connection), ErrorCode::NO_ERROR);
            }
        }
        self.push_event(Event::Closed);
    }

    /// A fresh stream of the peer in the slot `s`.
    #[inline(always)]
    pub(super) fn open_slot(&mut self, s: u32, id: u32) {
        self.map.insert(id, s);
        self.open += 1;
        let initial = self.cfg.initial_window;
        let slot = &mut self.slots[s];
        slot.id = id;
        slot.recv_window = Window::new(initial);
        slot.send_window = Window::new(0);
    }
}

/// What a request's head costs beside path and custom metadata, by the name + value + 32 rule: an upper bound.
const HEAD_SIZE: u64 = 700;

/// A fatal alert, protocol_version (RFC 8446 §6).
const TLS_ALERT: [u8; 7] = [21, 3, 1, 0, 2, 2, 70];
const HTTP1_ANSWER: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-type: text/plain\r\ncontent-length: 60\r\nconnection: close\r\n\r\nThis port speaks gRPC, which needs HTTP/2 (prior knowledge).";
