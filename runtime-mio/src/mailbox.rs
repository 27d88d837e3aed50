//! How other threads talk to a loop: one vector under a short lock, swapped whole by the loop; a wake only when it was empty.

use mio::Waker;
use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

#[derive(Debug)]
pub(crate) struct Mailbox<C> {
    queue: Mutex<Queue<C>>,
    waker: Waker,
}

#[derive(Debug)]
struct Queue<C> {
    commands: Vec<C>,
    closed: bool,
}

/// A lock whose critical sections cannot panic: poison says nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C> Mailbox<C> {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { queue: Mutex::new(Queue { commands: Vec::new(), closed: false }), waker }
    }

    /// Gives a command to the loop. `Err`: the loop has ended, or `most` commands wait already.
    pub(crate) fn post_bounded(&self, command: C, most: usize) -> Result<(), C> {
        let mut queue = lock(&self.queue);
        if queue.closed || queue.commands.len() >= most {
            return Err(command);
        }
        queue.commands.push(command);
        let first = queue.commands.len() == 1;
        drop(queue);
        if first {
            // It fails only when the loop's epoll is gone, and then the queue is about to be closed.
            let _ = self.waker.wake();
        }
        Ok(())
    }

    /// The same for commands that the number of live calls bounds. What comes back is dropped: the loop has ended.
    pub(crate) fn post(&self, command: C) {
        let refused = self.post_bounded(command, usize::MAX);
        drop(refused);
    }

    /// The loop takes everything; `into` comes in empty and its memory is reused.
    pub(crate) fn swap(&self, into: &mut Vec<C>) {
        mem::swap(&mut lock(&self.queue).commands, into);
    }

    /// The loop ends: nothing is taken any more, what waited is dropped.
    pub(crate) fn close(&self) {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        let commands = mem::take(&mut queue.commands);
        drop(queue);
        drop(commands);
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.queue).closed
    }
}
