//! Field blocks to fields (RFC 7541 §3, §6).

use alloc::vec::Vec;
use core::fmt;

use super::memo::{Candidate, Memo};
use super::static_table;
use super::table::Table;
use super::{DEFAULT_TABLE, LARGEST_TABLE, huffman, int};
use crate::steps::Steps;

/// A larger buffer for strings is given back at the end of the block that needed it.
const KEEP_SCRATCH: usize = 4096;

/// What a field means to the user of the decoder: an opaque word, computed once when the field is first seen and kept with it in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

/// Who takes the fields of a block.
pub trait Fields {
    /// Meaning of an entry of the static table (1..=61, see [`static_entry`](super::static_entry)). Constant for each index.
    fn static_tag(&self, index: u8) -> Tag;

    /// Meaning of a field that the decoder does not know yet. A pure function of its arguments for the life of the decoder, because the answer is used for
    /// the same field of later blocks.
    fn classify(&mut self, name: &[u8], value: &[u8]) -> Tag;

    /// One field, in the order of the block. Fields come before an error of the same block is found. To bound what a block may hold is up
    /// to the receiver (RFC 9113 §6.5.2 counts `name.len() + value.len() + 32` for each field): a block of few octets may hold many large fields.
    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]);

    /// The block holds so much that it ends the connection, whatever else comes: decoding stops with [`DecodeError::Enough`]. Asked before each literal, which
    /// costs time for each octet of its field, where an index costs little.
    fn enough(&self) -> bool {
        false
    }
}

/// Decodes the field blocks of one direction of a connection.
///
/// Give it **every** block that arrives, whole and in order, also those of streams that were refused or reset: each may change the table that the next ones
/// refer to. Memory is bounded by about 2.5 times the table's limit, plus a few kilobytes; nothing is allocated before the first block that needs it.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    memo: Memo,
    /// Decoded strings of one field: name, then value. Its length is only ever increased within a block.
    scratch: Vec<u8>,
    /// The size we allow once our SETTINGS are acknowledged.
    announced: usize,
    /// The size we allow now.
    limit: usize,
    /// The next block has to lower the size.
    awaits_update: bool,
    steps: Steps,
}

impl Decoder {
    /// A decoder for a peer that is told `SETTINGS_HEADER_TABLE_SIZE = max_table` (0..=2^28 octets; more counts as 2^28).
    ///
    /// Until [`acknowledged`](Self::acknowledged) a peer may use 4,096 octets, even if `max_table` is less, because it may not know yet (RFC 9113 §6.5.2).
    #[must_use]
    pub fn new(max_table: usize) -> Self {
        let announced = max_table.min(LARGEST_TABLE);
        let limit = announced.max(DEFAULT_TABLE);
        Self {
            table: Table::new(DEFAULT_TABLE),
            memo: Memo::new(),
            scratch: Vec::new(),
            announced,
            limit,
            awaits_update: false,
            steps: Steps::new(),
        }
    }

    /// The peer has acknowledged the SETTINGS with our table size. From now on it is the limit; a peer whose table is larger must begin its next block by
    /// lowering it (RFC 9113 §4.3.1).
    pub fn acknowledged(&mut self) {
        self.limit = self.announced;
        if self.table.max() > self.limit {
            self.awaits_update = true;
            self.table.touch();
        }
    }

    /// Decodes one whole block, frames' fragments put together.
    ///
    /// # Errors
    /// Any error is a connection error (of type COMPRESSION_ERROR, RFC 9113 §4.3, but for [`DecodeError::Enough`]): the tables of both sides differ from here on, so that the decoder
    /// is of no more use.
    #[inline]
    pub fn decode<F: Fields>(&mut self, block: &[u8], out: &mut F) -> Result<(), DecodeError> {
        let mut input = block;
        if self.awaits_update || matches!(input, [0x20..=0x3f, ..]) {
            input = self.size_updates(input)?;
        }
        while let [first, rest @ ..] = input {
            self.steps.add(1);
            match *first {
                // An index of one octet.
                first @ 0xbe..=0xfe => {
                    input = rest;
                    self.dynamic_field(usize::from(first - 0xbe), out)?;
                }
                first @ 0x81..=0xbd => {
                    input = rest;
                    static_field(first & 0x7f, out)?;
                }
                0x80 | 0xff => input = self.long_index(input, out)?,
                first => input = self.literal(first, input, out)?,
            }
        }
        if self.scratch.len() > KEEP_SCRATCH {
            self.scratch = Vec::new();
        }
        Ok(())
    }

    /// Changes whenever the table's contents or its size change, so the octets of a block and the generation before it determine its fields. A
    /// block that leaves the generation alone may be recognised by both instead of being decoded again.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.table.generation()
    }

    /// Work done so far, of both its own and its table's.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get() + self.table.steps()
    }

    /// Size of the dynamic table now, as RFC 7541 §4.1 counts it, in octets.
    #[must_use]
    pub fn table_size(&self) -> usize {
        self.table.size()
    }

    /// Name and value of the dynamic entries, newest first.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.table.fields()
    }

    /// Updates of the table's size come before the first field (RFC 7541 §4.2).
    #[cold]
    fn size_updates<'b>(&mut self, mut input: &'b [u8]) -> Result<&'b [u8], DecodeError> {
        while matches!(input, [0x20..=0x3f, ..]) {
            let max = int::decode(&mut input, 5)? as usize;
            if max > self.limit {
                return Err(DecodeError::SizeUpdateTooLarge);
            }
            self.table.set_max(max);
            self.awaits_update = false;
        }
        if self.awaits_update { Err(DecodeError::SizeUpdateMissing) } else { Ok(input) }
    }

    #[inline]
    fn dynamic_field<F: Fields>(&self, age: usize, out: &mut F) -> Result<(), DecodeError> {
        let entry = self.table.get(age).ok_or(DecodeError::InvalidIndex)?;
        let (name, value) = self.table.field(entry);
        out.field(Tag(entry.word), name, value);
        Ok(())
    }

    /// An index of several octets, or the index 0, which means nothing.
    #[cold]
    fn long_index<'b, F: Fields>(&self, mut input: &'b [u8], out: &mut F) -> Result<&'b [u8], DecodeError> {
        let index = int::decode(&mut input, 7)?;
        self.dynamic_field(dynamic(index).ok_or(DecodeError::InvalidIndex)?, out)?;
        Ok(input)
    }

    #[inline(never)]
    fn literal<'b, F: Fields>(&mut self, first: u8, whole: &'b [u8], out: &mut F) -> Result<&'b [u8], DecodeError> {
        if out.enough() {
            return Err(DecodeError::Enough);
        }
        let mut input = whole;
        let adds = first & 0x40 != 0;
        if !adds && first & 0x20 != 0 {
            return Err(DecodeError::SizeUpdateMisplaced);
        }
        let index = int::decode(&mut input, if adds { 6 } else { 4 })?;
        let coded_name = if index == 0 { Some(Coded::take(&mut input)?) } else { None };
        let coded_value = Coded::take(&mut input)?;

        // Only what neither changes the table nor depends on it, and what takes time to decode. Never-indexed fields (0x10) are kept nowhere (RFC 7541 §7.1.3).
        let mut candidate = None;
        if first & 0xf0 == 0 && dynamic(index).is_none() && (coded_value.huffman || coded_name.as_ref().is_some_and(|name| name.huffman)) {
            candidate = Candidate::new(&whole[..whole.len() - input.len()]);
            if let Some((tag, name, value)) = candidate.and_then(|candidate| self.memo.find(candidate)) {
                out.field(tag, name, value);
                return Ok(input);
            }
        }

        let name = match coded_name {
            Some(coded) => coded.decode(&mut self.scratch, 0)?,
            None => self.known_name(index)?,
        };
        let value = coded_value.decode(&mut self.scratch, name.scratch_end())?;
        let (name, value) = (name.octets(&self.scratch), value.octets(&self.scratch));

        self.steps.octets(name.len() + value.len());
        let tag = out.classify(name, value);
        if adds {
            self.table.insert(tag.0, name, value);
        } else if let Some(candidate) = candidate {
            self.memo.put(candidate, tag, name, value);
        }
        out.field(tag, name, value);
        Ok(input)
    }

    /// The name of an entry. A dynamic one is copied to the scratch buffer, because the insertion that follows may evict it (RFC 7541 §4.4).
    #[inline]
    fn known_name(&mut self, index: u32) -> Result<Text<'static>, DecodeError> {
        let Some(age) = dynamic(index) else {
            let (name, _) = static_table::static_entry(index as u8).ok_or(DecodeError::InvalidIndex)?;
            return Ok(Text::Lent(name));
        };
        let entry = self.table.get(age).ok_or(DecodeError::InvalidIndex)?;
        let (name, _) = self.table.field(entry);
        reserve(&mut self.scratch, name.len())[..name.len()].copy_from_slice(name);
        Ok(Text::Scratch { start: 0, end: name.len() })
    }
}

#[inline]
fn static_field<F: Fields>(index: u8, out: &mut F) -> Result<(), DecodeError> {
    let (name, value) = static_table::static_entry(index).ok_or(DecodeError::InvalidIndex)?;
    out.field(out.static_tag(index), name, value);
    Ok(())
}

/// The age of the dynamic entry with this index. `None` for an index of the static table.
#[inline]
fn dynamic(index: u32) -> Option<usize> {
    Some(index.checked_sub(u32::from(static_table::LEN) + 1)? as usize)
}

/// At least `len` octets of the scratch buffer.
#[inline]
fn reserve(scratch: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if scratch.len() < len {
        scratch.resize(len, 0);
    }
    scratch
}

/// A string literal on the wire (RFC 7541 §5.2).
struct Coded<'b> {
    octets: &'b [u8],
    huffman: bool,
}

impl<'b> Coded<'b> {
    #[inline]
    fn take(input: &mut &'b [u8]) -> Result<Self, DecodeError> {
        let huffman = matches!(input, [0x80..=0xff, ..]);
        let len = int::decode(input, 7)? as usize;
        let (octets, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        *input = rest;
        Ok(Self { octets, huffman })
    }

    /// What is Huffman-coded goes to the scratch buffer, from `start` on.
    #[inline]
    fn decode(self, scratch: &mut Vec<u8>, start: usize) -> Result<Text<'b>, DecodeError> {
        if !self.huffman {
            return Ok(Text::Lent(self.octets));
        }
        let room = reserve(scratch, start + huffman::room(self.octets.len()));
        let len = huffman::decode_into(self.octets, &mut room[start..])?;
        Ok(Text::Scratch { start, end: start + len })
    }
}

/// Where a decoded string is.
#[derive(Clone, Copy)]
enum Text<'b> {
    Lent(&'b [u8]),
    Scratch { start: usize, end: usize },
}

impl<'b> Text<'b> {
    #[inline]
    fn octets<'a>(self, scratch: &'a [u8]) -> &'a [u8]
    where
        'b: 'a,
    {
        match self {
            Self::Lent(octets) => octets,
            Self::Scratch { start, end } => &scratch[start..end],
        }
    }

    #[inline]
    fn scratch_end(self) -> usize {
        match self {
            Self::Lent(_) => 0,
            Self::Scratch { end, .. } => end,
        }
    }
}

/// Why a block cannot be decoded. On the wire each of them is COMPRESSION_ERROR, for the whole connection (RFC 9113 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeError {
    /// The block ends inside a field.
    Truncated,
    /// An integer goes on for more than four octets after its prefix.
    IntegerTooLong,
    /// A field refers to index 0, or to one that neither table has.
    InvalidIndex,
    /// A Huffman-coded string does not end in zero to seven ones.
    HuffmanPadding,
    /// A Huffman-coded string contains the symbol EOS.
    HuffmanEos,
    /// The table is to become larger than our SETTINGS allow.
    SizeUpdateTooLarge,
    /// The table's size changes after the first field of a block.
    SizeUpdateMisplaced,
    /// The table is larger than our SETTINGS, which the peer has acknowledged, and the block does not begin by lowering its size.
    SizeUpdateMissing,
    /// The receiver wants no more of it ([`Fields::enough`]).
    Enough,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "field block ends inside a field",
            Self::IntegerTooLong => "integer longer than five octets in a field block",
            Self::InvalidIndex => "field block refers to an index that no table has",
            Self::HuffmanPadding => "Huffman-coded string with wrong padding",
            Self::HuffmanEos => "Huffman-coded string contains EOS",
            Self::SizeUpdateTooLarge => "dynamic table size above SETTINGS_HEADER_TABLE_SIZE",
            Self::SizeUpdateMisplaced => "dynamic table size update after the first field of a block",
            Self::Enough => "field block larger than anybody may send",
            Self::SizeUpdateMissing => "no dynamic table size update after SETTINGS_HEADER_TABLE_SIZE was lowered",
        })
    }
}

impl core::error::Error for DecodeError {}
