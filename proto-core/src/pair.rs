//! Two endpoints in one process, joined without a socket: tests, programs that are client and server at once.
//!
//! ```
//! use pintle_core::{bytes::Bytes, pair::Line, *};
//! let now = Timestamp::from_micros(0);
//! let routes = Routes::new([("/echo.Echo/Unary", Shape::Unary)])?;
//! let mut client = Connection::client(&Config::default(), now);
//! let mut server = Connection::server(&Config::default(), routes, now);
//! let mut line = Line::new();
//!
//! let call = client.start(now, RequestHead::new("/echo.Echo/Unary", Shape::Unary), CallOptions::default())?;
//! client.call(call)?.send(Bytes::from_static(b"hello").into()).unwrap();
//! line.exchange(now, &mut client, &mut server);
//!
//! let Some(Event::Incoming { call: incoming }) = server.poll_event() else { panic!("a request came") };
//! server.accept(incoming, Token(1)).unwrap();
//! server.call(incoming)?.finish(&Status::not_found("nobody here"), None);
//! line.exchange(now, &mut client, &mut server);
//!
//! assert!(matches!(client.call(call)?.recv(), Recv::End));
//! let outcome = client.call(call)?.take_outcome().unwrap();
//! assert_eq!(outcome.status.code(), Code::NotFound);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{Endpoint, Timestamp};

/// Octets that `transmit` is asked for at once.
const BUDGET: usize = 64 << 10;
/// Slices of them handed on at once.
const SLICES: usize = 16;

/// What joins two endpoints. It holds no octets: what one lends, the other takes at once, as the same memory.
///
/// A program owns both and calls [`exchange`](Self::exchange) after it worked on either; then it drains the events of both.
/// Windows and queues hold back a fast end as they do on a socket.
#[derive(Debug, Default)]
pub struct Line {
    /// The end of input was told to the first, to the second.
    ended: [bool; 2],
}

impl Line {
    /// A line that carried nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Does all that can be done at `now`: what is due, and octets both ways until neither end has more that the other takes.
    /// When one is finished, the other is told the end of input. Returns how many octets passed.
    ///
    /// Events wait in both ends then; nothing needs to be done in between.
    pub fn exchange<A: Endpoint + ?Sized, B: Endpoint + ?Sized>(&mut self, now: Timestamp, a: &mut A, b: &mut B) -> usize {
        time_out(now, a);
        time_out(now, b);
        let mut passed = 0;
        loop {
            let round = pass(now, a, b) + pass(now, b, a);
            passed += round;
            let told = self.tell_end(0, now, b, a) | self.tell_end(1, now, a, b);
            if round == 0 && !told {
                return passed;
            }
        }
    }

    /// When [`exchange`](Self::exchange) must be called again although nobody worked on either end. `None`: no need.
    #[must_use]
    pub fn deadline<A: Endpoint + ?Sized, B: Endpoint + ?Sized>(a: &A, b: &B) -> Option<Timestamp> {
        [a.wants().deadline, b.wants().deadline].into_iter().flatten().min()
    }

    /// Both ends are closed: nothing will pass any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.ended == [true; 2]
    }

    /// A transport ends when the end that writes to it is finished.
    fn tell_end<A: Endpoint + ?Sized, B: Endpoint + ?Sized>(&mut self, to: usize, now: Timestamp, from: &A, end: &mut B) -> bool {
        if self.ended[to] || !from.conn().is_finished() || from.wants().write {
            return false;
        }
        self.ended[to] = true;
        end.recv_eof(now);
        true
    }
}

fn time_out<E: Endpoint + ?Sized>(now: Timestamp, end: &mut E) {
    if end.wants().deadline.is_some_and(|at| at <= now) {
        end.handle_timeout(now);
    }
}

/// Gives what `from` has to write to `to` until it has no more, or `to` reads no more; returns how many octets. Neither
/// reacts in between.
pub fn pass<A: Endpoint + ?Sized, B: Endpoint + ?Sized>(now: Timestamp, from: &mut A, to: &mut B) -> usize {
    let mut passed = 0;
    while to.wants().read {
        let mut out = from.transmit(now, BUDGET);
        let mut slices: [&[u8]; SLICES] = [&[]; SLICES];
        let used = out.chunks(&mut slices);
        let mut octets = 0;
        for slice in &slices[..used] {
            to.recv_slice(now, slice);
            octets += slice.len();
        }
        if octets == 0 {
            break;
        }
        out.advance(octets);
        passed += octets;
    }
    passed
}
