//! The tour's service and client on tokio.

use crate::{
    PATIENCE, Wrong,
    tour::{
        Letter, Receipt, Subscription,
        on_tokio::{Tour, TourClient, TourServer},
    },
};
use bytes::Bytes;
use pintle_tokio::{Context, Sender, Server, Status, Streaming};
use tokio::runtime::{Builder, Runtime};

pub(crate) fn serve(addresses: &[String]) -> Result<Vec<String>, Wrong> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let server = {
        let _inside = runtime.enter();
        let mut server = Server::new().add(TourServer::new(PostOffice));
        for address in addresses {
            server = server.listen(address)?;
        }
        server
    };
    let bound = server.local_addresses().iter().map(ToString::to_string).collect();
    std::thread::spawn(move || runtime.block_on(server.serve()).expect("the tour never stops a server"));
    Ok(bound)
}

pub(crate) fn connect(address: &str) -> Result<Box<dyn crate::Client>, Wrong> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let client = runtime.block_on(TourClient::connect(address))?;
    Ok(Box::new(Client { runtime, client }))
}

struct PostOffice;

impl Tour for PostOffice {
    async fn post(&self, _: &Context, letter: Letter) -> Result<Receipt, Status> {
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
        let content = Bytes::from(vec![b'.'; wish.octets as usize]);
        for number in 0..wish.letters {
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

struct Client {
    runtime: Runtime,
    client: TourClient,
}

impl crate::Client for Client {
    fn post(&mut self, letter: Letter) -> Result<Receipt, Wrong> {
        Ok(self.runtime.block_on(async { self.client.post(letter).deadline(PATIENCE).await })?)
    }

    fn post_all(&mut self, letters: Vec<Letter>) -> Result<Receipt, Wrong> {
        self.runtime.block_on(async {
            let (mut out, reply) = self.client.post_all().deadline(PATIENCE).open().await?;
            for letter in letters {
                out.send(letter).await?;
            }
            out.close();
            Ok(reply.await?)
        })
    }

    fn subscribe(&mut self, wish: Subscription) -> Result<Vec<Letter>, Wrong> {
        self.runtime.block_on(async {
            let mut letters = Vec::new();
            let mut input = self.client.subscribe(wish).deadline(PATIENCE).await?;
            while let Some(letter) = input.next().await? {
                letters.push(letter);
            }
            Ok(letters)
        })
    }

    fn correspond(&mut self, letters: Vec<Letter>) -> Result<Vec<Letter>, Wrong> {
        self.runtime.block_on(async {
            let mut answers = Vec::new();
            let (mut out, mut input) = self.client.correspond().deadline(PATIENCE).open().await?;
            for letter in letters {
                out.send(letter).await?;
                answers.extend(input.next().await?);
            }
            out.close();
            answers.extend(input.next().await?); // the end: a further answer would be one too many
            Ok(answers)
        })
    }
}
