//! Blocks that must be refused, sizes that must be kept, and what the decoder must remember in spite of its receiver.

use pintle_core::hpack::{DecodeError, Decoder, Encoder, Indexing, huffman};

use crate::{Ignore, Seen, decode, encode, entries, hex, owned};

fn refused(block: &str) -> DecodeError {
    decode(&mut Decoder::new(4096), &hex(block)).expect_err(block)
}

#[test]
fn huffman_padding_and_eos() {
    let good = decode(&mut Decoder::new(4096), &hex("88 00 01 61 81 07"));
    assert_eq!(good, Ok(owned(&[(":status", "200"), ("a", "0")])));
    assert_eq!(refused("88 00 01 61 81 00"), DecodeError::HuffmanPadding, "padding of zeros");
    assert_eq!(refused("88 00 01 61 82 07 ff"), DecodeError::HuffmanPadding, "eleven bits of padding");
    assert_eq!(refused("88 00 01 61 84 ff ff ff ff"), DecodeError::HuffmanEos);
    assert_eq!(decode(&mut Decoder::new(4096), &hex("00 01 61 80")), Ok(owned(&[("a", "")])), "an empty string may be Huffman-coded");
}

#[test]
fn integers_that_are_too_long_or_end_early() {
    assert_eq!(refused("7f 80 80 80 80 80 80 80 80 80 80 00"), DecodeError::IntegerTooLong, "even when they add nothing");
    assert_eq!(refused("7f ff ff ff ff ff ff ff ff 7f"), DecodeError::IntegerTooLong);
    assert_eq!(refused("ff 80 80 80 80 80 00"), DecodeError::IntegerTooLong);
    assert_eq!(refused("00 7f ff ff ff ff 0f"), DecodeError::IntegerTooLong, "length of a name");
    for block in ["3f", "3f ff", "7f", "ff", "ff 80", "0f", "00", "00 7f", "00 01 61 ff 80", "40", "41", "10"] {
        assert_eq!(refused(block), DecodeError::Truncated, "{block}");
    }
}

#[test]
fn strings_longer_than_the_block() {
    for block in ["00 02 61", "00 01 61 01", "00 01 61 7f 80 80 80 7f", "04 8c f1 e3", "00 ff ff ff ff 7f 61"] {
        assert_eq!(refused(block), DecodeError::Truncated, "{block}");
    }
}

/// However a block is cut short, it is a list of whole fields or an error.
#[test]
fn every_beginning_of_a_block() {
    for block in [
        "828684418cf1e3c2e5f23a6ba0ab90f4ff",
        "828785 400a637573746f6d2d6b65790c637573746f6d2d76616c7565 be 0f2f 03 616263 1000 00",
        "3fe11f 83 86 0f0d 8260ff 408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ] {
        let block = hex(block);
        let whole = decode(&mut Decoder::new(4096), &block).expect("the whole block is good");
        let mut good = 0;
        for cut in 0..block.len() {
            match decode(&mut Decoder::new(4096), &block[..cut]) {
                Ok(fields) => {
                    assert!(fields.len() < whole.len() && whole.starts_with(&fields), "cut at {cut}");
                    good += 1;
                }
                Err(error) => assert_eq!(error, DecodeError::Truncated, "cut at {cut}"),
            }
        }
        assert!(good >= whole.len(), "{good} cuts are between fields");
    }
}

#[test]
fn indices_that_no_table_has() {
    for block in ["80", "be", "ff 00", "ff ff ff ff 7f", "7f 00 01 61", "0f 2f 01 61", "82 c6"] {
        assert_eq!(refused(block), DecodeError::InvalidIndex, "{block}");
    }
    let mut decoder = Decoder::new(4096);
    decode(&mut decoder, &hex("40 01 61 01 62")).expect("one entry");
    assert_eq!(decode(&mut decoder, &hex("be")), Ok(owned(&[("a", "b")])));
    assert_eq!(decode(&mut decoder, &hex("bf")), Err(DecodeError::InvalidIndex), "one past the last entry");
}

#[test]
fn size_updates_only_come_first_and_only_up_to_our_limit() {
    assert_eq!(refused("82 3fe11f"), DecodeError::SizeUpdateMisplaced);
    assert_eq!(refused("20 82 20"), DecodeError::SizeUpdateMisplaced);
    assert_eq!(refused("3fe21f 82"), DecodeError::SizeUpdateTooLarge, "4,097");
    assert_eq!(decode(&mut Decoder::new(4096), &hex("20 3fe11f 82")), Ok(owned(&[(":method", "GET")])), "two: the smallest, then the last");
    assert_eq!(decode(&mut Decoder::new(65536), &hex("3fe1ff03 82")), Ok(owned(&[(":method", "GET")])), "65,536 when we allow it");
    assert_eq!(decode(&mut Decoder::new(65535), &hex("3fe1ff03 82")), Err(DecodeError::SizeUpdateTooLarge));
}

#[test]
fn size_zero_empties_the_table() {
    let mut decoder = Decoder::new(4096);
    decode(&mut decoder, &hex("40 01 61 01 62")).expect("one entry");
    let before = decoder.generation();
    assert_eq!(decode(&mut decoder, &hex("20 3fe11f be")), Err(DecodeError::InvalidIndex));
    assert_ne!(decoder.generation(), before);
    assert_eq!(decoder.table_size(), 0);
}

/// RFC 9113 §4.3.1, §6.5.2: a peer may use 4,096 octets until it has seen our SETTINGS, and must come down once it has acknowledged them.
#[test]
fn a_lower_limit_counts_from_the_acknowledgement() {
    let entry = hex("40 01 61 01 62");
    let early = |limit| {
        let mut decoder = Decoder::new(limit);
        decode(&mut decoder, &entry).expect("a literal");
        assert_eq!(decode(&mut decoder, &hex("be")), Ok(owned(&[("a", "b")])), "the peer did not know of the limit {limit}");
        decoder
    };
    let mut decoder = early(0);
    decoder.acknowledged();
    assert_eq!(decode(&mut decoder, &hex("82")), Err(DecodeError::SizeUpdateMissing));

    let mut decoder = early(100);
    let before = decoder.generation();
    decoder.acknowledged();
    assert_ne!(decoder.generation(), before, "a block that was seen before may not pass for a good one");
    assert_eq!(decode(&mut decoder, &hex("3f46 82")), Err(DecodeError::SizeUpdateTooLarge), "101 octets");
    let mut decoder = early(100);
    decoder.acknowledged();
    assert_eq!(decode(&mut decoder, &hex("3f45 be")), Ok(owned(&[("a", "b")])), "100 octets");
    assert_eq!(decode(&mut decoder, &hex("be")), Ok(owned(&[("a", "b")])), "once is enough");

    for limit in [4096, 65536] {
        let mut decoder = early(limit);
        decoder.acknowledged();
        assert_eq!(decode(&mut decoder, &hex("be")), Ok(owned(&[("a", "b")])), "limit {limit}: nothing to lower");
    }
}

/// RFC 7541 §4.4.
#[test]
fn an_entry_larger_than_the_table_empties_it_but_is_a_field() {
    let mut decoder = Decoder::new(4096);
    // 40 octets: one entry with a name and a value of eight octets together.
    decode(&mut decoder, &hex("3f09 40 04 61616161 04 62626262")).expect("it just fits");
    assert_eq!(decoder.table_size(), 40);
    let fields = decode(&mut decoder, &hex("40 04 61616161 05 6262626262"));
    assert_eq!(fields, Ok(owned(&[("aaaa", "bbbbb")])));
    assert_eq!((decoder.table_size(), decoder.entries().count()), (0, 0));
}

/// RFC 7541 §4.4: the name of a new entry may be that of the entry that it evicts.
#[test]
fn a_name_is_taken_from_the_entry_that_is_evicted_for_it() {
    let mut decoder = Decoder::new(4096);
    decode(&mut decoder, &hex("3f09 40 04 61626364 04 65666768")).expect("it just fits");
    let expected = owned(&[("abcd", "ijkl")]);
    assert_eq!(decode(&mut decoder, &hex("7e 04 696a6b6c")), Ok(expected.clone()));
    assert_eq!(entries(decoder.entries()), expected);
}

/// The memo must not keep a literal whose name was in the dynamic table, as the index means another name later.
#[test]
fn a_literal_with_a_dynamic_name_means_what_the_table_says_now() {
    let mut decoder = Decoder::new(4096);
    let literal = literal("0f2f", "", "zzz");
    for name in ["a", "b"] {
        decode(&mut decoder, &[&hex("40 01"), name.as_bytes(), &[0]].concat()).expect("a literal");
        for _ in 0..4 {
            assert_eq!(decode(&mut decoder, &literal), Ok(owned(&[(name, "zzz")])));
        }
    }
}

/// A literal with a Huffman-coded value; `first` says how it is indexed, and where the name is if it is none of its own.
fn literal(first: &str, name: &str, value: &str) -> Vec<u8> {
    let mut block = hex(first);
    if !name.is_empty() {
        block.push(name.len() as u8);
        block.extend(name.bytes());
    }
    block.push(0x80 | huffman::encode_len(value.as_bytes()) as u8);
    huffman::encode(value.as_bytes(), &mut block);
    block
}

#[test]
fn known_fields_are_not_classified_again() {
    let mut decoder = Decoder::new(4096);
    let steady = [literal("04", "", "/a/b"), literal("00", "te", "trailers")].concat();
    let secret = literal("1f08", "", "secret");
    let mut first = Seen::default();
    decoder.decode(&[&steady[..], &literal("7a", "", "agent"), &secret].concat(), &mut first).expect("a good block");
    assert_eq!(first.classified, 4);
    assert_eq!(first.fields, owned(&[(":path", "/a/b"), ("te", "trailers"), ("user-agent", "agent"), ("authorization", "secret")]));
    let generation = decoder.generation();
    for expected in [3, 1, 1] {
        let mut seen = Seen::default();
        decoder.decode(&[&steady[..], &[0xbe], &secret].concat(), &mut seen).expect("a good block");
        assert_eq!(seen.fields, first.fields);
        assert_eq!(seen.classified, expected, "literals are kept when they come again, but for the secret");
    }
    assert_eq!(decoder.generation(), generation);
}

/// A field that differs in each block does not push out of the memo those that stay.
#[test]
fn changing_literals_leave_the_others_known() {
    let mut decoder = Decoder::new(4096);
    let mut classified = 0;
    for number in 0..1000 {
        let text = format!("{number:04}");
        let block = [literal("04", "", "/a/b"), literal("00", "te", "trailers"), literal("00", "grpc-timeout", &text)].concat();
        let mut seen = Seen::default();
        decoder.decode(&block, &mut seen).expect("a good block");
        assert_eq!(seen.fields, owned(&[(":path", "/a/b"), ("te", "trailers"), ("grpc-timeout", &text)]));
        classified += seen.classified;
    }
    assert!((1000..1100).contains(&classified), "{classified} fields classified in 1,000 blocks");
}

/// A receiver that ignores everything, and one that looks, have the same table (CVE-2023-32731).
#[test]
fn the_table_does_not_depend_on_the_receiver() {
    let (mut looks, mut ignores) = (Decoder::new(4096), Decoder::new(4096));
    let mut encoder = Encoder::new(4096);
    for number in 0..500 {
        let value = format!("value {number} {}", "x".repeat(number));
        let block =
            encode(&mut encoder, &[(":path", "/a.B/c"), ("x-number", &value), ("x-even", &(number / 2).to_string())], Indexing::Add);
        decode(&mut looks, &block).expect("a good block");
        ignores.decode(&block, &mut Ignore).expect("a good block");
        assert_eq!(entries(looks.entries()), entries(ignores.entries()));
        assert_eq!(looks.generation(), ignores.generation());
        assert_eq!(looks.table_size(), encoder.table_size());
        assert_eq!(entries(looks.entries()), entries(encoder.entries()));
    }
}

/// The peer's SETTINGS_HEADER_TABLE_SIZE is a ceiling, not an order.
#[test]
fn the_encoder_stays_under_its_own_cap() {
    let mut encoder = Encoder::new(4096);
    let mut decoder = loona_hpack::Decoder::new();
    decoder.set_max_allowed_table_size(4096);
    encoder.set_peer_limit(u32::MAX);
    for number in 0..100_000 {
        // Characters with long codes, as the independent decoder takes its time for Huffman coding.
        let value = format!("{number:06}{}", "~".repeat(194));
        let fields = [(":method", "POST"), ("x-unique", value.as_str())];
        let block = encode(&mut encoder, &fields, Indexing::Add);
        assert_eq!(decoder.decode(&block).expect("the independent decoder follows"), owned(&fields));
        assert!(encoder.table_size() <= 4096);
    }
    assert_eq!(encoder.entries().count(), 4096 / (8 + 200 + 32));
}

/// RFC 7541 §4.2: the smallest size since the last block, then the last.
#[test]
fn the_encoder_tells_of_its_sizes() {
    let get: &[(&str, &str)] = &[(":method", "GET")];
    let mut encoder = Encoder::new(4096);
    assert_eq!(encode(&mut encoder, get, Indexing::Add), [0x82], "4,096 is what the peer expects");
    for (limits, wanted) in [
        (&[4096][..], "82"),
        (&[65536], "82"),
        (&[100], "3f45 82"),
        (&[], "82"),
        (&[4096], "3fe11f 82"),
        (&[0, 4096], "20 3fe11f 82"),
        (&[100, 0, 50, 4096, 200], "20 3fa901 82"),
        (&[u32::MAX, 100, 200], "3f45 3fa901 82"),
        (&[0], "20 82"),
        (&[u32::MAX], "3fe11f 82"),
    ] {
        let before = encoder.generation();
        limits.iter().for_each(|&limit| encoder.set_peer_limit(limit));
        let changed = wanted != "82";
        assert_eq!(encoder.generation() != before, changed, "{limits:?}: a block encoded before is of no use");
        let pending = encoder.generation();
        assert_eq!(encode(&mut encoder, get, Indexing::Add), hex(wanted), "{limits:?}");
        assert_eq!(encoder.generation() != pending, changed, "{limits:?}: nor is one with the update");
    }
    let mut encoder = Encoder::new(65536);
    assert_eq!(encode(&mut encoder, get, Indexing::Add), [0x82], "a larger table only when the peer allows it");
    encoder.set_peer_limit(16384);
    assert_eq!(encode(&mut encoder, get, Indexing::Add), hex("3fe17f 82"));
    let mut none = Encoder::new(0);
    assert_eq!(encode(&mut none, &[("a", "{"), ("a", "{")], Indexing::Add), hex("20 00 01 61 01 7b 00 01 61 01 7b"));
}

#[test]
fn all_that_the_encoder_inserted_is_an_index() {
    let mut encoder = Encoder::new(16384);
    encoder.set_peer_limit(16384);
    let fields: Vec<_> = (0..400).map(|number| (format!("x{}", number % 100), format!("{number}"))).collect();
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    encode(&mut encoder, &fields, Indexing::Add);
    assert_eq!(encoder.entries().count(), 400);
    let again = encode(&mut encoder, &fields, Indexing::Add);
    // Indices 62..=126 take one octet, up to 254 two, the rest three.
    assert_eq!(again.len(), 65 + 2 * 128 + 3 * (400 - 65 - 128));
}

/// An insertion that would only empty the table is not made.
#[test]
fn the_encoder_does_not_insert_what_cannot_stay() {
    let mut encoder = Encoder::new(4096);
    encode(&mut encoder, &[("x-small", "1")], Indexing::Add);
    let large = "y".repeat(4096);
    let block = encode(&mut encoder, &[("x-large", &large)], Indexing::Add);
    assert_eq!(block[0], 0x00, "a literal without indexing");
    assert_eq!(entries(encoder.entries()), owned(&[("x-small", "1")]));
}

#[test]
fn thirty_thousand_names_are_only_fields() {
    let mut block = Vec::new();
    for number in 0..30_000 {
        block.extend([0x40, 0x06]);
        block.extend(format!("x{number:05}").bytes());
        block.push(0);
    }
    let mut decoder = Decoder::new(4096);
    let fields = decode(&mut decoder, &block).expect("a good block");
    assert_eq!(fields.len(), 30_000);
    assert_eq!(decoder.entries().count(), 4096 / 38);
    assert!(decoder.table_size() <= 4096);
}
