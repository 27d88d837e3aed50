//! Random fields and random octets, against an independent implementation (loona-hpack). Each property counts how often it came to the hard
//! places, and fails if it never did.

use std::cell::Cell;

use pintle_core::hpack::{Decoder, Encoder, Indexing};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::{Field, Ignore, decode, entries};

/// 256 cases, or as many as `PROPTEST_CASES` says. What fails once belongs into `malformed.rs`.
fn config() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}

/// How often something happened.
#[derive(Default)]
struct Count(Cell<usize>);

impl Count {
    fn add_if(&self, happened: bool) {
        self.0.set(self.0.get() + usize::from(happened));
    }
}

fn check_reached(property: &str, places: &[(&str, &Count)]) {
    for (place, count) in places {
        println!("{property}: {place} {} times", count.0.get());
        assert!(count.0.get() > 0, "{property} never reached: {place}");
    }
}

const NAMES: &[&str] = &[":path", ":status", ":method", "content-type", "te", "grpc-timeout", "x-a", "x-b", "x-trace-bin", ""];
const VALUES: &[&str] = &["", "/", "200", "GET", "POST", "trailers", "application/grpc", "1S", "999m"];

/// Huffman-coded: empty, `0`, `www.example.com`.
const CODED: &[&[u8]] = &[&[0x80], &[0x81, 0x07], &[0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff]];

/// Too much padding, padding of zeros, EOS.
const MISCODED: &[&[u8]] = &[&[0x82, 0x07, 0xff], &[0x81, 0x00], &[0x84, 0xff, 0xff, 0xff, 0xff]];

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => select(NAMES).prop_map(|name| name.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..40),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => select(VALUES).prop_map(|value| value.as_bytes().to_vec()),
        2 => "[a-z0-9/.-]{0,60}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..300),
    ]
}

fn indexing() -> impl Strategy<Value = Indexing> {
    prop_oneof![3 => Just(Indexing::Add), 1 => Just(Indexing::Without), 1 => Just(Indexing::Never)]
}

/// Limits that come before a block, and its fields.
type Step<T> = (Vec<u32>, Vec<T>);

fn steps<T: std::fmt::Debug>(field: impl Strategy<Value = T>, most: usize) -> impl Strategy<Value = Vec<Step<T>>> {
    let limit = select(&[0u32, 32, 40, 100, 300, 1000, 4096, 16384, u32::MAX][..]);
    let limits = prop_oneof![4 => Just(vec![]), 1 => vec(limit, 1..4)];
    vec((limits, vec(field, 1..12)), 1..most)
}

/// Name, value, and what to do with it.
type Coded = (Vec<u8>, Vec<u8>, Indexing);

/// The cap of our encoder, and what it is asked to do.
fn strategy_of_ours() -> impl Strategy<Value = (usize, Vec<Step<Coded>>)> {
    (select(&[0usize, 64, 300, 4096, 10_000][..]), steps((name(), value(), indexing()), 20))
}

#[test]
fn our_encoder_to_an_independent_decoder_and_to_ours() {
    let (evicted, indexed, resized, refused) = <(Count, Count, Count, Count)>::default();
    TestRunner::new(config())
        .run(&strategy_of_ours(), |(cap, steps)| {
            let mut encoder = Encoder::new(cap);
            let mut theirs = loona_hpack::Decoder::new();
            let mut ours = Decoder::new(10_000);
            for (limits, fields) in steps {
                for limit in &limits {
                    encoder.set_peer_limit(*limit);
                }
                let mut block = Vec::new();
                encoder.begin(&mut block);
                resized.add_if(!block.is_empty());
                for (name, value, indexing) in &fields {
                    let (start, before, size) = (block.len(), encoder.entries().count(), encoder.table_size());
                    let known = encoder.entries().any(|field| field == (name, value));
                    encoder.field(&mut block, name, value, *indexing);
                    indexed.add_if(block[start] & 0x80 != 0 && block[start] & 0x7f > 61);
                    evicted.add_if(encoder.table_size() != size && encoder.entries().count() <= before);
                    refused.add_if(*indexing == Indexing::Add && block[start] & 0xf0 == 0);
                    prop_assert!(!known || *indexing == Indexing::Never || block[start] & 0x80 != 0, "what is in the table is an index");
                    prop_assert_eq!(*indexing == Indexing::Never, block[start] & 0xf0 == 0x10);
                }
                let wanted: Vec<Field> = fields.into_iter().map(|(name, value, _)| (name, value)).collect();
                let decoded = theirs.decode(&block).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                prop_assert_eq!(&decoded, &wanted);
                prop_assert_eq!(decode(&mut ours, &block), Ok(wanted));
                prop_assert_eq!(entries(ours.entries()), entries(encoder.entries()));
                prop_assert!(encoder.table_size() <= cap.min(limits.last().map_or(usize::MAX, |&limit| limit as usize)));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    check_reached(
        "our encoder",
        &[("entry evicted", &evicted), ("dynamic index", &indexed), ("size update", &resized), ("field too large for the table", &refused)],
    );
}

/// A size update (RFC 7541 §6.3), which the independent encoder does not write itself.
fn size_update(block: &mut Vec<u8>, size: usize) {
    if size < 31 {
        return block.push(0x20 | size as u8);
    }
    block.push(0x3f);
    let mut rest = size - 31;
    while rest >= 128 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

#[test]
fn an_independent_encoder_to_our_decoder() {
    let (resized, inserted, evicted) = <(Count, Count, Count)>::default();
    TestRunner::new(config())
        .run(&steps((name(), value()), 20), |steps| {
            let mut encoder = loona_hpack::Encoder::new();
            let (mut decoder, mut ignorant) = (Decoder::new(16384), Decoder::new(16384));
            for (limits, fields) in steps {
                let mut block = Vec::new();
                for limit in limits {
                    let size = (limit as usize).min(16384);
                    encoder.set_max_table_size(size);
                    size_update(&mut block, size);
                    resized.add_if(true);
                }
                let borrowed = fields.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
                block.extend(encoder.encode(borrowed));
                let before = decoder.entries().count();
                prop_assert_eq!(decode(&mut decoder, &block), Ok(fields));
                let after = decoder.entries().count();
                inserted.add_if(after > before);
                evicted.add_if(after < before);
                prop_assert_eq!(ignorant.decode(&block, &mut Ignore), Ok(()));
                prop_assert_eq!(entries(decoder.entries()), entries(ignorant.entries()));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    check_reached("their encoder", &[("size update", &resized), ("entry inserted", &inserted), ("entry evicted", &evicted)]);
}

/// How literals begin: new names, names of the static table, names of the dynamic table.
const FIRSTS: &[u8] = &[0x40, 0x40, 0x40, 0x00, 0x10, 0x41, 0x44, 0x04, 0x04, 0x7e, 0x7f, 0x0f, 0x1f];

/// One piece of a block: a good representation more often than not, with indices and sizes around what there is.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let plain = vec(any::<u8>(), 0..20).prop_map(|mut octets| {
        octets.insert(0, octets.len() as u8);
        octets
    });
    let string = prop_oneof![
        30 => plain,
        20 => select(CODED).prop_map(<[u8]>::to_vec),
        1 => select(MISCODED).prop_map(<[u8]>::to_vec),
    ];
    let literal = (select(FIRSTS), 0..4u8, string.clone(), string).prop_map(|(first, more, name, value)| {
        let mut octets = vec![first];
        match first {
            0x40 | 0x00 | 0x10 => octets.extend(name),
            0x7f => octets.push(more / 3),
            0x0f | 0x1f => octets.push(47 + more / 2),
            _ => {}
        }
        octets.extend(value);
        octets
    });
    prop_oneof![
        80 => literal,
        30 => (1..=61u8).prop_map(|index| vec![0x80 | index]),
        10 => (62..=64u8).prop_map(|index| vec![0x80 | index]),
        1 => vec(any::<u8>(), 1..6),
    ]
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    let sizes = prop_oneof![6 => Just(vec![]), 1 => vec(select(&[0usize, 33, 80, 80, 200, 200, 4096, 4096, 4097][..]), 1..3)];
    (sizes, vec(piece(), 0..10)).prop_map(|(sizes, pieces)| {
        let mut block = Vec::new();
        sizes.into_iter().for_each(|size| size_update(&mut block, size));
        block.extend(pieces.concat());
        block
    })
}

/// What we accept, the independent decoder accepts with the same result (we refuse more); nothing panics, and no table is too large.
#[test]
fn blocks_of_random_pieces() {
    let (good, bad, dynamic) = <(Count, Count, Count)>::default();
    TestRunner::new(config())
        .run(&vec(block(), 1..20), |blocks| {
            let mut ours = Decoder::new(4096);
            let mut theirs = loona_hpack::Decoder::new();
            theirs.set_max_allowed_table_size(4096);
            for block in blocks {
                let result = decode(&mut ours, &block);
                prop_assert!(ours.table_size() <= 4096);
                prop_assert_eq!(ours.entries().map(|(name, value)| name.len() + value.len() + 32).sum::<usize>(), ours.table_size());
                bad.add_if(result.is_err());
                let Ok(fields) = result else { return Ok(()) };
                if fields.is_empty() {
                    // The independent decoder refuses a block of nothing but size updates. It gets a field, which changes no table.
                    let mut block = block;
                    block.push(0x82);
                    prop_assert!(theirs.decode(&block).is_ok());
                    continue;
                }
                let decoded = theirs.decode(&block).map_err(|error| TestCaseError::fail(format!("{error:?} for {block:02x?}")))?;
                prop_assert_eq!(&decoded, &fields);
                good.add_if(true);
                dynamic.add_if(ours.entries().count() > 1);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    check_reached("random pieces", &[("good block", &good), ("bad block", &bad), ("entries in the table", &dynamic)]);
}

#[test]
fn random_octets() {
    let (good, bad) = <(Count, Count)>::default();
    TestRunner::new(config())
        .run(&(select(&[0usize, 100, 4096][..]), vec(vec(any::<u8>(), 0..200), 1..10)), |(limit, blocks)| {
            let mut decoder = Decoder::new(limit);
            for block in blocks {
                let result = decoder.decode(&block, &mut Ignore);
                good.add_if(result.is_ok());
                bad.add_if(result.is_err());
                prop_assert!(decoder.table_size() <= limit.max(4096));
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    check_reached("random octets", &[("good block", &good), ("bad block", &bad)]);
}
