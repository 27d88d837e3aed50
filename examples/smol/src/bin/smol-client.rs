//! Makes one call of each shape: `cargo run --bin smol-client -- 127.0.0.1:50051` (or `unix:/tmp/tour.sock`).

use bytes::Bytes;
use std::time::Duration;

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use tour::{Letter, Subscription, TourClient};

fn letter(number: u32) -> Letter {
    Letter { to: "Ada".into(), content: Bytes::from_static(b"hello"), number }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = TourClient::connect(&address).await?;

    // Unary, with a deadline and metadata. A call is a builder: it starts when it is awaited.
    let receipt = client.post(letter(0)).deadline(Duration::from_secs(5)).metadata("tenant", "a").await?;
    println!("unary:            {receipt:?}");

    let (mut out, reply) = client.post_all().open().await?;
    for number in 0..3 {
        out.send(letter(number)).await?;
    }
    out.close();
    println!("client streaming: {:?}", reply.await?);

    let mut letters = client.subscribe(Subscription { to: "Ada".into(), letters: 3, octets: 10 }).await?;
    while let Some(letter) = letters.next().await? {
        println!("server streaming: {letter:?}");
    }

    let (mut out, mut replies) = client.correspond().open().await?;
    for number in 0..3 {
        out.send(letter(number)).await?;
        println!("bidirectional:    {:?}", replies.next().await?);
    }
    out.close();

    // What goes wrong comes as a status: a code, a message, and who said so.
    let status = client.post(Letter::default()).await.expect_err("a letter without a name");
    println!("an error:         {status}");
    Ok(())
}
