//! The four call shapes, and what each allows, as pure transition tables.
//!
//! A shape says for each direction whether it carries [one message or many](Cardinality). [`recv`] and [`send`] are
//! tables over that: stored state and input give the next state and a verdict. They hold no data and decide everything
//! about how many messages a call may have; every pair of state and input is written out.
//!
//! ```
//! use pintle_core::shape::{Shape, recv::{ClientInput, RecvState, Verdict, client}};
//! let state = RecvState::new(Shape::Unary.response());
//! let (state, verdict) = client(state, ClientInput::Message);
//! assert_eq!(verdict, Verdict::Hold); // not a success before the status says so
//! let (_, verdict) = client(state, ClientInput::Ok);
//! assert_eq!(verdict, Verdict::DeliverEnd);
//! ```

pub mod recv;
pub mod send;

use core::fmt;

/// The four call shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One message each way.
    Unary,
    /// Many requests, one response.
    ClientStreaming,
    /// One request, many responses.
    ServerStreaming,
    /// Many each way.
    Bidi,
}

/// How many messages one direction of a call carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cardinality {
    /// Exactly one in a call that succeeds.
    One,
    /// Any number, zero included.
    Many,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Unary, Self::ClientStreaming, Self::ServerStreaming, Self::Bidi];

    /// The shape with these directions.
    #[must_use]
    pub const fn of(request: Cardinality, response: Cardinality) -> Self {
        match (request, response) {
            (Cardinality::One, Cardinality::One) => Self::Unary,
            (Cardinality::Many, Cardinality::One) => Self::ClientStreaming,
            (Cardinality::One, Cardinality::Many) => Self::ServerStreaming,
            (Cardinality::Many, Cardinality::Many) => Self::Bidi,
        }
    }

    /// How many messages the client sends.
    #[must_use]
    pub const fn request(self) -> Cardinality {
        match self {
            Self::Unary | Self::ServerStreaming => Cardinality::One,
            Self::ClientStreaming | Self::Bidi => Cardinality::Many,
        }
    }

    /// How many messages the server sends.
    #[must_use]
    pub const fn response(self) -> Cardinality {
        match self {
            Self::Unary | Self::ClientStreaming => Cardinality::One,
            Self::ServerStreaming | Self::Bidi => Cardinality::Many,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unary => "unary",
            Self::ClientStreaming => "client streaming",
            Self::ServerStreaming => "server streaming",
            Self::Bidi => "bidirectional streaming",
        })
    }
}
