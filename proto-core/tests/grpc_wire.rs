//! The small codings: grpc-timeout, the message prefix, routes. Vectors from PROTOCOL-HTTP2.md and grpc-go.

use pintle_core::{
    Code, Routes, Shape,
    grpc::{
        prefix::{Prefix, PrefixError},
        timeout::{self, MAX_MICROS},
    },
};
use proptest::prelude::*;

fn text(micros: u64) -> String {
    String::from_utf8(timeout::encode(micros).as_bytes().to_vec()).expect("ASCII")
}

/// As grpc-go's encoder does, where a microsecond can express it.
#[test]
fn timeouts_as_grpc_go_writes_them() {
    let cases = [
        (0, "1u"),
        (1, "1u"),
        (100_000, "100000u"),
        (1_000_000, "1000000u"),
        (99_999_999, "99999999u"),
        (100_000_000, "100000m"),
        (100_000_001, "100001m"),
        (99_999_999_000, "99999999m"),
        (99_999_999_001, "100000S"),
        (99_999_999_000_000, "99999999S"),
        (99_999_999_000_001, "1666667M"),
        (99_999_999 * 60_000_000, "99999999M"),
        (99_999_999 * 60_000_000 + 1, "1666667H"),
        (300 * 365 * 24 * 3_600_000_000, "2628000H"),
        (MAX_MICROS, "99999999H"),
        (MAX_MICROS + 1, "99999999H"),
        (u64::MAX, "99999999H"),
    ];
    for (micros, expected) in cases {
        assert_eq!(text(micros), expected, "{micros}");
    }
}

/// PH2 "Timeout" (grpc-go #2374, grpc-java #12201).
#[test]
fn timeouts_are_read_strictly() {
    let good: [(&[u8], u64); 11] = [
        (b"99999999H", MAX_MICROS),
        (b"1H", 3_600_000_000),
        (b"1M", 60_000_000),
        (b"1S", 1_000_000),
        (b"1m", 1_000),
        (b"1u", 1),
        (b"1n", 1),
        (b"1001n", 2),
        (b"0n", 0),
        (b"0S", 0),
        (b"00000001S", 1_000_000),
    ];
    for (value, micros) in good {
        assert_eq!(timeout::decode(value), Some(micros), "{}", value.escape_ascii());
    }
    let bad: [&[u8]; 19] = [
        b"",
        b"S",
        b"5",
        b"5s",
        b"-5S",
        b"-1S",
        b"+1S",
        b"123456789S",
        b"100000000S",
        b"1.5S",
        b"1 S",
        b" 1S",
        b"1S ",
        b"1SS",
        b"1h",
        b"1\xb5",
        b"\xff1S",
        b"0x1S",
        b"1,1S",
    ];
    for value in bad {
        assert_eq!(timeout::decode(value), None, "{}", value.escape_ascii());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is lost, and little is added: every unit but the finest begins at six digits or more.
    #[test]
    fn timeouts_round_up_and_keep_order(a in 0..2 * MAX_MICROS, shift in 0..60u32, step in 0..1000u64) {
        let a = a >> shift;
        let b = a.saturating_add(step);
        let decoded = |micros| timeout::decode(timeout::encode(micros).as_bytes()).expect("our own text");
        let back = decoded(a);
        prop_assert!(back >= a.clamp(1, MAX_MICROS));
        prop_assert!(back - a.clamp(1, MAX_MICROS) <= a / 100_000, "{a} became {back}");
        prop_assert!(back <= decoded(b));
        let len = text(a).len();
        prop_assert!((2..=9).contains(&len));
    }

    #[test]
    fn any_octets_are_a_timeout_or_not(value in prop::collection::vec(any::<u8>(), 0..12)) {
        let digits = value.len().saturating_sub(1);
        let valid = (1..=8).contains(&digits) && value[..digits].iter().all(u8::is_ascii_digit) && b"HMSmun".contains(&value[digits]);
        prop_assert_eq!(timeout::decode(&value).is_some(), valid);
    }

    #[test]
    fn prefixes_survive_the_wire(compressed in any::<bool>(), len in any::<u32>()) {
        let prefix = Prefix { compressed, len };
        prop_assert_eq!(Prefix::parse(prefix.encode(), u32::MAX), Ok(prefix));
    }
}

/// PH2 "Length-Prefixed-Message" and statuscodes.md (grpc-rust #1141).
#[test]
fn prefixes() {
    assert_eq!(Prefix { compressed: false, len: 0 }.encode(), [0; 5]);
    assert_eq!(Prefix { compressed: true, len: 0x0102_0304 }.encode(), [1, 1, 2, 3, 4]);
    assert_eq!(Prefix::parse([0, 0, 0, 4, 0], 1024), Ok(Prefix { compressed: false, len: 1024 }), "exactly the limit passes");
    let large = Prefix::parse([0, 0, 0, 4, 1], 1024).expect_err("over the limit");
    assert_eq!(large, PrefixError::TooLarge { len: 1025, limit: 1024 });
    let status = large.status();
    assert_eq!(
        (status.code(), status.message()),
        (Code::ResourceExhausted, "a message of 1025 octets is larger than the receiver's limit of 1024 (Config::max_recv_message)")
    );
    assert_eq!(Prefix::parse([0, 255, 255, 255, 255], 4 << 20).map_err(|e| e.status().code()), Err(Code::ResourceExhausted));
    for flag in [2, 60, 0x80, 255] {
        let broken = Prefix::parse([flag, 0, 0, 0, 0], u32::MAX).expect_err("a reserved flag");
        assert_eq!((broken, broken.status().code()), (PrefixError::Flag(flag), Code::Internal));
        assert!(broken.to_string().contains(&flag.to_string()));
    }
}

#[test]
fn routes_are_found_by_exactly_their_path() {
    let paths: Vec<String> = (0..200).map(|n| format!("/pkg.Service{}/Method{}", n % 7, n)).collect();
    let routes = Routes::new(paths.iter().map(|path| (path.as_str(), Shape::Unary))).expect("valid");
    assert_eq!((routes.len(), routes.is_empty()), (200, false));
    for (index, path) in paths.iter().enumerate() {
        let id = routes.find(path.as_bytes()).expect(path);
        assert_eq!((id.index(), routes.path(id), routes.shape(id)), (index, path.as_str(), Shape::Unary));
        assert_eq!(routes.find(&path.as_bytes()[1..]), None);
        assert_eq!(routes.find(format!("{path}/").as_bytes()), None);
        assert_eq!(routes.find(path.to_lowercase().as_bytes()), None);
    }
    assert!(routes.iter().map(|(path, _)| path).eq(paths.iter()));
    let none = Routes::new([]).expect("a server may have none");
    assert_eq!((none.find(b"/S/M"), none.len(), none.is_empty()), (None, 0, true));
}

#[test]
fn routes_that_cannot_be_served() {
    let bad = [
        ("", "begin with"),
        ("S/M", "begin with"),
        ("/", "no '/'"),
        ("/S", "no '/'"),
        ("//M", "service is empty"),
        ("/S/", "method is empty"),
        ("/S/M/", "more than two parts"),
        ("/a/b/c", "more than two parts"),
        ("/S/M?x", "unescaped"),
        ("/S/%4D", "unescaped"),
        ("/S/M N", "unescaped"),
        ("/S/M\u{e9}", "unescaped"),
        ("/S/M#f", "unescaped"),
    ];
    for (path, why) in bad {
        let error = Routes::new([("/ok.S/M", Shape::Unary), (path, Shape::Unary)]).expect_err(path).to_string();
        assert!(error.contains(why) && error.contains(&format!("{path:?}")), "{error}");
    }
    let error = Routes::new([("/S/M", Shape::Unary), ("/S/N", Shape::Unary), ("/S/M", Shape::Bidi)]).expect_err("twice").to_string();
    assert_eq!(error, "\"/S/M\" is there twice");
}
