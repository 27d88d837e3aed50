//! Plain HTTP/2 requests beside gRPC, on the core's raw floor: a handler sees the whole request and gives the whole response.

use super::session::Session;
use bytes::Bytes;
use pintle_core::{Metadata, SendError, StreamId, StreamRecv};

/// Octets of a request's body that are kept for a handler.
const MOST_BODY: usize = 1 << 20;

/// A plain request, with its whole body (at most 1 MiB; larger ones are answered 413).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// With the query.
    pub path: String,
    /// `:authority`, or `host`.
    pub authority: Option<String>,
    /// The other fields.
    pub headers: Metadata,
    /// The body.
    pub body: Bytes,
}

/// The answer to a plain request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HttpResponse {
    /// 200 to 599.
    pub status: u16,
    /// The fields; add them with `append_http`.
    pub headers: Metadata,
    /// The body.
    pub body: Bytes,
}

impl HttpResponse {
    /// A response without fields.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Metadata::new(), body: body.into() }
    }

    /// A text, with status 200.
    #[must_use]
    pub fn text(body: impl Into<String>) -> Self {
        let mut response = Self::new(200, body.into());
        // Name and value are valid.
        let _ = response.headers.append_http("content-type", b"text/plain; charset=utf-8");
        response
    }
}

/// Answers plain requests. `None`: answered as a gRPC server answers what is not gRPC (415, 405).
pub type HttpHandler = dyn Fn(&HttpRequest) -> Option<HttpResponse> + Send + Sync;

/// Where a plain request stands.
#[derive(Debug)]
pub(crate) enum Exchange {
    /// The body is coming in.
    Request(Vec<u8>),
    /// The rest of the response's body waits for room.
    Response(Bytes),
}

/// Moves a plain request on.
pub(crate) fn step(session: &mut Session, id: StreamId, handler: &HttpHandler) {
    let exchange = match session.exchanges.iter().position(|(stream, _)| *stream == id) {
        Some(at) => session.exchanges.swap_remove(at).1,
        None => Exchange::Request(Vec::new()),
    };
    let next = match exchange {
        Exchange::Request(body) => read(session, id, body, handler),
        Exchange::Response(rest) => write(session, id, rest),
    };
    if let Some(exchange) = next {
        session.exchanges.push((id, exchange));
    }
}

fn read(session: &mut Session, id: StreamId, mut body: Vec<u8>, handler: &HttpHandler) -> Option<Exchange> {
    let mut stream = session.core().stream(id).ok()?;
    loop {
        match stream.recv_bytes() {
            StreamRecv::Bytes(octets) if body.len() + octets.len() > MOST_BODY => {
                return answer(session, id, &HttpResponse::new(413, "the body is larger than 1 MiB\n"));
            }
            StreamRecv::Bytes(octets) => body.extend_from_slice(&octets),
            StreamRecv::Pending => return Some(Exchange::Request(body)),
            StreamRecv::End => break,
            StreamRecv::Reset(_) => {
                stream.release();
                return None;
            }
        }
    }
    let head = stream.request();
    let request = HttpRequest {
        method: head.method.to_owned(),
        path: head.path.to_owned(),
        authority: head.authority.map(str::to_owned),
        headers: head.headers.clone(),
        body: body.into(),
    };
    match handler(&request) {
        Some(response) => answer(session, id, &response),
        None => {
            session.core().stream(id).ok()?.refuse();
            None
        }
    }
}

fn answer(session: &mut Session, id: StreamId, response: &HttpResponse) -> Option<Exchange> {
    let mut stream = session.core().stream(id).ok()?;
    let sent = stream.send_headers(response.status, &response.headers, response.body.is_empty());
    if sent.is_err() {
        // A status or field that cannot be sent: the handler's slip, and the client must not wait for it.
        let failed = stream.send_headers(500, &Metadata::new(), true);
        debug_assert!(failed.is_ok(), "an empty 500 can always be sent: {failed:?}");
        stream.release();
        return None;
    }
    if response.body.is_empty() {
        stream.release();
        return None;
    }
    write(session, id, response.body.clone())
}

fn write(session: &mut Session, id: StreamId, rest: Bytes) -> Option<Exchange> {
    let mut stream = session.core().stream(id).ok()?;
    match stream.send_bytes(rest, true) {
        Err(SendError::Blocked(rest)) => Some(Exchange::Response(rest)),
        _ => {
            stream.release();
            None
        }
    }
}
