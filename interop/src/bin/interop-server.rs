//! `interop-server --runtime tokio|smol|mio --listen ADDRESS [--listen ADDRESS ...]`: serves `pintle.interop.Interop` until it is killed.
//! Prints `listening ADDRESS` for each address once it can be called; port 0 becomes the port that was bound.

use pintle_interop::{Wrong, mio_server, smol_server, tokio_server};

const USAGE: &str = "usage: interop-server --runtime tokio|smol|mio --listen ADDRESS [--listen ADDRESS ...]";

fn main() -> Result<(), Wrong> {
    let (mut runtime, mut addresses) = (String::new(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match arg.as_str() {
            "--runtime" => runtime = value,
            "--listen" => addresses.push(value),
            _ => return Err(USAGE.into()),
        }
    }
    match runtime.as_str() {
        "tokio" => {
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(tokio_server::serve(&addresses))
        }
        "smol" => smol::block_on(smol_server::serve(&addresses)),
        "mio" => mio_server::serve(&addresses),
        _ => Err(USAGE.into()),
    }
}
