//! The command queue: the only way from other tasks and threads to the task that owns a connection.
//!
//! One vector under a short lock. The owner swaps it whole; senders wake the owner only when it was empty.
//! It is bounded by the number of live calls, because a call that is in the queue is not put there again (`cell`).

use crate::cell::CallCell;
use pintle_core::{Code, Metadata, Status, Timestamp, grpc::Origin};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Waker,
    time::Duration,
};

/// What the owner is asked to do.
pub enum Command {
    /// The cell in this slot has something for the owner. Idempotent: a stale slot does no harm.
    Call(u32),
    /// The inline handler in this slot was woken.
    Wake(u32),
    /// Client: start this call.
    Start(Starting),
    /// No new calls; running ones may take as long as this (`None`: as they need).
    Drain(Option<Duration>),
}

/// A call that waits for its start. Dropped on the way, with whatever held it, it ends with UNAVAILABLE.
pub struct Starting(Option<Arc<CallCell>>);

impl Starting {
    pub(crate) fn new(cell: Arc<CallCell>) -> Self {
        Self(Some(cell))
    }

    pub(crate) fn cell(&self) -> &CallCell {
        self.0.as_ref().expect("only `take` empties it, and consumes it")
    }

    /// The cell, for whoever answers for its end from now on.
    pub(crate) fn take(mut self) -> Arc<CallCell> {
        self.0.take().expect("only `take` empties it, and consumes it")
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(cell) = self.0.take() {
            cell.end(abandoned(), Metadata::new());
        }
    }
}

/// The status of calls whose connection lost its task: the runtime was shut down, or the task panicked.
pub(crate) fn abandoned() -> Status {
    Status::new(Code::Unavailable, "the connection's task is gone: its runtime was shut down, or it panicked")
        .with_origin(Origin::Connection)
}

/// See the module's head.
pub struct Queue {
    inner: Mutex<Inner>,
    /// Commands wait: lets the owner look without the lock.
    pending: AtomicBool,
    /// Handlers spawned and not polled to their first rest: the owner waits a turn for their replies before it flushes.
    runnable: AtomicUsize,
    now: fn() -> Timestamp,
}

#[derive(Default)]
struct Inner {
    commands: Vec<Command>,
    owner: Option<Waker>,
    /// Nobody serves this queue any more: calls end with this.
    dead: Option<Status>,
}

impl Queue {
    /// An empty one; `now` is the clock of its owner's runtime.
    #[must_use]
    pub fn new(now: fn() -> Timestamp) -> Arc<Self> {
        Arc::new(Self { inner: Mutex::default(), pending: AtomicBool::new(false), runnable: AtomicUsize::new(0), now })
    }

    /// An empty one by the same clock.
    pub(crate) fn another(&self) -> Arc<Self> {
        Self::new(self.now)
    }

    /// The owner's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// A handler was made runnable in a task of its own.
    pub(crate) fn handler_started(&self) {
        self.runnable.fetch_add(1, Ordering::Relaxed);
    }

    /// Such a handler has come to its first rest, or to its end.
    pub(crate) fn handler_rested(&self) {
        self.runnable.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether handlers are about to say something.
    pub(crate) fn expects_handlers(&self) -> bool {
        self.runnable.load(Ordering::Relaxed) > 0
    }

    /// Puts a command in and wakes the owner if it may sleep.
    pub fn push(&self, command: Command) {
        if let Some(owner) = self.push_quietly(command) {
            owner.wake();
        }
    }

    /// Puts a command in; the waker that comes back, if any, must be woken once no lock is held.
    #[must_use]
    #[inline]
    pub(crate) fn push_quietly(&self, command: Command) -> Option<Waker> {
        let mut inner = self.lock();
        if inner.dead.is_some() {
            return None;
        }
        inner.put(command, &self.pending)
    }

    /// Asks for a call to be started.
    ///
    /// # Errors
    /// The status to end it with: nobody serves this queue any more.
    pub(crate) fn start(&self, cell: Arc<CallCell>) -> Result<(), Status> {
        let mut inner = self.lock();
        if let Some(status) = &inner.dead {
            return Err(status.clone());
        }
        let owner = inner.put(Command::Start(Starting::new(cell)), &self.pending);
        drop(inner);
        if let Some(owner) = owner {
            owner.wake();
        }
        Ok(())
    }

    /// Owner: who to wake. To be called before [`take`](Self::take) whenever the task's waker may have changed.
    pub(crate) fn register(&self, owner: &Waker) {
        self.lock().owner = Some(owner.clone());
    }

    /// Owner: exchanges the queue for the empty `batch`. False: there was nothing.
    pub(crate) fn take(&self, batch: &mut Vec<Command>) -> bool {
        if !self.pending.load(Ordering::Acquire) {
            return false;
        }
        let mut inner = self.lock();
        self.pending.store(false, Ordering::Release);
        std::mem::swap(&mut inner.commands, batch);
        !batch.is_empty()
    }

    /// Owner: leaves for good. Later starts fail with `status` (the first one that was given); what is waiting comes back.
    pub(crate) fn die(&self, status: Status) -> Vec<Command> {
        let mut inner = self.lock();
        inner.dead.get_or_insert(status);
        inner.owner = None;
        std::mem::take(&mut inner.commands)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics halfway through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn put(&mut self, command: Command, pending: &AtomicBool) -> Option<Waker> {
        let was_empty = self.commands.is_empty();
        self.commands.push(command);
        if !was_empty {
            return None;
        }
        pending.store(true, Ordering::Release);
        self.owner.clone()
    }
}

crate::opaque!(Queue, Command, Starting);
