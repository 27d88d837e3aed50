//! The server's side of a connection: calls in, handlers started, replies out.

use crate::{Context, HttpRequest, HttpResponse, Peer};
use pintle_core::{
    CallId, Code, Connection, Event, Message, Metadata, Recv, Shape, Status, Timestamp, Token,
    http::{Exchange, ExchangeId},
};
use pintle_futures::owner::{App, CallCell, Command, Queue, Request, Served};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Slots of a connection that keep their cell for their next call.
const SPARE_CELLS: usize = 128;
/// Octets of metadata that a cell may keep meanwhile.
const SPARE_METADATA: usize = 512;

/// Answers a plain request, in the task of the connection: it must not block. `None`: as a gRPC server answers what
/// is not gRPC (415 or 405).
pub type HttpHandler = dyn Fn(&HttpRequest) -> Option<HttpResponse> + Send + Sync;

/// A request that was accepted, on its way to its handler.
pub(crate) struct Arrival<'a> {
    pub(crate) conn: &'a mut Connection,
    pub(crate) id: CallId,
    pub(crate) cell: &'a Arc<CallCell>,
    /// The one request of a call whose requests are no stream.
    pub(crate) request: &'a mut Option<Message>,
}

impl Arrival<'_> {
    pub(crate) fn context(&self) -> Context {
        Context { cell: Arc::clone(self.cell) }
    }

    /// The one request: the connection reports such a call when that is complete.
    pub(crate) fn take_request(&mut self) -> Result<Message, Status> {
        self.request.take().ok_or_else(|| Status::internal("the request has no message"))
    }
}

/// How handlers are run.
pub(crate) trait Execute {
    /// The path of a route.
    fn path(&self, route: usize) -> &'static str;
    /// Starts a handler.
    fn start(&mut self, route: usize, arrival: Arrival<'_>) -> Progress;
    /// The handler in this slot was woken.
    fn wake(&mut self, conn: &mut Connection, slot: u32) -> Progress;
    /// The call in this slot is over, and its cell says so: its handler is polled once more and then dropped, now or
    /// soon. It reports by its cell.
    fn stop(&mut self, conn: &mut Connection, slot: u32) -> Progress;
}

/// How far a handler came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It reports by its cell.
    Running,
    /// Its call is finished already.
    Done,
}

pub(crate) struct ServerApp<X> {
    executor: X,
    http: Option<Arc<HttpHandler>>,
    peer: Arc<Peer>,
    queue: Arc<Queue>,
    /// By the core's slot.
    entries: Vec<Entry>,
}

enum Entry {
    Empty,
    /// Kept for the next call in this slot, which makes it as new.
    Spare(Arc<CallCell>),
    Call {
        id: CallId,
        cell: Arc<CallCell>,
    },
    Http(Exchange),
}

/// Whether the cell of a call that has ended is kept for the next one in its slot.
#[inline]
fn is_spare(slot: usize, cell: &CallCell) -> bool {
    slot < SPARE_CELLS && cell.request().metadata.capacity() <= SPARE_METADATA
}

impl<X: Execute> ServerApp<X> {
    pub(crate) fn new(executor: X, http: Option<Arc<HttpHandler>>, peer: Arc<Peer>, queue: Arc<Queue>) -> Self {
        Self { executor, http, peer, queue, entries: Vec::new() }
    }

    fn entry(&mut self, slot: usize) -> &mut Entry {
        if slot >= self.entries.len() {
            self.entries.resize_with(slot + 1, || Entry::Empty);
        }
        &mut self.entries[slot]
    }

    #[inline]
    fn incoming(&mut self, conn: &mut Connection, id: CallId) {
        let Some((accepted, mut call)) = conn.accept_call(id, Token::default()) else { return };
        // Unknown methods are the connection's to refuse: `accept_unknown_methods` is not set here.
        let Some(route) = accepted.route else { return };
        let metadata = if call.metadata().is_empty() { None } else { Some(call.take_metadata()) };
        let streams = matches!(accepted.shape, Shape::ClientStreaming | Shape::Bidi);
        let mut message = match streams {
            true => None,
            false => match call.recv() {
                Recv::Message(message) => Some(message),
                Recv::Pending | Recv::End => None,
            },
        };
        let slot = id.slot();
        self.renew(slot, streams, self.executor.path(route.index()), metadata, accepted.deadline);
        // It stays where it is unless the handler outlives its first poll.
        let Some(Entry::Spare(cell)) = self.entries.get(slot) else { return };
        let progress = self.executor.start(route.index(), Arrival { conn, id, cell, request: &mut message });
        if progress == Progress::Done {
            if !is_spare(slot, cell) {
                self.entries[slot] = Entry::Empty;
            }
            return;
        }
        if let Entry::Spare(cell) = std::mem::replace(&mut self.entries[slot], Entry::Empty) {
            self.entries[slot] = Entry::Call { id, cell };
        }
        if streams {
            self.serve(conn, slot);
        }
    }

    /// Puts a cell as new into the place of this slot. `streams`: the handler reads the request as a stream; else it is given the one message.
    #[inline]
    fn renew(&mut self, slot: usize, streams: bool, method: &'static str, metadata: Option<Metadata>, deadline: Option<Timestamp>) {
        if let Entry::Spare(cell) = self.entry(slot)
            && let Some(request) = CallCell::recycle(cell, streams)
        {
            (request.method, request.deadline) = (method, deadline);
            match metadata {
                Some(metadata) => request.metadata = metadata,
                None => request.metadata.clear(),
            }
            return;
        }
        let request = Request { method, metadata: metadata.unwrap_or_default(), deadline, peer: Arc::clone(&self.peer) };
        self.entries[slot] = Entry::Spare(CallCell::accepted(&self.queue, slot as u32, streams, request));
    }

    /// Does for the call in `slot` whatever its cell and the connection allow now.
    fn serve(&mut self, conn: &mut Connection, slot: usize) {
        let Some(Entry::Call { id, cell }) = self.entries.get(slot) else { return };
        let Ok(call) = conn.call(*id) else { return };
        match cell.serve(call) {
            Served::Running => {}
            Served::Stopped => self.stop(conn, slot),
            Served::Finished => self.release(slot),
        }
    }

    fn release(&mut self, slot: usize) {
        let entry = &mut self.entries[slot];
        if let Entry::Call { cell, .. } = std::mem::replace(entry, Entry::Empty)
            && is_spare(slot, &cell)
        {
            *entry = Entry::Spare(cell);
        }
    }

    /// The connection ended the call before its handler did.
    fn cut_off(&mut self, conn: &mut Connection, id: CallId, code: Code) {
        let Some(Entry::Call { id: known, cell }) = self.entries.get(id.slot()) else { return };
        if *known != id {
            return;
        }
        cell.end(over(code), Metadata::new());
        self.stop(conn, id.slot());
    }

    fn stop(&mut self, conn: &mut Connection, slot: usize) {
        if self.executor.stop(conn, slot as u32) == Progress::Done {
            self.release(slot);
        }
    }

    fn http(&mut self, conn: &mut Connection, id: ExchangeId) {
        let Some(handler) = &self.http else {
            if let Ok(stream) = conn.stream(id) {
                stream.refuse();
            }
            return;
        };
        let handler = Arc::clone(handler);
        if let Entry::Http(exchange) = self.entry(id.slot())
            && exchange.id() == id
            && exchange.advance(conn, |request| answer(&*handler, request))
        {
            *self.entry(id.slot()) = Entry::Empty;
        }
    }
}

impl<X: Execute> App for ServerApp<X> {
    const LINGERS: bool = true;

    fn command(&mut self, _now: Timestamp, conn: &mut Connection, command: Command) {
        match command {
            Command::Call(slot) => self.serve(conn, slot as usize),
            Command::Wake(slot) => {
                if self.executor.wake(conn, slot) == Progress::Done {
                    self.release(slot as usize);
                }
            }
            Command::Start(_) | Command::Drain(_) => {}
        }
    }

    fn event(&mut self, _now: Timestamp, conn: &mut Connection, event: Event) {
        match event {
            Event::Incoming { call } => self.incoming(conn, call),
            Event::Readable { call, .. } | Event::Writable { call, .. } => self.serve(conn, call.slot()),
            Event::Finished { call, code, .. } => self.cut_off(conn, call, code),
            Event::IncomingHttp { stream } => {
                *self.entry(stream.slot()) = Entry::Http(Exchange::new(stream));
                self.http(conn, stream);
            }
            Event::StreamReadable { stream, .. } | Event::StreamWritable { stream, .. } => self.http(conn, stream),
            _ => {}
        }
    }

    fn lost(&mut self, conn: &mut Connection) {
        for slot in 0..self.entries.len() {
            if let Entry::Call { id, .. } = self.entries[slot] {
                self.cut_off(conn, id, Code::Cancelled);
            }
        }
    }
}

/// The connection's task was dropped, or it panicked: handlers in tasks of their own must not wait for it.
impl<X> Drop for ServerApp<X> {
    fn drop(&mut self) {
        for entry in &self.entries {
            if let Entry::Call { cell, .. } = entry {
                cell.end(over(Code::Cancelled), Metadata::new());
            }
        }
    }
}

fn answer(handler: &HttpHandler, request: &HttpRequest) -> Option<HttpResponse> {
    let answer = catch_unwind(AssertUnwindSafe(|| handler(request)));
    answer.unwrap_or_else(|_| Some(HttpResponse::new(500, "the handler panicked\n")))
}

fn over(code: Code) -> Status {
    match code {
        Code::DeadlineExceeded => Status::new(code, "the deadline passed before the handler finished"),
        _ => Status::new(Code::Cancelled, "the client cancelled the call or is gone"),
    }
}
