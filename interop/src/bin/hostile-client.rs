//! `hostile-client tokio|smol|mio`: makes the calls of `interop/hostile`, as its standard input says.

use pintle_interop::{
    Wrong,
    hostile::client::{Mio, Smol, Tokio, obey},
};

fn main() -> Result<(), Wrong> {
    match std::env::args().nth(1).as_deref() {
        Some("tokio") => obey(&mut Tokio::new()?),
        Some("smol") => obey(&mut Smol::default()),
        Some("mio") => obey(&mut Mio::default()),
        _ => Err("usage: hostile-client tokio|smol|mio".into()),
    }
}
