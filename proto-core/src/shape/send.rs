//! Sending: [`client`] for the request side, [`server`] for the response side.
//!
//! | state | client: Message | Close | server: Message | Finish OK | Finish error |
//! |---|---|---|---|---|---|
//! | `Empty` (one) | SendClose → `Sent` | Misuse | Send → `Sent` | FinishWithout → `Ended` | Finish → `Ended` |
//! | `Sent` (one) | Misuse | Nothing | Misuse | Finish → `Ended` | Finish → `Ended` |
//! | `Open` (many) | Send | Close → `Ended` | Send | Finish → `Ended` | Finish → `Ended` |
//! | `Ended` | Misuse | Misuse | Misuse | Misuse | Misuse |

use super::Cardinality;
use crate::{Misuse, grpc::Code};

/// Where the sending direction of a call is. One octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendState {
    /// One message is owed and was not sent.
    Empty,
    /// The one message was sent. At a client this closed the direction too.
    Sent,
    /// Any number is allowed.
    Open,
    /// Closed, or finished.
    Ended,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientSend {
    /// Sends a message.
    Message,
    /// Says that no more come.
    Close,
}

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerSend {
    /// Sends a message.
    Message,
    /// Ends the call with OK.
    FinishOk,
    /// Ends the call with any other status.
    FinishError,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Action {
    /// Queue the message.
    Send,
    /// Queue the message; END_STREAM goes with it.
    SendClose,
    /// END_STREAM after what is queued.
    Close,
    /// Trailers with the status after what is queued. A message of a direction that carries one, still unframed when the
    /// status is not OK, may be left out: the client drops it.
    Finish,
    /// The handler said OK without the one message that it owes. Send [`MISSING_CODE`] with [`MISSING_TEXT`] instead.
    FinishWithout,
    /// Done already (a client that closes after its one message): no error, nothing to do.
    Nothing,
    /// The caller's mistake; nothing changes.
    Misuse(Misuse),
}

/// What a handler that ends with OK but without its one message is answered by.
///
/// INTERNAL, because the broken party is the server's own handler. With a bare OK on the wire the client would have to
/// report UNIMPLEMENTED ([`Violation::NoResponse`](super::recv::Violation::NoResponse)), which sends the reader looking for a
/// method that is there.
pub const MISSING_CODE: Code = Code::Internal;
/// The text that goes with [`MISSING_CODE`].
pub const MISSING_TEXT: &str = "the handler finished with OK but sent no response message";

impl SendState {
    /// Before anything was sent.
    #[must_use]
    pub const fn new(cardinality: Cardinality) -> Self {
        match cardinality {
            Cardinality::One => Self::Empty,
            Cardinality::Many => Self::Open,
        }
    }
}

const SECOND_REQUEST: Action = Action::Misuse(Misuse("the method takes exactly one request message, and it was sent already"));
const NO_REQUEST: Action = Action::Misuse(Misuse("the method takes exactly one request message: send it, which also closes the request"));
const CLOSED: Action = Action::Misuse(Misuse("the request was closed already"));
const SECOND_RESPONSE: Action = Action::Misuse(Misuse("the method returns exactly one response message, and it was sent already"));
const FINISHED: Action = Action::Misuse(Misuse("the call was finished already"));

/// The request side, at a client.
pub const fn client(state: SendState, input: ClientSend) -> (SendState, Action) {
    use {Action as A, ClientSend as I, SendState as S};
    match (state, input) {
        (S::Empty, I::Message) => (S::Sent, A::SendClose),
        (S::Empty, I::Close) => (S::Empty, NO_REQUEST),
        (S::Sent, I::Message) => (S::Sent, SECOND_REQUEST),
        (S::Sent, I::Close) => (S::Sent, A::Nothing),
        (S::Open, I::Message) => (S::Open, A::Send),
        (S::Open, I::Close) => (S::Ended, A::Close),
        (S::Ended, I::Message) => (S::Ended, CLOSED),
        (S::Ended, I::Close) => (S::Ended, CLOSED),
    }
}

/// The response side, at a server.
pub const fn server(state: SendState, input: ServerSend) -> (SendState, Action) {
    use {Action as A, SendState as S, ServerSend as I};
    match (state, input) {
        (S::Empty, I::Message) => (S::Sent, A::Send),
        (S::Empty, I::FinishOk) => (S::Ended, A::FinishWithout),
        (S::Empty, I::FinishError) => (S::Ended, A::Finish),
        (S::Sent, I::Message) => (S::Sent, SECOND_RESPONSE),
        (S::Sent, I::FinishOk) => (S::Ended, A::Finish),
        (S::Sent, I::FinishError) => (S::Ended, A::Finish),
        (S::Open, I::Message) => (S::Open, A::Send),
        (S::Open, I::FinishOk) => (S::Ended, A::Finish),
        (S::Open, I::FinishError) => (S::Ended, A::Finish),
        (S::Ended, I::Message) => (S::Ended, FINISHED),
        (S::Ended, I::FinishOk) => (S::Ended, FINISHED),
        (S::Ended, I::FinishError) => (S::Ended, FINISHED),
    }
}
