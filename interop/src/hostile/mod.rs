//! A server that breaks the rules, as a table of scripts: what it sends and when, and what a client may make of it.
//!
//! `interop/hostile` plays each script ([`server`]) to our clients and to other people's, each in a process of its own ([`client`]),
//! and says who answered well.

pub mod client;
mod content;
mod floods;
mod frames;
mod lifecycle;
pub mod run;
pub mod server;
mod transport;
pub mod wire;

/// What the client calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One message each way.
    Unary,
    /// One message out, any number back.
    Streaming,
    /// Any number each way; the client sends one, and ends its side when the server has ended its own.
    Bidi,
}

impl Shape {
    /// As the client programs are told.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::Streaming => "streaming",
            Self::Bidi => "bidi",
        }
    }
}

/// What the server waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The client's preface and its first SETTINGS.
    Preface,
    /// The head of a request.
    Head,
    /// The end of a request.
    End,
}

/// What the server does next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these octets.
    Send(Vec<u8>),
    /// Sends these octets so many times, or until the client has had enough.
    Flood(Vec<u8>, usize),
    /// Sends these octets one by one, with so many milliseconds in between.
    Drip(Vec<u8>, u64),
    /// Reads until this came.
    Await(When),
    /// Lets so many milliseconds pass.
    Pause(u64),
    /// Closes its side of the connection, and reads on.
    HalfClose,
    /// Closes the connection.
    Close,
    /// Closes the connection with a TCP reset.
    Abort,
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The fault was of one stream: the next call goes over the same connection. (A client may always take it for the connection's.)
    Stays,
    /// The client must close it, and reach the server by another one.
    Closes,
    /// The server closed it, or the client may; the next call is made by the same channel, by whatever connection.
    Either,
    /// It is of no more use, and the client cannot know: the next call is made by a new channel.
    Stuck,
}

/// One misbehaviour.
#[derive(Debug, Clone)]
pub struct Script {
    /// Group and name.
    pub name: &'static str,
    /// The rule that is broken, or that says what to make of it.
    pub section: &'static str,
    /// What the client calls.
    pub shape: Shape,
    /// Octets in the request message.
    pub request: usize,
    /// What the server does; SETTINGS first, if `polite`.
    pub steps: Vec<Step>,
    /// The server begins with SETTINGS, and answers SETTINGS and PING.
    pub polite: bool,
    /// How the call may end: numbers of status codes.
    pub allow: &'static [u32],
    /// What must stand in our clients' message.
    pub says: &'static str,
    /// What becomes of the connection.
    pub after: After,
    /// The call's deadline.
    pub deadline_ms: u64,
}

/// Deadline where the client has to notice by itself: that it ends by the deadline is wrong then.
const PATIENT: u64 = 5_000;
/// Deadline where nothing but the deadline can end the call.
const SHORT: u64 = 300;

impl Script {
    fn new(name: &'static str, section: &'static str, allow: &'static [u32], after: After, steps: Vec<Step>) -> Self {
        let deadline_ms = if allow == TIME { SHORT } else { PATIENT };
        Self { name, section, shape: Shape::Unary, request: 0, steps, polite: true, allow, says: "", after, deadline_ms }
    }

    /// Nothing is sent by itself: not SETTINGS, not an acknowledgement.
    fn rude(self) -> Self {
        Self { polite: false, ..self }
    }

    fn shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    fn request(self, octets: usize) -> Self {
        Self { request: octets, ..self }
    }

    fn says(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    fn after(self, after: After) -> Self {
        Self { after, ..self }
    }

    fn deadline(self, deadline_ms: u64) -> Self {
        Self { deadline_ms, ..self }
    }
}

/// Numbers of status codes.
mod code {
    use pintle_core::Code;

    pub(super) const CANCELLED: u32 = Code::Cancelled.as_u32();
    pub(super) const DEADLINE_EXCEEDED: u32 = Code::DeadlineExceeded.as_u32();
    pub(super) const INTERNAL: u32 = Code::Internal.as_u32();
    pub(super) const NOT_FOUND: u32 = Code::NotFound.as_u32();
    pub(super) const OK: u32 = Code::Ok.as_u32();
    pub(super) const PERMISSION_DENIED: u32 = Code::PermissionDenied.as_u32();
    pub(super) const RESOURCE_EXHAUSTED: u32 = Code::ResourceExhausted.as_u32();
    pub(super) const UNAUTHENTICATED: u32 = Code::Unauthenticated.as_u32();
    pub(super) const UNAVAILABLE: u32 = Code::Unavailable.as_u32();
    pub(super) const UNIMPLEMENTED: u32 = Code::Unimplemented.as_u32();
    pub(super) const UNKNOWN: u32 = Code::Unknown.as_u32();
}

/// A good outcome: the rule that was bent is one that clients must put up with.
const OK: &[u32] = &[code::OK];
/// The response is broken (a stream error).
const BROKEN: &[u32] = &[code::INTERNAL, code::UNKNOWN];
/// The connection is broken, and the call with it. (grpcio says UNKNOWN: no document speaks of it.)
const CONNECTION: &[u32] = &[code::UNAVAILABLE, code::INTERNAL, code::UNKNOWN];
/// The connection is gone.
const GONE: &[u32] = &[code::UNAVAILABLE];
/// Nothing came: the deadline ends the call.
const TIME: &[u32] = &[code::DEADLINE_EXCEEDED];
/// The number of messages is wrong (SC says UNIMPLEMENTED, grpc-go and grpc-java INTERNAL).
const CARDINALITY: &[u32] = &[code::UNIMPLEMENTED, code::INTERNAL];
/// Too much of something: the client may end it, or endure it until the deadline.
const TOO_MUCH: &[u32] = &[code::UNAVAILABLE, code::INTERNAL, code::RESOURCE_EXHAUSTED, code::DEADLINE_EXCEEDED, code::UNKNOWN];
/// The same where a client may also see it through.
const ENDURED: &[u32] = &[code::OK, code::UNAVAILABLE, code::INTERNAL, code::RESOURCE_EXHAUSTED, code::DEADLINE_EXCEEDED, code::UNKNOWN];

/// The usual script: after the whole request, these octets.
fn answer(name: &'static str, section: &'static str, allow: &'static [u32], after: After, octets: Vec<u8>) -> Script {
    Script::new(name, section, allow, after, vec![Step::Await(When::End), Step::Send(octets)])
}

/// Every script.
pub fn all() -> Vec<Script> {
    [content::scripts(), lifecycle::scripts(), frames::scripts(), floods::scripts(), transport::scripts()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_more_than_a_hundred_and_each_has_its_name() {
        let scripts = all();
        let names: HashSet<_> = scripts.iter().map(|script| script.name).collect();
        assert_eq!(names.len(), scripts.len(), "two scripts have one name");
        assert!(names.len() > 100, "{}", names.len());
        for script in &scripts {
            assert!(!script.section.is_empty() && !script.allow.is_empty(), "{}", script.name);
        }
    }

    /// RFC 7541 §C.2.1 with another first octet, and the lengths of §C.1.
    #[test]
    fn blocks_are_what_rfc_7541_writes() {
        assert_eq!(wire::block(&[("custom-key", "custom-header")]), b"\x00\x0acustom-key\x0dcustom-header");
        assert_eq!(wire::size_update(1337), [0x3F, 0x9A, 0x0A]);
        assert_eq!(wire::block(&[("a", &"x".repeat(127))])[3..5], [0x7F, 0x00]);
    }
}
