//! Reading straight into a large message: a driver that can scatter (`readv`) saves the copy from its scratch buffer.

use super::{Connection, Phase};
use crate::{
    store::NIL,
    stream::{Assembly, flag},
};
use h2_frame::{Item, kind};

/// Below this the copy is cheaper than the trouble.
const WORTH: usize = 4 << 10;

impl Connection {
    /// Octets of the message being received that the rest of the present frame will bring.
    #[inline]
    pub(super) fn message_target(&mut self) -> Option<&mut [u8]> {
        self.drop_target();
        if self.rx_slot == NIL { None } else { self.frame_target() }
    }

    fn frame_target(&mut self) -> Option<&mut [u8]> {
        let s = self.rx_slot;
        if self.phase == Phase::Closed || self.is_unaware() || self.rx_head.kind != kind::DATA || self.rx_head.has(h2_frame::flag::PADDED) {
            return None;
        }
        let slot = &mut self.slots[s];
        if slot.has(flag::HTTP | flag::DISCARD) || slot.content_length.is_some() || !slot.backlog.is_empty() || slot.assembly.prefix_len < 5
        {
            return None;
        }
        let Assembly { octets, left, .. } = &mut slot.assembly;
        let n = ((self.rx_head.len - self.rx_data) as usize).min(*left as usize);
        if n < WORTH || self.budget.held() + n as u64 > self.cfg.recv_budget {
            return None;
        }
        let at = octets.len();
        octets.resize(at + n, 0);
        self.target = n as u32;
        Some(&mut octets[at..])
    }

    /// A target that was lent and not filled.
    #[inline]
    pub(super) fn drop_target(&mut self) {
        let n = core::mem::take(&mut self.target) as usize;
        if n > 0 && self.rx_slot != NIL {
            let octets = &mut self.slots[self.rx_slot].assembly.octets;
            octets.truncate(octets.len().saturating_sub(n));
        }
    }

    /// The first `n` octets of the target are there: accounts for them as if they had come by `recv_slice`.
    pub(super) fn message_filled(&mut self, n: usize) {
        let lent = core::mem::take(&mut self.target) as usize;
        let s = self.rx_slot;
        if lent == 0 || s == NIL || self.phase == Phase::Closed {
            return;
        }
        let n = n.min(lent);
        self.stats.octets_received += n as u64;
        let mut octets = core::mem::take(&mut self.slots[s].assembly.octets);
        octets.truncate(octets.len() - lent + n);
        let mut input = &octets[octets.len() - n..];
        let mut ends = false;
        while let Ok(Some(Item::Piece { last, .. })) = self.scanner.next(&mut input) {
            ends = last;
            if input.is_empty() {
                break;
            }
        }
        self.rx_data += n as u32;
        let credit = self.budget.charge(n as u32);
        let assembly = &mut self.slots[s].assembly;
        assembly.octets = octets;
        assembly.credit.join(credit);
        assembly.left -= n as u32;
        if assembly.left == 0 {
            self.complete(s);
        }
        if ends && let Err(fatal) = self.frame_ends(s) {
            self.fail(fatal);
        }
    }
}
