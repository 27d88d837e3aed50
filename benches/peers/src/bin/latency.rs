//! One call after the other: `latency ADDRESS size=8 n=20000 warm=2000 pid=SERVER`. Every answer is compared.

use pintle_peers::{
    load::{Args, Clocks},
    raw::{Client, body},
};
use std::{io, time::Instant};

fn main() -> io::Result<()> {
    let args = Args::take();
    let (count, body) = (args.number("n", 20_000), body(args.number("size", 8)));
    let mut client = Client::connect(&args.address)?;
    for _ in 0..args.number("warm", 2_000) {
        client.call(&body)?;
    }
    let mut times = Vec::with_capacity(count);
    let clocks = Clocks::start(&args);
    for _ in 0..count {
        let began = Instant::now();
        client.call(&body)?;
        times.push(began.elapsed().as_nanos());
    }
    clocks.report("latency", &args, count);
    times.sort_unstable();
    let at = |share: usize| times[count * share / 1_000] as f64 / 1e3;
    println!("p50_us={:.2} p90_us={:.2} p99_us={:.2}", at(500), at(900), at(990));
    Ok(())
}
