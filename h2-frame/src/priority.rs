use crate::head::MAX_STREAM;
use crate::{Error, Head};

/// Deprecated advice about the order of streams (RFC 9113 §6.3). Legal in every state of a stream, opens none, and is best ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    /// The stream, never 0.
    pub stream: u32,
    /// The advice.
    pub fields: PriorityFields,
}

/// The five octets of priority in PRIORITY and HEADERS.
///
/// A stream cannot depend on itself (RFC 7540 §5.3.1). RFC 9113, which ignores priorities, neither repeats nor lifts that rule; it is kept,
/// as a sender that says so is broken. PRIORITY loses its stream by it, and HEADERS the connection: without its block the rest cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityFields {
    /// Whether the stream wants to be the only one that depends on [`dependency`](Self::dependency).
    pub exclusive: bool,
    /// The stream that should go first, 31 bits.
    pub dependency: u32,
    /// The octet on the wire; the weight that RFC 7540 speaks of, 1 to 256, is one more.
    pub weight: u8,
}

pub(crate) const SELF_DEPENDENCY: Error = Error::protocol("a stream that depends on itself");

impl Priority {
    pub(crate) fn parse(head: Head, payload: &[u8]) -> Result<Self, Error> {
        let octets = payload.try_into().map_err(|_| Error::size("PRIORITY of a length other than 5").on_stream(head.stream))?;
        let fields = PriorityFields::parse(octets);
        if fields.dependency == head.stream {
            return Err(SELF_DEPENDENCY.on_stream(head.stream));
        }
        Ok(Self { stream: head.stream, fields })
    }
}

impl PriorityFields {
    #[inline]
    pub(crate) const fn parse(octets: &[u8; 5]) -> Self {
        let [d0, d1, d2, d3, weight] = *octets;
        let word = u32::from_be_bytes([d0, d1, d2, d3]);
        Self { exclusive: word > MAX_STREAM, dependency: word & MAX_STREAM, weight }
    }
}
