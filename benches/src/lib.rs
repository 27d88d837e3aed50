//! Nothing but benches: see `benches/` and the README.
