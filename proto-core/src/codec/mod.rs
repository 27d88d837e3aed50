//! Codecs: how messages become octets, and octets messages.
//!
//! A codec is a marker type that implements [`Codec`]: [`Prost<T>`] for protobuf messages, [`Raw`] for octets that
//! somebody else encodes. Codecs are pure; they run where the caller is.

#[cfg(feature = "prost")]
mod prost;
mod raw;

#[cfg(feature = "prost")]
pub use self::prost::Prost;
pub use raw::Raw;

use crate::{Call, Payload, SendError, Status, payload::Builder};
use alloc::{format, vec::Vec};
use core::fmt;

/// How one type of message travels. Implemented by marker types: [`Prost<T>`], [`Raw`].
pub trait Codec {
    /// The message in memory.
    type Item;
    /// Exact octets that `encode_flat` and `encode_linked` will write.
    fn encoded_len(item: &Self::Item) -> usize;
    /// Appends exactly `encoded_len` octets.
    fn encode_flat(item: &Self::Item, out: &mut Vec<u8>);
    /// Writes exactly `encoded_len` octets to a rope that links large `Bytes` fields instead of copying them.
    fn encode_linked(item: &Self::Item, out: &mut Builder);
    /// Reads a whole message.
    ///
    /// # Errors
    /// The octets are no such message: INTERNAL, as statuscodes.md says. [`undecodable`] makes that status.
    fn decode(payload: Payload) -> Result<Self::Item, Status>;
}

/// Encodes a message: flat below [`Builder::LINK_THRESHOLD`] octets, linked from there on.
#[must_use]
pub fn to_payload<C: Codec>(item: &C::Item) -> Payload {
    let len = C::encoded_len(item);
    if len < Builder::LINK_THRESHOLD {
        let mut out = Vec::with_capacity(len);
        C::encode_flat(item, &mut out);
        out.into()
    } else {
        linked::<C>(item)
    }
}

/// Encodes a message into a call: a small one straight into the call's buffer, a large one as a rope.
///
/// # Errors
/// As [`Call::send_with`] and [`Call::send`]; nothing was queued, and the item is still the caller's.
#[inline(always)]
pub fn send<C: Codec>(call: &mut Call<'_>, item: &C::Item) -> Result<(), SendError<()>> {
    let len = C::encoded_len(item);
    if len < Builder::LINK_THRESHOLD {
        return call.send_with(len, |out| C::encode_flat(item, out));
    }
    call.send(linked::<C>(item)).map_err(|error| match error {
        SendError::Blocked(_) => SendError::Blocked(()),
        SendError::Ended(_) => SendError::Ended(()),
        SendError::Refused(_, why) => SendError::Refused((), why),
    })
}

/// Server: the one message of a method that returns one, and OK. As [`Call::reply_with`], whatever the message's size.
#[inline(always)]
pub fn reply<C: Codec>(mut call: Call<'_>, item: &C::Item) {
    let len = C::encoded_len(item);
    if len < Builder::LINK_THRESHOLD {
        return call.reply_with(len, |out| C::encode_flat(item, out));
    }
    let sent = send::<C>(&mut call, item);
    call.finish_reply(sent);
}

fn linked<C: Codec>(item: &C::Item) -> Payload {
    let mut out = Builder::new();
    C::encode_linked(item, &mut out);
    out.finish()
}

/// The status for octets that are no message of the type: INTERNAL with `why`, cut to 256 octets, because a decoder's text
/// may repeat a path of a hundred fields and shall fit a header.
#[must_use]
pub fn undecodable(why: impl fmt::Display) -> Status {
    const MOST: usize = 256;
    let mut text = format!("cannot decode the message: {why}");
    if text.len() > MOST {
        let fits = (0..=MOST - 3).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(fits.unwrap_or(0));
        text.push_str("...");
    }
    Status::internal(text)
}
