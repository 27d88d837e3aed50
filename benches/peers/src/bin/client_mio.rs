//! Unary calls through Pintle's client on mio that drives its own connection, so many at once: `client_mio ADDRESS flight=1|10|100 size=8
//! n=100000 [pid=SERVER]`.

use pintle_mio::{LocalClient, Status};
use pintle_peers::{
    echo::{Msg, on_mio::EchoClient},
    load::{Args, Check, Clocks},
};
use std::collections::VecDeque;

fn run(client: &EchoClient<LocalClient>, flight: usize, message: &Msg, count: usize) -> Result<(), Status> {
    let mut check = Check::new(message);
    if flight == 1 {
        for _ in 0..count {
            check.one(&client.unary(message.clone()).wait()?);
        }
        return Ok(());
    }
    let mut calls = VecDeque::new();
    let mut left = count;
    while left > 0 || !calls.is_empty() {
        while left > 0 && calls.len() < flight {
            calls.push_back(client.unary(message.clone()).open()?);
            left -= 1;
        }
        if let Some(oldest) = calls.pop_front() {
            check.one(&oldest.wait()?);
        }
    }
    check.all(count);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::take();
    let client = EchoClient::new(pintle_mio::connect_local(&args.address)?);
    let (flight, message, count) = (args.number("flight", 1), args.message(), args.number("n", 100_000));
    run(&client, flight, &message, count / 10)?;
    let clocks = Clocks::start(&args);
    run(&client, flight, &message, count)?;
    clocks.report(&format!("unary-{flight}"), &args, count);
    Ok(())
}
