//! Faults that were reported of other implementations in the field, replayed against ours: each with the report's own input and
//! the right answer, whole, octet by octet and in random cuts, and the state afterwards ([`run`] has both).
//!
//! The ids are those of a collection of 57 reports; the comment above each test says what went wrong elsewhere, [`kin`] and
//! [`moments`] look for what is like it here. What is an adapter's affair is tested there, over sockets; the table names the tests. gRPC-Web, retries,
//! channels and codings, which some reports are about, Pintle does not have: their inputs come all the same, and what one is to build
//! those on is looked at.

#[path = "../support/heap.rs"]
mod heap;
#[path = "../support/peer.rs"]
mod peer;

mod around;
mod calls;
mod flow;
mod frames;
mod heads;
mod kin;
mod moments;
mod run;
mod streams;

use std::{collections::BTreeSet, path::Path};

/// Which of our ends the report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Both,
    Client,
    Server,
    /// What carries the octets.
    Adapter,
}

/// A test of this program, with its name.
type Test = (&'static str, fn(run::Way));

struct Report {
    id: &'static str,
    area: &'static str,
    role: Role,
    /// Tests of this program.
    tests: &'static [Test],
    /// Tests of adapters: file and function.
    elsewhere: &'static [(&'static str, &'static str)],
}

impl Report {
    fn run(&self) {
        let mut made = [0; 2];
        for (name, test) in self.tests {
            let more = run::run(self.id, name, *test);
            made = [made[0] + more[0], made[1] + more[1]];
        }
        let wanted = match self.role {
            Role::Both => made[0] > 0 && made[1] > 0,
            Role::Server => made[0] > 0,
            Role::Client => made[1] > 0,
            Role::Adapter => true,
        };
        assert!(wanted, "{} is about {:?}, but {made:?} servers and clients of ours were tested", self.id, self.role);
    }
}

/// The table, and a test for each of its rows.
macro_rules! reports {
    ($($id:ident $area:literal $role:ident [$($module:ident::$test:ident),*] $(elsewhere [$($file:literal $name:literal),*])?;)*) => {
        const REPORTS: &[Report] = &[$(Report {
            id: stringify!($id),
            area: $area,
            role: Role::$role,
            tests: &[$((concat!(stringify!($module), "::", stringify!($test)), $module::$test)),*],
            elsewhere: &[$($(($file, $name)),*)?],
        }),*];

        mod report {
            $(#[test]
            fn $id() {
                super::REPORTS.iter().find(|report| report.id == stringify!($id)).expect("a row of the table").run();
            })*
        }
    };
}

reports! {
    b01 "header block" Both [
        frames::b01_a_request_may_be_cut_anywhere,
        frames::b01_a_response_may_be_cut_anywhere,
        frames::b01_end_stream_counts_after_the_whole_block,
        kin::b01_a_call_that_ends_inside_a_block,
        kin::b01_blocks_are_not_broken_into
    ];
    b02 "HPACK" Both [frames::b02_huffman_padding_is_checked];
    b03 "HPACK" Both [frames::b03_integers_have_an_end];
    b07 "HPACK" Both [frames::b07_the_encoder_has_its_own_cap];
    b08 "header block" Both [frames::b08_fields_are_counted];
    b09 "header block" Both [frames::b09_a_list_over_the_limit_fails_one_call_for_good];
    b10 "metadata" Server [frames::b10_bad_base64_hurts_one_call];
    b11 "header block" Both [frames::b11_requests_are_checked, frames::b11_responses_are_checked];
    b12 "framing" Both [frames::b12_unknown_frames_are_ignored];
    b13 "framing" Client [frames::b13_an_http1_server_is_recognised, frames::b13_a_foreign_client_is_recognised];
    b14 "settings" Both [frames::b14_settings_are_validated];
    b15 "flow control" Both [flow::b15_padding_is_credited, flow::b15_padding_is_not_content, kin::b15_not_one_octet_more];
    b17 "flow control" Both [flow::b17_a_window_may_be_negative, flow::b17_the_same_at_a_server];
    b18 "flow control" Both [flow::b18_windows_do_not_overflow];
    b21 "flow control" Both [
        flow::b21_an_upload_gets_credit_where_it_can_use_it,
        flow::b21_an_answer_gets_credit_where_it_can_use_it
    ];
    b23 "flow control" Both [flow::b23_a_slow_reader_stops_nobody_else];
    b24 "flow control" Both [
        flow::b24_streams_after_goaway_are_credited_and_decoded,
        flow::b24_reset_streams_are_credited_and_decoded
    ];
    b25 "flow control" Both [flow::b25_a_dropped_call_gives_its_credit_back];
    b27 "flow control" Both [flow::b27_credit_does_not_wait_for_data];
    b28 "flow control" Both [flow::b28_the_first_window_update_and_no_more_than_that];
    b29 "flow control" Both [flow::b29_a_wanted_message_is_let_in_whole];
    b33 "stream state" Client [
        streams::b33_a_cancelled_call_that_was_queued_leaves_no_trace,
        moments::b33_every_moment_and_every_end
    ];
    b34 "stream state" Client [streams::b34_no_error_after_a_whole_response, calls::b34_reset_codes_are_mapped];
    b35 "stream state" Server [streams::b35_an_early_answer_ends_the_upload];
    b36 "stream state" Client [streams::b36_what_came_before_the_end_counts] elsewhere [
        "runtime-mio/tests/transport.rs" "an_answer_right_before_the_end_of_the_stream_counts",
        "runtime-futures-server/tests/scripted.rs" "a_response_just_before_the_end_counts"
    ];
    b37 "stream state" Server [streams::b37_a_request_may_end_with_its_head];
    b38 "stream state" Both [streams::b38_trailers_end_the_stream, streams::b38_trailers_end_the_request];
    b39 "stream state" Client [streams::b39_content_length_is_checked, kin::b39_content_length_of_requests];
    b40 "stream state" Client [streams::b40_informational_heads_are_skipped, kin::b40_heads_and_bodies_in_the_wrong_order];
    b43 "call semantics" Client [calls::b43_a_unary_call_has_one_response];
    b44 "call semantics" Client [calls::b44_no_grpc_status_is_no_success];
    b45 "stream state" Client [
        streams::b45_the_stream_limit_is_kept_and_queued_calls_start,
        kin::b45_a_queue_that_fills_and_empties
    ];
    b46 "goaway" Both [
        streams::b46_a_client_is_drained_in_two_steps,
        streams::b46_a_server_drains_in_two_steps,
        kin::b46_goaway_of_every_kind
    ];
    b48 "goaway" Client [streams::b48_goaway_races_lose_no_call];
    b49 "goaway" Client [around::b49_goaway_for_the_first_call_is_no_loop] elsewhere [
        "runtime-mio/tests/failures.rs" "a_server_that_closes_at_once_makes_every_call_unavailable"
    ];
    b50 "shutdown" Server [streams::b50_a_drain_always_ends] elsewhere [
        "runtime-mio/tests/failures.rs" "shutdown_ends_at_its_limit_whatever_peers_do",
        "runtime-mio/tests/failures.rs" "shutdown_does_not_wait_for_those_who_say_nothing",
        "runtime-futures-server/tests/scripted.rs" "the_grace_ends_a_handler_that_hangs"
    ];
    b51 "adapter" Adapter [] elsewhere [
        "runtime-mio/tests/starved.rs" "out_of_descriptors",
        "runtime-futures-server/tests/adapter/starved.rs" "out_of_descriptors",
        "runtime-futures-server/tests/scripted.rs" "accept_errors_pause_and_do_not_end_the_server"
    ];
    b52 "keepalive" Both [around::b52_pings];
    b53 "abuse false positive" Both [
        streams::b53_late_frames_of_a_cancelled_call_are_no_abuse,
        streams::b53_late_frames_of_an_answered_call_are_no_abuse,
        kin::b53_late_frames_after_early_answers,
        kin::b53_small_late_frames
    ];
    b54 "UDS" Both [heads::b54_any_authority_is_taken] elsewhere [
        "runtime-net/tests/hostile/server_cases.rs" "authorities"
    ];
    b55 "deadline" Server [
        calls::b55_timeouts_are_parsed,
        calls::b55_timeouts_are_written,
        calls::b55_deadlines_end_calls,
        kin::b55_deadlines_at_the_edge
    ];
    b56 "metadata" Both [heads::b56_binary_metadata];
    b57 "status" Both [heads::b57_status_messages];
    b58 "status" Client [calls::b58_odd_statuses_are_not_ok];
    b60 "proxy" Client [heads::b60_answers_of_proxies_are_mapped];
    b61 "proxy" Both [heads::b61_heads_of_requests];
    b62 "status" Server [calls::b62_failures_are_trailers_only, kin::b62_a_status_keeps_to_the_peers_limit];
    b64 "compression" Both [around::b64_codings_of_requests, around::b64_codings_of_responses];
    b65 "messages" Both [
        calls::b65_messages_come_in_any_pieces,
        kin::b65_messages_that_wait_outlive_the_stream,
        kin::b65_small_messages_that_wait
    ];
    b66 "messages" Both [calls::b66_size_limits];
    b69 "metadata" Both [heads::b69_reserved_fields_cannot_be_added];
    b70 "routing" Server [heads::b70_only_the_exact_path_routes];
    b71 "call semantics" Client [calls::b71_a_unary_request_is_one_data_frame];
    b72 "grpc-web" Both [around::b72_grpc_web_is_not_grpc];
    b74 "channel" Client [around::b74_a_connection_that_is_gone_takes_no_call] elsewhere [
        "runtime-mio/tests/failures.rs" "a_killed_server_ends_every_running_call",
        "runtime-tokio/tests/lost.rs" "a_client_outlives_its_runtime"
    ];
    b75 "retry" Client [around::b75_only_what_was_not_processed_says_so];
    b77 "adapter" Both [around::b77_writes_may_take_as_little_as_they_like] elsewhere [
        "runtime-mio/tests/transport.rs" "transports_that_do_little_or_are_interrupted_change_nothing",
        "runtime-mio/tests/transport.rs" "an_answer_right_before_the_end_of_the_stream_counts",
        "runtime-futures-server/tests/scripted.rs" "cuts_do_not_matter",
        "runtime-futures-server/tests/scripted.rs" "a_stream_that_takes_nothing_ends"
    ];
}

/// The ids of the collection, which have gaps.
const IDS: [u32; 57] = [
    1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 21, 23, 24, 25, 27, 28, 29, 33, 34, 35, 36, 37, 38, 39, 40, 43, 44, 45, 46, 48, 49,
    50, 51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 64, 65, 66, 69, 70, 71, 72, 74, 75, 77,
];

/// Each report has one row, each row a test, and tests that are elsewhere are there.
#[test]
fn all_57_are_here() {
    let ids: Vec<_> = REPORTS.iter().map(|report| report.id.to_owned()).collect();
    let wanted: Vec<_> = IDS.iter().map(|id| format!("b{id:02}")).collect();
    assert_eq!(ids, wanted);
    let tests: Vec<_> = REPORTS.iter().flat_map(|report| report.tests).map(|(name, _)| *name).collect();
    assert_eq!(tests.iter().collect::<BTreeSet<_>>().len(), tests.len(), "no test stands for two reports");
    for report in REPORTS {
        assert!(!report.area.is_empty() && report.tests.len() + report.elsewhere.len() > 0, "{}", report.id);
        for (file, name) in report.elsewhere {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
            let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {file}: {error}", report.id));
            assert!(source.contains(&format!("fn {name}(")), "{}: {file} has no test {name}", report.id);
        }
    }
}
