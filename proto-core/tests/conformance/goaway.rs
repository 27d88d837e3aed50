//! GOAWAY, both ways (RFC 9113 §6.8, §5.4.1).

use super::{
    case::{Act::*, Given::*, *},
    lab::{data, headers},
};
use pintle_core::{
    ErrorCode as E, Shape,
    testing::{raw::*, wire::*},
};
use std::time::Duration;

const ALL: u32 = (1 << 31) - 1;
/// Acknowledges the PING that times our drain.
fn round_trip() -> Step {
    Step::In(frame(PING, ACK, 0, b"drain\0\0\0"))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = received();
    cases.extend(sent());
    cases
}

fn received() -> Vec<Case> {
    let mut cases = vec![
        both("goaway_on_a_stream", "6.8", Open, frame(GOAWAY, 0, 1, &[0; 8])).conn(E::PROTOCOL_ERROR),
        client("goaway_leaves_calls_up_to_its_id", "6.8", Open, goaway(1, 0, b"")).does("", "draining").unproved().going_on(),
        client("goaway_of_all_streams_leaves_every_call", "6.8", Open, goaway(ALL, 0, b"")).does("", "draining").unproved().going_on(),
        client("goaway_ends_calls_above_its_id", "6.8", Sent, goaway(0, 0, b""))
            .does("GOAWAY 0 NO_ERROR", "draining; outcome Unavailable unprocessed; closed")
            .unproved(),
        client(
            "goaway_ends_calls_that_have_no_stream_yet",
            "6.8",
            Open,
            [Step::In(settings(&[(3, 1)])), Step::Do(Start(Shape::Bidi)), Step::In(goaway(1, 0, b""))],
        )
        .does("SETTINGS ACK", "draining; outcome Unavailable unprocessed")
        .unproved(),
        client("goaway_without_calls", "6.8", Ready, goaway(0, 0, b"")).does("GOAWAY 0 NO_ERROR", "draining; closed").unproved(),
        client("goaway_in_two_steps", "6.8", Open, [goaway(ALL, 0, b""), goaway(1, 0, b"")]).does("", "draining").unproved().going_on(),
        client("goaway_lowered_below_a_call", "6.8", Sent, [goaway(ALL, 0, b""), goaway(0, 0, b"")])
            .does("GOAWAY 0 NO_ERROR", "draining; outcome Unavailable unprocessed; closed")
            .unproved(),
        client("goaway_again", "6.8", Open, [goaway(1, 0, b""), goaway(1, 0, b"")]).does("", "draining").unproved().going_on(),
        both("goaway_that_grows", "6.8", Open, [goaway(1, 0, b""), goaway(3, 0, b"")]).conn(E::PROTOCOL_ERROR),
        both("goaway_that_grows_to_all", "6.8", Open, [goaway(5, 0, b""), goaway(ALL, 0, b"")]).conn(E::PROTOCOL_ERROR),
        // Whose streams an even id can be is the sender's affair: nothing was opened by the server.
        client("goaway_with_an_even_id", "6.8", Open, goaway(2, 0, b"")).does("", "draining").unproved().going_on(),
        client("goaway_with_debug_data", "6.8", Open, goaway(1, 0, b"too_many_pings")).does("", "draining").unproved().going_on(),
        client("goaway_with_debug_data_that_is_no_text", "6.8", Open, goaway(1, 0, &[0xff; 300]))
            .does("", "draining")
            .unproved()
            .going_on(),
        client("goaway_with_16_kib_of_debug_data", "6.8", Open, goaway(1, 0, &[b'x'; 16_376])).does("", "draining").unproved().going_on(),
        client("calls_behind_a_goaway_are_ended_by_its_transport", "6.8", Open, [Step::In(goaway(1, 0, b"")), Step::Eof])
            .does("", "draining; outcome Unavailable; closed")
            .unproved(),
        client(
            "frames_of_an_unprocessed_call",
            "6.8",
            GoneAway,
            [headers(3, 0, RESPONSE), headers(3, END_STREAM, TRAILERS_OK), rst_stream(3, 7)],
        )
        .ignored(),
        server("goaway_from_a_client", "6.8", Open, goaway(0, 0, b"")).does("", "draining"),
        server("request_behind_a_clients_goaway", "6.8", Ready, [goaway(0, 0, b""), headers(1, 0, REQUEST)]).does("", "draining; incoming"),
        server("goaway_with_an_error_from_a_client", "6.8", Open, goaway(0, 2, b"")).does("", "draining"),
        both("goaway_does_not_stop_pings", "6.8", Open, [goaway(1, 0, b""), frame(PING, 0, 0, &[3; 8])])
            .does("PING ACK 0303030303030303", "draining")
            .unproved(),
        both("goaway_does_not_stop_settings", "6.8", Open, [goaway(1, 0, b""), settings(&[])]).does("SETTINGS ACK", "draining").unproved(),
    ];
    for (what, code) in [
        ("protocol_error", 1),
        ("internal_error", 2),
        ("flow_control_error", 3),
        ("settings_timeout", 4),
        ("stream_closed", 5),
        ("frame_size_error", 6),
        ("refused_stream", 7),
        ("cancel", 8),
        ("compression_error", 9),
        ("connect_error", 10),
        ("enhance_your_calm", 11),
        ("inadequate_security", 12),
        ("http_1_1_required", 13),
        ("unknown", 0x1234_5678),
    ] {
        let case = client(format!("goaway_by_{what}_lets_calls_end"), "7", Open, goaway(1, code, b""));
        cases.push(case.does("", "draining").unproved().going_on());
    }
    cases
}

fn sent() -> Vec<Case> {
    vec![
        server("drain_begins_with_all_streams", "6.8", Open, Drain).does("GOAWAY 2147483647 NO_ERROR; PING", "draining").unproved(),
        server("drain_names_the_last_stream_after_a_round_trip", "6.8", Open, [Step::Do(Drain), round_trip()])
            .does("GOAWAY 2147483647 NO_ERROR; PING; GOAWAY 1 NO_ERROR", "draining")
            .unproved()
            .going_on(),
        server("drain_names_the_last_stream_after_its_time", "6.8", Open, [Step::Do(Drain), Step::Wait(Duration::from_secs(5))])
            .does("GOAWAY 2147483647 NO_ERROR; PING; GOAWAY 1 NO_ERROR", "draining")
            .unproved()
            .going_on(),
        server("drain_takes_requests_until_the_round_trip", "6.8", Open, [Step::Do(Drain), Step::In(headers(3, 0, REQUEST)), round_trip()])
            .does("GOAWAY 2147483647 NO_ERROR; PING; GOAWAY 3 NO_ERROR", "draining; incoming")
            .unproved(),
        server("drain_without_streams_closes", "6.8", Ready, [Step::Do(Drain), round_trip()])
            .does("GOAWAY 2147483647 NO_ERROR; PING; GOAWAY 0 NO_ERROR", "draining; closed")
            .unproved(),
        server("drain_closes_behind_the_last_stream", "6.8", HalfRemote, [Step::Do(Drain), round_trip(), Step::Do(Finish)])
            .does("GOAWAY 2147483647 NO_ERROR; PING; GOAWAY 1 NO_ERROR; HEADERS 1 ES 200 grpc=0", "draining; closed")
            .unproved(),
        server("another_ping_is_not_the_round_trip", "6.8", Open, [Step::Do(Drain), Step::In(frame(PING, ACK, 0, &[7; 8]))])
            .does("GOAWAY 2147483647 NO_ERROR; PING", "draining")
            .unproved(),
        server("request_behind_our_goaway_is_ignored", "6.8", Drained, [headers(5, 0, REQUEST), data(5, END_STREAM, &message(b"a"))])
            .ignored(),
        server(
            "block_behind_our_goaway_in_two_frames_is_ignored",
            "6.8",
            Drained,
            [frame(HEADERS, END_STREAM, 5, &REQUEST[..9]), frame(CONTINUATION, END_HEADERS, 5, &REQUEST[9..])],
        )
        .ignored(),
        server("trailers_behind_our_goaway_are_ignored", "6.8", Drained, headers(3, END_STREAM, TRAILERS_OK)).ignored(),
        server(
            "frames_behind_our_goaway_are_ignored",
            "6.8",
            Drained,
            [window_update(3, 1), rst_stream(3, 8), frame(PRIORITY, 0, 3, &[0; 5])],
        )
        .ignored(),
        server("old_requests_go_on_behind_our_goaway", "6.8", Drained, data(1, 0, &message(b"abc"))).does("", "message abc"),
        server("error_behind_our_goaway_names_no_later_stream", "6.8", Drained, [headers(5, 0, REQUEST), data(0, 0, b"")])
            .conn(E::PROTOCOL_ERROR)
            .last(1),
        // A Last-Stream-ID must not grow (§6.8), not even by a block that costs the connection.
        server("flood_behind_our_goaway_names_no_later_stream", "6.8", Drained, {
            let mut frames = frame(HEADERS, 0, 7, b"");
            (0..20).for_each(|_| frames.extend(frame(CONTINUATION, 0, 7, b"")));
            frames
        })
        .conn(E::ENHANCE_YOUR_CALM)
        .last(1),
        server("idle_stream_behind_our_goaway_is_idle", "6.8", Drained, data(7, 0, b"x")).conn(E::PROTOCOL_ERROR).last(1),
        server("even_stream_behind_our_goaway", "5.1.1", Drained, headers(6, 0, REQUEST)).conn(E::PROTOCOL_ERROR).last(1),
        server("close_says_goaway", "5.4.1", Open, Shut).does("GOAWAY 1 NO_ERROR", "finished Cancelled; closed").unproved(),
        client("clients_close_says_goaway_0", "5.4.1", Open, Shut).does("GOAWAY 0 NO_ERROR", "outcome Unavailable; closed").unproved(),
        client("clients_drain_waits_for_its_calls", "6.8", Open, [Step::Do(Drain), Step::Do(Cancel)])
            .does("RST_STREAM 1 CANCEL; GOAWAY 0 NO_ERROR", "draining; closed")
            .unproved(),
        client("clients_drain_without_calls_closes", "6.8", Ready, Drain).does("GOAWAY 0 NO_ERROR", "draining; closed").unproved(),
        server("goaway_counts_reset_streams", "6.8", PeerReset, data(0, 0, b"")).conn(E::PROTOCOL_ERROR).last(1),
        server("goaway_counts_refused_streams", "6.8", Refused, data(0, 0, b"")).conn(E::PROTOCOL_ERROR).last(3),
        server("goaway_without_streams_says_0", "6.8", Ready, data(0, 0, b"")).conn(E::PROTOCOL_ERROR).last(0),
        client("goaway_of_a_client_names_no_stream", "6.8", Open, data(0, 0, b"")).conn(E::PROTOCOL_ERROR).last(0),
        both("nothing_is_said_behind_goaway", "5.4.1", Open, [data(0, 0, b""), frame(PING, 0, 0, &[0; 8]), settings(&[])])
            .conn(E::PROTOCOL_ERROR),
    ]
}
