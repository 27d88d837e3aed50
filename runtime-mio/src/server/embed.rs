//! A server inside somebody else's loop.

use super::{ServeError, Server, ShutdownHandle, start, turn::Loop};
use crate::{tokens::Tokens, wake::Bell};
use mio::{Registry, Token, event::Event};
use pintle_net::{Address, now};
use std::{fmt, ops::RangeBounds, time::Duration};

impl Server {
    /// Starts it in a loop of yours, on this thread. It takes the tokens of `tokens`: one to be woken by, one for each listener, and
    /// one for each connection; so a range that ends (`100..200`) limits connections, and `100..` does not.
    ///
    /// It is one loop, whatever [`loops`](Self::loops) says.
    ///
    /// # Errors
    /// No listener, a [`Config`](crate::Config) out of range, a method that is there twice, or the system's refusal. `Io` also when the
    /// range has no token for connections.
    pub fn embed(mut self, registry: &Registry, tokens: impl RangeBounds<usize>) -> Result<EmbeddedServer, ServeError> {
        let taken = self.listeners.len() + 1;
        let tokens = Tokens::new(&tokens, taken + 1)?;
        let room = (tokens.last - tokens.first).saturating_add(1) - taken;
        self.setup.max_connections = self.setup.max_connections.min(room);
        self.loops = 1;
        let (mut shares, running, setup) = self.share()?;
        let (bell, ring) = Bell::new(registry, Token(tokens.last))?;
        let inner = start(setup, shares.remove(0), &running.control, registry.try_clone()?, tokens, ring)?;
        Ok(EmbeddedServer { inner, bell, tokens, addresses: running.addresses, control: running.control })
    }
}

/// What a loop must do for the server that lives in it. Made by [`Server::embed`], used as
/// [the crate's documentation](crate#inside-your-own-loop) shows.
///
/// Services run in [`turn`](Self::turn), on the loop's thread; their handles may be used from any.
///
/// Dropped, it ends its connections without a word; [`shutdown`](Self::shutdown) is the friendly way.
pub struct EmbeddedServer {
    inner: Loop,
    bell: Bell,
    tokens: Tokens,
    addresses: Vec<Address>,
    control: ShutdownHandle,
}

impl EmbeddedServer {
    /// Takes an event, if it is for this server. Nothing happens before [`turn`](Self::turn).
    pub fn handle(&mut self, event: &Event) -> bool {
        let ours = self.tokens.index(event.token()).is_some();
        if event.token() == Token(self.tokens.last) {
            self.bell.silence();
        }
        if ours {
            self.inner.ready(event);
        }
        ours
    }

    /// Accepts, reads, runs services, writes: of each connection a fair share. To be called once after the events of each poll, also if
    /// there were none.
    pub fn turn(&mut self) {
        self.inner.turn();
    }

    /// How long nothing needs to be done: the longest that the next poll may take, as far as this server is concerned. `None`: until
    /// something happens.
    #[must_use]
    pub fn timeout(&mut self) -> Option<Duration> {
        self.inner.wait(now())
    }

    /// Where it listens, in the order of [`Server::listen`], with the real ports.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<Address> {
        self.addresses.clone()
    }

    /// Ends it from anywhere. On the loop's own thread: [`shutdown`](Self::shutdown).
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.control.clone()
    }

    /// Begins to end it: see [`ShutdownHandle::shutdown`]. Go on with the loop until it [`is_finished`](Self::is_finished).
    pub fn shutdown(&self, grace: Duration) {
        self.control.shutdown(grace);
    }

    /// It was shut down, and its last connection is closed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.inner.is_over()
    }
}

impl fmt::Debug for EmbeddedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedServer").field("tokens", &self.tokens).field("addresses", &self.addresses).finish_non_exhaustive()
    }
}
