//! A loop with an epoll of its own, on a thread that does nothing else.

use super::{ServeError, Setup, ShutdownHandle, turn::Loop};
use crate::{link::Socket, tokens::Tokens};
use mio::{Events, Poll, Token, Waker};
use pintle_net::{Listener, Peer};
use std::{io, sync::Arc};

pub(crate) struct OwnLoop {
    poll: Poll,
    inner: Loop,
}

impl OwnLoop {
    /// To be made on the thread that runs it.
    pub(crate) fn start(setup: Arc<Setup>, listeners: Vec<Listener>, control: &ShutdownHandle) -> Result<Self, ServeError> {
        let poll = Poll::new()?;
        let tokens = Tokens::ALL;
        let waker = Waker::new(poll.registry(), Token(tokens.last))?;
        // Waking fails only when the loop's epoll is gone, and then so is the loop.
        let wake = move || drop(waker.wake());
        let inner = super::start(setup, listeners, control, poll.registry().try_clone()?, tokens, wake)?;
        Ok(Self { poll, inner })
    }

    /// Takes a connection over.
    pub(crate) fn adopt(&mut self, socket: Socket, peer: Peer) -> io::Result<()> {
        self.inner.adopt(socket, peer)
    }

    /// Runs until it was drained; without listeners, until its connections are done.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1_024);
        while !self.inner.is_over() {
            // The clock has gone on since the turn began; asking it again costs more than a turn that comes to nothing.
            let wait = self.inner.wait(self.inner.now());
            if let Err(e) = self.poll.poll(&mut events, wait)
                && e.kind() != io::ErrorKind::Interrupted
            {
                return Err(e);
            }
            for event in &events {
                self.inner.ready(event);
            }
            self.inner.turn();
        }
        Ok(())
    }
}
