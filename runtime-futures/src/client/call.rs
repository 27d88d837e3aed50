//! Building a call and waiting for it.

use super::Channel;
use crate::{
    cell::{CallCell, Start},
    stream::{Sender, Streaming},
};
use pintle_core::{Message, Metadata, Payload, Shape, Status, Timestamp, grpc::InvalidMetadata};
use std::{
    fmt,
    future::{Future, IntoFuture, Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

/// A call that has not started: set its options, then `.await` it (or `.open()` a stream).
#[must_use = "a call starts when it is awaited or opened"]
pub struct CallBuilder<K> {
    channel: Channel,
    path: &'static str,
    shape: Shape,
    request: Option<Payload>,
    metadata: Metadata,
    deadline: Option<Timestamp>,
    invalid: Option<InvalidMetadata>,
    kind: K,
}

/// A call with one message each way; `.await` gives the reply.
pub type UnaryCall<T> = CallBuilder<Unary<T>>;
/// A call with one message out and many back; `.await` gives a [`Streaming`].
pub type ServerStreamingCall<T> = CallBuilder<ServerStreaming<T>>;
/// A call with many messages out and one back; `.open().await` gives a [`Sender`] and a [`Reply`].
pub type ClientStreamingCall<Q, P> = CallBuilder<ClientStreaming<Q, P>>;
/// A call with many messages each way; `.open().await` gives a [`Sender`] and a [`Streaming`].
pub type BidiCall<Q, P> = CallBuilder<Bidi<Q, P>>;

type Decode<T> = fn(Message) -> Result<T, Status>;
type Encode<T> = fn(&T) -> Payload;

/// The kind of a [`UnaryCall`].
pub struct Unary<T> {
    pub(super) decode: Decode<T>,
}

/// The kind of a [`ServerStreamingCall`].
pub struct ServerStreaming<T> {
    pub(super) decode: Decode<T>,
}

/// The kind of a [`ClientStreamingCall`].
pub struct ClientStreaming<Q, P> {
    pub(super) encode: Encode<Q>,
    pub(super) decode: Decode<P>,
}

/// The kind of a [`BidiCall`].
pub struct Bidi<Q, P> {
    pub(super) encode: Encode<Q>,
    pub(super) decode: Decode<P>,
}

/// A stream that was opened; ready at once.
pub type Opening<T> = Ready<Result<T, Status>>;

/// A reply with the metadata around it; see [`CallBuilder::response`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response<T> {
    /// The message.
    pub message: T,
    /// The initial metadata.
    pub headers: Metadata,
    /// The trailing metadata.
    pub trailers: Metadata,
}

impl<K> CallBuilder<K> {
    pub(super) fn new(channel: &Channel, path: &'static str, shape: Shape, request: Option<Payload>, kind: K) -> Self {
        Self { channel: channel.clone(), path, shape, request, metadata: Metadata::new(), deadline: None, invalid: None, kind }
    }

    /// Ends the call with DEADLINE_EXCEEDED when it takes longer than this from now, connecting included. The server
    /// is told how much time is left.
    pub fn deadline(mut self, after: Duration) -> Self {
        let now = self.channel.queue().now();
        self.deadline = Some(now.saturating_add(after));
        self
    }

    /// Ends it at this instant, unless its deadline is earlier; `None` changes nothing. A handler passes its own deadline on
    /// to the calls it makes: `.deadline_at(cx.deadline())`.
    pub fn deadline_at(mut self, at: Option<Timestamp>) -> Self {
        self.deadline = [self.deadline, at].into_iter().flatten().min();
        self
    }

    /// Adds a field to the request's metadata. A key or value that cannot be sent ends the call with INVALID_ARGUMENT.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        let added = self.metadata.append(key, value);
        self.note(added)
    }

    /// [`metadata`](Self::metadata) for a binary value; the key ends in `-bin`.
    pub fn metadata_bin(mut self, key: &str, value: &[u8]) -> Self {
        let added = self.metadata.append_bin(key, value);
        self.note(added)
    }

    fn note(mut self, added: Result<(), InvalidMetadata>) -> Self {
        if let Err(invalid) = added {
            self.invalid.get_or_insert(invalid);
        }
        self
    }

    /// Hands the call over to the connection.
    fn start(self) -> (Arc<CallCell>, K) {
        let start = Start { path: self.path, shape: self.shape, metadata: self.metadata, deadline: self.deadline };
        let cell = CallCell::starting(self.channel.queue(), start, self.request);
        match self.invalid {
            None => self.channel.start(&cell),
            Some(invalid) => cell.end(invalid.call_status(), Metadata::new()),
        }
        (cell, self.kind)
    }
}

impl<T> CallBuilder<Unary<T>> {
    /// The same call, giving the metadata with the message.
    pub fn response(self) -> WithResponse<T> {
        let (cell, kind) = self.start();
        WithResponse { reply: Reply { cell, decode: kind.decode } }
    }
}

impl<T> IntoFuture for CallBuilder<Unary<T>> {
    type Output = Result<T, Status>;
    type IntoFuture = Reply<T>;

    fn into_future(self) -> Reply<T> {
        let (cell, kind) = self.start();
        Reply { cell, decode: kind.decode }
    }
}

impl<T> CallBuilder<ServerStreaming<T>> {
    /// Starts the call. It does not wait for the server: a call that fails says so at the stream's first `next`.
    pub fn open(self) -> Opening<Streaming<T>> {
        let (cell, kind) = self.start();
        ready(Ok(Streaming::new(cell, kind.decode)))
    }
}

impl<T> IntoFuture for CallBuilder<ServerStreaming<T>> {
    type Output = Result<Streaming<T>, Status>;
    type IntoFuture = Opening<Streaming<T>>;

    fn into_future(self) -> Self::IntoFuture {
        self.open()
    }
}

impl<Q, P> CallBuilder<ClientStreaming<Q, P>> {
    /// Starts the call. It does not wait for the server: a call that fails says so at a send, and as its reply.
    pub fn open(self) -> Opening<(Sender<Q>, Reply<P>)> {
        let (cell, kind) = self.start();
        let out = Sender::new(Arc::clone(&cell), kind.encode);
        ready(Ok((out, Reply { cell, decode: kind.decode })))
    }
}

impl<Q, P> CallBuilder<Bidi<Q, P>> {
    /// Starts the call. It does not wait for the server: a call that fails says so at a send and at `next`.
    pub fn open(self) -> Opening<(Sender<Q>, Streaming<P>)> {
        let (cell, kind) = self.start();
        let out = Sender::new(Arc::clone(&cell), kind.encode);
        ready(Ok((out, Streaming::new(cell, kind.decode))))
    }
}

/// The one message that comes back. Dropping it before it is ready cancels the call: the server's handler is told.
#[must_use = "dropping a reply cancels its call"]
pub struct Reply<T> {
    cell: Arc<CallCell>,
    decode: Decode<T>,
}

/// A [`Reply`] together with the metadata around it.
#[must_use = "dropping a reply cancels its call"]
pub struct WithResponse<T> {
    reply: Reply<T>,
}

impl<T> Unpin for Reply<T> {}

impl<T> Future for Reply<T> {
    type Output = Result<T, Status>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.cell.poll_response(cx).map(|response| (self.decode)(response?.0))
    }
}

impl<T> Future for WithResponse<T> {
    type Output = Result<Response<T>, Status>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.reply.cell.poll_response(cx).map(|response| {
            let (message, headers, trailers) = response?;
            Ok(Response { message: (self.reply.decode)(message)?, headers, trailers })
        })
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        self.cell.abandon();
    }
}

impl<K> fmt::Debug for CallBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder").field("path", &self.path).field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

crate::opaque!(Unary<T>, ServerStreaming<T>, ClientStreaming<Q, P>, Bidi<Q, P>, Reply<T>, WithResponse<T>);
