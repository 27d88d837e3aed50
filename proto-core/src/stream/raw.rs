//! The raw HTTP/2 floor: plain requests, and what is built on them (gRPC-Web, JSON, bridges).

use super::{Ending, Out, flag};
use crate::{Connection, Metadata, Misuse, SendError, Status, StreamId, Token, error::ErrorCode};
use alloc::boxed::Box;
use bytes::Bytes;

/// The head of a raw request.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HttpRequest<'a> {
    /// `:method`.
    pub method: &'a str,
    /// `:path`.
    pub path: &'a str,
    /// `:authority`, or `host` where that is missing.
    pub authority: Option<&'a str>,
    /// The other fields, `content-type` and `user-agent` among them.
    pub headers: &'a Metadata,
}

/// What `recv_bytes` answers.
#[derive(Debug)]
#[must_use]
pub enum StreamRecv {
    /// The next octets of the body.
    Bytes(Bytes),
    /// Nothing yet: wait for `StreamReadable`.
    Pending,
    /// The body is complete.
    End,
    /// The peer reset the stream, or the connection went. Let go with `reset` or `release`.
    Reset(ErrorCode),
}

/// A borrowed view of one raw stream, from [`Connection::stream`].
#[derive(Debug)]
pub struct Stream<'a> {
    conn: &'a mut Connection,
    s: u32,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(conn: &'a mut Connection, s: u32) -> Self {
        Self { conn, s }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> StreamId {
        StreamId { slot: self.s, generation: self.conn.slots[self.s].generation }
    }

    /// Sets the driver's word, echoed in events.
    pub fn set_token(&mut self, token: Token) {
        tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::SetToken(token) });
        self.conn.slots[self.s].token = token;
    }

    /// Server: the request's head.
    #[must_use]
    pub fn request(&self) -> HttpRequest<'_> {
        let slot = &self.conn.slots[self.s];
        let text = |name: &[u8]| slot.extra.find(name).and_then(|value| core::str::from_utf8(value).ok());
        HttpRequest {
            method: text(b":method").unwrap_or("POST"),
            path: text(b":path").unwrap_or("/"),
            authority: text(b":authority"),
            headers: &slot.metadata,
        }
    }

    /// Resets the stream with CANCEL when it is not over after this time; `None`: it may take as long as it likes.
    pub fn limit(&mut self, after: Option<core::time::Duration>) {
        tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::Limit(after) });
        self.conn.limit_stream(self.s, after);
    }

    /// Octets of the body that wait to be taken, and whether they are the last. Untaken octets count against the
    /// stream's window: the peer sends at most `Config::initial_window` of them.
    #[must_use]
    pub fn pending_bytes(&self) -> (usize, bool) {
        let slot = &self.conn.slots[self.s];
        (slot.backlog.len(), slot.has(flag::REMOTE_END))
    }

    /// The peer reset the stream, or the connection went.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        self.conn.slots[self.s].has(flag::PEER_RESET)
    }

    /// The next octets of the body. Taking them lets the peer send more.
    pub fn recv_bytes(&mut self) -> StreamRecv {
        let got = self.next();
        tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::RecvBytes((&got).into()) });
        got
    }

    fn next(&mut self) -> StreamRecv {
        let slot = &self.conn.slots[self.s];
        if !slot.backlog.is_empty() {
            return StreamRecv::Bytes(self.conn.take_body(self.s));
        }
        if slot.has(flag::PEER_RESET) {
            StreamRecv::Reset(slot.reset)
        } else if slot.has(flag::REMOTE_END) {
            StreamRecv::End
        } else {
            StreamRecv::Pending
        }
    }

    /// Server: queues the response's head. `end`: no body follows.
    ///
    /// # Errors
    /// Nothing was queued: a head was queued already, the stream is gone, or `status` is not 200 to 599.
    pub fn send_headers(&mut self, status: u16, headers: &Metadata, end: bool) -> Result<(), Misuse> {
        tap!(self.conn => tape_http_head(self.s, status, headers, end));
        let slot = &mut self.conn.slots[self.s];
        if slot.has(flag::CLOSED) {
            return Err(Misuse("the stream is over"));
        }
        if slot.has(flag::HEAD_SENT | flag::HEAD_DUE) {
            return Err(Misuse("the response has a head already"));
        }
        if !(200..600).contains(&status) {
            return Err(Misuse("a response's status is 200 to 599"));
        }
        slot.http_status = status;
        slot.out_head.clear();
        slot.out_head.push_records(headers.records());
        slot.set(flag::HEAD_DUE);
        if end {
            slot.set(flag::SEND_ENDED);
        }
        self.conn.schedule(self.s);
        Ok(())
    }

    /// Queues octets of the body; `end` ends it.
    ///
    /// # Errors
    /// The octets come back: the buffer is full (wait for `StreamWritable`), the stream is over, or no head was queued.
    pub fn send_bytes(&mut self, octets: Bytes, end: bool) -> Result<(), SendError<Bytes>> {
        let full = self.conn.is_crowded();
        let limit = self.conn.cfg.send_buffer as usize;
        let slot = &mut self.conn.slots[self.s];
        if slot.has(flag::CLOSED | flag::SEND_ENDED) {
            return Err(SendError::Ended(octets));
        }
        if !slot.has(flag::HEAD_SENT | flag::HEAD_DUE) {
            return Err(SendError::Refused(octets, Misuse("send the response's head first")));
        }
        if slot.out_len > 0 && (full || slot.out_len + octets.len() > limit) {
            slot.set(flag::WANTS_ROOM);
            tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::SendRefused(octets.len() as u64) });
            return Err(SendError::Blocked(octets));
        }
        tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::SendBytes { end, octets: octets[..].into() } });
        let slot = &mut self.conn.slots[self.s];
        slot.out_len += octets.len();
        if slot.pressing() > 0 {
            self.conn.pressing += octets.len();
        }
        self.conn.queued += octets.len();
        if !octets.is_empty() {
            slot.out.push_back(Out::Raw { octets, lent: false });
        }
        if end {
            slot.set(flag::SEND_ENDED);
        }
        self.conn.schedule(self.s);
        Ok(())
    }

    /// Ends the body with trailers.
    ///
    /// # Errors
    /// Nothing was queued: the stream is over, or no head was queued.
    pub fn send_trailers(&mut self, trailers: &Metadata) -> Result<(), Misuse> {
        let slot = &mut self.conn.slots[self.s];
        if slot.has(flag::CLOSED | flag::SEND_ENDED) {
            return Err(Misuse("the body has ended"));
        }
        if !slot.has(flag::HEAD_SENT | flag::HEAD_DUE) {
            return Err(Misuse("send the response's head first"));
        }
        tap!(self.conn => tape_http_trailers(self.s, trailers));
        let slot = &mut self.conn.slots[self.s];
        slot.ending = Some(Box::new(Ending { status: Status::ok(), trailers: trailers.clone(), http_status: 0 }));
        slot.set(flag::SEND_ENDED | flag::TRAILERS);
        self.conn.schedule(self.s);
        Ok(())
    }

    /// Server: answers as a gRPC server answers what is not gRPC (415 to a POST of another content-type, 405 to other
    /// methods), and lets go.
    pub fn refuse(self) {
        tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::Refuse });
        self.conn.refuse_http(self.s);
    }

    /// Ends it at once with RST_STREAM, and lets go.
    pub fn reset(self, code: ErrorCode) {
        tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::Reset(code.0) });
        let slot = &self.conn.slots[self.s];
        if !slot.has(flag::CLOSED) {
            let id = slot.id;
            self.conn.queue_reset(id, code);
            self.conn.close_wire(self.s);
        }
        self.conn.let_go(self.s);
    }

    /// Lets go: what was queued goes out first. A response that was not ended is reset with INTERNAL_ERROR.
    pub fn release(self) {
        if self.conn.slots[self.s].has(flag::SEND_ENDED | flag::CLOSED) {
            tap!(self.conn, Record::Stream { slot: self.s, op: StreamOp::Release });
            self.conn.let_go(self.s);
        } else {
            self.reset(ErrorCode::INTERNAL_ERROR);
        }
    }
}
