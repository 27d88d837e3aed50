//! Octets as they are.

use super::Codec;
use crate::{Payload, Status, payload::Builder};
use alloc::vec::Vec;
use bytes::{BufMut, Bytes};

/// No encoding: the message is its octets. For proxies, other encodings and tests.
#[derive(Debug)]
pub struct Raw;

impl Codec for Raw {
    type Item = Bytes;

    fn encoded_len(item: &Bytes) -> usize {
        item.len()
    }

    fn encode_flat(item: &Bytes, out: &mut Vec<u8>) {
        out.extend_from_slice(item);
    }

    fn encode_linked(item: &Bytes, out: &mut Builder) {
        out.put(item.clone());
    }

    fn decode(payload: Payload) -> Result<Bytes, Status> {
        Ok(payload.into_bytes())
    }
}
