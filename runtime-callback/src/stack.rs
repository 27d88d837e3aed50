//! A connection's endpoint: the core alone, or layers around it.

use pintle_core::{Connection, Endpoint, Timestamp, Transmit, Wants};
use std::{fmt, sync::Arc};

/// Wraps each new connection's core in layers of one's own (TLS, a recorder): drivers know only [`Endpoint`].
pub type Layer = Arc<dyn Fn(Connection) -> Box<dyn Endpoint> + Send + Sync>;

/// An endpoint; the plain one costs no virtual call.
#[allow(clippy::large_enum_variant, reason = "the large one is the ordinary one")]
pub enum Stack {
    /// The core alone.
    Plain(Connection),
    /// The core in layers.
    Layered(Box<dyn Endpoint>),
}

impl Stack {
    /// The core, in its layers if there are any.
    #[must_use]
    pub fn new(core: Connection, layer: Option<&Layer>) -> Self {
        match layer {
            Some(layer) => Self::Layered(layer(core)),
            None => Self::Plain(core),
        }
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Layered(_) => "Layered",
        })
    }
}

macro_rules! on_either {
    ($stack:expr, $endpoint:ident => $do:expr) => {
        match $stack {
            Self::Plain($endpoint) => $do,
            Self::Layered($endpoint) => $do,
        }
    };
}

impl Endpoint for Stack {
    #[inline]
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        on_either!(self, endpoint => endpoint.recv_slice(now, octets));
    }
    fn recv_eof(&mut self, now: Timestamp) {
        on_either!(self, endpoint => endpoint.recv_eof(now));
    }
    #[inline]
    fn read_target(&mut self) -> Option<&mut [u8]> {
        on_either!(self, endpoint => endpoint.read_target())
    }
    fn filled(&mut self, now: Timestamp, n: usize) {
        on_either!(self, endpoint => endpoint.filled(now, n));
    }
    #[inline]
    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        on_either!(self, endpoint => endpoint.transmit(now, budget))
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        on_either!(self, endpoint => endpoint.handle_timeout(now));
    }
    #[inline(always)]
    fn wants(&self) -> Wants {
        on_either!(self, endpoint => endpoint.wants())
    }
    #[inline]
    fn conn(&self) -> &Connection {
        on_either!(self, endpoint => endpoint.conn())
    }
    #[inline]
    fn conn_mut(&mut self) -> &mut Connection {
        on_either!(self, endpoint => endpoint.conn_mut())
    }
}
