//! How other threads talk to a loop: one vector under a short lock, swapped whole by the loop; a wake only when it was empty.

use std::{
    fmt, mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A loop's letter box.
pub struct Mailbox<C> {
    queue: Mutex<Queue<C>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

struct Queue<C> {
    commands: Vec<C>,
    closed: bool,
}

impl<C> fmt::Debug for Mailbox<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mailbox")
    }
}

/// A lock whose critical sections cannot panic: poison says nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C> Mailbox<C> {
    /// An empty one. `wake` makes the loop turn and call [`swap`](Self::swap); it may be called from any thread.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { queue: Mutex::new(Queue { commands: Vec::new(), closed: false }), wake: Box::new(wake) }
    }

    /// Gives a command to the loop.
    ///
    /// # Errors
    /// The loop has ended, or `most` commands wait already: it comes back.
    pub fn post_bounded(&self, command: C, most: usize) -> Result<(), C> {
        let mut queue = lock(&self.queue);
        if queue.closed || queue.commands.len() >= most {
            return Err(command);
        }
        queue.commands.push(command);
        let first = queue.commands.len() == 1;
        drop(queue);
        if first {
            (self.wake)();
        }
        Ok(())
    }

    /// The same for commands that the number of live calls bounds. If the loop has ended, it is dropped.
    pub fn post(&self, command: C) {
        drop(self.post_bounded(command, usize::MAX));
    }

    /// The loop takes everything; `into` comes in empty, and its memory is used again.
    pub fn swap(&self, into: &mut Vec<C>) {
        mem::swap(&mut lock(&self.queue).commands, into);
    }

    /// The loop ends: nothing is taken any more. What waited comes back.
    pub fn close(&self) -> Vec<C> {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        mem::take(&mut queue.commands)
    }

    /// The loop has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        lock(&self.queue).closed
    }
}
