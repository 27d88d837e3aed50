//! On a loop of one's own: `poll(2)`. `examples/poll_loop` has one for programs that stay up.

use crate::tour::on_callback as glue;
use pintle_callback::{Command, Mailbox, Place, Services, Session, Stack};
use pintle_core::{Config, Connection, Endpoint, Wants};
use pintle_example_poll_loop::{sleep, watch};
use pintle_net::{Acceptor, Address, BindOptions, Listener, Wire, now};
use std::{collections::BTreeMap, error::Error, io::Read, mem, sync::Arc, thread};

#[path = "callback_style.rs"]
#[allow(clippy::duplicate_mod, reason = "the point of this example")]
mod callback_style;

/// Serves on a free port, from a thread of its own.
///
/// # Errors
/// There is no port.
pub fn start() -> Result<String, Box<dyn Error>> {
    let listener = Listener::bind(&Address::parse("127.0.0.1:0")?, &BindOptions::default())?;
    let address = listener.local_address()?.to_string();
    thread::spawn(move || serve(listener).unwrap_or_else(|error| eprintln!("the loop ended: {error}")));
    Ok(address)
}

struct Conn {
    wire: Wire,
    session: Box<Session>,
}

/// Four parts make a turn.
fn serve(listener: Listener) -> Result<(), Box<dyn Error>> {
    let mut services = Services::new(vec![Box::new(glue::TourServer::new(callback_style::PostOffice))], None)?;
    let mut door = Acceptor::new(listener);
    let mut conns = BTreeMap::new();
    let mut next_key = 0;
    let mut scratch = vec![0; 16 << 10]; // one for all connections
    // A handler may answer later, from another thread. It puts that into the mailbox and rings the bell.
    let (mut bell, ring) = pintle_net::bell()?;
    let mailbox = Arc::new(Mailbox::new(ring));

    loop {
        // 1. Sleep until something happens, or until the first deadline.
        let readable = Wants { read: true, write: false, event: false, deadline: None };
        let mut files = vec![watch(&bell, readable), watch(&door, readable)];
        let mut deadline = None;
        for Conn { wire, session } in conns.values() {
            let wants = wire.wants(&session.endpoint);
            files.push(watch(wire, wants));
            deadline = [deadline, wants.deadline, wants.event.then(now)].into_iter().flatten().min();
        }
        sleep(files, deadline)?;

        // 2. Do what other threads want.
        while bell.read(&mut scratch).is_ok_and(|n| n > 0) {}
        let mut commands = Vec::new();
        mailbox.swap(&mut commands);
        for command in commands {
            if let Command::Call { key, order } = command
                && let Some(Conn { wire, session }) = conns.remove(&key)
            {
                conns.insert(key, Conn { wire, session: services.execute(session, order) });
            }
        }

        // 3. Take a new connection.
        if let Some((wire, peer)) = door.accept(now())? {
            let core = Connection::server(&Config::default(), services.routes().clone(), now());
            let place = Arc::new(Place { mailbox: Arc::clone(&mailbox), key: next_key, peer });
            conns.insert(next_key, Conn { wire, session: Box::new(Session::new(Stack::new(core, None), place)) });
            next_key += 1;
        }

        // 4. Let each connection go on: time, octets in, your handlers, octets out.
        for (key, Conn { mut wire, mut session }) in mem::take(&mut conns) {
            session.endpoint.handle_timeout(now()); // early is harmless
            wire.read(&mut session.endpoint, now(), &mut scratch);
            session = services.dispatch(session);
            while wire.write(&mut session.endpoint, now()) {
                session = services.dispatch(session); // there is room again: who was `Blocked` goes on
            }
            if !wire.is_over(&session.endpoint, now()) {
                conns.insert(key, Conn { wire, session });
            }
        }
    }
}
