//! Integers with an N-bit prefix (RFC 7541 §5.1).

use alloc::vec::Vec;

use super::DecodeError;

/// After the prefix at most four octets follow, even when they add nothing: so no value overflows and nobody can make us read for ever (RFC 7541 §7.4).
const MAX_CONTINUATION: u32 = 4;

/// Takes an integer from the front of `input`; the bits above its `prefix` low bits (1..=8) are not looked at. The result is below 2^28 + 2^8.
#[inline]
pub(super) fn decode(input: &mut &[u8], prefix: u32) -> Result<u32, DecodeError> {
    let [first, rest @ ..] = *input else { return Err(DecodeError::Truncated) };
    let mask = (1 << prefix) - 1;
    let value = u32::from(*first) & mask;
    *input = rest;
    if value == mask {
        let value;
        (value, *input) = continuation(rest, mask)?;
        return Ok(value);
    }
    Ok(value)
}

/// The slice goes by value, so that callers may keep theirs in registers.
#[cold]
fn continuation(mut input: &[u8], mask: u32) -> Result<(u32, &[u8]), DecodeError> {
    let mut value = mask;
    for place in 0..MAX_CONTINUATION {
        let [octet, rest @ ..] = input else { return Err(DecodeError::Truncated) };
        input = rest;
        value += u32::from(octet & 0x7f) << (7 * place);
        if octet & 0x80 == 0 {
            return Ok((value, input));
        }
    }
    Err(DecodeError::IntegerTooLong)
}

/// Appends `value` with a prefix of `prefix` bits, below the bits of `flags`.
#[inline]
pub(super) fn encode(out: &mut Vec<u8>, flags: u8, prefix: u32, value: usize) {
    let mask = (1 << prefix) - 1;
    if value < mask {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (value, prefix, octets): RFC 7541 §C.1 and both sides of the prefix's limit.
    const CASES: &[(u32, u32, &[u8])] = &[
        (10, 5, &[0x0a]),
        (1337, 5, &[0x1f, 0x9a, 0x0a]),
        (42, 8, &[0x2a]),
        (30, 5, &[0x1e]),
        (31, 5, &[0x1f, 0x00]),
        (126, 7, &[0x7e]),
        (127, 7, &[0x7f, 0x00]),
        (128, 7, &[0x7f, 0x01]),
        (127 + 0x0fff_ffff, 7, &[0x7f, 0xff, 0xff, 0xff, 0x7f]),
    ];

    #[test]
    fn known_octets_both_ways() {
        for &(value, prefix, octets) in CASES {
            let mut out = Vec::new();
            encode(&mut out, 0, prefix, value as usize);
            assert_eq!(out, octets, "{value} with {prefix} bits");
            let mut input = octets;
            assert_eq!(decode(&mut input, prefix), Ok(value), "{octets:02x?}");
            assert!(input.is_empty(), "{octets:02x?} is taken whole");
        }
    }

    #[test]
    fn flags_are_kept_apart() {
        let mut out = Vec::new();
        encode(&mut out, 0x20, 5, 1337);
        assert_eq!(out, [0x3f, 0x9a, 0x0a]);
        assert_eq!(decode(&mut &[0xea][..], 5), Ok(10));
    }

    #[test]
    fn five_continuation_octets_are_too_many_even_if_zero() {
        assert_eq!(decode(&mut &[0x7f, 0x80, 0x80, 0x80, 0x00][..], 7), Ok(127));
        assert_eq!(decode(&mut &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x00][..], 7), Err(DecodeError::IntegerTooLong));
        assert_eq!(decode(&mut &[0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f][..], 7), Err(DecodeError::IntegerTooLong));
    }

    #[test]
    fn an_integer_may_not_end_early() {
        for octets in [&[][..], &[0x7f], &[0x7f, 0x80], &[0x7f, 0x80, 0x80, 0x80]] {
            assert_eq!(decode(&mut &*octets, 7), Err(DecodeError::Truncated), "{octets:02x?}");
        }
    }
}
