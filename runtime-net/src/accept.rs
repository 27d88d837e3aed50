//! What an error of `accept` means for the loop that accepts.

use std::{io, time::Duration};

const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// What to do after `accept` failed. Only [`Fatal`](Self::Fatal) ends a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptError {
    /// One connection was lost before it was accepted: accept the next at once.
    Retry,
    /// The process or the machine is short of descriptors or memory: leave the listener alone for this long, then
    /// accept again. With edge-triggered readiness the driver must do so unasked: no new edge will come.
    BackOff(Duration),
    /// The listener itself is broken: report the error and drop it.
    Fatal,
}

/// Judges an error of `accept`, `failures` being how many came in a row before it (the pause doubles with each, 50 ms to 1 s).
///
/// `WouldBlock` is no error but the end of the queue: match it before asking here.
#[must_use]
pub fn accept_error(error: &io::Error, failures: u32) -> AcceptError {
    use io::ErrorKind as K;
    // accept(2): errors already pending on the new socket are reported by accept and mean only that connection.
    let lost = [
        K::ConnectionAborted,
        K::ConnectionReset,
        K::Interrupted,
        K::TimedOut,
        K::HostUnreachable,
        K::NetworkUnreachable,
        K::NetworkDown,
        K::PermissionDenied,
    ];
    if lost.contains(&error.kind()) {
        return AcceptError::Retry;
    }
    // EBADF has the number 9 on every Unix; EINVAL: not listening (any more).
    if error.kind() == K::InvalidInput || error.raw_os_error() == Some(9) {
        return AcceptError::Fatal;
    }
    // EMFILE, ENFILE, ENOBUFS, ENOMEM; and whatever we do not know must neither end the server nor spin.
    AcceptError::BackOff((SHORTEST * (1 << failures.min(5))).min(LONGEST))
}
