//! One connection of a client, and the epoll of its own that it has where it is not in somebody else's loop.

use crate::link::{Link, Socket};
use mio::{Events, Poll, Registry, Token, event::Event};
use pintle_callback::{Drive, Layer, Stack};
use pintle_core::{Config, Connection, Endpoint, Timestamp};
use pintle_net::now;
use std::{io, time::Duration};

const SCRATCH: usize = 64 << 10;
/// Reads, and writes, before the caller has its turn.
const FAIR: usize = 4;
const LINK: Token = Token(0);
/// Other threads want something.
pub(crate) const WAKE: Token = Token(1);

/// A connection and its socket.
pub(crate) struct Line {
    link: Link,
    stack: Stack,
    scratch: Box<[u8]>,
}

impl Line {
    pub(crate) fn new(socket: Socket, config: &Config, layer: Option<&Layer>, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut link = Link::new(socket);
        link.register(registry, token)?;
        let stack = Stack::new(Connection::client(config, now()), layer);
        Ok(Self { link, stack, scratch: vec![0; SCRATCH].into() })
    }

    pub(crate) fn core(&mut self) -> &mut Connection {
        self.stack.conn_mut()
    }

    /// Nothing will happen any more.
    pub(crate) fn is_over(&self) -> bool {
        self.link.is_over(&self.stack, &self.stack.wants())
    }

    pub(crate) fn ready(&mut self, event: &Event) {
        self.link.ready(event);
    }

    /// Does what is due, reads what came, writes what waits.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        if self.stack.wants().deadline.is_some_and(|at| at <= now) {
            self.stack.handle_timeout(now);
        }
        for _ in 0..FAIR {
            if !self.stack.wants().read || !self.link.fill(&mut self.stack, now, &mut self.scratch) {
                break;
            }
        }
        self.flush(now);
    }

    /// Writes what waits, as far as the socket takes it.
    pub(crate) fn flush(&mut self, now: Timestamp) {
        for _ in 0..FAIR {
            if !self.link.flush(&mut self.stack, now) {
                break;
            }
        }
    }

    /// How long nothing needs to be done.
    pub(crate) fn wait(&self, now: Timestamp) -> Option<Duration> {
        let wants = self.stack.wants();
        if self.link.has_work(&wants) {
            return Some(Duration::ZERO);
        }
        wants.deadline.map(|at| at.saturating_since(now))
    }

    fn ask_for_room(&mut self, registry: &Registry) -> io::Result<()> {
        let more = self.stack.wants().write;
        self.link.ask_for_room(registry, LINK, more)
    }

    pub(crate) fn deregister(&mut self, registry: &Registry) {
        self.link.deregister(registry);
    }
}

/// A connection with an epoll of its own: what both the shared client and the local one run on.
pub struct Driver {
    pub(crate) poll: Poll,
    events: Events,
    line: Line,
}

impl Driver {
    pub(crate) fn new(socket: Socket, config: &Config, layer: Option<&Layer>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let line = Line::new(socket, config, layer, poll.registry(), LINK)?;
        Ok(Self { poll, events: Events::with_capacity(8), line })
    }

    /// As [`Drive::turn`]. True: another thread woke it.
    pub(crate) fn turn_or_wake(&mut self, most: Option<Duration>) -> bool {
        let begin = now();
        self.line.flush(begin);
        if self.line.is_over() {
            return false;
        }
        let wait = self.line.wait(begin).into_iter().chain(most).min();
        let asked = self.line.ask_for_room(self.poll.registry());
        if let Err(e) = asked.and_then(|()| self.poll.poll(&mut self.events, wait))
            && e.kind() != io::ErrorKind::Interrupted
        {
            self.line.link.fail(&mut self.line.stack, begin);
            return false;
        }
        let mut woken = false;
        for event in &self.events {
            if event.token() == WAKE {
                woken = true;
            } else {
                self.line.ready(event);
            }
        }
        self.line.advance(now());
        woken
    }
}

impl Drive for Driver {
    fn core(&mut self) -> &mut Connection {
        self.line.core()
    }

    fn flush(&mut self) {
        self.line.flush(now());
    }

    fn turn(&mut self, most: Option<Duration>) {
        self.turn_or_wake(most);
    }

    fn is_over(&self) -> bool {
        self.line.is_over()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.line.deregister(self.poll.registry());
    }
}
