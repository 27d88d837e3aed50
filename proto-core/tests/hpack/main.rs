//! HPACK (RFC 7541) from outside: the RFC's examples, malformed blocks, the public story vectors, and an independent implementation.

mod codes;
mod malformed;
mod random;
mod rfc;
mod stories;

use pintle_core::hpack::{DecodeError, Decoder, Encoder, Fields, Indexing, Tag, static_entry};

pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// Collects fields, and checks that each comes with the tag that was given to it.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) fields: Vec<Field>,
    /// How often the decoder had to ask.
    pub(crate) classified: usize,
}

/// FNV-1a, so that different fields have different tags.
fn tag_of(name: &[u8], value: &[u8]) -> Tag {
    let octets = name.iter().chain(&[0]).chain(value);
    Tag(octets.fold(0x811c_9dc5, |hash, &octet| (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193)))
}

impl Fields for Seen {
    fn static_tag(&self, index: u8) -> Tag {
        let (name, value) = static_entry(index).expect("only entries of the static table are asked for");
        tag_of(name, value)
    }

    fn classify(&mut self, name: &[u8], value: &[u8]) -> Tag {
        self.classified += 1;
        tag_of(name, value)
    }

    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]) {
        assert_eq!(tag, tag_of(name, value), "tag of {}: {}", name.escape_ascii(), value.escape_ascii());
        self.fields.push((name.to_vec(), value.to_vec()));
    }
}

/// Looks at nothing.
pub(crate) struct Ignore;

impl Fields for Ignore {
    fn static_tag(&self, _index: u8) -> Tag {
        Tag(0)
    }

    fn classify(&mut self, _name: &[u8], _value: &[u8]) -> Tag {
        Tag(0)
    }

    fn field(&mut self, _tag: Tag, _name: &[u8], _value: &[u8]) {}
}

pub(crate) fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Field>, DecodeError> {
    let mut seen = Seen::default();
    decoder.decode(block, &mut seen).map(|()| seen.fields)
}

pub(crate) fn encode(encoder: &mut Encoder, fields: &[(&str, &str)], indexing: Indexing) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in fields {
        encoder.field(&mut block, name.as_bytes(), value.as_bytes(), indexing);
    }
    block
}

pub(crate) fn owned(fields: &[(&str, &str)]) -> Vec<Field> {
    fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

pub(crate) fn entries<'a>(entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<Field> {
    entries.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|octet| !octet.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).expect("digits"), 16).expect("two hex digits")).collect()
}
