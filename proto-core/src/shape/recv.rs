//! Receiving: [`server`] for the request side, [`client`] for the response side.
//!
//! | state | server: Message | End | Reset | client: Message | Ok | Error |
//! |---|---|---|---|---|---|---|
//! | `Empty` (one) | Hold → `Held` | Violation | Abort | Hold → `Held` | Violation | End |
//! | `Held` (one) | Violation | DeliverEnd | Abort | Violation | DeliverEnd | DropEnd |
//! | `Open` (many) | Deliver | End | Abort | Deliver | End | End |
//! | `Ended` | Ignore | Ignore | Ignore | Ignore | Ignore | Ignore |
//!
//! Every verdict but Hold and Deliver leads to `Ended`.

use super::Cardinality;
use crate::grpc::Code;

/// Where the receiving direction of a call is. One octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecvState {
    /// One message is allowed and none has come.
    Empty,
    /// The one message has come and waits for the end.
    Held,
    /// Any number is allowed.
    Open,
    /// Nothing more is delivered.
    Ended,
}

/// What a server receives for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerInput {
    /// A whole message.
    Message,
    /// END_STREAM: the client sends no more.
    End,
    /// The call is over before its end: RST_STREAM, deadline, connection lost, limit. After the end it changes nothing
    /// here; that a running handler is told is the call's affair.
    Reset,
}

/// What a client receives for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientInput {
    /// A whole message.
    Message,
    /// The status, and it is OK.
    Ok,
    /// Any other status, from the server or made here (RST_STREAM, deadline, connection lost, broken response).
    Error,
}

/// What to do with an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Verdict {
    /// Give the message to the application.
    Deliver,
    /// Keep the message; whether it counts is known at the end.
    Hold,
    /// Give the message that is held to the application, then the end.
    DeliverEnd,
    /// Give the end to the application (client: then the status).
    End,
    /// Drop the message that is held and give the end to the application: the status is not OK and wins over a message.
    DropEnd,
    /// Server: drop what is held; a call that was dispatched is cancelled.
    Abort,
    /// Drop what is held and end the call with [`Violation::CODE`].
    Violation(Violation),
    /// The direction has ended already: drop the input.
    Ignore,
}

/// The peer sent no message, or a second one, where the method has one. The call ends with [`Violation::CODE`] and this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Violation {
    /// Server: the request ended without a message.
    NoRequest,
    /// Server: a second request message.
    SecondRequest,
    /// Client: OK without a message.
    NoResponse,
    /// Client: a second response message.
    SecondResponse,
}

impl Violation {
    /// UNIMPLEMENTED, as statuscodes.md has it for all four: the two sides disagree about what the method is.
    /// (grpc-go and grpc-java say INTERNAL; accept both from a peer.)
    pub const CODE: Code = Code::Unimplemented;

    /// The status message.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoRequest => "the request ended without a message, but the method takes exactly one",
            Self::SecondRequest => "a second request message came, but the method takes exactly one",
            Self::NoResponse => "the server answered OK without a message, but the method returns exactly one",
            Self::SecondResponse => "a second response message came, but the method returns exactly one",
        }
    }
}

impl RecvState {
    /// Before anything came.
    #[must_use]
    pub const fn new(cardinality: Cardinality) -> Self {
        match cardinality {
            Cardinality::One => Self::Empty,
            Cardinality::Many => Self::Open,
        }
    }
}

/// The request side, at a server.
pub const fn server(state: RecvState, input: ServerInput) -> (RecvState, Verdict) {
    use {RecvState as S, ServerInput as I, Verdict as V};
    match (state, input) {
        (S::Empty, I::Message) => (S::Held, V::Hold),
        (S::Empty, I::End) => (S::Ended, V::Violation(Violation::NoRequest)),
        (S::Empty, I::Reset) => (S::Ended, V::Abort),
        (S::Held, I::Message) => (S::Ended, V::Violation(Violation::SecondRequest)),
        (S::Held, I::End) => (S::Ended, V::DeliverEnd),
        (S::Held, I::Reset) => (S::Ended, V::Abort),
        (S::Open, I::Message) => (S::Open, V::Deliver),
        (S::Open, I::End) => (S::Ended, V::End),
        (S::Open, I::Reset) => (S::Ended, V::Abort),
        (S::Ended, I::Message) => (S::Ended, V::Ignore),
        (S::Ended, I::End) => (S::Ended, V::Ignore),
        (S::Ended, I::Reset) => (S::Ended, V::Ignore),
    }
}

/// The response side, at a client.
pub const fn client(state: RecvState, input: ClientInput) -> (RecvState, Verdict) {
    use {ClientInput as I, RecvState as S, Verdict as V};
    match (state, input) {
        (S::Empty, I::Message) => (S::Held, V::Hold),
        (S::Empty, I::Ok) => (S::Ended, V::Violation(Violation::NoResponse)),
        (S::Empty, I::Error) => (S::Ended, V::End),
        (S::Held, I::Message) => (S::Ended, V::Violation(Violation::SecondResponse)),
        (S::Held, I::Ok) => (S::Ended, V::DeliverEnd),
        (S::Held, I::Error) => (S::Ended, V::DropEnd),
        (S::Open, I::Message) => (S::Open, V::Deliver),
        (S::Open, I::Ok) => (S::Ended, V::End),
        (S::Open, I::Error) => (S::Ended, V::End),
        (S::Ended, I::Message) => (S::Ended, V::Ignore),
        (S::Ended, I::Ok) => (S::Ended, V::Ignore),
        (S::Ended, I::Error) => (S::Ended, V::Ignore),
    }
}
