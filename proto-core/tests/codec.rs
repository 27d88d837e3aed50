//! Codecs: unmodified prost on ropes, without copies.
#![cfg(feature = "prost")]

use pintle_core::{
    Code, Payload,
    bytes::Bytes,
    codec::{Codec, Prost, Raw, to_payload, undecodable},
};
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct Inner {
    #[prost(bytes = "bytes", tag = "1")]
    blob: Bytes,
    #[prost(uint64, tag = "2")]
    n: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Outer {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    inner: Option<Inner>,
    #[prost(bytes = "bytes", tag = "3")]
    tail: Bytes,
    #[prost(message, optional, boxed, tag = "4")]
    deeper: Option<Box<Self>>,
}

fn sample(blob: Bytes) -> Outer {
    let inner = Some(Inner { blob, n: 9 });
    Outer { name: "x".into(), inner, tail: Bytes::from_static(b"end"), deeper: None }
}

#[test]
fn a_large_bytes_field_is_the_same_allocation_in_struct_and_rope() {
    let blob = Bytes::from(vec![7; 100_000]);
    let item = sample(blob.clone());
    let payload = to_payload::<Prost<Outer>>(&item);
    let linked = payload.segments().find(|segment| segment.len() == blob.len()).expect("a segment of its own");
    assert_eq!(linked.as_ptr(), blob.as_ptr());
    assert_eq!(payload.segments().count(), 3);
    assert_eq!(payload.into_bytes(), item.encode_to_vec(), "the octets are prost's");
}

#[test]
fn small_messages_are_one_run() {
    for len in [0, 1, 4000, 4096, 5000] {
        let item = sample(Bytes::from(vec![7; len]));
        let payload = to_payload::<Prost<Outer>>(&item);
        assert_eq!(payload.len(), <Prost<Outer> as Codec>::encoded_len(&item));
        assert_eq!(payload.segments().count(), if len < 4096 { 1 } else { 3 }, "{len}");
        assert_eq!(payload.into_bytes(), item.encode_to_vec());
    }
}

#[test]
fn decoded_bytes_point_into_the_input() {
    let item = sample(Bytes::from(vec![7; 100_000]));
    let wire = Bytes::from(item.encode_to_vec());
    let got = <Prost<Outer> as Codec>::decode(wire.clone().into()).expect("a valid message");
    assert_eq!(got, item);
    let inside = wire.as_ptr_range();
    for field in [&got.inner.as_ref().expect("it was sent").blob, &got.tail] {
        assert!(inside.contains(&field.as_ptr()), "the field is a copy");
    }
}

/// As DATA frames cut it; 1 octet is the worst case.
#[test]
fn a_rope_decodes_to_the_same() {
    let item = sample(Bytes::from(vec![7; 40_000]));
    let wire = Bytes::from(item.encode_to_vec());
    for size in [1, 2, 7, 1000, 16_384] {
        let rope: Payload = wire.chunks(size).map(|chunk| wire.slice_ref(chunk)).collect();
        assert_eq!(<Prost<Outer> as Codec>::decode(rope).as_ref(), Ok(&item), "{size}");
    }
    // A field that lies in one run of a rope is not copied either.
    let rope: Payload = [wire.slice(..20_000), wire.slice(20_000..)].into_iter().collect();
    let got = <Prost<Outer> as Codec>::decode(rope).expect("a valid message");
    assert!(wire.as_ptr_range().contains(&got.tail.as_ptr()));
}

/// statuscodes.md: "Could not parse" is INTERNAL on either side; the text has to fit a header.
#[test]
fn junk_is_internal_with_a_short_text() {
    for junk in [&b"\xff"[..], b"\x0a\x05ab", b"\x08\x01", b"\x0a\x01\xff"] {
        let status = <Prost<Outer> as Codec>::decode(junk.into()).expect_err("no such message");
        assert_eq!(status.code(), Code::Internal, "{junk:?}");
        assert!(status.message().starts_with("cannot decode the message: "), "{status}");
    }
    // 90 levels deep, broken at the bottom: prost repeats the path in its text.
    let mut deep = vec![0x0a, 1, 0xff];
    for _ in 0..90 {
        let mut outer = vec![0x22];
        prost::encoding::encode_varint(deep.len() as u64, &mut outer);
        outer.extend(deep);
        deep = outer;
    }
    let text = Outer::decode(&deep[..]).expect_err("broken").to_string();
    assert!(text.len() > 1000, "the case is worth testing: {}", text.len());
    let status = <Prost<Outer> as Codec>::decode(deep.into()).expect_err("broken");
    assert_eq!((status.code(), status.message().len()), (Code::Internal, 256));
    assert!(status.message().ends_with("..."));
    let wide = undecodable("\u{1f600}".repeat(100));
    assert!((253..=256).contains(&wide.message().len()), "cut between characters: {}", wide.message().len());
}

#[test]
fn raw_is_the_octets() {
    let octets = Bytes::from(vec![3; 10_000]);
    let payload = to_payload::<Raw>(&octets);
    assert_eq!(payload.segments().next().map(<[u8]>::as_ptr), Some(octets.as_ptr()));
    assert_eq!(Raw::decode(payload).map(|got| got.as_ptr()), Ok(octets.as_ptr()));
    let small = Bytes::from_static(b"abc");
    assert_eq!(to_payload::<Raw>(&small).into_bytes(), small);
    let mut out = b"before".to_vec();
    Raw::encode_flat(&small, &mut out);
    assert_eq!(out, b"beforeabc");
}
