//! The layer that writes a tape.

use super::{Detail, NotFresh};
use crate::{Connection, Endpoint, Timestamp, Transmit, Wants};
use alloc::vec::Vec;

/// Where a tape goes. Std programs find one for `io::Write` in the crate `pintle-recorder`.
pub trait Sink {
    /// Takes the next octets of the tape, all of them.
    ///
    /// # Errors
    /// The sink takes no more; the recorder then stops recording, and the connection goes on.
    fn put(&mut self, octets: &[u8]) -> Result<(), SinkFailed>;
}

/// A sink takes no more. Why is the sink's to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkFailed;

impl core::fmt::Display for SinkFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the sink of a recorder takes no more")
    }
}
impl core::error::Error for SinkFailed {}

/// Keeps the tape in memory; it grows without bound.
impl Sink for Vec<u8> {
    fn put(&mut self, octets: &[u8]) -> Result<(), SinkFailed> {
        self.extend_from_slice(octets);
        Ok(())
    }
}

impl<S: Sink> Sink for &mut S {
    fn put(&mut self, octets: &[u8]) -> Result<(), SinkFailed> {
        (**self).put(octets)
    }
}

/// An endpoint that writes down what goes in. See the [module](super).
///
/// The sink gets the records of an input when the input is done, and those of operations with the next use of the endpoint;
/// between them at most [`BUFFER`](super::BUFFER) octets wait. A recorder that is dropped hands over what is left, also
/// while a panic unwinds.
#[derive(Debug)]
pub struct Recorder<E: Endpoint, S: Sink> {
    /// `None` only after `into_parts`.
    parts: Option<(E, S)>,
    recording: Result<(), Silence>,
}

/// Why a recorder records nothing (more).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    NotFresh,
    Sink,
}

impl<E: Endpoint, S: Sink> Recorder<E, S> {
    /// Records all that `endpoint` is given from now on. It must be fresh: made, and not used yet. Another one works as before and
    /// is not recorded; [`is_recording`](Self::is_recording) tells.
    #[must_use]
    pub fn new(endpoint: E, sink: S) -> Self {
        Self::with_detail(endpoint, sink, Detail::Octets)
    }

    /// The same, with a choice of what is kept of the octets that leave.
    #[must_use]
    pub fn with_detail(mut endpoint: E, sink: S, detail: Detail) -> Self {
        let recording = endpoint.conn_mut().start_tape(detail).map_err(|NotFresh| Silence::NotFresh);
        let mut recorder = Self { parts: Some((endpoint, sink)), recording };
        recorder.flush();
        recorder
    }

    /// False: the endpoint was not fresh, the sink failed, or more than [`BUFFER`](super::BUFFER) octets of records gathered
    /// at once. The endpoint works all the same.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.recording.is_ok() && self.parts.as_ref().is_some_and(|(endpoint, _)| endpoint.conn().is_taped())
    }

    /// Why nothing is recorded (any more), in words. `None`: recording goes on.
    #[must_use]
    pub fn stopped(&self) -> Option<&'static str> {
        match self.recording {
            Err(Silence::NotFresh) => Some("the connection was used before the recorder was put on it"),
            Err(Silence::Sink) => Some("the sink failed"),
            Ok(()) if !self.is_recording() => Some("more operations between two inputs than the recorder holds back"),
            Ok(()) => None,
        }
    }

    /// Hands all records to the sink now.
    pub fn flush(&mut self) {
        let Some((endpoint, sink)) = &mut self.parts else { return };
        if self.recording.is_err() {
            return;
        }
        let conn = endpoint.conn_mut();
        if conn.drain_tape(|octets| sink.put(octets)).is_err() {
            self.recording = Err(Silence::Sink);
            conn.stop_tape();
        }
    }

    /// Ends the recording: the endpoint, not recorded any more, and the sink, which has everything.
    ///
    /// # Panics
    /// Never: only this takes the parts out.
    #[must_use]
    pub fn into_parts(mut self) -> (E, S) {
        self.flush();
        let (mut endpoint, sink) = self.parts.take().expect("only `into_parts` takes them");
        endpoint.conn_mut().stop_tape();
        (endpoint, sink)
    }

    /// The sink.
    pub fn sink(&self) -> &S {
        &self.parts.as_ref().expect("only `into_parts` takes them").1
    }

    fn inner(&mut self) -> &mut E {
        &mut self.parts.as_mut().expect("only `into_parts` takes them").0
    }

    fn flushed(&mut self) -> &mut E {
        self.flush();
        self.inner()
    }
}

impl<E: Endpoint, S: Sink> Drop for Recorder<E, S> {
    fn drop(&mut self) {
        self.flush();
    }
}

impl<E: Endpoint, S: Sink> Endpoint for Recorder<E, S> {
    fn recv_slice(&mut self, now: Timestamp, octets: &[u8]) {
        self.inner().recv_slice(now, octets);
        self.flush();
    }

    fn recv_eof(&mut self, now: Timestamp) {
        self.inner().recv_eof(now);
        self.flush();
    }

    fn read_target(&mut self) -> Option<&mut [u8]> {
        self.inner().read_target()
    }

    fn filled(&mut self, now: Timestamp, n: usize) {
        self.inner().filled(now, n);
        self.flush();
    }

    fn transmit(&mut self, now: Timestamp, budget: usize) -> Transmit<'_> {
        self.flushed().transmit(now, budget)
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.inner().handle_timeout(now);
        self.flush();
    }

    fn wants(&self) -> Wants {
        self.parts.as_ref().expect("only `into_parts` takes them").0.wants()
    }

    fn conn(&self) -> &Connection {
        self.parts.as_ref().expect("only `into_parts` takes them").0.conn()
    }

    fn conn_mut(&mut self) -> &mut Connection {
        self.flushed().conn_mut()
    }
}
