//! Clients: a channel is a handle on one connection's task, made again when it is lost and a call needs it.

mod call;
mod task;

pub use call::{
    Bidi, BidiCall, CallBuilder, ClientStreaming, ClientStreamingCall, Opening, Reply, Response, ServerStreaming, ServerStreamingCall,
    Unary, UnaryCall, WithResponse,
};

use crate::{
    cell::CallCell,
    layer::Layer,
    message,
    queue::{Command, Queue},
    runtime::{Io, Runtime},
};
use pintle_core::{Config, Connection, Endpoint, Shape, Status, codec::Codec};
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A connection to a server, shared by its clones.
///
/// Calls are started in any task. When the connection is lost, running calls end with UNAVAILABLE and the next call
/// connects again (if the channel knows how). When the last clone is dropped, running calls may finish and the
/// connection is closed after them.
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
}

/// How a channel's connections are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChannelOptions {
    /// The HTTP/2 and gRPC settings.
    pub config: Config,
    /// How long an attempt to connect may take. Default 10 s.
    pub connect_timeout: Duration,
    /// Around each connection's core. Default: nothing.
    pub layer: Option<Layer>,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self { config: Config::default(), connect_timeout: Duration::from_secs(10), layer: None }
    }
}

/// A connection attempt.
pub type Connecting<S> = Pin<Box<dyn Future<Output = io::Result<S>> + Send>>;

struct Shared {
    /// The queue of the connection that takes new calls.
    current: Mutex<Arc<Queue>>,
    /// Starts the task that serves a queue, connecting when the first call comes. `None`: the channel cannot connect again.
    plant: Option<Box<Plant>>,
}

type Plant = dyn Fn(&Arc<Shared>, Arc<Queue>) + Send + Sync;

impl Channel {
    /// A channel over `io` that connects again by `connector` when that is lost.
    #[must_use]
    pub fn new<R: Runtime, S: Io + Send>(
        runtime: R,
        io: S,
        options: ChannelOptions,
        connector: impl Fn() -> Connecting<S> + Send + Sync + 'static,
    ) -> Self {
        let queue = Queue::new(R::now);
        let site = Arc::new(task::Site { runtime, options, connector });
        let for_later = Arc::clone(&site);
        let plant = move |shared: &Arc<Shared>, queue: Arc<Queue>| task::spawn_later(&for_later, Arc::downgrade(shared), queue);
        let shared = Arc::new(Shared { current: Mutex::new(Arc::clone(&queue)), plant: Some(Box::new(plant)) });
        task::spawn_now(&site, Arc::downgrade(&shared), queue, io);
        Self { shared }
    }

    /// A channel over any stream. When that is lost, calls end with UNAVAILABLE.
    #[must_use]
    pub fn over<R: Runtime, S: Io + Send>(runtime: &R, io: S, config: &Config) -> Self {
        Self::layered(runtime, io, config, |connection| connection)
    }

    /// A channel over any stream through a layer on the [`Endpoint`] seam: TLS, a recorder, a proxy handshake.
    #[must_use]
    pub fn layered<R: Runtime, S: Io + Send, E: Endpoint + Send + 'static>(
        runtime: &R,
        io: S,
        config: &Config,
        layer: impl FnOnce(Connection) -> E,
    ) -> Self {
        let queue = Queue::new(R::now);
        let shared = Arc::new(Shared { current: Mutex::new(Arc::clone(&queue)), plant: None });
        let endpoint = layer(Connection::client(config, R::now()));
        task::spawn_once(runtime, Arc::downgrade(&shared), queue, io, endpoint);
        Self { shared }
    }

    /// One message out, one back.
    pub fn unary<Q: Codec, P: Codec + 'static>(&self, path: &'static str, request: &Q::Item) -> UnaryCall<P::Item> {
        let kind = Unary { decode: message::decode::<P> };
        CallBuilder::new(self, path, Shape::Unary, Some(message::encode::<Q>(request)), kind)
    }

    /// One message out, many back.
    pub fn server_streaming<Q: Codec, P: Codec + 'static>(&self, path: &'static str, request: &Q::Item) -> ServerStreamingCall<P::Item> {
        let kind = ServerStreaming { decode: message::decode::<P> };
        CallBuilder::new(self, path, Shape::ServerStreaming, Some(message::encode::<Q>(request)), kind)
    }

    /// Many messages out, one back.
    pub fn client_streaming<Q: Codec + 'static, P: Codec + 'static>(&self, path: &'static str) -> ClientStreamingCall<Q::Item, P::Item> {
        let kind = ClientStreaming { encode: message::encode::<Q>, decode: message::decode::<P> };
        CallBuilder::new(self, path, Shape::ClientStreaming, None, kind)
    }

    /// Many messages each way.
    pub fn bidi<Q: Codec + 'static, P: Codec + 'static>(&self, path: &'static str) -> BidiCall<Q::Item, P::Item> {
        let kind = Bidi { encode: message::encode::<Q>, decode: message::decode::<P> };
        CallBuilder::new(self, path, Shape::Bidi, None, kind)
    }

    pub(crate) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.shared.lock())
    }

    /// Hands a call to the connection; a channel that cannot connect any more ends it at once.
    fn start(&self, cell: &Arc<CallCell>) {
        let queue = cell.queue();
        let Err(mut status) = queue.start(Arc::clone(cell)) else { return };
        // Its connection has ended since, or lost its task, which names no successor: the runtime of now makes one.
        if let Some(successor) = self.shared.replace(&queue) {
            cell.move_to(&successor);
            match successor.start(Arc::clone(cell)) {
                Ok(()) => return,
                Err(refused) => status = refused,
            }
        }
        cell.end(status, pintle_core::Metadata::new());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Arc<Queue>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection behind `old` takes no more calls: gives new ones a queue of their own.
    fn replace(self: &Arc<Self>, old: &Arc<Queue>) -> Option<Arc<Queue>> {
        let plant = self.plant.as_ref()?;
        let mut current = self.lock();
        if !Arc::ptr_eq(&current, old) {
            return Some(Arc::clone(&current));
        }
        let queue = old.another();
        *current = Arc::clone(&queue);
        drop(current);
        plant(self, Arc::clone(&queue));
        Some(queue)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.lock().push(Command::Drain(None));
    }
}

crate::opaque!(Channel);

fn lost(why: &str) -> Status {
    Status::new(pintle_core::Code::Unavailable, why).with_origin(pintle_core::grpc::Origin::Connection)
}
