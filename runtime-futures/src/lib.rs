//! The async half that tokio and smol share: clients, servers and connection tasks over core::future.
