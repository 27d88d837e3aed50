//! The service: a post office with one method per call shape. It knows no loop; the same source serves under pintle-mio.

use crate::tour::{Letter, Receipt, Subscription, TourService};
use bytes::Bytes;
use pintle_callback::{Receiver, Replies, Unary};
use pintle_core::{Metadata, Status};
use std::{thread, time::Duration};

/// However long a call asks for.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// Callbacks run on the loop's thread and must not block.
pub struct PostOffice;

impl TourService for PostOffice {
    /// Sends the field `x-postmark` back as it came; answers after `x-delay-ms` milliseconds, if the call says so (a minute at most).
    fn post(&mut self, letter: Letter, call: Unary<Receipt>) {
        if letter.to.is_empty() {
            return call.fail(Status::invalid_argument("a letter needs a name on it"));
        }
        let mut headers = Metadata::new();
        if let Some(Ok(())) = call.metadata().get("x-postmark").map(|mark| headers.append("x-postmark", mark)) {
            call.send_headers(&headers);
        }
        let receipt = Receipt { letters: 1, octets: letter.content.len() as u64, last_to: letter.to };
        match call.metadata().get("x-delay-ms").and_then(|ms| ms.parse().ok()) {
            None => call.reply(receipt),
            // The thread stands for whatever is slow: a disk, another server. `call` may go anywhere and be answered later.
            Some(ms) => drop(thread::spawn(move || {
                thread::sleep(Duration::from_millis(ms).min(LONGEST_DELAY));
                call.reply(receipt);
            })),
        }
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
