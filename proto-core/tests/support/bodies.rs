//! The fuzz targets of this crate by name: `fuzz/` compiles this file too. The bodies are in `pintle_core::testing`; here is
//! what they take from other crates.

use pintle_core::{
    codec::Prost,
    testing::{
        OtherDecoder, fuzz_client, fuzz_frame, fuzz_hpack, fuzz_message, fuzz_metadata, fuzz_ops, fuzz_scanner, fuzz_server, fuzz_tape,
    },
};
use prost::bytes::Bytes;
use std::collections::BTreeMap;

/// A fuzz target: it panics where a rule is broken.
pub(crate) type Target = fn(&[u8]);

/// Every target that needs no socket.
pub(crate) const TARGETS: [(&str, Target); 9] = [
    ("frame", fuzz_frame),
    ("scanner", fuzz_scanner),
    ("hpack", hpack),
    ("message", message),
    ("metadata", fuzz_metadata),
    ("tape", fuzz_tape),
    ("conn_server", fuzz_server),
    ("conn_client", fuzz_client),
    ("ops", fuzz_ops),
];

/// Runs the target of this name.
#[allow(dead_code, reason = "for the fuzz targets")]
pub(crate) fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    target(data);
}

struct Loona(loona_hpack::Decoder<'static>);

impl OtherDecoder for Loona {
    fn allow(&mut self, size: usize) {
        self.0.set_max_allowed_table_size(size);
    }

    fn decode(&mut self, block: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        self.0.decode(block).ok()
    }
}

fn hpack(data: &[u8]) {
    fuzz_hpack(data, || Loona(loona_hpack::Decoder::new()));
}

/// A message with every kind of field.
#[derive(Clone, PartialEq, prost::Message)]
struct Everything {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(bytes = "bytes", tag = "2")]
    octets: Bytes,
    #[prost(int32, repeated, tag = "3")]
    numbers: Vec<i32>,
    #[prost(sint64, optional, tag = "4")]
    signed: Option<i64>,
    #[prost(double, tag = "5")]
    real: f64,
    #[prost(fixed32, repeated, packed = "false", tag = "6")]
    fixed: Vec<u32>,
    #[prost(message, optional, boxed, tag = "7")]
    inner: Option<Box<Self>>,
    #[prost(message, repeated, tag = "8")]
    several: Vec<Self>,
    #[prost(btree_map = "string, uint64", tag = "9")]
    map: BTreeMap<String, u64>,
    #[prost(bool, tag = "10")]
    flag: bool,
}

fn message(data: &[u8]) {
    fuzz_message::<Prost<Everything>>(data);
}
