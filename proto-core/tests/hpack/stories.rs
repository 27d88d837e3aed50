//! The stories of http2jp/hpack-test-case, by 14 encoders, if `PINTLE_VECTORS` names a directory with them (`hpack/*.json`, `index.json`).

use std::fs;
use std::path::{Path, PathBuf};

use pintle_core::hpack::{Decoder, Encoder, Indexing};
use serde_json::Value;

use crate::{Field, decode, entries, hex};

fn vectors() -> Option<PathBuf> {
    let found = std::env::var_os("PINTLE_VECTORS").map(PathBuf::from);
    if found.is_none() {
        eprintln!("PINTLE_VECTORS not set: HPACK stories skipped");
    }
    found
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn fields(case: &Value) -> Vec<Field> {
    let octets = |value: &Value| value.as_str().expect("a string").as_bytes().to_vec();
    list(&case["headers"]).iter().map(|field| (octets(&field[0]), octets(&field[1]))).collect()
}

fn table_size(case: &Value) -> Option<usize> {
    case["header_table_size"].as_u64().map(|size| size as usize)
}

#[test]
fn every_block_of_every_story_decodes() {
    let Some(vectors) = vectors() else { return };
    let (mut files, mut blocks) = (0, 0);
    for file in fs::read_dir(vectors.join("hpack")).expect("the vectors have a directory hpack") {
        let path = file.expect("a file").path();
        let encoder = read(&path);
        for story in list(&encoder["stories"]) {
            let cases = list(&story["cases"]);
            let sizes = cases.iter().filter_map(table_size);
            let mut decoder = Decoder::new(sizes.max().unwrap_or(4096).max(4096));
            let mut size = 4096;
            for case in cases.iter().filter(|case| case["wire"].as_str().is_some_and(|wire| !wire.is_empty())) {
                let at = format!("{} {} {}", path.display(), story["story"], case["seqno"]);
                let block = hex(case["wire"].as_str().expect("a string"));
                assert_eq!(decode(&mut decoder, &block), Ok(fields(case)), "{at}");
                size = table_size(case).unwrap_or(size);
                assert!(decoder.table_size() <= size, "{at}: table of {} octets", decoder.table_size());
                blocks += 1;
            }
        }
        files += 1;
    }
    println!("HPACK stories: {blocks} blocks of {files} encoders decoded");
    assert!(files >= 14 && blocks >= 20_000, "{blocks} blocks in {files} files are not all there are");
}

/// Our encoder on the fields that nghttp2's encoded: what we send decodes to the same, and is about as short.
#[test]
fn our_encoding_is_about_as_short_as_that_of_nghttp2() {
    let Some(vectors) = vectors() else { return };
    let index = read(&vectors.join("index.json"));
    let theirs = list(&index).iter().find(|entry| entry["encoder"] == "nghttp2").and_then(|entry| entry["wire_bytes"].as_u64());
    let theirs = theirs.expect("the index has nghttp2's size") as usize;
    let mut ours = 0;
    for story in list(&read(&vectors.join("hpack/nghttp2.json"))["stories"]) {
        let (mut encoder, mut decoder) = (Encoder::new(4096), Decoder::new(4096));
        for case in list(&story["cases"]) {
            let fields = fields(case);
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value) in &fields {
                encoder.field(&mut block, name, value, Indexing::Add);
            }
            ours += block.len();
            assert_eq!(decode(&mut decoder, &block), Ok(fields), "{} {}", story["story"], case["seqno"]);
            assert_eq!(entries(decoder.entries()), entries(encoder.entries()));
        }
    }
    println!("HPACK stories: {ours} octets by our encoder, {theirs} by nghttp2's");
    assert!(ours * 100 <= theirs * 103, "{ours} octets, nghttp2 needs {theirs}");
}
