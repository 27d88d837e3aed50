//! Protobuf by prost.

use super::{Codec, undecodable};
use crate::{Payload, Status, payload::Builder};
use alloc::vec::Vec;
use core::{fmt, marker::PhantomData};
use prost::Message;

/// Protobuf messages by prost.
///
/// `bytes` fields that are [`Bytes`](bytes::Bytes) in the struct are not copied: a large one is sent as the same
/// allocation, and a received one points into the message's buffer where it lies there in one run.
pub struct Prost<T>(PhantomData<fn() -> T>);

impl<T> fmt::Debug for Prost<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prost")
    }
}

impl<T: Message + Default> Codec for Prost<T> {
    type Item = T;

    // `always`: prost's own functions are calls enough for a small message.
    #[inline(always)]
    fn encoded_len(item: &T) -> usize {
        item.encoded_len()
    }

    // `encode_raw`, because `encode` would compute the length a second time to compare it with room that cannot lack.
    #[inline(always)]
    fn encode_flat(item: &T, out: &mut Vec<u8>) {
        item.encode_raw(out);
    }

    fn encode_linked(item: &T, out: &mut Builder) {
        item.encode_raw(out);
    }

    #[inline(always)]
    fn decode(payload: Payload) -> Result<T, Status> {
        // One run is the ordinary case, and `Bytes` is the fastest `Buf`.
        match payload.try_into_flat() {
            Ok(bytes) => T::decode(bytes),
            Err(rope) => T::decode(rope),
        }
        .map_err(undecodable)
    }
}
