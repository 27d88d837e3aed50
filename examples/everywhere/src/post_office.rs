//! The service. It does not know who calls it, nor how.

use crate::tour::{Letter, Receipt, Subscription};
use bytes::Bytes;
use pintle_core::Status;

/// Octets of the largest letter that a subscription may ask for.
const LONGEST: u32 = 1_000_000;

/// Adds a letter to a receipt.
///
/// # Errors
/// INVALID_ARGUMENT: there is no name on it.
pub fn take(receipt: &mut Receipt, letter: Letter) -> Result<(), Status> {
    if letter.to.is_empty() {
        return Err(Status::invalid_argument("a letter needs a name on it"));
    }
    receipt.letters += 1;
    receipt.octets += letter.content.len() as u64;
    receipt.last_to = letter.to;
    Ok(())
}

/// The letters of a subscription.
///
/// # Errors
/// INVALID_ARGUMENT: they would be too large.
pub fn letters(wish: Subscription) -> Result<impl Iterator<Item = Letter>, Status> {
    if wish.octets > LONGEST {
        return Err(Status::invalid_argument(format!("a letter holds at most {LONGEST} octets")));
    }
    let content = Bytes::from(vec![b'.'; wish.octets as usize]);
    Ok((0..wish.letters).map(move |number| Letter { to: wish.to.clone(), content: content.clone(), number }))
}

/// The answer to a letter.
pub fn answer(letter: Letter) -> Letter {
    Letter { to: format!("re: {}", letter.to), ..letter }
}
