//! Frame by frame (RFC 9113 §4.1, §4.2, §6). SETTINGS, GOAWAY and what depends on a stream's history have files of their own.

use super::{
    case::{Given::*, *},
    lab::{data, headers},
};
use pintle_core::{
    ErrorCode as E,
    testing::{raw::*, wire::*},
};

const R: u32 = 1 << 31;
/// Type, flags, stream, payload length: one frame of each type that has no END_STREAM, on stream 1 where it needs one.
const KINDS: [(&str, u8, u8, u32); 11] = [
    ("data", DATA, 0, 1),
    ("headers", HEADERS, END_HEADERS, 1),
    ("priority", PRIORITY, 0, 1),
    ("rst_stream", RST_STREAM, 0, 1),
    ("settings", SETTINGS, 0, 0),
    ("push_promise", PUSH_PROMISE, END_HEADERS, 1),
    ("ping", PING, 0, 0),
    ("goaway", GOAWAY, 0, 0),
    ("window_update", WINDOW_UPDATE, 0, 1),
    ("continuation", CONTINUATION, END_HEADERS, 1),
    ("unknown", 0x4d, 0, 1),
];

/// A payload with its pad length and so many octets of padding.
pub(crate) fn padded(octets: &[u8], padding: u8) -> Vec<u8> {
    [&[padding], octets, &vec![0; usize::from(padding)]].concat()
}

/// Priority fields in front of a block.
fn prioritized(dependency: u32, block: &[u8]) -> Vec<u8> {
    [&dependency.to_be_bytes()[..], &[15], block].concat()
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = heads();
    cases.extend(data_frames());
    cases.extend(headers_frames());
    cases.extend(priority_frames());
    cases.extend(rst_frames());
    cases.extend(push_frames());
    cases.extend(ping_frames());
    cases.extend(window_update_frames());
    cases
}

fn heads() -> Vec<Case> {
    let ping = |flags, stream| frame(PING, flags, stream, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut cases = vec![
        both("reserved_bit_of_a_stream_id", "4.1", Ready, ping(0, R)).does("PING ACK 0102030405060708", ""),
        both("reserved_bit_on_a_stream", "4.1", Open, data(1 | R, 0, &message(b"abc"))).does("", "message abc"),
        both("reserved_bit_of_an_increment", "6.9", Open, frame(WINDOW_UPDATE, 0, 1, &(R | 1).to_be_bytes())).ignored(),
        client("reserved_bit_of_a_last_stream_id", "6.8", Open, goaway(R | 1, 0, b"")).does("", "draining").unproved(),
        both("undefined_flags_of_ping", "4.1", Ready, ping(0xfe, 0)).does("PING ACK 0102030405060708", ""),
        both("undefined_flags_of_settings", "4.1", Ready, frame(SETTINGS, 0xfe, 0, &[])).does("SETTINGS ACK", ""),
        both("undefined_flags_of_data", "4.1", Open, data(1, 0xf6, &message(b"abc"))).does("", "message abc"),
        server("undefined_flags_of_headers", "4.1", Ready, frame(HEADERS, 0xd6, 1, REQUEST)).does("", "incoming"),
        both("undefined_flags_of_priority", "4.1", Open, frame(PRIORITY, 0xff, 1, &[0; 5])).ignored(),
        both("undefined_flags_of_window_update", "4.1", Open, frame(WINDOW_UPDATE, 0xff, 1, &[0, 0, 0, 9])).ignored(),
        server("undefined_flags_of_rst_stream", "4.1", Open, frame(RST_STREAM, 0xff, 1, &[0, 0, 0, 8]))
            .does("", "finished Cancelled")
            .over(),
        client("undefined_flags_of_goaway", "4.1", Open, frame(GOAWAY, 0xff, 0, &[0, 0, 0, 1, 0, 0, 0, 0])).does("", "draining").unproved(),
        server(
            "undefined_flags_of_continuation",
            "4.1",
            Ready,
            [frame(HEADERS, 0, 1, &REQUEST[..20]), frame(CONTINUATION, 0xff, 1, &REQUEST[20..])],
        )
        .does("", "incoming"),
        both("largest_data_frame_that_must_be_taken", "4.2", Open, data(1, 0, &message(&[b'x'; 16_379]))).does("", "message 16379"),
        server("largest_headers_frame_that_must_be_taken", "4.2", Ready, headers(1, 0, &block_of(16_384)))
            .config(|config| config.max_header_list = 64 << 10)
            .does("", "incoming"),
        both("unknown_frame_of_the_largest_size", "4.2", Ready, frame(0x4d, 0, 0, &[7; 16_384])).ignored(),
        both("data_frame_as_large_as_announced", "4.2", Open, data(1, 0, &message(&[b'x'; 20_000])))
            .config(|config| config.max_frame = 20_005)
            .does("", "message 20000"),
        both("data_frame_larger_than_announced", "4.2", Open, data(1, 0, &message(&[b'x'; 20_001])))
            .config(|config| config.max_frame = 20_005)
            .conn(E::FRAME_SIZE_ERROR),
        both("data_too_short_for_its_pad_length", "4.2", Open, data(1, PADDED, b"")).conn(E::FRAME_SIZE_ERROR),
        both("headers_too_short_for_their_pad_length", "4.2", Open, headers(1, PADDED, b"")).conn(E::FRAME_SIZE_ERROR),
        both("headers_too_short_for_their_priority", "4.2", Open, headers(1, PRIORITIZED, &[0; 4])).conn(E::FRAME_SIZE_ERROR),
        both("headers_too_short_for_padding_and_priority", "4.2", Open, headers(1, PADDED | PRIORITIZED, &[0; 5]))
            .conn(E::FRAME_SIZE_ERROR),
        both("goaway_too_short", "6.8", Ready, frame(GOAWAY, 0, 0, &[0; 7])).conn(E::FRAME_SIZE_ERROR),
    ];
    // Known by the nine octets of the head alone. On a stream it may be a stream error (§4.2); ours ends the connection (§5.4.2 lets it).
    for (what, kind, flags, stream) in KINDS {
        let head = Head { len: 16_385, kind, flags, stream }.octets().to_vec();
        cases.push(both(format!("{what}_longer_than_the_maximum"), "4.2", Open, head).conn(E::FRAME_SIZE_ERROR));
    }
    for (what, kind) in [("0x0a", 0x0a), ("0x10", 0x10), ("0x4d", 0x4d), ("0xff", 0xff)] {
        for (place, stream, given) in
            [("connection", 0, Ready), ("idle_stream", 7, Ready), ("open_stream", 1, Open), ("closed_stream", 1, ClosedBoth)]
        {
            cases.push(both(format!("unknown_type_{what}_on_{place}"), "5.5", given, frame(kind, 0xff, stream, b"grease")).ignored());
        }
    }
    cases
}

/// A request's block of so many octets.
fn block_of(octets: usize) -> Vec<u8> {
    let mut block = REQUEST.to_vec();
    let rest = octets - block.len() - 1 - 2 - 3;
    literal(&mut block, 0, b"x", &vec![b'v'; rest]);
    assert_eq!(block.len(), octets);
    block
}

fn data_frames() -> Vec<Case> {
    let hi = message(b"hi");
    vec![
        both("data_on_stream_0", "6.1", Open, data(0, 0, b"x")).conn(E::PROTOCOL_ERROR),
        both("data_with_as_much_padding_as_payload", "6.1", Open, data(1, PADDED, &[4, 0, 0, 0])).conn(E::PROTOCOL_ERROR),
        both("data_with_more_padding_than_payload", "6.1", Open, data(1, PADDED, &[255, 0, 0, 0])).conn(E::PROTOCOL_ERROR),
        both("data_of_padding_only", "6.1", Open, data(1, PADDED, &padded(b"", 3))).ignored(),
        both("data_with_padding", "6.1", Open, data(1, PADDED, &padded(&hi, 200))).does("", "message hi"),
        both("data_with_a_pad_length_of_0", "6.1", Open, data(1, PADDED, &padded(&hi, 0))).does("", "message hi"),
        // May be a PROTOCOL_ERROR; ours does not look.
        both("data_with_padding_that_is_not_0", "6.1", Open, data(1, PADDED, &[&[2], &hi[..], &[1, 2]].concat())).does("", "message hi"),
        both("empty_data", "6.1", Open, data(1, 0, b"")).ignored(),
        server("empty_data_that_ends_the_stream", "6.1", Open, data(1, END_STREAM, b"")).does("", "end"),
        server("padding_and_the_end", "6.1", Open, data(1, END_STREAM | PADDED, &padded(&hi, 9))).does("", "message hi; end"),
        server("data_on_an_idle_stream", "5.1", Ready, data(1, 0, b"x")).conn(E::PROTOCOL_ERROR),
        server("data_on_a_servers_own_idle_stream", "5.1", Ready, data(2, 0, b"x")).conn(E::PROTOCOL_ERROR),
        client("data_on_a_clients_own_idle_stream", "5.1", Ready, data(1, 0, b"x")).conn(E::PROTOCOL_ERROR),
        client("data_on_an_idle_stream_of_the_server", "5.1", Ready, data(2, 0, b"x")).conn(E::PROTOCOL_ERROR),
        server("data_after_the_end", "6.1", HalfRemote, data(1, 0, b"x")).stream(1, E::STREAM_CLOSED),
        server("empty_data_after_the_end", "6.1", HalfRemote, data(1, END_STREAM, b"")).stream(1, E::STREAM_CLOSED),
        server("message_in_many_frames", "6.1", Open, hi.iter().map(|octet| data(1, 0, &[*octet])).collect::<Vec<_>>().concat())
            .does("", "message hi"),
        server("messages_in_one_frame", "6.1", Open, data(1, 0, &[message(b"a"), message(b"b"), message(b"")].concat()))
            .does("", "message a; message b; message "),
    ]
}

fn headers_frames() -> Vec<Case> {
    vec![
        both("headers_on_stream_0", "6.2", Ready, headers(0, 0, REQUEST)).conn(E::PROTOCOL_ERROR),
        server("headers_with_as_much_padding_as_payload", "6.2", Ready, headers(1, PADDED, &[3, 0, 0])).conn(E::PROTOCOL_ERROR),
        client("response_headers_with_too_much_padding", "6.2", Sent, headers(1, PADDED, &[9, 0x88])).conn(E::PROTOCOL_ERROR),
        server("headers_with_priority_and_too_much_padding", "6.2", Ready, headers(1, PADDED | PRIORITIZED, &[1, 0, 0, 0, 0, 0]))
            .conn(E::PROTOCOL_ERROR),
        server("headers_with_padding", "6.2", Ready, headers(1, PADDED, &padded(REQUEST, 100))).does("", "incoming"),
        client("response_headers_with_padding", "6.2", Sent, headers(1, PADDED, &padded(RESPONSE, 255))).does("", "headers"),
        server("headers_with_priority", "6.2", Ready, headers(1, PRIORITIZED, &prioritized(R | 5, REQUEST))).does("", "incoming"),
        server("headers_with_padding_and_priority", "6.2", Ready, headers(1, PADDED | PRIORITIZED, &padded(&prioritized(0, REQUEST), 7)))
            .does("", "incoming"),
        client("response_headers_with_priority", "6.2", Sent, headers(1, PRIORITIZED, &prioritized(3, RESPONSE))).does("", "headers"),
        // RFC 7540 §5.3.1; RFC 9113 dropped the tree and neither repeats nor lifts the rule. h2spec asks for it.
        server("headers_that_depend_on_themselves", "5.3.2", Ready, headers(1, PRIORITIZED, &prioritized(1, REQUEST)))
            .conn(E::PROTOCOL_ERROR),
        server("request_in_one_frame", "8.1", Ready, headers(1, END_STREAM, REQUEST)).does("", "incoming; end"),
        server("even_stream_from_a_client", "5.1.1", Ready, headers(2, 0, REQUEST)).conn(E::PROTOCOL_ERROR),
        server("first_stream_need_not_be_1", "5.1.1", Ready, headers(77, 0, REQUEST)).does("", "incoming"),
        server("stream_ids_may_skip", "5.1.1", Open, headers(99, 0, REQUEST)).does("", "incoming").over(),
        server("highest_stream_id_of_all", "5.1.1", Ready, headers((1 << 31) - 1, 0, REQUEST)).does("", "incoming").unproved(),
        server("stream_id_lower_than_one_before", "5.1.1", Skipped, headers(3, 0, REQUEST)).conn(E::PROTOCOL_ERROR),
        client("headers_on_a_clients_idle_stream", "5.1", Ready, headers(1, 0, RESPONSE)).conn(E::PROTOCOL_ERROR),
        client("headers_on_an_idle_stream_of_the_server", "5.1", Open, headers(2, 0, RESPONSE)).conn(E::PROTOCOL_ERROR),
        server("headers_after_the_end", "5.1", HalfRemote, headers(1, END_STREAM, TRAILERS_OK)).stream(1, E::STREAM_CLOSED),
        server("trailers_without_the_end", "8.1", Open, headers(1, 0, TRAILERS_OK)).stream(1, E::PROTOCOL_ERROR),
        client("response_trailers_without_the_end", "8.1", Open, headers(1, 0, TRAILERS_OK)).stream(1, E::PROTOCOL_ERROR),
        server("request_beyond_the_limit", "5.1.2", Refused, headers(5, END_STREAM, REQUEST)).stream(5, E::REFUSED_STREAM).unproved(),
        server("request_beyond_the_limit_before_the_acknowledgement", "5.1.2", Unacked, [headers(1, 0, REQUEST), headers(3, 0, REQUEST)])
            .config(|config| config.max_concurrent_streams = 1)
            .does("RST_STREAM 3 REFUSED_STREAM", "incoming")
            .unproved(),
        server(
            "frames_of_a_refused_request_are_discarded",
            "5.1.2",
            Refused,
            [data(3, 0, &message(b"abc")), headers(3, END_STREAM, TRAILERS_OK), window_update(3, 1)],
        )
        .ignored()
        .unproved(),
        // Half-closed streams count as well as open ones.
        server("half_closed_request_counts_for_the_limit", "5.1.2", HalfRemote, headers(3, 0, REQUEST))
            .config(|config| config.max_concurrent_streams = 1)
            .stream(3, E::REFUSED_STREAM)
            .unproved(),
        server("closed_request_counts_no_more", "5.1.2", ClosedBoth, headers(3, 0, REQUEST))
            .config(|config| config.max_concurrent_streams = 1)
            .does("", "incoming")
            .unproved(),
        server(
            "request_beyond_the_limit_in_two_frames",
            "5.1.2",
            Refused,
            [frame(HEADERS, END_STREAM, 5, &REQUEST[..9]), frame(CONTINUATION, END_HEADERS, 5, &REQUEST[9..])],
        )
        .stream(5, E::REFUSED_STREAM)
        .unproved(),
        server("refused_request_is_decoded", "4.3", Refused, [headers(5, 0, &[REQUEST, b"\x40\x01a\x01b"].concat()), rst_stream(1, 8)])
            .does("RST_STREAM 5 REFUSED_STREAM", "finished Cancelled")
            .unproved(),
    ]
}

fn priority_frames() -> Vec<Case> {
    let priority = |stream, dependency: u32| frame(PRIORITY, 0, stream, &[&dependency.to_be_bytes()[..], &[1]].concat());
    let mut cases = vec![
        both("priority_on_stream_0", "6.3", Ready, priority(0, 1)).conn(E::PROTOCOL_ERROR),
        both("priority_of_4_octets", "6.3", Open, frame(PRIORITY, 0, 1, &[0; 4])).stream(1, E::FRAME_SIZE_ERROR),
        both("priority_of_6_octets", "6.3", Open, frame(PRIORITY, 0, 1, &[0; 6])).stream(1, E::FRAME_SIZE_ERROR),
        // RST_STREAM must not be sent for an idle stream (§6.4), so the stream error is promoted (§5.4.2).
        server("priority_of_4_octets_on_an_idle_stream", "6.3", Ready, frame(PRIORITY, 0, 7, &[0; 4])).conn(E::FRAME_SIZE_ERROR),
        client("priority_of_6_octets_on_an_idle_stream", "6.3", Ready, frame(PRIORITY, 0, 2, &[0; 6])).conn(E::FRAME_SIZE_ERROR),
        // Reset already: what comes is discarded, and there is one RST_STREAM for a stream (§5.4.2).
        both("priority_of_4_octets_after_our_reset", "5.4.2", OurReset, frame(PRIORITY, 0, 1, &[0; 4])).ignored(),
        both("priority_that_depends_on_itself", "5.3.2", Open, priority(1, 1)).stream(1, E::PROTOCOL_ERROR),
        server("priority_of_an_idle_stream_that_depends_on_itself", "5.3.2", Ready, priority(5, 5)).conn(E::PROTOCOL_ERROR),
        server("priority_opens_no_stream", "5.1.1", Ready, [priority(101, 0), headers(1, 0, REQUEST)]).does("", "incoming"),
        both("priority_update_is_an_unknown_frame", "5.3", Open, frame(0x10, 0, 0, b"\0\0\0\x01u=1")).ignored(),
    ];
    for (place, stream, given) in [
        ("an_idle_stream", 7, Ready),
        ("an_idle_even_stream", 2, Ready),
        ("an_open_stream", 1, Open),
        ("a_closed_stream", 1, ClosedBoth),
        ("a_stream_that_the_peer_reset", 1, PeerReset),
        ("a_stream_that_we_reset", 1, OurReset),
    ] {
        cases.push(both(format!("priority_on_{place}"), "6.3", given, priority(stream, 0)).ignored());
    }
    cases.push(server("priority_on_a_half_closed_stream", "6.3", HalfRemote, priority(1, 0)).ignored());
    cases.push(client("priority_on_a_locally_half_closed_stream", "6.3", HalfLocal, priority(1, 0)).ignored());
    cases
}

/// gRPC over HTTP/2, "Errors": RST_STREAM codes as a client's status. STREAM_CLOSED has no mapping there; HTTP_1_1_REQUIRED neither.
const STATUS_OF_RESET: [(&str, u32, &str); 14] = [
    ("no_error", 0x0, "outcome Internal"),
    ("protocol_error", 0x1, "outcome Internal"),
    ("internal_error", 0x2, "outcome Internal"),
    ("flow_control_error", 0x3, "outcome Internal"),
    ("settings_timeout", 0x4, "outcome Internal"),
    ("frame_size_error", 0x6, "outcome Internal"),
    ("refused_stream", 0x7, "outcome Unavailable"),
    ("cancel", 0x8, "outcome Cancelled"),
    ("compression_error", 0x9, "outcome Internal"),
    ("connect_error", 0xa, "outcome Internal"),
    ("enhance_your_calm", 0xb, "outcome ResourceExhausted"),
    ("inadequate_security", 0xc, "outcome PermissionDenied"),
    // §7: an unknown code may be treated as INTERNAL_ERROR; for a client of gRPC that is UNKNOWN or INTERNAL.
    ("unknown_0x2a", 0x2a, "outcome Internal"),
    ("unknown_0xffffffff", u32::MAX, "outcome Internal"),
];

fn rst_frames() -> Vec<Case> {
    let mut cases = vec![
        both("rst_stream_on_stream_0", "6.4", Ready, rst_stream(0, 8)).conn(E::PROTOCOL_ERROR),
        both("rst_stream_of_3_octets", "6.4", Open, frame(RST_STREAM, 0, 1, &[0; 3])).conn(E::FRAME_SIZE_ERROR),
        both("rst_stream_of_5_octets", "6.4", Open, frame(RST_STREAM, 0, 1, &[0; 5])).conn(E::FRAME_SIZE_ERROR),
        both("rst_stream_of_0_octets", "6.4", Open, frame(RST_STREAM, 0, 1, &[])).conn(E::FRAME_SIZE_ERROR),
        server("rst_stream_on_an_idle_stream", "6.4", Ready, rst_stream(1, 8)).conn(E::PROTOCOL_ERROR),
        server("rst_stream_on_a_servers_own_idle_stream", "6.4", Ready, rst_stream(2, 8)).conn(E::PROTOCOL_ERROR),
        client("rst_stream_on_a_clients_own_idle_stream", "6.4", Open, rst_stream(3, 8)).conn(E::PROTOCOL_ERROR),
        client("rst_stream_on_an_idle_stream_of_the_server", "6.4", Ready, rst_stream(2, 8)).conn(E::PROTOCOL_ERROR),
        server("rst_stream_on_an_open_stream", "5.1", Open, rst_stream(1, 8)).does("", "finished Cancelled").over(),
        server("rst_stream_on_a_half_closed_stream", "5.1", HalfRemote, rst_stream(1, 8)).does("", "finished Cancelled").over(),
        server("rst_stream_after_our_head", "5.1", Answered, rst_stream(1, 8)).does("", "finished Cancelled").over(),
        client("rst_stream_before_the_answer", "5.1", Sent, rst_stream(1, 8)).does("", "outcome Cancelled"),
        client("rst_stream_on_a_locally_half_closed_stream", "5.1", HalfLocal, rst_stream(1, 8)).does("", "outcome Cancelled").over(),
        // 8.1: a server may stop an upload behind its whole answer; the answer stays.
        client("no_error_behind_a_whole_answer", "8.1", Open, [headers(1, END_STREAM, TRAILERS_OK), rst_stream(1, 0)])
            .does("RST_STREAM 1 NO_ERROR", "outcome Ok")
            .over(),
    ];
    for (place, given) in [("closed", ClosedBoth), ("peer_reset", PeerReset), ("our_reset", OurReset)] {
        cases.push(both(format!("rst_stream_again_{place}"), "5.4.2", given, rst_stream(1, 8)).ignored());
    }
    for (code, number, seen) in STATUS_OF_RESET {
        cases.push(client(format!("reset_of_a_call_by_{code}"), "gRPC HTTP2", Open, rst_stream(1, number)).does("", seen).over());
    }
    cases
}

fn push_frames() -> Vec<Case> {
    let push =
        |stream, promised: u32, flags, block: &[u8]| frame(PUSH_PROMISE, flags, stream, &[&promised.to_be_bytes()[..], block].concat());
    vec![
        server("push_promise_from_a_client", "8.4", Open, push(1, 2, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        client("push_promise_after_we_disabled_push", "6.6", Open, push(1, 2, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        // It names a stream of ours, so the server has read our SETTINGS before: they are in front of every request.
        client(
            "push_promise_before_the_acknowledgement",
            "6.6",
            Unacked,
            [Step::Do(Act::Start(pintle_core::Shape::Bidi)), Step::In(push(1, 2, END_HEADERS, REQUEST))],
        )
        .conn(E::PROTOCOL_ERROR),
        client("push_promise_in_several_frames", "6.6", Open, push(1, 2, 0, &REQUEST[..4])).conn(E::PROTOCOL_ERROR),
        client("push_promise_on_stream_0", "6.6", Open, push(0, 2, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        client("push_promise_on_an_idle_stream", "6.6", Ready, push(1, 2, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        client("push_promise_of_an_odd_stream", "5.1.1", Open, push(1, 3, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        client("push_promise_of_stream_0", "6.6", Open, push(1, 0, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        client("push_promise_with_too_much_padding", "6.6", Open, frame(PUSH_PROMISE, END_HEADERS | PADDED, 1, &[9, 0, 0, 0, 2]))
            .conn(E::PROTOCOL_ERROR),
        client("push_promise_too_short", "4.2", Open, frame(PUSH_PROMISE, END_HEADERS, 1, &[0; 3])).conn(E::FRAME_SIZE_ERROR),
    ]
}

fn ping_frames() -> Vec<Case> {
    let ping = |flags, octets: &[u8]| frame(PING, flags, 0, octets);
    vec![
        both("ping_is_answered", "6.7", Ready, ping(0, &[9, 8, 7, 6, 5, 4, 3, 2])).does("PING ACK 0908070605040302", ""),
        both("pings_are_answered_in_order", "6.7", Open, [ping(0, &[1; 8]), ping(0, &[2; 8])])
            .does("PING ACK 0101010101010101; PING ACK 0202020202020202", ""),
        both("ping_acknowledgement_is_not_answered", "6.7", Ready, ping(ACK, &[1; 8])).ignored(),
        both("ping_acknowledgement_for_no_ping", "6.7", Open, [ping(ACK, &[0; 8]), ping(ACK, &[255; 8])]).ignored(),
        both("ping_on_a_stream", "6.7", Open, frame(PING, 0, 1, &[0; 8])).conn(E::PROTOCOL_ERROR),
        both("ping_acknowledgement_on_a_stream", "6.7", Open, frame(PING, ACK, 1, &[0; 8])).conn(E::PROTOCOL_ERROR),
        both("ping_of_7_octets", "6.7", Ready, ping(0, &[0; 7])).conn(E::FRAME_SIZE_ERROR),
        both("ping_of_9_octets", "6.7", Ready, ping(0, &[0; 9])).conn(E::FRAME_SIZE_ERROR),
        both("ping_without_octets", "6.7", Ready, ping(0, &[])).conn(E::FRAME_SIZE_ERROR),
        both("ping_acknowledgement_of_7_octets", "6.7", Ready, ping(ACK, &[0; 7])).conn(E::FRAME_SIZE_ERROR),
    ]
}

fn window_update_frames() -> Vec<Case> {
    let update = |stream, octets: &[u8]| frame(WINDOW_UPDATE, 0, stream, octets);
    let mut cases = vec![
        both("window_update_of_3_octets", "6.9", Open, update(1, &[0, 0, 1])).conn(E::FRAME_SIZE_ERROR),
        both("window_update_of_5_octets", "6.9", Open, update(0, &[0, 0, 0, 1, 0])).conn(E::FRAME_SIZE_ERROR),
        both("window_update_by_0_on_the_connection", "6.9", Open, update(0, &[0; 4])).conn(E::PROTOCOL_ERROR),
        both("window_update_by_0_on_a_stream", "6.9", Open, update(1, &[0; 4])).stream(1, E::PROTOCOL_ERROR),
        both("window_update_by_0_but_for_the_reserved_bit", "6.9", Open, update(1, &[0x80, 0, 0, 0])).stream(1, E::PROTOCOL_ERROR),
        both("window_update_by_0_after_our_reset", "5.4.2", OurReset, update(1, &[0; 4])).ignored(),
        server("window_update_by_0_on_an_idle_stream", "5.1", Ready, update(1, &[0; 4])).conn(E::PROTOCOL_ERROR),
        server("window_update_on_an_idle_stream", "5.1", Ready, window_update(1, 1)).conn(E::PROTOCOL_ERROR),
        server("window_update_on_a_servers_own_idle_stream", "5.1", Ready, window_update(2, 1)).conn(E::PROTOCOL_ERROR),
        client("window_update_on_a_clients_own_idle_stream", "5.1", Open, window_update(3, 1)).conn(E::PROTOCOL_ERROR),
        client("window_update_on_an_idle_stream_of_the_server", "5.1", Ready, window_update(2, 1)).conn(E::PROTOCOL_ERROR),
        both("window_update_beyond_the_maximum_on_a_stream", "6.9.1", Open, window_update(1, (1 << 31) - 1))
            .stream(1, E::FLOW_CONTROL_ERROR),
        both("window_update_beyond_the_maximum_on_the_connection", "6.9.1", Open, window_update(0, (1 << 31) - 1))
            .conn(E::FLOW_CONTROL_ERROR),
        both("window_update_to_the_maximum_on_a_stream", "6.9.1", Open, window_update(1, (1 << 31) - 1 - 65_535)).ignored(),
        both("window_update_to_the_maximum_on_the_connection", "6.9.1", Open, window_update(0, (1 << 31) - 1 - 65_535)).ignored(),
        both(
            "window_update_one_beyond_the_maximum_on_a_stream",
            "6.9.1",
            Open,
            [window_update(1, (1 << 31) - 1 - 65_535), window_update(1, 1)],
        )
        .stream(1, E::FLOW_CONTROL_ERROR),
        server("window_update_on_a_half_closed_stream", "5.1", HalfRemote, window_update(1, 5)).ignored(),
        client("window_update_on_a_locally_half_closed_stream", "5.1", HalfLocal, window_update(1, 5)).ignored(),
    ];
    for (place, given) in [("closed", ClosedBoth), ("peer_reset", PeerReset), ("our_reset", OurReset), ("forgotten", Forgotten)] {
        cases.push(both(format!("window_update_{place}"), "5.1", given, window_update(1, 5)).ignored());
    }
    cases
}
