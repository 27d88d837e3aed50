//! Messages and descriptors, as a program uses them.

use pintle_build_generated::{
    acme::r#type::v1::{Order, OrdersMethod},
    editions::fixture::editions::{self as editions, Encoding, Inner, Kind, Presence, file},
    helloworld::{self, GreeterMethod, NamesMethod, Note, NothingMethod, note},
};
use pintle_core::Shape;
use prost::{Message, bytes::Bytes};
use std::{collections::HashMap, fmt::Debug, fs, path::Path};

/// What protobuf's reference implementation writes: name and octets, in `../tests/fixtures/editions.txt`.
fn reference(name: &str) -> Vec<u8> {
    let text = include_str!("../../tests/fixtures/editions.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the reference is there").trim();
    let digits = line.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    digits.collect::<Option<Vec<u8>>>().expect("hexadecimal digits")
}

fn same<M: Message + Default + PartialEq + Debug>(name: &str, message: &M) {
    assert_eq!(message.encode_to_vec(), reference(name), "{name}");
    assert_eq!(&M::decode(&*reference(name)).expect("the reference is valid"), message, "{name}");
}

#[test]
fn editions_encode_as_the_reference_does() {
    same("presence_least", &Presence::default());
    let zeros = Presence {
        explicit: Some(0),
        with_default: Some(String::new()),
        message: Some(Inner::default()),
        either: Some(editions::presence::Either::Left(0)),
        kind: Some(Kind::Unknown.into()),
        ..Presence::default()
    };
    // protobuf writes fields by number; prost writes a oneof last.
    same_fields("presence_zeros", &zeros);
    let full = Presence {
        explicit: Some(1),
        implicit: 2,
        required: 3,
        with_default: Some("x".to_owned()),
        message: Some(Inner { n: 5 }),
        kind: Some(Kind::Good.into()),
        either: Some(editions::presence::Either::Right("r".to_owned())),
    };
    same_fields("presence_full", &full);
    assert_eq!(Presence::default().with_default(), "none");

    let inner = |n| Inner { n };
    let encoding = Encoding {
        packed: vec![1, 300],
        expanded: vec![1, 300],
        texts: vec!["a".to_owned(), "b".to_owned()],
        map: HashMap::from([("k".to_owned(), inner(1))]),
        prefixed: Some(inner(2)),
        delimited: Some(inner(3)),
    };
    same("encoding_full", &encoding);
}

#[test]
fn features_of_a_file_reach_its_fields() {
    let part = |n| file::all::Part { n, again: None };
    same("all_zeros", &file::All { explicit: Some(0), ..file::All::default() });
    let full = file::All {
        implicit: 1,
        explicit: Some(2),
        expanded: vec![3, 300],
        packed: vec![4, 300],
        delimited: Some(file::all::Part { n: 5, again: Some(Box::new(part(6))) }),
        prefixed: Some(part(7)),
        many: vec![part(8), part(0)],
        map: HashMap::from([(9, part(10))]),
    };
    same("all_full", &full);
}

/// As [`same`], where the order of fields differs.
fn same_fields<M: Message + Default + PartialEq + Debug>(name: &str, message: &M) {
    assert_eq!(&M::decode(&*reference(name)).expect("the reference is valid"), message, "{name}");
    let sorted = |mut octets: Vec<u8>| {
        octets.sort_unstable();
        octets
    };
    assert_eq!(sorted(message.encode_to_vec()), sorted(reference(name)), "{name}");
}

#[test]
fn methods_know_their_paths_and_shapes() {
    let greeter: Vec<(&str, &str, Shape)> =
        GreeterMethod::ALL.iter().map(|method| (method.name(), method.path(), method.shape())).collect();
    assert_eq!(
        greeter,
        [
            ("SayHello", "/helloworld.Greeter/SayHello", Shape::Unary),
            ("LotsOfReplies", "/helloworld.Greeter/LotsOfReplies", Shape::ServerStreaming),
            ("LotsOfGreetings", "/helloworld.Greeter/LotsOfGreetings", Shape::ClientStreaming),
            ("Chat", "/helloworld.Greeter/Chat", Shape::Bidi),
        ]
    );
    assert_eq!(GreeterMethod::SERVICE, "helloworld.Greeter");
    // Names go over the wire as they are in the .proto, whatever Rust makes of them.
    assert_eq!((NamesMethod::Type.path(), NamesMethod::Self_.path()), ("/helloworld.Names/type", "/helloworld.Names/Self"));
    assert_eq!(OrdersMethod::Place.path(), "/acme.type.v1.Orders/Place");
    assert_eq!(pintle_build_generated::BareMethod::Ping.path(), "/Bare/Ping");
    assert_eq!(NothingMethod::ALL.len(), 0);
}

#[test]
fn octets_are_not_copied() {
    let body = Bytes::from(vec![7; 100_000]);
    let note = Note { body: body.clone(), r#type: "t".to_owned(), self_: "s".to_owned(), ..Note::default() };
    let octets = Bytes::from(note.encode_to_vec());
    let read = Note::decode(octets.clone()).expect("it was just encoded");
    assert_eq!(read, note);
    assert!(octets.as_ptr_range().contains(&read.body.as_ptr()), "the field lies in the buffer that was read");
}

#[test]
fn packages_refer_to_each_other() {
    let inner = note::Inner { again: Some(Box::new(Note::default())) };
    let order = Order {
        note: Some(Note {
            either: Some(note::Either::Right(Box::new(inner))),
            colors: vec![helloworld::Color::Red.into()],
            ..Note::default()
        }),
        currency: pintle_build_generated::acme::common::money::Currency::Eur.into(),
        ..Order::default()
    };
    assert_eq!(Order::decode(&*order.encode_to_vec()).expect("it was just encoded"), order);
}

#[test]
fn the_descriptor_set_goes_with_the_code() {
    let set = prost_types::FileDescriptorSet::decode(helloworld::FILE_DESCRIPTOR_SET).expect("it is one");
    let names: Vec<&str> = set.file.iter().map(prost_types::FileDescriptorProto::name).collect();
    for name in ["shapes.proto", "acme/v1/orders.proto", "acme/v1/common.proto", "no_package.proto", "google/protobuf/timestamp.proto"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    for (index, file) in set.file.iter().enumerate() {
        assert!(file.dependency.iter().all(|import| names[..index].contains(&import.as_str())), "imports come first");
    }
}

/// What the build script said to cargo.
#[test]
fn cargo_is_told_every_file() {
    let output = Path::new(env!("OUT_DIR")).with_file_name("output");
    let said = fs::read_to_string(&output).expect("cargo keeps it beside OUT_DIR");
    for file in ["proto/shapes.proto", "proto/acme/v1/orders.proto", "proto/acme/v1/common.proto", "proto/no_package.proto"] {
        assert!(said.lines().any(|line| line == format!("cargo:rerun-if-changed={file}")), "{file} is missing in:\n{said}");
    }
    assert!(!said.contains("google/protobuf"), "{said}");
}
