//! A world to test connections in: both ends in one thread, on a clock that jumps, over a link that
//! delays, cuts, stalls and breaks, all decided by a seed. For this crate's tests, its fuzz targets and
//! benches; it may help yours. Not covered by semver.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`Link`] | two pipes with latency, rate, a bounded buffer, cuts, stalls and an end |
//! | [`Pair`] | a client's and a server's [`Connection`](crate::Connection) on a link |
//! | [`Referee`] | judges every frame between them without the crate's own code; can slip frames in |
//! | [`echo`] | a service with all four shapes and its client |
//! | [`Op`], [`World`] | operations on both ends, decodable from any octets, and the interpreter |
//! | [`Model`] | what calls may do: a few lines that know nothing of HTTP/2 |
//! | [`History`] | random operations to the end of a run, made smaller when they fail |
//! | [`Places`] | the hard places that a run reached |
//! | [`Probe`] | what a test may see of a connection's inside |
//! | [`wire`], [`raw`] | frames and header blocks by hand, right or wrong, and a peer that speaks them |
//! | `fuzz_*` | the bodies of the fuzz targets |

pub mod echo;
mod fuzz;
mod history;
mod link;
mod model;
mod ops;
mod pair;
mod places;
mod probe;
pub mod raw;
mod referee;
mod rng;
mod shuttle;
mod transcript;
pub mod wire;
mod world;

#[cfg(feature = "record")]
pub use fuzz::fuzz_tape;
pub use fuzz::{OtherDecoder, fuzz_client, fuzz_frame, fuzz_hpack, fuzz_message, fuzz_metadata, fuzz_ops, fuzz_scanner, fuzz_server};
pub use history::{History, Run};
pub use link::{Cut, Link, LinkConfig, Pipe};
pub use model::{CallModel, Model};
pub use ops::{Jump, Op, Setting};
pub use pair::{Pair, Step};
pub use places::{Place, Places};
pub use probe::{Probe, StreamProbe, TableProbe};
pub use referee::{CLIENT, Excuses, HeaderBlock, Referee, SERVER};
pub use rng::Rng;
pub use shuttle::{Phase, Shuttle, pass};
pub use transcript::Transcript;
pub use world::World;
