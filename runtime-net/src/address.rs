//! Where to listen or to connect, as people write it.

use std::{
    fmt, io,
    net::{Ipv6Addr, SocketAddr, ToSocketAddrs},
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
            None if address.starts_with("unix-abstract:") => Err(AddressProblem::Abstract),
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
    let path = match path.strip_prefix("//") {
        Some(path) if !path.is_empty() && !path.starts_with('/') => return Err(AddressProblem::UnixHost),
        Some(path) => path,
        None => path,
    };
    match path {
        "" => Err(AddressProblem::NoPath),
        _ if path.contains('\0') => Err(AddressProblem::Abstract),
        _ if path.len() > LONGEST_PATH => Err(AddressProblem::PathTooLong { octets: path.len() }),
        _ => Ok(Address::Unix(PathBuf::from(path))),
    }
}

fn parse_tcp(address: &str) -> Result<Address, AddressProblem> {
    match address {
        _ if address.trim().is_empty() => return Err(AddressProblem::Empty),
        _ if address.starts_with("https://") => return Err(AddressProblem::Https),
        _ if address.starts_with(['/', '.', '~']) || address.ends_with(".sock") => return Err(AddressProblem::BarePath),
        _ if bare(address) != address => return Err(AddressProblem::Url),
        _ if address.bytes().all(|b| b.is_ascii_digit()) => return Err(AddressProblem::PortOnly),
        _ => {}
    }
    let Some((host, port)) = address.rsplit_once(':').filter(|_| !address.ends_with(']')) else { return Err(AddressProblem::NoPort) };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if host.contains(':') && bracketed.is_none() {
        return Err(AddressProblem::Brackets);
    }
    if !port.bytes().all(|b| b.is_ascii_digit()) || port.parse::<u16>().is_err() {
        return Err(AddressProblem::Port);
    }
    if host.is_empty() {
        return Err(AddressProblem::NoHost);
    }
    let no_ipv6 = bracketed.is_some_and(|host| host.split('%').next().is_none_or(|host| host.parse::<Ipv6Addr>().is_err()));
    if no_ipv6 || host.bytes().any(|b| b.is_ascii_whitespace() || b == b'@' || b == 0) {
        return Err(AddressProblem::Host);
    }
    Ok(Address::Tcp(address.to_owned()))
}

/// What is left of a URL without its scheme, user and path. Itself: it is no URL.
fn bare(address: &str) -> &str {
    let schemes = ["dns:", "ipv4:", "ipv6:", "tcp:", "http:"];
    let address = match address.split_once("://") {
        Some((_, rest)) => rest.trim_start_matches('/'),
        // `dns:50051` is the host `dns`; `dns:host:50051` is a target of other gRPC libraries.
        None => schemes.iter().find_map(|scheme| address.strip_prefix(scheme).filter(|rest| rest.contains(':'))).unwrap_or(address),
    };
    address.split('/').next().unwrap_or_default()
}

/// An address that cannot be used: which, and what to write instead.
#[derive(Clone, PartialEq, Eq)]
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
    /// Nothing at all.
    Empty,
    /// `host` alone.
    NoPort,
    /// `:port` alone.
    NoHost,
    /// A number alone.
    PortOnly,
    /// The port is no number from 0 to 65535.
    Port,
    /// White space, `@` or NUL in the host, or something in brackets that is no IPv6 address.
    Host,
    /// More than one `:`, usually an IPv6 address without brackets.
    Brackets,
    /// `https://`: TLS is not spoken here.
    Https,
    /// `http://` or another URL, or a path behind the port.
    Url,
    /// A path without `unix:`.
    BarePath,
    /// `unix:` alone.
    NoPath,
    /// `unix://` with something else than a `/` behind it.
    UnixHost,
    /// A NUL in the path of a Unix socket, or `unix-abstract:`: abstract sockets are not supported.
    Abstract,
    /// The path of a Unix socket is longer than 107 octets.
    PathTooLong {
        /// Its length.
        octets: usize,
    },
}

/// The address, what is wrong with it, and what to write instead.
impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.escape_debug();
        if self.problem != AddressProblem::Empty {
            write!(f, "`{address}` ")?;
        }
        match self.problem {
            AddressProblem::Empty => {
                f.write_str("the address is empty: write host:port, for example localhost:50051, or unix:/path/to/socket")
            }
            AddressProblem::NoPort => write!(f, "has no port: write host:port, for example {address}:50051"),
            AddressProblem::NoHost => {
                write!(f, "has no host: write localhost{address} (this machine) or 0.0.0.0{address} (to listen on every interface)")
            }
            AddressProblem::PortOnly => {
                write!(
                    f,
                    "is a port without a host: write 127.0.0.1:{address} (this machine) or 0.0.0.0:{address} (to listen on every interface)"
                )
            }
            AddressProblem::Port => f.write_str("has no valid port: after the last `:` must come a number from 0 to 65535"),
            AddressProblem::Host => f.write_str(
                "has no valid host: write a name, an IPv4 address, or an IPv6 address in brackets, without spaces and without `@`",
            ),
            AddressProblem::Brackets => self.brackets(f),
            AddressProblem::Https => {
                f.write_str("asks for TLS, which Pintle does not speak yet: add TLS as a layer, or write host:port for clear text")
            }
            AddressProblem::Url => write!(f, "is a URL: write host:port only, here {}", with_port(bare(&self.address)).escape_debug()),
            AddressProblem::BarePath => write!(f, "looks like a path: for a Unix socket write unix:{address}"),
            AddressProblem::NoPath => f.write_str("names no socket: write unix:/path/to/socket"),
            AddressProblem::UnixHost => {
                let path = self.address.trim_start_matches("unix://").escape_debug();
                write!(f, "has two slashes: write unix:///{path} (from the root) or unix:{path} (from the working directory)")
            }
            AddressProblem::Abstract => f.write_str("names an abstract socket, which is not supported: write unix:/path/to/socket"),
            AddressProblem::PathTooLong { octets } => {
                write!(f, "has a path of {octets} octets: a Unix socket's path may have {LONGEST_PATH}; choose a shorter directory")
            }
        }
    }
}

impl AddressError {
    /// Says where the brackets go.
    fn brackets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ipv6 = |text: &str| text.trim_matches(['[', ']']).parse::<Ipv6Addr>().ok();
        let split = self.address.rsplit_once(':').and_then(|(host, port)| Some((ipv6(host)?, port.parse::<u16>().ok()?)));
        match (split, ipv6(&self.address)) {
            (Some((host, port)), None) => write!(f, "has an IPv6 address without brackets: write [{host}]:{port}"),
            (None, Some(whole)) => write!(f, "is an IPv6 address without a port: write [{whole}]:50051"),
            (Some((host, port)), Some(whole)) => {
                write!(
                    f,
                    "has an IPv6 address without brackets: write [{host}]:{port}, or [{whole}]:50051 if `{port}` is part of the address"
                )
            }
            (None, None) => {
                f.write_str("has more than one `:`: write host:port; an IPv6 address goes in brackets, for example [::1]:50051")
            }
        }
    }
}

/// The same with a port, if it has none.
fn with_port(host: &str) -> String {
    let named = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if named { host.to_owned() } else { format!("{}:50051", if host.is_empty() { "localhost" } else { host }) }
}

/// As `Display`: what a program shows that returns it from `main`.
impl fmt::Debug for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl std::error::Error for AddressError {}
