//! What a test may see of a connection's inside: numbers only, taken at one moment.

use crate::CallId;
use alloc::vec::Vec;

/// The inside of a [`Connection`](crate::Connection), from `Connection::probe`.
///
/// What must hold of it at every moment, for the connection and for each call whose peer may still send:
/// `recv_window + recv_pending (+ recv_held) == recv_target`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probe {
    /// Octets of DATA that the peer's connection window lets us send. Never negative (RFC 9113 §6.9.2 changes only stream windows).
    pub send_window: i64,
    /// Octets of DATA that the peer may still send by what we have framed so far.
    pub recv_window: i64,
    /// Octets of connection credit owed to the peer and not framed yet.
    pub recv_pending: i64,
    /// The size of our connection window: `recv_window + recv_pending` equals it always, because
    /// connection credit is owed as soon as the octets are in.
    pub recv_target: i64,
    /// Octets of received messages and bodies that the application has not taken.
    pub recv_held: u64,
    /// Octets of `Config::recv_budget` that are granted or held.
    pub recv_budget_used: u64,
    /// Octets framed and not yet taken by the transport.
    pub staged: u64,
    /// Octets of messages and bodies that wait to be framed.
    pub queued: u64,
    /// Streams that are open or half-closed on the wire.
    pub open_streams: u32,
    /// Client: calls that wait for a stream.
    pub queued_calls: u32,
    /// Entries of the list of calls that were refused room and are to be told of it; at most one for each slot.
    pub waiting_for_room: u32,
    /// Slots in use, calls included that have ended and were not released.
    pub slots: u32,
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS (`u32::MAX`: no limit).
    pub peer_max_streams: u32,
    /// Our HPACK encoder's dynamic table.
    pub encoder: TableProbe,
    /// Our HPACK decoder's dynamic table.
    pub decoder: TableProbe,
    /// Every call and raw stream that has a stream on the wire.
    pub streams: Vec<StreamProbe>,
}

/// One HPACK dynamic table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableProbe {
    /// Its fields, newest first.
    pub entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// Octets by the name + value + 32 rule.
    pub size: u32,
}

/// One stream on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamProbe {
    /// Its HTTP/2 stream identifier.
    pub wire_id: u32,
    /// The call it carries; `None` for a raw stream.
    pub call: Option<CallId>,
    /// Octets that the peer lets us send on it; negative after a lowered SETTINGS_INITIAL_WINDOW_SIZE.
    pub send_window: i64,
    /// Octets that the peer may still send on it by what we have framed so far.
    pub recv_window: i64,
    /// Octets of credit owed for it and not framed yet.
    pub recv_pending: i64,
    /// Octets received on it that the application has not taken.
    pub recv_held: u64,
    /// The size of its window, grants for large messages included.
    pub recv_target: i64,
    /// Octets that wait to be framed.
    pub queued: u64,
    /// We have sent END_STREAM or RST_STREAM.
    pub local_closed: bool,
    /// The peer has sent END_STREAM or RST_STREAM.
    pub remote_closed: bool,
}
