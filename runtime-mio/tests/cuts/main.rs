//! Reads and writes of any size, interruptions, failures and rubbish: calls do not notice, or end, and the server goes on.

mod body;

use body::fuzz_mio;
use std::{fs, path::Path};

/// A generator of octets that is the same everywhere (xorshift).
fn octets(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn transports_and_peers_of_any_kind() {
    for seed in 0..400 {
        let data = octets(seed, 20 + seed as usize % 200);
        fuzz_mio(&data);
    }
}

/// By name, so that each is tried whatever the generator does: (choice, calls, large, operations, steps).
#[test]
fn the_hard_ones_by_name() {
    let cases: &[(&str, &[u8])] = &[
        ("an octet at a time", b"\0\x02\x08\0\x01\x02\x07\x07\x07"),
        ("interrupted as often as not", b"\0\x02\xff\0\x01\x01\xf1\xf0\xf1\xf0"),
        ("large messages by large steps", b"\0\x03\xff\0\x01\x01\x01\xff\xef\xdf"),
        ("large messages and small windows", b"\x20\x03\xff\0\x01\x01\x01\xff\xef\xdf"),
        ("writes take nothing from the first on", b"\x06\x01\x08\0\x01\xff"),
        ("reads and writes fail soon", b"\x02\x02\x08\x02\x01\x02\xff"),
        ("fails in the middle of a large message", b"\x02\x02\xff\x09\x01\x01\xbf"),
        ("rubbish", b"\x07\x05hello\x7fworld"),
        ("nothing but a connection", b"\x0f"),
        ("a request that is never ended", b"\x01"),
    ];
    for (name, data) in cases {
        println!("{name}");
        fuzz_mio(data);
    }
}

/// Larger than what a client takes ahead of its caller (found by the fuzz target).
#[test]
fn a_large_reply_comes_to_on_done() {
    fuzz_mio(b"\0\x01\x40\0\x01\xf1");
}

/// What fuzzing found interesting: for each input two octets of length, the higher first, and its octets.
#[test]
fn the_corpus_is_replayed() {
    let Ok(pack) = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/mio.pack")) else {
        return println!("no corpus here; it is in the repository, in fuzz/corpus");
    };
    let mut rest = &pack[..];
    while let [high, low, more @ ..] = rest {
        let (input, more) = more.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        rest = more;
        println!("{}", input.escape_ascii());
        fuzz_mio(input);
    }
}
