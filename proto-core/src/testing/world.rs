//! Carries out operations on a pair and compares what happens with the model.

mod acts;
mod rest;

use acts::Acts;

use super::{
    echo::{self, METHODS, pattern, shape_number},
    link::LinkConfig,
    model::Model,
    ops::{Op, Setting},
    pair::{Pair, Step},
    places::{Place, Places},
    referee::{CLIENT, SERVER},
    rng::{Rng, mix},
};
use crate::{CallId, CallOptions, Code, Config, Event, Metadata, Payload, Recv, RequestHead, SendError, Shape, StartError, Status, Token};
use alloc::{collections::VecDeque, format, string::String, vec::Vec};
use bytes::Bytes;
use core::time::Duration;

/// Most calls in one run.
const MOST_CALLS: usize = 40;
/// Most octets of messages in one run.
const MOST_OCTETS: u64 = 3 << 20;
/// Most frames slipped in: far below what the abuse budget takes.
const MOST_SLIPS: u32 = 30;

/// One end's view of one call.
#[derive(Debug, Clone, Copy, Default)]
struct Half {
    id: Option<CallId>,
    /// `send` answered `Blocked` and no `Writable` came since.
    blocked: bool,
    /// `recv` may answer more than `Pending`: an event said so, or it was never asked.
    readable: bool,
    /// `recv` answered `End`.
    ended: bool,
    /// Server: `Finished` came.
    over: bool,
}

/// A pair, the calls on it, and the model.
#[derive(Debug)]
pub struct World {
    /// The two connections.
    pub pair: Pair,
    /// What should be so.
    pub model: Model,
    configs: [Config; 2],
    calls: Vec<[Half; 2]>,
    incoming: VecDeque<CallId>,
    stale: Vec<(usize, CallId)>,
    octets: u64,
    slips: u32,
    slipped: Vec<(usize, Setting)>,
    /// PINGs slipped to the server: it minds them.
    pings: u32,
    acts: Acts,
    broken: Vec<String>,
}

impl World {
    /// A configuration with limits that a run can reach.
    #[must_use]
    pub fn config(rng: &mut Rng) -> Config {
        let mut config = Config::default();
        config.max_concurrent_streams = rng.pick(&[100, 100, 3, 1]);
        config.initial_window = rng.pick(&[65_535, 65_535, 128 << 10, 1 << 20]);
        config.connection_window = rng.pick(&[65_535, 100_000, 1 << 20]);
        config.max_frame = rng.pick(&[16_384, 16_384, 40_000]);
        config.header_table = rng.pick(&[4_096, 4_096, 400]);
        config.encoder_table = rng.pick(&[4_096, 4_096, 0]);
        config.send_buffer = rng.pick(&[64 << 10, 1_000]);
        // Large enough for metadata that needs CONTINUATION.
        config.max_header_list = 64 << 10;
        config.recv_budget = u64::from(config.max_concurrent_streams) * u64::from(config.initial_window) + (4 << 20);
        config
    }

    /// The same, with limits that are unusual.
    #[must_use]
    pub fn wide_config(rng: &mut Rng) -> Config {
        let mut config = Self::config(rng);
        config.initial_window = rng.pick(&[config.initial_window, config.initial_window, config.initial_window, 30_000, 1_024]);
        config.max_recv_message = rng.pick(&[4 << 20, 4 << 20, 4 << 20, 100_000]);
        config.connection_send_buffer = rng.pick(&[1 << 20, 1 << 20, 20_000, 20_000]);
        config.max_queued_calls = rng.pick(&[10_000, 10_000, 10_000, 2]);
        config.recv_budget = u64::from(config.max_concurrent_streams) * u64::from(config.initial_window) + (4 << 20);
        config
    }

    /// Two fresh connections of unusual configurations over any link.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let link = LinkConfig::random(&mut rng);
        let configs = [Self::wide_config(&mut rng), Self::wide_config(&mut rng)];
        Self::new(configs, link, rng.next_u64())
    }

    /// Two fresh connections.
    #[must_use]
    pub fn new(configs: [Config; 2], link: LinkConfig, seed: u64) -> Self {
        let largest = [configs[CLIENT].max_recv_message, configs[SERVER].max_recv_message];
        Self {
            pair: Pair::new([&configs[CLIENT], &configs[SERVER]], echo::routes(), link, seed),
            model: Model { largest, ..Model::default() },
            configs,
            calls: Vec::new(),
            incoming: VecDeque::new(),
            stale: Vec::new(),
            octets: 0,
            slips: 0,
            slipped: Vec::new(),
            pings: 0,
            acts: Acts::default(),
            broken: Vec::new(),
        }
    }

    /// Everything found wrong so far, by the model, the referee, the pair and this interpreter.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.model.faults.iter().chain(&self.broken).cloned().chain(self.pair.violations()).collect()
    }

    /// What has not ended, in words.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = self.pair.summary();
        for (serial, halves) in self.calls.iter().enumerate().filter(|(_, halves)| halves.iter().any(|half| half.id.is_some())) {
            text += &format!("call {serial}: {halves:?}\n  {:?}\n", self.model.calls[serial]);
        }
        text + &self.faults().join("\n")
    }

    /// The situations seen.
    #[must_use]
    pub fn places(&self) -> Places {
        self.pair.places()
    }

    /// Calls started.
    #[must_use]
    pub const fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Carries out one operation, takes the events, and looks at the bounds.
    pub fn apply(&mut self, op: Op) {
        if let Some(place) = op.place() {
            self.pair.hit(place);
        }
        match op {
            Op::Start { .. } if self.calls.len() >= MOST_CALLS => {}
            Op::Start { shape, metadata, deadline_ms } => self.start(shape, metadata, deadline_ms),
            Op::Send { end, call, len } => self.on_call(end, call, |world, serial, id| world.send(end, serial, id, len)),
            Op::Burst { end, call, n, len } => {
                self.on_call(end, call, |world, serial, id| (0..n).for_each(|_| world.send(end, serial, id, len)))
            }
            Op::Recv { end, call, most } => self.on_call(end, call, |world, serial, id| world.recv(end, serial, id, usize::from(most))),
            Op::Demand { end, call, n } => self.on_call(end, call, |world, _, id| {
                if let Ok(mut view) = world.pair.conn(end).call(id) {
                    view.demand(u32::from(n));
                }
            }),
            Op::CloseSend { call } => self.on_call(CLIENT, call, |world, serial, id| world.close_send(serial, id)),
            Op::Accept => self.accept(),
            Op::Headers { call, flush } => self.on_call(SERVER, call, |world, _, id| {
                if let Ok(mut view) = world.pair.server().call(id) {
                    // Too late is an answer, not a fault.
                    let _ = view.send_headers(&metadata(1, 0), flush);
                }
            }),
            Op::Finish { call, code } => self.on_call(SERVER, call, |world, serial, id| world.finish(serial, id, code)),
            Op::Cancel { end, call } => self.on_call(end, call, |world, serial, id| world.cancel(end, serial, id)),
            Op::Step { n } => self.steps(usize::from(n)),
            Op::Advance { ms } => {
                let time = Duration::from_millis(u64::from(ms));
                let end = self.pair.now().saturating_add(time);
                self.pair.settle(time);
                self.pair.advance_to(end);
            }
            Op::Stall { end, ms } => {
                let now = self.pair.now();
                self.pair.link().from(end).stall(now, Duration::from_millis(u64::from(ms)));
            }
            Op::Slip { end, setting, value } => self.slip(end, setting, value),
            Op::Noise { end, kind } => self.noise(end, kind),
            Op::Stale { end } => self.touch_stale(end),
            Op::Jump { call, to } => self.jump(call, to),
            Op::Reset { end, call, error } => self.on_call(end, call, |world, serial, id| world.reset(end, serial, id, error)),
            Op::Fail { end, error } => {
                if self.pair.conn(end).break_connection(error) {
                    self.disturb(end);
                    self.acts.failed[end] = Some(error);
                    self.pair.referee.excuses[end].failed = true;
                }
            }
            Op::CutHalf { end } => {
                self.cut();
                self.pair.link().from(end).close();
            }
            Op::Lose => {
                self.cut();
                self.pair.link().lose();
            }
            Op::Drain { end, ms } => {
                self.disturb(end);
                self.pair.hit(Place::DrainedWithCalls);
                let limit = (ms > 0).then(|| Duration::from_millis(u64::from(ms)));
                let now = self.pair.now();
                self.pair.referee.excuses[end].drained.get_or_insert(now);
                self.pair.conn(end).drain(now, limit);
            }
            Op::Close { end } => {
                self.disturb(end);
                let now = self.pair.now();
                self.pair.conn(end).close(now);
            }
            Op::Cut => {
                self.cut();
                self.pair.hit(Place::ClosedMidCall);
                self.pair.link().close();
            }
        }
        self.events();
        self.check_bounds();
    }

    fn on_call(&mut self, end: usize, call: u8, work: impl FnOnce(&mut Self, usize, CallId)) {
        if self.calls.is_empty() {
            return;
        }
        let serial = usize::from(call) % self.calls.len();
        if let Some(id) = self.calls[serial][end].id {
            work(self, serial, id);
        }
    }

    fn steps(&mut self, n: usize) {
        for _ in 0..n {
            // Not as far as the timeouts that end calls or connections: those have operations of their own.
            if self.pair.step_within(Duration::from_millis(200)) == Step::Idle {
                return;
            }
            self.events();
        }
    }

    fn start(&mut self, shape: Shape, kind: u8, deadline_ms: u16) {
        let serial = self.calls.len();
        let now = self.pair.now();
        let deadline = (deadline_ms > 0).then(|| now.saturating_add(Duration::from_millis(u64::from(deadline_ms))));
        let mut metadata = metadata(kind, serial);
        metadata.append("x-call", &format!("{serial}")).expect("a valid field");
        let path = Bytes::from_static(METHODS[shape_number(shape)].0.as_bytes());
        let head = RequestHead::new(path, shape).with_metadata(&metadata);
        let options = CallOptions::default().deadline(deadline).token(Token(serial as u64));
        match self.pair.client().start(now, head, options) {
            Ok(id) => {
                self.model.start(shape, deadline);
                self.calls.push([Half { id: Some(id), readable: true, ..Half::default() }, Half::default()]);
            }
            Err(StartError::Draining | StartError::Closed) if self.model.disturbed => {}
            Err(StartError::AtCapacity) if self.pair.probe(CLIENT).queued_calls >= self.configs[CLIENT].max_queued_calls => {}
            Err(error) => self.broken.push(format!("start: {error:?}")),
        }
    }

    fn accept(&mut self) {
        let Some(id) = self.incoming.pop_front() else { return };
        let Some(accepted) = self.pair.server().accept(id, Token(u64::MAX)) else { return };
        let Ok(mut view) = self.pair.server().call(id) else {
            self.broken.push(format!("accept gave {accepted:?}, but call({id:?}) knows nothing"));
            return;
        };
        let serial = view.metadata().get("x-call").and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
        view.set_token(Token(serial as u64));
        let fits = METHODS.get(accepted.route.map_or(4, |route| route.index())).is_some_and(|method| method.1 == accepted.shape);
        let Some(halves) = self.calls.get_mut(serial).filter(|_| fits) else {
            self.broken.push(format!("call {serial} was never started like this: {accepted:?}"));
            return;
        };
        halves[SERVER] = Half { id: Some(id), readable: true, ..Half::default() };
        self.model.accepted(serial);
    }

    fn send(&mut self, end: usize, serial: usize, id: CallId, len: u32) {
        let half = self.calls[serial][end];
        if half.blocked || self.octets + u64::from(len) > MOST_OCTETS {
            return;
        }
        let index = self.model.calls[serial].sent(end);
        let payload = pattern(message_seed(serial, end, index), len as usize);
        let Ok(mut view) = self.pair.conn(end).call(id) else { return };
        let result = match index % 3 {
            0 => view.send_with(payload.len(), |buffer| buffer.extend_from_slice(&payload)),
            _ => view.send(in_pieces(payload, index)).map_err(without_payload),
        };
        match result {
            Ok(()) => {
                self.octets += u64::from(len);
                self.model.sent(end, serial, len);
                if len == 0 {
                    self.pair.hit(Place::EmptyMessage);
                }
                if len > self.configs[1 - end].max_recv_message {
                    self.pair.hit(Place::MessageTooLarge);
                }
                if len > self.configs[1 - end].initial_window {
                    self.pair.hit(Place::MessageAboveWindow);
                }
            }
            Err(SendError::Blocked(())) => {
                self.calls[serial][end].blocked = true;
                self.pair.hit(Place::SendBlocked);
            }
            // The half is closed, the call is over, or the method allows one message only.
            Err(_) => {}
        }
    }

    fn recv(&mut self, end: usize, serial: usize, id: CallId, most: usize) {
        for _ in 0..most {
            if self.calls[serial][end].ended {
                return;
            }
            let Ok(mut view) = self.pair.conn(end).call(id) else { return };
            let got = view.recv();
            if !matches!(got, Recv::Pending) && !self.calls[serial][end].readable {
                self.broken.push(format!("call {serial}, end {end}: recv answered {got:?} without an event"));
            }
            match got {
                Recv::Message(message) => self.check_message(end, serial, message.payload.into_bytes()),
                Recv::Pending => {
                    self.calls[serial][end].readable = false;
                    return;
                }
                Recv::End if end == SERVER => {
                    // The call may have been cut short by what was behind the last message; an event says so.
                    self.events();
                    self.calls[serial][SERVER].ended = true;
                    self.model.server_end(serial);
                }
                Recv::End => self.take_outcome(serial, id),
            }
        }
    }

    fn check_message(&mut self, end: usize, serial: usize, payload: Bytes) {
        let Some(index) = self.model.received(end, serial, payload.len()) else { return };
        if payload != pattern(message_seed(serial, 1 - end, index), payload.len()) {
            self.broken.push(format!("call {serial}: message {index} at end {end} has other octets than were sent"));
        }
    }

    fn take_outcome(&mut self, serial: usize, id: CallId) {
        let now = self.pair.now();
        let Some(outcome) = self.pair.client().call(id).ok().and_then(|view| view.take_outcome()) else {
            self.broken.push(format!("call {serial}: recv answered End, but there is no outcome"));
            return;
        };
        let code = outcome.status.code();
        self.pair.transcript.note(format_args!("call {serial} ended {code:?} {}", outcome.status.message()));
        if code == Code::DeadlineExceeded {
            self.pair.hit(Place::DeadlinePassed);
        }
        self.model.outcome(serial, code, outcome.unprocessed, now);
        self.release(CLIENT, serial, id);
    }

    /// The id is stale from now on.
    fn release(&mut self, end: usize, serial: usize, id: CallId) {
        self.calls[serial][end] = Half { ended: true, ..Half::default() };
        self.stale.push((end, id));
    }

    fn close_send(&mut self, serial: usize, id: CallId) {
        if let Ok(mut view) = self.pair.client().call(id)
            && view.close_send().is_ok()
        {
            self.model.closed(serial);
            // It sends no more, so it waits for nothing.
            self.calls[serial][CLIENT].blocked = false;
        }
    }

    fn finish(&mut self, serial: usize, id: CallId, code: Code) {
        let Ok(view) = self.pair.server().call(id) else { return };
        let mut trailers = Metadata::new();
        trailers.append("x-served", &format!("{serial}")).expect("a valid field");
        view.finish(&Status::new(code, "as told"), Some(&trailers));
        if !self.calls[serial][SERVER].over {
            self.model.finished(serial, code);
        }
        self.release(SERVER, serial, id);
    }

    fn cancel(&mut self, end: usize, serial: usize, id: CallId) {
        if end == CLIENT && !self.on_wire(id) {
            self.pair.hit(Place::CancelledBeforeWire);
        }
        let Ok(view) = self.pair.conn(end).call(id) else { return };
        view.cancel();
        self.model.cancelled(end, serial);
        self.release(end, serial, id);
    }

    fn on_wire(&self, id: CallId) -> bool {
        self.pair.probe(CLIENT).streams.iter().any(|stream| stream.call == Some(id))
    }

    fn touch_stale(&mut self, end: usize) {
        for &(owner, id) in &self.stale {
            if owner == end && self.pair.conn(end).call(id).is_ok() {
                self.broken.push(format!("end {end}: a released id answers: {id:?}"));
            }
            if owner == end && end == SERVER && self.pair.server().accept(id, Token(0)).is_some() {
                self.broken.push(format!("a released id was accepted again: {id:?}"));
            }
        }
    }

    /// Takes every event of both ends.
    fn events(&mut self) {
        for end in [CLIENT, SERVER] {
            // The events of its calls come ahead of its own.
            if self.pair.conn(end).close_reason().is_some() && !core::mem::replace(&mut self.acts.over[end], true) {
                self.closed(end);
            }
            while let Some(event) = self.pair.poll_event(end) {
                self.on_event(end, event);
            }
        }
    }

    fn on_event(&mut self, end: usize, event: Event) {
        match event {
            Event::Incoming { call } => self.incoming.push_back(call),
            Event::Readable { call, token } => {
                if let Some(half) = self.half(end, call, token) {
                    half.readable = true;
                }
            }
            Event::Writable { call, token } => {
                let woken = self.half(end, call, token).is_some_and(|half| core::mem::take(&mut half.blocked));
                if woken {
                    self.pair.hit(Place::WritableAfterBlocked);
                }
            }
            Event::Finished { call, token, code } => {
                let now = self.pair.now();
                if let Some(half) = self.half(end, call, token) {
                    half.over = true;
                    half.readable = true;
                    half.blocked = false;
                    self.model.server_over(token.0 as usize, code, now);
                }
            }
            Event::Headers { .. } | Event::Available => {}
            Event::Closed if self.acts.over[end] => {}
            Event::Draining if self.model.disturbed || self.is_late() => {}
            other => self.broken.push(format!("end {end}: {other:?} out of nothing")),
        }
    }

    fn half(&mut self, end: usize, call: CallId, token: Token) -> Option<&mut Half> {
        let half = self.calls.get_mut(token.0 as usize).map(|halves| &mut halves[end]).filter(|half| half.id == Some(call));
        if half.is_none() {
            self.broken.push(format!("end {end}: an event for {call:?} with {token:?}, which is not running"));
        }
        half
    }
}

fn without_payload(error: SendError<Payload>) -> SendError<()> {
    match error {
        SendError::Blocked(_) => SendError::Blocked(()),
        SendError::Refused(_, misuse) => SendError::Refused((), misuse),
        _ => SendError::Ended(()),
    }
}

/// A payload in one run or two: what is sent must not depend on it.
fn in_pieces(octets: Bytes, index: usize) -> Payload {
    let middle = if index % 3 == 1 { 0 } else { octets.len() / 3 };
    let mut payload = Payload::new();
    for piece in [octets.slice(..middle), octets.slice(middle..)] {
        if !piece.is_empty() {
            payload.push(piece);
        }
    }
    payload
}

const fn message_seed(serial: usize, end: usize, index: usize) -> u64 {
    mix((serial as u64) << 33 | (end as u64) << 32 | index as u64)
}

fn metadata(kind: u8, serial: usize) -> Metadata {
    let mut metadata = Metadata::new();
    let mut add = |key: &str, value: &str| metadata.append(key, value).expect("a valid field");
    match kind {
        0 => {}
        1 => add("x-tenant", "the same in every call"),
        2 => add(&format!("x-own-{serial}"), &format!("{:0>200}", serial)),
        // 31 KB: less than the peer's SETTINGS_MAX_HEADER_LIST_SIZE, but more than a frame holds, Huffman coding or not.
        _ => (0..20).for_each(|n| add(&format!("x-large-{n}"), &format!("{serial}{}", "0123456789abcdef".repeat(94)))),
    }
    metadata
}
