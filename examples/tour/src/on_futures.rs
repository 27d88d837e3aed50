//! The tour's service and client in the async style. `on_tokio.rs` and `on_smol.rs` include this, each with the names of its runtime.

use super::{Context, Runtime, Sender, Status, Streaming, Tour, TourClient};
use crate::{
    PATIENCE, Wrong,
    tour::{Letter, Receipt, Subscription},
};
use bytes::Bytes;

pub(crate) struct PostOffice;

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

pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    pub(crate) client: TourClient,
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
