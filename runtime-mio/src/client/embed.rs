//! A client inside somebody else's loop.

use super::{Connect, ConnectError, driver::Line};
use crate::{link::IntoSocket, tokens::Tokens, wake::Bell};
use mio::{Registry, Token, event::Event};
use pintle_callback::{Client, Engine};
use pintle_net::now;
use std::{fmt, ops::RangeBounds, time::Duration};

/// Tokens that a client needs.
const TOKENS: usize = 2;

impl Connect {
    /// Connects a client that lives in a loop of yours: the [`Client`] makes calls, the [`EmbeddedClient`] is for the loop. It takes the
    /// first two tokens of `tokens`: `10..12`.
    ///
    /// Connecting waits, for [`timeout`](Self::timeout) at most. In a loop that must not wait give
    /// [`embed_over`](Self::embed_over) a socket that is connected, or about to be.
    ///
    /// # Errors
    /// See [`ConnectError`]. `Io` also when the range has fewer than two tokens.
    pub fn embed(
        mut self,
        address: &str,
        registry: &Registry,
        tokens: impl RangeBounds<usize>,
    ) -> Result<(Client, EmbeddedClient), ConnectError> {
        let socket = self.dial(address)?;
        self.embed_over(socket, registry, tokens)
    }

    /// The same over a stream that is connected already. On Linux it may also be a `mio` stream that is still connecting: what is sent
    /// waits, and if it cannot connect, calls end with UNAVAILABLE.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub fn embed_over(
        self,
        io: impl IntoSocket,
        registry: &Registry,
        tokens: impl RangeBounds<usize>,
    ) -> Result<(Client, EmbeddedClient), ConnectError> {
        let tokens = Tokens::new(&tokens, TOKENS)?;
        let (first, second) = (tokens.first, tokens.first + 1);
        let (config, layer) = self.settings()?;
        let line = Line::new(io.into_socket()?, &config, layer.as_ref(), registry, Token(first))?;
        let (bell, ring) = Bell::new(registry, Token(second))?;
        let (client, engine) = Client::new(ring);
        let registry = registry.try_clone()?;
        let live = Some(Live { line, engine, bell, registry });
        Ok((client, EmbeddedClient { live, tokens: Tokens { first, last: second } }))
    }
}

/// What the loop of a [`Client`] must do for it. Made by [`Connect::embed`], used as [the crate's documentation](crate#inside-your-own-loop)
/// shows.
///
/// Callbacks (`on_done`) run in [`turn`](Self::turn), on the loop's thread. There nothing can wait for an answer: `wait` ends its call with
/// INTERNAL. Streams are asked after each turn, by `try_next`, `try_send` and `try_finish`, which never wait. Other threads may use clones of
/// the client as they like.
///
/// Dropped, it ends the connection, and all calls with UNAVAILABLE.
pub struct EmbeddedClient {
    /// `None`: the connection is over, everybody was told, and the socket is closed.
    live: Option<Live>,
    tokens: Tokens,
}

struct Live {
    line: Line,
    engine: Engine,
    bell: Bell,
    registry: Registry,
}

impl EmbeddedClient {
    /// Takes an event, if it is for this client. Nothing happens before [`turn`](Self::turn).
    pub fn handle(&mut self, event: &Event) -> bool {
        let index = self.tokens.index(event.token());
        match (index, &mut self.live) {
            (Some(0), Some(live)) => live.line.ready(event),
            (Some(_), Some(live)) => live.bell.silence(),
            _ => {}
        }
        index.is_some()
    }

    /// Starts calls, reads, writes, ends calls whose deadline has come, runs callbacks. To be called once after the events of each poll,
    /// also if there were none.
    pub fn turn(&mut self) {
        let Some(Live { line, engine, .. }) = &mut self.live else { return };
        let now = now();
        engine.execute(line.core(), now);
        line.advance(now);
        engine.dispatch(line.core());
        // Messages that were taken make room, which the server wants to know of.
        line.flush(now);
        if line.is_over()
            && let Some(mut live) = self.live.take()
        {
            live.line.deregister(&live.registry);
            live.engine.end(live.line.core());
        }
    }

    /// How long nothing needs to be done: the longest that the next poll may take, as far as this client is concerned. `None`: until
    /// something happens.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.live.as_ref().and_then(|live| live.line.wait(now()))
    }

    /// The connection is over, and all its calls have ended; new ones end with UNAVAILABLE. Connect again. Also when the last clone of the
    /// client was dropped and running calls are done.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.live.is_none()
    }
}

impl Drop for EmbeddedClient {
    fn drop(&mut self) {
        if let Some(live) = &mut self.live {
            live.line.deregister(&live.registry);
        }
    }
}

impl fmt::Debug for EmbeddedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedClient").field("tokens", &self.tokens).field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
