//! What every adapter of an async runtime must do. An adapter's `tests/adapter.rs` includes this, calls itself `pintle`, and says in
//! its `tests/rt` how its runtime runs, sleeps and spawns.

mod backpressure;
mod bad_input;
mod calls;
mod cancel;
mod http;
mod in_process;
mod inline;
mod layer;
mod mixed;
mod shutdown;
