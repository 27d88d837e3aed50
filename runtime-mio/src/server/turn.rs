//! One loop of a server: one thread, one epoll, its connections.

use super::{
    Setup,
    app::App,
    peer::{Command, Conn, Peer},
};
use crate::{
    link::{IntoSocket, Link, Socket, Stack},
    mailbox::Mailbox,
    slab::Slab,
    timers::Timers,
};
use mio::{Events, Interest, Poll, Token, Waker, net::TcpListener, net::UnixListener};
use pintle_core::{Connection, Endpoint, Routes, Timestamp};
use pintle_net::{AcceptError, Listener, SocketFile, accept_error, now};
use std::{io, mem, sync::Arc, time::Duration};

/// Shared by all connections of a loop.
const SCRATCH: usize = 256 << 10;
/// Reads, and writes, of one connection before others have their turn.
const FAIR: usize = 4;
/// Connections accepted from one listener before others have their turn.
const ACCEPTS: usize = 64;
const WAKE: Token = Token(usize::MAX);
/// Listeners count down from here; connections up from 0.
const LISTENERS: usize = usize::MAX - 1;

pub(crate) struct Loop {
    poll: Poll,
    home: Arc<Mailbox<Command>>,
    setup: Arc<Setup>,
    app: App,
    routes: Routes,
    listeners: Vec<Accepting>,
    conns: Slab<Box<Conn>>,
    /// Connections to visit this turn: only these cost anything.
    dirty: Vec<u32>,
    /// The memory of the last turn's list.
    spare: Vec<u32>,
    timers: Timers,
    scratch: Box<[u8]>,
    now: Timestamp,
    /// It ends then, or as soon as no connection is left.
    drain: Option<Timestamp>,
    /// Connections that this loop may have.
    limit: usize,
}

struct Accepting {
    listener: Kind,
    /// More may be waiting: no edge will say so again.
    pending: bool,
    /// Not before then.
    pause: Option<Timestamp>,
    failures: u32,
}

enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener, #[expect(dead_code, reason = "removes the file when it is dropped")] SocketFile),
}

impl Loop {
    pub(crate) fn new(setup: Arc<Setup>, app: App, routes: Routes, limit: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let home = Arc::new(Mailbox::new(Waker::new(poll.registry(), WAKE)?));
        Ok(Self {
            poll,
            home,
            setup,
            app,
            routes,
            listeners: Vec::new(),
            conns: Slab::new(),
            dirty: Vec::new(),
            spare: Vec::new(),
            timers: Timers::default(),
            scratch: vec![0; SCRATCH].into(),
            now: now(),
            drain: None,
            limit,
        })
    }

    pub(crate) fn home(&self) -> &Arc<Mailbox<Command>> {
        &self.home
    }

    pub(crate) fn listen(&mut self, listener: Listener) -> io::Result<()> {
        let token = Token(LISTENERS - self.listeners.len());
        let mut listener = match listener {
            Listener::Tcp(listener) => Kind::Tcp(TcpListener::from_std(listener)),
            Listener::Unix(listener, file) => Kind::Unix(UnixListener::from_std(listener), file),
        };
        match &mut listener {
            Kind::Tcp(listener) => self.poll.registry().register(listener, token, Interest::READABLE)?,
            Kind::Unix(listener, _) => self.poll.registry().register(listener, token, Interest::READABLE)?,
        }
        self.listeners.push(Accepting { listener, pending: true, pause: None, failures: 0 });
        Ok(())
    }

    /// Takes a connection over.
    pub(crate) fn adopt(&mut self, socket: Socket, peer: Peer) -> io::Result<()> {
        let core = Connection::server(&self.setup.config, self.routes.clone(), self.now);
        let link = Link::new(socket, Stack::new(core, self.setup.layer.as_ref()));
        let (home, now) = (Arc::clone(&self.home), self.now);
        let key = self.conns.insert(|key| Box::new(Conn::new(link, key, home, peer, now)));
        let conn = self.conns.at(key.slot).expect("it was just put there");
        if let Err(e) = conn.link.register(self.poll.registry(), Token(key.slot as usize)) {
            self.conns.remove(key.slot);
            return Err(e);
        }
        mark(&mut self.dirty, conn);
        Ok(())
    }

    /// Runs until it was drained; without listeners, until its connections are done.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1_024);
        let mut commands = Vec::new();
        let endless = !self.listeners.is_empty();
        let result = loop {
            if self.conns.len() == 0 && (self.drain.is_some() || !endless) {
                break Ok(());
            }
            if let Err(e) = self.poll.poll(&mut events, self.wait())
                && e.kind() != io::ErrorKind::Interrupted
            {
                break Err(e);
            }
            self.now = now();
            for event in &events {
                match event.token() {
                    WAKE => self.home.swap(&mut commands),
                    Token(at) => match self.conns.at(u32::try_from(at).unwrap_or(u32::MAX)) {
                        Some(conn) => {
                            conn.link.ready(event);
                            mark(&mut self.dirty, conn);
                        }
                        None => self.listeners.get_mut(LISTENERS.wrapping_sub(at)).map_or((), |found| found.pending = true),
                    },
                }
            }
            commands.drain(..).for_each(|command| self.execute(command));
            self.accept();
            self.expire();
            self.visit();
        };
        self.home.close();
        result
    }

    /// How long nothing needs to be done.
    fn wait(&self) -> Option<Duration> {
        if !self.dirty.is_empty() {
            return Some(Duration::ZERO);
        }
        let room = self.conns.len() < self.limit;
        let accepts = self.listeners.iter().filter(|at| at.pending && room).map(|at| at.pause.unwrap_or(self.now));
        let next = accepts.chain(self.timers.next()).chain(self.drain).min()?;
        // The clock has gone on since the turn began; asking it again costs more than a turn that comes to nothing.
        Some(next.saturating_since(self.now))
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Call { key, call, act } => {
                let Some(conn) = self.conns.get(key) else { return };
                let late = conn.act(call, act);
                mark(&mut self.dirty, conn);
                if let Some((callback, code)) = late {
                    callback(code);
                }
            }
            Command::Drain { grace } => {
                let end = self.now.saturating_add(grace);
                self.drain = Some(self.drain.map_or(end, |before| before.min(end)));
                // What waits in their queues is refused by the system, at once, and can go elsewhere.
                self.listeners.clear();
                for slot in self.conns.slots() {
                    if let Some(conn) = self.conns.at(slot) {
                        conn.core().drain(self.now, Some(grace));
                        mark(&mut self.dirty, conn);
                    }
                }
            }
        }
    }

    fn accept(&mut self) {
        for at in 0..self.listeners.len() {
            for _ in 0..ACCEPTS {
                let found = &mut self.listeners[at];
                if !found.pending || self.conns.len() >= self.limit || found.pause.is_some_and(|until| until > self.now) {
                    break;
                }
                found.pause = None;
                match found.accept() {
                    // A connection that is gone by now ends nothing but itself.
                    Ok((socket, peer)) => {
                        found.failures = 0;
                        let _ = socket.and_then(|socket| self.adopt(socket, peer));
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => found.pending = false,
                    Err(e) => found.failed(&e, self.now),
                }
            }
        }
    }

    fn expire(&mut self) {
        while let Some((at, slot)) = self.timers.pop_due(self.now) {
            let Some(conn) = self.conns.at(slot).filter(|conn| conn.due == Some(at)) else { continue };
            conn.due = None;
            conn.link.stack.handle_timeout(self.now);
            mark(&mut self.dirty, conn);
        }
        if self.drain.is_some_and(|end| end <= self.now) {
            for slot in self.conns.slots() {
                if let Some(conn) = self.conns.at(slot) {
                    conn.link.fail(self.now);
                    mark(&mut self.dirty, conn);
                }
            }
        }
    }

    fn visit(&mut self) {
        let mut turn = mem::replace(&mut self.dirty, mem::take(&mut self.spare));
        for slot in turn.drain(..) {
            let Some(mut conn) = self.conns.take(slot) else { continue };
            conn.dirty = false;
            conn.now = self.now;
            let (mut conn, alive) = self.serve(conn);
            if alive {
                self.conns.put(slot, conn);
            } else {
                conn.link.deregister(self.poll.registry());
                self.conns.remove(slot);
            }
        }
        self.spare = turn;
        let conns = &mut self.conns;
        self.timers.compact(conns.len(), |at, slot| conns.at(slot).is_some_and(|conn| conn.due == Some(at)));
    }

    /// One connection's share of a turn. False: it is done.
    fn serve(&mut self, mut conn: Box<Conn>) -> (Box<Conn>, bool) {
        if let Some(until) = conn.closing {
            let alive = until > self.now && !conn.link.linger(&mut self.scratch);
            return (self.settle(conn), alive);
        }
        for _ in 0..FAIR {
            let more = conn.link.fill(self.now, &mut self.scratch);
            conn = self.app.dispatch(conn);
            if !more {
                break;
            }
        }
        for _ in 0..FAIR {
            if !conn.link.flush(self.now) {
                break;
            }
            conn = self.app.dispatch(conn);
        }
        if conn.link.is_over() {
            // A write that failed ended calls: their handlers want to know.
            conn = self.app.dispatch(conn);
            conn.closing = conn.link.begin_close(self.now);
            if conn.closing.is_none() {
                return (conn, false);
            }
        }
        (self.settle(conn), true)
    }

    /// What it waits for.
    fn settle(&mut self, mut conn: Box<Conn>) -> Box<Conn> {
        let (work, deadline) = match conn.closing {
            Some(until) => (conn.link.readable, Some(until)),
            None => {
                let wants = conn.link.stack.wants();
                (conn.link.has_work(&wants), wants.deadline)
            }
        };
        if work {
            mark(&mut self.dirty, &mut conn);
        }
        if let Some(at) = deadline.filter(|at| conn.due.is_none_or(|due| *at < due)) {
            conn.due = Some(at);
            self.timers.push(at, conn.key.slot);
        }
        conn
    }
}

fn mark(dirty: &mut Vec<u32>, conn: &mut Conn) {
    if !mem::replace(&mut conn.dirty, true) {
        dirty.push(conn.key.slot);
    }
}

impl Accepting {
    /// The next connection. The inner error: it was lost already.
    fn accept(&mut self) -> io::Result<(io::Result<Socket>, Peer)> {
        match &self.listener {
            Kind::Tcp(listener) => listener.accept().map(|(stream, peer)| (stream.into_socket(), Peer::Tcp(peer))),
            Kind::Unix(listener, _) => listener.accept().map(|(stream, _)| (stream.into_socket(), Peer::Unix)),
        }
    }

    fn failed(&mut self, error: &io::Error, now: Timestamp) {
        match accept_error(error, self.failures) {
            AcceptError::Retry => {}
            AcceptError::BackOff(pause) => {
                self.failures = self.failures.saturating_add(1);
                self.pause = Some(now.saturating_add(pause));
            }
            // Not even this ends the server: others may listen, and connections go on.
            AcceptError::Fatal => self.pending = false,
        }
    }
}
