//! Ropes: what is linked, what is copied, and that cuts do not matter.

use pintle_core::{
    Message, Payload,
    bytes::{Buf, BufMut, Bytes},
    payload::Builder,
};
use proptest::prelude::*;

fn rope(segments: &[&'static [u8]]) -> Payload {
    segments.iter().map(|segment| Bytes::from_static(segment)).collect()
}

#[test]
fn the_ordinary_case_is_small_and_empty_is_free() {
    assert!(size_of::<Payload>() <= 32, "{}", size_of::<Payload>());
    assert!(size_of::<Message>() <= 40, "{}", size_of::<Message>());
    const EMPTY: Payload = Payload::new();
    assert!(EMPTY.is_empty());
    assert_eq!((EMPTY.segments().count(), EMPTY.clone().pop_segment(), EMPTY.into_bytes().len()), (0, None, 0));
}

#[test]
fn empty_segments_leave_no_trace() {
    let payload = rope(&[b"", b"ab", b"", b"c", b""]);
    assert_eq!(payload.segments().collect::<Vec<_>>(), [&b"ab"[..], b"c"]);
    assert_eq!(format!("{payload:?}"), "Payload(3 octets in 2 runs)");
    assert_eq!(rope(&[b"", b""]), Payload::new());
}

#[test]
fn segments_come_out_as_they_went_in() {
    let mut payload = rope(&[b"one", b"two", b"three"]);
    let kept = payload.clone();
    assert_eq!(payload.pop_segment().as_deref(), Some(&b"one"[..]));
    assert_eq!(payload.len(), 8);
    assert_eq!(payload.pop_segment().as_deref(), Some(&b"two"[..]));
    assert_eq!(payload.clone().try_into_flat().as_deref(), Ok(&b"three"[..]), "one segment left is flat again");
    assert_eq!(payload.pop_segment().as_deref(), Some(&b"three"[..]));
    assert_eq!(payload.pop_segment(), None);
    assert_eq!(kept.len(), 11, "a clone is not touched");
    assert_eq!(kept.try_into_flat().map_err(|back| back.len()), Err(11));
}

#[test]
fn one_run_is_never_copied() {
    let octets = Bytes::from(vec![1; 100]);
    let mut payload = Payload::from(octets.clone());
    assert_eq!(payload.clone().into_bytes().as_ptr(), octets.as_ptr());
    assert_eq!(payload.copy_to_bytes(40).as_ptr(), octets.as_ptr());
    assert_eq!(payload.chunk().as_ptr(), octets[40..].as_ptr());
    let second = Bytes::from(vec![2; 100]);
    payload.push(second.clone());
    assert_eq!(payload.copy_to_bytes(10).as_ptr(), octets[40..].as_ptr(), "part of the first run");
    assert_eq!(payload.copy_to_bytes(50).as_ptr(), octets[50..].as_ptr(), "the rest of the first run");
    assert_eq!(payload.copy_to_bytes(100).as_ptr(), second.as_ptr(), "a whole run");
    assert!(payload.is_empty());
}

#[test]
#[should_panic(expected = "past the end")]
fn more_than_there_is_cannot_be_skipped() {
    rope(&[b"a", b"b"]).advance(3);
}

#[test]
#[should_panic(expected = "past the end")]
fn more_than_there_is_cannot_be_taken() {
    let _ = rope(&[b"a", b"b"]).copy_to_bytes(3);
}

#[test]
fn the_builder_links_large_runs_and_joins_small_ones() {
    let large = Bytes::from(vec![7; Builder::LINK_THRESHOLD]);
    let small = large.slice(1..);
    let mut builder = Builder::new();
    assert!(builder.is_empty());
    builder.put_u8(1);
    builder.put(small.clone());
    builder.put_slice(b"ab");
    builder.put(large.clone());
    builder.put(&b"cd"[..]);
    builder.put(Bytes::from_static(b"a").chain(large.clone()));
    builder.put_slice(&large);
    assert_eq!(builder.len(), 1 + small.len() + 2 + large.len() + 2 + 1 + large.len() + large.len());
    let payload = builder.finish();
    let lens: Vec<_> = payload.segments().map(<[u8]>::len).collect();
    assert_eq!(lens, [1 + small.len() + 2, large.len(), 2 + 1 + large.len(), large.len()]);
    assert_eq!(payload.segments().nth(1).map(<[u8]>::as_ptr), Some(large.as_ptr()), "linked");
    assert_ne!(payload.segments().nth(3).map(<[u8]>::as_ptr), Some(large.as_ptr()), "a slice has to be copied");
}

/// Everything that is written through `chunk_mut` and `advance_mut` (the only unsafe code of the crate).
#[test]
fn the_builder_takes_octets_one_by_one() {
    let mut builder = Builder::new();
    let mut expected = Vec::new();
    for n in 0..10_000u32 {
        builder.put_u8(n as u8);
        expected.push(n as u8);
        if n % 1000 == 0 {
            builder.put(Bytes::from(vec![n as u8; 5000]));
            expected.extend([n as u8; 5000]);
            builder.put_u64(u64::from(n));
            expected.extend(u64::from(n).to_be_bytes());
        }
    }
    assert!(builder.remaining_mut() > usize::MAX / 4);
    assert_eq!(builder.finish().into_bytes(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A payload behaves as its octets do, however they are cut and whatever is read from it.
    #[test]
    fn cuts_do_not_matter(segments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8),
                          steps in prop::collection::vec((0..3u8, 0..40usize), 0..20)) {
        let mut payload: Payload = segments.iter().cloned().map(Bytes::from).collect();
        let mut flat = Bytes::from(segments.concat());
        prop_assert_eq!(&payload, &Payload::from(flat.clone()));
        for (kind, n) in steps {
            let n = n.min(flat.len());
            match kind {
                0 => { payload.advance(n); flat.advance(n); }
                1 => prop_assert_eq!(payload.copy_to_bytes(n), flat.copy_to_bytes(n)),
                _ => if let Some(first) = payload.pop_segment() { prop_assert_eq!(&first, &flat.split_to(first.len())); },
            }
            prop_assert_eq!(payload.remaining(), flat.len());
            prop_assert_eq!(payload.chunk().is_empty(), flat.is_empty());
            prop_assert!(payload.segments().flatten().eq(flat.iter()));
        }
        prop_assert_eq!(payload.into_bytes(), flat);
    }

    /// A builder holds what was written, and nothing of a `Bytes` above the threshold is copied.
    #[test]
    fn the_builder_keeps_octets_and_order(parts in prop::collection::vec((0..3u8, 0..9000usize, any::<u8>()), 0..12)) {
        let (mut builder, mut expected) = (Builder::new(), Vec::new());
        for (kind, len, octet) in parts {
            let part = Bytes::from(vec![octet; len]);
            expected.extend_from_slice(&part);
            match kind {
                0 => builder.put_slice(&part),
                1 => builder.put(part),
                _ => builder.put_bytes(octet, len),
            }
        }
        prop_assert_eq!(builder.len(), expected.len());
        prop_assert_eq!(builder.finish().into_bytes(), expected);
    }
}
