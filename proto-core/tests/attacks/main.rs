//! Known attacks on HTTP/2 and gRPC: [`TABLE`] has one row for each, with what bounds it.
//!
//! Each runs on a connection with a virtual clock and asks three things: how it ends (GOAWAY with a code and a text that names the budget, or the
//! connection lives and serves the next call), what it costs in octets of heap (a counting allocator; all of it is free again after the
//! connection), and what it costs in steps of work for each octet of the attacker (`Connection::steps`): no more than half as many again when the
//! attack is ten times as long, or when ninety streams are open. Whole and in single octets. Beside each stands its twin: lawful traffic that must
//! not trip the limit.
//!
//! `cargo test` runs a hundredth of the stated sizes, `PINTLE_ATTACKS=full cargo test --release` all of them.

#[path = "../support/attack.rs"]
mod attack;
mod ends;
mod fields;
mod floods;
mod grpc;
mod heads;
#[path = "../support/heap.rs"]
mod heap;
#[path = "../support/peer.rs"]
mod peer;
mod slow;

/// One attack.
struct Row {
    id: &'static str,
    name: &'static str,
    /// Where it was seen.
    reference: &'static str,
    /// What ends or bounds it: the debug text of the budget, or the setting.
    budget: &'static str,
    /// The most octets of heap that it may take of one connection, as the test asserts.
    heap: &'static str,
    outcome: &'static str,
    /// Its tests begin with the id; this is its twin's name, or the file that has the test where it is not here.
    twin: &'static str,
}

const fn row(
    id: &'static str,
    name: &'static str,
    reference: &'static str,
    budget: &'static str,
    heap: &'static str,
    outcome: &'static str,
    twin: &'static str,
) -> Row {
    Row { id, name, reference, budget, heap, outcome, twin }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("x01", "rapid reset", "CVE-2023-44487", "too_many_resets", "1 MiB", "ENHANCE_YOUR_CALM within 1,100 pairs; 100 handlers at most", "x01_twin_thirty_cancels_a_second"),
    row("x02", "MadeYouReset", "CVE-2025-8671", "too_many_resets", "1 MiB", "ENHANCE_YOUR_CALM within 1,200 faults; 100 handlers at most", "x02_twin_faults_now_and_then"),
    row("x03", "resets that nobody reads", "CVE-2019-9514", "Limits::unread_answers, too_many_resets", "256 KiB", "reading stops after 51, write_timeout closes", "x03_twin_a_slow_reader"),
    row("x04", "streams before the SETTINGS acknowledgement", "CVE-2026-47244", "max_concurrent_streams, too_many_resets", "2 MiB", "REFUSED_STREAM, then ENHANCE_YOUR_CALM; SETTINGS_TIMEOUT", "x04_twin_a_client_that_races"),
    row("x05", "PING flood", "CVE-2019-9512", "too_many_pings, Limits::unread_answers, too_many_useless_frames (ACK)", "64 KiB", "ENHANCE_YOUR_CALM at the fourth; a client stops reading", "x05_twin_keepalive_and_bandwidth_probes"),
    row("x06", "SETTINGS flood", "CVE-2019-9515", "too_many_settings", "64 KiB", "ENHANCE_YOUR_CALM at the 101st", "x06_twin_windows_that_are_tuned"),
    row("x07", "PRIORITY flood", "CVE-2019-9513", "too_many_useless_frames", "64 KiB", "ENHANCE_YOUR_CALM; no stream comes into being", "x07_twin_a_client_with_priorities"),
    row("x08", "windows: dribbled, without use, without a reader", "CVE-2019-9511, -9517", "too_many_window_updates, write_timeout, stall_timeout", "1 MiB", "lives, at the same cost an update; ENHANCE_YOUR_CALM; closed", "x08_twin_a_client_that_grants_each_message"),
    row("x09", "empty and tiny DATA", "CVE-2019-9518, RUSTSEC-2026-0258", "too_many_empty_data_frames, too_many_short_data_frames", "64 KiB", "ENHANCE_YOUR_CALM", "x09_twin_small_messages_that_are_read"),
    row("x10", "fields without name and value", "CVE-2019-9516", "max_header_list, max_header_fields, header_list_too_large", "64 KiB; 256 KiB where it closes", "stream error; ENHANCE_YOUR_CALM at four times the list", "x10_twin_empty_values"),
    row("x11", "CONTINUATION flood", "VU#421644", "too_many_continuations, header_block_too_large, header_block_timeout", "100 KiB", "ENHANCE_YOUR_CALM within 9 frames or 64 KiB", "x11_twin_blocks_in_pieces"),
    row("x12", "HPACK bomb, and holding it", "CVE-2016-6581, CVE-2026-49975", "max_header_list, max_header_fields, stall_timeout, held_stall_timeout", "2.5 MiB; 12 times the wire for tiny fields", "RST_STREAM(CANCEL) after the stall; all freed", "x12_twin_cookies_in_crumbs_and_slow_readers"),
    row("x13", "HPACK's traps for the processor", "CVE-2022-41723, CVE-2023-33953", "header_list_too_large; integers of five octets", "64 KiB", "COMPRESSION_ERROR; linear", "x13_twin_a_large_token"),
    row("x14", "HPACK tables out of step", "CVE-2024-7246, CVE-2023-32731", "every block is decoded", "the table", "lives; table as RFC 7541 has it after each block", "x14_tables_stay_in_step"),
    row("x15", "fields that abort the process", "CVE-2023-1428, CVE-2023-32732", "none: no panic", "as x10", "stream error; the next request is served", "x16_twin_odd_but_lawful_fields"),
    row("x16", "smuggling by fields", "RUSTSEC-2026-0033", "RFC 9113 §8.2, §8.3", "as x10", "stream error; nothing reaches the application or the wire", "x16_twin_odd_but_lawful_fields"),
    row("x17", "slow and silent peers", "CVE-2019-9511", "handshake_timeout, header_block_timeout, write_timeout, deadlines", "8 KiB idle; 1 MiB with 100 calls", "closed at the deadline, to a millisecond", "x17_twin_idle_connections_cost_little_and_live"),
    row("x18", "zero windows", "CVE-2026-49975", "stall_timeout, held_stall_timeout, send_buffer", "1 MiB finished; 74 KiB a stream held", "RST_STREAM(CANCEL) at the deadline; answers without messages go out", "x18_twin_streams_that_are_idle_or_slow"),
    row("x19", "one stream starves the others", "hyper 2899, h2 853", "connection credit on receipt", "the stream's window", "lives; others lose less than a tenth", "x19_twin_readers_share_the_window"),
    row("x20", "compression bombs", "tonic 2484, grpc-go 9114", "no compression yet: nothing is inflated", "64 KiB", "UNIMPLEMENTED at the head, INTERNAL at the fifth octet", "x20_twin_octets_that_look_compressed"),
    row("x21", "lengths that are only announced", "CVE-2024-37168", "max_recv_message, 4 MiB ahead in all, 64 KiB a stream beyond", "11 MiB for 100 streams", "RESOURCE_EXHAUSTED at the fifth octet", "x21_twin_a_message_of_the_largest_size"),
    row("x22", "huge metadata", "nodejs-pubsub 1814", "max_header_list, header_block_too_large", "384 KiB", "one call fails; ENHANCE_YOUR_CALM beyond four times the list", "x22_twin_metadata_up_to_the_limit"),
    row("x23", "deadlines by the thousand", "grpc-go 2374, h2 599", "one look at the slots for each turn", "128 KiB", "each call ends once", "x23_twin_deadlines_that_are_kept"),
    row("x24", "tricks with paths", "CVE-2026-33186", "one form of a path", "as x10", "UNIMPLEMENTED or malformed", "x24_twin_the_path_that_routes"),
    row("x25", "reflection, channelz, health", "gRPC services that tell too much", "none of them is there unless routed; max_concurrent_streams", "2 KiB a waiting stream", "UNIMPLEMENTED", "x25_twin_a_method_that_is_there"),
    row("x26", "deep and repeated messages", "RUSTSEC-2020-0002", "prost: depth 100; max_recv_message", "16 times the wire for items of 24 octets", "INTERNAL; no stack overflow in 64 KiB", "x26_twin_messages_as_people_make_them"),
    row("x27", "accept loops and descriptors", "CVE-2024-47609, CVE-2023-4785", "adapters: back-off, max connections", "-", "serves again", "runtime-net/tests/hostile"),
    row("x28", "ahead of the application in a layer", "RUSTSEC-2024-0336", "no TLS yet: wants().read, stream windows", "512 KiB", "FLOW_CONTROL_ERROR, or reading stops", "x28_twin_a_layer_that_is_read"),
    row("x29", "settings that hang the sender", "CVE-2026-33814", "RFC 9113 §6.5.2, deadlines, encoder_table", "64 KiB", "PROTOCOL_ERROR or DEADLINE_EXCEEDED; nothing spins", "x29_twin_settings_at_their_ends"),
    row("x30", "PUSH_PROMISE", "RFC 9113 §8.4", "ENABLE_PUSH = 0", "32 KiB", "PROTOCOL_ERROR; no state", "x30_twin_a_client_that_says_no_push"),
    row("x31", "GOAWAY at once, and again and again", "golang 66668, gRFC A9", "too_many_goaways; the core never connects by itself", "1 MiB with 300 calls", "UNAVAILABLE, unprocessed; ENHANCE_YOUR_CALM", "x31_twin_a_graceful_end"),
    row("x32", "frames of no use", "nghttp2 glitch limiter", "too_many_useless_frames", "64 KiB", "ENHANCE_YOUR_CALM", "x32_twin_cancels_on_a_long_fast_link"),
    row("x33", "who is on the Unix socket", "grpc-swift-nio-transport 192", "adapters: the address family first", "-", "no credentials of TCP", "runtime-net/tests/hostile"),
    row("x34", "zero-copy sends that change", "CVE-2024-11407", "lent octets are refcounted and never written", "-", "no message changes; each buffer is freed once", "x34_twin_small_messages_are_copied"),
];

/// Each row has a test here and a twin, or names the file that has them; budgets that are debug texts are those of the code.
#[test]
fn all_34_are_there() {
    const HERE: [&str; 6] = [
        include_str!("ends.rs"),
        include_str!("fields.rs"),
        include_str!("floods.rs"),
        include_str!("grpc.rs"),
        include_str!("heads.rs"),
        include_str!("slow.rs"),
    ];
    let has_test = |start: &str| HERE.iter().any(|source| source.contains(&format!("#[test]\nfn {start}")));
    assert_eq!(TABLE.len(), 34);
    for (n, row) in TABLE.iter().enumerate() {
        assert_eq!(row.id, format!("x{:02}", n + 1), "{}", row.name);
        assert!([row.name, row.reference, row.budget, row.heap, row.outcome].iter().all(|text| !text.is_empty()), "{}", row.id);
        match row.twin.strip_prefix("runtime-") {
            // In the workspace of the adapters; not there where this crate was unpacked alone.
            Some(_) => {
                let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
                assert!(!root.join("runtime-net").exists() || root.join(row.twin).exists(), "{}: {}", row.id, row.twin);
            }
            None => {
                assert!(has_test(&format!("{}_", row.id)), "{} has no test", row.id);
                assert!(has_test(&format!("{}()", row.twin)), "{}: no test {}", row.id, row.twin);
            }
        }
    }
}
