//! How calls reach the post office in async style. `runtime` is pintle-tokio or pintle-smol, `glue` what was generated for it.

use super::{
    glue::Tour,
    runtime::{Context, Sender, Status, Streaming},
};
use crate::{
    post_office,
    tour::{Letter, Receipt, Subscription},
};

pub(super) struct PostOffice;

impl Tour for PostOffice {
    async fn post(&self, _: &Context, letter: Letter) -> Result<Receipt, Status> {
        let mut receipt = Receipt::default();
        post_office::take(&mut receipt, letter)?;
        Ok(receipt)
    }

    async fn post_all(&self, _: &Context, letters: &mut Streaming<Letter>) -> Result<Receipt, Status> {
        let mut receipt = Receipt::default();
        while let Some(letter) = letters.next().await? {
            post_office::take(&mut receipt, letter)?;
        }
        Ok(receipt)
    }

    async fn subscribe(&self, _: &Context, wish: Subscription, out: &mut Sender<Letter>) -> Result<(), Status> {
        for letter in post_office::letters(wish)? {
            out.send(letter).await?; // waits while the subscriber is slow
        }
        Ok(())
    }

    async fn correspond(&self, _: &Context, letters: &mut Streaming<Letter>, out: &mut Sender<Letter>) -> Result<(), Status> {
        while let Some(letter) = letters.next().await? {
            out.send(post_office::answer(letter)).await?;
        }
        Ok(())
    }
}
