//! What pintle-build generates from difficult files. That this crate compiles, without a warning and with every public item
//! documented, is the first test; the others are in `tests`.

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

/// From a descriptor set, of files in editions.
pub mod editions {
    include!(concat!(env!("OUT_DIR"), "/editions/pintle.rs"));
}

/// Glue for two runtimes over the messages above.
pub mod both {
    include!(concat!(env!("OUT_DIR"), "/both/pintle.rs"));
}

/// For tokio.
pub mod on_tokio {
    include!(concat!(env!("OUT_DIR"), "/tokio/pintle.rs"));
}

/// For mio.
pub mod on_mio {
    include!(concat!(env!("OUT_DIR"), "/mio/pintle.rs"));
}

/// Only clients.
pub mod clients {
    include!(concat!(env!("OUT_DIR"), "/clients/pintle.rs"));
}

/// Only servers.
pub mod servers {
    include!(concat!(env!("OUT_DIR"), "/servers/pintle.rs"));
}
