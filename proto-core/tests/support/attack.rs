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

/// Runs an attack, and drops the connection: everything about it must be freed with it. What it cost until then.
pub(crate) fn freed(work: impl FnOnce() -> Peer) -> Use {
    let (peer, used) = measure(work);
    let ((), after) = measure(|| drop(peer));
    let kept = used.kept + after.kept;
    assert!(kept <= 1 << 10, "{kept} octets were kept after the connection was dropped");
    used
}
