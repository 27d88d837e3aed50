//! What happened in a run, as a hash and, if wanted, as text.

use super::rng::mix;
use alloc::{string::String, vec::Vec};
use core::fmt;

/// A run's record. Two runs with the same seed have equal records; the hash is always there, the
/// lines only with [`Transcript::verbose`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    hash: u64,
    events: u64,
    lines: Option<Vec<String>>,
}

impl Transcript {
    /// Keeps lines too, for reading.
    #[must_use]
    pub fn verbose() -> Self {
        Self { lines: Some(Vec::new()), ..Self::default() }
    }

    /// Adds what happened.
    pub fn note(&mut self, what: fmt::Arguments<'_>) {
        self.events += 1;
        // `Hasher` never fails to take text.
        let _ = fmt::write(&mut Hasher(&mut self.hash), what);
        self.hash = mix(self.hash);
        if let Some(lines) = &mut self.lines {
            lines.push(alloc::format!("{what}"));
        }
    }

    /// Adds octets.
    pub fn octets(&mut self, octets: &[u8]) {
        for chunk in octets.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.hash = mix(self.hash ^ u64::from_le_bytes(word)).wrapping_add(chunk.len() as u64);
        }
    }

    /// Stands for all of it.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// How many things were noted.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.events
    }

    /// Nothing was noted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// The lines, where they were kept.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or_default()
    }
}

struct Hasher<'a>(&'a mut u64);

impl fmt::Write for Hasher<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &octet in text.as_bytes() {
            *self.0 = (*self.0 ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_count() {
        let run = |words: &[&str]| {
            let mut transcript = Transcript::verbose();
            words.iter().for_each(|word| transcript.note(format_args!("{word}")));
            transcript
        };
        assert_eq!(run(&["a", "b"]), run(&["a", "b"]));
        assert_ne!(run(&["a", "b"]).hash(), run(&["b", "a"]).hash());
        assert_eq!(run(&["a", "b"]).lines(), ["a", "b"]);
    }
}
