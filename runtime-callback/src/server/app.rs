//! What happened on a connection, told to the services. Every callback runs here, with its connection where handles find it,
//! and a panic in one ends that call only.

use super::{
    handle::{Incoming, Service},
    session::{Order, Session, Sink, inside, next_here},
};
use pintle_core::{
    CallId, Code, Event, Message, Metadata, Recv, Routes, Shape, Status, Token,
    grpc::InvalidRoute,
    http::{Exchange, ExchangeId, Request, Response},
};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Answers plain requests. `None`: answered as a gRPC server answers what is not gRPC (415, 405).
pub type HttpHandler = dyn Fn(&Request) -> Option<Response> + Send + Sync;

/// The services of one loop.
pub struct Services {
    services: Vec<Box<dyn Service>>,
    /// By route: service and method.
    table: Vec<(usize, usize)>,
    routes: Routes,
    http: Option<Arc<HttpHandler>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Services({:?})", self.routes)
    }
}

impl Services {
    /// From a loop's own services, and what answers plain HTTP/2 requests (set `Config::accept_http` then).
    ///
    /// # Errors
    /// Two services have the same method, or a path is malformed.
    pub fn new(services: Vec<Box<dyn Service>>, http: Option<Arc<HttpHandler>>) -> Result<Self, InvalidRoute> {
        let lists = services.iter().map(|service| service.methods());
        let table = lists.clone().enumerate().flat_map(|(at, list)| (0..list.len()).map(move |method| (at, method))).collect();
        let routes = Routes::new(lists.flatten().map(|method| (method.path, method.shape)))?;
        Ok(Self { services, table, routes, http })
    }

    /// For `Connection::server`.
    #[must_use]
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Tells everything that there is to tell: call it after each read, write, timeout and order.
    #[must_use]
    pub fn dispatch(&mut self, mut session: Box<Session>) -> Box<Session> {
        loop {
            while let Some(event) = session.core().poll_event() {
                session = self.event(session, event);
            }
            let Some(call) = session.resumed.pop() else { return session };
            session = pump(session, call);
        }
    }

    /// Does what a handle wants that is used elsewhere.
    #[must_use]
    pub fn execute(&mut self, mut session: Box<Session>, order: Order) -> Box<Session> {
        match session.obey(order) {
            Some((callback, code)) => inside(session, || guard(|| callback(code))).0,
            None => session,
        }
    }

    fn event(&mut self, mut session: Box<Session>, event: Event) -> Box<Session> {
        match event {
            Event::Incoming { call } => self.incoming(session, call),
            Event::Readable { call, .. } => pump(session, call),
            Event::Writable { call, .. } if session.send_queued(call) => tell(session, call, |sink| {
                sink.ready();
                Ok(())
            }),
            Event::Finished { call, code, .. } => ended(session, call, code),
            Event::IncomingHttp { stream } | Event::StreamReadable { stream, .. } | Event::StreamWritable { stream, .. } => {
                self.http(session, stream)
            }
            _ => session,
        }
    }

    fn incoming(&mut self, mut session: Box<Session>, id: CallId) -> Box<Session> {
        let core = session.core();
        let Some((accepted, mut call)) = core.accept_call(id, Token::default()) else { return session };
        let Some(&(service, method)) = accepted.route.and_then(|route| self.table.get(route.index())) else {
            call.finish(&Status::new(Code::Unimplemented, "no such method"), None);
            return session;
        };
        let metadata = if call.metadata().is_empty() { Metadata::new() } else { call.take_metadata() };
        let streams = matches!(accepted.shape, Shape::ClientStreaming | Shape::Bidi);
        // The core announces a call with one request when the request is complete.
        let request = if streams { Recv::Pending } else { call.recv() };
        let incoming = Incoming::new(session.place(), id, accepted.deadline, metadata, request);
        let service = &mut self.services[service];
        let (mut session, result) = inside(session, || catch_unwind(AssertUnwindSafe(|| service.call(method, incoming))));
        if result.is_err() {
            session.finish(id, &panicked());
        }
        if streams { pump(session, id) } else { session }
    }

    fn http(&mut self, mut session: Box<Session>, id: ExchangeId) -> Box<Session> {
        let found = session.exchanges.iter().position(|exchange| exchange.id() == id);
        let mut exchange = found.map_or_else(|| Exchange::new(id), |at| session.exchanges.swap_remove(at));
        let handler = self.http.as_deref();
        let answer = |request: &Request| {
            let handler = handler?;
            let answer = catch_unwind(AssertUnwindSafe(|| handler(request)));
            answer.unwrap_or_else(|_| Some(Response::new(500, "the handler panicked\n")))
        };
        if !exchange.advance(session.core(), answer) {
            session.exchanges.push(exchange);
        }
        session
    }
}

/// Delivers messages, until there are none or the receiver has enough.
fn pump(mut session: Box<Session>, id: CallId) -> Box<Session> {
    while let Some(input) = session.next_input(id, false) {
        // All that is there in one callback, as long as the receiver neither pauses nor ends the call.
        session = tell(session, id, |sink| {
            deliver(sink, input)?;
            while let Some(input) = next_here(id) {
                deliver(sink, input)?;
            }
            Ok(())
        });
    }
    session
}

#[inline(always)]
fn deliver(sink: &mut dyn Sink, input: Option<Message>) -> Result<(), Status> {
    match input {
        Some(message) => sink.message(message),
        None => {
            sink.end();
            Ok(())
        }
    }
}

/// Runs a callback of a call's receiver.
fn tell(mut session: Box<Session>, id: CallId, callback: impl FnOnce(&mut dyn Sink) -> Result<(), Status>) -> Box<Session> {
    let Some(mut sink) = session.take_sink(id) else { return session };
    // The receiver is dropped while it unwinds, so that its handle knows of the panic.
    let guarded = move || {
        let result = callback(&mut *sink);
        (sink, result)
    };
    let (mut session, result) = inside(session, || catch_unwind(AssertUnwindSafe(guarded)));
    let left = match result {
        Ok((sink, Ok(()))) => session.give_back(id, sink),
        Ok((sink, Err(status))) => {
            session.finish(id, &status);
            Some(sink)
        }
        Err(_) => {
            session.finish(id, &panicked());
            None
        }
    };
    match left {
        Some(sink) => inside(session, || guard(|| drop(sink))).0,
        None => session,
    }
}

/// The call ended without the application: it is told, and lets go.
fn ended(mut session: Box<Session>, id: CallId, code: Code) -> Box<Session> {
    let (sink, callbacks) = session.end(id, code);
    let tell = || {
        if let Some(mut sink) = sink {
            guard(move || sink.cancel(code));
        }
        for callback in callbacks {
            guard(|| callback(code));
        }
    };
    inside(session, tell).0
}

/// A panic here has nothing left to end.
fn guard(callback: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(callback));
}

fn panicked() -> Status {
    Status::new(Code::Unknown, "the handler panicked")
}
