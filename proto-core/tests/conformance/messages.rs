//! The sequence of a message's frames (RFC 9113 §8.1), informational heads, `content-length`, and gRPC's own order.

use super::{
    case::{Given::*, *},
    lab::{data, headers},
    peer::{block, request_block},
};
use pintle_core::{
    ErrorCode as E, Shape,
    testing::{raw::*, wire::*},
};

fn response(status: &str, more: &[(&str, &str)]) -> Vec<u8> {
    block(&[&[(":status", status), ("content-type", "application/grpc")], more].concat())
}

fn info(status: &str) -> Vec<u8> {
    headers(1, 0, &block(&[(":status", status), ("link", "</x>")]))
}

fn sized(stream: u32, flags: u8, length: &str) -> Vec<u8> {
    headers(stream, flags, &request_block("/S/M", &[("content-length", length.as_bytes())]))
}

fn answer(length: &str) -> Vec<u8> {
    headers(1, 0, &response("200", &[("content-length", length)]))
}

fn http_block(method: &str, length: &str) -> Vec<u8> {
    let pseudo = [(":method", method), (":scheme", "http"), (":path", "/page"), (":authority", "x")];
    block(&[&pseudo[..], &[("content-type", "text/plain"), ("content-length", length)]].concat())
}

fn post(length: &str) -> Vec<u8> {
    headers(1, 0, &http_block("POST", length))
}

/// A request that is not gRPC, to a server that takes such.
fn http<const N: usize>(name: &str, section: &'static str, frames: [Vec<u8>; N]) -> Case {
    server(name, section, Ready, frames).config(|config| config.accept_http = true)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = requests();
    cases.extend(responses());
    cases.extend(lengths());
    cases
}

fn requests() -> Vec<Case> {
    vec![
        server("request_with_its_end_on_data", "8.1", Ready, [headers(1, 0, REQUEST), data(1, END_STREAM, &message(b"a"))])
            .does("", "incoming; message a; end"),
        server(
            "request_with_its_end_on_an_empty_frame",
            "8.1",
            Ready,
            [headers(1, 0, REQUEST), data(1, 0, &message(b"a")), data(1, END_STREAM, b"")],
        )
        .does("", "incoming; message a; end"),
        server("request_with_trailers", "8.1", Open, [data(1, 0, &message(b"a")), headers(1, END_STREAM, &block(&[("checksum", "5")]))])
            .does("", "message a; end")
            .over(),
        server("request_with_empty_trailers", "8.1", Open, headers(1, END_STREAM, b"")).does("", "end").over(),
        server("second_trailers", "8.1", HalfRemote, headers(1, END_STREAM, TRAILERS_OK)).stream(1, E::STREAM_CLOSED),
        server("second_head_in_place_of_trailers", "8.1", Open, headers(1, END_STREAM, REQUEST)).stream(1, E::PROTOCOL_ERROR),
        server(
            "requests_may_interleave",
            "5",
            Open,
            [headers(3, 0, REQUEST), data(1, 0, &message(b"one")[..4]), data(3, 0, &message(b"three")), data(1, 0, &message(b"one")[4..])],
        )
        .does("", "incoming; message one; message three")
        .over(),
    ]
}

fn responses() -> Vec<Case> {
    let mut cases = vec![
        client("informational_head_is_skipped", "8.1", Sent, [info("103"), headers(1, 0, RESPONSE)]).does("", "headers"),
        client("several_informational_heads", "8.1", Sent, [info("100"), info("102"), info("103"), info("199"), headers(1, 0, RESPONSE)])
            .does("", "headers"),
        client("informational_head_with_the_end", "8.1", Sent, headers(1, END_STREAM, &block(&[(":status", "103")])))
            .stream(1, E::PROTOCOL_ERROR),
        client("informational_head_behind_the_final_one", "8.1", Open, info("103")).stream(1, E::PROTOCOL_ERROR),
        client("data_behind_an_informational_head", "8.1", Sent, [info("103"), data(1, 0, &message(b"a"))]).stream(1, E::PROTOCOL_ERROR),
        client(
            "informational_head_and_trailers_only",
            "8.1",
            Sent,
            [info("103"), headers(1, END_STREAM, &response("200", &[("grpc-status", "5")]))],
        )
        .does("RST_STREAM 1 NO_ERROR", "outcome NotFound"),
        client("switching_protocols", "8.6", Sent, headers(1, 0, &block(&[(":status", "101")]))).stream(1, E::PROTOCOL_ERROR),
        client("data_before_the_head", "8.1", Sent, data(1, 0, &message(b"a"))).stream(1, E::PROTOCOL_ERROR),
        client("empty_data_before_the_head", "8.1", Sent, data(1, 0, b"")).stream(1, E::PROTOCOL_ERROR),
        client("second_final_head", "8.1", Open, headers(1, 0, RESPONSE)).stream(1, E::PROTOCOL_ERROR),
        client("head_with_status_in_place_of_trailers", "8.1", Open, headers(1, END_STREAM, &response("200", &[("grpc-status", "0")])))
            .stream(1, E::PROTOCOL_ERROR),
        client("response_with_trailers", "8.1", HalfLocal, [data(1, 0, &message(b"a")), headers(1, END_STREAM, TRAILERS_OK)])
            .does("", "message a; outcome Ok")
            .over(),
        client("response_that_ends_on_data", "gRPC HTTP2", HalfLocal, data(1, END_STREAM, &message(b"a")))
            .does("", "message a; outcome Internal")
            .over(),
        client("trailers_only", "gRPC HTTP2", Sent, headers(1, END_STREAM, &response("200", &[("grpc-status", "12")])))
            .does("RST_STREAM 1 NO_ERROR", "outcome Unimplemented"),
        client("trailers_without_grpc_status", "gRPC HTTP2", HalfLocal, headers(1, END_STREAM, &block(&[("x", "y")])))
            .does("", "outcome Unknown")
            .over(),
        client("empty_trailers", "gRPC HTTP2", HalfLocal, headers(1, END_STREAM, b"")).does("", "outcome Unknown").over(),
        client(
            "end_in_the_middle_of_a_message",
            "gRPC HTTP2",
            HalfLocal,
            [data(1, 0, &message(b"abc")[..6]), headers(1, END_STREAM, TRAILERS_OK)],
        )
        .does("", "outcome Internal")
        .over(),
        // §8.1: an answer may come before the request is whole.
        client("early_answer", "8.1", Open, [data(1, 0, &message(b"a")), headers(1, END_STREAM, TRAILERS_OK)])
            .does("RST_STREAM 1 NO_ERROR", "message a; outcome Ok")
            .over(),
        client(
            "responses_may_interleave",
            "5",
            Open,
            [
                Step::Do(Act::Start(Shape::Bidi)),
                Step::In(
                    [
                        headers(3, 0, RESPONSE),
                        data(1, 0, &message(b"one")[..4]),
                        data(3, 0, &message(b"three")),
                        data(1, 0, &message(b"one")[4..]),
                    ]
                    .concat(),
                ),
            ],
        )
        .does("HEADERS 3", "headers; message one; message three")
        .over(),
    ];
    // gRPC: HTTP status to status code, where the answer is no gRPC (http-grpc-status-mapping).
    for (status, seen) in [
        ("400", "outcome Internal"),
        ("401", "outcome Unauthenticated"),
        ("403", "outcome PermissionDenied"),
        ("404", "outcome Unimplemented"),
        ("429", "outcome Unavailable"),
        ("502", "outcome Unavailable"),
        ("503", "outcome Unavailable"),
        ("504", "outcome Unavailable"),
        ("418", "outcome Unknown"),
        ("500", "outcome Unknown"),
        ("302", "outcome Unknown"),
        ("600", "outcome Unknown"),
        ("999", "outcome Unknown"),
    ] {
        let head = headers(1, END_STREAM, &block(&[(":status", status)]));
        cases.push(client(format!("http_status_{status}"), "8.3.2", Sent, head).does("RST_STREAM 1 NO_ERROR", seen));
    }
    cases
}

fn lengths() -> Vec<Case> {
    let eight = message(b"abc");
    vec![
        server("content_length_that_is_right", "8.1.1", Ready, [sized(1, 0, "8"), data(1, END_STREAM, &eight)])
            .does("", "incoming; message abc; end"),
        server("content_length_and_less_data", "8.1.1", Ready, [sized(1, 0, "9"), data(1, END_STREAM, &eight)])
            .stream(1, E::PROTOCOL_ERROR),
        server("content_length_and_more_data", "8.1.1", Ready, [sized(1, 0, "7"), data(1, 0, &eight)]).stream(1, E::PROTOCOL_ERROR),
        server(
            "content_length_and_more_data_in_the_last_frame",
            "8.1.1",
            Ready,
            [sized(1, 0, "8"), data(1, 0, &eight), data(1, END_STREAM, b"x")],
        )
        .stream(1, E::PROTOCOL_ERROR),
        server(
            "content_length_does_not_count_padding",
            "8.1.1",
            Ready,
            [sized(1, 0, "8"), data(1, PADDED | END_STREAM, &super::frames::padded(&eight, 50))],
        )
        .does("", "incoming; message abc; end"),
        server("content_length_of_0_and_no_data", "8.1.1", Ready, sized(1, END_STREAM, "0")).does("", "incoming; end"),
        server("content_length_and_no_data", "8.1.1", Ready, sized(1, END_STREAM, "8")).stream(1, E::PROTOCOL_ERROR),
        server("content_length_and_an_empty_end", "8.1.1", Ready, [sized(1, 0, "8"), data(1, END_STREAM, b"")])
            .stream(1, E::PROTOCOL_ERROR),
        server(
            "content_length_and_trailers_too_early",
            "8.1.1",
            Ready,
            [sized(1, 0, "9"), data(1, 0, &eight), headers(1, END_STREAM, &block(&[("x", "y")]))],
        )
        .stream(1, E::PROTOCOL_ERROR),
        server(
            "content_length_and_trailers",
            "8.1.1",
            Ready,
            [sized(1, 0, "8"), data(1, 0, &eight), headers(1, END_STREAM, &block(&[("x", "y")]))],
        )
        .does("", "incoming; message abc; end"),
        server(
            "content_length_twice_the_same",
            "8.1.1",
            Ready,
            [headers(1, 0, &request_block("/S/M", &[("content-length", b"8"), ("content-length", b"8")])), data(1, END_STREAM, &eight)],
        )
        .does("", "incoming; message abc; end"),
        server(
            "content_length_twice_and_different",
            "8.1.1",
            Ready,
            headers(1, 0, &request_block("/S/M", &[("content-length", b"8"), ("content-length", b"9")])),
        )
        .stream(1, E::PROTOCOL_ERROR),
        // What was answered early is not malformed: the rest of the request comes as promised, and the answer waits for a window.
        server(
            "content_length_holds_behind_an_early_answer",
            "8.1.1",
            Ready,
            [
                Step::In([sized(1, 0, "16"), data(1, 0, &eight)].concat()),
                Step::Do(Act::Send(3)),
                Step::Do(Act::Finish),
                Step::In(data(1, END_STREAM, &eight)),
                Step::In(window_update(1, 100)),
            ],
        )
        .settings(&[(4, 0)])
        .does("HEADERS 1 200; DATA 1 8; HEADERS 1 ES grpc=0", "incoming; message abc")
        .unproved(),
        http("http_request_with_a_body", "8.1", [post("3"), data(1, END_STREAM, b"abc")]).does("", "http"),
        http("http_request_with_too_short_a_body", "8.1.1", [post("4"), data(1, END_STREAM, b"abc")]).stream(1, E::PROTOCOL_ERROR),
        http("http_request_with_too_long_a_body", "8.1.1", [post("2"), data(1, END_STREAM, b"abc")]).stream(1, E::PROTOCOL_ERROR),
        http("http_request_with_a_length_and_no_body", "8.1.1", [headers(1, END_STREAM, &http_block("POST", "2"))])
            .stream(1, E::PROTOCOL_ERROR),
        http("http_get_with_a_length_of_0", "8.1.1", [headers(1, END_STREAM, &http_block("GET", "0"))]).does("", "http"),
        http("http_request_with_trailers", "8.1", [post("3"), data(1, 0, b"abc"), headers(1, END_STREAM, &block(&[("x", "y")]))])
            .does("", "http"),
        http("http_request_with_a_pseudo_field_in_trailers", "8.1", [post("0"), headers(1, END_STREAM, &block(&[(":path", "/")]))])
            .stream(1, E::PROTOCOL_ERROR),
        http("http_data_after_the_end", "6.1", [headers(1, END_STREAM, &http_block("GET", "0")), data(1, 0, b"x")])
            .stream(1, E::STREAM_CLOSED),
        client("content_length_of_a_response", "8.1.1", Sent, [answer("8"), data(1, 0, &eight), headers(1, END_STREAM, TRAILERS_OK)])
            .does("RST_STREAM 1 NO_ERROR", "headers; message abc; outcome Ok"),
        client(
            "content_length_and_a_shorter_response",
            "8.1.1",
            Sent,
            [answer("9"), data(1, 0, &eight), headers(1, END_STREAM, TRAILERS_OK)],
        )
        .stream(1, E::PROTOCOL_ERROR),
        client("content_length_and_a_longer_response", "8.1.1", Sent, [answer("7"), data(1, 0, &eight)]).stream(1, E::PROTOCOL_ERROR),
        client(
            "content_length_of_trailers_only",
            "8.1.1",
            Sent,
            headers(1, END_STREAM, &response("200", &[("grpc-status", "0"), ("content-length", "5")])),
        )
        .stream(1, E::PROTOCOL_ERROR),
        client(
            "content_length_0_of_trailers_only",
            "8.1.1",
            Sent,
            headers(1, END_STREAM, &response("200", &[("grpc-status", "7"), ("content-length", "0")])),
        )
        .does("RST_STREAM 1 NO_ERROR", "outcome PermissionDenied"),
    ]
}
