//! What fuzzing found interesting: the corpora of `fuzz/`, made small and committed, through the bodies of the fuzz targets.

#[path = "support/bodies.rs"]
mod bodies;

use std::{fs, path::Path, thread};

/// The inputs of a pack: for each two octets of length, the higher first, and its octets.
fn unpack(mut pack: &[u8]) -> Vec<&[u8]> {
    let mut inputs = Vec::new();
    while let [high, low, rest @ ..] = pack {
        let (input, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        inputs.push(input);
        pack = rest;
    }
    inputs
}

#[test]
fn the_corpora_are_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    thread::scope(|scope| {
        for (name, target) in bodies::TARGETS {
            let Ok(pack) = fs::read(folder.join(name).with_extension("pack")) else {
                println!("{name}: no corpus here; it is in the repository, in fuzz/corpus");
                continue;
            };
            scope.spawn(move || {
                let inputs = unpack(&pack);
                println!("{name}: {} inputs", inputs.len());
                for (number, input) in inputs.iter().enumerate() {
                    // Where one fails, this is what tells which: the tests' output is shown then.
                    println!("{name} {number}: {}", input.escape_ascii());
                    target(input);
                }
            });
        }
    });
}

#[test]
fn a_pack_is_read_as_it_was_written() {
    assert_eq!(unpack(b"\0\x02ab\0\0\0\x01c"), [&b"ab"[..], b"", b"c"]);
}
