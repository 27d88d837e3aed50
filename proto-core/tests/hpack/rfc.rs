//! RFC 7541 Appendix C, octet for octet.

use pintle_core::hpack::{Decoder, Encoder, Indexing};

use crate::{decode, encode, entries, hex, owned};

type Fields = &'static [(&'static str, &'static str)];

/// A block, what it says, and the dynamic table after it with its size.
struct Example {
    block: &'static str,
    fields: Fields,
    table: Fields,
    size: usize,
}

const REQUEST_1: Fields = &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
const REQUEST_2: Fields =
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com"), ("cache-control", "no-cache")];
const REQUEST_3: Fields = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];
const REQUEST_TABLES: [(Fields, usize); 3] = [
    (&[(":authority", "www.example.com")], 57),
    (&[("cache-control", "no-cache"), (":authority", "www.example.com")], 110),
    (&[("custom-key", "custom-value"), ("cache-control", "no-cache"), (":authority", "www.example.com")], 164),
];

const OLD_DATE: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
const NEW_DATE: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:22 GMT");
const LOCATION: (&str, &str) = ("location", "https://www.example.com");
const PRIVATE: (&str, &str) = ("cache-control", "private");
const COOKIE: (&str, &str) = ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1");

const RESPONSES: [Fields; 3] = [
    &[(":status", "302"), PRIVATE, OLD_DATE, LOCATION],
    &[(":status", "307"), PRIVATE, OLD_DATE, LOCATION],
    &[(":status", "200"), PRIVATE, NEW_DATE, LOCATION, ("content-encoding", "gzip"), COOKIE],
];
const RESPONSE_TABLES: [(Fields, usize); 3] = [
    (&[LOCATION, OLD_DATE, PRIVATE, (":status", "302")], 222),
    (&[(":status", "307"), LOCATION, OLD_DATE, PRIVATE], 222),
    (&[COOKIE, ("content-encoding", "gzip"), NEW_DATE], 215),
];

const C3: [&str; 3] = [
    "828684410f7777772e6578616d706c652e636f6d",
    "828684be58086e6f2d6361636865",
    "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
];
const C4: [&str; 3] =
    ["828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf", "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"];
const C5: [&str; 3] = [
    "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
    "4803333037c1c0bf",
    "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49\
     553b206d61782d6167653d333630303b2076657273696f6e3d31",
];
const C6: [&str; 3] = [
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
    "4883640effc1c0bf",
    "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4e\
     e5b1063d5007",
];

/// A size update to 256, the size of the table in C.5 and C.6.
const TO_256: &str = "3fe101";

fn requests(blocks: [&'static str; 3]) -> Vec<Example> {
    let fields = [REQUEST_1, REQUEST_2, REQUEST_3];
    (0..3).map(|at| Example { block: blocks[at], fields: fields[at], table: REQUEST_TABLES[at].0, size: REQUEST_TABLES[at].1 }).collect()
}

fn responses(blocks: [&'static str; 3]) -> Vec<Example> {
    (0..3)
        .map(|at| Example { block: blocks[at], fields: RESPONSES[at], table: RESPONSE_TABLES[at].0, size: RESPONSE_TABLES[at].1 })
        .collect()
}

fn check_decoder(mut decoder: Decoder, examples: &[Example]) {
    for example in examples {
        assert_eq!(decode(&mut decoder, &hex(example.block)), Ok(owned(example.fields)), "{}", example.block);
        assert_eq!(entries(decoder.entries()), owned(example.table), "{}", example.block);
        assert_eq!(decoder.table_size(), example.size, "{}", example.block);
    }
}

fn check_encoder(mut encoder: Encoder, examples: &[Example]) {
    for example in examples {
        let block = encode(&mut encoder, example.fields, Indexing::Add);
        assert_eq!(block, hex(example.block), "{:?}", example.fields);
        assert_eq!(entries(encoder.entries()), owned(example.table), "{}", example.block);
        assert_eq!(encoder.table_size(), example.size, "{}", example.block);
    }
}

#[test]
fn c2_representations_decoded() {
    let custom: Fields = &[("custom-key", "custom-header")];
    let examples = [
        Example { block: "400a637573746f6d2d6b65790d637573746f6d2d686561646572", fields: custom, table: custom, size: 55 },
        Example { block: "040c2f73616d706c652f70617468", fields: &[(":path", "/sample/path")], table: &[], size: 0 },
        Example { block: "100870617373776f726406736563726574", fields: &[("password", "secret")], table: &[], size: 0 },
        Example { block: "82", fields: &[(":method", "GET")], table: &[], size: 0 },
    ];
    for example in examples {
        check_decoder(Decoder::new(4096), &[example]);
    }
}

#[test]
fn c3_requests_without_huffman_decoded() {
    check_decoder(Decoder::new(4096), &requests(C3));
}

#[test]
fn c4_requests_with_huffman_decoded() {
    check_decoder(Decoder::new(4096), &requests(C4));
}

fn decoder_of_256() -> Decoder {
    let mut decoder = Decoder::new(4096);
    assert_eq!(decode(&mut decoder, &hex(TO_256)), Ok(vec![]));
    decoder
}

#[test]
fn c5_responses_without_huffman_decoded() {
    check_decoder(decoder_of_256(), &responses(C5));
}

#[test]
fn c6_responses_with_huffman_decoded() {
    check_decoder(decoder_of_256(), &responses(C6));
}

#[test]
fn c4_requests_encoded() {
    check_encoder(Encoder::new(4096), &requests(C4));
}

/// C.6, but for `307` in the second block: Huffman coding does not make it shorter, so we send it plain as C.5 does.
#[test]
fn c6_responses_encoded() {
    let mut encoder = Encoder::new(256);
    assert_eq!(encode(&mut encoder, &[], Indexing::Add), hex(TO_256));
    check_encoder(encoder, &responses([C6[0], C5[1], C6[2]]));
}

#[test]
fn c2_representations_encoded() {
    let path = encode(&mut Encoder::new(4096), &[(":path", "/")], Indexing::Without);
    assert_eq!(path, [0x84], "what a table has is an index, however it would be indexed");
    let mut encoder = Encoder::new(4096);
    let secret = encode(&mut encoder, &[("authorization", "{}")], Indexing::Never);
    assert_eq!(secret, hex("1f08 02 7b7d"), "0x1f 0x08 is name 23, never indexed");
    assert_eq!(encoder.table_size(), 0);
    assert_eq!(encode(&mut encoder, &[("{", "~~")], Indexing::Without), hex("00 01 7b 02 7e7e"));
    assert_eq!(encode(&mut encoder, &[("{", "~~")], Indexing::Never), hex("10 01 7b 02 7e7e"));
    assert_eq!(encode(&mut encoder, &[("{", "~~")], Indexing::Add), hex("40 01 7b 02 7e7e"));
    assert_eq!(encode(&mut encoder, &[("{", "~~")], Indexing::Without), [0x80 | 62]);
    assert_eq!(encode(&mut encoder, &[("{", "~~")], Indexing::Never), hex("1f2f 02 7e7e"), "never an index for the whole field");
    assert_eq!(encode(&mut encoder, &[("{", "}")], Indexing::Without), hex("0f2f 01 7d"));
}
