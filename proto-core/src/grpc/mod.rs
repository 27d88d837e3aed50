//! gRPC over HTTP/2: status, metadata, routes (skeleton).
use alloc::{string::String, vec::Vec, sync::Arc, boxed::Box};
use bytes::Bytes;
use crate::shape::Shape;
use core::fmt;

/// Status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Code { Ok = 0, Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted, FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable, DataLoss, Unauthenticated }
impl Code {
    /// From the number on the wire; anything outside 0 to 16 is Unknown.
    #[must_use]
    pub const fn from_u32(n: u32) -> Self { let _ = n; todo!() }
    /// `DEADLINE_EXCEEDED` etc.
    #[must_use]
    pub const fn name(self) -> &'static str { todo!() }
}

/// Who made a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The peer's application or library sent it.
    Peer,
    /// We made it for this call: deadline, cancellation, a limit, a broken response.
    Local,
    /// The connection was lost, refused or never came up.
    Connection,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Status { code: Code, message: String }
impl Status {
    /// A status of ours.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self { Self { code, message: message.into() } }
    /// OK; never allocates.
    #[must_use]
    pub const fn ok() -> Self { todo!() }
    /// The code.
    #[must_use]
    pub fn code(&self) -> Code { self.code }
    /// The message.
    #[must_use]
    pub fn message(&self) -> &str { &self.message }
    /// `grpc-status-details-bin`, decoded.
    #[must_use]
    pub fn details(&self) -> &[u8] { todo!() }
    /// With details.
    #[must_use]
    pub fn with_details(self, details: Bytes) -> Self { let _ = details; todo!() }
    /// Trailing metadata that came, or shall go, with it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata { todo!() }
    /// With trailing metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self { let _ = metadata; todo!() }
    /// Who made it.
    #[must_use]
    pub fn origin(&self) -> Origin { todo!() }
    /// With another origin.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self { let _ = origin; todo!() }
    /// One constructor per code: `cancelled`, `unknown`, `invalid_argument`, ... `unauthenticated`.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self { Self::new(Code::Internal, message) }
}
impl fmt::Display for Status { fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result { todo!() } }
impl core::error::Error for Status {}

/// Metadata: an ordered list of fields in one buffer.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Metadata { #[allow(dead_code)] buf: Vec<u8> }
/// A key or value that cannot be sent: which and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InvalidMetadata { Key(&'static str), Value(&'static str) }
impl Metadata {
    /// Empty, without allocation.
    #[must_use]
    pub const fn new() -> Self { Self { buf: Vec::new() } }
    /// No field.
    #[must_use]
    pub fn is_empty(&self) -> bool { todo!() }
    /// Fields.
    #[must_use]
    pub fn len(&self) -> usize { todo!() }
    /// Appends an ASCII field.
    ///
    /// # Errors
    /// The key or value is not valid.
    pub fn append(&mut self, key: &str, value: &str) -> Result<(), InvalidMetadata> { let _ = (key, value); todo!() }
    /// Appends a binary field; the key ends in `-bin`.
    ///
    /// # Errors
    /// The key is not valid.
    pub fn append_bin(&mut self, key: &str, value: &[u8]) -> Result<(), InvalidMetadata> { let _ = (key, value); todo!() }
    /// The first value of an ASCII key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> { let _ = key; todo!() }
    /// The first value of a binary key, decoded.
    #[must_use]
    pub fn get_bin(&self, key: &str) -> Option<Bytes> { let _ = key; todo!() }
    /// Every field in order: name and the value's octets as on the wire (`-bin` as base64).
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> { core::iter::empty() }
}

/// One of a server's routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RouteId(pub(crate) u32);
impl RouteId {
    /// Position in the list that [`Routes::new`] was given.
    #[must_use]
    pub const fn index(self) -> usize { self.0 as usize }
}
/// A server's methods; cheap to clone.
#[derive(Debug, Clone)]
pub struct Routes { #[allow(dead_code)] list: Arc<[(Box<str>, Shape)]> }
impl Routes {
    /// From paths (`/package.Service/Method`) and shapes, in the order that [`RouteId::index`] gives back.
    ///
    /// # Errors
    /// A path that is there twice, or that is not `/service/method`.
    pub fn new<'a>(methods: impl IntoIterator<Item = (&'a str, Shape)>) -> Result<Self, InvalidRoute> { let _ = methods.into_iter().count(); todo!() }
    /// The path and shape of a route.
    #[must_use]
    pub fn get(&self, id: RouteId) -> (&str, Shape) { let _ = id; todo!() }
    /// Methods.
    #[must_use]
    pub fn len(&self) -> usize { self.list.len() }
    /// No method.
    #[must_use]
    pub fn is_empty(&self) -> bool { self.list.is_empty() }
}
/// A route that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRoute(pub String);
