//! What a handler knows about its call.

use pintle_core::{Metadata, Timestamp, grpc::InvalidMetadata};
use pintle_futures::owner::CallCell;
use pintle_net::Peer;
use std::{any::Any, fmt, future::poll_fn, sync::Arc, time::Duration};

/// A call as its handler sees it.
pub struct Context {
    pub(crate) cell: Arc<CallCell>,
}

impl Context {
    /// `/package.Service/Method`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.cell.request().method
    }

    /// The client.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.cell.request().peer
    }

    /// The request's metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.cell.request().metadata
    }

    /// When the call ends with DEADLINE_EXCEEDED; `None` if the client set no deadline. Pass it on to calls made on
    /// behalf of this one: `.deadline_at(cx.deadline())`.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.cell.request().deadline
    }

    /// Time left until the deadline (zero: it has passed).
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        Some(self.deadline()?.saturating_since(self.cell.queue().now()))
    }

    /// Adds a field to the response's initial metadata, which goes out with the first message.
    ///
    /// # Errors
    /// The key or the value cannot be sent.
    pub fn add_header(&self, key: &str, value: &str) -> Result<(), InvalidMetadata> {
        self.cell.extra(|extra| extra.headers.append(key, value))
    }

    /// [`add_header`](Self::add_header) for a binary value; the key ends in `-bin`.
    ///
    /// # Errors
    /// The key cannot be sent.
    pub fn add_header_bin(&self, key: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        self.cell.extra(|extra| extra.headers.append_bin(key, value))
    }

    /// Sends the initial metadata now instead of with the first message. What is added later is not sent.
    pub fn flush_headers(&self) {
        self.cell.extra(|extra| extra.flush_headers = true);
    }

    /// Adds a field to the trailing metadata, which goes out with the status.
    ///
    /// # Errors
    /// The key or the value cannot be sent.
    pub fn add_trailer(&self, key: &str, value: &str) -> Result<(), InvalidMetadata> {
        self.cell.extra(|extra| extra.trailers.append(key, value))
    }

    /// [`add_trailer`](Self::add_trailer) for a binary value; the key ends in `-bin`.
    ///
    /// # Errors
    /// The key cannot be sent.
    pub fn add_trailer_bin(&self, key: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        self.cell.extra(|extra| extra.trailers.append_bin(key, value))
    }

    /// The client is gone or the deadline has passed: nobody will see the result. Sends fail from now on, and the
    /// handler is dropped at its next `await`.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cell.is_over()
    }

    /// A watch on the call's cancellation that work outside of the handler's future can hold.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        Cancellation { cell: Arc::clone(&self.cell) }
    }

    /// Keeps a value with the call, by its type; a later one of the same type replaces it.
    pub fn insert<T: Any + Send + Sync>(&self, value: T) {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
        let replaced = self.cell.extra(|extra| match extra.extensions.iter_mut().find(|known| known.is::<T>()) {
            Some(known) => Some(std::mem::replace(known, value)),
            None => {
                extra.extensions.push(value);
                None
            }
        });
        // Its destructor is foreign code: not under the lock.
        drop(replaced);
    }

    /// The value of this type that was [`insert`](Self::insert)ed.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let known = self.cell.extra(|extra| extra.extensions.iter().find(|known| known.is::<T>()).cloned())?;
        Arc::downcast(known).ok()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("method", &self.method())
            .field("peer", self.peer())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}

/// Tells whether a call was cancelled; see [`Context::cancellation`]. It outlives the handler: a call that the
/// handler ended is not cancelled, and [`cancelled`](Self::cancelled) never answers for it.
#[derive(Clone)]
pub struct Cancellation {
    cell: Arc<CallCell>,
}

impl Cancellation {
    /// The client is gone or the deadline has passed.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cell.is_over()
    }

    /// Waits for that.
    pub async fn cancelled(&self) {
        poll_fn(|cx| self.cell.poll_over(cx)).await;
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation").field("cancelled", &self.is_cancelled()).finish()
    }
}
