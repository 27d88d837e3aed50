//! The generational slab: slots are recycled with their buffers, ids of earlier users go stale.

use super::NIL;
use crate::{steps::Steps, stream::Slot};
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

#[derive(Debug, Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots that were walked over.
    pub(crate) steps: Steps,
}

impl Slab {
    /// Slots in use.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// A slot, cleared, live under a new generation.
    #[inline]
    pub(crate) fn take(&mut self) -> u32 {
        let s = match self.free.pop() {
            Some(s) => s,
            None => {
                // The first few one by one: most of many connections have a call or two.
                if self.slots.len() < 4 {
                    self.slots.reserve_exact(1);
                }
                self.slots.push(Slot::new());
                (self.slots.len() - 1) as u32
            }
        };
        self.slots[s as usize].live = true;
        s
    }

    /// Gives a slot back; every id of it is stale from here on.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, s: u32) {
        let slot = &mut self.slots[s as usize];
        debug_assert!(slot.live);
        slot.live = false;
        slot.generation = slot.generation.wrapping_add(u32::from(!fault!("stale_id_reuse")));
        slot.recycle();
        self.free.push(s);
    }

    /// The slot of an id that is live, or `NIL`.
    #[inline]
    pub(crate) fn find(&self, slot: u32, generation: u32) -> u32 {
        match self.slots.get(slot as usize) {
            Some(entry) if entry.live && entry.generation == generation => slot,
            _ => NIL,
        }
    }

    /// Every slot number, live or not.
    pub(crate) fn all(&self) -> core::ops::Range<u32> {
        self.steps.add(self.slots.len());
        0..self.slots.len() as u32
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = (u32, &Slot)> {
        self.steps.add(self.slots.len());
        self.slots.iter().enumerate().filter(|(_, slot)| slot.live).map(|(s, slot)| (s as u32, slot))
    }
}

impl Index<u32> for Slab {
    type Output = Slot;
    #[inline]
    fn index(&self, s: u32) -> &Slot {
        &self.slots[s as usize]
    }
}

impl IndexMut<u32> for Slab {
    #[inline]
    fn index_mut(&mut self, s: u32) -> &mut Slot {
        &mut self.slots[s as usize]
    }
}
