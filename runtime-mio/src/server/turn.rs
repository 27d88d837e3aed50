//! One loop of a server: one thread, its connections, and an epoll that may be somebody else's.

use super::Setup;
use crate::{
    link::{IntoSocket, Link, Socket},
    slab::{Key, Slab},
    timers::Timers,
    tokens::Tokens,
};
use mio::{Interest, Registry, Token, event::Event, net::TcpListener, net::UnixListener, net::UnixStream};
use pintle_callback::{Command, Mailbox, Place, Services, Session, Stack};
use pintle_core::{Connection, Endpoint, Timestamp, Wants};
use pintle_net::{AcceptError, Credentials, Listener, Peer, SocketFile, accept_error, now};
use std::{
    io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Shared by all connections of a loop.
const SCRATCH: usize = 256 << 10;
/// Reads, and writes, of one connection before others have their turn.
const FAIR: usize = 4;
/// Connections accepted from one listener before others have their turn.
const ACCEPTS: usize = 64;
/// How long listeners rest while the server has as many connections as it may have.
const FULL: Duration = Duration::from_millis(50);

pub(crate) struct Loop {
    registry: Registry,
    /// Connections count up from the first; the last is to wake it with, and from there listeners count down.
    tokens: Tokens,
    mailbox: Arc<Mailbox<Command>>,
    /// There may be something in it.
    woken: bool,
    /// The memory of its other half.
    commands: Vec<Command>,
    setup: Arc<Setup>,
    services: Services,
    listeners: Vec<Accepting>,
    /// A listener may have more.
    accepting: bool,
    conns: Slab<Conn>,
    /// Connections to visit this turn: only these cost anything.
    dirty: Vec<u32>,
    /// The memory of the last turn's list.
    spare: Vec<u32>,
    timers: Timers,
    scratch: Box<[u8]>,
    now: Timestamp,
    /// It ends then, or as soon as no connection is left.
    drain: Option<Timestamp>,
}

/// A connection. Its session is out while it is served.
struct Conn {
    key: Key,
    link: Link,
    session: Option<Box<Session>>,
    /// What the core said when it was last asked.
    wants: Wants,
    /// It is in the list of connections to visit.
    dirty: bool,
    /// Its earliest entry in the heap of deadlines.
    due: Option<Timestamp>,
    /// It has said goodbye and waits until then for the peer to do so.
    closing: Option<Timestamp>,
    /// Counts it while it lives.
    _seat: Seat,
}

/// One of the connections that a server may have, over all its loops: the kernel does not spread them evenly.
struct Seat(Arc<Setup>);

impl Seat {
    fn take(setup: &Arc<Setup>) -> Option<Self> {
        let more = |taken| (taken < setup.max_connections).then_some(taken + 1);
        setup.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Self(Arc::clone(setup)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
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
    /// A loop whose events come from `registry` with these tokens; `wake` makes one with the last of them.
    pub(crate) fn new(
        setup: Arc<Setup>,
        services: Services,
        registry: Registry,
        tokens: Tokens,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            registry,
            tokens,
            mailbox: Arc::new(Mailbox::new(wake)),
            woken: false,
            commands: Vec::new(),
            setup,
            services,
            listeners: Vec::new(),
            accepting: false,
            conns: Slab::new(),
            dirty: Vec::new(),
            spare: Vec::new(),
            timers: Timers::default(),
            scratch: vec![0; SCRATCH].into(),
            now: now(),
            drain: None,
        }
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox<Command>> {
        &self.mailbox
    }

    pub(crate) fn listen(&mut self, listener: Listener) -> io::Result<()> {
        let token = Token(self.tokens.last - 1 - self.listeners.len());
        let mut listener = match listener {
            Listener::Tcp(listener) => Kind::Tcp(TcpListener::from_std(listener)),
            Listener::Unix(listener, file) => Kind::Unix(UnixListener::from_std(listener), file),
        };
        match &mut listener {
            Kind::Tcp(listener) => self.registry.register(listener, token, Interest::READABLE)?,
            Kind::Unix(listener, _) => self.registry.register(listener, token, Interest::READABLE)?,
        }
        self.listeners.push(Accepting { listener, pending: true, pause: None, failures: 0 });
        self.accepting = true;
        Ok(())
    }

    /// Takes a connection over.
    pub(crate) fn adopt(&mut self, socket: Socket, peer: Peer) -> io::Result<()> {
        let seat = Seat::take(&self.setup).ok_or_else(|| io::Error::other("the server has as many connections as it may have"))?;
        self.seat(socket, peer, seat)
    }

    fn seat(&mut self, socket: Socket, peer: Peer, seat: Seat) -> io::Result<()> {
        let core = Connection::server(&self.setup.config, self.services.routes().clone(), self.now);
        let stack = Stack::new(core, self.setup.layer.as_ref());
        let (mailbox, wants) = (Arc::clone(&self.mailbox), stack.wants());
        let key = self.conns.insert(|key| {
            let place = Arc::new(Place { mailbox, key: key.number(), peer });
            let session = Some(Box::new(Session::new(stack, place)));
            Conn { key, link: Link::new(socket), session, wants, dirty: false, due: None, closing: None, _seat: seat }
        });
        let conn = self.conns.at(key.slot).expect("it was just put there");
        if let Err(e) = conn.link.register(&self.registry, Token(self.tokens.first + key.slot as usize)) {
            self.conns.remove(key.slot);
            return Err(e);
        }
        mark(&mut self.dirty, conn);
        Ok(())
    }

    /// Nobody is connected any more, and nobody will be: it was drained, or never listened.
    pub(crate) fn is_over(&self) -> bool {
        self.conns.len() == 0 && (self.drain.is_some() || self.listeners.is_empty())
    }

    /// Notes what happened, for the next turn.
    #[inline]
    pub(crate) fn ready(&mut self, event: &Event) {
        let Token(at) = event.token();
        let slot = at.wrapping_sub(self.tokens.first);
        if let Some(conn) = u32::try_from(slot).ok().and_then(|slot| self.conns.at(slot)) {
            conn.link.ready(event);
            mark(&mut self.dirty, conn);
        } else if at == self.tokens.last {
            self.woken = true;
        } else if let Some(listener) = self.listeners.get_mut((self.tokens.last - 1).wrapping_sub(at)) {
            listener.pending = true;
            self.accepting = true;
        }
    }

    /// Does what there is to do.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.now = now();
        if mem::take(&mut self.woken) {
            let mut commands = mem::take(&mut self.commands);
            self.mailbox.swap(&mut commands);
            commands.drain(..).for_each(|command| self.execute(command));
            self.commands = commands;
        }
        if self.accepting {
            self.accept();
        }
        self.expire();
        self.visit();
    }

    /// When the last turn began.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// How long nothing needs to be done.
    pub(crate) fn wait(&mut self, now: Timestamp) -> Option<Duration> {
        if !self.dirty.is_empty() {
            return Some(Duration::ZERO);
        }
        let conns = &mut self.conns;
        let mut next = self.timers.next(|at, slot| conns.at(slot).is_some_and(|conn| conn.due == Some(at)));
        if self.accepting || self.drain.is_some() {
            let accepts = self.listeners.iter().filter(|at| at.pending).map(|at| at.pause.unwrap_or(self.now));
            let end = self.drain.filter(|_| self.conns.len() > 0);
            next = accepts.chain(next).chain(end).min();
        }
        next.map(|at| at.saturating_since(now))
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Call { key, order } => {
                let Some(conn) = self.conns.find(key).and_then(|slot| self.conns.at(slot)) else { return };
                if let Some(session) = conn.session.take() {
                    conn.session = Some(self.services.execute(session, order));
                }
                mark(&mut self.dirty, conn);
            }
            Command::Drain { grace } => {
                let end = self.now.saturating_add(grace);
                self.drain = Some(self.drain.map_or(end, |before| before.min(end)));
                // What waits in their queues is refused by the system, at once, and can go elsewhere.
                self.listeners.clear();
                let now = self.now;
                self.each(|_, session| session.core().drain(now, Some(grace)));
            }
        }
    }

    /// Does the same to every connection, and visits them all.
    fn each(&mut self, act: impl Fn(&mut Link, &mut Session)) {
        for slot in self.conns.slots() {
            if let Some(conn) = self.conns.at(slot) {
                if let Some(session) = &mut conn.session {
                    act(&mut conn.link, session);
                }
                mark(&mut self.dirty, conn);
            }
        }
    }

    fn accept(&mut self) {
        for at in 0..self.listeners.len() {
            for _ in 0..ACCEPTS {
                let found = &mut self.listeners[at];
                if !found.pending || found.pause.is_some_and(|until| until > self.now) {
                    break;
                }
                let Some(seat) = Seat::take(&self.setup) else {
                    // One may get free in another loop, which will not say so.
                    found.pause = Some(self.now.saturating_add(FULL));
                    break;
                };
                found.pause = None;
                match found.accept() {
                    // A connection that is gone by now ends nothing but itself.
                    Ok((socket, peer)) => {
                        found.failures = 0;
                        let _ = socket.and_then(|socket| self.seat(socket, peer, seat));
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => found.pending = false,
                    Err(e) => found.failed(&e, self.now),
                }
            }
        }
        self.accepting = self.listeners.iter().any(|found| found.pending);
    }

    fn expire(&mut self) {
        while let Some((at, slot)) = self.timers.pop_due(self.now) {
            let Some(conn) = self.conns.at(slot).filter(|conn| conn.due == Some(at)) else { continue };
            conn.due = None;
            mark(&mut self.dirty, conn);
        }
        if self.drain.is_some_and(|end| end <= self.now) {
            let now = self.now;
            self.each(|link, session| link.fail(&mut session.endpoint, now));
        }
    }

    fn visit(&mut self) {
        mem::swap(&mut self.dirty, &mut self.spare);
        for &slot in &self.spare {
            let Some(conn) = self.conns.at(slot) else { continue };
            conn.dirty = false;
            let Some(session) = conn.session.take() else { continue };
            let share = || serve(&mut self.services, conn, session, self.now, &mut self.scratch);
            // A panic here is a layer's (or a bug of ours): it ends this connection, and no other.
            let alive = catch_unwind(AssertUnwindSafe(share)).unwrap_or(false);
            let token = Token(self.tokens.first + slot as usize);
            if alive && conn.link.ask_for_room(&self.registry, token, conn.wants.write).is_ok() {
                settle(conn, &mut self.dirty, &mut self.timers);
            } else {
                conn.link.deregister(&self.registry);
                self.conns.remove(slot);
            }
        }
        self.spare.clear();
        let conns = &mut self.conns;
        self.timers.compact(conns.len(), |at, slot| conns.at(slot).is_some_and(|conn| conn.due == Some(at)));
    }
}

/// However it ends, a panic included: threads that wait for room are told.
impl Drop for Loop {
    fn drop(&mut self) {
        drop(self.mailbox.close());
    }
}

/// One connection's share of a turn. False: it is done.
fn serve(services: &mut Services, conn: &mut Conn, mut session: Box<Session>, now: Timestamp, scratch: &mut [u8]) -> bool {
    let link = &mut conn.link;
    if let Some(until) = conn.closing {
        conn.session = Some(session);
        return until > now && !link.linger(scratch);
    }
    if conn.wants.deadline.is_some_and(|at| at <= now) {
        session.endpoint.handle_timeout(now);
    }
    // One loop, so that each step stands here once and is compiled into it.
    let (mut hungry, mut reads, mut writes) = (conn.wants.read, FAIR, FAIR);
    loop {
        let more = hungry && link.fill(&mut session.endpoint, now, scratch);
        session = services.dispatch(session);
        if more && reads > 1 {
            reads -= 1;
            hungry = session.endpoint.wants().read;
            continue;
        }
        hungry = false;
        let written = link.flush(&mut session.endpoint, now);
        conn.wants = session.endpoint.wants();
        writes -= 1;
        if !written || !(conn.wants.write || conn.wants.event) || writes == 0 {
            break;
        }
    }
    if link.is_over(&session.endpoint, &conn.wants) {
        // A write that failed ended calls: their handlers want to know.
        session = services.dispatch(session);
        conn.closing = link.begin_close(now);
        conn.wants = Wants { read: true, write: false, event: false, deadline: conn.closing };
        if conn.closing.is_none() {
            return false;
        }
    }
    conn.session = Some(session);
    true
}

/// Remembers what a connection waits for.
fn settle(conn: &mut Conn, dirty: &mut Vec<u32>, timers: &mut Timers) {
    if conn.link.has_work(&conn.wants) {
        mark(dirty, conn);
    }
    match conn.wants.deadline {
        Some(at) if conn.due.is_none_or(|due| at < due) => {
            conn.due = Some(at);
            timers.push(at, conn.key.slot);
        }
        Some(_) => {}
        None => conn.due = None,
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
            Kind::Unix(listener, _) => listener.accept().map(|(stream, _)| {
                let peer = Peer::Unix(credentials(&stream));
                (stream.into_socket(), peer)
            }),
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

#[cfg(all(feature = "credentials", any(target_os = "linux", target_os = "android")))]
fn credentials(stream: &UnixStream) -> Option<Credentials> {
    let who = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(Credentials::new(who.uid.as_raw(), who.gid.as_raw(), Some(who.pid.as_raw_pid())))
}

/// std does not ask for them yet, and a crate that does is not to everybody's liking.
#[cfg(not(all(feature = "credentials", any(target_os = "linux", target_os = "android"))))]
const fn credentials(_: &UnixStream) -> Option<Credentials> {
    None
}
