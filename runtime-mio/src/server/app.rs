//! What happened on a connection, told to the services. Every callback runs here, with its connection where handles find it,
//! and a panic in one ends that call only.

use super::{
    handle::{Incoming, Service},
    http::{self, Handler},
    peer::{Conn, Sink, inside},
};
use pintle_core::{CallId, Code, ErrorCode, Event, Metadata, Recv, Shape, Status, StreamId, Token};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// The services of one loop.
pub(crate) struct App {
    pub(crate) services: Vec<Box<dyn Service>>,
    /// By route: service and method.
    pub(crate) table: Vec<(usize, usize)>,
    pub(crate) http: Option<Arc<Handler>>,
}

impl App {
    /// Tells everything that there is to tell.
    pub(crate) fn dispatch(&mut self, mut conn: Box<Conn>) -> Box<Conn> {
        loop {
            while let Some(event) = conn.core().poll_event() {
                conn = self.event(conn, event);
            }
            let Some(call) = conn.resumed.pop() else { return conn };
            conn = pump(conn, call);
        }
    }

    fn event(&mut self, mut conn: Box<Conn>, event: Event) -> Box<Conn> {
        match event {
            Event::Incoming { call } => self.incoming(conn, call),
            Event::Readable { call, .. } => pump(conn, call),
            Event::Writable { call, .. } if conn.send_queued(call) => tell(conn, call, |sink| {
                sink.ready();
                Ok(())
            }),
            Event::Finished { call, code, .. } => ended(conn, call, code),
            Event::IncomingHttp { stream } | Event::StreamReadable { stream, .. } | Event::StreamWritable { stream, .. } => {
                self.http(conn, stream)
            }
            _ => conn,
        }
    }

    fn incoming(&mut self, mut conn: Box<Conn>, id: CallId) -> Box<Conn> {
        let core = conn.core();
        let Some(accepted) = core.accept(id, Token::default()) else { return conn };
        let Ok(mut call) = core.call(id) else { return conn };
        let Some(&(service, method)) = accepted.route.and_then(|route| self.table.get(route.index())) else {
            call.finish(&Status::new(Code::Unimplemented, "no such method"), None);
            return conn;
        };
        let metadata = if call.metadata().is_empty() { Metadata::new() } else { call.take_metadata() };
        let streams = matches!(accepted.shape, Shape::ClientStreaming | Shape::Bidi);
        // The core announces a call with one request when the request is complete.
        let request = if streams { Recv::Pending } else { call.recv() };
        let message = if let Recv::Message(message) = request { Some(message) } else { None };
        let incoming = Incoming::new(&conn, id, accepted.deadline, metadata, message);
        let service = &mut self.services[service];
        let (mut conn, result) = inside(conn, || catch_unwind(AssertUnwindSafe(|| service.call(method, incoming))));
        if result.is_err() {
            conn.finish(id, &panicked());
        }
        if streams { pump(conn, id) } else { conn }
    }

    fn http(&mut self, mut conn: Box<Conn>, id: StreamId) -> Box<Conn> {
        let refuse = |_| None;
        let handler: &Handler = self.http.as_deref().unwrap_or(&refuse);
        if catch_unwind(AssertUnwindSafe(|| http::step(&mut conn, id, handler))).is_err()
            && let Ok(stream) = conn.core().stream(id)
        {
            stream.reset(ErrorCode::INTERNAL_ERROR);
        }
        conn
    }
}

/// Delivers messages, until there are none or the receiver has enough.
fn pump(mut conn: Box<Conn>, id: CallId) -> Box<Conn> {
    while let Some(input) = conn.next_input(id) {
        conn = tell(conn, id, |sink| match input {
            Some(message) => sink.message(message),
            None => {
                sink.end();
                Ok(())
            }
        });
    }
    conn
}

/// Runs a callback of a call's receiver.
fn tell(mut conn: Box<Conn>, id: CallId, callback: impl FnOnce(&mut dyn Sink) -> Result<(), Status>) -> Box<Conn> {
    let Some(mut sink) = conn.take_sink(id) else { return conn };
    // The receiver is dropped while it unwinds, so that its handle knows of the panic.
    let guarded = move || {
        let result = callback(&mut *sink);
        (sink, result)
    };
    let (mut conn, result) = inside(conn, || catch_unwind(AssertUnwindSafe(guarded)));
    let left = match result {
        Ok((sink, Ok(()))) => conn.give_back(id, sink),
        Ok((sink, Err(status))) => {
            conn.finish(id, &status);
            Some(sink)
        }
        Err(_) => {
            conn.finish(id, &panicked());
            None
        }
    };
    match left {
        Some(sink) => inside(conn, || guard(|| drop(sink))).0,
        None => conn,
    }
}

/// The call ended without the application: it is told, and lets go.
fn ended(mut conn: Box<Conn>, id: CallId, code: Code) -> Box<Conn> {
    let (sink, callbacks) = conn.end(id, code);
    let tell = || {
        if let Some(mut sink) = sink {
            guard(move || sink.cancel(code));
        }
        for callback in callbacks {
            guard(|| callback(code));
        }
    };
    inside(conn, tell).0
}

/// A panic here has nothing left to end.
fn guard(callback: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(callback));
}

fn panicked() -> Status {
    Status::new(Code::Unknown, "the handler panicked")
}
