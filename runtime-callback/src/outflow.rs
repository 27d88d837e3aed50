//! Backpressure for messages sent from other threads: each takes a permit before it is queued, and the loop gives it back when
//! the core has taken the message. A slow peer so holds the sender, not memory.

use crate::mailbox::lock;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Octets of one call's messages that may be on their way to the loop; one message may always be.
pub(crate) const MOST: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Outflow {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    ended: bool,
}

/// Why there is no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPermit {
    Full,
    Ended,
}

impl Outflow {
    /// Takes a permit for a message of so many octets; waits for room if `wait`.
    pub(crate) fn permit(self: &Arc<Self>, octets: usize, wait: bool) -> Result<Permit, NoPermit> {
        let mut state = lock(&self.state);
        loop {
            if state.ended {
                return Err(NoPermit::Ended);
            }
            if state.waiting == 0 || state.waiting + octets <= MOST {
                // An empty message still occupies the queue.
                let octets = octets.max(1);
                state.waiting += octets;
                return Ok(Permit { flow: Arc::clone(self), octets, delivered: false });
            }
            if !wait {
                return Err(NoPermit::Full);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until nothing is on its way. `false`: the call has ended.
    pub(crate) fn wait_idle(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.ended && state.waiting > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.ended
    }

    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.state).waiting == 0
    }

    /// The call is over: whoever waits is told.
    pub(crate) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }
}

/// The right of one message to be on its way. Dropped undelivered (the call or the loop is gone), it ends the flow.
#[derive(Debug)]
pub(crate) struct Permit {
    flow: Arc<Outflow>,
    octets: usize,
    delivered: bool,
}

impl Permit {
    /// The core has taken the message.
    pub(crate) fn deliver(mut self) {
        self.delivered = true;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = lock(&self.flow.state);
        state.waiting -= self.octets;
        state.ended |= !self.delivered;
        drop(state);
        self.flow.changed.notify_all();
    }
}
