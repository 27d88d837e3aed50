//! The seam between drivers and protocol: drivers know only [`Endpoint`].

use crate::{Connection, Timestamp, tx::Transmit};

/// What a connection is waiting for. `read`, `write` and `event` are exact; `deadline` is a lower bound, never late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Wants {
    /// Octets may be read and given to `recv_slice`. False: too much control output waits, or input has ended.
    pub read: bool,
    /// `transmit` would lend at least one octet.
    pub write: bool,
    /// `poll_event` would answer `Some`.
    pub event: bool,
    /// When to call `handle_timeout` at the latest.
    pub deadline: Option<Timestamp>,
}

/// A source and sink of octets with a [`Connection`] at its heart.
///
/// [`Connection`] implements it; layers (TLS, a proxy handshake, a recorder) wrap another `Endpoint`.
pub trait Endpoint {
    /// Octets came in. All of them are consumed.
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]);
    /// The transport's input ended, or failed.
    fn recv_eof(&mut self, now: Timestamp);
    /// Where the rest of a large message may be read to directly; report with [`filled`](Self::filled).
    fn read_target(&mut self) -> Option<&mut [u8]>;
    /// `n` octets were written to the front of the last `read_target`.
    fn filled(&mut self, now: Timestamp, n: usize);
    /// Frames up to about `budget` octets and lends them. What is not advanced is lent again.
    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_>;
    /// Time passed: does what is due at `now`, nothing if that is early.
    fn handle_timeout(&mut self, now: Timestamp);
    /// What now? O(1).
    fn wants(&self) -> Wants;
    /// The connection at the heart, for calls and events.
    fn conn(&self) -> &Connection;
    /// The connection at the heart, for calls and events.
    fn conn_mut(&mut self) -> &mut Connection;
}
