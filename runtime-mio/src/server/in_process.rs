//! A server without a socket, for clients in the same process: one thread owns both cores, and their octets pass as the same memory.

use super::{ServeError, Server, Setup};
use pintle_callback::{Client, Command, Drive, Engine, LocalClient, Mailbox, Place, Services, Session, Stack};
use pintle_core::{Connection, Endpoint, Timestamp, pair::Line};
use pintle_net::{Peer, now};
use std::{
    io, mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// A [`LocalClient`](crate::LocalClient) of services in the same thread: whoever waits for an answer runs them.
pub type LocalInProcess = LocalClient<Joined>;

impl Server {
    /// Runs the services on a thread of their own and gives a client of them: no socket, no epoll, the same calls. It ends when the
    /// last clone of the client is dropped and its calls are done, or by the [`shutdown_handle`](Self::shutdown_handle). The settings
    /// count for both ends. What it listens on is closed; to serve others too, build a second server of the same services.
    ///
    /// ```
    /// # fn services() -> impl pintle_mio::Service { struct S; impl pintle_mio::Service for S {
    /// #     fn methods(&self) -> &'static [pintle_mio::Method] { &[] } fn call(&mut self, _: usize, _: pintle_mio::Incoming) {} } S }
    /// let client = pintle_mio::Server::new().add(services).in_process()?;
    /// // GreeterClient::new(client).say_hello(..).wait()
    /// # drop(client);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn), but for listeners.
    pub fn in_process(self) -> Result<Client, ServeError> {
        let (report, started) = mpsc::sync_channel(1);
        let (control, setup) = (self.control, self.setup);
        let body = move || match Joined::new(&setup) {
            Ok(joined) => {
                let bell = Arc::clone(&joined.bell);
                let (client, engine) = Client::new(move || bell.ring());
                control.register(&joined.mailbox);
                let _ = report.send(Ok(client));
                drop(report);
                run(joined, engine);
            }
            Err(error) => drop(report.send(Err(error))),
        };
        thread::Builder::new().name("pintle-in-process".into()).spawn(body)?;
        started.recv().map_err(|_| io::Error::other("a service's constructor, or a layer, panicked"))?
    }

    /// The same without any thread: the services run in the calling thread, while it waits for an answer or
    /// [polls](pintle_callback::LocalClient::poll). They must not wait for a call on this client.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn), but for listeners.
    pub fn in_process_local(self) -> Result<LocalInProcess, ServeError> {
        let joined = Joined::new(&self.setup)?;
        self.control.register(&joined.mailbox);
        Ok(LocalClient::new(joined))
    }
}

/// Both ends of a connection: what drives a [`LocalInProcess`].
#[derive(Debug)]
pub struct Joined {
    client: Connection,
    /// Out while it is served; gone for good when a layer panicked meanwhile.
    session: Option<Box<Session>>,
    services: Services,
    line: Line,
    mailbox: Arc<Mailbox<Command>>,
    /// The memory of the mailbox's other half.
    commands: Vec<Command>,
    bell: Arc<Bell>,
}

impl Joined {
    fn new(setup: &Setup) -> Result<Self, ServeError> {
        setup.config.validate().map_err(ServeError::Config)?;
        let services = setup.factories.iter().map(|make| make()).collect();
        let services = Services::new(services, setup.http.clone()).map_err(ServeError::Route)?;
        let (now, bell) = (now(), Arc::new(Bell::default()));
        let ring = Arc::clone(&bell);
        let mailbox = Arc::new(Mailbox::new(move || ring.ring()));
        let server = Connection::server(&setup.config, services.routes().clone(), now);
        let place = Place { mailbox: Arc::clone(&mailbox), key: 0, peer: Peer::Other("in-process".into()) };
        let session = Session::new(Stack::new(server, setup.layer.as_ref()), Arc::new(place));
        let (client, session) = (Connection::client(&setup.config, now), Some(Box::new(session)));
        Ok(Self { client, session, services, line: Line::new(), mailbox, commands: Vec::new(), bell })
    }

    /// Does what can be done on the server's side and between the two, until nothing more can. True: something was done.
    fn work(&mut self, now: Timestamp) -> bool {
        let mut worked = false;
        loop {
            let obeyed = self.obey(now);
            let Some(mut session) = self.session.take() else { return worked };
            let passed = self.line.exchange(now, &mut self.client, &mut session.endpoint);
            let more = obeyed || passed > 0 || session.endpoint.wants().event;
            self.session = Some(self.services.dispatch(session));
            if !more {
                return worked;
            }
            worked = true;
        }
    }

    /// Does what other threads want of the server.
    fn obey(&mut self, now: Timestamp) -> bool {
        let mut commands = mem::take(&mut self.commands);
        self.mailbox.swap(&mut commands);
        let any = !commands.is_empty();
        for command in commands.drain(..) {
            let Some(mut session) = self.session.take() else { continue };
            self.session = Some(match command {
                Command::Call { order, .. } => self.services.execute(session, order),
                Command::Drain { grace } => {
                    session.core().drain(now, Some(grace));
                    session
                }
            });
        }
        self.commands = commands;
        any
    }

    /// Sleeps until somebody rings, the next deadline, or `most` is over.
    fn rest(&self, now: Timestamp, most: Option<Duration>) {
        let due = self.session.as_ref().and_then(|session| Line::deadline(&self.client, &session.endpoint));
        let most = most.map(|most| now.saturating_add(most));
        self.bell.wait(due.into_iter().chain(most).min());
    }
}

impl Drive for Joined {
    fn core(&mut self) -> &mut Connection {
        &mut self.client
    }

    fn flush(&mut self) {
        self.work(now());
    }

    fn turn(&mut self, most: Option<Duration>) {
        let begin = now();
        if !self.work(begin) && !self.client.wants().event && !self.is_over() {
            self.rest(begin, most);
            self.work(now());
        }
    }

    fn is_over(&self) -> bool {
        self.line.is_closed() || self.session.is_none()
    }
}

/// The client is gone: handlers that still run are told, as by a socket that was closed.
impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.endpoint.recv_eof(now());
            drop(self.services.dispatch(session));
        }
        drop(self.mailbox.close());
    }
}

/// The thread of [`Server::in_process`].
fn run(mut joined: Joined, mut engine: Engine) {
    loop {
        let now = now();
        engine.execute(&mut joined.client, now);
        let mut worked = joined.work(now);
        engine.dispatch(&mut joined.client);
        worked |= joined.work(now);
        if joined.is_over() {
            return engine.end(&mut joined.client);
        }
        if !worked {
            joined.rest(now, None);
        }
    }
}

/// What a loop without a poll sleeps on.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.lock() = true;
        self.changed.notify_one();
    }

    /// Until it is rung, or was since the last time; until `at` at the latest.
    fn wait(&self, at: Option<Timestamp>) {
        let mut rung = self.lock();
        while !mem::take(&mut *rung) {
            rung = match at.map(|at| at.saturating_since(now())) {
                Some(Duration::ZERO) => return,
                Some(left) => self.changed.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
