//! What every std adapter of Pintle needs of sockets: addresses, listeners, connecting, accept errors, the clock.
//!
//! Users meet this crate only through `pintle-tokio` and `pintle-mio`, which re-export [`Address`] and the
//! errors. Nothing here knows HTTP/2 or gRPC.
//!
//! ```
//! use pintle_net::Address;
//!
//! assert_eq!(Address::parse("localhost:50051").unwrap().authority(), "localhost:50051");
//! assert_eq!(Address::parse("unix:/run/greeter.sock").unwrap().authority(), "localhost");
//! let error = Address::parse("localhost").unwrap_err();
//! assert_eq!(error.to_string(), "`localhost` has no port: write host:port, for example localhost:50051");
//! ```

mod accept;
mod address;
mod clock;
mod connect;
mod listen;

pub use accept::{AcceptError, accept_error};
pub use address::{Address, AddressError, AddressProblem};
pub use clock::{instant, now};
pub use connect::{ConnectError, Stream, connect, prepare_tcp};
pub use listen::{BindError, BindOptions, Listener, SocketFile};
