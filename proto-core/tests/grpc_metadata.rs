//! Metadata: keys, values, binary values. Rules from PROTOCOL-HTTP2.md "Custom-Metadata".

use pintle_core::{Metadata, grpc::InvalidMetadata};
use proptest::prelude::*;

fn of(pairs: &[(&str, &str)]) -> Metadata {
    Metadata::from_pairs(pairs.iter().copied()).expect("valid pairs")
}

fn wire(metadata: &Metadata) -> Vec<(String, String)> {
    metadata.iter().map(|(name, value)| (name.into(), String::from_utf8_lossy(value).into_owned())).collect()
}

#[test]
fn order_and_duplicates_are_kept() {
    let metadata = of(&[("a", "1"), ("b", "2"), ("A", "3")]);
    assert_eq!(metadata.get("a"), Some("1"));
    assert_eq!(metadata.get_all("a").collect::<Vec<_>>(), ["1", "3"]);
    assert_eq!(metadata.get("missing"), None);
    assert_eq!(wire(&metadata), [("a", "1"), ("b", "2"), ("a", "3")].map(|(k, v)| (k.into(), v.into())));
    assert_eq!((metadata.len(), metadata.is_empty()), (3, false));
}

#[test]
fn keys_may_be_written_in_any_case() {
    let mut metadata = of(&[("Tenant-Id", "a")]);
    assert_eq!(wire(&metadata)[0].0, "tenant-id");
    assert_eq!(metadata.get("TENANT-ID"), Some("a"));
    metadata.append_bin("X-Bin", &[1]).expect("lower-cased, and encoded all the same");
    assert_eq!(wire(&metadata)[1], ("x-bin".into(), "AQ".into()));
    assert_eq!(metadata.get_bin("X-BIN").as_deref(), Some(&[1][..]));
}

#[test]
fn insert_replaces_and_remove_removes() {
    let mut metadata = of(&[("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")]);
    metadata.insert("A", "5").expect("valid");
    assert_eq!(wire(&metadata), [("b", "2"), ("c", "4"), ("a", "5")].map(|(k, v)| (k.into(), v.into())));
    assert!(metadata.insert("b", "\n").is_err());
    assert_eq!(metadata.get("b"), Some("2"), "a refused insert changes nothing");
    metadata.insert_bin("d-bin", b"x").expect("valid");
    metadata.insert_bin("d-bin", b"y").expect("valid");
    assert_eq!(metadata.get_all_bin("d-bin").collect::<Vec<_>>(), ["y"]);
    assert!(metadata.remove("C"));
    assert!(!metadata.remove("c"));
    assert_eq!(metadata.len(), 3);
    metadata.clear();
    assert_eq!((metadata.len(), metadata.is_empty(), &metadata), (0, true, &Metadata::new()));
    assert!(metadata.capacity() > 0);
}

#[test]
fn extend_appends() {
    let mut metadata = of(&[("a", "1")]);
    metadata.extend(&of(&[("a", "2"), ("b", "3")]));
    assert_eq!(metadata, of(&[("a", "1"), ("a", "2"), ("b", "3")]));
    assert_ne!(metadata, of(&[("a", "2"), ("a", "1"), ("b", "3")]));
}

/// What an application may not write (grpc-java #8522, grpc-go #9198).
#[test]
fn reserved_keys_are_refused_and_named() {
    let reserved = [
        "grpc-status",
        "grpc-message",
        "grpc-timeout",
        "grpc-encoding",
        "grpc-status-details-bin",
        "grpc-whatever",
        "Grpc-Status",
        "grpc-",
        "content-type",
        "Content-Type",
        "te",
        "user-agent",
        "host",
        "content-length",
        "connection",
        "Connection",
        "proxy-connection",
        "keep-alive",
        "transfer-encoding",
        "upgrade",
        ":path",
        ":status",
        ":authority",
        ":x",
        "",
    ];
    for key in reserved {
        let mut metadata = Metadata::new();
        for error in [metadata.append(key, "0"), metadata.insert(key, "0"), metadata.append_bin(key, b"0"), metadata.insert_bin(key, b"0")]
        {
            let error = error.expect_err(key);
            assert!(matches!(&error, InvalidMetadata::Key { key: named, .. } if named == key), "{error:?}");
            assert!(error.to_string().contains(&format!("{key:?}")), "{error}");
        }
        assert!(metadata.is_empty());
    }
    // gRFC A6: these are ordinary metadata.
    for key in ["grpc-previous-rpc-attempts", "grpc-retry-pushback-ms"] {
        assert_eq!(Metadata::new().append(key, "1"), Ok(()));
    }
}

#[test]
fn keys_are_of_a_few_characters() {
    let mut metadata = Metadata::new();
    for key in ["a b", "a\n", "caf\u{e9}", "a:b", "a/b", "a,b", "a+b", "\u{0}", "a\u{7f}", "K\u{212a}"] {
        assert!(matches!(metadata.append(key, "v"), Err(InvalidMetadata::Key { .. })), "{key:?}");
    }
    assert!(metadata.append("x-bin", "v").is_err(), "a binary key");
    assert!(metadata.append("x-BIN", "v").is_err(), "a binary key");
    assert!(metadata.append_bin("x", b"v").is_err(), "a text key");
    assert!(metadata.append_bin("-bin", b"v").is_err(), "no name");
    assert!(metadata.is_empty());
    metadata.append("0123456789abcdefghijklmnopqrstuvwxyz_-.", "v").expect("every allowed character");
    metadata.append("bin", "v").expect("not a suffix");
}

#[test]
fn text_values_are_printable_ascii() {
    let mut metadata = Metadata::new();
    for value in ["\n", "a\r\nb: c", "\0", "\t", "a\tb", "\u{7f}", "\u{80}", "caf\u{e9}", " a", "a ", " "] {
        let error = metadata.append("key", value).expect_err(value);
        assert!(matches!(&error, InvalidMetadata::Value { key, .. } if key == "key"), "{error:?}");
    }
    assert!(metadata.is_empty());
    let error = metadata.append("key", "hunter2\n").expect_err("a line feed");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "a value may be secret: {error}");
    let every: String = ('!'..='~').collect();
    for value in ["", "a b", &every] {
        metadata.insert("key", value).expect("valid");
        assert_eq!(metadata.get("key"), Some(value));
    }
}

/// PH2's example `foo-bin: 01` is `AQ`.
#[test]
fn binary_values_are_base64_without_padding() {
    let mut metadata = Metadata::new();
    for (octets, text) in [(&[1][..], "AQ"), (&[0, 1], "AAE"), (&[1, 2, 3], "AQID"), (&[], ""), (&[0xfb, 0xff], "+/8")] {
        metadata.insert_bin("x-bin", octets).expect("valid");
        assert_eq!(wire(&metadata)[0].1, text);
        assert_eq!(metadata.get_bin("x-bin").as_deref(), Some(octets));
    }
    assert_eq!(metadata.get("x-bin"), None, "binary is not text");
    assert_eq!(metadata.get_bin("x"), None);
}

#[test]
fn received_binary_values_in_every_form() {
    let decoded = |text: &str| {
        let mut metadata = Metadata::new();
        metadata.append_http("x-bin", text.as_bytes()).expect("valid HTTP");
        metadata.get_all_bin("x-bin").map(|value| value.to_vec()).collect::<Vec<_>>()
    };
    let one = vec![vec![0, 1]];
    let two = vec![vec![0, 1], vec![2, 3]];
    assert_eq!((decoded("AAE="), decoded("AAE")), (one.clone(), one));
    assert_eq!((decoded("AAE=,AgM"), decoded("AAE, AgM"), decoded("AAE,AgM=")), (two.clone(), two.clone(), two));
    assert_eq!(decoded("AQ==,AQ"), [[1], [1]]);
    assert_eq!(decoded(""), [[0u8; 0]]);
    assert_eq!(decoded("-_8"), [[0u8; 0]; 0], "the URL-safe alphabet is another");
    assert_eq!(decoded("AAE,!!,AgM"), [[0, 1], [2, 3]], "what is not base64 is left out");
}

/// The raw floor writes what gRPC keeps for itself, but nothing that HTTP/2 forbids (RFC 9113 §8.2).
#[test]
fn fields_of_plain_http() {
    let mut metadata = Metadata::new();
    for name in ["content-type", "Grpc-Status", "user-agent", "content-length", "grpc-status-details-bin", "x!y"] {
        metadata.append_http(name, b"\xe9 \x80").expect(name);
    }
    assert_eq!((metadata.len(), metadata.get("grpc-status")), (6, None), "octets that are not UTF-8 are in iter()");
    assert_eq!(metadata.iter().next(), Some(("content-type", &b"\xe9 \x80"[..])));
    for name in [":path", "connection", "Upgrade", "keep-alive", "proxy-connection", "transfer-encoding", "", "a b", "a:b", "caf\u{e9}"] {
        assert!(metadata.append_http(name, b"x").is_err(), "{name:?}");
    }
    for value in [&b"\0"[..], b"a\nb", b"a\rb", b" a", b"a ", b"\ta"] {
        assert!(metadata.append_http("x", value).is_err(), "{}", value.escape_ascii());
    }
    assert_eq!(metadata.len(), 6);
}

#[test]
fn debug_shows_fields_but_no_credentials() {
    let metadata = of(&[("tenant", "a"), ("authorization", "Bearer hunter2"), ("cookie", "hunter2")]);
    let debug = format!("{metadata:?}");
    assert_eq!(debug, r#"{"tenant": "a", "authorization": (hidden), "cookie": (hidden)}"#);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a list of pairs.
    #[test]
    fn metadata_is_a_list(steps in prop::collection::vec((0..4u8, "[a-cA-C]", "[!-~]{0,3}"), 0..30)) {
        let (mut metadata, mut model) = (Metadata::new(), Vec::<(String, String)>::new());
        for (kind, key, value) in steps {
            let lower = key.to_ascii_lowercase();
            match kind {
                0 | 1 => {
                    metadata.append(&key, &value).unwrap();
                    model.push((lower.clone(), value));
                }
                2 => {
                    metadata.insert(&key, &value).unwrap();
                    model.retain(|(k, _)| *k != lower);
                    model.push((lower.clone(), value));
                }
                _ => {
                    prop_assert_eq!(metadata.remove(&key), model.iter().any(|(k, _)| *k == lower));
                    model.retain(|(k, _)| *k != lower);
                }
            }
            prop_assert_eq!(wire(&metadata), model.clone());
            prop_assert_eq!(metadata.len(), model.len());
            prop_assert!(metadata.get_all(&key).eq(model.iter().filter(|(k, _)| *k == lower).map(|(_, v)| v.as_str())));
        }
    }

    #[test]
    fn binary_values_survive_the_wire(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6)) {
        let mut metadata = Metadata::new();
        for value in &values {
            metadata.append_bin("x-bin", value).unwrap();
        }
        prop_assert!(metadata.iter().all(|(_, value)| value.iter().all(|c| c.is_ascii_alphanumeric() || b"+/".contains(c))));
        prop_assert!(metadata.get_all_bin("x-bin").eq(values.iter().map(Vec::as_slice)));
        // Joined by an intermediary, they are the same values.
        if !values.is_empty() {
            let joined: Vec<_> = wire(&metadata).into_iter().map(|(_, value)| value).collect();
            let mut other = Metadata::new();
            other.append_http("x-bin", joined.join(",").as_bytes()).unwrap();
            prop_assert!(other.get_all_bin("x-bin").eq(values.iter().map(Vec::as_slice)));
        }
    }

    /// Whatever is accepted is valid on the wire.
    #[test]
    fn nothing_invalid_gets_in(key in any::<String>(), value in any::<String>()) {
        let mut metadata = Metadata::new();
        if metadata.append(&key, &value).is_ok() {
            let (name, text) = &wire(&metadata)[0];
            prop_assert!(name.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'.')) && !name.is_empty());
            prop_assert!(text.bytes().all(|c| matches!(c, 0x20..=0x7e)) && text.trim() == text);
        } else {
            prop_assert!(metadata.is_empty());
        }
    }
}
