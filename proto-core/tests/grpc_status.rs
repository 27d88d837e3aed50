//! Status: codes, message coding, mappings. Vectors from PROTOCOL-HTTP2.md, statuscodes.md and the interop tests.

use pintle_core::{
    Code, ErrorCode, Metadata, Status,
    bytes::Bytes,
    grpc::{Origin, decode_message, encode_message},
};
use proptest::prelude::*;
use std::error::Error;

fn encoded(message: &str) -> String {
    let mut out = b"before".to_vec();
    encode_message(message, usize::MAX, &mut out);
    String::from_utf8(out.split_off("before".len())).expect("ASCII")
}

/// statuscodes.md.
#[test]
fn codes_have_their_numbers_and_names() {
    let names = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    for (number, name) in (0..).zip(names) {
        let code = Code::from_u32(number);
        assert_eq!((code.as_u32(), code.name(), code.to_string().as_str()), (number, name, name));
    }
    for number in [17, 100, u32::MAX] {
        assert_eq!(Code::from_u32(number), Code::Unknown);
    }
}

#[test]
fn constructors_make_their_code() {
    let made = [
        Status::cancelled("m"),
        Status::unknown("m"),
        Status::invalid_argument("m"),
        Status::deadline_exceeded("m"),
        Status::not_found("m"),
        Status::already_exists("m"),
        Status::permission_denied("m"),
        Status::resource_exhausted("m"),
        Status::failed_precondition("m"),
        Status::aborted("m"),
        Status::out_of_range("m"),
        Status::unimplemented("m"),
        Status::internal("m"),
        Status::unavailable("m"),
        Status::data_loss("m"),
        Status::unauthenticated("m"),
    ];
    for (status, code) in made.iter().zip(&Code::ALL[1..]) {
        assert_eq!((status.code(), status.message(), status.origin()), (*code, "m", Origin::Local));
        assert!(!status.is_ok());
    }
}

#[test]
fn ok_is_small_and_const() {
    const OK: Status = Status::ok();
    assert!(OK.is_ok());
    assert!(size_of::<Status>() <= 24 && size_of::<Result<(), Status>>() <= 24);
    assert_eq!((OK.message(), OK.details(), OK.metadata()), ("", &[][..], &Metadata::new()));
    assert_eq!(OK, Status::new(Code::Ok, ""));
}

#[test]
fn a_status_reads_well() {
    let status = Status::deadline_exceeded("after 5 ms").with_origin(Origin::Peer);
    assert_eq!(status.to_string(), "DEADLINE_EXCEEDED: after 5 ms (from the peer)");
    assert_eq!(Status::bare(Code::Cancelled).to_string(), "CANCELLED");
    assert_eq!(Status::unavailable("refused").with_origin(Origin::Connection).to_string(), "UNAVAILABLE: refused (the connection failed)");
    let boxed: Box<dyn Error + Send + Sync> = status.into();
    assert!(boxed.source().is_none());
    let mut metadata = Metadata::new();
    metadata.append("authorization", "Bearer secret").expect("valid");
    let status = Status::unauthenticated("no").with_metadata(metadata).with_details(Bytes::from_static(b"secret"));
    let debug = format!("{status:?}");
    assert!(debug.starts_with("UNAUTHENTICATED: no, details: 6 octets, metadata: ") && !debug.contains("secret"), "{debug}");
}

#[test]
fn equal_is_what_was_said_and_not_who_said_it() {
    let status = Status::not_found("x");
    assert_eq!(status, status.clone().with_origin(Origin::Peer));
    assert_ne!(status, Status::not_found("y"));
    assert_ne!(status, Status::internal("x"));
    assert_ne!(status, status.clone().with_details(Bytes::from_static(b"d")));
    let metadata = Metadata::from_pairs([("a", "b")]).expect("valid");
    assert_ne!(status, status.clone().with_metadata(metadata));
    let code = Status::from(Code::Aborted);
    assert_eq!((code.code(), code.message()), (Code::Aborted, ""));
}

/// The table of PROTOCOL-HTTP2.md, C-core where it is silent.
#[test]
fn resets_have_a_status() {
    let table = [
        (0x0, Code::Internal),
        (0x1, Code::Internal),
        (0x2, Code::Internal),
        (0x3, Code::Internal),
        (0x4, Code::Internal),
        (0x5, Code::Internal),
        (0x6, Code::Internal),
        (0x7, Code::Unavailable),
        (0x8, Code::Cancelled),
        (0x9, Code::Internal),
        (0xa, Code::Internal),
        (0xb, Code::ResourceExhausted),
        (0xc, Code::PermissionDenied),
        (0xd, Code::Internal),
        (0xe, Code::Internal),
        (u32::MAX, Code::Internal),
    ];
    for (number, code) in table {
        let status = Status::from_reset(ErrorCode(number), false);
        assert_eq!((status.code(), status.origin()), (code, Origin::Peer), "{number:#x}");
        let late = if number == 0x8 { Code::DeadlineExceeded } else { code };
        assert_eq!(Status::from_reset(ErrorCode(number), true).code(), late, "{number:#x}");
    }
    let text = Status::from_reset(ErrorCode::REFUSED_STREAM, false).to_string();
    assert_eq!(text, "UNAVAILABLE: the peer reset the stream with REFUSED_STREAM (from the peer)");
}

/// http-grpc-status-mapping.md.
#[test]
fn http_statuses_have_a_status() {
    for http in 100..=599 {
        let code = match http {
            400 | 431 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502 | 503 | 504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        let status = Status::from_http(http);
        assert_eq!(status.code(), code, "{http}");
        assert!(status.message().contains(&http.to_string()));
    }
}

/// The interop test special_status_message (grpc-rust #2107).
#[test]
fn messages_are_percent_encoded() {
    let special = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}\t\n";
    let wire = "%09%0Atest with whitespace%0D%0Aand Unicode BMP %E2%98%BA and non-BMP %F0%9F%98%88%09%0A";
    assert_eq!(encoded(special), wire);
    assert_eq!(decode_message(wire.as_bytes()), special);
    assert_eq!(encoded("100% \n \u{1f600}"), "100%25 %0A %F0%9F%98%80");
    assert_eq!(encoded("\0\u{1f}\u{7f}~ !$&"), "%00%1F%7F~ !$&");
    assert_eq!(encoded(""), "");
    let plain: String = (' '..='~').filter(|c| *c != '%').collect();
    assert_eq!(encoded(&plain), plain);
}

#[test]
fn decoding_never_fails_and_never_loses_the_message() {
    let cases: [(&[u8], &str); 12] = [
        (b"%", "%"),
        (b"%4", "%4"),
        (b"%zz", "%zz"),
        (b"%4z%41", "%4zA"),
        (b"a%20b%", "a b%"),
        (b"%%41", "%A"),
        (b"%e2%98%ba", "\u{263a}"),
        (b"%E2%82", "\u{fffd}"),
        (b"a%FFb", "a\u{fffd}b"),
        (b"\x80\xff", "\u{fffd}\u{fffd}"),
        (b"%00", "\0"),
        ("\u{263a}".as_bytes(), "\u{263a}"),
    ];
    for (wire, message) in cases {
        assert_eq!(decode_message(wire), message, "{}", wire.escape_ascii());
    }
    let long = "%41".repeat(30_000);
    assert_eq!(decode_message(long.as_bytes()), "A".repeat(30_000));
}

#[test]
fn a_message_that_does_not_fit_is_cut_between_characters() {
    let mut out = Vec::new();
    encode_message("ab\u{263a}c", 10, &mut out);
    assert_eq!(out, b"ab");
    out.clear();
    encode_message("ab\u{263a}c", 11, &mut out);
    assert_eq!(out, b"ab%E2%98%BA");
    out.clear();
    encode_message("a", 0, &mut out);
    assert_eq!(out, b"");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_survive_the_wire(message in any::<String>()) {
        let wire = encoded(&message);
        prop_assert!(wire.bytes().all(|c| matches!(c, 0x20..=0x7e)));
        prop_assert_eq!(decode_message(wire.as_bytes()), message);
    }

    #[test]
    fn any_octets_can_be_decoded(wire in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'%'), Just(b'4')], 0..60)) {
        let message = decode_message(&wire);
        // Where there is no escape, the text is what UTF-8 makes of the octets.
        if !wire.contains(&b'%') {
            prop_assert_eq!(message, String::from_utf8_lossy(&wire).into_owned());
        } else {
            prop_assert!(wire.is_empty() || !message.is_empty());
        }
    }

    #[test]
    fn a_cut_message_is_the_start_of_the_whole(message in any::<String>(), limit in 0..100usize) {
        let mut out = Vec::new();
        encode_message(&message, limit, &mut out);
        prop_assert!(out.len() <= limit);
        prop_assert!(message.starts_with(&decode_message(&out)));
    }
}
