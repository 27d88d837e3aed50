//! A post office on `poll(2)`: `cargo run --bin poll-server -- --listen 127.0.0.1:50051 --listen unix:/tmp/tour.sock`
//!
//! One thread, any number of listeners and connections. Each turn: sleep until something happens, read a little from every connection
//! that has something, tell the service, write.

use pintle_callback::{Command, Mailbox, Place, Services, Session, Stack};
use pintle_core::{Config, Connection, Endpoint, Timestamp, Wants};
use pintle_example_poll_loop::{post_office::PostOffice, sleep, tour::TourServer, watch};
use pintle_net::{Acceptor, Address, BindOptions, Listener, Peer, Wire, now};
use rustix::event::PollFlags;
use std::os::unix::net::UnixStream;
use std::{collections::BTreeMap, env, error::Error, io, io::Read, sync::Arc};

/// Octets read from one connection, and so of work, before the others have their turn.
const SCRATCH: usize = 64 << 10;
/// Writes, likewise.
const FAIR: usize = 4;
/// Connections; more wait in the listeners' queues.
const MOST: usize = 10_000;

struct Server {
    services: Services,
    /// What other threads want done: they answer calls that they took away.
    mailbox: Arc<Mailbox<Command>>,
    /// Readable when there is something in the mailbox.
    bell: UnixStream,
    listeners: Vec<Acceptor>,
    conns: BTreeMap<u64, Conn>,
    next_key: u64,
    scratch: Vec<u8>,
}

struct Conn {
    wire: Wire,
    session: Box<Session>,
}

impl Server {
    fn new(listeners: Vec<Listener>) -> Result<Self, Box<dyn Error>> {
        let (bell, ring) = pintle_net::bell()?;
        Ok(Self {
            services: Services::new(vec![Box::new(TourServer::new(PostOffice))], None)?,
            mailbox: Arc::new(Mailbox::new(ring)),
            bell,
            listeners: listeners.into_iter().map(Acceptor::new).collect(),
            conns: BTreeMap::new(),
            next_key: 0,
            scratch: vec![0; SCRATCH],
        })
    }

    fn turn(&mut self) -> io::Result<()> {
        let begin = now();
        let read = |read| Wants { read, write: false, event: false, deadline: None };
        let room = self.conns.len() < MOST;
        let mut files = vec![watch(&self.bell, read(true))];
        files.extend(self.listeners.iter().map(|at| watch(at, read(room && at.rests(begin).is_none()))));
        files.extend(self.conns.values().map(|conn| watch(&conn.wire, conn.wants())));
        let due: Vec<(u64, Option<Timestamp>)> = self.conns.iter().map(|(key, conn)| (*key, conn.deadline())).collect();
        let rests = self.listeners.iter().filter_map(|at| at.rests(begin));
        let happened = sleep(files, due.iter().filter_map(|(_, at)| *at).chain(rests).min())?;

        let (listeners, conns) = happened[1..].split_at(self.listeners.len());
        if !happened[0].is_empty() {
            self.obey();
        }
        for ((key, deadline), happened) in due.into_iter().zip(conns) {
            if !happened.is_empty() || deadline.is_some_and(|at| at <= now()) {
                self.serve(key, *happened);
            }
        }
        for at in (0..listeners.len()).filter(|at| !listeners[*at].is_empty()) {
            if let Some((wire, peer)) = self.listeners[at].accept(now())? {
                self.adopt(wire, peer);
            }
        }
        Ok(())
    }

    /// Does what other threads want.
    fn obey(&mut self) {
        while self.bell.read(&mut self.scratch).is_ok_and(|n| n > 0) {}
        let mut commands = Vec::new();
        self.mailbox.swap(&mut commands);
        for command in commands {
            // The other command asks a server to end; this one ends with its process.
            if let Command::Call { key, order } = command
                && let Some(mut conn) = self.conns.remove(&key)
            {
                conn.session = self.services.execute(conn.session, order);
                self.conns.insert(key, conn);
            }
        }
    }

    /// One connection's share of a turn.
    fn serve(&mut self, key: u64, happened: PollFlags) {
        let Some(Conn { mut wire, mut session }) = self.conns.remove(&key) else { return };
        session.endpoint.handle_timeout(now()); // early is harmless
        if !happened.contains(PollFlags::IN) && happened.intersects(PollFlags::HUP | PollFlags::ERR) {
            wire.hang_up(&mut session.endpoint, now());
        } else if happened.contains(PollFlags::IN) {
            wire.read(&mut session.endpoint, now(), &mut self.scratch);
        }
        session = self.services.dispatch(session);
        for _ in 0..FAIR {
            if !wire.write(&mut session.endpoint, now()) {
                break;
            }
            session = self.services.dispatch(session); // there is room again: who was `Blocked` goes on
        }
        if !wire.is_over(&session.endpoint, now()) {
            self.conns.insert(key, Conn { wire, session });
        }
    }

    fn adopt(&mut self, wire: Wire, peer: Peer) {
        let core = Connection::server(&Config::default(), self.services.routes().clone(), now());
        let place = Arc::new(Place { mailbox: Arc::clone(&self.mailbox), key: self.next_key, peer });
        let session = Box::new(Session::new(Stack::new(core, None), place));
        self.conns.insert(self.next_key, Conn { wire, session });
        self.next_key += 1;
    }
}

impl Conn {
    fn wants(&self) -> Wants {
        self.wire.wants(&self.session.endpoint)
    }

    fn deadline(&self) -> Option<Timestamp> {
        let wants = self.wants();
        if wants.event { Some(now()) } else { wants.deadline }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut listeners = Vec::new();
    for address in env::args().skip(1).filter(|word| word != "--listen") {
        let listener = Listener::bind(&Address::parse(&address)?, &BindOptions::default())?;
        println!("listening {}", listener.local_address()?);
        listeners.push(listener);
    }
    if listeners.is_empty() {
        return Err("where? poll-server --listen 127.0.0.1:50051 --listen unix:/tmp/tour.sock".into());
    }
    let mut server = Server::new(listeners)?;
    loop {
        server.turn()?;
    }
}
