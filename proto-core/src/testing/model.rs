//! What calls may do, without a word about HTTP/2: the reference that runs are compared with.

use super::referee::{CLIENT, SERVER};
use crate::{Code, Shape, Timestamp};
use alloc::{format, string::String, vec::Vec};

/// One call as the model sees it. Pairs are indexed by the end that sends.
#[derive(Debug, Clone)]
pub struct CallModel {
    shape: Shape,
    deadline: Option<Timestamp>,
    /// Lengths of the messages that `send` took.
    sent: [Vec<u32>; 2],
    /// How many of them the other end has received.
    received: [usize; 2],
    client_closed: bool,
    client_cancelled: bool,
    server_accepted: bool,
    server_cancelled: bool,
    /// The status that the service gave while the call was alive.
    finished: Option<Code>,
    outcome: Option<Code>,
    server_over: bool,
    /// By the end that did it: its stack reset the stream, with this error code.
    reset: [Option<u32>; 2],
}

/// A server gives up an answer that nobody takes for so long (`Config::stall_timeout`), and one whose service goes on for so long.
const STALL: u64 = 60;
const HELD_STALL: u64 = 600;

/// So many seconds have passed since a run began, at one second.
const fn passed(now: Timestamp, seconds: u64) -> bool {
    now.as_micros() >= (seconds + 1) * 1_000_000
}

/// What a client makes of RST_STREAM (PROTOCOL-HTTP2, "Errors").
const fn code_of_reset(error: u32) -> Code {
    match error {
        7 => Code::Unavailable,
        8 => Code::Cancelled,
        0xb => Code::ResourceExhausted,
        0xc => Code::PermissionDenied,
        _ => Code::Internal,
    }
}

impl CallModel {
    /// Messages that `end` has sent.
    #[must_use]
    pub const fn sent(&self, end: usize) -> usize {
        self.sent[end].len()
    }

    /// What the service said of it while it was alive.
    #[must_use]
    pub const fn finished(&self) -> Option<Code> {
        self.finished
    }

    /// When the client's side of it must be over.
    #[must_use]
    pub const fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// The call is over for `end`.
    #[must_use]
    pub const fn is_over(&self, end: usize) -> bool {
        match end {
            CLIENT => self.outcome.is_some() || self.client_cancelled,
            _ => self.server_over || self.finished.is_some() || self.server_cancelled,
        }
    }

    /// A second message from `end` breaks the method's shape.
    #[must_use]
    pub const fn sends_one(&self, end: usize) -> bool {
        match end {
            CLIENT => matches!(self.shape, Shape::Unary | Shape::ServerStreaming),
            _ => matches!(self.shape, Shape::Unary | Shape::ClientStreaming),
        }
    }
}

/// All calls of one pair.
#[derive(Debug)]
pub struct Model {
    /// By serial number.
    pub calls: Vec<CallModel>,
    /// The connection was closed, drained or lost: calls may end with UNAVAILABLE.
    pub disturbed: bool,
    /// Largest message that each end takes.
    pub largest: [u32; 2],
    /// What happened and must not, in words.
    pub faults: Vec<String>,
}

impl Default for Model {
    fn default() -> Self {
        Self { calls: Vec::new(), disturbed: false, largest: [u32::MAX; 2], faults: Vec::new() }
    }
}

impl Model {
    /// The client started a call; its serial number.
    pub fn start(&mut self, shape: Shape, deadline: Option<Timestamp>) -> usize {
        self.calls.push(CallModel {
            shape,
            deadline,
            sent: [Vec::new(), Vec::new()],
            received: [0; 2],
            client_closed: false,
            client_cancelled: false,
            server_accepted: false,
            server_cancelled: false,
            finished: None,
            outcome: None,
            server_over: false,
            reset: [None; 2],
        });
        self.calls.len() - 1
    }

    /// `send` of `end` took a message.
    pub fn sent(&mut self, end: usize, serial: usize, len: u32) {
        let call = &mut self.calls[serial];
        let second = call.sends_one(end) && !call.sent[end].is_empty();
        if second || (end == CLIENT && call.client_closed) {
            self.faults.push(format!("call {serial}: end {end} may not send another message, but send took it"));
        }
        self.calls[serial].sent[end].push(len);
    }

    /// The client closed its half.
    pub fn closed(&mut self, serial: usize) {
        self.calls[serial].client_closed = true;
    }

    /// One end cancelled.
    pub fn cancelled(&mut self, end: usize, serial: usize) {
        match end {
            CLIENT => self.calls[serial].client_cancelled = true,
            _ => self.calls[serial].server_cancelled = true,
        }
    }

    /// The stack of one end reset the stream.
    pub fn reset(&mut self, end: usize, serial: usize, error: u32) {
        self.calls[serial].reset[end].get_or_insert(error);
    }

    /// The server accepted the call.
    pub fn accepted(&mut self, serial: usize) {
        let again = core::mem::replace(&mut self.calls[serial].server_accepted, true);
        if again {
            self.faults.push(format!("call {serial} reached the service twice"));
        }
    }

    /// The service ended the call.
    pub fn finished(&mut self, serial: usize, code: Code) {
        self.calls[serial].finished = Some(code);
    }

    /// `reader` was given a message. Returns what it must be: its position and length.
    pub fn received(&mut self, reader: usize, serial: usize, len: usize) -> Option<usize> {
        let call = &mut self.calls[serial];
        let index = call.received[1 - reader];
        call.received[1 - reader] += 1;
        match call.sent[1 - reader].get(index) {
            Some(&sent) if sent as usize == len => Some(index),
            other => {
                self.faults.push(format!("call {serial}: message {index} of {len} octets at end {reader}, sent was {other:?}"));
                None
            }
        }
    }

    /// `recv` of the server answered `End`.
    pub fn server_end(&mut self, serial: usize) {
        let call = &self.calls[serial];
        let closed = call.client_closed || (call.sends_one(CLIENT) && !call.sent[CLIENT].is_empty());
        let ended = closed && call.received[CLIENT] == call.sent[CLIENT].len();
        if !ended && !call.server_over {
            self.faults.push(format!("call {serial}: the server saw the end, but the client had sent {call:?}"));
        }
    }

    /// The server was told `Finished`.
    pub fn server_over(&mut self, serial: usize, code: Code, now: Timestamp) {
        let disturbed = self.disturbed;
        let call = &mut self.calls[serial];
        call.server_over = true;
        let late = call.deadline.is_some_and(|deadline| deadline <= now);
        let explained = match code {
            Code::DeadlineExceeded => late,
            Code::Cancelled => {
                let client = call.client_cancelled || call.reset != [None; 2] || call.has_too_large(self.largest, SERVER);
                client || late || disturbed || passed(now, HELD_STALL)
            }
            Code::ResourceExhausted => call.has_too_large(self.largest, CLIENT),
            _ => false,
        };
        if !explained {
            self.faults.push(format!("call {serial}: Finished with {code:?} at {now:?} without a reason: {call:?}"));
        }
    }

    /// The client took the outcome; `unprocessed`: with the promise that no service has seen the call.
    pub fn outcome(&mut self, serial: usize, code: Code, unprocessed: bool, now: Timestamp) {
        let accepted = self.calls[serial].server_accepted;
        // A server that is made to say so after it has begun lies.
        let lied = self.calls[serial].reset[SERVER] == Some(7);
        if unprocessed && !lied && (accepted || code != Code::Unavailable) {
            self.faults.push(format!("call {serial}: unprocessed, with {code:?}, but accepted: {accepted}"));
        }
        // Refused streams are told to the application, which may repeat them.
        let disturbed = self.disturbed || unprocessed;
        let call = &mut self.calls[serial];
        if call.outcome.replace(code).is_some() {
            self.faults.push(format!("call {serial} ended twice"));
            return;
        }
        let call = &self.calls[serial];
        if !call.explains(code, now, disturbed, self.largest) {
            self.faults.push(format!("call {serial}: outcome {code:?} at {now:?} without a reason (disturbed: {disturbed}): {call:?}"));
        }
    }
}

impl CallModel {
    /// `sender` has sent a message that the other end does not take.
    fn has_too_large(&self, largest: [u32; 2], sender: usize) -> bool {
        self.sent[sender].iter().any(|&len| len > largest[1 - sender])
    }

    fn explains(&self, code: Code, now: Timestamp, disturbed: bool, largest: [u32; 2]) -> bool {
        let all_received = self.received[SERVER] == self.sent[SERVER].len();
        let late = self.deadline.is_some_and(|deadline| deadline <= now);
        let one_expected = self.sends_one(SERVER);
        let wrong_count = one_expected && self.sent[SERVER].len() != 1 && self.finished == Some(Code::Ok);
        let no_request = self.sends_one(CLIENT) && self.sent[CLIENT].is_empty() && self.client_closed;
        // What the service said counts whatever else happened, and OK comes only with every message.
        if self.finished == Some(code) {
            return code != Code::Ok || (all_received && !wrong_count);
        }
        if self.reset[SERVER].is_some_and(|error| code == code_of_reset(error)) || (self.reset[CLIENT].is_some() && code == Code::Internal)
        {
            return true;
        }
        match code {
            Code::DeadlineExceeded => late,
            Code::ResourceExhausted => self.has_too_large(largest, CLIENT) || self.has_too_large(largest, SERVER),
            // A message of the server that was cut in the middle leaves no room for the status.
            Code::Cancelled if self.has_too_large(largest, CLIENT) && !self.sent[SERVER].is_empty() => true,
            Code::Cancelled => self.server_cancelled || late || disturbed || passed(now, STALL),
            Code::Unavailable => disturbed,
            // Cardinality (statuscodes.md); both codes are in use.
            Code::Unimplemented | Code::Internal => wrong_count || no_request,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(5);

    fn model() -> Model {
        let mut model = Model::default();
        model.start(Shape::Unary, None);
        model
    }

    #[test]
    fn a_unary_call_goes_well() {
        let mut model = model();
        model.sent(CLIENT, 0, 3);
        model.closed(0);
        model.accepted(0);
        assert_eq!(model.received(SERVER, 0, 3), Some(0));
        model.server_end(0);
        model.sent(SERVER, 0, 4);
        model.finished(0, Code::Ok);
        assert_eq!(model.received(CLIENT, 0, 4), Some(0));
        model.outcome(0, Code::Ok, false, NOW);
        assert_eq!(model.faults, [""; 0]);
    }

    #[test]
    fn lies_are_seen() {
        let lies: [fn(&mut Model); 6] = [
            |model| model.outcome(0, Code::Ok, false, NOW),
            |model| model.outcome(0, Code::Unavailable, false, NOW),
            |model| model.outcome(0, Code::DeadlineExceeded, false, NOW),
            |model| _ = model.received(SERVER, 0, 1),
            |model| model.server_end(0),
            |model| model.server_over(0, Code::Cancelled, NOW),
        ];
        for (number, lie) in lies.iter().enumerate() {
            let mut model = model();
            lie(&mut model);
            assert_eq!(model.faults.len(), 1, "lie {number}");
        }
    }
}
