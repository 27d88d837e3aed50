//! Codecs: how messages become octets.
use crate::{Payload, payload::Builder};
use crate::grpc::Status;
use alloc::vec::Vec;

/// How one type of message travels. Implemented by marker types: [`Prost<T>`], [`Raw`].
pub trait Codec {
    /// The message in memory.
    type Item;
    /// Exact octets that `encode` will write.
    fn encoded_len(item: &Self::Item) -> usize;
    /// Appends exactly `encoded_len` octets.
    fn encode_flat(item: &Self::Item, out: &mut Vec<u8>);
    /// Writes to a rope that links large `Bytes` fields instead of copying them.
    fn encode_linked(item: &Self::Item, out: &mut Builder);
    /// Reads a whole message.
    ///
    /// # Errors
    /// The octets are no such message: INTERNAL, as statuscodes.md says.
    fn decode(payload: Payload) -> Result<Self::Item, Status>;
}
