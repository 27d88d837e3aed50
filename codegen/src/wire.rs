//! Just enough of the protobuf wire format to read and edit descriptors without decoding them: prost drops what it
//! does not know, and custom options are exactly that.

use crate::error::Error;

/// One field of an encoded message.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    pub(crate) value: Value<'a>,
    /// Key and value as they came.
    raw: &'a [u8],
}

#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Fixed-width: no field of a descriptor that is looked at.
    Other,
}

/// The fields of a message, in order.
pub(crate) fn fields(mut message: &[u8]) -> Result<Vec<Field<'_>>, Error> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let (field, rest) =
            field(message).ok_or_else(|| Error::message("these octets are no FileDescriptorSet: they are cut off or damaged"))?;
        fields.push(field);
        message = rest;
    }
    Ok(fields)
}

fn field(start: &[u8]) -> Option<(Field<'_>, &[u8])> {
    let (key, rest) = varint(start)?;
    let number = u32::try_from(key >> 3).ok().filter(|&number| number > 0)?;
    let (value, rest) = match key & 7 {
        0 => varint(rest).map(|(value, rest)| (Value::Varint(value), rest))?,
        1 => (Value::Other, rest.get(8..)?),
        2 => {
            let (len, rest) = varint(rest)?;
            let (bytes, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            (Value::Bytes(bytes), rest)
        }
        5 => (Value::Other, rest.get(4..)?),
        _ => return None, // groups: descriptor.proto has none
    };
    Some((Field { number, value, raw: &start[..start.len() - rest.len()] }, rest))
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

/// The messages in the length-delimited field `number`.
pub(crate) fn children(message: &[u8], number: u32) -> Result<Vec<&[u8]>, Error> {
    let children = fields(message)?.into_iter().filter(|field| field.number == number);
    Ok(children.filter_map(|field| if let Value::Bytes(bytes) = field.value { Some(bytes) } else { None }).collect())
}

/// The last value of the varint field `number`.
pub(crate) fn number(message: &[u8], number: u32) -> Result<Option<u64>, Error> {
    let values = fields(message)?.into_iter().filter(|field| field.number == number);
    Ok(values.filter_map(|field| if let Value::Varint(value) = field.value { Some(value) } else { None }).next_back())
}

/// `FileDescriptorSet.file`.
pub(crate) const SET_FILE: u32 = 1;
/// `FileDescriptorProto.source_code_info`.
const FILE_SOURCE_INFO: u32 = 9;

/// An encoded `FileDescriptorSet` without comments and positions: what a program shows by reflection. Comments can be
/// longer than all the rest, and are not always meant for those who hold the binary.
pub(crate) fn without_source_info(set: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(set.len());
    for field in fields(set)? {
        match field.value {
            Value::Bytes(file) if field.number == SET_FILE => {
                let kept = fields(file)?.into_iter().filter(|field| field.number != FILE_SOURCE_INFO);
                let file: Vec<u8> = kept.flat_map(|field| field.raw.iter().copied()).collect();
                put_varint(&mut out, u64::from(SET_FILE) << 3 | 2);
                put_varint(&mut out, file.len() as u64);
                out.extend(file);
            }
            _ => out.extend(field.raw),
        }
    }
    Ok(out)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
