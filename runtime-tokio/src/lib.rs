//! Pintle on tokio.
