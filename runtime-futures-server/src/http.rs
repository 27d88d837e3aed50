//! Plain HTTP/2 requests on the raw floor: health pages, metrics, anything that is not gRPC.

use bytes::Bytes;
use pintle_core::{Connection, ErrorCode, Metadata, SendError, StreamId, StreamRecv};

/// Largest request body taken, octets; more is answered 413.
const MAX_BODY: usize = 1 << 20;

/// Answers a plain request, in the task of the connection: it must not block. `None`: as a gRPC server answers what
/// is not gRPC (415 or 405).
pub type HttpHandler = dyn Fn(&HttpRequest) -> Option<HttpResponse> + Send + Sync;

/// A plain request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// `GET`, `POST` ..
    pub method: String,
    /// Path and query.
    pub path: String,
    /// `:authority`, or `host`.
    pub authority: Option<String>,
    /// The other fields.
    pub headers: Metadata,
    /// At most 1 MiB.
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

    /// A text.
    #[must_use]
    pub fn text(body: impl Into<String>) -> Self {
        let mut response = Self::new(200, body.into());
        // Name and value are valid.
        let _ = response.headers.append_http("content-type", b"text/plain; charset=utf-8");
        response
    }
}

/// One plain request on its way.
pub(crate) struct HttpStream {
    id: StreamId,
    body: Vec<u8>,
    /// What of the response's body is not taken yet.
    rest: Option<Bytes>,
}

impl HttpStream {
    pub(crate) fn new(id: StreamId) -> Self {
        Self { id, body: Vec::new(), rest: None }
    }

    pub(crate) fn id(&self) -> StreamId {
        self.id
    }

    /// Goes on as far as possible. True: the stream is done with.
    pub(crate) fn advance(&mut self, conn: &mut Connection, handler: &HttpHandler) -> bool {
        if self.rest.is_some() {
            return self.write(conn);
        }
        loop {
            let Ok(mut stream) = conn.stream(self.id) else { return true };
            match stream.recv_bytes() {
                StreamRecv::Bytes(octets) if self.body.len() + octets.len() > MAX_BODY => {
                    return self.answer(conn, HttpResponse::new(413, "the body is larger than 1 MiB\n"));
                }
                StreamRecv::Bytes(octets) => self.body.extend_from_slice(&octets),
                StreamRecv::Pending => return false,
                StreamRecv::End => break,
                StreamRecv::Reset(_) => {
                    stream.release();
                    return true;
                }
            }
        }
        let Ok(stream) = conn.stream(self.id) else { return true };
        let head = stream.request();
        let request = HttpRequest {
            method: head.method.to_owned(),
            path: head.path.to_owned(),
            authority: head.authority.map(str::to_owned),
            headers: head.headers.clone(),
            body: Bytes::from(std::mem::take(&mut self.body)),
        };
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handler(&request)));
        match answer.unwrap_or_else(|_| Some(HttpResponse::new(500, "the handler panicked\n"))) {
            Some(response) => self.answer(conn, response),
            None => {
                stream.refuse();
                true
            }
        }
    }

    fn answer(&mut self, conn: &mut Connection, response: HttpResponse) -> bool {
        let Ok(mut stream) = conn.stream(self.id) else { return true };
        let empty = response.body.is_empty();
        if stream.send_headers(response.status, &response.headers, empty).is_err() {
            // A status or field of the handler's that cannot be sent.
            stream.reset(ErrorCode::INTERNAL_ERROR);
            return true;
        }
        if empty {
            stream.release();
            return true;
        }
        self.rest = Some(response.body);
        self.write(conn)
    }

    fn write(&mut self, conn: &mut Connection) -> bool {
        let Ok(mut stream) = conn.stream(self.id) else { return true };
        let Some(body) = self.rest.take() else { return false };
        match stream.send_bytes(body, true) {
            Err(SendError::Blocked(body)) => {
                self.rest = Some(body);
                false
            }
            Ok(()) | Err(_) => {
                stream.release();
                true
            }
        }
    }
}
