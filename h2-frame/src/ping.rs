use crate::{Error, Head, flag, kind};

/// A question and its answer (RFC 9113 §6.7). Answer one without `ack` by the same data with `ack`, ahead of everything else that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// An answer. Never answer an answer.
    pub ack: bool,
    /// Whatever the asker chose, to tell answers apart.
    pub data: [u8; 8],
}

/// A whole PING frame.
#[inline]
pub const fn ping(ack: bool, data: [u8; 8]) -> [u8; 17] {
    let head = Head { len: 8, kind: kind::PING, flags: if ack { flag::ACK } else { 0 }, stream: 0 };
    let [h0, h1, h2, h3, h4, h5, h6, h7, h8] = head.encode();
    let [d0, d1, d2, d3, d4, d5, d6, d7] = data;
    [h0, h1, h2, h3, h4, h5, h6, h7, h8, d0, d1, d2, d3, d4, d5, d6, d7]
}

impl Ping {
    pub(crate) fn parse(head: Head, payload: &[u8]) -> Result<Self, Error> {
        let data = payload.try_into().map_err(|_| Error::size("PING of a length other than 8"))?;
        Ok(Self { ack: head.has(flag::ACK), data })
    }
}
