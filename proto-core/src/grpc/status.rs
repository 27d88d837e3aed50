//! [`Status`]: how a call ended, and its three header fields.

use super::Metadata;
use crate::ErrorCode;
use alloc::{boxed::Box, format, string::String, vec::Vec};
use bytes::Bytes;
use core::fmt;

/// The status codes of gRPC (SC). The number is what `grpc-status` carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// Success.
    Ok = 0,
    /// The call was cancelled, usually by the caller.
    Cancelled = 1,
    /// An error that nothing more is known of.
    Unknown = 2,
    /// The request is wrong whatever the state of the system.
    InvalidArgument = 3,
    /// The deadline passed first. The operation may have succeeded all the same.
    DeadlineExceeded = 4,
    /// Something that was asked for is not there.
    NotFound = 5,
    /// Something that should be made is there already.
    AlreadyExists = 6,
    /// The caller is known and may not do this.
    PermissionDenied = 7,
    /// A quota, memory or a size limit is used up.
    ResourceExhausted = 8,
    /// The system is not in the state that this needs; do not retry before that is mended.
    FailedPrecondition = 9,
    /// Lost a race with another operation; retry at a higher level.
    Aborted = 10,
    /// Past the end of what is valid just now.
    OutOfRange = 11,
    /// The method is not there or not supported.
    Unimplemented = 12,
    /// An invariant is broken: a bug, or a broken peer.
    Internal = 13,
    /// The service cannot be reached just now; retrying with a pause may help.
    Unavailable = 14,
    /// Data is lost or damaged for good.
    DataLoss = 15,
    /// The caller is not known: credentials are missing or not valid.
    Unauthenticated = 16,
}

impl Code {
    /// Every code, at the index of its number.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// From the number on the wire; anything outside 0 to 16 is [`Code::Unknown`].
    #[must_use]
    pub const fn from_u32(n: u32) -> Self {
        if n <= 16 { Self::ALL[n as usize] } else { Self::Unknown }
    }

    /// The number on the wire.
    #[must_use]
    pub const fn as_u32(self) -> u32 {
        self as u32
    }

    /// The name as the gRPC documents write it: `DEADLINE_EXCEEDED`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Who made a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The peer's application or library sent it, or a proxy in its place.
    Peer,
    /// Made on this side: by the application, or by Pintle for a deadline, a cancellation, a limit, a broken response.
    Local,
    /// The connection was lost, refused or never came up.
    Connection,
}

/// How a call ended: a code, and for errors a message for people, details for programs and trailing metadata.
///
/// Two words wide; OK and a bare code never allocate. Two statuses are equal when code, message, details and metadata
/// are; who made them does not matter.
///
/// ```
/// use pintle_core::{Code, Status};
/// let status = Status::not_found("no book 7");
/// assert_eq!(status.code(), Code::NotFound);
/// assert_eq!(status.to_string(), "NOT_FOUND: no book 7");
/// ```
#[derive(Clone)]
pub struct Status {
    code: Code,
    origin: Origin,
    more: Option<Box<More>>,
}

/// What only some statuses have.
#[derive(Clone, Default, PartialEq)]
struct More {
    message: String,
    details: Bytes,
    metadata: Metadata,
}

static NO_METADATA: Metadata = Metadata::new();

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident $code:ident;)*) => {
        /// One constructor per code. Which to choose is said at [`Code`].
        impl Status {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(message: impl Into<String>) -> Self {
                    Self::new(Code::$code, message)
                }
            )*
        }
    };
}

constructors! {
    /// [`Code::Cancelled`] with a message.
    cancelled Cancelled;
    /// [`Code::Unknown`] with a message.
    unknown Unknown;
    /// [`Code::InvalidArgument`] with a message.
    invalid_argument InvalidArgument;
    /// [`Code::DeadlineExceeded`] with a message.
    deadline_exceeded DeadlineExceeded;
    /// [`Code::NotFound`] with a message.
    not_found NotFound;
    /// [`Code::AlreadyExists`] with a message.
    already_exists AlreadyExists;
    /// [`Code::PermissionDenied`] with a message.
    permission_denied PermissionDenied;
    /// [`Code::ResourceExhausted`] with a message.
    resource_exhausted ResourceExhausted;
    /// [`Code::FailedPrecondition`] with a message.
    failed_precondition FailedPrecondition;
    /// [`Code::Aborted`] with a message.
    aborted Aborted;
    /// [`Code::OutOfRange`] with a message.
    out_of_range OutOfRange;
    /// [`Code::Unimplemented`] with a message.
    unimplemented Unimplemented;
    /// [`Code::Internal`] with a message.
    internal Internal;
    /// [`Code::Unavailable`] with a message.
    unavailable Unavailable;
    /// [`Code::DataLoss`] with a message.
    data_loss DataLoss;
    /// [`Code::Unauthenticated`] with a message.
    unauthenticated Unauthenticated;
}

impl Status {
    /// A status of this side. An empty message does not allocate.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        let more = (!message.is_empty()).then(|| Box::new(More { message, ..More::default() }));
        Self { code, origin: Origin::Local, more }
    }

    /// OK; never allocates.
    #[must_use]
    pub const fn ok() -> Self {
        Self::bare(Code::Ok)
    }

    /// A code without a message; never allocates.
    #[must_use]
    pub const fn bare(code: Code) -> Self {
        Self { code, origin: Origin::Local, more: None }
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The code is [`Code::Ok`].
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self.code, Code::Ok)
    }

    /// The message for people; may be empty.
    #[must_use]
    pub fn message(&self) -> &str {
        self.more.as_ref().map_or("", |more| &more.message)
    }

    /// The details for programs: an encoded `google.rpc.Status`, as `grpc-status-details-bin` carries it. Empty: none.
    #[must_use]
    pub fn details(&self) -> &[u8] {
        self.more.as_ref().map_or(&[], |more| &more.details)
    }

    /// With details: an encoded `google.rpc.Status` whose code and message are this status's.
    #[must_use]
    pub fn with_details(mut self, details: Bytes) -> Self {
        self.more_mut().details = details;
        self
    }

    /// Trailing metadata that came, or shall go, with it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.more.as_ref().map_or(&NO_METADATA, |more| &more.metadata)
    }

    /// With trailing metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.more_mut().metadata = metadata;
        self
    }

    /// Who made it.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// With another origin.
    #[must_use]
    pub const fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }
}

impl PartialEq for Status {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
            && self.message() == other.message()
            && self.details() == other.details()
            && self.metadata() == other.metadata()
    }
}

impl From<Code> for Status {
    fn from(code: Code) -> Self {
        Self::bare(code)
    }
}

/// `CODE: message`, and where it came from if not from this side.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.name())?;
        if !self.message().is_empty() {
            write!(f, ": {}", self.message())?;
        }
        match self.origin {
            Origin::Local => Ok(()),
            Origin::Peer => f.write_str(" (from the peer)"),
            Origin::Connection => f.write_str(" (the connection failed)"),
        }
    }
}

/// As `Display`, for programs that return it from `main`; then how many octets of details there are, and the metadata.
impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        if !self.details().is_empty() {
            write!(f, ", details: {} octets", self.details().len())?;
        }
        if !self.metadata().is_empty() {
            write!(f, ", metadata: {:?}", self.metadata())?;
        }
        Ok(())
    }
}

impl core::error::Error for Status {}

/// Statuses made from what came instead of one.
impl Status {
    /// For a response without `grpc-status`, usually from a proxy (http-grpc-status-mapping.md). Never to be used the
    /// other way round by a server.
    ///
    /// 431 is INTERNAL, as in grpc-java and as for 400: the request was refused for its form.
    #[must_use]
    pub fn from_http(status: u16) -> Self {
        let code = match status {
            400 | 431 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502..=504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        Self::new(code, format!("HTTP status {status} without grpc-status: not an answer of a gRPC server")).with_origin(Origin::Peer)
    }

    /// For a call whose stream the peer reset with `code`. CANCEL after the call's own deadline is that deadline, seen
    /// from the other side (PH2 "Errors").
    #[must_use]
    pub fn from_reset(code: ErrorCode, deadline_passed: bool) -> Self {
        let status = match code {
            ErrorCode::CANCEL if deadline_passed => return Self::deadline_exceeded("the deadline passed, and the server reset the call"),
            ErrorCode::CANCEL => Code::Cancelled,
            ErrorCode::REFUSED_STREAM => Code::Unavailable,
            ErrorCode::ENHANCE_YOUR_CALM => Code::ResourceExhausted,
            ErrorCode::INADEQUATE_SECURITY => Code::PermissionDenied,
            _ => Code::Internal,
        };
        Self::new(status, format!("the peer reset the stream with {code}")).with_origin(Origin::Peer)
    }

    /// The same with a short piece of a response's body that is not gRPC, such as a proxy's HTML page.
    #[must_use]
    pub(crate) fn with_snippet(self, body: &[u8]) -> Self {
        const MOST: usize = 256;
        let piece = String::from_utf8_lossy(&body[..body.len().min(MOST)]);
        let printable: String = piece.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        // A gRPC message without an octet, say: nothing to be read.
        if printable.trim().is_empty() {
            return self;
        }
        self.with_text(&format!("; it begins: {printable}"))
    }

    /// The same with more text in its message.
    #[must_use]
    pub(crate) fn with_text(mut self, text: &str) -> Self {
        self.more_mut().message.push_str(text);
        self
    }
}

/// A received `grpc-status`. Small numbers keep their meaning; nothing but a plain `0` is OK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireStatus {
    /// 0 to 16.
    Known(Code),
    /// Another number: UNKNOWN, and the number goes into the message.
    Other(u32),
    /// Not a number as PH2 writes it (decimal, no sign, no leading zero), or there twice.
    Junk,
}

impl WireStatus {
    #[must_use]
    pub(crate) fn parse(value: &[u8]) -> Self {
        // PH2 "Status": 1*DIGIT without leading zeros. Ten digits hold every u32.
        let canonical = matches!(value, [b'0'] | [b'1'..=b'9', ..]) && value.len() <= 10 && value.iter().all(u8::is_ascii_digit);
        if !canonical {
            return Self::Junk;
        }
        let number = value.iter().fold(0u64, |n, digit| n * 10 + u64::from(digit - b'0'));
        match u32::try_from(number) {
            Ok(n @ 0..=16) => Self::Known(Code::from_u32(n)),
            Ok(n) => Self::Other(n),
            Err(_) => Self::Junk,
        }
    }
}

/// The code in an encoded `google.rpc.Status` (field 1, a varint; 0 if it is not there). `None`: the octets are no message.
#[must_use]
pub(crate) fn details_code(mut octets: &[u8]) -> Option<u32> {
    let mut code = 0;
    while !octets.is_empty() {
        let key = varint(&mut octets)?;
        match key & 7 {
            0 => {
                let value = varint(&mut octets)?;
                if key == 1 << 3 {
                    code = value as u32;
                }
            }
            1 => octets = octets.get(8..)?,
            2 => {
                let len = usize::try_from(varint(&mut octets)?).ok()?;
                octets = octets.get(len..)?;
            }
            5 => octets = octets.get(4..)?,
            _ => return None,
        }
    }
    Some(code)
}

/// A protobuf varint of at most ten octets.
fn varint(octets: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (&first, rest) = octets.split_first()?;
        *octets = rest;
        value |= u64::from(first & 0x7F).checked_shl(shift)?;
        if first < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Appends `message` as `grpc-message` carries it: UTF-8, every octet outside 0x20 to 0x7E and `%` as `%XX` (PH2
/// "Status-Message"). Not more than `limit` octets are appended; what does not fit is left out, whole characters at a time.
///
/// ```
/// let mut out = Vec::new();
/// pintle_core::grpc::encode_message("100 % ☺\n", usize::MAX, &mut out);
/// assert_eq!(out, b"100 %25 %E2%98%BA%0A");
/// assert_eq!(pintle_core::grpc::decode_message(&out), "100 % ☺\n");
/// ```
pub fn encode_message(message: &str, limit: usize, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut room = limit;
    for character in message.chars() {
        let mut utf8 = [0; 4];
        let utf8 = character.encode_utf8(&mut utf8).as_bytes();
        let plain = matches!(utf8, [0x20..=0x24 | 0x26..=0x7E]);
        let len = if plain { 1 } else { utf8.len() * 3 };
        if len > room {
            return;
        }
        room -= len;
        if plain {
            out.push(utf8[0]);
        } else {
            out.extend(utf8.iter().flat_map(|&octet| [b'%', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]));
        }
    }
}

/// Reads a received `grpc-message`. Never fails and never loses the message: a broken `%` sequence stays as it is, and
/// what is not UTF-8 becomes U+FFFD.
#[must_use]
pub fn decode_message(value: &[u8]) -> String {
    let mut octets = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, tail @ ..] = rest {
        match rest {
            [b'%', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                octets.push(hex(*high) << 4 | hex(*low));
                rest = tail;
            }
            _ => {
                octets.push(*first);
                rest = tail;
            }
        }
    }
    match String::from_utf8(octets) {
        Ok(message) => message,
        Err(broken) => String::from_utf8_lossy(broken.as_bytes()).into_owned(),
    }
}

/// The value of a hexadecimal digit.
const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
