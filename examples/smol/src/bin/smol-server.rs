//! A post office on smol. Start it, then run `smol-client` or `mio-client` in another terminal:
//! `cargo run --bin smol-server -- 127.0.0.1:50051 unix:/tmp/tour.sock`

use bytes::Bytes;
use pintle_smol::{Context, Sender, Server, Status, Streaming};

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use tour::{Letter, Receipt, Subscription, Tour, TourServer};

struct PostOffice;

impl Tour for PostOffice {
    async fn post(&self, _: &Context, letter: Letter) -> Result<Receipt, Status> {
        if letter.to.is_empty() {
            return Err(Status::invalid_argument("a letter needs a name on it"));
        }
        Ok(Receipt { letters: 1, octets: letter.content.len() as u64, last_to: letter.to })
    }

    async fn post_all(&self, _: &Context, letters: &mut Streaming<Letter>) -> Result<Receipt, Status> {
        let mut receipt = Receipt::default();
        while let Some(letter) = letters.next().await? {
            receipt.letters += 1;
            receipt.octets += letter.content.len() as u64;
            receipt.last_to = letter.to;
        }
        Ok(receipt)
    }

    async fn subscribe(&self, _: &Context, wish: Subscription, out: &mut Sender<Letter>) -> Result<(), Status> {
        if wish.octets > 1_000_000 {
            return Err(Status::invalid_argument("a letter holds at most 1,000,000 octets"));
        }
        let content = Bytes::from(vec![b'.'; wish.octets as usize]);
        for number in 0..wish.letters {
            // Waits while the subscriber is slow; an error once it has gone, which ends this handler.
            out.send(Letter { to: wish.to.clone(), content: content.clone(), number }).await?;
        }
        Ok(())
    }

    async fn correspond(&self, _: &Context, letters: &mut Streaming<Letter>, out: &mut Sender<Letter>) -> Result<(), Status> {
        while let Some(letter) = letters.next().await? {
            out.send(Letter { to: format!("re: {}", letter.to), ..letter }).await?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut addresses: Vec<String> = std::env::args().skip(1).collect();
    if addresses.is_empty() {
        addresses.push("127.0.0.1:50051".into());
    }
    let mut server = Server::new().add(TourServer::new(PostOffice));
    for address in &addresses {
        server = server.listen(address)?;
        println!("listening on {address}");
    }
    server.serve().await?;
    Ok(())
}
