//! Everything a connection's owner may set, with the limits that bound its memory.

use alloc::string::String;
use core::{fmt, time::Duration};

/// Settings of one connection. Make one with [`Config::default`], change fields, share it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Streams that the peer may have open at once (SETTINGS_MAX_CONCURRENT_STREAMS), and running handlers. Default 100.
    pub max_concurrent_streams: u32,
    /// Receive window of a stream, octets, 1,024 to 2^31-1; with `accept_http` at least 65,535, so that a body fits. Default 131,072.
    /// Below 65,535, a client may send more until it has read our SETTINGS (RFC 9113 §6.9.3): till then `recv_budget` counts, and at
    /// half of it `Wants::read` becomes false.
    pub initial_window: u32,
    /// Receive window of the connection, octets, 65,535 to 2^31-1. Default 1 MiB.
    pub connection_window: u32,
    /// Octets that received messages may hold at once, initial windows included. Default 20 MiB; at least
    /// `max_concurrent_streams * initial_window + max_recv_message`.
    pub recv_budget: u64,
    /// Largest message taken, octets. Larger ones end the call with RESOURCE_EXHAUSTED. Default 4 MiB.
    pub max_recv_message: u32,
    /// Largest message sent, octets. Default 2^31-1.
    pub max_send_message: u32,
    /// Largest header list taken, octets by the name + value + 32 rule (SETTINGS_MAX_HEADER_LIST_SIZE). Default 16 KiB.
    pub max_header_list: u32,
    /// Most fields in one header list. Default 128.
    pub max_header_fields: u32,
    /// HPACK decoder table, octets (SETTINGS_HEADER_TABLE_SIZE). Default 4,096.
    pub header_table: u32,
    /// Most that our HPACK encoder uses of the peer's table, octets. Default 4,096.
    pub encoder_table: u32,
    /// Largest frame taken (SETTINGS_MAX_FRAME_SIZE), 16,384 to 16,777,215. Default 16,384.
    pub max_frame: u32,
    /// Octets of messages that one call may have waiting to be framed before `send` answers `Blocked`. Default 64 KiB.
    /// One message is always taken, whatever its size.
    pub send_buffer: u32,
    /// The same for the whole connection. Default 1 MiB.
    pub connection_send_buffer: u32,
    /// Client: calls that may wait for a stream. Default 10,000.
    pub max_queued_calls: u32,
    /// Server: hand requests that are not gRPC to the application (`Event::IncomingHttp`) instead of refusing them. Default false.
    pub accept_http: bool,
    /// Server: hand calls of methods that are not in the routes to the application instead of answering UNIMPLEMENTED. Default false.
    pub accept_unknown_methods: bool,
    /// `:scheme` is https. Default false.
    pub secure: bool,
    /// Client: `:authority`. Default "localhost".
    pub authority: String,
    /// Client: `user-agent`. Default "grpc-rust-pintle/VERSION".
    pub user_agent: String,
    /// Preface and first SETTINGS must be there within this time. Default 10 s.
    pub handshake_timeout: Duration,
    /// Our SETTINGS must be acknowledged within this time. Default 10 s.
    pub settings_timeout: Duration,
    /// A header block that has begun must end within this time. Default 10 s.
    pub header_block_timeout: Duration,
    /// A transport that takes nothing for this long while octets wait ends the connection. Default 30 s.
    pub write_timeout: Duration,
    /// Drain: how long to wait for the round trip before the second GOAWAY. Default 5 s.
    pub drain_ping_timeout: Duration,
    /// Server: least time between two PINGs that a client may send without data in between (gRFC A8). Default 5 min.
    pub permit_keepalive_time: Duration,
    /// Server: PINGs that are too early before GOAWAY(ENHANCE_YOUR_CALM, "too_many_pings"). Default 2.
    pub max_ping_strikes: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_concurrent_streams: 100,
            initial_window: 128 << 10,
            connection_window: 1 << 20,
            recv_budget: 20 << 20,
            max_recv_message: 4 << 20,
            max_send_message: i32::MAX as u32,
            max_header_list: 16 << 10,
            max_header_fields: 128,
            header_table: 4_096,
            encoder_table: 4_096,
            max_frame: 16_384,
            send_buffer: 64 << 10,
            connection_send_buffer: 1 << 20,
            max_queued_calls: 10_000,
            accept_http: false,
            accept_unknown_methods: false,
            secure: false,
            authority: String::from("localhost"),
            user_agent: String::from(concat!("grpc-rust-pintle/", env!("CARGO_PKG_VERSION"))),
            handshake_timeout: Duration::from_secs(10),
            settings_timeout: Duration::from_secs(10),
            header_block_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            drain_ping_timeout: Duration::from_secs(5),
            permit_keepalive_time: Duration::from_secs(300),
            max_ping_strikes: 2,
        }
    }
}

/// A [`Config`] that cannot work: which field, and what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigError(pub &'static str);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
impl core::error::Error for ConfigError {}

impl Config {
    /// Checks every range that the fields name.
    ///
    /// # Errors
    /// The first field that is out of its range, with the range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let window = 65_535..=i32::MAX as u32;
        let floor = u64::from(self.max_concurrent_streams) * u64::from(self.initial_window) + u64::from(self.max_recv_message);
        let rules = [
            ((1_024..=i32::MAX as u32).contains(&self.initial_window), "initial_window must be 1,024 to 2^31-1"),
            (!self.accept_http || window.contains(&self.initial_window), "initial_window must be at least 65,535 with accept_http"),
            (window.contains(&self.connection_window), "connection_window must be 65,535 to 2^31-1"),
            ((16_384..=16_777_215).contains(&self.max_frame), "max_frame must be 16,384 to 16,777,215"),
            (self.recv_budget >= floor, "recv_budget must be at least max_concurrent_streams * initial_window + max_recv_message"),
            (self.max_concurrent_streams > 0, "max_concurrent_streams must be at least 1"),
            (self.max_header_fields > 0, "max_header_fields must be at least 1"),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, what)) => Err(ConfigError(what)),
            None => Ok(()),
        }
    }
}
