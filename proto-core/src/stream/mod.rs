//! The raw HTTP/2 floor.
use crate::*;
use bytes::Bytes;

/// The head of a raw request.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HttpRequest<'a> {
    /// `:method`.
    pub method: &'a str,
    /// `:path`.
    pub path: &'a str,
    /// `:authority` (or `host`).
    pub authority: Option<&'a str>,
    /// The other fields.
    pub headers: &'a Metadata,
}

/// What `recv_bytes` answers.
#[derive(Debug)]
#[must_use]
pub enum StreamRecv {
    /// Octets of the body.
    Bytes(Bytes),
    /// Nothing yet.
    Pending,
    /// The body is complete (trailers, if any, can be taken).
    End,
    /// The peer reset the stream, or the connection went.
    Reset(ErrorCode),
}

/// A borrowed view of one raw stream.
#[derive(Debug)]
pub struct Stream<'a> { #[allow(dead_code)] conn: &'a mut Connection }

impl Stream<'_> {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> StreamId { todo!() }
    /// Sets the driver's word.
    pub fn set_token(&mut self, token: Token) { let _ = token; todo!() }
    /// Server: the request's head.
    #[must_use]
    pub fn request(&self) -> HttpRequest<'_> { todo!() }
    /// Octets of the body.
    pub fn recv_bytes(&mut self) -> StreamRecv { todo!() }
    /// Server: the response's head. `end`: no body follows.
    ///
    /// # Errors
    /// Sent already; a field or the status is not valid.
    pub fn send_headers(&mut self, status: u16, headers: &Metadata, end: bool) -> Result<(), Misuse> { let _ = (status, headers, end); todo!() }
    /// Queues octets of the body; `end` ends it.
    ///
    /// # Errors
    /// They come back, see [`SendError`].
    pub fn send_bytes(&mut self, octets: Bytes, end: bool) -> Result<(), SendError<Bytes>> { let _ = (octets, end); todo!() }
    /// Ends the body with trailers.
    ///
    /// # Errors
    /// Ended already; a field is not valid.
    pub fn send_trailers(&mut self, trailers: &Metadata) -> Result<(), Misuse> { let _ = trailers; todo!() }
    /// Server: answers as a gRPC server answers what is not gRPC (415 for a POST of another content-type, 405 for other methods), and gives the slot back.
    pub fn refuse(self) { todo!() }
    /// Ends it at once with RST_STREAM and gives the slot back.
    pub fn reset(self, code: ErrorCode) { let _ = code; todo!() }
    /// Gives the slot back; what was sent goes out first. A response not ended is reset.
    pub fn release(self) { todo!() }
}
