//! A post office on a plain epoll loop: no async, no runtime. Start it, then run `mio-client` or `tokio-client` in another terminal:
//! `cargo run --bin mio-server -- 127.0.0.1:50051 unix:/tmp/tour.sock`

use bytes::Bytes;
use pintle_mio::{Receiver, Replies, Server, Status, Unary};

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use tour::{Letter, Receipt, Subscription, TourServer, TourService};

/// Callbacks run on the loop's thread and must not block. `call` and `out` may be kept and answered later, from any thread.
struct PostOffice;

impl TourService for PostOffice {
    fn post(&mut self, letter: Letter, call: Unary<Receipt>) {
        if letter.to.is_empty() {
            return call.fail(Status::invalid_argument("a letter needs a name on it"));
        }
        call.reply(Receipt { letters: 1, octets: letter.content.len() as u64, last_to: letter.to });
    }

    fn post_all(&mut self, call: Unary<Receipt>) -> Box<dyn Receiver<Letter>> {
        Box::new(Counter { receipt: Receipt::default(), call: Some(call) })
    }

    fn subscribe(&mut self, wish: Subscription, mut out: Replies<Letter>) {
        if wish.octets > 1_000_000 {
            return out.finish(Status::invalid_argument("a letter holds at most 1,000,000 octets"));
        }
        let content = Bytes::from(vec![b'.'; wish.octets as usize]);
        let mut number = 0;
        // Runs now, and again whenever a slow subscriber has made room.
        out.produce(move |out| {
            while number < wish.letters {
                if out.send(Letter { to: wish.to.clone(), content: content.clone(), number }).is_err() {
                    return;
                }
                number += 1;
            }
            out.finish(Status::ok());
        });
    }

    fn correspond(&mut self, out: Replies<Letter>) -> Box<dyn Receiver<Letter>> {
        // A peer that does not read its answers gets no more of its letters read.
        out.answer_each(|letter: Letter, answers| {
            answers.push(Letter { to: format!("re: {}", letter.to), ..letter });
            Ok(())
        })
    }
}

/// One `post_all` call.
struct Counter {
    receipt: Receipt,
    call: Option<Unary<Receipt>>,
}

impl Receiver<Letter> for Counter {
    fn on_message(&mut self, letter: Letter) {
        self.receipt.letters += 1;
        self.receipt.octets += letter.content.len() as u64;
        self.receipt.last_to = letter.to;
    }

    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(std::mem::take(&mut self.receipt));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut addresses: Vec<String> = std::env::args().skip(1).collect();
    if addresses.is_empty() {
        addresses.push("127.0.0.1:50051".into());
    }
    let mut server = Server::new().add(|| TourServer::new(PostOffice));
    for address in &addresses {
        server = server.listen(address)?;
        println!("listening on {address}");
    }
    server.run()?;
    Ok(())
}
