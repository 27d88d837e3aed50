//! One connection and one epoll: what both clients have in common.

use crate::link::{Link, Socket};
use mio::{Events, Poll, Token};
use pintle_callback::{Layer, Stack};
use pintle_core::{Config, Connection, Endpoint, Timestamp};
use pintle_net::now;
use std::{io, time::Duration};

const SCRATCH: usize = 64 << 10;
/// Reads, and writes, before the caller has its turn.
const FAIR: usize = 4;
const LINK: Token = Token(0);
/// Other threads want something.
pub(crate) const WAKE: Token = Token(1);

pub(crate) struct Driver {
    pub(crate) poll: Poll,
    events: Events,
    link: Link,
    stack: Stack,
    scratch: Box<[u8]>,
}

impl Driver {
    pub(crate) fn new(socket: Socket, config: &Config, layer: Option<&Layer>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut link = Link::new(socket);
        link.register(poll.registry(), LINK)?;
        let stack = Stack::new(Connection::client(config, now()), layer);
        Ok(Self { poll, events: Events::with_capacity(8), link, stack, scratch: vec![0; SCRATCH].into() })
    }

    pub(crate) fn core(&mut self) -> &mut Connection {
        self.stack.conn_mut()
    }

    /// The connection is over: nothing will happen any more.
    pub(crate) fn is_over(&self) -> bool {
        self.link.is_over(&self.stack, &self.stack.wants())
    }

    /// Writes what waits, sleeps until something happens (at most so long), reads what came. True: another thread woke it.
    pub(crate) fn turn(&mut self, most: Option<Duration>) -> bool {
        let begin = now();
        self.flush(begin);
        if self.is_over() {
            return false;
        }
        let wait = self.wait(begin, most);
        if let Err(e) = self.poll.poll(&mut self.events, wait)
            && e.kind() != io::ErrorKind::Interrupted
        {
            self.link.fail(&mut self.stack, begin);
            return false;
        }
        let now = now();
        let mut woken = false;
        for event in &self.events {
            if event.token() == WAKE {
                woken = true;
            } else {
                self.link.ready(event);
            }
        }
        if self.stack.wants().deadline.is_some_and(|at| at <= now) {
            self.stack.handle_timeout(now);
        }
        for _ in 0..FAIR {
            if !self.stack.wants().read || !self.link.fill(&mut self.stack, now, &mut self.scratch) {
                break;
            }
        }
        self.flush(now);
        woken
    }

    /// Writes what waits, as far as the socket takes it.
    pub(crate) fn flush(&mut self, now: Timestamp) {
        for _ in 0..FAIR {
            if !self.link.flush(&mut self.stack, now) {
                break;
            }
        }
    }

    fn wait(&self, now: Timestamp, most: Option<Duration>) -> Option<Duration> {
        let wants = self.stack.wants();
        if self.link.has_work(&wants) {
            return Some(Duration::ZERO);
        }
        let due = wants.deadline.map(|at| at.saturating_since(now));
        due.into_iter().chain(most).min()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.link.deregister(self.poll.registry());
    }
}
