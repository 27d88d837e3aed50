//! Counters, from day one.

/// Counters since the connection began. They only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls started (client) or received (server).
    pub calls: u64,
    /// Raw requests received.
    pub http_requests: u64,
    /// Octets received from the transport.
    pub octets_received: u64,
    /// Octets taken by the transport.
    pub octets_sent: u64,
    /// Messages received whole.
    pub messages_received: u64,
    /// Messages framed whole.
    pub messages_sent: u64,
    /// RST_STREAM frames received.
    pub resets_received: u64,
    /// RST_STREAM frames sent.
    pub resets_sent: u64,
    /// Requests refused with REFUSED_STREAM because the stream limit was reached.
    pub refused: u64,
    /// Calls that ended by their deadline.
    pub deadlines_passed: u64,
    /// PINGs received.
    pub pings_received: u64,
}
