//! What a case is: plain data.

use pintle_core::{Config, ErrorCode, Shape, testing::Cut};
use std::time::Duration;

/// Which end is under test; the other one is played by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Client,
    Server,
    Both,
}

/// What happened before. Stream 1 is the one that matters, unless another is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// No octet was read.
    Nothing,
    /// Server: the preface was read, the first SETTINGS were not.
    Preface,
    /// The peer has not acknowledged our SETTINGS.
    Unacked,
    /// Handshake done, no stream.
    Ready,
    /// Client: a call is open, nothing was answered.
    Sent,
    /// Open. Client: the response's head has come, nothing else. Server: nothing was answered.
    Open,
    /// Server: open, and the response's head was sent.
    Answered,
    /// Client: our side has ended, the response's head has come. (A server stops what is left of a request when it has
    /// answered, so its half-closed (local) lasts for no octet.)
    HalfLocal,
    /// Server: the request is complete, nothing was answered. (A client resets a call whose response is complete.)
    HalfRemote,
    /// END_STREAM went both ways.
    ClosedBoth,
    PeerReset,
    /// We cancelled it just now.
    OurReset,
    /// We cancelled it, and more than a thousand others since.
    Forgotten,
    /// Server: stream 3, which the client never used: it opened 1 and then 5.
    Skipped,
    /// Server: stream 3, which came after our final GOAWAY. Stream 1 is open.
    Drained,
    /// Server: stream 3, which was refused because 1 is open.
    Refused,
    /// Client: stream 3, which the server's GOAWAY(1) left unprocessed. Stream 1 is open.
    GoneAway,
}

impl Given {
    /// The highest stream of the client that a server has taken in.
    pub(crate) const fn last(self) -> u32 {
        match self {
            Self::Nothing | Self::Preface | Self::Unacked | Self::Ready => 0,
            Self::Skipped => 5,
            Self::Refused => 3,
            Self::Forgotten => 1 + 2 * FORGET,
            _ => 1,
        }
    }

    /// The connection takes no new calls.
    pub(crate) const fn drains(self) -> bool {
        matches!(self, Self::Drained | Self::GoneAway)
    }
}

/// Streams that are cancelled until the first of them is forgotten.
pub(crate) const FORGET: u32 = 1_100;

/// What the application does; to the latest call where it is about one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Client: starts a call.
    Start(Shape),
    /// Queues a message of so many octets, prefix not counted.
    Send(usize),
    /// Client: ends its side.
    Close,
    /// Server: ends the call with OK.
    Finish,
    Cancel,
    Drain,
    /// Closes the connection.
    Shut,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    In(Vec<u8>),
    Wait(Duration),
    Eof,
    Do(Act),
}

pub(crate) struct Steps(pub(crate) Vec<Step>);

impl From<Vec<u8>> for Steps {
    fn from(octets: Vec<u8>) -> Self {
        Self(vec![Step::In(octets)])
    }
}

impl From<&[u8]> for Steps {
    fn from(octets: &[u8]) -> Self {
        octets.to_vec().into()
    }
}

impl<const N: usize> From<[Vec<u8>; N]> for Steps {
    fn from(frames: [Vec<u8>; N]) -> Self {
        frames.concat().into()
    }
}

impl<const N: usize> From<[Step; N]> for Steps {
    fn from(steps: [Step; N]) -> Self {
        Self(steps.to_vec())
    }
}

impl From<Act> for Steps {
    fn from(act: Act) -> Self {
        Self(vec![Step::Do(act)])
    }
}

/// The outcome that the specification asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expect {
    /// The row is not finished.
    Unsaid,
    /// Connection error: GOAWAY with this code is the last that is said, every call ends, and the transport may go.
    Conn(ErrorCode),
    /// Stream error: RST_STREAM with this code is all that is said, and a call on the stream ends.
    Stream(u32, ErrorCode),
    /// Exactly these frames are said, and exactly this is seen by the application; see `Lab`. Both may be empty.
    Does { wire: &'static str, app: &'static str },
}

pub(crate) struct Row {
    pub(crate) given: Given,
    pub(crate) config: fn(&mut Config),
    /// The peer's SETTINGS.
    pub(crate) settings: &'static [(u16, u32)],
    pub(crate) steps: Vec<Step>,
    pub(crate) expect: Expect,
    /// Last-Stream-ID of a connection error, where it is not that of `given`.
    pub(crate) last: Option<u32>,
    /// A new call works afterwards.
    pub(crate) usable: bool,
    /// The call of `given` goes on to its end afterwards.
    pub(crate) goes_on: bool,
    /// How DATA is cut does not matter.
    pub(crate) summed: bool,
}

pub(crate) enum Run {
    Row(Row),
    Code(fn(Cut)),
}

pub(crate) struct Case {
    pub(crate) name: String,
    /// `6.9.1`: of RFC 9113; `H4.2`: of RFC 7541; `gRPC ..`: of the gRPC documents.
    pub(crate) section: &'static str,
    pub(crate) role: Role,
    pub(crate) run: Run,
}

fn row(name: impl Into<String>, section: &'static str, role: Role, given: Given, steps: Steps) -> Case {
    let goes_on = matches!(given, Given::Open | Given::Answered | Given::HalfLocal | Given::HalfRemote | Given::Drained | Given::GoneAway);
    let row = Row {
        given,
        config: |_| {},
        settings: &[],
        steps: steps.0,
        expect: Expect::Unsaid,
        last: None,
        usable: !given.drains(),
        goes_on,
        summed: false,
    };
    Case { name: name.into(), section, role, run: Run::Row(row) }
}

/// A row with a client under test.
pub(crate) fn client(name: impl Into<String>, section: &'static str, given: Given, steps: impl Into<Steps>) -> Case {
    row(name, section, Role::Client, given, steps.into())
}

/// A row with a server under test.
pub(crate) fn server(name: impl Into<String>, section: &'static str, given: Given, steps: impl Into<Steps>) -> Case {
    row(name, section, Role::Server, given, steps.into())
}

/// A row that holds for both.
pub(crate) fn both(name: impl Into<String>, section: &'static str, given: Given, steps: impl Into<Steps>) -> Case {
    row(name, section, Role::Both, given, steps.into())
}

/// A case that a row cannot say.
pub(crate) fn code(name: &str, section: &'static str, role: Role, run: fn(Cut)) -> Case {
    Case { name: name.into(), section, role, run: Run::Code(run) }
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Row)) -> Self {
        if let Run::Row(row) = &mut self.run {
            change(row);
        }
        self
    }

    pub(crate) fn config(self, config: fn(&mut Config)) -> Self {
        self.with(|row| row.config = config)
    }

    pub(crate) fn settings(self, settings: &'static [(u16, u32)]) -> Self {
        self.with(|row| row.settings = settings)
    }

    pub(crate) fn conn(self, code: ErrorCode) -> Self {
        self.with(|row| row.expect = Expect::Conn(code))
    }

    pub(crate) fn last(self, stream: u32) -> Self {
        self.with(|row| row.last = Some(stream))
    }

    pub(crate) fn stream(self, stream: u32, code: ErrorCode) -> Self {
        self.with(|row| row.expect = Expect::Stream(stream, code))
    }

    pub(crate) fn does(self, wire: &'static str, app: &'static str) -> Self {
        self.with(|row| row.expect = Expect::Does { wire, app })
    }

    /// Nothing happens.
    pub(crate) fn ignored(self) -> Self {
        self.does("", "")
    }

    pub(crate) fn summed(self) -> Self {
        self.with(|row| row.summed = true)
    }

    /// The row itself ends the call of `given`, or leaves it unable to end as usual.
    pub(crate) fn over(self) -> Self {
        self.with(|row| row.goes_on = false)
    }

    /// The call of `given` goes on, though no new one may begin.
    pub(crate) fn going_on(self) -> Self {
        self.with(|row| row.goes_on = true)
    }

    /// The peer's values leave hardly any window: messages of a proof would not fit.
    pub(crate) fn windowless(self, so: bool) -> Self {
        if so { self.unproved() } else { self }
    }

    /// The row leaves the connection without room, window or time for another call.
    pub(crate) fn unproved(self) -> Self {
        self.with(|row| (row.goes_on, row.usable) = (false, false))
    }
}
