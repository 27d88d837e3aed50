//! gRPC as a state machine: bytes and time in, bytes and events out.
//!
//! The core does no I/O, reads no clock, spawns nothing, takes no lock. A [`Connection`] is one HTTP/2 connection, client
//! or server; a driver (pintle-tokio, pintle-smol, pintle-mio, or a loop of your own) moves its octets through the [`Endpoint`] trait,
//! drains its [`Event`]s and works on its [`Call`]s. `no_std` + `alloc`.
//!
//! A whole call between two ends, with no socket in sight:
//!
//! ```
//! use pintle_core::{bytes::Bytes, *};
//!
//! let now = Timestamp::from_micros(0);
//! let routes = Routes::new([("/echo.Echo/Unary", Shape::Unary)])?;
//! let mut client = Connection::client(&Config::default(), now);
//! let mut server = Connection::server(&Config::default(), routes, now);
//! let shuttle = |from: &mut Connection, to: &mut Connection| {
//!     let mut buffer = [0; 4096];
//!     while from.wants().write {
//!         let n = from.transmit(now, buffer.len()).copy_to(&mut buffer);
//!         to.recv_slice(now, &buffer[..n]);
//!     }
//! };
//!
//! let call = client.start(now, RequestHead::new("/echo.Echo/Unary", Shape::Unary), CallOptions::default())?;
//! client.call(call)?.send(Bytes::from_static(b"hello").into()).unwrap();
//! shuttle(&mut client, &mut server);
//!
//! let Some(Event::Incoming { call: incoming }) = server.poll_event() else { panic!("a request came") };
//! server.accept(incoming, Token(1)).unwrap();
//! let mut request = server.call(incoming)?;
//! let Recv::Message(message) = request.recv() else { panic!("it is whole") };
//! request.send(message.payload).unwrap();
//! request.finish(&Status::ok(), None);
//! shuttle(&mut server, &mut client);
//!
//! let mut response = client.call(call)?;
//! let Recv::Message(message) = response.recv() else { panic!("the answer came") };
//! assert_eq!(message.payload.into_bytes(), "hello");
//! assert!(matches!(response.recv(), Recv::End));
//! assert!(response.take_outcome().unwrap().status.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | feature | adds |
//! | --- | --- |
//! | `prost` (default) | [`codec::Prost`] |
//! | `record` | `tape`: a flight recorder, and its replay |
//! | `testing` | `testing`: a virtual clock, a simulated link, properties |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

#[macro_use]
mod fault;
#[macro_use]
mod tap;

mod call;
pub mod codec;
mod config;
mod conn;
mod endpoint;
mod error;
mod event;
mod flow;
pub mod grpc;
#[doc(hidden)]
pub mod hpack;
pub mod http;
mod limits;
pub mod pair;
pub mod payload;
pub mod shape;
mod steps;
mod store;
mod stream;
#[cfg(feature = "record")]
pub mod tape;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
pub mod tx;

pub use bytes;
pub use call::{Call, CallOptions, Outcome, Recv, RequestHead};
pub use config::{Config, ConfigError};
pub use conn::{Accepted, Connection, Stats};
pub use endpoint::{Endpoint, Wants};
pub use error::{CloseReason, ErrorCode, Misuse, SendError, StartError, UnknownCall};
pub use event::{CallId, Event, StreamId, Token};
pub use grpc::{Code, Metadata, RouteId, Routes, Status};
pub use limits::Limits;
pub use payload::{Message, Payload};
pub use shape::Shape;
pub use stream::{HttpRequest, Stream, StreamRecv};
pub use time::Timestamp;
pub use tx::Transmit;
