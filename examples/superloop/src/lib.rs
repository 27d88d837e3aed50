//! gRPC in a superloop: a main loop without operating system, threads, interrupts or `std`, that serves calls over a serial line.
//!
//! Begin here if you write firmware. [`Superloop::step`] is the whole driver; `post_office.rs` is a service, to be replaced by yours;
//! [`config`] fixes the memory; [`mod@line`] says how a line without "connect" carries one connection after the other. The README has
//! the figures for a Cortex-M3.
//!
//! ```
//! use superloop::{Pipe, Superloop, Timestamp};
//!
//! struct Uart; // your registers, or a ring that an interrupt or DMA fills and empties
//! impl Pipe for Uart {
//!     fn read(&mut self, into: &mut [u8]) -> usize { 0 }
//!     fn write(&mut self, octets: &[u8]) -> usize { octets.len() }
//! }
//!
//! # let mut ticks = (0..3).map(Timestamp::from_micros);
//! let mut superloop = Superloop::new();
//! while let Some(now) = ticks.next() {
//!     let wait = superloop.step(now, &mut Uart);
//!     // .. the rest of your main loop; sleep until `wait` is over
//! #   assert!(wait.read && !wait.write);
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod line;
mod post_office;

// Made from the .proto by build.rs: the module `tour`.
include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

use alloc::{string::String, vec::Vec};
use core::task::Poll;
use line::{Item, Piece};
use pintle_core::{CallId, Config, Connection, Endpoint, Event, RouteId, Routes, Status, Token};
use post_office::Handler;
use tour::TourMethod;

pub use pintle_core::Timestamp;

/// Octets read at once, and about as many that are framed at once. No message needs to fit in.
pub const SCRATCH: usize = 256;
/// Calls at once. Further ones wait at the client.
pub const CALLS: usize = 4;
/// Octets of the largest message taken.
pub const LONGEST_MESSAGE: usize = 1_024;
/// Octets of heap that are enough, whatever the peer sends: `tests/memory.rs` does its worst, and counts.
pub const HEAP: usize = 40 << 10;
/// Octets of the largest content that the post office sends: the message around it has a name, too.
const LONGEST_LETTER: usize = LONGEST_MESSAGE - 64;

/// What bounds the memory of the connection, whatever the peer sends.
#[must_use]
pub fn config() -> Config {
    let mut config = Config::default();
    config.max_concurrent_streams = CALLS as u32;
    // Each call may fill its window with messages that its handler has not taken.
    config.initial_window = 2 * LONGEST_MESSAGE as u32;
    config.max_recv_message = LONGEST_MESSAGE as u32;
    config.recv_budget = u64::from(config.max_concurrent_streams * config.initial_window + config.max_recv_message);
    // Bounds nothing here: it is given back at once, since the windows of the calls bound what is held. This is the least.
    config.connection_window = 65_535;
    // Answers wait for the line in these. A call with nothing waiting is always allowed one message.
    config.max_send_message = LONGEST_MESSAGE as u32 + 128;
    config.send_buffer = 512;
    config.connection_send_buffer = 2 * LONGEST_MESSAGE as u32;
    // Enough for the headers of gRPC with a token or two among them.
    config.max_header_list = 2_048;
    config.max_header_fields = 32;
    config.header_table = 512;
    config.encoder_table = 512;
    // Words of a client, which costs RAM and is not sent here.
    config.authority = String::new();
    config.user_agent = String::new();
    config
}

/// Where octets come from and go to. Neither function waits.
pub trait Pipe {
    /// Moves octets that have come to the front of `into`, answers how many. 0: there are none now.
    fn read(&mut self, into: &mut [u8]) -> usize;
    /// Takes octets from the front of `octets`, answers how many. 0: there is no room now.
    fn write(&mut self, octets: &[u8]) -> usize;
}

/// What must happen before another step is of use. Stepping early is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a loop that does not look at it never sleeps"]
pub struct Wait {
    /// Octets have come. False: they had better wait, since the peer does not take what is due to it.
    pub read: bool,
    /// There is room for octets.
    pub write: bool,
    /// This time has come.
    pub until: Option<Timestamp>,
}

/// A server for one connection at a time, on a line.
#[derive(Debug)]
pub struct Superloop {
    scratch: [u8; SCRATCH],
    reader: line::Reader,
    session: Session,
}

impl Default for Superloop {
    fn default() -> Self {
        Self::new()
    }
}

impl Superloop {
    /// A server that waits for its first connection.
    #[must_use]
    pub fn new() -> Self {
        let routes = Routes::new(TourMethod::ALL.map(|method| (method.path(), method.shape())));
        let routes = routes.expect("the paths come from a .proto, where no two methods are the same");
        // We have just been switched on: whatever the host still believes, the connection is over.
        let session =
            Session { config: config(), routes, connection: None, calls: Vec::with_capacity(CALLS), mark: line::close(), mark_left: 2 };
        Self { scratch: [0; SCRATCH], reader: line::Reader::default(), session }
    }

    /// One turn of the main loop: reads what has come, does what can be done, writes what there is room for. Never waits.
    ///
    /// `now` is in microseconds since whenever you like, and never runs backwards.
    pub fn step(&mut self, now: Timestamp, pipe: &mut impl Pipe) -> Wait {
        let Self { scratch, reader, session } = self;
        if session.wants_read() {
            let n = pipe.read(scratch);
            let mut input = &scratch[..n];
            while let Some(item) = reader.next(&mut input) {
                match item {
                    Item::Open(number) => session.open(now, number),
                    Item::Octets(octets) => session.with(|connection| connection.recv_slice(now, octets)),
                    Item::Close => session.with(|connection| connection.recv_eof(now)),
                }
            }
        }
        session.with(|connection| connection.handle_timeout(now));
        session.handle_events();
        session.write(now, pipe);
        session.wait(now)
    }

    /// A client is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.session.connection.is_some()
    }
}

/// The connection, its calls, and the mark that goes ahead of its octets.
#[derive(Debug)]
struct Session {
    config: Config,
    routes: Routes,
    connection: Option<Connection>,
    /// The handlers that run, at most [`CALLS`].
    calls: Vec<(CallId, Handler)>,
    mark: [u8; 2],
    /// Octets of the mark that are not written yet.
    mark_left: usize,
}

impl Session {
    /// A client begins; whoever was there before is gone.
    fn open(&mut self, now: Timestamp, number: u8) {
        // First the old one: there is no memory for two.
        self.end();
        self.connection = Some(Connection::server(&self.config, self.routes.clone(), now));
        self.owe(line::open(number));
    }

    fn end(&mut self) {
        self.calls.clear();
        self.connection = None;
    }

    fn owe(&mut self, mark: [u8; 2]) {
        (self.mark, self.mark_left) = (mark, mark.len());
    }

    /// Octets without a connection are the rest of one that is over: nobody wants them.
    fn with(&mut self, act: impl FnOnce(&mut Connection)) {
        if let Some(connection) = &mut self.connection {
            act(connection);
        }
    }

    fn handle_events(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Incoming { call } => {
                    if let Some(accepted) = connection.accept(call, Token::default()) {
                        let method = accepted.route.and_then(|route| TourMethod::ALL.get(RouteId::index(route)));
                        let method = method.expect("a call of another method never comes this far");
                        self.calls.push((call, Handler::new(*method)));
                        go_on(connection, &mut self.calls, call);
                    }
                }
                Event::Readable { call, .. } | Event::Writable { call, .. } => go_on(connection, &mut self.calls, call),
                // The client gave up, or its deadline has passed: the handler is dropped.
                Event::Finished { call, code, .. } => {
                    self.calls.retain(|(running, _)| *running != call);
                    if let Ok(call) = connection.call(call) {
                        call.finish(&Status::new(code, ""), None);
                    }
                }
                // The rest is for clients, for plain HTTP, and for those who want to know.
                _ => {}
            }
        }
    }

    fn write(&mut self, now: Timestamp, pipe: &mut impl Pipe) {
        loop {
            while self.mark_left > 0 {
                match pipe.write(&self.mark[self.mark.len() - self.mark_left..]) {
                    0 => return,
                    n => self.mark_left -= n,
                }
            }
            let Some(connection) = &mut self.connection else { return };
            if connection.is_finished() {
                self.end();
                self.owe(line::close());
                continue;
            }
            let mut out = connection.transmit(now, SCRATCH);
            let mut first = [&[][..]];
            out.chunks(&mut first);
            match line::next_piece(first[0]) {
                Some(Piece::Run(run)) => match pipe.write(run) {
                    0 => return,
                    n => out.advance(n),
                },
                Some(Piece::Mark(mark)) => {
                    out.advance(1);
                    self.owe(mark);
                }
                None => return,
            }
        }
    }

    fn wants_read(&self) -> bool {
        self.connection.as_ref().is_none_or(|connection| connection.wants().read || connection.is_finished())
    }

    fn wait(&self, now: Timestamp) -> Wait {
        let wants = self.connection.as_ref().map(Connection::wants);
        Wait {
            read: self.wants_read(),
            write: self.mark_left > 0 || wants.is_some_and(|wants| wants.write),
            // Room that was made by writing is an event: there is something to do at once.
            until: wants.and_then(|wants| if wants.event { Some(now) } else { wants.deadline }),
        }
    }
}

/// Lets the handler of a call go on. One that has ended is forgotten.
fn go_on(connection: &mut Connection, calls: &mut Vec<(CallId, Handler)>, id: CallId) {
    let Some(at) = calls.iter().position(|(running, _)| *running == id) else { return };
    let Ok(mut call) = connection.call(id) else { return };
    if let Poll::Ready(result) = calls[at].1.go_on(&mut call) {
        call.finish(&result.err().unwrap_or_else(Status::ok), None);
        calls.swap_remove(at);
    }
}
