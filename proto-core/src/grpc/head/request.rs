//! Request heads (and request trailers), at a server.

use super::{
    AUTHORITY, CONTENT_TYPE, CONTENT_TYPE_GRPC, DUPLICATE, ENCODING, ENCODING_OTHER, Encoding, FieldKind, HOST, HeadLimits, METHOD,
    METHOD_CONNECT, METHOD_GET, PATH, POST, PSEUDO, REGULAR, SCHEME, STATUS, TE, TIMEOUT, Tally, classify, static_tag,
};
use crate::{
    Metadata, RouteId, Routes,
    grpc::{Code, timeout},
    hpack::{Fields, Tag},
};

/// `:method`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// What gRPC uses.
    Post,
    /// For the raw floor.
    Get,
    /// CONNECT has neither `:scheme` nor `:path`.
    Connect,
    /// Any other; its text is in the extra fields. Also when there is none.
    Other,
}

/// What a request's head says. Small and `Copy`, to be remembered together with the block it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestFields {
    /// The request is malformed: RST_STREAM(PROTOCOL_ERROR) and nothing else (RFC 9113 §8.1.1).
    pub(crate) malformed: Option<&'static str>,
    /// `:method`.
    pub(crate) method: Method,
    /// The route of `:path`. `None`: not one of ours; the path is in the extra fields.
    pub(crate) route: Option<RouteId>,
    /// `grpc-timeout` in microseconds.
    pub(crate) timeout_micros: Option<u64>,
    /// `grpc-timeout` cannot be read, or is there twice.
    pub(crate) bad_timeout: bool,
    /// A `-bin` value is not base64. It is not in the metadata.
    pub(crate) bad_binary: bool,
    /// `content-type` is there once and is gRPC's.
    pub(crate) content_type_grpc: bool,
    /// `te: trailers` is there. Its absence is tolerated.
    pub(crate) te_trailers: bool,
    /// `grpc-encoding`.
    pub(crate) encoding: Encoding,
    /// `content-length`, which the sum of the DATA has to equal (RFC 9113 §8.1.1).
    pub(crate) content_length: Option<u64>,
    /// Sum of name + value + 32 octets.
    pub(crate) list_size: u32,
    /// Number of fields.
    pub(crate) fields: u32,
    /// One of the limits was passed; metadata and extra fields are cut short.
    pub(crate) over_limit: bool,
}

/// What a server does about a head, before it looks at its own limits. The checks are made in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestVerdict {
    /// RST_STREAM(PROTOCOL_ERROR).
    Malformed(&'static str),
    /// A status in one HEADERS frame (Trailers-Only) under this HTTP status. With 405 goes `allow: POST`, with UNIMPLEMENTED
    /// for the coding `grpc-accept-encoding`.
    Refuse {
        /// `:status`.
        http: u16,
        /// `grpc-status`.
        code: Code,
        /// `grpc-message`.
        text: &'static str,
    },
    /// Not gRPC: for the raw floor, or refused with the same fields.
    NotGrpc {
        /// `:status`.
        http: u16,
        /// `grpc-status`.
        code: Code,
        /// `grpc-message`.
        text: &'static str,
    },
    /// gRPC, but for no route of ours: UNIMPLEMENTED, or for a handler of unknown methods.
    UnknownMethod,
    /// A call.
    Call(RouteId),
}

impl RequestFields {
    /// See [`RequestVerdict`].
    #[must_use]
    pub(crate) const fn verdict(&self) -> RequestVerdict {
        if let Some(why) = self.malformed {
            return RequestVerdict::Malformed(why);
        }
        if self.over_limit {
            let text = "the request's header list is larger than this server takes";
            return RequestVerdict::Refuse { http: 431, code: Code::ResourceExhausted, text };
        }
        if !matches!(self.method, Method::Post) {
            return RequestVerdict::NotGrpc { http: 405, code: Code::Internal, text: "gRPC requests have the method POST" };
        }
        // Before `te`, which only tells that proxies kept trailers (PH2).
        if !self.content_type_grpc {
            let text = "the content-type of gRPC requests is application/grpc";
            return RequestVerdict::NotGrpc { http: 415, code: Code::InvalidArgument, text };
        }
        if self.bad_timeout {
            return RequestVerdict::Refuse { http: 400, code: Code::Internal, text: "malformed grpc-timeout" };
        }
        if self.bad_binary {
            return RequestVerdict::Refuse { http: 400, code: Code::Internal, text: "malformed base64 in a -bin field" };
        }
        let Some(route) = self.route else { return RequestVerdict::UnknownMethod };
        // After the route, so that UNIMPLEMENTED for a method does not look as if it were about the coding.
        if matches!(self.encoding, Encoding::Other) {
            return RequestVerdict::Refuse { http: 200, code: Code::Unimplemented, text: "the grpc-encoding is not supported" };
        }
        RequestVerdict::Call(route)
    }
}

/// Takes the fields of one request block.
///
/// Custom metadata is appended to `metadata`. `extra` gets `:authority`, `host` and `user-agent` always, `:path` when it has
/// no route, `:method` when it is not POST, and, until a gRPC content-type was seen, the other fields that gRPC keeps for
/// itself (`content-type`, `content-length`, `grpc-*`): together the head of a plain HTTP request.
#[derive(Debug)]
pub(crate) struct RequestCollector<'a> {
    routes: &'a Routes,
    metadata: &'a mut Metadata,
    extra: &'a mut Metadata,
    limits: HeadLimits,
    tally: Tally,
    method: Method,
    route: u32,
    timeout_micros: Option<u64>,
}

impl<'a> RequestCollector<'a> {
    /// For one block. Limits of 0 store nothing: for streams that are gone, whose blocks must be decoded all the same.
    pub(crate) fn new(routes: &'a Routes, metadata: &'a mut Metadata, extra: &'a mut Metadata, limits: HeadLimits) -> Self {
        Self { routes, metadata, extra, limits, tally: Tally::default(), method: Method::Other, route: 0, timeout_micros: None }
    }

    /// The block was a request's head.
    pub(crate) fn finish(mut self) -> RequestFields {
        self.check_head();
        self.answer()
    }

    /// The block was a request's trailers.
    pub(crate) fn finish_trailers(mut self) -> RequestFields {
        self.tally.check_trailers();
        self.answer()
    }

    /// RFC 9113 §8.3.1.
    fn check_head(&mut self) {
        const NEEDED: u32 = METHOD | SCHEME | PATH;
        let tally = &mut self.tally;
        if tally.seen & (NEEDED | STATUS | HOST) == NEEDED && tally.clash & (PSEUDO | REGULAR) == 0 && self.method != Method::Connect {
            return;
        }
        if tally.has(STATUS) {
            tally.note_malformed(":status in a request");
        }
        if tally.clash & (PSEUDO | REGULAR) != 0 {
            tally.note_malformed(DUPLICATE);
        }
        if tally.clash & HOST != 0 {
            tally.note_malformed("host is there twice");
        }
        if self.method == Method::Connect {
            if tally.has(SCHEME | PATH) {
                tally.note_malformed("CONNECT with :scheme or :path");
            }
            if !tally.has(AUTHORITY) {
                tally.note_malformed("CONNECT without :authority");
            }
        } else if !tally.has(METHOD) {
            tally.note_malformed("a request without :method");
        } else if !tally.has(SCHEME) {
            tally.note_malformed("a request without :scheme");
        } else if !tally.has(PATH) {
            tally.note_malformed("a request without :path");
        }
        if tally.has(HOST) && tally.has(AUTHORITY) && !tally.over(self.limits) {
            let named = |name| self.extra.find(name).unwrap_or_default();
            if !named(b":authority").eq_ignore_ascii_case(named(b"host")) {
                tally.note_malformed(":authority and host name different servers");
            }
        }
    }

    fn answer(self) -> RequestFields {
        let tally = self.tally;
        // What is there twice cannot be relied on: whoever passes the request on may read the other one.
        let once = |bits| tally.has(bits) && tally.clash & bits == 0;
        RequestFields {
            malformed: tally.malformed,
            method: if tally.has(POST) { Method::Post } else { self.method },
            route: self.route.checked_sub(1).map(RouteId),
            timeout_micros: self.timeout_micros,
            bad_timeout: tally.has(TIMEOUT) && (self.timeout_micros.is_none() || tally.clash & TIMEOUT != 0),
            bad_binary: tally.bad_binary,
            content_type_grpc: once(CONTENT_TYPE) && tally.has(CONTENT_TYPE_GRPC),
            te_trailers: tally.has(TE),
            encoding: if tally.has(ENCODING_OTHER) || tally.clash & ENCODING != 0 { Encoding::Other } else { Encoding::Identity },
            content_length: tally.content_length,
            list_size: tally.list_size,
            fields: tally.fields,
            over_limit: tally.over(self.limits),
        }
    }

    /// The fields that are more than their bits. Apart, so that the rest can be part of the decoder's loop.
    #[inline(never)]
    fn apply(&mut self, kind: FieldKind, arg: u32, name: &[u8], value: &[u8]) {
        match kind {
            FieldKind::Path => {
                self.route = arg;
                if arg == 0 {
                    self.keep(name, value);
                }
            }
            FieldKind::Authority | FieldKind::UserAgent | FieldKind::Host => self.keep(name, value),
            FieldKind::Custom => self.keep_custom(name, value),
            FieldKind::CustomBin if arg == 0 => self.keep_custom(name, value),
            FieldKind::CustomBin => self.tally.bad_binary = true,
            FieldKind::Timeout => {
                self.timeout_micros = timeout::decode(value);
                self.keep_http(name, value);
            }
            FieldKind::MethodOther => {
                self.method = match arg {
                    METHOD_GET => Method::Get,
                    METHOD_CONNECT => Method::Connect,
                    _ => Method::Other,
                };
                self.keep(name, value);
            }
            FieldKind::ContentLength => {
                self.tally.note_content_length(value);
                self.keep_http(name, value);
            }
            FieldKind::Malformed => self.tally.note_malformed_field(arg),
            FieldKind::AcceptEncoding
            | FieldKind::ContentTypeOther
            | FieldKind::EncodingOther
            | FieldKind::ReservedGrpc
            | FieldKind::GrpcStatus
            | FieldKind::GrpcMessage
            | FieldKind::DetailsBin => self.keep_http(name, value),
            FieldKind::MethodPost
            | FieldKind::Scheme
            | FieldKind::TeTrailers
            | FieldKind::ContentTypeGrpc
            | FieldKind::EncodingIdentity
            | FieldKind::Status => {}
        }
    }

    #[inline]
    fn keep_custom(&mut self, name: &[u8], value: &[u8]) {
        if !self.tally.over(self.limits) {
            self.metadata.push_raw(name, value);
        }
    }

    #[inline]
    fn keep(&mut self, name: &[u8], value: &[u8]) {
        if !self.tally.over(self.limits) {
            self.extra.push_raw(name, value);
        }
    }

    /// Keeps what only a plain HTTP request needs.
    #[inline]
    fn keep_http(&mut self, name: &[u8], value: &[u8]) {
        if !self.tally.has(CONTENT_TYPE_GRPC) {
            self.keep(name, value);
        }
    }
}

impl Fields for RequestCollector<'_> {
    #[inline]
    fn static_tag(&self, index: u8) -> Tag {
        static_tag(index)
    }

    fn enough(&self) -> bool {
        self.tally.list_size > self.limits.most
    }

    fn classify(&mut self, name: &[u8], value: &[u8]) -> Tag {
        classify(Some(self.routes), name, value)
    }

    #[inline(always)]
    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]) {
        let (kind, arg) = self.tally.count(tag, name, value);
        if kind as u8 >= FieldKind::Authority as u8 {
            self.apply(kind, arg, name, value);
        }
    }
}

/// The server's name as the client gave it: `:authority`, else `host` (RFC 9113 §8.3.1). From the extra fields of a request.
#[must_use]
pub(crate) fn authority(extra: &Metadata) -> Option<&str> {
    let value = extra.find(b":authority").or_else(|| extra.find(b"host"))?;
    core::str::from_utf8(value).ok()
}
