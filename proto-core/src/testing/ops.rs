//! Operations on a pair of connections, decodable from any octets: for properties and for fuzzing.

use super::{
    places::Place,
    referee::{CLIENT, SERVER},
};
use crate::{Code, Shape};
use alloc::{format, string::String, vec::Vec};

/// One operation. Calls are named by a number that the interpreter takes modulo the calls there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// The client starts a call.
    Start {
        /// Its shape.
        shape: Shape,
        /// How much metadata it carries: 0 none, 1 a field that repeats, 2 a field of its own, 3 more than a frame holds.
        metadata: u8,
        /// Milliseconds until its deadline; 0: none.
        deadline_ms: u16,
    },
    /// One end sends a message of this length.
    Send {
        /// The end.
        end: usize,
        /// The call.
        call: u8,
        /// Octets, at most 300,000.
        len: u32,
    },
    /// One end sends many messages of this length.
    Burst {
        /// The end.
        end: usize,
        /// The call.
        call: u8,
        /// How many.
        n: u8,
        /// Octets of each.
        len: u32,
    },
    /// One end takes what has come, at most this many messages.
    Recv {
        /// The end.
        end: usize,
        /// The call.
        call: u8,
        /// At most this many messages.
        most: u8,
    },
    /// One end asks for messages ahead.
    Demand {
        /// The end.
        end: usize,
        /// The call.
        call: u8,
        /// How many.
        n: u8,
    },
    /// The client closes its half.
    CloseSend {
        /// The call.
        call: u8,
    },
    /// The server takes the next request over.
    Accept,
    /// The server sends its head.
    Headers {
        /// The call.
        call: u8,
        /// At once, not with the first message.
        flush: bool,
    },
    /// The server ends a call.
    Finish {
        /// The call.
        call: u8,
        /// With this status.
        code: Code,
    },
    /// One end cancels.
    Cancel {
        /// The end.
        end: usize,
        /// The call.
        call: u8,
    },
    /// Octets move.
    Step {
        /// How many steps.
        n: u8,
    },
    /// Time passes.
    Advance {
        /// How much.
        ms: u16,
    },
    /// What `end` sends does not arrive for a while.
    Stall {
        /// The sender.
        end: usize,
        /// How long.
        ms: u16,
    },
    /// The clock jumps; whatever should have moved meanwhile has not.
    Jump {
        /// The call whose deadline it jumps to, where `to` is about one.
        call: u8,
        /// Where to.
        to: Jump,
    },
    /// The stack of one end finds a fault in a stream and resets it.
    Reset {
        /// The end.
        end: usize,
        /// The call.
        call: u8,
        /// With this error code of HTTP/2.
        error: u32,
    },
    /// The stack of one end finds a fault in the connection and ends it.
    Fail {
        /// The end.
        end: usize,
        /// With this error code of HTTP/2.
        error: u32,
    },
    /// What `end` writes goes nowhere any more, and its peer sees the end of input.
    CutHalf {
        /// The end.
        end: usize,
    },
    /// The link breaks, and what is on the way is lost.
    Lose,
    /// `end` seems to send SETTINGS that change this value for the other's sending half.
    Slip {
        /// The seeming sender.
        end: usize,
        /// Which setting.
        setting: Setting,
        /// Its value.
        value: u32,
    },
    /// `end` seems to send a frame that must be ignored.
    Noise {
        /// The seeming sender.
        end: usize,
        /// Which kind.
        kind: u8,
    },
    /// Every stale id is tried.
    Stale {
        /// The end.
        end: usize,
    },
    /// One end drains, with a limit of this many milliseconds (0: none).
    Drain {
        /// The end.
        end: usize,
        /// The limit.
        ms: u16,
    },
    /// One end closes at once.
    Close {
        /// The end.
        end: usize,
    },
    /// The link breaks.
    Cut,
}

/// A setting that a frame in between may change, because it can be changed back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// SETTINGS_INITIAL_WINDOW_SIZE.
    InitialWindow,
    /// SETTINGS_MAX_CONCURRENT_STREAMS; only from the server.
    MaxStreams,
    /// SETTINGS_HEADER_TABLE_SIZE.
    HeaderTable,
    /// SETTINGS_MAX_FRAME_SIZE.
    MaxFrame,
    /// SETTINGS_INITIAL_WINDOW_SIZE, twice in one frame: first 0, then the value.
    WindowTwice,
}

/// Where the clock jumps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jump {
    /// A microsecond before the deadline of a call.
    Before,
    /// The deadline of a call.
    At,
    /// A microsecond after it.
    After,
    /// The next timer of either end, whatever it is for.
    Timer,
    /// An hour later.
    Far,
}

impl Jump {
    const ALL: [Self; 5] = [Self::Before, Self::At, Self::After, Self::Timer, Self::Far];
}

impl Setting {
    /// Its number (RFC 9113 §6.5.2).
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Self::HeaderTable => 1,
            Self::MaxStreams => 3,
            Self::InitialWindow | Self::WindowTwice => 4,
            Self::MaxFrame => 5,
        }
    }
}

impl Op {
    /// It as Rust source, for a test.
    #[must_use]
    pub fn source(&self) -> String {
        let text = format!("Op::{self:?}");
        // Only these fields have values of another type than a number.
        ["shape: ", "code: ", "setting: ", "to: "]
            .iter()
            .zip(["Shape", "Code", "Setting", "Jump"])
            .fold(text, |text, (field, of)| text.replace(field, &format!("{field}{of}::")))
    }

    /// Octets of one encoded operation.
    pub const OCTETS: usize = 6;

    /// Every group of [`OCTETS`](Self::OCTETS) octets is an operation; what is left over is dropped.
    #[must_use]
    pub fn decode_all(octets: &[u8]) -> Vec<Self> {
        octets.chunks_exact(Self::OCTETS).filter_map(|chunk| chunk.first_chunk().map(Self::decode)).collect()
    }

    /// The operation that these octets stand for; zeros are the simplest, so that shrinking helps.
    #[must_use]
    pub fn decode(octets: &[u8; Self::OCTETS]) -> Self {
        let [kind, a, b, c, d, e] = *octets;
        let end = if b & 1 == 0 { CLIENT } else { SERVER };
        let number = u32::from_be_bytes([0, c, d, e]);
        if kind >= 224 {
            return Self::decode_rare(2 * (kind - 224) + (b >> 7), end, [a, b, c, d]);
        }
        match kind % 64 {
            0..=9 => Self::Step { n: a % 32 },
            10..=17 => Self::Start {
                shape: [Shape::Unary, Shape::ClientStreaming, Shape::ServerStreaming, Shape::Bidi][usize::from(a & 3)],
                metadata: if b < 96 { 0 } else { 1 + b % 3 },
                deadline_ms: if c < 192 { 0 } else { u16::from(d) * 4 },
            },
            18..=31 => Self::Send { end, call: a, len: length(b >> 1, number) },
            32..=39 => Self::Recv { end, call: a, most: c % 8 + 1 },
            40..=45 => Self::Accept,
            46..=48 => Self::CloseSend { call: a },
            49..=51 => Self::Finish { call: a, code: if b < 128 { Code::Ok } else { Code::from_u32(u32::from(c % 17)) } },
            52 => Self::Demand { end, call: a, n: c % 5 },
            53 => Self::Headers { call: a, flush: b & 1 == 1 },
            54..=55 => Self::Cancel { end, call: a },
            56..=57 => Self::Advance { ms: u16::from_be_bytes([c % 4, d]) },
            58 => Self::Stall { end, ms: u16::from(c % 50) },
            59..=60 => slip(end, a, number),
            61 => Self::Noise { end, kind: a },
            62 => Self::Stale { end },
            _ => ending(end, a, u16::from(d) * 8),
        }
    }

    fn decode_rare(kind: u8, end: usize, [a, _, c, d]: [u8; 4]) -> Self {
        match kind {
            0..=11 => Self::Jump { call: a, to: Jump::ALL[usize::from(c) % 3] },
            12..=14 => Self::Jump { call: a, to: Jump::Timer },
            15 => Self::Jump { call: a, to: Jump::Far },
            16..=31 => Self::Reset { end, call: a, error: u32::from(c % 16) },
            32..=33 => Self::Stall { end, ms: u16::from_be_bytes([c % 64, d]) },
            34..=37 => Self::Slip { end, setting: Setting::MaxFrame, value: 16_384 + u32::from(c) * 256 },
            38..=43 => Self::Slip { end, setting: Setting::WindowTwice, value: u32::from_be_bytes([0, 0, c, d]) },
            44..=51 => Self::Burst { end, call: a, n: c % 128, len: u32::from(d) },
            52..=59 => Self::Noise { end, kind: a },
            60 => Self::Fail { end, error: u32::from(c % 16) },
            61 => Self::CutHalf { end },
            62 => Self::Lose,
            _ => Self::Drain { end, ms: 0 },
        }
    }

    /// It disturbs no call: every call still ends as its service says.
    #[must_use]
    pub const fn is_gentle(&self) -> bool {
        match self {
            Self::Drain { .. } | Self::Close { .. } | Self::Cut | Self::Cancel { .. } => false,
            Self::Reset { .. } | Self::Fail { .. } | Self::CutHalf { .. } | Self::Lose | Self::Jump { .. } => false,
            Self::Stall { ms, .. } => *ms < 1_000,
            Self::Start { deadline_ms, .. } => *deadline_ms == 0,
            _ => true,
        }
    }

    /// Places that only this kind of operation reaches.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Stale { .. } => Some(Place::StaleId),
            Self::Slip { setting: Setting::HeaderTable, .. } => Some(Place::TableResized),
            Self::Slip { setting: Setting::MaxFrame, .. } => Some(Place::FrameLimitChanged),
            Self::Slip { setting: Setting::WindowTwice, .. } => Some(Place::SettingTwice),
            Self::Slip { setting: Setting::InitialWindow, value: 0, .. } => Some(Place::WindowZero),
            Self::Slip { setting: Setting::MaxStreams, value: 0, .. } => Some(Place::NoStreamsForAWhile),
            Self::Stall { ms: 2_000.., .. } => Some(Place::LongStall),
            Self::Jump { to: Jump::Far, .. } => Some(Place::FarJump),
            Self::Fail { .. } => Some(Place::ConnectionFailed),
            Self::CutHalf { .. } => Some(Place::HalfClosed),
            Self::Lose => Some(Place::OctetsLost),
            _ => None,
        }
    }
}

/// Small messages mostly; sometimes larger than a frame, a window or both.
const fn length(class: u8, number: u32) -> u32 {
    let most = match class % 16 {
        0..=1 => return 0,
        2..=7 => 64,
        8..=10 => 2_000,
        11..=12 => 20_000,
        13..=14 => 80_000,
        _ => 300_000,
    };
    number % (most + 1)
}

fn slip(end: usize, which: u8, number: u32) -> Op {
    let (setting, value) = match which % 4 {
        0 | 1 => (Setting::InitialWindow, [0, 1, 100, 5_000, 40_000, 65_535][number as usize % 6]),
        2 if end == SERVER => (Setting::MaxStreams, number % 4),
        _ => (Setting::HeaderTable, [0, 40, 100, 500, 4_096][number as usize % 5]),
    };
    Op::Slip { end, setting, value }
}

const fn ending(end: usize, which: u8, ms: u16) -> Op {
    match which % 8 {
        0..=1 => Op::Drain { end, ms },
        2 => Op::Close { end },
        3 => Op::Cut,
        _ => Op::Stale { end },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_octets_are_operations_and_zeros_are_harmless() {
        assert_eq!(Op::decode(&[0; 6]), Op::Step { n: 0 });
        let octets: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        assert_eq!(Op::decode_all(&octets).len(), 166);
        for op in Op::decode_all(&octets) {
            if let Op::Send { len, .. } = op {
                assert!(len <= 300_000);
            }
        }
    }
}
