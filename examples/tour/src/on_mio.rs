//! The tour's service and client on the mio loop: callbacks and blocking calls, no async.

use crate::{
    PATIENCE, Wrong,
    tour::{
        Letter, Receipt, Subscription,
        on_mio::{TourClient, TourServer, TourService},
    },
};
use bytes::Bytes;
use pintle_mio::{Caller, Receiver, Replies, Server, Status, Unary};

pub(crate) fn serve(addresses: &[String]) -> Result<Vec<String>, Wrong> {
    let mut server = Server::new().add(|| TourServer::new(PostOffice));
    for address in addresses {
        server = server.listen(address)?;
    }
    let bound = server.local_addresses().iter().map(ToString::to_string).collect();
    std::thread::spawn(move || server.run().expect("the tour never stops a server"));
    Ok(bound)
}

pub(crate) fn connect(address: &str) -> Result<Box<dyn crate::Client>, Wrong> {
    Ok(Box::new(Client(TourClient::new(pintle_mio::connect_local(address)?))))
}

/// The server's callbacks run in the calling thread, while it waits for an answer.
pub(crate) fn in_process() -> Result<Box<dyn crate::Client>, Wrong> {
    let server = Server::new().add(|| TourServer::new(PostOffice));
    Ok(Box::new(Client(TourClient::new(server.in_process_local()?))))
}

struct PostOffice;

impl TourService for PostOffice {
    fn post(&mut self, letter: Letter, call: Unary<Receipt>) {
        call.reply(Receipt { letters: 1, octets: letter.content.len() as u64, last_to: letter.to });
    }

    fn post_all(&mut self, call: Unary<Receipt>) -> Box<dyn Receiver<Letter>> {
        Box::new(Counter { receipt: Receipt::default(), call: Some(call) })
    }

    fn subscribe(&mut self, wish: Subscription, out: Replies<Letter>) {
        let content = Bytes::from(vec![b'.'; wish.octets as usize]);
        let mut number = 0;
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
        out.answer_each(|letter: Letter, answers| {
            answers.push(Letter { to: format!("re: {}", letter.to), ..letter });
            Ok(())
        })
    }
}

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

struct Client<C: Caller>(TourClient<C>);

impl<C: Caller> crate::Client for Client<C> {
    fn post(&mut self, letter: Letter) -> Result<Receipt, Wrong> {
        Ok(self.0.post(letter).deadline(PATIENCE).wait()?)
    }

    fn post_all(&mut self, letters: Vec<Letter>) -> Result<Receipt, Wrong> {
        let mut out = self.0.post_all().deadline(PATIENCE).open()?;
        for letter in letters {
            out.send(letter)?;
        }
        Ok(out.finish()?)
    }

    fn subscribe(&mut self, wish: Subscription) -> Result<Vec<Letter>, Wrong> {
        let mut letters = Vec::new();
        let mut input = self.0.subscribe(wish).deadline(PATIENCE).open()?;
        while let Some(letter) = input.next()? {
            letters.push(letter);
        }
        Ok(letters)
    }

    fn correspond(&mut self, letters: Vec<Letter>) -> Result<Vec<Letter>, Wrong> {
        let mut answers = Vec::new();
        let (mut out, mut input) = self.0.correspond().deadline(PATIENCE).open()?;
        for letter in letters {
            out.send(letter)?;
            answers.extend(input.next()?);
        }
        out.close();
        answers.extend(input.next()?); // the end: a further answer would be one too many
        Ok(answers)
    }
}
