//! One test service (`proto/interop.proto`) on every runtime of Pintle: what `interop-server` and `interop-client` are made of.
//! The scripts beside this crate run them against other people's gRPC: see `interop/run`.

pub mod expect;
pub mod hostile;
pub mod mio_client;
pub mod mio_server;
pub mod smol_client;
pub mod smol_server;
pub mod tokio_client;
pub mod tokio_server;

/// Made from the .proto by build.rs.
#[allow(missing_docs)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
}
use generated::pintle::interop as pb;

use pintle_core::{Code, Config, Status};
use std::{error::Error, fmt::Debug, sync::atomic::AtomicU32, sync::atomic::Ordering, time::Duration};

/// What was expected and what came instead, or why no call could be made.
pub type Wrong = Box<dyn Error + Send + Sync>;

/// The names of all cases that a client can run.
pub const CASES: [&str; 27] = [
    "unary",
    "unary_without_deadline",
    "empty_message",
    "client_streaming",
    "client_streaming_none",
    "client_streaming_much",
    "server_streaming",
    "server_streaming_none",
    "server_streaming_much",
    "bidi_ping_pong",
    "bidi_none",
    "bidi_burst",
    "metadata",
    "status_message",
    "status_codes",
    "status_details",
    "unimplemented",
    "deadline_passes",
    "deadline_ends_stream",
    "deadline_not_reached",
    "deadline_seen",
    "cancel_before_reply",
    "cancel_stream",
    "big_messages",
    "too_big",
    "in_flight",
    "many_calls",
];

/// As many calls at once as the case `in_flight` makes, with smaller windows to pay for it.
pub(crate) fn configure(config: &mut Config) {
    config.max_concurrent_streams = 1_200;
    config.initial_window = 65_535;
    config.recv_budget = 1_200 * 65_535 + (8 << 20);
}

/// What plain requests (not gRPC) are answered on the raw floor: the cases of `interop/run curl`.
pub(crate) fn hello(method: &str, path: &str) -> String {
    format!("{method} {path} on the raw floor\n")
}

/// Compares an answer with what it must be.
pub(crate) fn equal<T: PartialEq + Debug>(what: &str, got: &T, expected: &T) -> Result<(), Wrong> {
    if got == expected {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
    Err(format!("{what}: expected {}, got {}", short(expected), short(got)).into())
}

/// The status that a call must have failed with.
pub(crate) fn fails<T: Debug>(result: Result<T, Status>, code: Code) -> Result<Status, Wrong> {
    match result {
        Err(status) if status.code() == code => Ok(status),
        Err(status) => Err(format!("expected status {}, got {status}", code.name()).into()),
        Ok(_) => Err(format!("expected status {}, got OK", code.name()).into()),
    }
}

/// Compares a time with its bounds.
pub(crate) fn between(what: &str, got: Duration, least: Duration, most: Duration) -> Result<(), Wrong> {
    if (least..=most).contains(&got) { Ok(()) } else { Err(format!("{what}: expected {least:?} to {most:?}, got {got:?}").into()) }
}

/// A key for calls that belong together, different from that of every other client.
pub(crate) fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
