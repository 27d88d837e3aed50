//! Backpressure for messages sent from other threads: each takes a permit before it is queued, and the loop gives it back when
//! the core has taken the message. A slow peer so holds the sender, not memory.

use crate::mailbox::lock;
use pintle_core::{CallId, Connection, Misuse, Payload, SendError};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

/// Octets of one call's messages that may be on their way to the loop; one message may always be.
const MOST: usize = 64 << 10;
/// What a message costs beside its octets: empty ones must not be free.
pub(crate) const COST: usize = 64;

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
        let octets = octets + COST;
        let mut state = lock(&self.state);
        loop {
            if state.ended {
                return Err(NoPermit::Ended);
            }
            if state.waiting == 0 || state.waiting + octets <= MOST {
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

/// Messages of a call that the loop has and the core has not taken yet. Dropped, they tell their senders that the call is over.
#[derive(Debug, Default)]
pub(crate) struct Backlog(VecDeque<(Payload, Option<Permit>)>);

/// How far a [`Backlog`] went.
#[derive(Debug)]
pub(crate) enum Sent {
    All,
    /// The rest waits for `Event::Writable`.
    Blocked,
    /// A message cannot be sent at all: it must not go missing in silence.
    Refused(Misuse),
    /// The call is over.
    Ended,
}

impl Backlog {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn push(&mut self, payload: Payload, permit: Option<Permit>) {
        self.0.push_back((payload, permit));
    }

    /// Hands on as much as the core takes.
    pub(crate) fn send(&mut self, core: &mut Connection, id: CallId) -> Sent {
        while let Some((payload, permit)) = self.0.pop_front() {
            let Ok(mut call) = core.call(id) else { return Sent::Ended };
            match call.send(payload) {
                Ok(()) => permit.map_or((), Permit::deliver),
                Err(SendError::Blocked(payload)) => {
                    self.0.push_front((payload, permit));
                    return Sent::Blocked;
                }
                Err(SendError::Refused(_, why)) => return Sent::Refused(why),
                Err(_) => return Sent::Ended,
            }
        }
        Sent::All
    }
}
