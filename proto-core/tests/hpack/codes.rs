//! The Huffman code against the list of RFC 7541 Appendix B.

use pintle_core::hpack::{DecodeError, huffman};

/// (code, length in bits) of the octets 0..=255, then of EOS.
#[rustfmt::skip]
const APPENDIX_B: [(u32, u32); 257] = [
    (0x1ff8, 13), (0x7fffd8, 23), (0xfffffe2, 28), (0xfffffe3, 28), (0xfffffe4, 28), (0xfffffe5, 28), (0xfffffe6, 28), (0xfffffe7, 28),
    (0xfffffe8, 28), (0xffffea, 24), (0x3ffffffc, 30), (0xfffffe9, 28), (0xfffffea, 28), (0x3ffffffd, 30), (0xfffffeb, 28), (0xfffffec, 28),
    (0xfffffed, 28), (0xfffffee, 28), (0xfffffef, 28), (0xffffff0, 28), (0xffffff1, 28), (0xffffff2, 28), (0x3ffffffe, 30), (0xffffff3, 28),
    (0xffffff4, 28), (0xffffff5, 28), (0xffffff6, 28), (0xffffff7, 28), (0xffffff8, 28), (0xffffff9, 28), (0xffffffa, 28), (0xffffffb, 28),
    (0x14, 6), (0x3f8, 10), (0x3f9, 10), (0xffa, 12), (0x1ff9, 13), (0x15, 6), (0xf8, 8), (0x7fa, 11),
    (0x3fa, 10), (0x3fb, 10), (0xf9, 8), (0x7fb, 11), (0xfa, 8), (0x16, 6), (0x17, 6), (0x18, 6),
    (0x0, 5), (0x1, 5), (0x2, 5), (0x19, 6), (0x1a, 6), (0x1b, 6), (0x1c, 6), (0x1d, 6),
    (0x1e, 6), (0x1f, 6), (0x5c, 7), (0xfb, 8), (0x7ffc, 15), (0x20, 6), (0xffb, 12), (0x3fc, 10),
    (0x1ffa, 13), (0x21, 6), (0x5d, 7), (0x5e, 7), (0x5f, 7), (0x60, 7), (0x61, 7), (0x62, 7),
    (0x63, 7), (0x64, 7), (0x65, 7), (0x66, 7), (0x67, 7), (0x68, 7), (0x69, 7), (0x6a, 7),
    (0x6b, 7), (0x6c, 7), (0x6d, 7), (0x6e, 7), (0x6f, 7), (0x70, 7), (0x71, 7), (0x72, 7),
    (0xfc, 8), (0x73, 7), (0xfd, 8), (0x1ffb, 13), (0x7fff0, 19), (0x1ffc, 13), (0x3ffc, 14), (0x22, 6),
    (0x7ffd, 15), (0x3, 5), (0x23, 6), (0x4, 5), (0x24, 6), (0x5, 5), (0x25, 6), (0x26, 6),
    (0x27, 6), (0x6, 5), (0x74, 7), (0x75, 7), (0x28, 6), (0x29, 6), (0x2a, 6), (0x7, 5),
    (0x2b, 6), (0x76, 7), (0x2c, 6), (0x8, 5), (0x9, 5), (0x2d, 6), (0x77, 7), (0x78, 7),
    (0x79, 7), (0x7a, 7), (0x7b, 7), (0x7ffe, 15), (0x7fc, 11), (0x3ffd, 14), (0x1ffd, 13), (0xffffffc, 28),
    (0xfffe6, 20), (0x3fffd2, 22), (0xfffe7, 20), (0xfffe8, 20), (0x3fffd3, 22), (0x3fffd4, 22), (0x3fffd5, 22), (0x7fffd9, 23),
    (0x3fffd6, 22), (0x7fffda, 23), (0x7fffdb, 23), (0x7fffdc, 23), (0x7fffdd, 23), (0x7fffde, 23), (0xffffeb, 24), (0x7fffdf, 23),
    (0xffffec, 24), (0xffffed, 24), (0x3fffd7, 22), (0x7fffe0, 23), (0xffffee, 24), (0x7fffe1, 23), (0x7fffe2, 23), (0x7fffe3, 23),
    (0x7fffe4, 23), (0x1fffdc, 21), (0x3fffd8, 22), (0x7fffe5, 23), (0x3fffd9, 22), (0x7fffe6, 23), (0x7fffe7, 23), (0xffffef, 24),
    (0x3fffda, 22), (0x1fffdd, 21), (0xfffe9, 20), (0x3fffdb, 22), (0x3fffdc, 22), (0x7fffe8, 23), (0x7fffe9, 23), (0x1fffde, 21),
    (0x7fffea, 23), (0x3fffdd, 22), (0x3fffde, 22), (0xfffff0, 24), (0x1fffdf, 21), (0x3fffdf, 22), (0x7fffeb, 23), (0x7fffec, 23),
    (0x1fffe0, 21), (0x1fffe1, 21), (0x3fffe0, 22), (0x1fffe2, 21), (0x7fffed, 23), (0x3fffe1, 22), (0x7fffee, 23), (0x7fffef, 23),
    (0xfffea, 20), (0x3fffe2, 22), (0x3fffe3, 22), (0x3fffe4, 22), (0x7ffff0, 23), (0x3fffe5, 22), (0x3fffe6, 22), (0x7ffff1, 23),
    (0x3ffffe0, 26), (0x3ffffe1, 26), (0xfffeb, 20), (0x7fff1, 19), (0x3fffe7, 22), (0x7ffff2, 23), (0x3fffe8, 22), (0x1ffffec, 25),
    (0x3ffffe2, 26), (0x3ffffe3, 26), (0x3ffffe4, 26), (0x7ffffde, 27), (0x7ffffdf, 27), (0x3ffffe5, 26), (0xfffff1, 24), (0x1ffffed, 25),
    (0x7fff2, 19), (0x1fffe3, 21), (0x3ffffe6, 26), (0x7ffffe0, 27), (0x7ffffe1, 27), (0x3ffffe7, 26), (0x7ffffe2, 27), (0xfffff2, 24),
    (0x1fffe4, 21), (0x1fffe5, 21), (0x3ffffe8, 26), (0x3ffffe9, 26), (0xffffffd, 28), (0x7ffffe3, 27), (0x7ffffe4, 27), (0x7ffffe5, 27),
    (0xfffec, 20), (0xfffff3, 24), (0xfffed, 20), (0x1fffe6, 21), (0x3fffe9, 22), (0x1fffe7, 21), (0x1fffe8, 21), (0x7ffff3, 23),
    (0x3fffea, 22), (0x3fffeb, 22), (0x1ffffee, 25), (0x1ffffef, 25), (0xfffff4, 24), (0xfffff5, 24), (0x3ffffea, 26), (0x7ffff4, 23),
    (0x3ffffeb, 26), (0x7ffffe6, 27), (0x3ffffec, 26), (0x3ffffed, 26), (0x7ffffe7, 27), (0x7ffffe8, 27), (0x7ffffe9, 27), (0x7ffffea, 27),
    (0x7ffffeb, 27), (0xffffffe, 28), (0x7ffffec, 27), (0x7ffffed, 27), (0x7ffffee, 27), (0x7ffffef, 27), (0x7fffff0, 27), (0x3ffffee, 26),
    (0x3fffffff, 30),
];

/// Bits from the left, filled up with ones.
fn octets_of(codes: &[(u32, u32)]) -> Vec<u8> {
    let mut bits: Vec<bool> = codes.iter().flat_map(|&(code, len)| (0..len).rev().map(move |at| code >> at & 1 == 1)).collect();
    while !bits.len().is_multiple_of(8) {
        bits.push(true);
    }
    bits.chunks(8).map(|octet| octet.iter().fold(0, |octet, &bit| octet << 1 | u8::from(bit))).collect()
}

fn decode(src: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut out = b"before".to_vec();
    let result = huffman::decode(src, &mut out);
    assert!(out.starts_with(b"before"), "decode appends");
    assert!(result.is_ok() || out == b"before", "a failed decode leaves nothing behind");
    result.map(|()| out.split_off(6))
}

#[test]
fn every_symbol_has_the_code_of_the_rfc() {
    for symbol in 0..=255u8 {
        let code = APPENDIX_B[usize::from(symbol)];
        let wanted = octets_of(&[code]);
        let mut out = Vec::new();
        huffman::encode(&[symbol], &mut out);
        assert_eq!(out, wanted, "{symbol}");
        assert_eq!(huffman::encode_len(&[symbol]), wanted.len(), "{symbol}");
        assert_eq!(decode(&wanted), Ok(vec![symbol]), "{symbol}");
    }
}

#[test]
fn every_pair_of_symbols_in_every_position() {
    // Up to nine symbols before the pair move it over the borders of the decoder's window.
    for first in 0..=255u8 {
        for second in 0..=255u8 {
            let mut text = vec![b'0'; usize::from(first ^ second) % 10];
            text.extend([first, second]);
            let codes: Vec<_> = text.iter().map(|&symbol| APPENDIX_B[usize::from(symbol)]).collect();
            let wanted = octets_of(&codes);
            let mut out = Vec::new();
            huffman::encode(&text, &mut out);
            assert_eq!(out, wanted, "{text:?}");
            assert_eq!(huffman::encode_len(&text), wanted.len(), "{text:?}");
            assert_eq!(decode(&wanted), Ok(text));
        }
    }
}

#[test]
fn long_texts_of_short_and_long_codes() {
    for stride in [1, 3, 7, 11, 101] {
        let text: Vec<u8> = (0..2000u32).map(|at| (at * stride % 256) as u8).collect();
        let codes: Vec<_> = text.iter().map(|&symbol| APPENDIX_B[usize::from(symbol)]).collect();
        let wanted = octets_of(&codes);
        let mut out = Vec::new();
        huffman::encode(&text, &mut out);
        assert_eq!(out, wanted);
        assert_eq!(decode(&wanted), Ok(text));
    }
}

#[test]
fn padding_is_at_most_seven_ones() {
    assert_eq!(decode(&[]), Ok(vec![]));
    for symbol in 0..=255u8 {
        let code = APPENDIX_B[usize::from(symbol)];
        let good = octets_of(&[code]);
        let padding = good.len() as u32 * 8 - code.1;

        let mut longer = good.clone();
        longer.push(0xff);
        assert_eq!(decode(&longer), Err(DecodeError::HuffmanPadding), "{symbol} and {} ones", padding + 8);

        for zero in 0..padding {
            let mut bad = good.clone();
            *bad.last_mut().expect("a code is not empty") ^= 1 << zero;
            // A zero in the padding may begin another symbol, but then nothing that is all ones may be left of it.
            assert_ne!(decode(&bad), Ok(vec![symbol]), "{symbol} with bit {zero} of the padding cleared");
        }
    }
    assert_eq!(decode(&[0xff]), Err(DecodeError::HuffmanPadding));
    assert_eq!(decode(&[0xff, 0xff, 0xff]), Err(DecodeError::HuffmanPadding));
}

#[test]
fn two_encodings_of_a_text_are_not_both_good() {
    // All strings of one and two octets, and their decodings: no text twice.
    let mut texts = std::collections::BTreeMap::new();
    for len in 1..=2 {
        for number in 0..1u32 << (8 * len) {
            let src = &number.to_be_bytes()[4 - len..];
            if let Ok(text) = decode(src) {
                assert_eq!(texts.insert(text.clone(), src.to_vec()), None, "{text:?}");
            }
        }
    }
    assert!(texts.len() > 1000, "{} texts", texts.len());
}

#[test]
fn eos_is_never_a_symbol() {
    let eos = APPENDIX_B[256];
    for before in [&b""[..], b"0", b"a&", b"www.example.com", b"0123456789abcdef0123456789"] {
        for after in [&b""[..], b"0", b"0123456789abcdef"] {
            let code = |symbol: &u8| APPENDIX_B[usize::from(*symbol)];
            let codes: Vec<_> = before.iter().map(code).chain([eos]).chain(after.iter().map(code)).collect();
            assert_eq!(decode(&octets_of(&codes)), Err(DecodeError::HuffmanEos), "{before:?} {after:?}");
        }
    }
}
