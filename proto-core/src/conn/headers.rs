//! Header blocks in: requests, responses, trailers. Every block is decoded to its end, whoever it is for:
//! the table is the connection's (RFC 9113 §4.3).

use super::{Connection, Fatal, Role, Timer};
use crate::{
    Code, Event, Metadata, RouteId, Shape, Status, StreamId,
    error::ErrorCode,
    grpc::head::{Encoding, HeadLimits, RequestCollector, RequestFields, RequestVerdict, ResponseCollector, ResponseFields},
    hpack::DecodeError,
    shape::{Cardinality, recv::RecvState, send::SendState},
    store::NIL,
    stream::{Ending, flag},
};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;
use h2_frame::{Continuation, Head, Headers};

/// Gaps in a client's stream ids that are remembered.
const SKIPPED: usize = 16;
/// Blocks up to this are remembered.
const MEMO_BLOCK: usize = 256;
/// How long the beginning of an error page is waited for: the status is known without it.
const PAGE: Duration = Duration::from_secs(1);
/// Octets of an error page that a status may quote.
const SNIPPET: usize = 1_024;
/// Fields up to this are remembered with their block.
const MEMO_FIELDS: usize = 1_024;

/// A block that did not end with its first frame.
#[derive(Debug, Default)]
pub(crate) struct Block {
    stream: u32,
    end_stream: bool,
    octets: Vec<u8>,
    continuations: u32,
}

/// What a call needs of its head beside the route.
#[derive(Debug, Clone, Copy)]
struct Begin {
    timeout_micros: Option<u64>,
    content_length: Option<u64>,
}

impl Begin {
    const fn of(fields: &RequestFields) -> Self {
        Self { timeout_micros: fields.timeout_micros, content_length: fields.content_length }
    }
}

/// Heads that are remembered.
const MEMOS: usize = 4;

/// Heads of calls seen before: the same octets against the same table mean the same fields.
#[derive(Debug, Default)]
pub(crate) struct RequestMemo {
    /// At most `MEMOS`; none before the first call, since many connections wait for one.
    entries: Vec<Remembered>,
    last: usize,
    /// Heads remembered so far.
    count: u64,
}

#[derive(Debug)]
struct Remembered {
    /// Of all that were ever remembered here; not 0.
    number: u64,
    generation: u32,
    block: Vec<u8>,
    route: RouteId,
    shape: Shape,
    begin: Begin,
    metadata: Vec<u8>,
    extra: Vec<u8>,
}

impl RequestMemo {
    #[inline]
    fn find(&mut self, generation: u32, block: &[u8]) -> Option<&Remembered> {
        let is = |r: &Remembered| r.generation == generation && r.block == block;
        if !self.entries.get(self.last).is_some_and(is) {
            self.last = self.entries.iter().position(is)?;
        }
        self.entries.get(self.last)
    }

    fn keep(&mut self, mut remembered: Remembered) {
        self.count += 1;
        remembered.number = self.count;
        if self.entries.len() < MEMOS {
            self.last = self.entries.len();
            self.entries.reserve_exact(1);
            self.entries.push(remembered);
        } else {
            self.last = (self.last + 1) % MEMOS;
            self.entries[self.last] = remembered;
        }
    }
}

impl Connection {
    #[inline]
    pub(super) fn on_headers(&mut self, headers: Headers<'_>) -> Result<(), Fatal> {
        if headers.end_headers {
            return self.block_ends(headers.stream, headers.end_stream, headers.fragment);
        }
        self.block.stream = headers.stream;
        self.block.end_stream = headers.end_stream;
        self.block.continuations = 0;
        self.block.octets.clear();
        self.steps.octets(headers.fragment.len());
        self.block.octets.extend_from_slice(headers.fragment);
        self.timers.set(Timer::HeaderBlock, self.now.saturating_add(self.cfg.header_block_timeout));
        self.bound_block(0)
    }

    pub(super) fn on_continuation(&mut self, continuation: Continuation<'_>) -> Result<(), Fatal> {
        self.block.continuations += 1;
        self.bound_block(continuation.fragment.len())?;
        self.steps.octets(continuation.fragment.len());
        self.block.octets.extend_from_slice(continuation.fragment);
        if !continuation.end_headers {
            return Ok(());
        }
        self.timers.cancel(Timer::HeaderBlock);
        let octets = core::mem::take(&mut self.block.octets);
        let result = self.block_ends(self.block.stream, self.block.end_stream, &octets);
        if octets.capacity() <= self.cfg.max_frame as usize {
            self.block.octets = octets;
        }
        result
    }

    /// Octets of a block or a list beyond which not only its call ends but the connection (attacks X11, X22).
    #[inline]
    const fn most_of_a_block(&self) -> u32 {
        self.cfg.limits.header_list_excess.saturating_mul(self.cfg.max_header_list)
    }

    /// A frame that is by itself more than its block may be.
    #[inline]
    pub(super) fn bound_block_frame(&mut self, head: Head) -> Result<(), Fatal> {
        if head.len > self.most_of_a_block() {
            return Err(self.excess(head.stream, "header_block_too_large"));
        }
        Ok(())
    }

    /// The block with `more` octets to come is not more than it may be.
    fn bound_block(&mut self, more: usize) -> Result<(), Fatal> {
        let frames = self.cfg.limits.continuations.max(self.cfg.max_header_list.div_ceil(self.cfg.max_frame) + 4);
        if self.block.continuations > frames {
            return Err(self.excess(self.block.stream, "too_many_continuations"));
        }
        if self.block.octets.len() + more > self.most_of_a_block() as usize {
            return Err(self.excess(self.block.stream, "header_block_too_large"));
        }
        Ok(())
    }

    /// The GOAWAY must name the stream, or a client would repeat the request for ever (cases B09).
    fn excess(&mut self, id: u32, what: &'static str) -> Fatal {
        // A Last-Stream-ID must not grow, though (RFC 9113 §6.8), nor name a stream that a client cannot have.
        if self.role == Role::Server && id & 1 == 1 && !self.after_goaway(id) {
            self.last_peer_id = self.last_peer_id.max(id);
            self.highest_peer_id = self.highest_peer_id.max(id);
        }
        Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, what)
    }

    #[inline]
    fn block_ends(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<(), Fatal> {
        match (self.role, self.map.get(id)) {
            // The ordinary request takes the next id.
            (Role::Server, None) if id & 1 == 1 && matches!(id.wrapping_sub(self.highest_peer_id), 1 | 2) && self.takes_calls(id) => {
                self.request_in_order(id, end_stream, block)
            }
            (Role::Server, None) => self.request_begins(id, end_stream, block),
            (Role::Server, Some(s)) => self.request_trailers(s, end_stream, block),
            (Role::Client, Some(s)) => self.response_block(s, end_stream, block),
            (Role::Client, None) if self.is_idle_id(id) => Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "HEADERS on an idle stream")),
            (Role::Client, None) => self.block_for_nobody(block),
        }
    }

    fn limits(&self) -> HeadLimits {
        HeadLimits { list_size: self.cfg.max_header_list, fields: self.cfg.max_header_fields, most: self.most_of_a_block() }
    }

    /// A block of no use.
    #[cold]
    fn block_for_nobody(&mut self, block: &[u8]) -> Result<(), Fatal> {
        self.decode_for_nobody(block)?;
        self.guard.useless(self.now)
    }

    /// For the table's sake.
    #[cold]
    fn decode_for_nobody(&mut self, block: &[u8]) -> Result<(), Fatal> {
        let (mut a, mut b) = (Metadata::new(), Metadata::new());
        let limits = HeadLimits { list_size: 0, fields: 0, ..self.limits() };
        let result = match self.role {
            Role::Server => self.decoder.decode(block, &mut RequestCollector::new(&self.routes, &mut a, &mut b, limits)),
            Role::Client => self.decoder.decode(block, &mut ResponseCollector::new(&mut a, &mut b, limits)),
        };
        result.map_err(bad_block)
    }

    // -- server ---------------------------------------------------------------------------------------------

    fn request_begins(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<(), Fatal> {
        if id & 1 == 0 {
            return Err(Fatal::new(ErrorCode::PROTOCOL_ERROR, "a client opened a stream with an even id"));
        }
        if self.after_goaway(id) {
            // Ignored, whatever it is, but the table must stay right and the id is idle no more.
            self.highest_peer_id = self.highest_peer_id.max(id);
            return self.block_for_nobody(block);
        }
        if id <= self.highest_peer_id {
            self.block_for_nobody(block)?;
            if self.control.was_cut_off(id) {
                return Ok(());
            }
            return Err(self.late_headers(id));
        }
        if id - self.highest_peer_id > 2 {
            self.note_skipped(id);
        }
        if self.takes_calls(id) {
            return self.request_in_order(id, end_stream, block);
        }
        self.highest_peer_id = id;
        self.last_peer_id = id;
        self.decode_for_nobody(if fault!("refused_not_decoded") { &[] } else { block })?;
        self.stats.refused += 1;
        self.guard.reset(self.now)?;
        self.queue_reset(id, ErrorCode::REFUSED_STREAM);
        Ok(())
    }

    /// A stream that the peer opens now becomes a call.
    #[inline]
    fn takes_calls(&self, id: u32) -> bool {
        self.slots.len() < self.cfg.max_concurrent_streams as usize && !self.after_goaway(id)
    }

    // `always`: the head of every request; all but the memo is elsewhere.
    #[inline(always)]
    fn request_in_order(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<(), Fatal> {
        self.highest_peer_id = id;
        self.last_peer_id = id;
        let s = self.slots.take();
        if let Some(seen) = self.memo.find(self.decoder.generation(), block) {
            let slot = &mut self.slots[s];
            if !seen.metadata.is_empty() {
                slot.metadata.push_records(&seen.metadata);
            }
            if slot.extra_of != seen.number {
                slot.extra.clear();
                slot.extra.push_records(&seen.extra);
                slot.extra_of = seen.number;
            }
            let (route, begin) = ((seen.route, seen.shape), seen.begin);
            self.request_opens(s, id, end_stream);
            if end_stream && begin.content_length.is_some_and(|octets| octets > 0) {
                return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, BODY_MISSING);
            }
            self.call_begins(s, Some(route), begin, end_stream);
            return Ok(());
        }
        self.request_unseen(s, id, end_stream, block)
    }

    fn request_unseen(&mut self, s: u32, id: u32, end_stream: bool, block: &[u8]) -> Result<(), Fatal> {
        let fields = match self.decode_request(s, block) {
            Ok(fields) => fields,
            Err(fatal) => {
                self.slots.give_back(s);
                return Err(fatal);
            }
        };
        self.request_opens(s, id, end_stream);
        if end_stream && fields.content_length.is_some_and(|octets| octets > 0) && fields.malformed.is_none() {
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, BODY_MISSING);
        }
        self.request_head(s, &fields, end_stream)
    }

    /// HEADERS on a stream that is closed, or that was never used and cannot be any more (RFC 9113 §5.1, §5.1.1).
    #[cold]
    fn late_headers(&self, id: u32) -> Fatal {
        if self.skipped.iter().any(|gap| gap.contains(&id)) {
            return Fatal::new(ErrorCode::PROTOCOL_ERROR, "a stream id lower than one that was used");
        }
        Fatal::new(ErrorCode::STREAM_CLOSED, "HEADERS on a closed stream")
    }

    /// The client left out the ids below this one. The latest gaps are enough: what was skipped long ago counts as closed.
    #[cold]
    fn note_skipped(&mut self, id: u32) {
        if self.skipped.len() == SKIPPED {
            self.skipped.remove(0);
        }
        self.skipped.push(self.highest_peer_id + 1..id);
    }

    #[inline(always)]
    fn request_opens(&mut self, s: u32, id: u32, end_stream: bool) {
        self.open_slot(s, id);
        self.guard.stream_opened();
        if end_stream {
            self.slots[s].set(flag::REMOTE_END);
        }
    }

    fn decode_request(&mut self, s: u32, block: &[u8]) -> Result<RequestFields, Fatal> {
        let (limits, before) = (self.limits(), self.decoder.generation());
        let slot = &mut self.slots[s];
        slot.extra.clear();
        slot.extra_of = 0;
        let mut collector = RequestCollector::new(&self.routes, &mut slot.metadata, &mut slot.extra, limits);
        self.decoder.decode(block, &mut collector).map_err(bad_block)?;
        let fields = collector.finish();
        if fields.list_size > self.most_of_a_block() {
            return Err(Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, "header_list_too_large"));
        }
        let slot = &self.slots[s];
        let neutral = before == self.decoder.generation();
        if let RequestVerdict::Call(route) = fields.verdict()
            && neutral
            && block.len() <= MEMO_BLOCK
            && slot.metadata.records().len() + slot.extra.records().len() <= MEMO_FIELDS
        {
            self.memo.keep(Remembered {
                number: 0,
                generation: before,
                block: block.to_vec(),
                route,
                shape: self.routes.shape(route),
                begin: Begin::of(&fields),
                metadata: slot.metadata.records().to_vec(),
                extra: slot.extra.records().to_vec(),
            });
        }
        Ok(fields)
    }

    #[inline]
    fn request_head(&mut self, s: u32, fields: &RequestFields, end_stream: bool) -> Result<(), Fatal> {
        match fields.verdict() {
            RequestVerdict::Call(route) => {
                self.call_begins(s, Some((route, self.routes.shape(route))), Begin::of(fields), end_stream);
            }
            RequestVerdict::UnknownMethod if self.cfg.accept_unknown_methods => self.call_begins(s, None, Begin::of(fields), end_stream),
            RequestVerdict::UnknownMethod => {
                let path = self.slots[s].extra.find(b":path").unwrap_or_default();
                let status =
                    Status::new(Code::Unimplemented, alloc::format!("unknown method {}", alloc::string::String::from_utf8_lossy(path)));
                self.end_early(s, status, 200);
            }
            RequestVerdict::NotGrpc { .. } if self.cfg.accept_http => self.http_begins(s, fields),
            RequestVerdict::NotGrpc { http, code, text } | RequestVerdict::Refuse { http, code, text } => {
                self.refuse_request(s, http, code, text)
            }
            RequestVerdict::Malformed(what) => {
                self.guard.reset(self.now)?;
                self.break_stream(s, ErrorCode::PROTOCOL_ERROR, what);
            }
        }
        Ok(())
    }

    fn refuse_request(&mut self, s: u32, http: u16, code: Code, text: &'static str) {
        if http == 405 {
            self.slots[s].out_head.push_raw(b"allow", b"POST");
        }
        if code == Code::Unimplemented {
            self.slots[s].out_head.push_raw(b"grpc-accept-encoding", b"identity");
        }
        self.end_early(s, Status::new(code, text), http);
    }

    #[inline(always)]
    fn call_begins(&mut self, s: u32, route: Option<(RouteId, Shape)>, begin: Begin, end_stream: bool) {
        self.stats.calls += 1;
        let (route, shape) = route.map_or((NIL, Shape::Bidi), |(route, shape)| (route.0, shape));
        let slot = &mut self.slots[s];
        slot.route = route;
        slot.shape = shape;
        slot.receive = RecvState::new(shape.request());
        slot.sent = SendState::new(shape.response());
        slot.content_length = begin.content_length;
        // A method that takes one message asks for it by itself: the application sees the call when it is whole.
        slot.demand = u32::from(shape.request() == Cardinality::One);
        if let Some(micros) = begin.timeout_micros {
            let at = self.now.saturating_add(Duration::from_micros(micros));
            slot.deadline = Some(at);
            if micros == 0 {
                self.deadline_passed(s);
                return;
            }
            self.timers.call(at);
        }
        if shape.request() == Cardinality::Many {
            self.offer(s);
        }
        if end_stream {
            self.request_ends(s);
        }
    }

    fn http_begins(&mut self, s: u32, fields: &RequestFields) {
        self.stats.http_requests += 1;
        let slot = &mut self.slots[s];
        slot.set(flag::HTTP | flag::OFFERED | flag::HELD);
        slot.content_length = fields.content_length;
        let stream = StreamId { slot: s, generation: slot.generation };
        self.push_event(Event::IncomingHttp { stream });
    }

    /// Answers a raw request as a gRPC server answers what is not gRPC.
    pub(crate) fn refuse_http(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        if !slot.has(flag::CLOSED | flag::SEND_ENDED | flag::HEAD_SENT | flag::HEAD_DUE) {
            let post = slot.extra.find(b":method").is_none();
            slot.unset(flag::HTTP);
            let (http, code, text) = if post {
                (415, Code::InvalidArgument, "this is a gRPC server: content-type must be application/grpc")
            } else {
                (405, Code::Internal, "this is a gRPC server: the method must be POST")
            };
            slot.sent = SendState::Open;
            slot.unset(flag::HELD | flag::OFFERED);
            self.prune_events();
            self.refuse_request(s, http, code, text);
            return;
        }
        self.let_go(s);
    }

    #[cold]
    fn request_trailers(&mut self, s: u32, end_stream: bool, block: &[u8]) -> Result<(), Fatal> {
        let (limits, mut extra) = (self.limits(), Metadata::new());
        let slot = &mut self.slots[s];
        let mut collector = RequestCollector::new(&self.routes, &mut slot.trailers, &mut extra, limits);
        self.decoder.decode(block, &mut collector).map_err(bad_block)?;
        let fields = collector.finish_trailers();
        if fields.list_size > limits.most {
            return Err(Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, "header_list_too_large"));
        }
        let id = slot.id;
        if slot.has(flag::REMOTE_END) {
            return self.stream_error(id, ErrorCode::STREAM_CLOSED, "HEADERS after END_STREAM");
        }
        if !end_stream {
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, "trailers without END_STREAM");
        }
        if let Some(what) = fields.malformed {
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, what);
        }
        self.remote_ends(s)
    }

    // -- client ---------------------------------------------------------------------------------------------

    fn response_block(&mut self, s: u32, end_stream: bool, block: &[u8]) -> Result<(), Fatal> {
        let limits = self.limits();
        let slot = &mut self.slots[s];
        let trailers = slot.has(flag::HEAD_RECEIVED);
        if trailers {
            slot.extra.clear();
        }
        let into = if trailers { &mut slot.trailers } else { &mut slot.metadata };
        let mut collector = ResponseCollector::new(into, &mut slot.extra, limits);
        self.decoder.decode(block, &mut collector).map_err(bad_block)?;
        let fields = if trailers { collector.finish_trailers() } else { collector.finish() };
        if fields.list_size > self.most_of_a_block() {
            return Err(Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, "header_list_too_large"));
        }
        if let Some(what) = self.response_fault(s, &fields, end_stream, trailers) {
            let id = self.slots[s].id;
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, what);
        }
        if fields.over_limit {
            if end_stream {
                self.slots[s].set(flag::REMOTE_END);
            }
            let status = Status::new(Code::ResourceExhausted, "the response's metadata is larger than our limit");
            self.end_client(s, status, ErrorCode::CANCEL);
            return Ok(());
        }
        if !trailers && fields.informational() {
            let slot = &mut self.slots[s];
            slot.metadata.clear();
            slot.extra.clear();
            return self.guard.useless(self.now);
        }
        if end_stream {
            self.response_ends(s, &fields, trailers);
        } else {
            self.response_begins(s, &fields);
        }
        Ok(())
    }

    /// What makes a response malformed (RFC 9113 §8.1.1).
    fn response_fault(&self, s: u32, fields: &ResponseFields, end_stream: bool, trailers: bool) -> Option<&'static str> {
        if fields.malformed.is_some() {
            return fields.malformed;
        }
        if trailers && !end_stream {
            return Some("trailers without END_STREAM");
        }
        if !trailers && fields.informational() && end_stream {
            return Some("an informational response with END_STREAM");
        }
        let missing = if trailers { self.slots[s].content_length } else { fields.content_length };
        if end_stream && missing.is_some_and(|octets| octets > 0) {
            return Some(BODY_MISSING);
        }
        None
    }

    fn response_begins(&mut self, s: u32, fields: &ResponseFields) {
        let slot = &mut self.slots[s];
        slot.set(flag::HEAD_RECEIVED);
        slot.content_length = fields.content_length;
        slot.http_status = fields.http_status.unwrap_or_default();
        // A gRPC content-type means messages and trailers, whatever `:status` says (cases B44).
        if !fields.is_grpc() {
            let status = fields.status(&slot.extra);
            slot.ending = Some(Box::new(Ending { status, trailers: Metadata::new(), http_status: 0 }));
            slot.set(flag::SNIPPET);
            let until = self.now.saturating_add(PAGE);
            slot.stall = Some(until);
            self.timers.call(until);
        } else if fields.encoding == Encoding::Other {
            let status = Status::new(Code::Internal, "the response is compressed by a coding that we did not offer");
            self.end_client(s, status, ErrorCode::CANCEL);
        } else {
            self.push_headers(s);
        }
    }

    /// Octets of a body that is not gRPC: an error page, of which the status quotes the beginning (cases B60).
    pub(super) fn snippet_goes_on(&mut self, s: u32, octets: &[u8]) {
        let page = &mut self.slots[s].backlog;
        page.extend_from_slice(&octets[..octets.len().min(SNIPPET - page.len())]);
        if page.len() == SNIPPET {
            self.snippet_ends(s);
        }
    }

    pub(super) fn snippet_ends(&mut self, s: u32) {
        let slot = &mut self.slots[s];
        let page = core::mem::take(&mut slot.backlog);
        if let Some(ending) = slot.ending.take() {
            self.end_client(s, ending.status.with_snippet(&page), ErrorCode::CANCEL);
        }
    }

    /// The last block of a response: trailers, or Trailers-Only, whose metadata is trailing metadata.
    fn response_ends(&mut self, s: u32, fields: &ResponseFields, trailers: bool) {
        self.forget_credit(s);
        let slot = &mut self.slots[s];
        slot.set(flag::REMOTE_END);
        if !trailers {
            core::mem::swap(&mut slot.metadata, &mut slot.trailers);
        }
        if slot.has(flag::SNIPPET) {
            return self.snippet_ends(s);
        }
        let odd = trailers && slot.http_status != 200 && fields.grpc_status.is_none();
        let status = if odd { Status::from_http(slot.http_status) } else { fields.status(&slot.extra) };
        self.end_client(s, status, ErrorCode::NO_ERROR);
    }
}

/// RFC 9113 §8.1.1.
const BODY_MISSING: &str = "less DATA than content-length says";

#[cold]
fn bad_block(error: DecodeError) -> Fatal {
    if error == DecodeError::Enough {
        return Fatal::new(ErrorCode::ENHANCE_YOUR_CALM, "header_list_too_large");
    }
    Fatal::new(ErrorCode::COMPRESSION_ERROR, "a header block does not decode")
}
