//! Doubly linked lists threaded through the slots: push, pop and unlink are O(1), no allocation.
//!
//! A slot is in one list at most; its [`Links`] say in which. Doubly linked because a reset must take a
//! call out of the middle of a long list.

use super::{NIL, Slab};

/// The list that a slot is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    None,
    /// Has something that can be framed now.
    Ready,
    /// Client: waits for a stream id.
    Opening,
    /// Has octets to send and stream window, but the connection's window is used up.
    Blocked,
    /// Has octets to send, but its stream's window is used up.
    Stalled,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    prev: u32,
    next: u32,
    pub(crate) which: Which,
}

impl Links {
    pub(crate) const UNLINKED: Self = Self { prev: NIL, next: NIL, which: Which::None };
}

#[derive(Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    which: Which,
}

impl List {
    pub(crate) const fn new(which: Which) -> Self {
        Self { head: NIL, tail: NIL, which }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.head == NIL
    }

    pub(crate) const fn front(&self) -> u32 {
        self.head
    }

    /// `s` is in it, and nothing else.
    #[inline]
    pub(crate) const fn is_only(&self, s: u32) -> bool {
        self.head == s && self.tail == s
    }

    /// Appends a slot that is in no list.
    #[inline(always)]
    pub(crate) fn push(&mut self, slots: &mut Slab, s: u32) {
        let links = &mut slots[s].links;
        debug_assert!(links.which == Which::None);
        *links = Links { prev: self.tail, next: NIL, which: self.which };
        match self.tail {
            NIL => self.head = s,
            tail => slots[tail].links.next = s,
        }
        self.tail = s;
    }

    /// The slot behind `s`, which is in this list; `NIL` at the end.
    pub(crate) fn after(&self, slots: &Slab, s: u32) -> u32 {
        slots[s].links.next
    }

    /// Takes a slot that is in this list out of it.
    #[inline]
    pub(crate) fn remove(&mut self, slots: &mut Slab, s: u32) {
        let Links { prev, next, which } = slots[s].links;
        debug_assert!(which == self.which);
        match prev {
            NIL => self.head = next,
            prev => slots[prev].links.next = next,
        }
        match next {
            NIL => self.tail = prev,
            next => slots[next].links.prev = prev,
        }
        slots[s].links = Links::UNLINKED;
    }

    #[inline]
    pub(crate) fn pop(&mut self, slots: &mut Slab) -> Option<u32> {
        let s = self.head;
        if s == NIL {
            return None;
        }
        self.remove(slots, s);
        Some(s)
    }
}
