//! Flow control, both directions (RFC 9113 §5.2, §6.9).

use super::{
    case::{Act::*, Given::*, *},
    frames::padded,
    lab::{Lab, data, headers},
};
use pintle_core::{
    Config, ErrorCode as E, Shape,
    testing::{Cut, raw::*, wire::*},
};

const MAX: u32 = (1 << 31) - 1;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = ours();
    cases.extend(theirs());
    cases
}

fn bytes(octets: Vec<u8>) -> Step {
    Step::In(octets)
}

/// What we may send. Messages have five octets of prefix.
fn ours() -> Vec<Case> {
    let mut cases = Vec::new();
    // Name, the peer's SETTINGS, steps, frames.
    type Windows = (&'static str, &'static str, &'static [(u16, u32)], Vec<Step>, &'static str);
    let rows: Vec<Windows> = vec![
        ("no_more_than_the_streams_window", "6.9.1", &[(4, 10)], vec![Step::Do(Send(20))], "DATA 1 10"),
        ("window_update_lets_more_out", "6.9.1", &[(4, 10)], vec![Step::Do(Send(20)), bytes(window_update(1, 5))], "DATA 1 10; DATA 1 5"),
        (
            "window_updates_add_up",
            "6.9",
            &[(4, 0)],
            vec![Step::Do(Send(20)), bytes([window_update(1, 1), window_update(1, 1), window_update(1, 3)].concat())],
            "DATA 1 5",
        ),
        ("window_of_0_stops_data", "6.9.1", &[(4, 0)], vec![Step::Do(Send(1))], ""),
        // The worked example of h2spec 6.9.2/2: 3, then 2 makes -1, then 2 more make 1.
        (
            "window_may_be_negative",
            "6.9.2",
            &[(4, 3)],
            vec![Step::Do(Send(20)), bytes(settings(&[(4, 2)])), bytes(window_update(1, 2))],
            "DATA 1 3; SETTINGS ACK; DATA 1 1",
        ),
        (
            "negative_window_waits_until_it_is_above_0",
            "6.9.2",
            &[(4, 10)],
            vec![Step::Do(Send(20)), bytes(settings(&[(4, 0)])), bytes(window_update(1, 10)), bytes(window_update(1, 1))],
            "DATA 1 10; SETTINGS ACK; DATA 1 1",
        ),
        (
            "raised_initial_window_counts_for_open_streams",
            "6.9.2",
            &[(4, 3)],
            vec![Step::Do(Send(20)), bytes(settings(&[(4, 8)]))],
            "DATA 1 3; SETTINGS ACK; DATA 1 5",
        ),
        (
            "several_initial_windows_in_one_frame",
            "6.5.3",
            &[(4, 3)],
            vec![Step::Do(Send(20)), bytes(settings(&[(4, 100), (4, 0), (4, 8)]))],
            "DATA 1 3; SETTINGS ACK; DATA 1 5",
        ),
        (
            "initial_window_there_and_back",
            "6.9.2",
            &[(4, 3)],
            vec![Step::Do(Send(20)), bytes([settings(&[(4, 0)]), settings(&[(4, 3)])].concat()), bytes(window_update(1, 1))],
            "DATA 1 3; SETTINGS ACK; SETTINGS ACK; DATA 1 1",
        ),
        (
            "settings_do_not_change_the_connections_window",
            "6.9.2",
            &[(4, 1 << 20)],
            vec![Step::Do(Send(100_000)), bytes(settings(&[(4, 1 << 21)])), bytes(window_update(0, 100))],
            "DATA 1 65535; SETTINGS ACK; DATA 1 100",
        ),
        (
            "the_smaller_of_both_windows_counts",
            "6.9.1",
            &[(4, 70_000)],
            vec![Step::Do(Send(100_000)), bytes(window_update(0, 10_000)), bytes(window_update(1, 7))],
            "DATA 1 65535; DATA 1 4465; DATA 1 7",
        ),
        ("frames_keep_to_the_peers_maximum", "4.2", &[], vec![Step::Do(Send(20_000))], "DATA 1 16384; DATA 1 3621"),
        (
            "a_raised_maximum_counts_at_once",
            "6.5.3",
            &[],
            vec![bytes(settings(&[(5, 17_000)])), Step::Do(Send(20_000))],
            "SETTINGS ACK; DATA 1 17000; DATA 1 3005",
        ),
        (
            "a_lowered_maximum_counts_at_once",
            "6.5.3",
            &[(5, 32_000)],
            vec![bytes(settings(&[(5, 16_384)])), Step::Do(Send(20_000))],
            "SETTINGS ACK; DATA 1 16384; DATA 1 3621",
        ),
        (
            "pings_are_answered_while_data_waits",
            "5.2.1",
            &[(4, 0)],
            vec![Step::Do(Send(20)), bytes(frame(PING, 0, 0, &[1; 8]))],
            "PING ACK 0101010101010101",
        ),
    ];
    for (name, section, settings, steps, wire) in rows {
        for (role, given) in [("client", Open), ("server", Answered)] {
            let name = format!("{name}_{role}");
            let case = if role == "client" {
                client(name, section, given, Steps(steps.clone()))
            } else {
                server(name, section, given, Steps(steps.clone()))
            };
            let case = case.settings(settings).does(wire, "").unproved();
            cases.push(if wire.contains("65535") { case.summed() } else { case });
        }
    }
    cases.extend([
        client("end_of_stream_needs_no_window", "6.9.1", Open, Close).settings(&[(4, 0)]).does("DATA 1 0 ES", "").unproved(),
        server("trailers_need_no_window", "6.9.1", Answered, Finish)
            .settings(&[(4, 0)])
            .does("HEADERS 1 ES grpc=0; RST_STREAM 1 NO_ERROR", "")
            .unproved(),
        client("heads_need_no_window", "6.9", Ready, Start(Shape::Bidi)).settings(&[(4, 0)]).does("HEADERS 1", "").unproved(),
        server("response_head_needs_no_window", "6.9", HalfRemote, Send(5)).settings(&[(4, 0)]).does("HEADERS 1 200", "").unproved(),
        client(
            "new_streams_begin_with_the_new_initial_window",
            "6.9.2",
            Open,
            [bytes(settings(&[(4, 7)])), Step::Do(Start(Shape::Bidi)), Step::Do(Send(20))],
        )
        .does("SETTINGS ACK; HEADERS 3; DATA 3 7", "")
        .unproved(),
        both("initial_window_takes_a_window_beyond_the_maximum", "6.9.2", Open, [window_update(1, MAX - 65_535), settings(&[(4, 65_536)])])
            .conn(E::FLOW_CONTROL_ERROR),
        both("initial_window_takes_a_window_to_the_maximum", "6.9.2", Open, [window_update(1, MAX - 70_000), settings(&[(4, 70_000)])])
            .does("SETTINGS ACK", ""),
        // All values count, in order (§6.5.3).
        both(
            "initial_window_beyond_the_maximum_for_a_moment",
            "6.9.2",
            Open,
            [window_update(1, MAX - 65_535), settings(&[(4, 65_536), (4, 65_535)])],
        )
        .conn(E::FLOW_CONTROL_ERROR),
        both(
            "lower_initial_window_takes_no_window_beyond",
            "6.9.2",
            Open,
            [window_update(1, MAX - 65_535), settings(&[(4, 100)]), settings(&[(4, 65_535)])],
        )
        .does("SETTINGS ACK; SETTINGS ACK", ""),
        // §5.1, half-closed (local): WINDOW_UPDATE is never an error, and there is no window that could be too large.
        client("window_of_a_side_that_has_ended_is_no_matter", "5.1", HalfLocal, [window_update(1, MAX), window_update(1, MAX)]).ignored(),
        client(
            "initial_window_is_no_matter_for_a_side_that_has_ended",
            "6.9.2",
            Open,
            [Step::In(window_update(1, MAX - 65_535)), Step::Do(Close), Step::In(settings(&[(4, MAX)]))],
        )
        .does("DATA 1 0 ES; SETTINGS ACK", ""),
        server("window_beyond_the_maximum_on_a_half_closed_stream", "6.9.1", HalfRemote, window_update(1, MAX))
            .stream(1, E::FLOW_CONTROL_ERROR),
        both("window_of_a_closed_stream_is_no_matter", "6.9.2", OurReset, [window_update(1, MAX - 65_535), settings(&[(4, MAX)])])
            .does("SETTINGS ACK", ""),
        code("empty_end_while_the_connections_window_is_used_up", "6.9.1", Role::Client, an_end_without_window),
    ]);
    cases
}

/// A call ends its side with an empty frame while another has used up the connection's window (§6.9.1).
fn an_end_without_window(cut: Cut) {
    let mut lab = Lab::new(false, Open, &[(4, 1 << 20)], |_| {}, cut);
    lab.step(&Step::Do(Send(100_000)));
    lab.said.clear();
    lab.step(&Step::Do(Start(Shape::Bidi)));
    lab.step(&Step::Do(Close));
    assert_eq!(lab.wire(), "HEADERS 3; DATA 3 0 ES");
}

/// The start of a message of so many octets, in frames.
fn start_of(stream: u32, announced: u32, octets: usize) -> Vec<u8> {
    let mut body = vec![0];
    body.extend_from_slice(&announced.to_be_bytes());
    body.resize(octets, b'd');
    body.chunks(16_384).flat_map(|piece| data(stream, 0, piece)).collect()
}

/// Padding, one frame of 256 octets after another.
fn padding(stream: u32, frames: usize) -> Vec<u8> {
    data(stream, PADDED, &padded(b"", 255)).repeat(frames)
}

const TIGHT: fn(&mut Config) = |config| config.connection_window = 65_535;
const SMALL: fn(&mut Config) = |config| config.initial_window = 1_024;

/// What the peer may send. Ours are 131,072 for a stream and 1 MiB for the connection; credit is given back at half of either.
fn theirs() -> Vec<Case> {
    let lost = |stream| start_of(stream, 60_000, 49_152);
    vec![
        both("data_up_to_the_streams_window", "6.9.1", Open, start_of(1, 131_067, 131_072))
            .does("WINDOW_UPDATE 1 131072", "message 131067"),
        both("one_octet_beyond_the_streams_window", "6.9.1", Open, start_of(1, 200_000, 131_073)).stream(1, E::FLOW_CONTROL_ERROR),
        both("data_up_to_the_connections_window", "6.9.1", Open, start_of(1, 65_530, 65_535))
            .config(TIGHT)
            .does("WINDOW_UPDATE 0 65535", "message 65530"),
        both("one_octet_beyond_the_connections_window", "6.9.1", Open, start_of(1, 100_000, 65_536))
            .config(TIGHT)
            .conn(E::FLOW_CONTROL_ERROR),
        both("padding_counts_for_the_connections_window", "6.9.1", Open, padding(1, 256)).config(TIGHT).conn(E::FLOW_CONTROL_ERROR),
        both("padding_counts_for_the_streams_window", "6.9.1", Open, padding(1, 513)).stream(1, E::FLOW_CONTROL_ERROR),
        both("padding_is_given_back", "6.9.1", Open, padding(1, 300)).does("WINDOW_UPDATE 1 76800", ""),
        both("padding_is_given_back_to_the_connection", "6.9.1", Open, padding(1, 200)).config(TIGHT).does("WINDOW_UPDATE 0 51200", ""),
        both("empty_data_needs_no_window", "6.9", Open, [start_of(1, 65_530, 65_535), data(1, 0, b""), data(1, 0, b"")])
            .config(TIGHT)
            .does("WINDOW_UPDATE 0 65535", "message 65530"),
        both("half_of_a_window_is_given_back", "6.9", Open, start_of(1, 65_532, 65_537)).does("WINDOW_UPDATE 1 65537", "message 65532"),
        both(
            "window_is_given_back_again_and_again",
            "6.9",
            Open,
            [Step::In(start_of(1, 65_532, 65_537)), Step::In(start_of(1, 65_532, 65_537)), Step::In(start_of(1, 70_000, 70_005))],
        )
        .does("WINDOW_UPDATE 1 65537; WINDOW_UPDATE 1 65537; WINDOW_UPDATE 1 70005", "message 65532; message 65532; message 70000"),
        both("less_than_half_of_a_window_is_not_announced", "6.9", Open, start_of(1, 65_531, 65_536)).does("", "message 65531"),
        server("no_credit_for_a_stream_that_has_ended", "5.1", Open, [start_of(1, 99_995, 100_000), data(1, END_STREAM, b"")])
            .does("", "message 99995; end"),
        // The rest of a message that is wanted is let in whole: 200,005 octets, less what the window takes.
        both("window_grows_for_a_wanted_message", "6.9", Open, [data(1, 0, &message(&[0; 200_000])[..5]), data(1, 0, &[b'd'; 9_995])])
            .does("WINDOW_UPDATE 1 68933", "")
            .unproved(),
        server("data_after_our_reset_is_given_back", "6.9", OurReset, lost(1)).config(TIGHT).does("WINDOW_UPDATE 0 49152", ""),
        client("data_after_a_clients_reset_is_given_back", "6.9", OurReset, lost(1)).config(TIGHT).does("WINDOW_UPDATE 0 49152", ""),
        both("data_after_the_peers_reset_is_given_back", "6.9", PeerReset, lost(1))
            .config(TIGHT)
            .does("RST_STREAM 1 STREAM_CLOSED; WINDOW_UPDATE 0 49152", ""),
        server("data_of_a_refused_request_is_given_back", "6.9", Refused, lost(3))
            .config(TIGHT)
            .does("WINDOW_UPDATE 0 49152", "")
            .unproved(),
        server("data_behind_our_goaway_is_given_back", "6.8", Drained, lost(3)).config(TIGHT).does("WINDOW_UPDATE 0 49152", ""),
        server("data_that_is_a_stream_error_is_given_back", "6.9", HalfRemote, lost(1))
            .config(TIGHT)
            .does("RST_STREAM 1 STREAM_CLOSED; WINDOW_UPDATE 0 49152", "finished Cancelled")
            .over(),
        server("data_of_a_malformed_request_is_given_back", "6.9", Ready, [headers(1, 0, b"\x83"), lost(1)])
            .config(TIGHT)
            .does("RST_STREAM 1 PROTOCOL_ERROR; WINDOW_UPDATE 0 49152", ""),
        client("data_before_the_head_is_given_back", "6.9", Sent, lost(1))
            .config(TIGHT)
            .does("RST_STREAM 1 PROTOCOL_ERROR; WINDOW_UPDATE 0 49152", "outcome Internal"),
        client("data_of_an_unprocessed_call_is_given_back", "6.8", GoneAway, lost(3))
            .config(TIGHT)
            .does("RST_STREAM 3 STREAM_CLOSED; WINDOW_UPDATE 0 49152", ""),
        // §5.4: of two errors the connection's is told.
        server("data_after_the_end_beyond_the_connections_window", "5.4", HalfRemote, start_of(1, 100_000, 65_536))
            .config(TIGHT)
            .conn(E::FLOW_CONTROL_ERROR),
        client(
            "rest_of_a_frame_behind_a_cancel_is_given_back",
            "6.9",
            Open,
            [Step::In(lost(1)[..10_000].to_vec()), Step::Do(Cancel), Step::In(lost(1)[10_000..].to_vec())],
        )
        .config(TIGHT)
        .does("RST_STREAM 1 CANCEL; WINDOW_UPDATE 0 49152", "")
        .over(),
        server("data_behind_an_early_answer_is_given_back", "8.1", Answered, [Step::Do(Finish), Step::In(lost(1))])
            .config(TIGHT)
            .does("HEADERS 1 ES grpc=0; RST_STREAM 1 NO_ERROR; WINDOW_UPDATE 0 49152", "")
            .over(),
        both("closed_streams_use_the_connections_window", "6.9", OurReset, start_of(1, 100_000, 65_536))
            .config(TIGHT)
            .conn(E::FLOW_CONTROL_ERROR),
        // 6.9.3: until it has read our SETTINGS, a peer goes by 65,535.
        server(
            "data_beyond_a_small_window_before_the_acknowledgement",
            "6.9.3",
            Unacked,
            [headers(1, 0, REQUEST), data(1, 0, &message(&[b'd'; 16_000]))],
        )
        .config(SMALL)
        .does("WINDOW_UPDATE 1 16005", "incoming; message 16000"),
        server(
            "data_beyond_a_small_window_after_the_acknowledgement",
            "6.9.3",
            Ready,
            [headers(1, 0, REQUEST), data(1, 0, &message(&[b'd'; 1_020]))],
        )
        .config(SMALL)
        .stream(1, E::FLOW_CONTROL_ERROR),
        server(
            "data_up_to_a_small_window_after_the_acknowledgement",
            "6.9.3",
            Ready,
            [headers(1, 0, REQUEST), data(1, 0, &message(&[b'd'; 1_019]))],
        )
        .config(SMALL)
        .does("WINDOW_UPDATE 1 1024", "incoming; message 1019"),
        client("response_beyond_a_small_window_after_the_acknowledgement", "6.9.3", Open, data(1, 0, &message(&[b'd'; 1_020])))
            .config(SMALL)
            .stream(1, E::FLOW_CONTROL_ERROR),
    ]
}
