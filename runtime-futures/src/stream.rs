//! The two ends of a stream of messages, the same on both sides of a call.

use crate::{cell::CallCell, message};
use pintle_core::{Message, Metadata, Payload, Status, codec::Codec};
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Sends messages of type `T` to the peer.
///
/// At most 64 KiB (or one message, if larger) of a call are on their way to the connection: a peer that reads slowly
/// holds the sender, not memory. On a client, dropping it ends the request side of the call (as [`close`](Self::close));
/// on a server the handler's return ends the call.
pub struct Sender<T> {
    cell: Arc<CallCell>,
    encode: fn(&T) -> Payload,
}

impl<T> Sender<T> {
    /// The sender of a call.
    #[must_use]
    pub fn of<C: Codec<Item = T>>(cell: &Arc<CallCell>) -> Self {
        Self::new(Arc::clone(cell), message::encode::<C>)
    }

    pub(crate) fn new(cell: Arc<CallCell>, encode: fn(&T) -> Payload) -> Self {
        Self { cell, encode }
    }

    /// Sends a message; waits while the peer is slow.
    ///
    /// The message is encoded here, in the caller's task. If the future is dropped before it is ready, the message
    /// was not sent.
    ///
    /// # Errors
    /// The call is over. On a server the status says why (CANCELLED: the client is gone; DEADLINE_EXCEEDED) and is
    /// right to return with `?`. On a client it is the call's outcome where that is known already.
    pub async fn send(&mut self, message: T) -> Result<(), Status> {
        let mut waiting = Some((self.encode)(&message));
        drop(message);
        poll_fn(|cx| self.cell.poll_send(&mut waiting, cx)).await
    }

    /// Ready when [`send`](Self::send) need not wait for a small message, or when the call is over.
    pub async fn ready(&mut self) -> Result<(), Status> {
        poll_fn(|cx| self.cell.poll_send(&mut None, cx)).await
    }

    /// Client: no more messages follow. What was sent goes out first.
    pub fn close(self) {
        drop(self);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.cell.close_send();
    }
}

/// Receives messages of type `T` from the peer.
///
/// Up to 64 KiB are fetched ahead; beyond that HTTP/2 flow control holds the peer until messages are taken.
/// On a client, dropping it before its end cancels the call: the server's handler is told.
pub struct Streaming<T> {
    cell: Arc<CallCell>,
    decode: fn(Message) -> Result<T, Status>,
    trailers: Option<Metadata>,
}

impl<T> Streaming<T> {
    /// The receiver of a call.
    #[must_use]
    pub fn of<C: Codec<Item = T>>(cell: &Arc<CallCell>) -> Self {
        Self::new(Arc::clone(cell), message::decode::<C>)
    }

    pub(crate) fn new(cell: Arc<CallCell>, decode: fn(Message) -> Result<T, Status>) -> Self {
        Self { cell, decode, trailers: None }
    }

    /// The next message; `None` after the last. May be dropped and called again without losing a message.
    ///
    /// # Errors
    /// Client: the call ended with a status other than OK. Server: the call is over before the client finished
    /// (CANCELLED, DEADLINE_EXCEEDED). Either: the octets are no such message (INTERNAL; a client cancels the call).
    pub async fn next(&mut self) -> Result<Option<T>, Status> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`next`](Self::next) for hand-written futures and `Stream` adapters.
    ///
    /// # Errors
    /// See [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<T>, Status>> {
        let Some(message) = ready!(self.cell.poll_message(cx))? else { return Poll::Ready(Ok(None)) };
        Poll::Ready((self.decode)(message).map(Some).inspect_err(|_| self.cell.abandon()))
    }

    /// Client: the response's initial metadata, once the server sent it (empty if the call ended without).
    /// Server: empty; the request's metadata is in the `Context`.
    pub async fn headers(&mut self) -> Metadata {
        poll_fn(|cx| self.cell.poll_head(cx)).await
    }

    /// Client: the trailing metadata, once the call is over; `None` before.
    pub fn trailers(&mut self) -> Option<&Metadata> {
        if self.trailers.is_none() {
            self.trailers = self.cell.take_trailers();
        }
        self.trailers.as_ref()
    }
}

impl<T> Drop for Streaming<T> {
    fn drop(&mut self) {
        self.cell.abandon();
    }
}

crate::opaque!(Sender<T>, Streaming<T>);
