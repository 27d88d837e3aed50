//! A client that calls all four shapes of a server and says what it saw.

use crate::tour::{Letter, Receipt, Subscription, on_mio::TourClient};
use bytes::Bytes;
use std::{error::Error, time::Duration};

/// What a post office answered.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// To one letter of five octets to Ada.
    pub post: Receipt,
    /// To three of them.
    pub post_all: Receipt,
    /// To a subscription of three letters of ten octets: the octets of each.
    pub subscribe: Vec<usize>,
    /// To three letters to Ada, one by one: who the answers are for.
    pub correspond: Vec<String>,
    /// To a letter without a name.
    pub nameless: String,
}

fn letter(number: u32) -> Letter {
    Letter { to: "Ada".into(), content: Bytes::from_static(b"hello"), number }
}

/// Calls the server at `address`.
///
/// # Errors
/// Nobody is there, or a call failed.
pub fn visit(address: &str) -> Result<Seen, Box<dyn Error>> {
    let patience = Duration::from_secs(30);
    let client = TourClient::new(pintle_mio::connect(address)?);

    let post = client.post(letter(0)).deadline(patience).wait()?;

    let mut out = client.post_all().deadline(patience).open()?;
    for number in 0..3 {
        out.send(letter(number))?;
    }
    let post_all = out.finish()?;

    let wish = Subscription { to: "Ada".into(), letters: 3, octets: 10 };
    let mut letters = client.subscribe(wish).deadline(patience).open()?;
    let mut subscribe = Vec::new();
    while let Some(letter) = letters.next()? {
        subscribe.push(letter.content.len());
    }

    let (mut out, mut answers) = client.correspond().deadline(patience).open()?;
    let mut correspond = Vec::new();
    for number in 0..3 {
        out.send(letter(number))?;
        correspond.extend(answers.next()?.map(|answer| answer.to));
    }
    out.close();

    let nameless = client.post(Letter::default()).deadline(patience).wait();
    let nameless = nameless.err().map_or_else(String::new, |status| status.to_string());
    Ok(Seen { post, post_all, subscribe, correspond, nameless })
}
