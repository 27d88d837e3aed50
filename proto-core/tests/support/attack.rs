//! What every attack needs: a flood, how it ends, and what it cost the heap.
#![allow(dead_code, reason = "each test program uses its part")]

use super::{
    heap::{Use, measure},
    peer::Peer,
};
use pintle_core::{CloseReason, Endpoint, ErrorCode};

pub(crate) const KIB: usize = 1 << 10;
pub(crate) const MIB: usize = 1 << 20;

/// Feeds `octets` again and again until the connection closes or `most` rounds have passed; output is read where `reads`. Returns the rounds.
pub(crate) fn flood(peer: &mut Peer, most: usize, reads: bool, mut octets: impl FnMut(usize) -> Vec<u8>) -> usize {
    for round in 0..most {
        if peer.conn.close_reason().is_some() {
            return round;
        }
        if peer.conn.wants().read {
            peer.send(&octets(round));
        } else if !reads {
            // The second answer to output that nobody takes: reads stop, and the write timer ends it.
            return round;
        }
        if reads {
            peer.output_octets();
        }
    }
    most
}

pub(crate) fn calm(peer: &Peer) {
    assert!(
        matches!(peer.conn.close_reason(), Some(CloseReason::Protocol { code: ErrorCode::ENHANCE_YOUR_CALM, .. })),
        "{:?}",
        peer.conn.close_reason()
    );
}

/// A connection and everything about it is freed with it.
pub(crate) fn freed(work: impl FnOnce() -> Peer) -> Use {
    let (_, whole) = measure(|| {
        let (peer, used) = measure(work);
        drop(peer);
        used
    });
    let (peer, used) = measure(|| ());
    let () = peer;
    assert!(whole.kept <= 64 * KIB as isize, "{} octets were kept after the connection was dropped", whole.kept);
    Use { kept: whole.kept, peak: whole.peak.max(used.peak), ..whole }
}
