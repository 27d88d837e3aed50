//! [`Metadata`]: the custom fields of a call.

use alloc::{format, string::String, vec::Vec};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use core::fmt;

/// Metadata: an ordered list of fields in one buffer.
///
/// Keys are lower case; any case may be asked for. A key that ends in `-bin` has binary values, which travel as base64;
/// every other key has text of printable ASCII. A key may be there more than once, and the order is kept.
///
/// ```
/// use pintle_core::Metadata;
/// let mut metadata = Metadata::new();
/// metadata.append("Tenant", "a")?;
/// metadata.append_bin("trace-bin", &[1, 2])?;
/// assert_eq!(metadata.get("tenant"), Some("a"));
/// assert_eq!(metadata.get_bin("trace-bin").unwrap()[..], [1, 2]);
/// assert!(metadata.append("grpc-status", "0").is_err());
/// # Ok::<(), pintle_core::grpc::InvalidMetadata>(())
/// ```
#[derive(Clone, Default)]
pub struct Metadata {
    /// Records: name length and value length (u32, little endian each), name, value. Values are as on the wire.
    buf: Vec<u8>,
    /// [`append_http`](Self::append_http) was used: there may be fields that a gRPC call must not send.
    http: bool,
}

/// A key or value that cannot be sent: which and why. The value is not kept: it may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMetadata {
    /// The key cannot be used.
    Key {
        /// The key as given.
        key: String,
        /// Why not.
        why: &'static str,
    },
    /// The key's value cannot be sent.
    Value {
        /// The key as given.
        key: String,
        /// Why not.
        why: &'static str,
    },
}

impl fmt::Display for InvalidMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { key, why } => write!(f, "metadata key {key:?}: {why}"),
            Self::Value { key, why } => write!(f, "value of metadata key {key:?}: {why}"),
        }
    }
}
impl core::error::Error for InvalidMetadata {}

impl InvalidMetadata {
    /// How a call ends that was to carry it, on the caller's side: INVALID_ARGUMENT, made here; the server has heard nothing.
    #[must_use]
    pub fn call_status(&self) -> super::Status {
        super::Status::invalid_argument(format!("the call was not sent, this side gave it invalid metadata: {self}"))
    }
}

/// Octets before the name of a record.
const HEAD: usize = 8;

impl Metadata {
    /// Empty, without allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self { buf: Vec::new(), http: false }
    }

    /// From keys and text values.
    ///
    /// # Errors
    /// The first key or value that is not valid, as [`append`](Self::append) has it.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, InvalidMetadata> {
        let mut metadata = Self::new();
        for (key, value) in pairs {
            metadata.append(key, value)?;
        }
        Ok(metadata)
    }

    /// Appends a text field; earlier ones of the key stay.
    ///
    /// # Errors
    /// The key is reserved, binary (`-bin`) or not made of `0-9 a-z _ - .`; the value is not printable ASCII or begins or
    /// ends with a space. Nothing was changed.
    pub fn append(&mut self, key: &str, value: &str) -> Result<(), InvalidMetadata> {
        check_key(key, false)?;
        check_value(key, value)?;
        self.push_lower(key, value.as_bytes());
        Ok(())
    }

    /// Appends a binary field; the key ends in `-bin`. Any octets are valid.
    ///
    /// # Errors
    /// The key is reserved, does not end in `-bin` or is not made of `0-9 a-z _ - .`. Nothing was changed.
    pub fn append_bin(&mut self, key: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        check_key(key, true)?;
        self.push_lower(key, BASE64.encode(value).as_bytes());
        Ok(())
    }

    /// Appends a text field in place of all earlier ones of the key.
    ///
    /// # Errors
    /// As [`append`](Self::append). Nothing was changed.
    pub fn insert(&mut self, key: &str, value: &str) -> Result<(), InvalidMetadata> {
        check_key(key, false)?;
        check_value(key, value)?;
        self.remove(key);
        self.push_lower(key, value.as_bytes());
        Ok(())
    }

    /// Appends a binary field in place of all earlier ones of the key.
    ///
    /// # Errors
    /// As [`append_bin`](Self::append_bin). Nothing was changed.
    pub fn insert_bin(&mut self, key: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        check_key(key, true)?;
        self.remove(key);
        self.push_lower(key, BASE64.encode(value).as_bytes());
        Ok(())
    }

    /// Appends a field of plain HTTP, for [raw streams](crate::Stream) only: `content-type`, `grpc-status` and their like
    /// are allowed, and a `-bin` value is taken as it shall be on the wire. A gRPC call leaves out what is reserved.
    ///
    /// # Errors
    /// The name is a pseudo-header, belongs to an HTTP/1 connection (RFC 9113 §8.2.2) or is no token; the value has
    /// octets that HTTP forbids, or begins or ends with whitespace. Nothing was changed.
    pub fn append_http(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidMetadata> {
        let lower = name.to_ascii_lowercase();
        if let Some(why) = http_name_error(lower.as_bytes()) {
            return Err(InvalidMetadata::Key { key: name.into(), why });
        }
        if let Some(why) = http_value_error(value) {
            return Err(InvalidMetadata::Value { key: name.into(), why });
        }
        self.http = true;
        self.push_raw(lower.as_bytes(), value);
        Ok(())
    }

    /// Removes every field of the key; `true` if there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.buf.len();
        let mut at = 0;
        while let Some((name, value)) = record(&self.buf[at..]) {
            let len = HEAD + name.len() + value.len();
            if name.eq_ignore_ascii_case(key.as_bytes()) {
                self.buf.drain(at..at + len);
            } else {
                at += len;
            }
        }
        self.buf.len() < before
    }

    /// The first text value of the key. `None`: there is none, the key is binary, or the value is not UTF-8 (a peer may
    /// send octets of 0x80 and more; [`iter`](Self::iter) shows them).
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.get_all(key).next()
    }

    /// Every text value of the key, in order; what is not UTF-8 is left out. Empty for a binary key.
    pub fn get_all<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        let key = if is_binary(key.as_bytes()) { "" } else { key };
        self.find_all(key.as_bytes()).filter_map(|value| core::str::from_utf8(value).ok())
    }

    /// The first value of a binary key, decoded. `None`: there is none, or it is not base64.
    #[must_use]
    pub fn get_bin(&self, key: &str) -> Option<Bytes> {
        self.get_all_bin(key).next()
    }

    /// Every value of a binary key, decoded, in order; what is not base64 is left out. A field with commas is several
    /// values (PH2 "Custom-Metadata").
    pub fn get_all_bin(&self, key: &str) -> impl Iterator<Item = Bytes> {
        let key = if is_binary(key.as_bytes()) { key } else { "" };
        self.find_all(key.as_bytes())
            .flat_map(|joined| joined.split(|&c| c == b','))
            .filter_map(|part| decode_base64(part).map(Bytes::from))
    }

    /// Every field in order: name and the value's octets as on the wire (`-bin` as base64).
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        // Names are ASCII: `check_key` or `http_name_error` has seen them.
        self.raw().map(|(name, value)| (core::str::from_utf8(name).unwrap_or_default(), value))
    }

    /// Fields; counts them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw().count()
    }

    /// No field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    /// Appends every field of `other`.
    pub fn extend(&mut self, other: &Self) {
        self.buf.extend_from_slice(&other.buf);
        self.http |= other.http;
    }

    /// Removes every field; the memory stays.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.http = false;
    }

    /// Octets of memory held, used or not.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    fn push_lower(&mut self, key: &str, value: &[u8]) {
        let start = self.buf.len() + HEAD;
        self.push_raw(key.as_bytes(), value);
        self.buf[start..start + key.len()].make_ascii_lowercase();
    }
}

/// For the parts that read and write header blocks.
impl Metadata {
    /// Appends a field that was checked already.
    #[inline]
    pub(crate) fn push_raw(&mut self, name: &[u8], value: &[u8]) {
        let (Ok(name_len), Ok(value_len)) = (u32::try_from(name.len()), u32::try_from(value.len())) else { return };
        let head = u64::from(name_len) | u64::from(value_len) << 32;
        self.buf.reserve(HEAD + name.len() + value.len());
        self.buf.extend_from_slice(&head.to_le_bytes());
        self.buf.extend_from_slice(name);
        self.buf.extend_from_slice(value);
    }

    /// The records as they lie in memory.
    #[inline]
    pub(crate) fn records(&self) -> &[u8] {
        &self.buf
    }

    /// Appends records of another `Metadata`.
    #[inline]
    pub(crate) fn push_records(&mut self, records: &[u8]) {
        self.buf.extend_from_slice(records);
    }

    /// Appends the fields of `other` that a gRPC call may send: all of them, unless [`append_http`](Self::append_http) was used.
    pub(crate) fn push_call_fields(&mut self, other: &Self) {
        if !other.http {
            return self.push_records(&other.buf);
        }
        for (name, value) in other.raw().filter(|(name, _)| reserved(name).is_none()) {
            self.push_raw(name, value);
        }
    }

    /// [`append_http`](Self::append_http) was used.
    #[cfg(feature = "record")]
    pub(crate) fn is_http(&self) -> bool {
        self.http
    }

    /// From [`records`](Self::records). `None`: they are none.
    #[cfg(feature = "record")]
    pub(crate) fn from_records(records: &[u8], http: bool) -> Option<Self> {
        let metadata = Self { buf: records.to_vec(), http };
        let whole: usize = metadata.raw().map(|(name, value)| HEAD + name.len() + value.len()).sum();
        (whole == records.len()).then_some(metadata)
    }

    /// Names and values as octets.
    #[inline]
    pub(crate) fn raw(&self) -> Records<'_> {
        Records { rest: &self.buf }
    }

    /// The first value of the name, given in lower case.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&[u8]> {
        self.raw().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    fn find_all<'a>(&'a self, key: &[u8]) -> impl Iterator<Item = &'a [u8]> {
        self.raw().filter(move |(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }
}

/// See [`Metadata::raw`].
#[derive(Debug, Clone)]
pub(crate) struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = record(self.rest)?;
        self.rest = &self.rest[HEAD + name.len() + value.len()..];
        Some((name, value))
    }
}

/// The first record of a buffer.
#[inline]
fn record(buf: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name_len, rest) = buf.split_first_chunk()?;
    let (value_len, rest) = rest.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*name_len) as usize)?;
    Some((name, rest.get(..u32::from_le_bytes(*value_len) as usize)?))
}

impl PartialEq for Metadata {
    /// The same fields in the same order.
    fn eq(&self, other: &Self) -> bool {
        self.buf == other.buf
    }
}
impl Eq for Metadata {}

/// `{"key": "value"}`; credentials are not shown.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECRET: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
        let mut map = f.debug_map();
        for (name, value) in self.iter() {
            if SECRET.contains(&name) {
                map.entry(&name, &format_args!("(hidden)"));
            } else {
                map.entry(&name, &String::from_utf8_lossy(value));
            }
        }
        map.finish()
    }
}

/// PH2 allows either form of base64 and asks for the one without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// One value of a received `-bin` field; spaces around it, as after a comma, do not count.
pub(crate) fn decode_base64(part: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(part.trim_ascii()).ok()
}

/// The key's values are binary.
pub(crate) fn is_binary(key: &[u8]) -> bool {
    key.len() >= 4 && key[key.len() - 4..].eq_ignore_ascii_case(b"-bin")
}

/// Why a gRPC call's metadata may not have this (lower-case) key.
pub(crate) fn reserved(key: &[u8]) -> Option<&'static str> {
    match key {
        // Retry hooks of gRFC A6, which travel as ordinary metadata.
        b"grpc-previous-rpc-attempts" | b"grpc-retry-pushback-ms" => None,
        [b':', ..] => Some("names that begin with ':' belong to HTTP/2"),
        [b'g', b'r', b'p', b'c', b'-', ..] => Some("names that begin with \"grpc-\" are reserved for gRPC"),
        b"content-type" | b"te" | b"content-length" => Some("it is written by the library"),
        b"user-agent" => Some("it is written by the library (Config::user_agent)"),
        b"host" => Some("it is written by the library (Config::authority)"),
        key if is_connection_specific(key) => Some(CONNECTION_SPECIFIC),
        _ => None,
    }
}

const CONNECTION_SPECIFIC: &str = "it describes an HTTP/1 connection and is forbidden in HTTP/2";

/// RFC 9113 §8.2.2, `te` aside.
pub(crate) const fn is_connection_specific(name: &[u8]) -> bool {
    matches!(name, b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade")
}

fn check_key(key: &str, binary: bool) -> Result<(), InvalidMetadata> {
    let lower = key.to_ascii_lowercase();
    let why = if key.is_empty() {
        Some("it is empty")
    } else if let Some(why) = reserved(lower.as_bytes()) {
        Some(why)
    } else if !lower.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'.')) {
        Some("only the letters a to z, digits, '_', '-' and '.' are allowed")
    } else if is_binary(lower.as_bytes()) && lower.len() == 4 {
        Some("there is nothing before \"-bin\"")
    } else if is_binary(lower.as_bytes()) && !binary {
        Some("a key that ends in \"-bin\" has binary values: use metadata_bin of a call, append_bin or insert_bin of Metadata")
    } else if binary && !is_binary(lower.as_bytes()) {
        Some("the key of a binary value must end in \"-bin\"")
    } else {
        None
    };
    why.map_or(Ok(()), |why| Err(InvalidMetadata::Key { key: key.into(), why }))
}

fn check_value(key: &str, value: &str) -> Result<(), InvalidMetadata> {
    let why = if !value.bytes().all(|c| matches!(c, 0x20..=0x7E)) {
        "only printable ASCII is allowed (use a \"-bin\" key for anything else)"
    } else if value.starts_with(' ') || value.ends_with(' ') {
        "it begins or ends with a space, which HTTP/2 does not carry"
    } else {
        return Ok(());
    };
    Err(InvalidMetadata::Value { key: key.into(), why })
}

/// Why HTTP/2 forbids this name of a field (RFC 9113 §8.2.1 and §8.2.2, RFC 9110 §5.1).
pub(crate) fn http_name_error(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        Some("a field without a name")
    } else if !name.iter().all(|&c| TOKEN[usize::from(c)]) {
        Some("a field name with octets that HTTP/2 forbids")
    } else if is_connection_specific(name) {
        Some(CONNECTION_SPECIFIC)
    } else {
        None
    }
}

/// Why HTTP/2 forbids this value of a field (RFC 9113 §8.2.1).
pub(crate) fn http_value_error(value: &[u8]) -> Option<&'static str> {
    let padded = |c: Option<&u8>| matches!(c, Some(b' ' | b'\t'));
    if value.iter().fold(false, |bad, c| bad | matches!(c, 0 | b'\n' | b'\r')) {
        Some("a field value with NUL, CR or LF")
    } else if padded(value.first()) || padded(value.last()) {
        Some("a field value that begins or ends with whitespace")
    } else {
        None
    }
}

/// RFC 9110 §5.6.2 tchar, without the upper case that HTTP/2 forbids.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = matches!(c as u8, b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        c += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// What is valid on a raw stream must not slip into a call.
    #[test]
    fn a_call_leaves_out_what_is_reserved() {
        let mut plain = Metadata::from_pairs([("a", "1"), ("b", "2")]).expect("valid");
        let mut sent = Metadata::new();
        sent.push_call_fields(&plain);
        assert_eq!(sent, plain);
        for name in ["content-type", "grpc-status", "grpc-timeout", "te", "user-agent", "host", "content-length", "c"] {
            plain.append_http(name, b"0").expect("valid HTTP");
        }
        sent.clear();
        sent.push_call_fields(&plain);
        assert_eq!(sent.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "c"]);
        let mut joined = Metadata::new();
        joined.extend(&plain);
        sent.clear();
        sent.push_call_fields(&joined);
        assert_eq!(sent.len(), 3, "copies know too");
        plain.clear();
        plain.append("d", "4").expect("valid");
        sent.clear();
        sent.push_call_fields(&plain);
        assert_eq!(sent, plain);
    }

    #[test]
    fn broken_records_end_the_list() {
        let metadata = Metadata { buf: alloc::vec![1, 0, 0, 0, 255, 0, 0, 0, b'a'], http: false };
        assert_eq!((metadata.len(), metadata.get("a")), (0, None));
    }
}
