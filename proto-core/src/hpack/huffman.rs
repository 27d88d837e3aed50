//! The Huffman coding of strings (RFC 7541 §5.2).

use alloc::vec::Vec;

use super::DecodeError;
use super::huffman_table::{CODES, EOS, LONGEST, PAIRS, Pair, WIDTH, symbol};

/// Octets that `src` takes when encoded.
#[must_use]
pub fn encode_len(src: &[u8]) -> usize {
    let bits: usize = src.iter().map(|&octet| usize::from(CODES[usize::from(octet)].len)).sum();
    bits.div_ceil(8)
}

/// Appends `src`, encoded, to `out`.
pub fn encode(src: &[u8], out: &mut Vec<u8>) {
    let (mut pending, mut len) = (0u64, 0u32);
    for &octet in src {
        let code = CODES[usize::from(octet)];
        pending = pending << code.len | u64::from(code.bits);
        len += u32::from(code.len);
        if len >= 32 {
            len -= 32;
            out.extend_from_slice(&((pending >> len) as u32).to_be_bytes());
        }
    }
    // The last octet is filled up with the first bits of EOS, which are ones.
    let padding = len.wrapping_neg() % 8;
    pending = pending << padding | ((1 << padding) - 1);
    len += padding;
    while len > 0 {
        len -= 8;
        out.push((pending >> len) as u8);
    }
}

/// Appends `src`, decoded, to `out`.
///
/// # Errors
/// [`DecodeError::HuffmanPadding`] and [`DecodeError::HuffmanEos`]; `out` then holds what it held before.
pub fn decode(src: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let before = out.len();
    out.resize(before + room(src.len()), 0);
    let decoded = decode_into(src, &mut out[before..]);
    out.truncate(before + decoded.unwrap_or(0));
    decoded.map(|_| ())
}

/// Octets that [`decode_into`] needs to decode `len` octets: no code is shorter than 5 bits, one symbol may reach over the end before that is noticed,
/// and symbols are written in pairs.
pub(super) fn room(len: usize) -> usize {
    len * 8 / 5 + 3
}

/// Decodes `src` to the front of `out`, which has [`room`] for it. Returns the decoded length.
pub(super) fn decode_into(src: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    let end = 8 * src.len();
    let last = last_octets(src);
    let (mut at, mut len) = (0, 0);
    loop {
        let Some(left) = end.checked_sub(at) else { return Err(DecodeError::HuffmanPadding) };
        let mut window = window(src, last, at);
        if pair(window).len() == 0 {
            if window >> (64 - LONGEST) == EOS {
                return match left {
                    0..8 => Ok(len),
                    8..30 => Err(DecodeError::HuffmanPadding),
                    _ => Err(DecodeError::HuffmanEos),
                };
            }
            let (symbol, bits) = symbol(window);
            out[len] = symbol;
            len += 1;
            at += bits;
            continue;
        }
        // Without a branch: where a longer code begins, the rest of the look-ups yields nothing.
        for _ in 0..BATCH {
            let pair = pair(window);
            out[len..len + 2].copy_from_slice(&pair.symbols());
            len += pair.count();
            at += pair.len();
            window = pair.skip(window);
        }
    }
}

/// Look-ups for which the bits of one window suffice.
const BATCH: u32 = WINDOW / WIDTH;

/// Bits of a window that count.
const WINDOW: u32 = 57;

/// At least [`WINDOW`] bits of `src` from bit `at` on, from the left. Behind the end ones follow, as if EOS came: no code of [`PAIRS`] is all ones, so
/// the end is found as a longer code, and a symbol that reaches over it is bad padding.
#[inline]
fn window(src: &[u8], last: u64, at: usize) -> u64 {
    let word = match src.get(at / 8..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let missing = 8 * (8 + at / 8 - src.len()) as u32;
            !(!last).checked_shl(missing).unwrap_or(0)
        }
    };
    word << (at % 8)
}

/// The last eight octets, or zeros and all there are.
#[inline]
fn last_octets(src: &[u8]) -> u64 {
    if let Some(word) = src.last_chunk() {
        u64::from_be_bytes(*word)
    } else if let (Some(high), Some(low)) = (src.first_chunk(), src.last_chunk()) {
        u64::from(u32::from_be_bytes(*high)) << (8 * (src.len() - 4)) | u64::from(u32::from_be_bytes(*low))
    } else {
        src.iter().fold(0, |word, &octet| word << 8 | u64::from(octet))
    }
}

#[inline]
fn pair(window: u64) -> Pair {
    PAIRS[(window >> (64 - WIDTH)) as usize]
}
