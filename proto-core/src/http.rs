//! Plain HTTP/2 requests beside gRPC: health pages, metrics, anything small that is answered at once.
//!
//! An [`Exchange`] carries one request on the raw floor ([`Stream`](crate::Stream)) from
//! [`Event::IncomingHttp`](crate::Event::IncomingHttp) to its answer. Larger things stand on the floor itself.

use crate::{Connection, ErrorCode, Metadata, StreamId, StreamRecv};
use alloc::{borrow::ToOwned, string::String};
use bytes::Bytes;
use core::time::Duration;

/// Largest request body taken, octets; more is answered with 413. Below the least stream window (65,535), so that a body
/// waits within the receive budget until it is whole.
pub const MAX_BODY: usize = 64_000;
/// A request that is not whole after this time is reset.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names an exchange: the stream of an [`Event::IncomingHttp`](crate::Event::IncomingHttp) and of what follows on it.
pub type ExchangeId = StreamId;

/// A plain request, whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// `GET`, `POST` ..
    pub method: String,
    /// Path and query.
    pub path: String,
    /// `:authority`, or `host` where that is missing.
    pub authority: Option<String>,
    /// The other fields.
    pub headers: Metadata,
    /// At most [`MAX_BODY`] octets.
    pub body: Bytes,
}

/// The answer to a plain request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// 200 to 599.
    pub status: u16,
    /// The fields; add them with [`Metadata::append_http`].
    pub headers: Metadata,
    /// The body; left out where the request was HEAD.
    pub body: Bytes,
}

impl Response {
    /// A response without fields.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Metadata::new(), body: body.into() }
    }

    /// 200 with a text.
    #[must_use]
    pub fn text(body: impl Into<String>) -> Self {
        let mut response = Self::new(200, body.into());
        response.headers.push_raw(b"content-type", b"text/plain; charset=utf-8");
        response
    }
}

/// One plain request on its way.
#[derive(Debug)]
pub struct Exchange {
    id: StreamId,
    /// Its time is limited.
    limited: bool,
}

impl Exchange {
    /// For the stream of an `Event::IncomingHttp`.
    #[must_use]
    pub fn new(id: StreamId) -> Self {
        Self { id, limited: false }
    }

    /// Its stream.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Goes on as far as it can: now, and at each `StreamReadable`. `answer` is called once, with
    /// the whole request; `None` from it answers as a gRPC server answers what is not gRPC (415 or 405).
    ///
    /// True: done with, forget it.
    pub fn advance(&mut self, conn: &mut Connection, answer: impl FnOnce(&Request) -> Option<Response>) -> bool {
        let Ok(mut stream) = conn.stream(self.id) else { return true };
        if !core::mem::replace(&mut self.limited, true) {
            stream.limit(Some(PATIENCE));
        }
        let (waiting, whole) = stream.pending_bytes();
        if waiting > MAX_BODY {
            return self.answer(conn, "POST", Response::new(413, "the body is larger than 64,000 octets\n"));
        }
        if !whole {
            return stream.is_reset() && {
                stream.release();
                true
            };
        }
        stream.limit(None);
        let body = match stream.recv_bytes() {
            StreamRecv::Bytes(body) => body,
            StreamRecv::Reset(_) => {
                stream.release();
                return true;
            }
            StreamRecv::Pending | StreamRecv::End => Bytes::new(),
        };
        let Ok(stream) = conn.stream(self.id) else { return true };
        let head = stream.request();
        let request = Request {
            method: head.method.to_owned(),
            path: head.path.to_owned(),
            authority: head.authority.map(str::to_owned),
            headers: head.headers.clone(),
            body,
        };
        match answer(&request) {
            Some(response) => self.answer(conn, &request.method, response),
            None => {
                stream.refuse();
                true
            }
        }
    }

    fn answer(&self, conn: &mut Connection, method: &str, response: Response) -> bool {
        let Ok(mut stream) = conn.stream(self.id) else { return true };
        // A response to HEAD has the head of the one to GET, and no body (RFC 9110 §9.3.2).
        let empty = response.body.is_empty() || method == "HEAD";
        if stream.send_headers(response.status, &response.headers, empty).is_err() {
            // A status of the application's that cannot be sent.
            stream.reset(ErrorCode::INTERNAL_ERROR);
            return true;
        }
        if !empty {
            // With nothing queued a stream takes a body of any size.
            let _ = stream.send_bytes(response.body, true);
        }
        stream.release();
        true
    }
}
