//! How other threads wake a loop that is not ours: its owner may have a `Waker`, and mio allows one per `Poll`.

use mio::{Interest, Registry, Token, net::UnixStream};
use std::io::{self, Read};

/// The end that the loop hears.
#[derive(Debug)]
pub(crate) struct Bell(UnixStream);

impl Bell {
    /// A bell whose events come with `token`, and what rings it.
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<(Self, impl Fn() + Send + Sync + 'static)> {
        let (bell, ring) = pintle_net::bell()?;
        let mut bell = UnixStream::from_std(bell);
        registry.register(&mut bell, token, Interest::READABLE)?;
        Ok((Self(bell), ring))
    }

    /// It was heard.
    pub(crate) fn silence(&mut self) {
        // A ring is one octet, and the mailbox rings once until it is emptied.
        let mut rings = [0; 64];
        while self.0.read(&mut rings).is_ok_and(|n| n > 0) {}
    }
}
