//! The example service on a loop of one's own: std's sockets and `poll(2)`, no runtime.
//!
//! `pintle-core` is the state machine, `pintle-callback` hangs services and typed clients on it, `pintle-net` has the sockets. What is
//! left for a loop is to sleep until something happens, and to say which connection may go on: `poll-server`, `poll-client`.

pub mod post_office;

/// Messages, client and service trait of `tour.proto`.
#[allow(missing_docs, reason = "the .proto has them")]
pub mod generated {
    include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
}
pub use generated::tour;

use pintle_core::{Timestamp, Wants};
use pintle_net::now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{io, os::fd::AsFd};

/// A file to watch: with `wants.read` until it is readable, with `wants.write` until it is writable, in any case until it fails.
pub fn watch(file: &impl AsFd, wants: Wants) -> PollFd<'_> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, wants.read);
    flags.set(PollFlags::OUT, wants.write);
    PollFd::new(file, flags)
}

/// Waits until something happens to one of `files`, or until `deadline`. Answers what happened to each.
///
/// # Errors
/// `poll` failed: the system is out of memory.
pub fn sleep(mut files: Vec<PollFd<'_>>, deadline: Option<Timestamp>) -> io::Result<Vec<PollFlags>> {
    // A deadline that a `Timespec` cannot say is 292 thousand million years away: never.
    let patience = deadline.and_then(|at| Timespec::try_from(at.saturating_since(now())).ok());
    match poll(&mut files, patience.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(files.iter().map(PollFd::revents).collect()),
        Err(e) => Err(e.into()),
    }
}
