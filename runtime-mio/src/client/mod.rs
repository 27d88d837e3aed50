//! Clients.

mod driver;
mod local;
mod remote;
mod request;

pub use local::LocalClient;
pub use remote::Client;
pub use request::{
    BidiRequest, ClientStreamingRequest, Messages, Request, Requests, Response, ServerStreamingRequest, UnaryRequest, Upload, kind,
};

use crate::link::{IntoSocket, Layer, Socket};
use driver::Driver;
use pintle_core::{
    Config, ConfigError, Connection, Endpoint, Message, Metadata, Outcome, SendError, Shape, StartError, Status, Timestamp, codec::Codec,
    grpc::Origin,
};
use pintle_net::{Address, AddressError};
use std::{fmt, io, sync::Arc, time::Duration};

/// Connects a [`Client`] to `host:port` or `unix:path`, with the default settings.
///
/// # Errors
/// The address is not valid, or nobody answers there within 10 s.
pub fn connect(address: &str) -> Result<Client, ConnectError> {
    Connect::new().client(address)
}

/// Connects a [`LocalClient`] to `host:port` or `unix:path`, with the default settings.
///
/// # Errors
/// The address is not valid, or nobody answers there within 10 s.
pub fn connect_local(address: &str) -> Result<LocalClient, ConnectError> {
    Connect::new().local(address)
}

/// How to connect.
#[derive(Clone)]
#[must_use = "it only describes: connect with `client` or `local`"]
pub struct Connect {
    config: Config,
    timeout: Duration,
    authority: Option<String>,
    layer: Option<Layer>,
}

impl Default for Connect {
    fn default() -> Self {
        Self::new()
    }
}

impl Connect {
    /// The default settings.
    pub fn new() -> Self {
        Self { config: Config::default(), timeout: Duration::from_secs(10), authority: None, layer: None }
    }

    /// Settings of the connection. Default: [`Config::default`]. Its `authority` counts only for connections that are `_over` a
    /// stream.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// How long connecting may take. Default 10 s.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What to send as `:authority` instead of the address (`localhost` for a Unix socket).
    pub fn authority(mut self, authority: impl Into<String>) -> Self {
        self.authority = Some(authority.into());
        self
    }

    /// Wraps the connection's core in layers of one's own, such as TLS.
    pub fn layer(mut self, layer: impl Fn(Connection) -> Box<dyn Endpoint> + Send + Sync + 'static) -> Self {
        self.layer = Some(Arc::new(layer));
        self
    }

    /// Connects a client with a background thread.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn client(mut self, address: &str) -> Result<Client, ConnectError> {
        let socket = self.dial(address)?;
        self.client_over(socket)
    }

    /// Connects a client that the calling thread drives.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn local(mut self, address: &str) -> Result<LocalClient, ConnectError> {
        let socket = self.dial(address)?;
        self.local_over(socket)
    }

    /// A client with a background thread, over a stream that is connected already.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn client_over(self, io: impl IntoSocket) -> Result<Client, ConnectError> {
        let socket = io.into_socket()?;
        Client::spawn(self, socket)
    }

    /// A client that the calling thread drives, over a stream that is connected already.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn local_over(self, io: impl IntoSocket) -> Result<LocalClient, ConnectError> {
        let socket = io.into_socket()?;
        Ok(LocalClient::new(self.driver(socket)?))
    }

    fn dial(&mut self, address: &str) -> Result<Socket, ConnectError> {
        let address = Address::parse(address).map_err(ConnectError::Address)?;
        self.authority.get_or_insert_with(|| address.authority().to_owned());
        Ok(pintle_net::connect(&address, self.timeout).map_err(ConnectError::Connect)?.into_socket()?)
    }

    fn driver(self, socket: Socket) -> Result<Driver, ConnectError> {
        let mut config = self.config;
        if let Some(authority) = self.authority {
            config.authority = authority;
        }
        config.validate().map_err(ConnectError::Config)?;
        Ok(Driver::new(socket, &config, self.layer.as_ref())?)
    }
}

/// Why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be understood.
    Address(AddressError),
    /// Nobody answers there.
    Connect(pintle_net::ConnectError),
    /// A setting is out of its range.
    Config(ConfigError),
    /// The system refused something.
    Io(io::Error),
}

impl From<io::Error> for ConnectError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(e) => e.fmt(f),
            Self::Connect(e) => e.fmt(f),
            Self::Config(e) => write!(f, "the client's config cannot work: {e}"),
            Self::Io(e) => write!(f, "the client's loop cannot start: {e}"),
        }
    }
}
impl std::error::Error for ConnectError {}

/// What generated clients call through: a [`Client`] or a [`LocalClient`].
pub trait Caller: Clone {
    /// A call on the way.
    type Call: Calling;
    /// Starts a call. With a first message, that is also its last.
    ///
    /// # Errors
    /// It did not start; nothing was sent.
    fn start<Q: Codec>(&self, head: Head, only: Option<&Q::Item>) -> Result<Self::Call, Status>;
}

/// A call on the way, as this crate's streams see it. Clones are the same call.
pub trait Calling: Clone {
    /// Sends a message; waits for room if `wait`.
    ///
    /// # Errors
    /// As the core's.
    fn send<Q: Codec>(&self, message: &Q::Item, wait: bool) -> Result<(), SendError<()>>;
    /// No more messages.
    fn close_send(&self);
    /// What comes next. Not `Pending` if `wait`.
    fn next(&self, wait: bool) -> Next;
    /// Waits for the response's initial metadata.
    fn headers(&self) -> Metadata;
    /// Ends the call; once it has ended, nothing.
    fn cancel(&self);
}

/// How a call starts.
#[derive(Debug)]
pub struct Head {
    pub(crate) path: &'static str,
    pub(crate) shape: Shape,
    pub(crate) metadata: Metadata,
    pub(crate) deadline: Option<Timestamp>,
}

/// What comes next on a call.
#[derive(Debug)]
pub enum Next {
    /// A message.
    Message(Message),
    /// Nothing yet.
    Pending,
    /// The end, said once.
    End(End),
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct End {
    pub(crate) status: Status,
    pub(crate) trailers: Metadata,
}

impl From<Outcome> for End {
    fn from(outcome: Outcome) -> Self {
        Self { status: outcome.status, trailers: outcome.trailers }
    }
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self { status, trailers: Metadata::new() }
    }
}

/// The status of calls that the connection cannot carry any more.
fn lost(conn: &Connection) -> Status {
    let status = match conn.close_reason() {
        Some(reason) => Status::unavailable(format!("the connection is closed: {reason}; connect again")),
        None => Status::unavailable("the connection is lost; connect again"),
    };
    status.with_origin(Origin::Connection)
}

/// The status of a call that did not start.
fn not_started(error: StartError, conn: &Connection) -> Status {
    match error {
        StartError::Closed => lost(conn),
        StartError::Draining => Status::unavailable(error.to_string()).with_origin(Origin::Connection),
        StartError::AtCapacity => Status::resource_exhausted(error.to_string()),
        _ => Status::internal(error.to_string()),
    }
}
