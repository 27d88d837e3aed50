//! gRPC over HTTP/2: status, metadata, routes, and the octets that they are on the wire.
//!
//! Sources: grpc/grpc `doc/PROTOCOL-HTTP2.md` (PH2), `statuscodes.md` (SC), `http-grpc-status-mapping.md`.

pub(crate) mod head;
mod metadata;
pub mod prefix;
mod route;
mod status;
pub mod timeout;

pub(crate) use metadata::decode_base64;
pub use metadata::{InvalidMetadata, Metadata};
pub use route::{InvalidRoute, RouteId, Routes};
pub use status::{Code, Origin, Status, decode_message, encode_message};
