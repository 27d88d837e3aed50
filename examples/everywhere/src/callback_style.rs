//! How calls reach the post office by callbacks. `glue` is what was generated for pintle-mio or pintle-callback.

use super::glue::TourService;
use crate::{
    post_office,
    tour::{Letter, Receipt, Subscription},
};
use pintle_callback::{Receiver, Replies, Unary};
use pintle_core::{SendError, Status};

/// Callbacks run on the loop's thread, and must not block.
pub(super) struct PostOffice;

impl TourService for PostOffice {
    fn post(&mut self, letter: Letter, call: Unary<Receipt>) {
        let mut receipt = Receipt::default();
        match post_office::take(&mut receipt, letter) {
            Ok(()) => call.reply(receipt),
            Err(status) => call.fail(status),
        }
    }

    fn post_all(&mut self, call: Unary<Receipt>) -> Box<dyn Receiver<Letter>> {
        Box::new(Counter { receipt: Receipt::default(), call: Some(call) })
    }

    fn subscribe(&mut self, wish: Subscription, mut out: Replies<Letter>) {
        let mut letters = match post_office::letters(wish) {
            Ok(letters) => letters,
            Err(status) => return out.finish(status),
        };
        let mut next = letters.next();
        // Runs now, and again whenever a slow subscriber has made room.
        out.produce(move |out| {
            while let Some(letter) = next.take() {
                if let Err(SendError::Blocked(letter)) = out.send(letter) {
                    next = Some(letter);
                    return;
                }
                next = letters.next();
            }
            out.finish(Status::ok());
        });
    }

    fn correspond(&mut self, out: Replies<Letter>) -> Box<dyn Receiver<Letter>> {
        out.answer_each(|letter, answers| {
            answers.push(post_office::answer(letter));
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
        if let Err(status) = post_office::take(&mut self.receipt, letter)
            && let Some(call) = self.call.take()
        {
            call.fail(status);
        }
    }

    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(std::mem::take(&mut self.receipt));
        }
    }
}
