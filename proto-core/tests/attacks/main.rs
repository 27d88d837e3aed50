//! Known attacks on HTTP/2 and gRPC: [`TABLE`] has one row for each, with what bounds it.
//!
//! Each runs on a connection with a virtual clock and asks three things: how it ends (GOAWAY with a code and a text that names the budget, or the
//! connection lives and serves the next call), what it costs in octets of heap (a counting allocator; all of it is free again after the
//! connection), and what it costs in steps of work for each octet of the attacker (`Connection::steps`): no more than half as many again when the
//! attack is ten times as long, or when ninety streams are open ([`Cost`] has the other forms). Whole and in single octets. Beside each stands its
//! twin: lawful traffic that must not trip the limit.
//!
//! `cargo test` runs a hundredth of the stated sizes, `PINTLE_ATTACKS=full cargo test --release` all of them.

#[path = "../support/attack.rs"]
mod attack;
mod costs;
mod ends;
mod fields;
mod floods;
mod found;
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
    cost: Cost,
    outcome: &'static str,
    /// Its tests begin with the id, and this is its twin's name; or `file::function`, the twin last, where they are not here.
    twin: &'static str,
}

/// How the tests ask what an attack costs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// Steps for each octet of a flood: of a tenth, of all of it, and beside ninety calls ([`attack::Flood`]).
    Flood,
    /// The same of something with a length, which grows tenfold ([`attack::Growth`], [`attack::assert_flat`]).
    Flat,
    /// Steps for each octet of one header block, short and long, or whole and in single octets.
    Block,
    /// So many steps at most, whatever there is of this.
    Steps(&'static str),
    /// In the adapters: processor time.
    Time(&'static str),
    /// There is no work that a peer could make more of.
    Nothing(&'static str),
}

impl Cost {
    /// Whether the text of a test asks so.
    fn is_asked_in(self, text: &str) -> bool {
        match self {
            Self::Flood => text.contains("Flood {") && text.contains(".check()"),
            Self::Flat => text.contains("Growth {") || text.contains("assert_flat("),
            Self::Block => text.contains("block_cost("),
            Self::Steps(most) => text.contains(".steps()") && !most.is_empty(),
            Self::Time(most) => text.contains("ticks(") && !most.is_empty(),
            Self::Nothing(why) => !why.is_empty(),
        }
    }
}

use Cost::{Block, Flat, Flood, Nothing, Steps, Time};

#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
const fn row(
    id: &'static str,
    name: &'static str,
    reference: &'static str,
    budget: &'static str,
    heap: &'static str,
    cost: Cost,
    outcome: &'static str,
    twin: &'static str,
) -> Row {
    Row { id, name, reference, budget, heap, cost, outcome, twin }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("x01", "rapid reset", "CVE-2023-44487", "too_many_resets", "1 MiB", Flood, "ENHANCE_YOUR_CALM within 1,100 pairs; 100 handlers at most", "x01_twin_thirty_cancels_a_second"),
    row("x02", "MadeYouReset", "CVE-2025-8671", "too_many_resets", "1 MiB", Flood, "ENHANCE_YOUR_CALM within 1,200 faults; 100 handlers at most", "x02_twin_faults_now_and_then"),
    row("x03", "resets that nobody reads", "CVE-2019-9514", "Limits::unread_answers, too_many_resets", "256 KiB", Flood, "reading stops after 51, write_timeout closes", "x03_twin_a_slow_reader"),
    row("x04", "streams before the SETTINGS acknowledgement", "CVE-2026-47244", "max_concurrent_streams, too_many_resets", "2 MiB", Flood, "REFUSED_STREAM, then ENHANCE_YOUR_CALM; SETTINGS_TIMEOUT", "x04_twin_a_client_that_races"),
    row("x05", "PING flood", "CVE-2019-9512", "too_many_pings, Limits::unread_answers, too_many_useless_frames (ACK)", "64 KiB", Flood, "ENHANCE_YOUR_CALM at the fourth; a client stops reading", "x05_twin_keepalive_and_bandwidth_probes"),
    row("x06", "SETTINGS flood", "CVE-2019-9515", "too_many_settings", "64 KiB", Flood, "ENHANCE_YOUR_CALM at the 101st", "x06_twin_windows_that_are_tuned"),
    row("x07", "PRIORITY flood", "CVE-2019-9513", "too_many_useless_frames", "64 KiB", Flood, "ENHANCE_YOUR_CALM; no stream comes into being", "x07_twin_a_client_with_priorities"),
    row("x08", "windows: dribbled, without use, without a reader", "CVE-2019-9511, -9517", "too_many_window_updates, write_timeout, stall_timeout", "1 MiB", Flood, "lives, at the same cost an update; ENHANCE_YOUR_CALM; closed", "x08_twin_a_client_that_grants_each_message"),
    row("x09", "empty and tiny DATA", "CVE-2019-9518, RUSTSEC-2026-0258", "too_many_empty_data_frames, too_many_short_data_frames", "64 KiB", Flood, "ENHANCE_YOUR_CALM", "x09_twin_small_messages_that_are_read"),
    row("x10", "fields without name and value", "CVE-2019-9516", "max_header_list, max_header_fields, header_list_too_large", "64 KiB; 256 KiB where it closes", Block, "stream error; ENHANCE_YOUR_CALM at four times the list", "x10_twin_empty_values"),
    row("x11", "CONTINUATION flood", "VU#421644", "too_many_continuations, header_block_too_large, header_block_timeout", "100 KiB", Flood, "ENHANCE_YOUR_CALM within 9 frames or 64 KiB", "x11_twin_blocks_in_pieces"),
    row("x12", "HPACK bomb, and holding it", "CVE-2016-6581, CVE-2026-49975", "max_header_list, max_header_fields, stall_timeout, held_stall_timeout", "2.5 MiB; 12 times the wire for tiny fields", Block, "RST_STREAM(CANCEL) after the stall; all freed", "x12_twin_cookies_in_crumbs_and_slow_readers"),
    row("x13", "HPACK's traps for the processor", "CVE-2022-41723, CVE-2023-33953", "header_list_too_large; integers of five octets", "64 KiB", Block, "COMPRESSION_ERROR; linear", "x13_twin_a_large_token"),
    row("x14", "HPACK tables out of step", "CVE-2024-7246, CVE-2023-32731", "every block is decoded", "128 KiB", Flat, "lives; table as RFC 7541 has it after each block", "x14_twin_a_table_that_is_emptied_and_filled"),
    row("x15", "fields that abort the process", "CVE-2023-1428, CVE-2023-32732", "none: no panic", "64 KiB", Flat, "stream error; the next request is served", "x15_twin_the_same_fields_as_they_should_be"),
    row("x16", "smuggling by fields", "RUSTSEC-2026-0033", "RFC 9113 §8.2, §8.3", "64 KiB", Flat, "stream error; nothing reaches the application or the wire", "x16_twin_odd_but_lawful_fields"),
    row("x17", "slow and silent peers", "CVE-2019-9511", "handshake_timeout, header_block_timeout, write_timeout, deadlines", "8 KiB idle; 1 MiB with 100 calls", Flat, "closed at the deadline, to a millisecond", "x17_twin_idle_connections_cost_little_and_live"),
    row("x18", "zero windows", "CVE-2026-49975", "stall_timeout, held_stall_timeout, send_buffer", "1 MiB finished; 74 KiB a stream held", Flat, "RST_STREAM(CANCEL) at the deadline; answers without messages go out", "x18_twin_streams_that_are_idle_or_slow"),
    row("x19", "one stream starves the others", "hyper 2899, h2 853", "connection credit on receipt", "512 KiB with five full streams", Flat, "lives; others lose less than a tenth", "x19_twin_readers_share_the_window"),
    row("x20", "compression bombs", "tonic 2484, grpc-go 9114", "no compression yet: nothing is inflated", "64 KiB", Flat, "UNIMPLEMENTED at the head, INTERNAL at the fifth octet", "x20_twin_octets_that_look_compressed"),
    row("x21", "lengths that are only announced", "CVE-2024-37168", "max_recv_message, 4 MiB ahead in all, 64 KiB a stream beyond", "11 MiB for 100 streams", Flat, "RESOURCE_EXHAUSTED at the fifth octet", "x21_twin_a_message_of_the_largest_size"),
    row("x22", "huge metadata", "nodejs-pubsub 1814", "max_header_list, header_block_too_large", "384 KiB", Flat, "one call fails; ENHANCE_YOUR_CALM beyond four times the list", "x22_twin_metadata_up_to_the_limit"),
    row("x23", "deadlines by the thousand", "grpc-go 2374, h2 599", "one look at the slots for each turn", "128 KiB", Steps("two looks at each slot in a turn in which something is due"), "each call ends once", "x23_twin_deadlines_that_are_kept"),
    row("x24", "tricks with paths", "CVE-2026-33186", "one form of a path", "64 KiB", Flat, "UNIMPLEMENTED or malformed", "x24_twin_the_path_that_routes"),
    row("x25", "reflection, channelz, health", "gRPC services that tell too much", "none of them is there unless routed; max_concurrent_streams", "2 KiB a waiting stream", Steps("ten for each stream that is sent a message"), "UNIMPLEMENTED", "x25_twin_a_method_that_is_there"),
    row("x26", "deep and repeated messages", "RUSTSEC-2020-0002", "prost: depth 100; max_recv_message", "24 times the wire for items of 24 octets, 16 times the largest message", Flat, "INTERNAL; no stack overflow in 64 KiB", "x26_twin_messages_as_people_make_them"),
    row("x27", "accept loops and descriptors", "CVE-2024-47609, CVE-2023-4785", "adapters: back-off, max connections", "-", Time("half a second of a second without descriptors"), "serves again", "runtime-mio/tests/starved.rs::out_of_descriptors, runtime-futures-server/tests/adapter/starved.rs::out_of_descriptors, runtime-net/tests/sockets.rs::accept_errors_end_nothing_but_a_broken_listener"),
    row("x28", "ahead of the application in a layer", "RUSTSEC-2024-0336", "no TLS yet: wants().read, stream windows", "512 KiB; the layer one record", Flat, "FLOW_CONTROL_ERROR, or reading stops", "x28_twin_a_layer_that_is_read"),
    row("x29", "settings that hang the sender", "CVE-2026-33814", "RFC 9113 §6.5.2, deadlines, encoder_table", "64 KiB", Steps("400 for a call that cannot begin"), "PROTOCOL_ERROR or DEADLINE_EXCEEDED; nothing spins", "x29_twin_settings_at_their_ends"),
    row("x30", "PUSH_PROMISE", "RFC 9113 §8.4", "ENABLE_PUSH = 0", "32 KiB", Steps("flat for each octet; four looks at each call that it ends"), "PROTOCOL_ERROR; no state", "x30_twin_a_client_that_says_no_push"),
    row("x31", "GOAWAY at once, and again and again", "golang 66668, gRFC A9", "too_many_goaways; the core never connects by itself", "1 MiB with 300 calls", Steps("flat for each octet; two looks at each call, when an id falls"), "UNAVAILABLE, unprocessed; ENHANCE_YOUR_CALM", "x31_twin_a_graceful_end"),
    row("x32", "frames of no use", "nghttp2 glitch limiter", "too_many_useless_frames", "64 KiB", Flood, "ENHANCE_YOUR_CALM", "x32_twin_cancels_on_a_long_fast_link"),
    row("x33", "who is on the Unix socket", "grpc-swift-nio-transport 192", "adapters: the address family first", "-", Nothing("the kernel is asked once for each connection"), "no credentials of TCP", "runtime-mio/tests/hostile.rs::peers_are_who_the_kernel_says_they_are, runtime-futures-server/tests/adapter/hostile.rs::peers_are_who_the_kernel_says_they_are, runtime-net/tests/sockets.rs::a_stale_socket_is_replaced_and_a_live_one_is_not"),
    row("x34", "zero-copy sends that change", "CVE-2024-11407", "lent octets are refcounted and never written", "32 KiB", Flat, "no message changes; each buffer is freed once", "x34_twin_small_messages_are_copied"),
];

/// Tests that are in files of other crates.
const ELSEWHERE: &str = "runtime-";

/// The functions of these files, by name, with their text.
fn functions<'a>(files: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let all = files.iter().flat_map(|file| file.split("\n}\n"));
    let named = all.filter_map(|item| {
        let at = item.rfind("\nfn ").map(|at| at + 4).or_else(|| item.rfind("\npub(crate) fn ").map(|at| at + 15))?;
        Some((item[at..].split(['(', '<']).next()?, item))
    });
    named.collect()
}

/// The text of a function and, for two floors down, of those that it calls.
fn with_helpers(functions: &[(&str, &str)], name: &str, depth: usize) -> String {
    let text = functions.iter().find(|function| function.0 == name).map_or("", |function| function.1);
    let calls = |other: &str| {
        let before = |at: usize| text[..at].chars().next_back().unwrap_or(' ');
        text.match_indices(&format!("{other}(")).any(|(at, _)| !before(at).is_alphanumeric() && !matches!(before(at), '_' | '.'))
    };
    let called = functions.iter().filter(|(other, _)| depth > 0 && *other != name && calls(other));
    called.fold(text.to_owned(), |text, (other, _)| text + &with_helpers(functions, other, depth - 1))
}

/// Each row has tests here that ask for the heap, the cost and the end, and a twin, or names those of the adapters.
#[test]
fn all_34_are_there() {
    let here = functions(&[
        include_str!("costs.rs"),
        include_str!("ends.rs"),
        include_str!("fields.rs"),
        include_str!("floods.rs"),
        include_str!("found.rs"),
        include_str!("grpc.rs"),
        include_str!("heads.rs"),
        include_str!("slow.rs"),
        include_str!("../support/attack.rs"),
    ]);
    let has = |text: &str, mark: &str| text.contains(mark);
    assert_eq!(TABLE.len(), 34);
    for (n, row) in TABLE.iter().enumerate() {
        let id = row.id;
        assert_eq!(id, format!("x{:02}", n + 1), "{}", row.name);
        assert!([row.name, row.reference, row.budget, row.heap, row.outcome].iter().all(|text| !text.is_empty()), "{id}");
        if row.twin.starts_with(ELSEWHERE) {
            tests_elsewhere(row);
            continue;
        }
        let mine = here.iter().filter(|(name, text)| name.starts_with(id) && text.contains("#[test]")).map(|function| function.0);
        let (twins, tests): (Vec<&str>, Vec<&str>) = mine.partition(|name| name.contains("_twin_"));
        assert!(twins.contains(&row.twin), "{id}: no test {}", row.twin);
        let text: String = tests.iter().map(|name| with_helpers(&here, name, 2)).collect();
        assert!(["freed(", "freed_with(", "Flood {", "Growth {"].iter().any(|mark| has(&text, mark)), "{id}: no test counts the heap");
        assert!(row.cost.is_asked_in(&text), "{id}: no test asks for the cost in this way");
        let ends = ["calm(", "close_reason()", "assert_open", "assert_usable", "assert_away", "assert_closed", "is_err()", "hash(&"];
        let attacks = tests.iter().filter(|name| !name.ends_with("_cost")).map(|name| with_helpers(&here, name, 2));
        assert!(attacks.into_iter().any(|text| ends.iter().any(|mark| has(&text, mark))), "{id}: how does it end?");
    }
}

/// The tests of the adapters. They are not there where this crate was unpacked alone.
fn tests_elsewhere(row: &Row) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if !root.join("runtime-net").exists() {
        return;
    }
    let mut all = String::new();
    for test in row.twin.split(", ") {
        let (file, function) = test.split_once("::").expect("file::function");
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{}: {file}: {error}", row.id));
        assert!(text.contains(&format!("#[test]\nfn {function}()")), "{}: no test {function} in {file}", row.id);
        all += &text;
    }
    assert!(row.cost.is_asked_in(&all), "{}: no test asks for the cost in this way", row.id);
}
