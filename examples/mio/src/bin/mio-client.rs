//! Makes one call of each shape, blocking, without any runtime: `cargo run --bin mio-client -- 127.0.0.1:50051` (or `unix:/tmp/tour.sock`).

use bytes::Bytes;
use std::time::Duration;

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use tour::{Letter, Subscription, TourClient};

fn letter(number: u32) -> Letter {
    Letter { to: "Ada".into(), content: Bytes::from_static(b"hello"), number }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = TourClient::connect(&address)?;

    // Unary, with a deadline and metadata. A call is a builder: it starts with `wait`.
    let receipt = client.post(letter(0)).deadline(Duration::from_secs(5)).metadata("tenant", "a").wait()?;
    println!("unary:            {receipt:?}");

    let mut out = client.post_all().open()?;
    for number in 0..3 {
        out.send(letter(number))?;
    }
    println!("client streaming: {:?}", out.finish()?);

    let mut letters = client.subscribe(Subscription { to: "Ada".into(), letters: 3, octets: 10 }).open()?;
    while let Some(letter) = letters.next()? {
        println!("server streaming: {letter:?}");
    }

    let (mut out, mut replies) = client.correspond().open()?;
    for number in 0..3 {
        out.send(letter(number))?;
        println!("bidirectional:    {:?}", replies.next()?);
    }
    out.close();

    // What goes wrong comes as a status: a code, a message, and who said so.
    let status = client.post(Letter::default()).wait().expect_err("a letter without a name");
    println!("an error:         {status}");
    Ok(())
}
