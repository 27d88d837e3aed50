//! What every case sends and must get, for both runtimes (the Python side has the same in `python/expect.py`).

use crate::{
    Wrong,
    pb::{Item, Summary},
};
use bytes::Bytes;
use pintle_core::Metadata;

/// Octets of a large message: more than any window, less than the default message limit.
pub const BIG: usize = 3_000_000;
/// Octets of a message over the default limit of 4 MiB.
pub const TOO_BIG: usize = 5_000_000;
/// Calls in flight at once.
pub const IN_FLIGHT: u32 = 1_000;
/// The server answers `Echo` with trailing metadata of this key: the milliseconds that a call's deadline has left.
pub const DEADLINE_KEY: &str = "x-deadline-millis";
/// From grpc's interop case `special_status_message`, with what percent-encoding must not trip over behind it.
pub const STATUS_MESSAGE: &str = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}\t\n 100% %41 ~";
/// google.rpc.Status{code: 8, message: "quota"}: opaque octets as far as these cases go.
pub const STATUS_DETAILS: &[u8] = b"\x08\x08\x12\x05quota";
/// Bodies of grpc's interop case `client_streaming`: 74,922 octets together.
pub const SIZES: [usize; 4] = [27_182, 8, 1_828, 45_904];

/// Metadata: keys, and values as octets, in order.
pub type Fields = Vec<(&'static str, Vec<u8>)>;

/// The keys that servers send back.
const KEYS: [&str; 5] = ["x-echo-initial", "x-echo-initial-bin", "x-echo-initial-other", "x-echo-trailing", "x-echo-trailing-bin"];

/// Metadata that the server sends back as initial metadata.
#[must_use]
pub fn initial() -> Fields {
    vec![
        ("x-echo-initial", b"one".to_vec()),
        ("x-echo-initial", b"two, with a comma".to_vec()),
        ("x-echo-initial-other", b"~ !\"#$%&'()*+".to_vec()),
        ("x-echo-initial-bin", vec![0, 1, 255]),
        ("x-echo-initial-bin", vec![0xab; 3]),
    ]
}

/// Metadata that the server sends back as trailing metadata.
#[must_use]
pub fn trailing() -> Fields {
    vec![("x-echo-trailing", b"three".to_vec()), ("x-echo-trailing", b"four".to_vec()), ("x-echo-trailing-bin", (0..=255).collect())]
}

/// Octets whose period (251) divides no buffer size, so that a piece lost, doubled or moved shows.
#[must_use]
pub fn body(size: usize) -> Bytes {
    (0..=250_u8).cycle().take(size).collect()
}

/// The item of the case `unary`.
#[must_use]
pub fn item() -> Item {
    Item { text: "h\u{e9}llo".into(), body: body(100), number: -7 }
}

/// Item number `number` of a streaming case.
#[must_use]
pub fn numbered(number: usize, size: usize) -> Item {
    Item { text: String::new(), body: body(size), number: number as i64 }
}

/// What `Chat` answers to an item.
#[must_use]
pub fn answer(item: Item) -> Item {
    Item { text: item.text.to_uppercase(), body: item.body, number: item.number + 1 }
}

/// Counts an item as `Collect` does.
pub fn add(summary: &mut Summary, item: &Item) {
    summary.count += 1;
    summary.octets += item.body.len() as i64;
    summary.total += item.number;
}

/// The fields whose keys servers send back, by key; among equal keys in their order.
#[must_use]
pub fn fields(metadata: &Metadata) -> Fields {
    let mut fields = Fields::new();
    for key in KEYS {
        if key.ends_with("-bin") {
            fields.extend(metadata.get_all_bin(key).map(|value| (key, value.to_vec())));
        } else {
            fields.extend(metadata.get_all(key).map(|value| (key, value.as_bytes().to_vec())));
        }
    }
    fields
}

/// Fields in the order of [`fields`].
#[must_use]
pub fn sorted(mut fields: Fields) -> Fields {
    fields.sort_by_key(|(key, _)| *key);
    fields
}

/// What a server sends back of a request's metadata: initial, trailing.
#[must_use]
pub fn echo(request: &Metadata) -> (Fields, Fields) {
    fields(request).into_iter().partition(|(key, _)| key.starts_with("x-echo-initial"))
}

/// Appends fields to metadata.
///
/// # Errors
/// A value is not text although its key promises that.
pub fn append(metadata: &mut Metadata, fields: &Fields) -> Result<(), Wrong> {
    for (key, value) in fields {
        if key.ends_with("-bin") {
            metadata.append_bin(key, value).map_err(|error| format!("{error:?}"))?;
        } else {
            metadata.append(key, std::str::from_utf8(value)?).map_err(|error| format!("{error:?}"))?;
        }
    }
    Ok(())
}
