//! The executor that is there without being brought: what `smol::spawn` has, without the rest of smol. And what needs it.

use crate::{Channel, Config, Connect, ConnectError, Connection, Endpoint, Global, Smol, SmolIo, Spawner};
use async_executor::Executor;
use futures_lite::{AsyncRead, AsyncWrite};
use std::{
    future::{Future, pending},
    sync::Once,
    thread,
};

/// Connects to `host:port` or `unix:/path` with the default settings; [`Connect`] has the others.
///
/// The channel connects again by itself: when its connection is lost, the next call makes another. Its task runs on
/// [`Global`]; for another executor see [`Connect::on`].
///
/// # Errors
/// See [`ConnectError`].
pub async fn connect(address: &str) -> Result<Channel, ConnectError> {
    Connect::new(address)?.connect().await
}

/// A channel over any stream: a pipe, TLS, a socket that the application connected. It cannot connect again. For another
/// executor than [`Global`] see [`Channel::over`].
///
/// A TCP stream should have TCP_NODELAY (`set_nodelay(true)`), as the adapters give their own: without it small calls
/// wait for the peer's delayed acknowledgement, some 40 ms.
#[must_use]
pub fn connect_with<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(io: S, config: &Config) -> Channel {
    Channel::over(&Smol::default(), SmolIo(io), config)
}

/// A channel over any stream through a layer on the [`Endpoint`] seam, such as TLS or a recorder. For another
/// executor than [`Global`] see [`Channel::layered`].
#[must_use]
pub fn connect_layered<S, E>(io: S, config: &Config, layer: impl FnOnce(Connection) -> E) -> Channel
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    E: Endpoint + Send + 'static,
{
    Channel::layered(&Smol::default(), SmolIo(io), config, layer)
}

static EXECUTOR: Executor<'static> = Executor::new();
static STARTED: Once = Once::new();

impl Default for Smol<Global> {
    fn default() -> Self {
        Self::with(Global)
    }
}

impl Spawner for Global {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        STARTED.call_once(start);
        EXECUTOR.spawn(task).detach();
    }
}

fn start() {
    let wanted = std::env::var("SMOL_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for number in 1..=wanted.clamp(1, 1_000) {
        let run = || async_io::block_on(EXECUTOR.run(pending::<()>()));
        let started = thread::Builder::new().name(format!("pintle-smol-{number}")).spawn(run);
        // Fewer than wanted do the same work; none at all does nothing, and a server must not go on like that.
        assert!(started.is_ok() || number > 1, "the system refuses a thread for the executor: {started:?}");
    }
}
