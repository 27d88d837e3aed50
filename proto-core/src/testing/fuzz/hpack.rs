//! HPACK, against another decoder and against ourselves.

use crate::hpack::{DecodeError, Decoder, Encoder, Fields, Indexing, Tag};
use alloc::vec::Vec;

/// A decoder by somebody else. It starts with a table of 4,096 octets.
pub trait OtherDecoder {
    /// From now on a table may have this size at most.
    fn allow(&mut self, size: usize);
    /// The fields of a block, name and value; `None`: it is not valid.
    fn decode(&mut self, block: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>>;
}

/// HPACK: any block is an error for both decoders, or both find the same fields; and what was decoded, encoded again by
/// our encoder, is decoded by both to the same, with equal tables of encoder and decoder after every block.
///
/// We refuse more, by RFC 7541: a change of the table's size behind a field (§4.2), and a block that does not begin by lowering a size
/// that has become too large (RFC 9113 §4.3.1). The other decoder may refuse a block of nothing but changes of the size, which we take
/// (§4.2 asks for them at the beginning of a block; nothing says that something must follow): it gets a field behind them.
///
/// # Panics
/// If not.
pub fn fuzz_hpack<D: OtherDecoder>(data: &[u8], new: impl Fn() -> D) {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let size = [0, 64, 256, 4_096, 10_000][usize::from(first & 7) % 5];
    // Until it is acknowledged, a peer may go by the size that everybody starts with.
    let limit = size.max(4_096);
    let (mut hostile, mut other) = (Decoder::new(size), new());
    other.allow(limit);
    let (mut encoder, mut decoder) = (Encoder::new(4_096), Decoder::new(4_096));
    // Others are slow at Huffman coding: our own blocks go to it every second time.
    let mut follower = (first & 16 == 0).then(&new);
    let mut acknowledged = false;
    while let Some((&len, tail)) = rest.split_first() {
        let (block, tail) = tail.split_at(usize::from(len).min(tail.len()));
        rest = tail;
        let mut list = List::default();
        let end = hostile.decode(block, &mut list);
        assert!(hostile.table_size() <= limit, "the table is larger than any limit so far");
        let counted: usize = hostile.entries().map(|(name, value)| name.len() + value.len() + 32).sum();
        assert_eq!(counted, hostile.table_size(), "the table's size is not the sum of its entries");
        compare(block, end, &list, &mut other);
        round_trip(&mut encoder, &mut decoder, follower.as_mut(), &list);
        if end.is_err() {
            return;
        }
        if first & 8 != 0 && !acknowledged {
            acknowledged = true;
            hostile.acknowledged();
            other.allow(size);
        }
        if len % 7 == 0 {
            encoder.set_peer_limit(u32::from(len) * 13);
        }
    }
}

/// What we take, the other takes as the same; what we refuse, it refuses, but for what it does not look at.
fn compare(block: &[u8], end: Result<(), DecodeError>, list: &List, other: &mut impl OtherDecoder) {
    match end {
        Ok(()) => {
            let mut block = block.to_vec();
            let lone = list.count == 0 && !block.is_empty();
            if lone {
                // `:method: GET`, which changes no table.
                block.push(0x82);
            }
            let mut theirs = other.decode(&block).unwrap_or_else(|| panic!("only we take {block:02x?}"));
            if lone {
                theirs.pop();
            }
            assert_eq!(theirs.len(), list.count, "another number of fields");
            assert!(theirs.iter().zip(&list.fields).all(|(theirs, ours)| theirs == ours), "other fields of {block:02x?}");
        }
        Err(DecodeError::SizeUpdateMisplaced | DecodeError::SizeUpdateMissing) => {}
        Err(error) => assert_eq!(other.decode(block), None, "only we refuse {block:02x?}: {error}"),
    }
}

/// Fields as they come, as long as they are not too many.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    pub(super) fields: Vec<(Vec<u8>, Vec<u8>)>,
    count: usize,
    octets: usize,
}

impl Fields for List {
    fn static_tag(&self, _: u8) -> Tag {
        Tag(1)
    }

    fn classify(&mut self, name: &[u8], _: &[u8]) -> Tag {
        Tag(2 + name.len() as u32)
    }

    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]) {
        assert!(tag == Tag(1) || tag == Tag(2 + name.len() as u32), "a tag of another field");
        self.octets += name.len() + value.len();
        self.count += 1;
        // A block may name a large field again and again; as a receiver would, keep what is within a limit.
        if self.octets < 64 << 10 {
            self.fields.push((name.to_vec(), value.to_vec()));
        }
    }
}

fn round_trip(encoder: &mut Encoder, decoder: &mut Decoder, follower: Option<&mut impl OtherDecoder>, list: &List) {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (index, (name, value)) in list.fields.iter().enumerate() {
        let indexing = [Indexing::Add, Indexing::Without, Indexing::Never][index % 3];
        encoder.field(&mut block, name, value, indexing);
    }
    let mut again = List::default();
    let end = decoder.decode(&block, &mut again);
    assert_eq!(end, Ok(()), "our own block {block:02x?}");
    assert_eq!(again.fields, list.fields);
    assert!(encoder.entries().eq(decoder.entries()), "the tables differ");
    if let Some(follower) = follower {
        compare(&block, end, &again, follower);
    }
}
