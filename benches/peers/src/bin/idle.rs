//! Holds connections open: `idle ADDRESS connections=N streams=M`. Says `open` when all are. After a line `call` it makes one call on each,
//! after a line `hold` it opens M streams on each that stay open; it says `done` after either, and ends with its input.

use pintle_peers::{
    load::Args,
    raw::{Client, body},
};
use std::io;

fn main() -> io::Result<()> {
    let args = Args::take();
    let mut clients: Vec<Client> = (0..args.number("connections", 1)).map(|_| Client::connect(&args.address)).collect::<io::Result<_>>()?;
    println!("open");
    let body = body(args.number("size", 8));
    for line in io::stdin().lines() {
        let hold = line? == "hold";
        for client in &mut clients {
            if hold { client.hold(args.number("streams", 1))? } else { client.call(&body)? }
        }
        println!("done");
    }
    Ok(())
}
