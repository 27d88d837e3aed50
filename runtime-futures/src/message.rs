//! Messages to octets and back, in the task of whoever sends or takes them.

use pintle_core::{
    Message, Payload, Status,
    codec::{self, Codec},
};

/// The octets of a message.
#[must_use]
#[inline]
pub fn encode<C: Codec>(item: &C::Item) -> Payload {
    codec::to_payload::<C>(item)
}

/// The message in these octets.
///
/// # Errors
/// They are no such message, or compressed though nothing was agreed on: INTERNAL.
// `always`: each step that a message passes through copies it.
#[inline(always)]
pub fn decode<C: Codec>(message: Message) -> Result<C::Item, Status> {
    if message.compressed {
        // grpc compression.md: a set flag without an agreed coding is INTERNAL.
        return Err(Status::internal("the message is compressed, but no compression was agreed on"));
    }
    C::decode(message.payload)
}
