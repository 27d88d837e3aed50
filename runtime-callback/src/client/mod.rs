//! The client's side: calls, the requests and streams that users see, and the client that other threads share.

mod local;
mod remote;
mod request;

pub use local::{Drive, LocalCall, LocalClient};
pub use remote::{Client, Engine, RemoteCall};
pub use request::{
    BidiRequest, ClientStreamingRequest, Messages, Pending, Request, Requests, Response, ServerStreamingRequest, UnaryRequest, Upload, kind,
};

use pintle_core::{
    CloseReason, Connection, Message, Metadata, Outcome, RequestHead, SendError, Shape, StartError, Status, Timestamp, bytes::Bytes,
    codec::Codec, grpc::Origin,
};

/// What generated clients call through: a [`Client`], or a loop that the calling thread drives.
pub trait Caller: Clone {
    /// A call on the way.
    type Call: Calling;
    /// Starts a call. With a first message, that is also its last.
    ///
    /// # Errors
    /// It did not start; nothing was sent.
    fn start<Q: Codec>(&self, head: Head, only: Option<&Q::Item>) -> Result<Self::Call, Status>;
}

/// A call on the way. Clones are the same call.
pub trait Calling: Clone {
    /// Sends a message; waits for room if `wait`. If `more` follow, it need not be written before the thread waits for something.
    ///
    /// # Errors
    /// As [`Call::send`](pintle_core::Call::send).
    fn send<Q: Codec>(&self, message: &Q::Item, wait: bool, more: bool) -> Result<(), SendError<()>>;
    /// No more messages.
    fn close_send(&self);
    /// What comes next. Not `Pending` if `wait`.
    fn next(&self, wait: bool) -> Next;
    /// Waits for the response's initial metadata.
    fn headers(&self) -> Metadata;
    /// Ends the call; once it has ended, nothing.
    fn cancel(&self);
}

/// How a call starts.
#[derive(Debug)]
pub struct Head {
    /// `/package.Service/Method`.
    pub path: &'static str,
    /// How many messages go each way.
    pub shape: Shape,
    /// Custom metadata.
    pub metadata: Metadata,
    /// When it ends at the latest.
    pub deadline: Option<Timestamp>,
}

impl Head {
    /// For [`Connection::start`].
    #[must_use]
    pub fn request(&self) -> RequestHead<'_> {
        let head = RequestHead::new(Bytes::from_static(self.path.as_bytes()), self.shape);
        if self.metadata.is_empty() { head } else { head.with_metadata(&self.metadata) }
    }
}

/// What comes next on a call.
#[derive(Debug)]
pub enum Next {
    /// A message.
    Message(Message),
    /// Nothing yet.
    Pending,
    /// The end, said once.
    End(End),
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct End {
    /// The status.
    pub status: Status,
    /// The trailing metadata.
    pub trailers: Metadata,
}

impl From<Outcome> for End {
    /// A status that is not OK takes the trailing metadata along, for it is all that most callers look at.
    fn from(Outcome { status, trailers, .. }: Outcome) -> Self {
        let status = if status.is_ok() || trailers.is_empty() { status } else { status.with_metadata(trailers.clone()) };
        Self { status, trailers }
    }
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self { status, trailers: Metadata::new() }
    }
}

/// The status of calls that the connection cannot carry any more.
#[must_use]
pub fn lost(conn: &Connection) -> Status {
    let status = match conn.close_reason() {
        // Whoever does not speak gRPC will not do so the next time.
        Some(reason @ (CloseReason::Foreign { .. } | CloseReason::Protocol { .. })) => {
            Status::unavailable(format!("the connection is closed: {reason}"))
        }
        Some(reason) => Status::unavailable(format!("the connection is closed: {reason}; connect again")),
        None => Status::unavailable("the connection is lost; connect again"),
    };
    status.with_origin(Origin::Connection)
}

/// The status of a call that did not start.
#[must_use]
pub fn not_started(error: StartError, conn: &Connection) -> Status {
    match error {
        StartError::Closed => lost(conn),
        StartError::Draining => Status::unavailable(error.to_string()).with_origin(Origin::Connection),
        StartError::AtCapacity => Status::resource_exhausted(error.to_string()),
        _ => Status::internal(error.to_string()),
    }
}
