//! gRPC over HTTP/2 as a state machine (skeleton).
#![no_std]
#![deny(unsafe_code)]
extern crate alloc;

pub mod codec;
mod config;
mod conn;
mod call;
mod endpoint;
mod error;
mod event;
pub mod grpc;
pub mod payload;
pub mod shape;
mod stream;
mod time;
pub mod tx;

pub use call::{Call, CallOptions, Outcome, Recv, RequestHead};
pub use config::{Config, ConfigError};
pub use conn::{Accepted, Connection, Stats};
pub use endpoint::{Endpoint, Wants};
pub use error::{CloseReason, ErrorCode, Misuse, SendError, StartError, UnknownCall};
pub use event::{CallId, Event, StreamId, Token};
pub use grpc::{Code, Metadata, RouteId, Routes, Status};
pub use payload::{Message, Payload};
pub use shape::Shape;
pub use stream::{HttpRequest, Stream, StreamRecv};
pub use time::Timestamp;
pub use tx::Transmit;
pub use bytes;
