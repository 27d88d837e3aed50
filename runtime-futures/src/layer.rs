//! Layers of the application's own around each connection's core.

use pintle_core::{Connection, Endpoint, Timestamp, Transmit, Wants};
use std::{fmt, sync::Arc};

/// Wraps each new connection's core in layers of one's own, such as TLS or a recorder. Clones are the same.
#[derive(Clone)]
pub struct Layer(Arc<dyn Fn(Connection) -> Layered + Send + Sync>);

/// A connection in its layers.
pub struct Layered(Box<dyn Endpoint + Send>);

impl Layer {
    /// `wrap` is called for each connection.
    pub fn new<E: Endpoint + Send + 'static>(wrap: impl Fn(Connection) -> E + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |connection| Layered(Box::new(wrap(connection)))))
    }

    /// A connection in its layers.
    #[must_use]
    pub fn wrap(&self, connection: Connection) -> Layered {
        (self.0)(connection)
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Layer")
    }
}

impl fmt::Debug for Layered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Layered")
    }
}

impl Endpoint for Layered {
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        self.0.recv_slice(now, octets);
    }
    fn recv_eof(&mut self, now: Timestamp) {
        self.0.recv_eof(now);
    }
    fn read_target(&mut self) -> Option<&mut [u8]> {
        self.0.read_target()
    }
    fn filled(&mut self, now: Timestamp, n: usize) {
        self.0.filled(now, n);
    }
    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        self.0.transmit(now, budget)
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        self.0.handle_timeout(now);
    }
    fn wants(&self) -> Wants {
        self.0.wants()
    }
    fn conn(&self) -> &Connection {
        self.0.conn()
    }
    fn conn_mut(&mut self) -> &mut Connection {
        self.0.conn_mut()
    }
}
