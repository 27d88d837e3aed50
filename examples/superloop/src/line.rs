//! Where connections begin and end, on a line that does not know.
//!
//! A TCP socket says when a client comes and when it goes. A serial line says neither: it is up for ever, and who is called by the
//! next client finds the rest of the last one's octets in it. So both ends write *marks* between the octets. A mark is two
//! octets: [`ESCAPE`], which is rare in what gRPC sends, and a word. The same octet in the data is written as a mark, too.
//!
//! | mark | host to device | device to host |
//! | --- | --- | --- |
//! | `F5 80`..`F5 BF` | client number 0..63 begins | the same number: from here on it is for this client |
//! | `F5 63` ("c") | the client hung up | the connection is over; also said once after power-up |
//! | `F5 65` ("e") | the octet `F5` | the octet `F5` |
//!
//! Numbers count up and begin again. The host drops what it gets until it sees the number that it wrote last, so nothing that was
//! meant for one client reaches the next. A mark that was cut in the middle does no harm: an escape always begins a mark anew.

/// Begins a mark. No text in UTF-8 has this octet.
pub const ESCAPE: u8 = 0xF5;
/// The word for the octet [`ESCAPE`] itself.
const ITSELF: u8 = b'e';
/// The word for the end of a connection.
const CLOSE: u8 = b'c';
/// The words for the beginning of a connection: this one and the 63 after it.
const OPEN: u8 = 0x80;
/// Numbers of clients are below this.
pub const NUMBERS: u8 = 64;

/// The mark for client `number` (its remainder by [`NUMBERS`]).
#[must_use]
pub const fn open(number: u8) -> [u8; 2] {
    [ESCAPE, OPEN + number % NUMBERS]
}

/// The mark for the end of a connection.
#[must_use]
pub const fn close() -> [u8; 2] {
    [ESCAPE, CLOSE]
}

/// What comes next on a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// Octets of the connection.
    Octets(&'a [u8]),
    /// The client of this number begins.
    Open(u8),
    /// The connection is over.
    Close,
}

/// Reads a line, in whatever pieces its octets come.
#[derive(Debug, Default)]
pub struct Reader {
    /// The last octet was an escape.
    escaped: bool,
}

impl Reader {
    /// Takes the next item off the front of `input`. `None`: there is none; all of `input` was taken.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Option<Item<'a>> {
        while let Some((&first, rest)) = input.split_first() {
            if first == ESCAPE {
                self.escaped = true;
                *input = rest;
            } else if self.escaped {
                self.escaped = false;
                *input = rest;
                match first {
                    ITSELF => return Some(Item::Octets(&[ESCAPE])),
                    CLOSE => return Some(Item::Close),
                    OPEN.. if first < OPEN + NUMBERS => return Some(Item::Open(first - OPEN)),
                    // Noise. HTTP/2 will notice what is missing.
                    _ => {}
                }
            } else {
                let (octets, rest) = input.split_at(plain(input));
                *input = rest;
                return Some(Item::Octets(octets));
            }
        }
        None
    }
}

/// The front of `octets` as it is to be written, and how many of `octets` that stands for: a run without an escape as it is, or the
/// mark for one escape. `None`: `octets` is empty.
#[must_use]
pub fn next_piece(octets: &[u8]) -> Option<Piece<'_>> {
    match octets.first()? {
        &ESCAPE => Some(Piece::Mark([ESCAPE, ITSELF])),
        _ => Some(Piece::Run(&octets[..plain(octets)])),
    }
}

/// See [`next_piece`].
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Octets to be written as they are.
    Run(&'a [u8]),
    /// Two octets that stand for one.
    Mark([u8; 2]),
}

/// Octets before the first escape.
fn plain(octets: &[u8]) -> usize {
    octets.iter().position(|&octet| octet == ESCAPE).unwrap_or(octets.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    #[derive(Debug, PartialEq)]
    enum Read {
        Octets(Vec<u8>),
        Open(u8),
        Close,
    }

    /// Octets that came in several pieces are joined.
    fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Read> {
        let (mut reader, mut all) = (Reader::default(), vec![]);
        for mut piece in pieces {
            while let Some(item) = reader.next(&mut piece) {
                match (item, all.last_mut()) {
                    (Item::Octets(more), Some(Read::Octets(octets))) => octets.extend(more),
                    (Item::Octets(octets), _) => all.push(Read::Octets(octets.to_vec())),
                    (Item::Open(n), _) => all.push(Read::Open(n)),
                    (Item::Close, _) => all.push(Read::Close),
                }
            }
        }
        all
    }

    fn write(mut octets: &[u8]) -> Vec<u8> {
        let mut line = vec![];
        while let Some(piece) = next_piece(octets) {
            let taken = match piece {
                Piece::Run(run) => {
                    line.extend(run);
                    run.len()
                }
                Piece::Mark(mark) => {
                    line.extend(mark);
                    1
                }
            };
            octets = &octets[taken..];
        }
        line
    }

    #[test]
    fn every_octet_comes_through_however_the_line_is_cut() {
        let octets: Vec<u8> = (0..=255).chain([ESCAPE, ESCAPE, ITSELF, CLOSE, OPEN, ESCAPE]).collect();
        let line = [&open(NUMBERS + 7)[..], &write(&octets), &close()].concat();
        for size in 1..=line.len() {
            assert_eq!(read(line.chunks(size)), [Read::Open(7), Read::Octets(octets.clone()), Read::Close], "in pieces of {size}");
        }
    }

    #[test]
    fn a_mark_that_was_cut_does_not_hide_the_next() {
        let line = [&[1, ESCAPE][..], &open(3), &[2], &[ESCAPE, 0x10], &[ESCAPE, OPEN + NUMBERS], &close()].concat();
        let expected = [Read::Octets(vec![1]), Read::Open(3), Read::Octets(vec![2]), Read::Close];
        assert_eq!(read([&line[..]].into_iter()), expected);
    }
}
