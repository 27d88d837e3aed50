//! The connection.
use crate::*;
use core::time::Duration;

/// One HTTP/2 connection, client or server.
#[derive(Debug)]
pub struct Connection {}

/// What `accept` tells about a request.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    /// Which of the server's routes; `None` only with `Config::accept_unknown_methods`.
    pub route: Option<RouteId>,
    /// The method's shape (bidirectional where the route is unknown).
    pub shape: Shape,
    /// From `grpc-timeout`.
    pub deadline: Option<Timestamp>,
}

/// Counters since the connection began.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Calls started (client) or received (server).
    pub calls: u64,
    /// Octets received from the transport.
    pub octets_received: u64,
    /// Octets handed to the transport.
    pub octets_sent: u64,
}

impl Connection {
    /// The client's end; the preface waits in `transmit`.
    #[must_use]
    pub fn client(config: &Config, now: Timestamp) -> Self { let _ = (config, now); todo!() }
    /// The server's end.
    #[must_use]
    pub fn server(config: &Config, routes: Routes, now: Timestamp) -> Self { let _ = (config, routes, now); todo!() }
    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> { todo!() }
    /// Server: takes the request over. `None`: it is gone again.
    pub fn accept(&mut self, call: CallId, token: Token) -> Option<Accepted> { let _ = (call, token); todo!() }
    /// Client: starts a call, or queues it while the peer's stream limit is reached.
    ///
    /// # Errors
    /// See [`StartError`]; nothing was sent.
    pub fn start(&mut self, now: Timestamp, head: RequestHead<'_>, options: CallOptions) -> Result<CallId, StartError> { let _ = (now, head, options); todo!() }
    /// A view of a call.
    ///
    /// # Errors
    /// The id is stale.
    pub fn call(&mut self, id: CallId) -> Result<Call<'_>, UnknownCall> { let _ = id; todo!() }
    /// A view of a raw stream.
    ///
    /// # Errors
    /// The id is stale.
    pub fn stream(&mut self, id: StreamId) -> Result<Stream<'_>, UnknownCall> { let _ = id; todo!() }
    /// Begins a graceful end: no new calls, running ones may finish until `deadline` (default: no end), then GOAWAY and close.
    pub fn drain(&mut self, now: Timestamp, deadline: Option<Duration>) { let _ = (now, deadline); todo!() }
    /// Closes at once: GOAWAY(NO_ERROR) waits in `transmit`, calls end with UNAVAILABLE (client) or CANCELLED (server).
    pub fn close(&mut self, now: Timestamp) { let _ = now; todo!() }
    /// Why it ended, once it has.
    #[must_use]
    pub fn close_reason(&self) -> Option<&CloseReason> { todo!() }
    /// Nothing more comes in and nothing waits to go out: drop the transport.
    #[must_use]
    pub fn is_finished(&self) -> bool { todo!() }
    /// No stream is open and no call is queued.
    #[must_use]
    pub fn is_idle(&self) -> bool { todo!() }
    /// The first octets of a peer that does not speak HTTP/2 (at most 24).
    #[must_use]
    pub fn foreign(&self) -> Option<&[u8]> { todo!() }
    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats { todo!() }
    /// The server's routes.
    #[must_use]
    pub fn routes(&self) -> &Routes { todo!() }
}

impl Endpoint for Connection {
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) { let _ = (now, octets); todo!() }
    fn recv_eof(&mut self, now: Timestamp) { let _ = now; todo!() }
    fn read_target(&mut self) -> Option<&mut [u8]> { todo!() }
    fn filled(&mut self, now: Timestamp, n: usize) { let _ = (now, n); todo!() }
    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> { let _ = (now, budget); todo!() }
    fn handle_timeout(&mut self, now: Timestamp) { let _ = now; todo!() }
    fn wants(&self) -> Wants { todo!() }
    fn conn(&self) -> &Connection { self }
    fn conn_mut(&mut self) -> &mut Connection { self }
}
