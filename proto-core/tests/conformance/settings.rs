//! SETTINGS (RFC 9113 §6.5). What a value then does is with windows (`flow`), blocks (`blocks`) and our own frames (`sends`).

use super::case::{Given::*, *};
use pintle_core::{ErrorCode as E, testing::wire::*};

/// Identifier and value that are legal from both.
const GOOD: [(&str, u16, u32); 25] = [
    ("header_table_size_0", 1, 0),
    ("header_table_size_1", 1, 1),
    ("header_table_size_max", 1, u32::MAX),
    ("enable_push_0", 2, 0),
    ("max_concurrent_streams_1", 3, 1),
    ("max_concurrent_streams_max", 3, u32::MAX),
    ("initial_window_size_0", 4, 0),
    ("initial_window_size_1", 4, 1),
    ("initial_window_size_max", 4, (1 << 31) - 1),
    ("max_frame_size_min", 5, 16_384),
    ("max_frame_size_max", 5, (1 << 24) - 1),
    ("max_header_list_size_0", 6, 0),
    ("max_header_list_size_max", 6, u32::MAX),
    ("unknown_0", 0, 7),
    ("unknown_7", 7, u32::MAX),
    ("enable_connect_protocol_0", 8, 0),
    ("enable_connect_protocol_1", 8, 1),
    ("no_rfc7540_priorities_1", 9, 1),
    ("unknown_0x0a0a", 0x0a0a, 0xdead_beef),
    ("allow_true_binary_metadata", 0xfe03, 1),
    ("allow_true_binary_metadata_2", 0xfe03, 2),
    ("preferred_receive_crypto_frame_size", 0xfe04, 16_384),
    ("preferred_receive_crypto_frame_size_0", 0xfe04, 0),
    ("allow_security_frame", 0xfe05, 1),
    ("unknown_0xffff", 0xffff, 0),
];

const BAD: [(&str, u16, u32, E); 10] = [
    ("enable_push_2", 2, 2, E::PROTOCOL_ERROR),
    ("enable_push_max", 2, u32::MAX, E::PROTOCOL_ERROR),
    ("initial_window_size_2_31", 4, 1 << 31, E::FLOW_CONTROL_ERROR),
    ("initial_window_size_max_u32", 4, u32::MAX, E::FLOW_CONTROL_ERROR),
    ("max_frame_size_0", 5, 0, E::PROTOCOL_ERROR),
    ("max_frame_size_16383", 5, 16_383, E::PROTOCOL_ERROR),
    ("max_frame_size_2_24", 5, 1 << 24, E::PROTOCOL_ERROR),
    ("max_frame_size_max_u32", 5, u32::MAX, E::PROTOCOL_ERROR),
    ("enable_connect_protocol_2", 8, 2, E::PROTOCOL_ERROR),
    ("enable_connect_protocol_max", 8, u32::MAX, E::PROTOCOL_ERROR),
];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        both("settings_on_a_stream", "6.5", Open, frame(SETTINGS, 0, 1, &[])).conn(E::PROTOCOL_ERROR),
        both("settings_acknowledgement_on_a_stream", "6.5", Unacked, frame(SETTINGS, ACK, 1, &[])).conn(E::PROTOCOL_ERROR),
        both("settings_acknowledgement_with_a_payload", "6.5", Unacked, frame(SETTINGS, ACK, 0, &[0; 6])).conn(E::FRAME_SIZE_ERROR),
        both("settings_acknowledgement_with_one_octet", "6.5", Unacked, frame(SETTINGS, ACK, 0, &[0])).conn(E::FRAME_SIZE_ERROR),
        both("settings_of_1_octet", "6.5", Ready, frame(SETTINGS, 0, 0, &[0])).conn(E::FRAME_SIZE_ERROR),
        both("settings_of_7_octets", "6.5", Ready, frame(SETTINGS, 0, 0, &[0; 7])).conn(E::FRAME_SIZE_ERROR),
        // Not defined by the RFC; x/net ends the connection, too: the peer has lost count, and later acknowledgements would mislead.
        both("settings_acknowledgement_for_no_settings", "6.5.3", Ready, settings_ack()).conn(E::PROTOCOL_ERROR),
        both("settings_acknowledged_twice", "6.5.3", Unacked, [settings_ack(), settings_ack()]).conn(E::PROTOCOL_ERROR),
        both("empty_settings", "6.5", Open, settings(&[])).does("SETTINGS ACK", ""),
        both("each_settings_frame_is_acknowledged", "6.5.3", Ready, [settings(&[]), settings(&[(4, 1)]), settings(&[(4, 70_000)])])
            .does("SETTINGS ACK; SETTINGS ACK; SETTINGS ACK", ""),
        both("acknowledgement_goes_ahead_of_a_pings", "6.5.3", Ready, [settings(&[]), frame(PING, 0, 0, &[5; 8])])
            .does("SETTINGS ACK; PING ACK 0505050505050505", ""),
        both("duplicate_settings_in_one_frame", "6.5.3", Ready, settings(&[(4, 5), (4, 6), (1, 0), (4, 70_000), (1, 4_096)]))
            .does("SETTINGS ACK", ""),
        both("bad_value_behind_good_ones", "6.5.2", Ready, settings(&[(1, 0), (4, 9), (99, 1), (5, 1)])).conn(E::PROTOCOL_ERROR),
        both("bad_value_that_a_good_one_follows", "6.5.2", Ready, settings(&[(5, 1), (5, 16_384)])).conn(E::PROTOCOL_ERROR),
        both("two_hundred_settings_in_one_frame", "6.5", Ready, frame(SETTINGS, 0, 0, &[0x0a; 1_200])).does("SETTINGS ACK", ""),
        // A bound of ours (§10.5): nghttp2 takes 32, x/net 100.
        both("more_settings_than_there_are", "10.5", Ready, frame(SETTINGS, 0, 0, &[0x0a; 1_206])).conn(E::ENHANCE_YOUR_CALM),
        server("enable_push_1_from_a_client", "6.5.2", Ready, settings(&[(2, 1)])).does("SETTINGS ACK", ""),
        client("enable_push_1_from_a_server", "6.5.2", Ready, settings(&[(2, 1)])).conn(E::PROTOCOL_ERROR),
        server("max_concurrent_streams_0_from_a_client", "6.5.2", Ready, settings(&[(3, 0)])).does("SETTINGS ACK", ""),
        client("max_concurrent_streams_0_from_a_server", "6.5.2", Ready, settings(&[(3, 0)])).does("SETTINGS ACK", "").unproved(),
        // RFC 8441 §3 forbids it to the sender and asks nothing of the receiver; we never use it.
        both("enable_connect_protocol_back_to_0", "6.5.2", Ready, [settings(&[(8, 1)]), settings(&[(8, 0)])])
            .does("SETTINGS ACK; SETTINGS ACK", ""),
        both("limit_of_streams_may_fall_below_those_open", "5.1.2", Open, settings(&[(3, 0)])).does("SETTINGS ACK", "").unproved(),
    ];
    for (what, id, value) in GOOD {
        cases.push(
            both(format!("setting_{what}"), "6.5.2", Open, settings(&[(id, value)]))
                .does("SETTINGS ACK", "")
                .windowless((id == 4 && value < 100) || (id == 3 && value == 1)),
        );
    }
    for (what, id, value, code) in BAD {
        cases.push(both(format!("setting_{what}"), "6.5.2", Open, settings(&[(id, value)])).conn(code));
    }
    cases
}
