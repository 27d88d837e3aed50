//! A peer that speaks HTTP/2 by hand, frame for frame, right or wrong, to one [`Connection`].

use super::{link::Cut, rng::Rng, wire::*};
use crate::{Config, Connection, Endpoint, Event, Routes, Timestamp};
use alloc::vec::Vec;
use core::time::Duration;

/// A request's header block: `POST http /S/M`, authority `x`, `application/grpc`, `te: trailers`. All
/// literals are without indexing but the last two, so that it can be sent any number of times.
pub const REQUEST: &[u8] = b"\x83\x86\x44\x04/S/M\x41\x01x\x5f\x10application/grpc\x40\x02te\x08trailers";
/// A response's head: `:status 200`, `application/grpc`.
pub const RESPONSE: &[u8] = b"\x88\x5f\x10application/grpc";
/// Trailers: `grpc-status: 0`.
pub const TRAILERS_OK: &[u8] = b"\x40\x0bgrpc-status\x010";

/// A whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its head.
    pub head: Head,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The 32-bit number at this octet of the payload; 0 where there is none.
    #[must_use]
    pub fn word(&self, at: usize) -> u32 {
        word(&self.payload, at)
    }
}

/// Cuts octets into whole frames.
///
/// # Panics
/// If they do not end with a frame.
#[must_use]
pub fn frames(mut octets: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = octets.split_first_chunk::<9>() {
        let head = Head::parse(head);
        let (payload, rest) = rest.split_at(head.len as usize);
        frames.push(Frame { head, payload: payload.to_vec() });
        octets = rest;
    }
    assert!(octets.is_empty(), "octets after the last whole frame: {octets:02x?}");
    frames
}

/// Plays the other end of one connection.
#[derive(Debug)]
pub struct RawPeer {
    /// The connection under test.
    pub conn: Connection,
    /// The virtual clock.
    pub now: Timestamp,
    cut: Cut,
    rng: Rng,
    preface: usize,
    /// Output not cut into frames yet.
    pending: Vec<u8>,
}

impl RawPeer {
    /// A client by hand, against a server that has seen no octet yet.
    #[must_use]
    pub fn client(config: &Config, routes: Routes, cut: Cut, seed: u64) -> Self {
        let now = Timestamp::from_micros(1_000_000);
        Self::new(Connection::server(config, routes, now), now, cut, seed, 0)
    }

    /// A server by hand, against a client that has seen no octet yet.
    #[must_use]
    pub fn server(config: &Config, cut: Cut, seed: u64) -> Self {
        let now = Timestamp::from_micros(1_000_000);
        Self::new(Connection::client(config, now), now, cut, seed, PREFACE.len())
    }

    fn new(conn: Connection, now: Timestamp, cut: Cut, seed: u64, preface: usize) -> Self {
        Self { conn, now, cut, rng: Rng::new(seed), preface, pending: Vec::new() }
    }

    /// Both sides' SETTINGS and their acknowledgements; ours have these entries. What the connection had to say goes unseen.
    pub fn handshake(&mut self, entries: &[(u16, u32)]) -> &mut Self {
        if self.preface == 0 {
            self.send(PREFACE);
        }
        self.send(&settings(entries)).send(&settings_ack());
        self.output();
        self
    }

    /// Gives octets to the connection, cut as this peer cuts; the ways in take turns.
    pub fn send(&mut self, mut octets: &[u8]) -> &mut Self {
        while !octets.is_empty() {
            let n = self.cut.take(&mut self.rng, octets.len());
            let (mut piece, rest) = octets.split_at(n);
            octets = rest;
            if self.cut != Cut::Whole
                && self.rng.chance(300)
                && let Some(target) = self.conn.read_target()
            {
                let (front, back) = piece.split_at(target.len().min(piece.len()));
                target[..front.len()].copy_from_slice(front);
                self.conn.filled(self.now, front.len());
                piece = back;
            }
            if !piece.is_empty() {
                self.conn.recv_slice(self.now, piece);
            }
        }
        self
    }

    /// HEADERS in one frame.
    pub fn headers(&mut self, stream: u32, end: bool, block: &[u8]) -> &mut Self {
        let flags = END_HEADERS | if end { END_STREAM } else { 0 };
        self.send(&frame(HEADERS, flags, stream, block))
    }

    /// DATA in one frame.
    pub fn data(&mut self, stream: u32, end: bool, octets: &[u8]) -> &mut Self {
        self.send(&frame(DATA, u8::from(end), stream, octets))
    }

    /// The transport ends.
    pub fn eof(&mut self) -> &mut Self {
        self.conn.recv_eof(self.now);
        self
    }

    /// Time passes.
    pub fn advance(&mut self, time: Duration) -> &mut Self {
        self.now = self.now.saturating_add(time);
        self.conn.handle_timeout(self.now);
        self
    }

    /// The next event; none is skipped.
    pub fn event(&mut self) -> Option<Event> {
        self.conn.poll_event()
    }

    /// Every event that waits.
    pub fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.conn.poll_event()).collect()
    }

    /// Takes everything that the connection wants to write, as octets.
    pub fn output_octets(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        loop {
            let mut out = self.conn.transmit(self.now, 64 << 10);
            let start = octets.len();
            octets.resize(start + out.len(), 0);
            let n = out.copy_to(&mut octets[start..]);
            octets.truncate(start + n);
            if n == 0 {
                return octets;
            }
        }
    }

    /// Takes everything that the connection wants to write, as frames, without the preface.
    pub fn output(&mut self) -> Vec<Frame> {
        let octets = self.output_octets();
        let skipped = self.preface.min(octets.len());
        self.preface -= skipped;
        self.pending.extend_from_slice(&octets[skipped..]);
        frames(&core::mem::take(&mut self.pending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found() {
        let octets = [settings(&[(1, 2)]), window_update(3, 4)].concat();
        let found = frames(&octets);
        assert_eq!((found.len(), found[1].head.stream, found[1].word(0)), (2, 3, 4));
    }

    /// The block is the one that bug reports quote: 42 octets.
    #[test]
    fn the_request_is_42_octets() {
        assert_eq!(REQUEST.len(), 42);
    }
}
