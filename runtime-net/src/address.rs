//! Where to listen or to connect, as people write it.

use std::{
    fmt, io,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    str::FromStr,
};

/// `sun_path` holds 108 octets with its final NUL (unix(7)).
const LONGEST_PATH: usize = 107;

/// An address to listen on or to connect to: `host:port`, or `unix:` and a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `host:port`; the host is a name, an IPv4 address, or an IPv6 address in brackets.
    Tcp(String),
    /// The path of a Unix socket, at most 107 octets.
    Unix(PathBuf),
}

impl Address {
    /// Reads `host:port`, `[ipv6]:port`, `unix:path` or `unix:///path`. Names are not looked up yet.
    ///
    /// # Errors
    /// Anything else, with what to write instead.
    pub fn parse(address: &str) -> Result<Self, AddressError> {
        let parsed = match address.strip_prefix("unix:") {
            Some(path) => parse_unix(path),
            None => parse_tcp(address),
        };
        parsed.map_err(|problem| AddressError { address: address.to_owned(), problem })
    }

    /// What a client sends as `:authority`: `host:port`, and `localhost` for a Unix socket (a path is not a valid authority,
    /// RFC 9113 §8.3.1, and strict servers refuse it).
    #[must_use]
    pub fn authority(&self) -> &str {
        match self {
            Self::Tcp(host_port) => host_port,
            Self::Unix(_) => "localhost",
        }
    }

    /// Looks the host up (blocking, by the system's resolver). Empty for a Unix socket.
    ///
    /// # Errors
    /// The resolver's.
    pub fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::Tcp(host_port) => Ok(host_port.to_socket_addrs()?.collect()),
            Self::Unix(_) => Ok(Vec::new()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host_port) => f.write_str(host_port),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;
    fn from_str(address: &str) -> Result<Self, AddressError> {
        Self::parse(address)
    }
}

fn parse_unix(path: &str) -> Result<Address, AddressProblem> {
    // unix:///absolute is the gRPC naming document's second form: an empty authority before the path.
    let path = path.strip_prefix("//").unwrap_or(path);
    match path {
        "" => Err(AddressProblem::NoPath),
        _ if path.contains('\0') => Err(AddressProblem::NulInPath),
        _ if path.len() > LONGEST_PATH => Err(AddressProblem::PathTooLong { octets: path.len() }),
        _ => Ok(Address::Unix(PathBuf::from(path))),
    }
}

fn parse_tcp(address: &str) -> Result<Address, AddressProblem> {
    if address.starts_with("https://") {
        return Err(AddressProblem::Https);
    }
    if address.contains("://") {
        return Err(AddressProblem::Url);
    }
    if address.contains('/') {
        return Err(AddressProblem::BarePath);
    }
    let Some((host, port)) = address.rsplit_once(':') else { return Err(AddressProblem::NoPort) };
    if host.is_empty() {
        return Err(AddressProblem::NoHost);
    }
    if address.ends_with(']') {
        return Err(AddressProblem::NoPort);
    }
    let bracketed = host.starts_with('[') && host.ends_with(']');
    if host.contains(':') && !bracketed {
        return Err(AddressProblem::Brackets);
    }
    if !port.bytes().all(|b| b.is_ascii_digit()) || port.parse::<u16>().is_err() {
        return Err(AddressProblem::Port);
    }
    if host.bytes().any(|b| b.is_ascii_whitespace() || b == b'@' || b == 0) {
        return Err(AddressProblem::Host);
    }
    Ok(Address::Tcp(address.to_owned()))
}

/// An address that cannot be used: which, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError {
    /// What was given.
    pub address: String,
    /// What is wrong with it.
    pub problem: AddressProblem,
}

/// What is wrong with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressProblem {
    /// `host` alone.
    NoPort,
    /// `:port` alone.
    NoHost,
    /// The port is no number from 0 to 65535.
    Port,
    /// White space, `@` or NUL in the host.
    Host,
    /// An IPv6 address without brackets.
    Brackets,
    /// `https://`: TLS is not spoken here.
    Https,
    /// `http://` or another URL.
    Url,
    /// A path without `unix:`.
    BarePath,
    /// `unix:` alone.
    NoPath,
    /// A NUL in the path of a Unix socket (abstract sockets are not supported).
    NulInPath,
    /// The path of a Unix socket is longer than 107 octets.
    PathTooLong {
        /// Its length.
        octets: usize,
    },
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &self.address;
        write!(f, "`{}` ", address.escape_debug())?;
        match self.problem {
            AddressProblem::NoPort => write!(f, "has no port: write host:port, for example {}:50051", address.escape_debug()),
            AddressProblem::NoHost => {
                write!(f, "has no host: write localhost{address} (this machine) or 0.0.0.0{address} (to listen on every interface)")
            }
            AddressProblem::Port => f.write_str("has no valid port: after the last `:` must come a number from 0 to 65535"),
            AddressProblem::Host => f.write_str("has no valid host: write host:port without spaces and without `@`"),
            AddressProblem::Brackets => f.write_str("looks like an IPv6 address: write it in brackets, for example [::1]:50051"),
            AddressProblem::Https => f.write_str("asks for TLS, which this connection does not speak: for clear text write host:port only"),
            AddressProblem::Url => f.write_str("is a URL: write host:port only, for example localhost:50051"),
            AddressProblem::BarePath => write!(f, "looks like a path: for a Unix socket write unix:{}", address.escape_debug()),
            AddressProblem::NoPath => f.write_str("names no socket: write unix:/path/to/socket"),
            AddressProblem::NulInPath => {
                f.write_str("has a NUL in its path: abstract sockets are not supported, write unix:/path/to/socket")
            }
            AddressProblem::PathTooLong { octets } => {
                write!(f, "has a path of {octets} octets: a Unix socket's path may have {LONGEST_PATH}; choose a shorter directory")
            }
        }
    }
}
impl std::error::Error for AddressError {}
