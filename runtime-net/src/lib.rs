//! What every std adapter of Pintle needs of sockets: addresses, listeners, connecting, accept errors, the clock.
//!
//! Users meet this crate only through `pintle-tokio`, `pintle-smol` and `pintle-mio`, which re-export [`Address`] and the
//! errors. Loops of one's own use it directly: [`Acceptor`] takes connections, [`Wire`] moves their octets, and by a [`bell`] other threads
//! wake the loop. Nothing here knows HTTP/2 or gRPC.
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
mod nonblocking;
mod peer;

pub use accept::{AcceptError, accept_error};
pub use address::{Address, AddressError, AddressProblem};
pub use clock::{instant, now, timestamp};
pub use connect::{ConnectError, Stream, connect, prepare_tcp};
pub use listen::{BindError, BindOptions, Listener, SocketFile};
pub use nonblocking::{Acceptor, Wire, bell};
pub use peer::{Credentials, Peer};
