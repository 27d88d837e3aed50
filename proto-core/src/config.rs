//! Everything a connection's owner may set, with the limits that bound its memory.

use crate::Limits;
use alloc::string::String;
use core::{fmt, time::Duration};

/// Settings of one connection. Make one with [`Config::default`], change fields, share it.
///
/// Each field names its unit, its range where it has one, its default with the reason, and what the peer sees of it. The drivers check a
/// `Config` by [`validate`](Self::validate) before its first connection; who makes a [`Connection`](crate::Connection) by hand should too.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    // Calls.
    /// Streams that the peer may have open at once, and with it running handlers: a cancelled call counts until its handler has ended. At
    /// least 1. Default 100, the least that RFC 9113 §6.5.2 recommends. Each costs up to `initial_window` octets of `recv_budget`.
    /// The peer sees SETTINGS_MAX_CONCURRENT_STREAMS; a call above it gets RST_STREAM(REFUSED_STREAM), which is safe to retry. It holds
    /// from the first octet, acknowledged or not (CVE-2026-47244).
    pub max_concurrent_streams: u32,
    /// Client: calls that may wait for a stream while the server's limit is reached. Default 10,000. Beyond it `start` answers
    /// [`StartError`](crate::StartError); `Event::Available` says when there is room. The peer sees nothing.
    pub max_queued_calls: u32,

    // Receiving.
    /// Receive window of a stream, octets, 1,024 to 2^31-1; with `accept_http` at least 65,535, so that a body fits. Default 131,072: small
    /// enough for 100 streams that nobody reads, and a message that is asked for gets the rest of its length on top. The peer sees
    /// SETTINGS_INITIAL_WINDOW_SIZE, and waits once it has sent so much that the application has not taken.
    /// Below 65,535, a client may send more until it has read our SETTINGS (RFC 9113 §6.9.3): till then `recv_budget` counts, and at
    /// half of it `Wants::read` becomes false.
    pub initial_window: u32,
    /// Receive window of the connection, octets, 65,535 to 2^31-1. Default 4 MiB: bandwidth x delay of 1 Gbit/s over 33 ms. Raise it for
    /// longer or faster links. It does not bound memory, `recv_budget` does: octets are credited when they arrive, so that one slow
    /// reader stops nobody else. The peer sees a WINDOW_UPDATE of stream 0 behind our SETTINGS.
    pub connection_window: u32,
    /// Octets that received messages may hold at once, initial windows included. At least
    /// `max_concurrent_streams * initial_window + max_recv_message`. Default 20 MiB: 100 windows and room for one message of 4 MiB, with
    /// some left for a second. This bounds the memory that a peer's DATA can take. Above it, large messages wait for their turn; the peer
    /// sees windows that stay shut meanwhile. While some wait, one that was let in must come at 4 KiB in each `stall_timeout`, or its call ends
    /// with RESOURCE_EXHAUSTED.
    pub recv_budget: u64,
    /// Largest message taken, octets. Default 4 MiB, as gRPC has it everywhere. A larger one ends its call with RESOURCE_EXHAUSTED as soon as
    /// its length is read; the connection goes on. A message that is asked for is let in on top of its stream's window, and no window is
    /// larger than 2^31-1: where `initial_window` and this are more than that together, a connection takes less of the larger one.
    pub max_recv_message: u32,
    /// Largest header list taken, octets by the name + value + 32 rule. Default 16 KiB: twice what gRPC asks for. The peer sees
    /// SETTINGS_MAX_HEADER_LIST_SIZE; a list above it ends its call with RESOURCE_EXHAUSTED (a plain request gets 431), one above
    /// `limits.header_list_excess` times it the connection.
    pub max_header_list: u32,
    /// Most fields in one header list, at least 1. Default 128. Small fields cost more than their octets (CVE-2026-49975). What is above
    /// ends its call like a list that is too large. The peer is not told the number.
    pub max_header_fields: u32,
    /// HPACK decoder table, octets. Default 4,096, where RFC 7541 begins; more saves octets where metadata is long and repeats. Memory for each
    /// connection. The peer sees SETTINGS_HEADER_TABLE_SIZE.
    pub header_table: u32,
    /// Largest frame taken, octets, 16,384 to 16,777,215. Default 16,384, where HTTP/2 begins: larger frames gain little and let one
    /// stream hold up the others. The peer sees SETTINGS_MAX_FRAME_SIZE; a frame above it ends the connection with FRAME_SIZE_ERROR.
    pub max_frame: u32,

    // Sending.
    /// Largest message sent, octets. Default 2^31-1. `send` refuses a larger one; the peer sees nothing of it.
    pub max_send_message: u32,
    /// Octets of messages that one call may have waiting to be framed before `send` answers `Blocked`. Default 64 KiB: enough to fill a
    /// window while the application comes back. One message is always taken, whatever its size.
    pub send_buffer: u32,
    /// The same for the whole connection. Default 1 MiB: what a peer that grants windows but does not read can make us keep.
    pub connection_send_buffer: u32,
    /// Most that our HPACK encoder uses of the peer's table, octets. Default 4,096. The peer's SETTINGS_HEADER_TABLE_SIZE is a ceiling, not a
    /// wish: 4 GiB there must not cost us 4 GiB.
    pub encoder_table: u32,

    // What is served, and how we call ourselves.
    /// Server: hand requests that are not gRPC to the application (`Event::IncomingHttp`) instead of refusing them with 415. Default false.
    pub accept_http: bool,
    /// Server: hand calls of methods that are not in the routes to the application instead of answering UNIMPLEMENTED. Default false.
    pub accept_unknown_methods: bool,
    /// Client: `:scheme` is https. Default false. A server takes either.
    pub secure: bool,
    /// Client: `:authority`. Default "localhost".
    pub authority: String,
    /// Client: `user-agent`. Default "grpc-rust-pintle/VERSION".
    pub user_agent: String,

    // Time. Every wait that holds up the connection, or an answer, has an end.
    /// Preface and first SETTINGS must be there within this time. Default 10 s: a slow network, not a silent client. The connection is
    /// closed; the peer sees GOAWAY(SETTINGS_TIMEOUT).
    pub handshake_timeout: Duration,
    /// Our SETTINGS must be acknowledged within this time. Default 10 s. The peer sees GOAWAY(SETTINGS_TIMEOUT).
    pub settings_timeout: Duration,
    /// A header block whose first frame has come must end within this time. Default 10 s. Nothing else may come in between, so it holds up the whole
    /// connection. The peer sees GOAWAY(ENHANCE_YOUR_CALM).
    pub header_block_timeout: Duration,
    /// A transport that takes nothing for this long while octets wait ends the connection. Default 30 s. A peer that takes a little all the time
    /// must take 1 KiB a second. The connection is closed without a word: nobody reads.
    pub write_timeout: Duration,
    /// Server: an answer that the application has finished and whose stream's window lets through less than 4 KiB (and not its end) in this
    /// time is given up. One that waits for its turn with the connection's window waits on while the peer takes 4 KiB for each that waits, or
    /// 1 KiB a second in all. Default 60 s: its memory must not be the peer's to hold (CVE-2026-49975). The peer sees RST_STREAM(CANCEL).
    pub stall_timeout: Duration,
    /// Server: the same while the application is still at work on the call, and for raw streams. Default 10 min: a client that is slow to take
    /// messages is nothing unusual. A stream with nothing queued is never ended by either. The handler is told (`Event::Finished`, CANCELLED);
    /// the peer sees RST_STREAM(CANCEL).
    pub held_stall_timeout: Duration,
    /// Drain: how long to wait for the round trip before the second GOAWAY. Default 5 s.
    pub drain_ping_timeout: Duration,
    /// Server: least time between two PINGs that a client may send without data in between (gRFC A8); two hours where no call is open.
    /// Default 5 min, as gRPC has it. What comes earlier is a strike.
    pub permit_keepalive_time: Duration,
    /// Server: strikes that a client may have; a frame of headers or data of ours takes them back. Default 2, as gRPC has it. The next one ends the
    /// connection with GOAWAY(ENHANCE_YOUR_CALM) and the text `too_many_pings`, on which gRPC clients ping half as often.
    pub max_ping_strikes: u32,

    // Abuse.
    /// How much work that is of no use the peer may make.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_concurrent_streams: 100,
            initial_window: 128 << 10,
            connection_window: 4 << 20,
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
            stall_timeout: Duration::from_secs(60),
            held_stall_timeout: Duration::from_secs(600),
            drain_ping_timeout: Duration::from_secs(5),
            permit_keepalive_time: Duration::from_secs(300),
            max_ping_strikes: 2,
            limits: Limits::DEFAULT,
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
    /// What a connection goes by: a stream's window and the largest message on top of it are a window that HTTP/2 has (cases B66).
    pub(crate) fn fitted(&self) -> Self {
        const MOST: u32 = i32::MAX as u32;
        let mut fitted = self.clone();
        fitted.initial_window = self.initial_window.min(MOST - self.max_recv_message.min(MOST / 2));
        fitted.max_recv_message = self.max_recv_message.min(MOST - fitted.initial_window);
        fitted
    }

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
            (self.limits.header_list_excess > 0, "limits.header_list_excess must be at least 1"),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, what)) => Err(ConfigError(what)),
            None => Ok(()),
        }
    }
}
