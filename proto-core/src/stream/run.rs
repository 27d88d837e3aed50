//! Messages that lie one behind the other, each behind its prefix: framed like one piece.

use crate::grpc::prefix;

/// How far a run of messages was framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Messages of which something is not framed yet.
    pub(crate) messages: u32,
    /// Octets left of the first of them, if it was framed in part.
    pub(crate) cut: u32,
}

impl Run {
    /// One message, nothing of it framed.
    pub(crate) const ONE: Self = Self { messages: 1, cut: 0 };

    /// `n` octets of those that were left (`octets`) are framed: how many messages ended in them.
    pub(crate) fn advance(&mut self, octets: &[u8], n: usize) -> u32 {
        let before = self.messages;
        if n == octets.len() {
            *self = Self { messages: 0, cut: 0 };
            return before;
        }
        // Where the present message ends; 0: none has begun.
        let mut end = self.cut as usize;
        while end < n {
            self.messages -= u32::from(end > 0);
            let Some(&[_, a, b, c, d]) = octets.get(end..end + prefix::LEN).and_then(|prefix| prefix.first_chunk()) else { break };
            end += prefix::LEN + u32::from_be_bytes([a, b, c, d]) as usize;
        }
        if end == n {
            self.messages -= u32::from(end > 0);
        }
        self.cut = end.saturating_sub(n) as u32;
        before - self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// However a run is cut: the same messages end, each where it does.
    #[test]
    fn every_cut_ends_what_it_covers() {
        let lens = [0_usize, 3, 0, 0, 300, 1, 20];
        let mut octets = Vec::new();
        let mut ends = Vec::new();
        for len in lens {
            octets.extend_from_slice(&crate::conn::prefix(len));
            octets.resize(octets.len() + len, 7);
            ends.push(octets.len());
        }
        for step in 1..=octets.len() {
            let (mut run, mut at, mut ended) = (Run { messages: lens.len() as u32, cut: 0 }, 0, 0);
            while at < octets.len() {
                let n = step.min(octets.len() - at);
                ended += run.advance(&octets[at..], n) as usize;
                at += n;
                assert_eq!(ended, ends.iter().filter(|end| **end <= at).count(), "cut by {step} at {at}");
                let whole = ends.contains(&at);
                assert_eq!(run.cut == 0, whole, "cut by {step} at {at}");
            }
            assert_eq!(run, Run { messages: 0, cut: 0 });
        }
    }
}
