//! What the fields of heads and trailers mean.
//!
//! A field is [classified](classify) once, when the HPACK decoder first sees it; the table keeps the answer as a [`Tag`] and
//! a block of known fields costs a few bit operations each. [`RequestCollector`] and [`ResponseCollector`] take the fields
//! of one block and answer with small `Copy` facts; text goes into two buffers, custom metadata apart from the rest.
//!
//! Everything malformed by RFC 9113 §8 is found here, for both directions. What a malformed field also meant does not count.

mod request;
mod response;
#[cfg(test)]
mod tests;

pub(crate) use request::{RequestCollector, RequestFields, RequestVerdict, authority};
pub(crate) use response::{ResponseCollector, ResponseFields};

use super::{
    Routes, decode_base64,
    metadata::{http_name_error, http_value_error, is_binary},
    status::WireStatus,
};
use crate::hpack::Tag;

/// What one block may hold. Beyond either, nothing more is stored; the fields are still counted and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadLimits {
    /// Sum of name + value + 32 octets (RFC 9113 §6.5.2).
    pub(crate) list_size: u32,
    /// Number of fields.
    pub(crate) fields: u32,
    /// Octets beyond which the block ends the connection: its other literals are not even decoded.
    pub(crate) most: u32,
}

/// The coding that `grpc-encoding` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    /// No `grpc-encoding`, or `identity`: a message with the compressed flag is an error.
    #[default]
    Identity,
    /// Something else; its name is in the extra fields.
    Other,
}

/// Meaning of a field. Some kinds have an argument, see [`tag`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FieldKind {
    // In a request, these say all in their bits.
    MethodPost,
    Scheme,
    TeTrailers,
    ContentTypeGrpc,
    EncodingIdentity,
    // These also have text or a number.
    Authority,
    /// Argument: route + 1, or 0 for no route of ours.
    Path,
    UserAgent,
    Timeout,
    AcceptEncoding,
    /// `:method` other than POST. Argument: see [`METHOD_GET`].
    MethodOther,
    ContentTypeOther,
    EncodingOther,
    Host,
    ContentLength,
    Custom,
    /// Argument: 1 if the value is not base64.
    CustomBin,
    /// `grpc-` names that mean nothing here.
    ReservedGrpc,
    /// Argument: the number.
    Status,
    /// Argument: the number up to 16, or [`STATUS_ODD`].
    GrpcStatus,
    GrpcMessage,
    DetailsBin,
    /// Argument: index into [`REASONS`].
    Malformed,
}

impl FieldKind {
    const ALL: [Self; 23] = [
        Self::MethodPost,
        Self::Scheme,
        Self::TeTrailers,
        Self::ContentTypeGrpc,
        Self::EncodingIdentity,
        Self::Authority,
        Self::Path,
        Self::UserAgent,
        Self::Timeout,
        Self::AcceptEncoding,
        Self::MethodOther,
        Self::ContentTypeOther,
        Self::EncodingOther,
        Self::Host,
        Self::ContentLength,
        Self::Custom,
        Self::CustomBin,
        Self::ReservedGrpc,
        Self::Status,
        Self::GrpcStatus,
        Self::GrpcMessage,
        Self::DetailsBin,
        Self::Malformed,
    ];

    /// What seeing the field notes.
    const fn bits(self) -> u32 {
        match self {
            Self::MethodPost => METHOD | POST,
            Self::MethodOther => METHOD,
            Self::Scheme => SCHEME,
            Self::Authority => AUTHORITY,
            Self::Path => PATH,
            Self::Status => STATUS,
            Self::TeTrailers => REGULAR | TE,
            Self::ContentTypeGrpc => REGULAR | CONTENT_TYPE | CONTENT_TYPE_GRPC,
            Self::ContentTypeOther => REGULAR | CONTENT_TYPE,
            Self::EncodingIdentity => REGULAR | ENCODING,
            Self::EncodingOther => REGULAR | ENCODING | ENCODING_OTHER,
            Self::Timeout => REGULAR | TIMEOUT,
            Self::Host => REGULAR | HOST,
            Self::ContentLength => REGULAR | CONTENT_LENGTH,
            Self::GrpcStatus => REGULAR | GRPC_STATUS,
            Self::DetailsBin => REGULAR | DETAILS,
            Self::UserAgent
            | Self::AcceptEncoding
            | Self::Custom
            | Self::CustomBin
            | Self::ReservedGrpc
            | Self::GrpcMessage
            | Self::Malformed => REGULAR,
        }
    }

    /// What must not have been seen before the field: pseudo-headers come once and before all regular fields (RFC 9113
    /// §8.3); of the others, these may be there once.
    const fn excludes(self) -> u32 {
        let bits = self.bits();
        if bits & PSEUDO != 0 { bits & PSEUDO | REGULAR } else { bits & (CONTENT_TYPE | ENCODING | TIMEOUT | HOST | GRPC_STATUS | DETAILS) }
    }
}

const METHOD: u32 = 1;
const SCHEME: u32 = 1 << 1;
const PATH: u32 = 1 << 2;
const AUTHORITY: u32 = 1 << 3;
const STATUS: u32 = 1 << 4;
const REQUEST_PSEUDO: u32 = METHOD | SCHEME | PATH | AUTHORITY;
const PSEUDO: u32 = REQUEST_PSEUDO | STATUS;
const REGULAR: u32 = 1 << 5;
const POST: u32 = 1 << 6;
const TE: u32 = 1 << 7;
const CONTENT_TYPE: u32 = 1 << 8;
const CONTENT_TYPE_GRPC: u32 = 1 << 9;
const ENCODING: u32 = 1 << 10;
const ENCODING_OTHER: u32 = 1 << 11;
const TIMEOUT: u32 = 1 << 12;
const HOST: u32 = 1 << 13;
const CONTENT_LENGTH: u32 = 1 << 14;
const GRPC_STATUS: u32 = 1 << 15;
const DETAILS: u32 = 1 << 16;

/// The argument of [`FieldKind::MethodOther`].
const METHOD_GET: u32 = 1;
const METHOD_CONNECT: u32 = 2;
/// The argument of [`FieldKind::GrpcStatus`] when the value has to be looked at.
const STATUS_ODD: u32 = 17;

/// Why a field is malformed by itself.
const REASONS: [&str; 12] = [
    "a field name that HTTP/2 forbids",
    "a field value with NUL, CR or LF, or with whitespace at an end",
    "a field of HTTP/1 connections (RFC 9113 §8.2.2)",
    "te with a value other than \"trailers\"",
    "a pseudo-header that is not known",
    "an empty :path",
    "a :path with octets that no URI has",
    "a broken :method",
    "a broken :scheme",
    "an :authority or host with userinfo or with octets that no URI has",
    "a :status that is not three digits, or 101",
    "a content-length that is not a number",
];
const BAD_NAME: u32 = 0;
const BAD_VALUE: u32 = 1;
const CONNECTION_SPECIFIC: u32 = 2;
const BAD_TE: u32 = 3;
const UNKNOWN_PSEUDO: u32 = 4;
const EMPTY_PATH: u32 = 5;
const BAD_PATH: u32 = 6;
const BAD_METHOD: u32 = 7;
const BAD_SCHEME: u32 = 8;
const BAD_AUTHORITY: u32 = 9;
const BAD_STATUS: u32 = 10;
const BAD_LENGTH: u32 = 11;

const DUPLICATE: &str = "a pseudo-header that is there twice or after a regular field";

/// Kind in the low 6 bits, argument above.
const fn tag(kind: FieldKind, arg: u32) -> Tag {
    Tag(kind as u32 | arg << 6)
}

const fn malformed(reason: u32) -> Tag {
    tag(FieldKind::Malformed, reason)
}

/// What a tag means without a search.
#[derive(Clone, Copy)]
struct Meaning {
    kind: FieldKind,
    bits: u32,
    excludes: u32,
}

/// By the low 6 bits of a tag. 64 entries, so that no index is out of bounds.
static MEANINGS: [Meaning; 64] = {
    let none = FieldKind::Malformed;
    let mut table = [Meaning { kind: none, bits: none.bits(), excludes: none.excludes() }; 64];
    let mut i = 0;
    while i < FieldKind::ALL.len() {
        let kind = FieldKind::ALL[i];
        table[i] = Meaning { kind, bits: kind.bits(), excludes: kind.excludes() };
        i += 1;
    }
    table
};

/// Splits a tag to its meaning and argument.
#[inline]
fn meaning(tag: Tag) -> (Meaning, u32) {
    (MEANINGS[(tag.0 & 63) as usize], tag.0 >> 6)
}

/// Tags of the static table; index 0 is none.
static STATIC_TAGS: [Tag; 62] = {
    let mut table = [tag(FieldKind::Custom, 0); 62];
    table[0] = malformed(BAD_NAME);
    table[1] = tag(FieldKind::Authority, 0);
    table[2] = tag(FieldKind::MethodOther, METHOD_GET);
    table[3] = tag(FieldKind::MethodPost, 0);
    table[4] = tag(FieldKind::Path, 0);
    table[5] = tag(FieldKind::Path, 0);
    table[6] = tag(FieldKind::Scheme, 0);
    table[7] = tag(FieldKind::Scheme, 0);
    let statuses = [200, 204, 206, 304, 400, 404, 500];
    let mut i = 0;
    while i < statuses.len() {
        table[8 + i] = tag(FieldKind::Status, statuses[i]);
        i += 1;
    }
    table[28] = malformed(BAD_LENGTH); // content-length with an empty value
    table[31] = tag(FieldKind::ContentTypeOther, 0);
    table[38] = tag(FieldKind::Host, 0);
    table[57] = malformed(CONNECTION_SPECIFIC); // transfer-encoding
    table[58] = tag(FieldKind::UserAgent, 0);
    table
};

#[inline]
fn static_tag(index: u8) -> Tag {
    STATIC_TAGS.get(usize::from(index)).copied().unwrap_or(malformed(BAD_NAME))
}

/// The meaning of a field. `routes` is the server's; a client has none.
fn classify(routes: Option<&Routes>, name: &[u8], value: &[u8]) -> Tag {
    if http_value_error(value).is_some() {
        return malformed(BAD_VALUE);
    }
    match name {
        [b':', pseudo @ ..] => classify_pseudo(routes, pseudo, value),
        [b'g', b'r', b'p', b'c', b'-', rest @ ..] => classify_grpc(rest, name, value),
        b"te" => if_valid(value.eq_ignore_ascii_case(b"trailers"), tag(FieldKind::TeTrailers, 0), BAD_TE),
        b"content-type" if is_grpc_content_type(value) => tag(FieldKind::ContentTypeGrpc, 0),
        b"content-type" => tag(FieldKind::ContentTypeOther, 0),
        b"user-agent" => tag(FieldKind::UserAgent, 0),
        b"host" => if_valid(is_authority(value), tag(FieldKind::Host, 0), BAD_AUTHORITY),
        b"content-length" => if_valid(content_length(value).is_some(), tag(FieldKind::ContentLength, 0), BAD_LENGTH),
        _ if super::metadata::is_connection_specific(name) => malformed(CONNECTION_SPECIFIC),
        _ if http_name_error(name).is_some() => malformed(BAD_NAME),
        _ => classify_custom(name, value),
    }
}

fn classify_pseudo(routes: Option<&Routes>, name: &[u8], value: &[u8]) -> Tag {
    match name {
        b"method" => match value {
            b"POST" => tag(FieldKind::MethodPost, 0),
            b"GET" => tag(FieldKind::MethodOther, METHOD_GET),
            b"CONNECT" => tag(FieldKind::MethodOther, METHOD_CONNECT),
            _ => if_valid(is_visible(value) && !value.is_empty(), tag(FieldKind::MethodOther, 0), BAD_METHOD),
        },
        b"path" if value.is_empty() => malformed(EMPTY_PATH),
        b"path" => {
            let route = routes.and_then(|routes| routes.find(value));
            if_valid(is_visible(value), tag(FieldKind::Path, route.map_or(0, |id| id.0 + 1)), BAD_PATH)
        }
        b"authority" => if_valid(is_authority(value), tag(FieldKind::Authority, 0), BAD_AUTHORITY),
        b"scheme" => if_valid(is_visible(value) && !value.is_empty(), tag(FieldKind::Scheme, 0), BAD_SCHEME),
        b"status" => match value {
            [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] if value != b"101" => {
                let digit = |c: &u8| u32::from(c - b'0');
                tag(FieldKind::Status, digit(a) * 100 + digit(b) * 10 + digit(c))
            }
            _ => malformed(BAD_STATUS),
        },
        _ => malformed(UNKNOWN_PSEUDO),
    }
}

/// `rest` is the name after `grpc-`.
fn classify_grpc(rest: &[u8], name: &[u8], value: &[u8]) -> Tag {
    match rest {
        b"timeout" => tag(FieldKind::Timeout, 0),
        b"encoding" if value.eq_ignore_ascii_case(b"identity") => tag(FieldKind::EncodingIdentity, 0),
        b"encoding" => tag(FieldKind::EncodingOther, 0),
        b"accept-encoding" => tag(FieldKind::AcceptEncoding, 0),
        b"status" => match WireStatus::parse(value) {
            WireStatus::Known(code) => tag(FieldKind::GrpcStatus, code.as_u32()),
            WireStatus::Other(_) | WireStatus::Junk => tag(FieldKind::GrpcStatus, STATUS_ODD),
        },
        b"message" => tag(FieldKind::GrpcMessage, 0),
        b"status-details-bin" => tag(FieldKind::DetailsBin, 0),
        // gRFC A6: these travel as ordinary metadata.
        b"previous-rpc-attempts" | b"retry-pushback-ms" => tag(FieldKind::Custom, 0),
        _ => if_valid(http_name_error(name).is_none(), tag(FieldKind::ReservedGrpc, 0), BAD_NAME),
    }
}

fn classify_custom(name: &[u8], value: &[u8]) -> Tag {
    if !is_binary(name) {
        return tag(FieldKind::Custom, 0);
    }
    // Joined values are split before they are decoded (PH2 "Custom-Metadata").
    let broken = value.split(|&c| c == b',').any(|part| decode_base64(part).is_none());
    tag(FieldKind::CustomBin, u32::from(broken))
}

const fn if_valid(valid: bool, tag: Tag, reason: u32) -> Tag {
    if valid { tag } else { malformed(reason) }
}

/// PH2 "Content-Type": `application/grpc`, alone or followed by `+` or `;`. Media types have no case (RFC 9110 §8.3.1).
fn is_grpc_content_type(value: &[u8]) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    match value.split_at_checked(GRPC.len()) {
        Some((start, rest)) => start.eq_ignore_ascii_case(GRPC) && matches!(rest, [] | [b'+' | b';', ..]),
        None => false,
    }
}

/// Visible ASCII only, as every part of a URI is (RFC 3986 §2).
fn is_visible(value: &[u8]) -> bool {
    value.iter().all(|c| matches!(c, 0x21..=0x7E))
}

/// Userinfo is forbidden (RFC 9113 §8.3.1). Beyond that anything goes, the empty string and socket paths included: clients on
/// Unix sockets send all of it, and nothing here is routed by it.
fn is_authority(value: &[u8]) -> bool {
    is_visible(value) && !value.contains(&b'@')
}

/// RFC 9110 §8.6: digits only.
fn content_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 19 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(value.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}

/// What both collectors keep count of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tally {
    seen: u32,
    /// Of `seen`, what came again or too late.
    clash: u32,
    list_size: u32,
    fields: u32,
    malformed: Option<&'static str>,
    bad_binary: bool,
    content_length: Option<u64>,
}

impl Tally {
    /// Counts a field; answers its kind and argument.
    #[inline]
    fn count(&mut self, tag: Tag, name: &[u8], value: &[u8]) -> (FieldKind, u32) {
        let (meaning, arg) = meaning(tag);
        self.clash |= self.seen & meaning.excludes;
        self.seen |= meaning.bits;
        // Saturating: a small block can name a large entry of the table very often. One field is never near 4 GiB, though, and
        // every field has at least an octet of the block.
        self.list_size = self.list_size.saturating_add((name.len() + value.len() + 32) as u32);
        self.fields = self.fields.wrapping_add(1);
        (meaning.kind, arg)
    }

    /// Nothing more is to be stored. Both sums only grow, so this is asked where it matters and not for each field.
    #[inline]
    const fn over(&self, limits: HeadLimits) -> bool {
        self.list_size > limits.list_size || self.fields > limits.fields
    }

    const fn has(&self, bits: u32) -> bool {
        self.seen & bits != 0
    }

    /// Notes a reason; the first stays.
    #[cold]
    fn note_malformed(&mut self, why: &'static str) {
        self.malformed.get_or_insert(why);
    }

    #[cold]
    fn note_malformed_field(&mut self, reason: u32) {
        self.note_malformed(REASONS.get(reason as usize).copied().unwrap_or(REASONS[0]));
    }

    /// Two values that differ are malformed, the same one twice is one (RFC 9110 §8.6).
    #[cold]
    fn note_content_length(&mut self, value: &[u8]) {
        let length = content_length(value);
        if self.content_length.is_some() && self.content_length != length {
            self.note_malformed("two values of content-length");
        }
        self.content_length = length;
    }

    /// Trailers have no pseudo-headers (RFC 9113 §8.1).
    fn check_trailers(&mut self) {
        if self.has(PSEUDO) {
            self.note_malformed("a pseudo-header in trailers");
        }
    }
}
