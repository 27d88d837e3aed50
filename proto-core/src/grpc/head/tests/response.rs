//! What a client makes of responses.

use super::*;

#[test]
fn a_response_with_trailers() {
    let (head, metadata, extra) = response(&[(":status", b"200"), ("content-type", b"application/grpc+proto"), ("x", b"y")]);
    assert!(head.is_grpc() && !head.informational());
    assert_eq!((metadata.get("x"), head.grpc_status, extra.len()), (Some("y"), None, 0));
    let (trailers, metadata, extra) =
        response_within(LIMITS, true, &[("grpc-status", b"5"), ("grpc-message", b"no %E2%98%BA"), ("retry", b"no")]);
    let status = trailers.status(&extra);
    assert_eq!((status.code(), status.message(), status.origin()), (Code::NotFound, "no \u{263a}", Origin::Peer));
    assert_eq!((metadata.get("retry"), metadata.len()), (Some("no"), 1));
}

#[test]
fn malformed_response_heads() {
    let heads: [&[(&str, &[u8])]; 12] = [
        &[("grpc-status", b"0")],
        &[(":status", b"20")],
        &[(":status", b"2000")],
        &[(":status", b"2x0")],
        &[(":status", b"000")],
        &[(":status", b"")],
        &[(":status", b"101")],
        &[(":status", b"200"), (":status", b"200")],
        &[("x", b"y"), (":status", b"200")],
        &[(":status", b"200"), (":path", b"/")],
        &[(":status", b"200"), (":authority", b"h")],
        &[(":status", b"200"), (":method", b"GET")],
    ];
    for head in heads {
        let (fields, _, extra) = response(head);
        assert!(fields.malformed.is_some(), "{head:?}");
        let status = fields.status(&extra);
        assert_eq!((status.code(), status.origin()), (Code::Internal, Origin::Local), "{head:?}");
    }
    let (early, ..) = response(&[(":status", b"103"), ("link", b"x")]);
    assert!(early.informational() && early.malformed.is_none());
}

/// PH2 "Status" (grpc-node #2801).
#[test]
fn odd_statuses_are_never_ok() {
    let cases: [(&[u8], &str); 9] = [
        (b"42", "grpc-status 42, which is no known code: m"),
        (b"17", "grpc-status 17, which is no known code: m"),
        (b"4294967295", "grpc-status 4294967295, which is no known code: m"),
        (b"4294967296", "grpc-status is not one number: m"),
        (b"-1", "grpc-status is not one number: m"),
        (b"+0", "grpc-status is not one number: m"),
        (b"00", "grpc-status is not one number: m"),
        (b"abc", "grpc-status is not one number: m"),
        (b"", "grpc-status is not one number: m"),
    ];
    for (value, message) in cases {
        let (fields, _, extra) = response_within(LIMITS, true, &[("grpc-status", value), ("grpc-message", b"m")]);
        let status = fields.status(&extra);
        assert_eq!((status.code(), status.message()), (Code::Unknown, message), "{value:?}");
    }
    let (fields, _, extra) = response_within(LIMITS, true, &[("grpc-status", b"0"), ("grpc-status", b"13")]);
    assert_eq!(fields.status(&extra).code(), Code::Unknown, "two values");
    let (fields, ..) = response_within(LIMITS, true, &[("grpc-status", b" 0")]);
    assert!(fields.malformed.is_some(), "a leading space is malformed already");
    for number in 0..=16 {
        let (fields, _, extra) = response_within(LIMITS, true, &[("grpc-status", number.to_string().as_bytes())]);
        assert_eq!(fields.status(&extra).code().as_u32(), number);
    }
}

/// http-grpc-status-mapping.md (linkerd2 #3493).
#[test]
fn answers_of_proxies() {
    let cases = [
        (400, Code::Internal),
        (401, Code::Unauthenticated),
        (403, Code::PermissionDenied),
        (404, Code::Unimplemented),
        (408, Code::Unknown),
        (413, Code::Unknown),
        (415, Code::Unknown),
        (429, Code::Unavailable),
        (431, Code::Internal),
        (500, Code::Unknown),
        (502, Code::Unavailable),
        (503, Code::Unavailable),
        (504, Code::Unavailable),
        (204, Code::Unknown),
        (301, Code::Unknown),
        (200, Code::Unknown),
    ];
    for (http, code) in cases {
        let number = http.to_string();
        for more in [&[("content-type", &b"text/html"[..]), ("content-length", b"9")][..], &[]] {
            let head = [&[(":status", number.as_bytes())], more].concat();
            let (fields, _, extra) = response(&head);
            assert!(!fields.is_grpc(), "{http}");
            let status = fields.status(&extra).with_snippet(b"<html>\r\nno</html>");
            assert_eq!((status.code(), status.origin()), (code, Origin::Peer), "{http}");
            assert!(status.message().contains(&number) && status.message().ends_with("<html>  no</html>"), "{status}");
            assert_eq!(status.message().contains("text/html"), !more.is_empty(), "{status}");
            assert_eq!(status.message().contains("no content-type"), more.is_empty(), "{status}");
            // A message without an octet: there is nothing to be read.
            assert_eq!(fields.status(&extra).with_snippet(&[0; 5]), fields.status(&extra), "{status}");
        }
        // A grpc-status wins, with or without a content-type (Trailers-Only).
        let (fields, _, extra) = response(&[(":status", number.as_bytes()), ("grpc-status", b"12")]);
        assert_eq!(fields.status(&extra).code(), Code::Unimplemented, "{http}");
    }
}

#[test]
fn a_response_that_ends_without_a_status() {
    let (fields, _, extra) = response_within(LIMITS, true, &[("x", b"y")]);
    assert_eq!(fields.status(&extra).code(), Code::Unknown);
    let (fields, _, extra) = response(&[(":status", b"200"), ("content-type", b"application/grpc")]);
    assert_eq!(fields.status(&extra).to_string(), "UNKNOWN: the response ended without grpc-status (from the peer)");
}

/// PH2 "Status-Details": google.rpc.Status { code: 5, message: "x" } is 08 05 12 01 78.
#[test]
fn details_count_only_for_their_own_code() {
    let details = |fields: Pairs<'_>| {
        let (fields, _, extra) = response_within(LIMITS, true, fields);
        let status = fields.status(&extra);
        (status.code(), status.details().to_vec())
    };
    let five: &[u8] = b"CAUSAXg";
    assert_eq!(details(&[("grpc-status", b"5"), ("grpc-status-details-bin", five)]), (Code::NotFound, vec![8, 5, 18, 1, b'x']));
    assert_eq!(details(&[("grpc-status-details-bin", b"CAUSAXg="), ("grpc-status", b"5")]).1, [8, 5, 18, 1, b'x']);
    assert_eq!(details(&[("grpc-status", b"6"), ("grpc-status-details-bin", five)]), (Code::AlreadyExists, vec![]));
    assert_eq!(details(&[("grpc-status", b"0"), ("grpc-status-details-bin", five)]), (Code::Ok, vec![]));
    for junk in [&b"!!"[..], b"CA", b"CAUSAng", b"EgF4", b"//////////////8"] {
        assert_eq!(details(&[("grpc-status", b"5"), ("grpc-status-details-bin", junk)]), (Code::NotFound, vec![]), "{junk:?}");
    }
    let twice: Pairs<'_> = &[("grpc-status", b"5"), ("grpc-status-details-bin", five), ("grpc-status-details-bin", five)];
    assert_eq!(details(twice), (Code::NotFound, vec![]));
}

#[test]
fn junk_and_excess_in_trailers_fail_the_call() {
    let (fields, metadata, extra) = response_within(LIMITS, true, &[("grpc-status", b"0"), ("x-bin", b"!")]);
    assert_eq!((fields.status(&extra).code(), metadata.len()), (Code::Internal, 0));
    let (fields, _, extra) = response_within(LIMITS, true, &[("grpc-status", b"5"), ("x-bin", b"!")]);
    assert_eq!(fields.status(&extra).code(), Code::NotFound, "the server's own error says more");
    let (fields, _, extra) =
        response_within(HeadLimits { list_size: 64, fields: 9, most: 64 << 10 }, true, &[("grpc-status", b"0"), ("x", &[b'a'; 64])]);
    assert_eq!(fields.status(&extra).code(), Code::ResourceExhausted);
    let (fields, _, extra) = response_within(LIMITS, true, &[("grpc-status", b"0"), ("grpc-message", b"fine")]);
    assert_eq!(fields.status(&extra), Status::ok(), "OK has no message");
}
