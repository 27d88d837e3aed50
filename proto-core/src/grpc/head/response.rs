//! Response heads and trailers, at a client.

use super::{
    CONTENT_TYPE, CONTENT_TYPE_GRPC, DETAILS, DUPLICATE, ENCODING, ENCODING_OTHER, Encoding, FieldKind, GRPC_STATUS, HeadLimits, PSEUDO,
    REGULAR, REQUEST_PSEUDO, STATUS, Tally, classify, static_tag,
};
use crate::{
    Metadata,
    grpc::{
        Code, Origin, Status, decode_base64, decode_message,
        status::{WireStatus, details_code},
    },
    hpack::{Fields, Tag},
};
use alloc::{format, string::String};

/// `content-type` of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentType {
    /// None, which is tolerated where a `grpc-status` comes with it.
    Absent,
    /// gRPC's.
    Grpc,
    /// Another, or two; the first is in the extra fields.
    Other,
}

/// What a block of a response says. Small and `Copy`, to be remembered together with the block it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseFields {
    /// The response is malformed: RST_STREAM(PROTOCOL_ERROR), and nothing of it is delivered (RFC 9113 §8.1.1).
    pub(crate) malformed: Option<&'static str>,
    /// `:status`; there in every head that is not malformed, never in trailers.
    pub(crate) http_status: Option<u16>,
    /// `content-type`.
    pub(crate) content_type: ContentType,
    /// `grpc-status`.
    pub(crate) grpc_status: Option<WireStatus>,
    /// `grpc-encoding`.
    pub(crate) encoding: Encoding,
    /// `content-length`, which the sum of the DATA has to equal (RFC 9113 §8.1.1).
    pub(crate) content_length: Option<u64>,
    /// A `-bin` value of the metadata is not base64. It is not in the metadata.
    pub(crate) bad_binary: bool,
    /// More than one `grpc-status-details-bin`: none counts.
    pub(crate) several_details: bool,
    /// Sum of name + value + 32 octets.
    pub(crate) list_size: u32,
    /// Number of fields.
    pub(crate) fields: u32,
    /// One of the limits was passed; metadata and extra fields are cut short.
    pub(crate) over_limit: bool,
}

impl ResponseFields {
    /// A 1xx head: skip it, another head follows. With END_STREAM it is malformed, which only the caller sees.
    #[must_use]
    pub(crate) const fn informational(&self) -> bool {
        matches!(self.http_status, Some(100..=199))
    }

    /// A head after which gRPC messages may follow, whatever `:status` says (a `grpc-status` in the trailers wins). Any other is the answer of a proxy or of another kind of server: the call
    /// ends with [`status`](Self::status), and a little of the body may be added to it.
    #[must_use]
    pub(crate) const fn is_grpc(&self) -> bool {
        matches!(self.content_type, ContentType::Grpc)
    }

    /// The status that the block stands for: of trailers, of a head with END_STREAM (Trailers-Only), or of a head that is not
    /// gRPC's. A `grpc-status` wins whatever else there is; without one, a head counts by its HTTP status.
    #[must_use]
    pub(crate) fn status(&self, extra: &Metadata) -> Status {
        if let Some(why) = self.malformed {
            return Status::internal(format!("malformed response: {why}"));
        }
        if self.over_limit {
            return Status::resource_exhausted("the response's header list is larger than this client takes");
        }
        let message = || extra.find(b"grpc-message").map(decode_message).unwrap_or_default();
        match self.grpc_status {
            Some(WireStatus::Known(Code::Ok)) if self.bad_binary => Status::internal("malformed base64 in a -bin field of the response"),
            // A message besides OK has no use (PH2 "Status-Message").
            Some(WireStatus::Known(Code::Ok)) => Status::ok().with_origin(Origin::Peer),
            Some(WireStatus::Known(code)) => {
                let status = Status::new(code, message()).with_origin(Origin::Peer);
                self.with_details(status, extra)
            }
            Some(WireStatus::Other(number)) => odd(&format!("grpc-status {number}, which is no known code"), &message()),
            Some(WireStatus::Junk) => odd("grpc-status is not one number", &message()),
            None => self.status_from_http(extra),
        }
    }

    /// Details that cannot be read, or that are for another code than `grpc-status`, do not count.
    fn with_details(&self, status: Status, extra: &Metadata) -> Status {
        let details = extra.find(b"grpc-status-details-bin").filter(|_| !self.several_details).and_then(decode_base64);
        match details {
            Some(details) if details_code(&details) == Some(status.code().as_u32()) => status.with_details(details.into()),
            _ => status,
        }
    }

    fn status_from_http(&self, extra: &Metadata) -> Status {
        let missing = |text| Status::unknown(text).with_origin(Origin::Peer);
        match (self.http_status, self.content_type) {
            (None, _) => missing(String::from("the trailers have no grpc-status")),
            (Some(200), ContentType::Grpc) => missing(String::from("the response ended without grpc-status")),
            (Some(http), ContentType::Other) => {
                let content_type = extra.find(b"content-type").unwrap_or_default();
                Status::from_http(http).with_text(&format!("; its content-type is {:?}", String::from_utf8_lossy(content_type)))
            }
            (Some(http), ContentType::Absent) => Status::from_http(http).with_text("; it has no content-type"),
            (Some(http), ContentType::Grpc) => Status::from_http(http),
        }
    }
}

fn odd(why: &str, message: &str) -> Status {
    let text = if message.is_empty() { String::from(why) } else { format!("{why}: {message}") };
    Status::unknown(text).with_origin(Origin::Peer)
}

/// Takes the fields of one block of a response: head, Trailers-Only or trailers.
///
/// Custom metadata is appended to `metadata`. `extra` gets `grpc-message`, `grpc-status-details-bin`, and a content-type and
/// coding that are not gRPC's own.
#[derive(Debug)]
pub(crate) struct ResponseCollector<'a> {
    metadata: &'a mut Metadata,
    extra: &'a mut Metadata,
    limits: HeadLimits,
    tally: Tally,
    http_status: u16,
    grpc_status: Option<WireStatus>,
}

impl<'a> ResponseCollector<'a> {
    /// For one block. Limits of 0 store nothing: for streams that are gone, whose blocks must be decoded all the same.
    pub(crate) fn new(metadata: &'a mut Metadata, extra: &'a mut Metadata, limits: HeadLimits) -> Self {
        Self { metadata, extra, limits, tally: Tally::default(), http_status: 0, grpc_status: None }
    }

    /// The block was the first of a response, or came after a 1xx head.
    pub(crate) fn finish(mut self) -> ResponseFields {
        // RFC 9113 §8.3.2.
        if self.tally.has(REQUEST_PSEUDO) {
            self.tally.note_malformed("a pseudo-header of requests in a response");
        }
        if self.tally.clash & (PSEUDO | REGULAR) != 0 {
            self.tally.note_malformed(DUPLICATE);
        }
        if !self.tally.has(STATUS) {
            self.tally.note_malformed("a response without :status");
        }
        self.answer()
    }

    /// The block was trailers.
    pub(crate) fn finish_trailers(mut self) -> ResponseFields {
        self.tally.check_trailers();
        self.answer()
    }

    fn answer(self) -> ResponseFields {
        let tally = self.tally;
        let content_type = if !tally.has(CONTENT_TYPE) {
            ContentType::Absent
        } else if tally.has(CONTENT_TYPE_GRPC) && tally.clash & CONTENT_TYPE == 0 {
            ContentType::Grpc
        } else {
            ContentType::Other
        };
        ResponseFields {
            malformed: tally.malformed,
            http_status: tally.has(STATUS).then_some(self.http_status),
            content_type,
            // Of two statuses neither can be relied on.
            grpc_status: if tally.clash & GRPC_STATUS != 0 { Some(WireStatus::Junk) } else { self.grpc_status },
            encoding: if tally.has(ENCODING_OTHER) || tally.clash & ENCODING != 0 { Encoding::Other } else { Encoding::Identity },
            content_length: tally.content_length,
            bad_binary: tally.bad_binary,
            several_details: tally.clash & DETAILS != 0,
            list_size: tally.list_size,
            fields: tally.fields,
            over_limit: tally.over(self.limits),
        }
    }

    #[inline]
    fn keep(&mut self, name: &[u8], value: &[u8]) {
        if !self.tally.over(self.limits) {
            self.extra.push_raw(name, value);
        }
    }

    #[inline]
    fn keep_custom(&mut self, name: &[u8], value: &[u8]) {
        if !self.tally.over(self.limits) {
            self.metadata.push_raw(name, value);
        }
    }
}

impl Fields for ResponseCollector<'_> {
    #[inline]
    fn static_tag(&self, index: u8) -> Tag {
        static_tag(index)
    }

    fn enough(&self) -> bool {
        self.tally.list_size > self.limits.most
    }

    fn classify(&mut self, name: &[u8], value: &[u8]) -> Tag {
        classify(None, name, value)
    }

    #[inline]
    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]) {
        let (kind, arg) = self.tally.count(tag, name, value);
        match kind {
            FieldKind::Status => self.http_status = arg as u16,
            FieldKind::GrpcStatus => self.grpc_status = Some(wire_status(arg, value)),
            FieldKind::Custom => self.keep_custom(name, value),
            FieldKind::CustomBin if arg == 0 => self.keep_custom(name, value),
            FieldKind::CustomBin => self.tally.bad_binary = true,
            FieldKind::GrpcMessage | FieldKind::DetailsBin | FieldKind::ContentTypeOther | FieldKind::EncodingOther => {
                self.keep(name, value)
            }
            FieldKind::ContentLength => self.tally.note_content_length(value),
            FieldKind::Malformed => self.tally.note_malformed_field(arg),
            // RFC 9113 §8.2.2 allows it in requests only.
            FieldKind::TeTrailers => self.tally.note_malformed("te in a response"),
            FieldKind::MethodPost
            | FieldKind::Scheme
            | FieldKind::ContentTypeGrpc
            | FieldKind::EncodingIdentity
            | FieldKind::Authority
            | FieldKind::Path
            | FieldKind::UserAgent
            | FieldKind::Timeout
            | FieldKind::AcceptEncoding
            | FieldKind::MethodOther
            | FieldKind::Host
            | FieldKind::ReservedGrpc => {}
        }
    }
}

#[inline]
fn wire_status(arg: u32, value: &[u8]) -> WireStatus {
    if arg <= 16 { WireStatus::Known(Code::from_u32(arg)) } else { WireStatus::parse(value) }
}
