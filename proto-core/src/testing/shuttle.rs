//! Octets passed by hand, in phases: what one end has to say goes to the other whole before anybody
//! reacts. How it was cut on the way can then change nothing.

use super::{
    echo::{EchoClient, EchoServer},
    link::Cut,
    places::{Place, Places},
    referee::{CLIENT, SERVER},
    rng::Rng,
};
use crate::{Connection, Endpoint, Event, Timestamp};
use alloc::vec::Vec;
use core::time::Duration;

pub use crate::pair::pass;

/// What happened in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// The end that wrote.
    pub from: usize,
    /// What it wrote.
    pub octets: Vec<u8>,
    /// What the other end then told its application.
    pub events: Vec<Event>,
}

/// The echo service and its client, joined phase by phase.
#[derive(Debug)]
pub struct Shuttle {
    ends: [Connection; 2],
    now: Timestamp,
    input: Cut,
    output: Cut,
    rng: Rng,
    /// Every phase so far.
    pub phases: Vec<Phase>,
    /// Situations seen.
    pub places: Places,
}

impl Shuttle {
    /// Between these two, with these cuts of what is read and of what is written.
    #[must_use]
    pub fn new(client: Connection, server: Connection, now: Timestamp, input: Cut, output: Cut, seed: u64) -> Self {
        Self { ends: [client, server], now, input, output, rng: Rng::new(seed), phases: Vec::new(), places: Places::default() }
    }

    /// The connection at this end.
    pub fn conn(&mut self, end: usize) -> &mut Connection {
        &mut self.ends[end]
    }

    /// Runs phases in turns until both are silent or `most` phases have passed.
    pub fn run(&mut self, server: &mut EchoServer, client: &mut EchoClient, most: usize) {
        let mut silent = 0;
        for turn in 0..most {
            let from = turn % 2;
            let octets = self.collect(from);
            silent = if octets.is_empty() { silent + 1 } else { 0 };
            if silent == 2 {
                return;
            }
            self.feed(1 - from, &octets);
            let events = self.react(1 - from, server, client);
            self.phases.push(Phase { from, octets, events });
            self.now = self.now.saturating_add(Duration::from_micros(100));
        }
    }

    fn collect(&mut self, end: usize) -> Vec<u8> {
        let mut octets = Vec::new();
        loop {
            let mut out = self.ends[end].transmit(self.now, 64 << 10);
            if out.is_empty() {
                return octets;
            }
            let mut slices: [&[u8]; 4] = [&[]; 4];
            let used = out.chunks(&mut slices);
            let lent: usize = slices[..used].iter().map(|slice| slice.len()).sum();
            let mut left = self.output.take(&mut self.rng, lent);
            let written = left;
            self.places.hit_if(written < out.len(), Place::ShortWrite);
            for slice in &slices[..used] {
                let n = slice.len().min(left);
                octets.extend_from_slice(&slice[..n]);
                left -= n;
            }
            out.advance(written);
        }
    }

    fn feed(&mut self, end: usize, mut octets: &[u8]) {
        while !octets.is_empty() {
            let n = self.input.take(&mut self.rng, octets.len());
            let (piece, rest) = octets.split_at(n);
            octets = rest;
            self.places.hit_if(!rest.is_empty(), Place::FrameCut);
            let mut piece = piece;
            if self.input != Cut::Whole
                && self.rng.chance(500)
                && let Some(target) = self.ends[end].read_target()
            {
                let (front, back) = piece.split_at(target.len().min(piece.len()));
                target[..front.len()].copy_from_slice(front);
                self.ends[end].filled(self.now, front.len());
                self.places.hit(Place::ReadTarget);
                piece = back;
            }
            if !piece.is_empty() {
                self.ends[end].recv_slice(self.now, piece);
            }
        }
    }

    fn react(&mut self, end: usize, server: &mut EchoServer, client: &mut EchoClient) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.ends[end].poll_event() {
            events.push(event);
            match end {
                CLIENT => client.on_event(&mut self.ends[CLIENT], event),
                _ => server.on_event(&mut self.ends[SERVER], event),
            }
        }
        events
    }
}
