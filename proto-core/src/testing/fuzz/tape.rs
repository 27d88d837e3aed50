//! Tapes: what was recorded plays, and what was not is refused without harm.

use crate::{
    tape::{Detail, MAGIC, Reader, ReplayError, VERSION, replay},
    testing::{CLIENT, LinkConfig, Op, Rng, SERVER, World},
};
use alloc::{format, vec::Vec};
use core::convert::Infallible;

/// Any octets as a tape; as records behind a good beginning; or as operations that are recorded, of which a part of the tape is then changed.
///
/// # Panics
/// If a tape that was not changed does not play, or what replay says of one that was is not so.
pub fn fuzz_tape(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 4 {
        0 => read(rest),
        1 => read(&[&MAGIC[..], &[VERSION], rest].concat()),
        2 => {
            let mut tape = record(choice, &[]);
            records(rest, &mut tape);
            read(&tape);
        }
        _ => changed(choice, rest),
    }
}

/// Reads and plays a tape; what is said of it is true of it.
fn read(tape: &[u8]) {
    let (mut whole, mut at) = (0, 0);
    let error = match Reader::new(tape) {
        Ok(mut reader) => loop {
            match reader.next_record() {
                Ok(Some(record)) => {
                    assert!(reader.position() > at && reader.position() <= tape.len(), "a record that takes nothing");
                    assert!(format!("{record}").len() < 100 + 4 * tape.len(), "a record of many words");
                    (whole, at) = (whole + 1, reader.position());
                }
                Ok(None) => {
                    assert_eq!(reader.unread(), tape.len() - reader.position());
                    break None;
                }
                Err(error) => break Some(error),
            }
        },
        Err(error) => Some(error),
    };
    match replay(tape) {
        Ok(summary) => assert!(summary.stopped || error.is_none() && summary.records == whole, "it plays, and cannot be read: {error:?}"),
        Err(ReplayError::Tape { index, position, .. }) => assert!(index <= whole && position <= tape.len()),
        Err(ReplayError::Differs(difference)) => assert!(difference.index < whole.max(1) + 1 && difference.position <= tape.len()),
    }
}

/// Octets as records: kind, length, fields.
fn records(mut data: &[u8], tape: &mut Vec<u8>) {
    while let [kind, len, rest @ ..] = data {
        let (fields, rest) = rest.split_at(usize::from(len % 64).min(rest.len()));
        data = rest;
        tape.push(fields.len() as u8 + 1);
        tape.push(kind % 44);
        tape.extend_from_slice(fields);
    }
}

/// The tape of one end of a pair that did these operations.
fn record(choice: u8, ops: &[u8]) -> Vec<u8> {
    let mut rng = Rng::new(u64::from(choice));
    let configs = [World::config(&mut rng), World::config(&mut rng)];
    let mut world = World::new(configs, LinkConfig::random(&mut rng), rng.next_u64());
    let end = if choice & 4 == 0 { CLIENT } else { SERVER };
    let detail = if choice & 8 == 0 { Detail::Octets } else { Detail::Hash };
    world.pair.conn(end).start_tape(detail).expect("it is fresh");
    // What the stack is made to do from inside is not an input, and on no tape.
    let inputs = |op: &Op| !matches!(op, Op::Fail { .. } | Op::Reset { .. });
    Op::decode_all(ops).into_iter().filter(inputs).for_each(|op| world.apply(op));
    let mut tape = Vec::new();
    let taken = world.pair.conn(end).drain_tape(|octets| {
        tape.extend_from_slice(octets);
        Ok::<_, Infallible>(())
    });
    assert!(taken.is_ok());
    tape
}

fn changed(choice: u8, data: &[u8]) {
    let Some((change, ops)) = data.split_first_chunk::<4>() else { return };
    let mut tape = record(choice, &ops[..ops.len().min(1_200)]);
    let played = replay(&tape).unwrap_or_else(|error| panic!("a tape does not play: {error}"));
    assert_eq!((played.cut, played.stopped), (0, false));
    let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % tape.len();
    match change[2] % 4 {
        0 => tape.truncate(at),
        1 => tape[at] ^= change[3].max(1),
        2 => tape.insert(at, change[3]),
        _ => drop(tape.remove(at)),
    }
    read(&tape);
}
