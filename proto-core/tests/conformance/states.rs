//! Streams that are closed, by whatever end (RFC 9113 §5.1), and what reset and refusal leave behind. The whole table of states and
//! frames is in `transitions`.

use super::{
    case::{Given::*, *},
    lab::{data, headers},
};
use pintle_core::{
    ErrorCode as E, Shape,
    testing::{raw::*, wire::*},
};

pub(crate) fn cases() -> Vec<Case> {
    let late = || [data(1, 0, &message(b"abc")), window_update(1, 5), data(1, END_STREAM, b""), rst_stream(1, 8)];
    vec![
        // 5.1: after RST_STREAM an endpoint processes what is on its way, and discards it.
        server("late_frames_of_a_request_that_we_reset", "5.1", OurReset, late()).ignored(),
        client(
            "late_frames_of_a_call_that_we_reset",
            "5.1",
            OurReset,
            [headers(1, 0, RESPONSE), data(1, 0, &message(b"abc")), headers(1, END_STREAM, TRAILERS_OK)],
        )
        .ignored(),
        server("late_trailers_of_a_request_that_we_reset", "5.1", OurReset, headers(1, END_STREAM, TRAILERS_OK)).ignored(),
        server("data_on_a_stream_that_the_client_reset", "5.1", PeerReset, data(1, 0, b"x")).stream(1, E::STREAM_CLOSED),
        client("data_on_a_stream_that_the_server_reset", "5.1", PeerReset, data(1, 0, b"x")).stream(1, E::STREAM_CLOSED),
        // A stream error would do, too: one who resets a stream and goes on has lost track.
        server("headers_on_a_stream_that_the_client_reset", "5.1", PeerReset, headers(1, END_STREAM, TRAILERS_OK)).conn(E::STREAM_CLOSED),
        server("data_on_a_stream_closed_by_both", "5.1", ClosedBoth, data(1, 0, b"x")).stream(1, E::STREAM_CLOSED),
        client("data_on_a_call_closed_by_both", "5.1", ClosedBoth, data(1, END_STREAM, b"x")).stream(1, E::STREAM_CLOSED),
        server("headers_on_a_stream_closed_by_both", "5.1", ClosedBoth, headers(1, END_STREAM, REQUEST)).conn(E::STREAM_CLOSED),
        // "MAY" for a client's own stream (§5.1, closed): decoded and dropped, as it costs no more.
        client("headers_on_a_call_closed_by_both", "5.1", ClosedBoth, headers(1, END_STREAM, TRAILERS_OK)).ignored(),
        server("a_closed_stream_is_reset_only_once", "5.4.2", ClosedBoth, [data(1, 0, b"x"), data(1, 0, b"y"), data(1, END_STREAM, b"z")])
            .stream(1, E::STREAM_CLOSED),
        // Skipped ids are closed, never used (§5.1.1).
        server("data_on_a_skipped_stream", "5.1.1", Skipped, data(3, 0, b"x")).stream(3, E::STREAM_CLOSED).over(),
        server("window_update_on_a_skipped_stream", "5.1.1", Skipped, window_update(3, 1)).ignored(),
        server("rst_stream_on_a_skipped_stream", "5.1.1", Skipped, rst_stream(3, 8)).ignored(),
        // After a thousand others we know only that it was there once.
        server("data_on_a_forgotten_stream", "5.1", Forgotten, data(1, 0, b"x")).stream(1, E::STREAM_CLOSED),
        server("headers_on_a_forgotten_stream", "5.1", Forgotten, headers(1, END_STREAM, TRAILERS_OK)).conn(E::STREAM_CLOSED),
        server("rst_stream_on_a_forgotten_stream", "5.1", Forgotten, rst_stream(1, 8)).ignored(),
        client("data_on_a_forgotten_call", "5.1", Forgotten, data(1, 0, b"x")).stream(1, E::STREAM_CLOSED),
        client("headers_on_a_forgotten_call", "5.1", Forgotten, headers(1, END_STREAM, TRAILERS_OK)).ignored(),
        server("request_and_reset_before_anyone_looked", "5.1", Ready, [headers(1, 0, REQUEST), rst_stream(1, 8)]).ignored(),
        server(
            "whole_request_and_its_reset",
            "5.1",
            Ready,
            [headers(1, 0, REQUEST), data(1, END_STREAM, &message(b"a")), rst_stream(1, 8)],
        )
        .ignored(),
        server(
            "what_follows_an_early_answer_is_discarded",
            "8.1",
            Answered,
            [Step::Do(Act::Finish), Step::In([data(1, 0, &message(b"abc")), headers(1, END_STREAM, TRAILERS_OK)].concat())],
        )
        .does("HEADERS 1 ES grpc=0; RST_STREAM 1 NO_ERROR", "")
        .over(),
        // A reset does not interrupt the peer's block: its rest belongs to the table.
        client(
            "reset_in_the_middle_of_a_responses_block",
            "4.3",
            Sent,
            [
                Step::In(frame(HEADERS, 0, 1, &RESPONSE[..7])),
                Step::Do(Act::Cancel),
                Step::In(frame(CONTINUATION, END_HEADERS, 1, &RESPONSE[7..])),
            ],
        )
        .does("RST_STREAM 1 CANCEL", ""),
        server(
            "reset_in_the_middle_of_a_requests_trailers",
            "4.3",
            Open,
            [
                Step::In(frame(HEADERS, END_STREAM, 1, &TRAILERS_OK[..7])),
                Step::Do(Act::Cancel),
                Step::In(frame(CONTINUATION, END_HEADERS, 1, &TRAILERS_OK[7..])),
            ],
        )
        .does("RST_STREAM 1 CANCEL", "")
        .over(),
        server(
            "request_whose_block_ends_behind_our_goaway",
            "6.8",
            Open,
            [
                Step::In(frame(HEADERS, 0, 3, &REQUEST[..7])),
                Step::Do(Act::Drain),
                Step::Wait(std::time::Duration::from_secs(5)),
                Step::In(frame(CONTINUATION, END_HEADERS, 3, &REQUEST[7..])),
            ],
        )
        .does("GOAWAY 2147483647 NO_ERROR; PING; GOAWAY 1 NO_ERROR", "draining")
        .unproved()
        .going_on(),
        server("answer_before_the_end_of_the_request_stops_it", "8.1", Answered, Act::Finish)
            .does("HEADERS 1 ES grpc=0; RST_STREAM 1 NO_ERROR", "")
            .over(),
        server("answer_behind_the_end_of_the_request_resets_nothing", "8.1", HalfRemote, Act::Finish)
            .does("HEADERS 1 ES 200 grpc=0", "")
            .over(),
        client("answer_before_the_end_of_the_request_frees_the_stream", "8.1", Open, headers(1, END_STREAM, TRAILERS_OK))
            .does("RST_STREAM 1 NO_ERROR", "outcome Ok")
            .over(),
        client("refused_call_may_be_repeated", "8.7", Sent, rst_stream(1, 7)).does("", "outcome Unavailable unprocessed"),
        // It cannot be taken back when the answer has begun.
        client("refused_call_that_was_answered", "8.7", Open, rst_stream(1, 7)).does("", "outcome Unavailable").over(),
        client("reset_call_may_have_been_processed", "8.7", Sent, rst_stream(1, 2)).does("", "outcome Internal"),
        client("call_lost_with_its_transport_may_have_been_processed", "8.7", Sent, [Step::Eof]).does("", "outcome Unavailable; closed"),
        client(
            "queued_call_lost_with_its_transport_was_not_processed",
            "8.7",
            Open,
            [Step::In(settings(&[(3, 1)])), Step::Do(Act::Start(Shape::Bidi)), Step::Eof],
        )
        .does("SETTINGS ACK", "outcome Unavailable; outcome Unavailable unprocessed; closed"),
        client("call_cancelled_behind_its_end_is_reset_once", "5.1", HalfLocal, Act::Cancel).does("RST_STREAM 1 CANCEL", "").over(),
        server(
            "trailers_in_two_frames_behind_our_reset",
            "5.1",
            OurReset,
            [frame(HEADERS, END_STREAM, 1, &TRAILERS_OK[..4]), frame(CONTINUATION, END_HEADERS, 1, &TRAILERS_OK[4..])],
        )
        .ignored(),
        server(
            "headers_in_two_frames_after_the_end",
            "5.1",
            HalfRemote,
            [frame(HEADERS, END_STREAM, 1, &TRAILERS_OK[..4]), frame(CONTINUATION, END_HEADERS, 1, &TRAILERS_OK[4..])],
        )
        .stream(1, E::STREAM_CLOSED),
        client(
            "calls_wait_for_the_servers_limit",
            "5.1.2",
            Open,
            [Step::In(settings(&[(3, 1)])), Step::Do(Act::Start(Shape::Bidi)), Step::In(rst_stream(1, 8))],
        )
        .does("SETTINGS ACK; HEADERS 3", "outcome Cancelled")
        .unproved(),
        client(
            "calls_begin_when_the_limit_is_raised",
            "5.1.2",
            Ready,
            [Step::In(settings(&[(3, 0)])), Step::Do(Act::Start(Shape::Bidi)), Step::In(settings(&[(3, 1)]))],
        )
        .does("SETTINGS ACK; SETTINGS ACK; HEADERS 1", "")
        .unproved(),
    ]
}
