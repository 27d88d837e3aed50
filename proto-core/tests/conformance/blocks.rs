//! Header blocks: their frames (RFC 9113 §4.3, §6.10) and their octets (RFC 7541).

use super::{
    case::{Given::*, *},
    lab::{Lab, data, headers},
    peer::request_block,
};
use pintle_core::{
    ErrorCode as E,
    testing::{Cut, raw::*, wire::*},
};
use std::time::Duration;

fn continuation(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(CONTINUATION, flags, stream, block)
}

/// HEADERS without END_HEADERS.
fn begun(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, flags, stream, block)
}

/// A request whose `:path` goes to the table, and nothing else of it.
fn inserts_path() -> Vec<u8> {
    [b"\x83\x86\x44\x04/S/M", &rest()[..]].concat()
}

/// A request that takes its `:path` from the newest entry of the table.
fn uses_path() -> Vec<u8> {
    [b"\x83\x86\xbe", &rest()[..]].concat()
}

fn rest() -> Vec<u8> {
    literal_block(&[(":authority", b"x"), ("content-type", b"application/grpc"), ("te", b"trailers")])
}

/// A response whose `:status` is the newest entry of the table, and a block that inserts it.
const USES_STATUS: &[u8] = b"\xbe\x0f\x10\x10application/grpc";
const INSERTS_STATUS: &[u8] = b"\x48\x03200\x0f\x10\x10application/grpc";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sequences();
    cases.extend(octets());
    cases.extend(table_sizes());
    cases.extend(discarded());
    cases.extend(limits());
    cases
}

fn sequences() -> Vec<Case> {
    let (front, back) = REQUEST.split_at(20);
    let done = || [begun(1, 0, front), continuation(1, END_HEADERS, back)];
    let mut cases = vec![
        server("block_in_two_frames", "6.10", Ready, done()).does("", "incoming"),
        server("block_in_eight_continuations", "6.10", Ready, {
            let mut frames = begun(1, 0, &REQUEST[..2]);
            (0..7).for_each(|n| frames.extend(continuation(1, 0, &REQUEST[2 + n * 5..7 + n * 5])));
            frames.extend(continuation(1, END_HEADERS, &REQUEST[37..]));
            frames
        })
        .does("", "incoming"),
        server(
            "continuations_may_be_empty",
            "6.10",
            Ready,
            [begun(1, 0, b""), continuation(1, 0, b""), continuation(1, 0, REQUEST), continuation(1, END_HEADERS, b"")],
        )
        .does("", "incoming"),
        server(
            "padding_is_not_part_of_the_block",
            "4.3",
            Ready,
            [begun(1, PADDED, &super::frames::padded(front, 99)), continuation(1, END_HEADERS, back)],
        )
        .does("", "incoming"),
        // END_STREAM of HEADERS counts behind the last CONTINUATION.
        server("end_of_stream_waits_for_the_block", "5.1", Ready, [begun(1, END_STREAM, front), continuation(1, END_HEADERS, back)])
            .does("", "incoming; end"),
        server(
            "end_stream_bit_of_continuation_means_nothing",
            "6.10",
            Ready,
            [begun(1, 0, front), continuation(1, END_HEADERS | END_STREAM, back)],
        )
        .does("", "incoming"),
        server("half_a_block_is_nothing_yet", "4.3", Ready, begun(1, END_STREAM, REQUEST)).does("", "").unproved(),
        server(
            "trailers_in_two_frames",
            "6.10",
            Open,
            [begun(1, END_STREAM, &TRAILERS_OK[..5]), continuation(1, END_HEADERS, &TRAILERS_OK[5..])],
        )
        .does("", "end")
        .over(),
        client(
            "response_in_three_frames",
            "6.10",
            Sent,
            [begun(1, 0, &RESPONSE[..3]), continuation(1, 0, &RESPONSE[3..9]), continuation(1, END_HEADERS, &RESPONSE[9..])],
        )
        .does("", "headers"),
        client(
            "response_trailers_in_two_frames",
            "6.10",
            HalfLocal,
            [begun(1, END_STREAM, &TRAILERS_OK[..3]), continuation(1, END_HEADERS, &TRAILERS_OK[3..])],
        )
        .does("", "outcome Ok")
        .over(),
        both("continuation_on_stream_0", "6.10", Ready, continuation(0, END_HEADERS, b"")).conn(E::PROTOCOL_ERROR),
        server("continuation_on_stream_0_in_a_block", "6.10", Ready, [begun(1, 0, front), continuation(0, END_HEADERS, back)])
            .conn(E::PROTOCOL_ERROR),
        both("continuation_without_headers", "6.10", Ready, continuation(1, END_HEADERS, REQUEST)).conn(E::PROTOCOL_ERROR),
        both("continuation_on_an_open_stream_out_of_a_block", "6.10", Open, continuation(1, END_HEADERS, b"")).conn(E::PROTOCOL_ERROR),
        server("continuation_behind_the_end_of_the_block", "6.10", Ready, [headers(1, 0, REQUEST), continuation(1, END_HEADERS, b"")])
            .conn(E::PROTOCOL_ERROR)
            .last(1),
        server(
            "second_end_of_the_block",
            "6.10",
            Ready,
            [begun(1, 0, front), continuation(1, END_HEADERS, back), continuation(1, END_HEADERS, b"")],
        )
        .conn(E::PROTOCOL_ERROR)
        .last(1),
        server("continuation_behind_data", "6.10", Open, [data(1, 0, b""), continuation(1, END_HEADERS, b"")]).conn(E::PROTOCOL_ERROR),
        both(
            "header_block_that_does_not_end",
            "10.5",
            Open,
            [Step::In(begun(1, END_STREAM, &TRAILERS_OK[..3])), Step::Wait(Duration::from_secs(10))],
        )
        .conn(E::ENHANCE_YOUR_CALM),
    ];
    let between: [(&str, Vec<u8>); 13] = [
        ("data", data(1, 0, b"x")),
        ("data_on_another_stream", data(3, 0, b"x")),
        ("headers", headers(1, 0, back)),
        ("headers_on_another_stream", headers(3, 0, REQUEST)),
        ("priority", frame(PRIORITY, 0, 1, &[0; 5])),
        ("rst_stream", rst_stream(1, 8)),
        ("settings", settings(&[])),
        ("settings_ack", settings_ack()),
        ("push_promise", frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])),
        ("ping", frame(PING, 0, 0, &[0; 8])),
        ("goaway", goaway(0, 0, b"")),
        ("window_update", window_update(0, 1)),
        ("unknown_frame", frame(0x77, 0, 1, b"")),
    ];
    for (what, octets) in between {
        cases.push(server(format!("{what}_inside_a_block"), "4.3", Ready, [begun(1, 0, front), octets.clone()]).conn(E::PROTOCOL_ERROR));
        cases.push(
            client(format!("{what}_inside_a_responses_block"), "4.3", Sent, [begun(1, 0, &RESPONSE[..4]), octets]).conn(E::PROTOCOL_ERROR),
        );
    }
    cases.push(
        server("continuation_on_another_stream", "6.10", Ready, [begun(1, 0, front), continuation(3, END_HEADERS, back)])
            .conn(E::PROTOCOL_ERROR),
    );
    cases.push(
        client("continuation_on_another_stream_of_a_response", "6.10", Sent, [begun(1, 0, RESPONSE), continuation(3, END_HEADERS, b"")])
            .conn(E::PROTOCOL_ERROR),
    );
    cases
}

/// Octets that no decoder may take (RFC 7541); each ends a block that is otherwise right.
const BROKEN: [(&str, &str, &[u8]); 21] = [
    ("index_0", "H6.1", b"\x80"),
    ("index_behind_the_table", "H2.3.3", b"\xff\x80\x01"),
    ("name_index_behind_the_table", "H2.3.3", b"\x7f\x80\x01\x01v"),
    ("name_index_behind_the_table_not_indexed", "H2.3.3", b"\x0f\x80\x01\x01v"),
    ("size_update_behind_a_field", "H4.2", b"\x20"),
    ("index_that_does_not_end", "H5.1", b"\xff\x80"),
    ("index_without_bounds", "H5.1", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    ("length_without_bounds", "H5.1", b"\x00\x7f\xff\xff\xff\xff\xff\x7f"),
    ("length_of_many_zeros", "H5.1", b"\x00\x7f\x80\x80\x80\x80\x80\x80\x80\x80\x00\x01v"),
    ("literal_without_name", "H6.2.1", b"\x40"),
    ("literal_without_value", "H6.2.1", b"\x40\x01n"),
    ("literal_without_value_not_indexed", "H6.2.2", b"\x00\x01n"),
    ("literal_without_value_never_indexed", "H6.2.3", b"\x10\x01n"),
    ("name_longer_than_the_block", "H5.2", b"\x00\x05name"),
    ("value_longer_than_the_block", "H5.2", b"\x00\x01n\x02v"),
    ("huffman_value_longer_than_the_block", "H5.2", b"\x00\x01n\x84\xff"),
    // `a` is 00011: three ones of padding are right.
    ("huffman_padding_of_zeros", "H5.2", b"\x00\x01n\x81\x18"),
    ("huffman_padding_of_a_whole_octet", "H5.2", b"\x00\x01n\x82\x1f\xff"),
    ("huffman_padding_of_eight_ones_alone", "H5.2", b"\x00\x01n\x81\xff"),
    ("huffman_with_eos", "H5.2", b"\x00\x01n\x84\xff\xff\xff\xff"),
    ("huffman_name_with_bad_padding", "H5.2", b"\x00\x81\x18\x01v"),
];

/// What a decoder must take, behind the request.
const WHOLE: [(&str, &str, &[u8]); 11] = [
    ("literal_with_indexing", "H6.2.1", b"\x40\x01n\x01v\xbe"),
    ("literal_without_indexing", "H6.2.2", b"\x00\x01n\x01v"),
    ("literal_never_indexed", "H6.2.3", b"\x10\x01n\x01v"),
    ("literal_with_an_indexed_name", "H6.2.1", b"\x7a\x02me"),
    ("literal_with_a_dynamic_name", "H6.2.2", b"\x40\x01n\x01v\x0f\x2f\x01w"),
    ("huffman_of_no_octets", "H5.2", b"\x00\x01n\x80"),
    ("value_of_no_octets", "H5.2", b"\x00\x01n\x00"),
    ("huffman_name_and_value", "H5.2", b"\x00\x81\x1f\x81\x1f"),
    ("integer_with_one_more_octet_than_needed", "H5.1", b"\x00\x01n\x7f\x80\x00".as_slice()),
    ("entry_that_is_there_twice", "H2.3.2", b"\x40\x01n\x01v\x40\x01n\x01v\xbe\xbf"),
    ("size_of_127", "H5.1", b"\x00\x01n\x7f\x00"),
];

fn octets() -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, section, octets) in BROKEN {
        let block = [REQUEST, octets].concat();
        cases.push(server(format!("hpack_{what}"), section, Ready, headers(1, END_STREAM, &block)).conn(E::COMPRESSION_ERROR).last(1));
    }
    for (what, section, octets) in WHOLE {
        // 127 octets follow where a length says so.
        let value: &[u8] = if octets.ends_with(b"\x7f\x80\x00") || octets.ends_with(b"\x7f\x00") { &[b'v'; 127] } else { b"" };
        let block = [REQUEST, octets, value].concat();
        cases.push(server(format!("hpack_{what}"), section, Ready, headers(1, END_STREAM, &block)).does("", "incoming; end"));
    }
    cases.extend([
        client("hpack_error_in_a_response", "4.3", Sent, headers(1, 0, b"\x88\x80")).conn(E::COMPRESSION_ERROR),
        client("hpack_error_in_trailers", "4.3", Open, headers(1, END_STREAM, b"\xff\x80\x01")).conn(E::COMPRESSION_ERROR),
        server("hpack_error_in_request_trailers", "4.3", Open, headers(1, END_STREAM, b"\x00\x05a")).conn(E::COMPRESSION_ERROR),
        server("hpack_error_for_a_stream_that_we_reset", "4.3", OurReset, headers(1, END_STREAM, b"\x80")).conn(E::COMPRESSION_ERROR),
        client("hpack_error_for_a_call_that_we_reset", "4.3", OurReset, headers(1, END_STREAM, b"\x80")).conn(E::COMPRESSION_ERROR),
        server("hpack_error_for_a_refused_request", "4.3", Refused, headers(5, END_STREAM, b"\x80")).conn(E::COMPRESSION_ERROR).last(5),
        server("hpack_error_behind_our_goaway", "6.8", Drained, headers(5, END_STREAM, b"\x80")).conn(E::COMPRESSION_ERROR).last(1),
        // §5.4: of two errors the connection's is told. The block has an upper-case name as well.
        server("hpack_error_wins_over_a_malformed_field", "5.4", Ready, headers(1, 0, b"\x83\x86\x84\x00\x01A\x01v\x80"))
            .conn(E::COMPRESSION_ERROR)
            .last(1),
        // §8.1.1: decodes, but is no request.
        server("block_without_octets", "8.3.1", Ready, headers(1, END_STREAM, b"")).stream(1, E::PROTOCOL_ERROR),
        client("response_block_without_octets", "8.3.2", Sent, headers(1, 0, b"")).stream(1, E::PROTOCOL_ERROR),
        server("entry_too_large_for_the_table_empties_it", "H4.4", Ready, {
            let mut block = REQUEST.to_vec();
            literal(&mut block, 0x40, b"big", &[b'v'; 4_096]);
            block.push(0xbe);
            headers(1, 0, &block)
        })
        .conn(E::COMPRESSION_ERROR)
        .last(1),
        // Three entries of 43 octets each, and a reference to the oldest.
        server("entries_that_just_fit_stay", "H4.4", Ready, headers(1, 0, &three_entries(129))).does("", "incoming"),
        server("the_oldest_entry_is_evicted_for_one_octet", "H4.4", Ready, headers(1, 0, &three_entries(128)))
            .conn(E::COMPRESSION_ERROR)
            .last(1),
        server("name_of_an_entry_that_its_insertion_evicts", "H4.4", Ready, {
            let mut block = vec![0x3f, 0x21]; // a table of 64 octets
            block.extend_from_slice(b"\x83\x86\x44\x04/S/M");
            block.extend(rest());
            literal(&mut block, 0x40, b"name", b"v");
            block.extend_from_slice(b"\x7e\x01w"); // index 62 is its name
            headers(1, 0, &block)
        })
        .does("", "incoming"),
    ]);
    cases
}

/// A request that first sets its table's size.
fn three_entries(size: usize) -> Vec<u8> {
    let mut block = Vec::new();
    integer(&mut block, 0x20, 5, size);
    block.extend_from_slice(b"\x83\x86\x04\x04/S/M");
    block.extend(rest());
    [b"a", b"b", b"c"].iter().for_each(|name| literal(&mut block, 0x40, *name, &[b'v'; 10]));
    block.push(0x80 | 64);
    block
}

fn table_sizes() -> Vec<Case> {
    let sized = |updates: &[u8]| headers(1, END_STREAM, &[updates, REQUEST].concat());
    let small: fn(&mut pintle_core::Config) = |config| config.header_table = 100;
    let ok = ("", "incoming; end");
    vec![
        server("table_size_0_at_the_start", "H4.2", Ready, sized(b"\x20")).does(ok.0, ok.1),
        server("table_size_of_the_limit", "H6.3", Ready, sized(b"\x3f\xe1\x1f")).does(ok.0, ok.1),
        server("table_size_twice_at_the_start", "H4.2", Ready, sized(b"\x20\x3f\xe1\x1f")).does(ok.0, ok.1),
        // At most two are needed; more are taken.
        server("table_size_four_times_at_the_start", "H4.2", Ready, sized(b"\x20\x21\x22\x3f\xe1\x1f")).does(ok.0, ok.1),
        server("table_size_above_the_limit", "H6.3", Ready, sized(b"\x3f\xe2\x1f")).conn(E::COMPRESSION_ERROR).last(1),
        server("table_size_far_above_the_limit", "H6.3", Ready, sized(b"\x3f\xe0\xff\xff\x7f")).conn(E::COMPRESSION_ERROR).last(1),
        client("table_size_above_the_limit_in_a_response", "H6.3", Sent, headers(1, 0, b"\x3f\xe2\x1f\x88")).conn(E::COMPRESSION_ERROR),
        client("table_size_in_trailers", "H4.2", HalfLocal, headers(1, END_STREAM, &[b"\x20", TRAILERS_OK].concat()))
            .does("", "outcome Ok")
            .over(),
        server(
            "table_size_0_forgets_the_entries",
            "H4.3",
            Ready,
            [headers(1, END_STREAM, &inserts_path()), headers(3, END_STREAM, &[b"\x20", &uses_path()[..]].concat())],
        )
        .conn(E::COMPRESSION_ERROR)
        .last(3),
        server("lowered_table_size_before_the_acknowledgement", "6.5.3", Unacked, sized(b"")).config(small).does(ok.0, ok.1),
        server("old_table_size_before_the_acknowledgement", "6.5.3", Unacked, sized(b"\x3f\xe1\x1f")).config(small).does(ok.0, ok.1),
        server("lowered_table_size_and_no_update", "4.3.1", Ready, sized(b"")).config(small).conn(E::COMPRESSION_ERROR).last(1).unproved(),
        server("lowered_table_size_and_too_large_an_update", "4.3.1", Ready, sized(b"\x3f\x46"))
            .config(small)
            .conn(E::COMPRESSION_ERROR)
            .last(1),
        server("lowered_table_size_and_an_update", "4.3.1", Ready, sized(b"\x3f\x45")).config(small).does(ok.0, ok.1),
        server("lowered_table_size_and_an_update_to_0", "4.3.1", Ready, sized(b"\x20")).config(small).does(ok.0, ok.1),
        server("lowered_table_size_and_two_updates", "4.3.1", Ready, sized(b"\x20\x3f\x45")).config(small).does(ok.0, ok.1),
        client("lowered_table_size_and_no_update_in_a_response", "4.3.1", Sent, headers(1, 0, RESPONSE))
            .config(small)
            .conn(E::COMPRESSION_ERROR),
        server("lowered_table_size_holds_for_discarded_blocks", "4.3.1", Ready, headers(1, END_STREAM, b""))
            .config(small)
            .conn(E::COMPRESSION_ERROR)
            .last(1),
        server("raised_table_size_may_be_used", "6.5.3", Ready, sized(b"\x3f\xe1\x3f"))
            .config(|config| config.header_table = 8_192)
            .does(ok.0, ok.1),
        server("raised_table_size_need_not_be_used", "4.3.1", Ready, sized(b""))
            .config(|config| config.header_table = 8_192)
            .does(ok.0, ok.1),
        // A larger limit counts at once: the peer may have read our SETTINGS, and its acknowledgement be on the way.
        server("raised_table_size_before_the_acknowledgement", "6.5.3", Unacked, sized(b"\x3f\xe1\x3f"))
            .config(|config| config.header_table = 8_192)
            .does(ok.0, ok.1),
    ]
}

/// Blocks that nobody wants change the table all the same.
fn discarded() -> Vec<Case> {
    vec![
        server("refused_request_feeds_the_table", "4.3", Refused, [headers(5, END_STREAM, &inserts_path()), rst_stream(1, 8)])
            .does("RST_STREAM 5 REFUSED_STREAM", "finished Cancelled")
            .unproved(),
        code("block_of_a_refused_request_is_decoded", "4.3", Role::Server, |cut| feeds(Refused, 5, cut)),
        code("block_behind_our_reset_is_decoded", "4.3", Role::Server, |cut| feeds(OurReset, 1, cut)),
        code("trailers_of_an_open_request_are_decoded", "4.3", Role::Server, |cut| feeds(Open, 1, cut)),
        code("block_on_a_half_closed_stream_is_decoded", "4.3", Role::Server, |cut| feeds(HalfRemote, 1, cut)),
        code("block_of_a_malformed_request_is_decoded", "4.3", Role::Server, |cut| feeds_with(Ready, 1, b"\x00\x01A\x01v", cut)),
        code("block_of_a_request_above_the_list_limit_is_decoded", "4.3", Role::Server, |cut| {
            let mut large = Vec::new();
            literal(&mut large, 0, b"x", &[b'v'; 16_000]);
            literal(&mut large, 0, b"y", &[b'v'; 300]);
            feeds_with(Ready, 1, &large, cut);
        }),
        client(
            "block_behind_a_clients_reset_is_decoded",
            "4.3",
            OurReset,
            [
                Step::In(headers(1, END_STREAM, INSERTS_STATUS)),
                Step::Do(Act::Start(pintle_core::Shape::Bidi)),
                Step::In(headers(3, 0, USES_STATUS)),
            ],
        )
        .does("HEADERS 3", "headers"),
        client(
            "block_behind_the_servers_reset_is_decoded",
            "4.3",
            PeerReset,
            [
                Step::In(headers(1, END_STREAM, INSERTS_STATUS)),
                Step::Do(Act::Start(pintle_core::Shape::Bidi)),
                Step::In(headers(3, 0, USES_STATUS)),
            ],
        )
        .does("HEADERS 3", "headers"),
        client(
            "block_of_a_malformed_response_is_decoded",
            "4.3",
            Sent,
            [
                Step::In(headers(1, 0, b"\x00\x01A\x01v\x48\x03200")),
                Step::Do(Act::Start(pintle_core::Shape::Bidi)),
                Step::In(headers(3, 0, USES_STATUS)),
            ],
        )
        .does("RST_STREAM 1 PROTOCOL_ERROR; HEADERS 3", "outcome Internal; headers"),
        client(
            "block_of_an_informational_response_is_decoded",
            "4.3",
            Sent,
            [headers(1, 0, b"\x48\x03103"), headers(1, 0, b"\x48\x03200\xbf")],
        )
        .stream(1, E::PROTOCOL_ERROR),
        client(
            "block_of_an_unprocessed_call_is_decoded",
            "6.8",
            GoneAway,
            [headers(3, 0, b"\x00\x01n\x01v"), headers(3, END_STREAM, b"\x80")],
        )
        .conn(E::COMPRESSION_ERROR),
    ]
}

fn feeds(given: Given, stream: u32, cut: Cut) {
    feeds_with(given, stream, b"", cut);
}

/// A block on `stream` inserts a path, whatever becomes of it; a later request takes its path from there.
fn feeds_with(given: Given, stream: u32, more: &[u8], cut: Cut) {
    let mut lab = Lab::new(true, given, &[], |_| {}, cut);
    let block = [inserts_path(), more.to_vec()].concat();
    lab.step(&Step::In(headers(stream, END_STREAM, &block)));
    if given == Refused {
        lab.act(Act::Finish);
        lab.observe();
    }
    lab.app.clear();
    lab.step(&Step::In(headers(4_001, END_STREAM, &uses_path())));
    assert_eq!(lab.seen(), "incoming; end", "{}", lab.wire());
    let id = *lab.calls.last().expect("the call");
    assert_eq!(lab.peer.call(id).path(), "/S/M");
}

fn limits() -> Vec<Case> {
    let large = |octets: usize| {
        let mut more = request_block("/S/M", &[]);
        // What the request has already: names and values, and 32 for each field (§6.5.2).
        let have = 7 + 4 + 7 + 4 + 5 + 4 + 10 + 1 + 12 + 16 + 2 + 8 + 6 * 32;
        literal(&mut more, 0, b"x", &vec![b'v'; octets - have - 33]);
        more
    };
    let many = |fields: usize| {
        let mut more = request_block("/S/M", &[]);
        (6..fields).for_each(|_| literal(&mut more, 0, b"x", b"v"));
        more
    };
    let split = |block: &[u8], flags| {
        let (front, mut rest) = block.split_at(block.len().min(16_384));
        let mut frames = begun(1, flags | if rest.is_empty() { END_HEADERS } else { 0 }, front);
        while !rest.is_empty() {
            let (front, back) = rest.split_at(rest.len().min(16_384));
            frames.extend(continuation(1, if back.is_empty() { END_HEADERS } else { 0 }, front));
            rest = back;
        }
        frames
    };
    let response = |value: usize| {
        let mut block = RESPONSE.to_vec();
        literal(&mut block, 0, b"x", &vec![b'v'; value]);
        block
    };
    vec![
        server("header_list_of_the_limit", "10.5.1", Ready, headers(1, END_STREAM, &large(16_384))).does("", "incoming; end"),
        server("header_list_above_the_limit", "10.5.1", Ready, headers(1, END_STREAM, &large(16_385))).does("HEADERS 1 ES 431 grpc=8", ""),
        server("header_list_above_the_limit_with_a_body_to_come", "10.5.1", Ready, headers(1, 0, &large(16_385)))
            .does("HEADERS 1 ES 431 grpc=8; RST_STREAM 1 NO_ERROR", ""),
        server("header_fields_of_the_limit", "10.5.1", Ready, headers(1, END_STREAM, &many(128))).does("", "incoming; end"),
        server("header_fields_above_the_limit", "10.5.1", Ready, headers(1, END_STREAM, &many(129))).does("HEADERS 1 ES 431 grpc=8", ""),
        server("header_list_far_above_the_limit", "10.5.1", Ready, split(&large(4 * 16_384 + 200), END_STREAM))
            .conn(E::ENHANCE_YOUR_CALM)
            .last(1),
        server("header_list_that_is_large_by_references", "10.5.1", Ready, {
            let mut block = REQUEST.to_vec();
            literal(&mut block, 0x40, b"x", &[b'v'; 4_000]);
            block.extend([0xbe; 20]);
            headers(1, END_STREAM, &block)
        })
        .conn(E::ENHANCE_YOUR_CALM)
        .last(1),
        server("continuations_without_end", "10.5", Ready, {
            let mut frames = begun(1, 0, REQUEST);
            (0..20).for_each(|_| frames.extend(continuation(1, 0, b"")));
            frames
        })
        .conn(E::ENHANCE_YOUR_CALM)
        .last(1),
        client("response_list_above_the_limit", "10.5.1", Sent, headers(1, 0, &response(16_300)))
            .does("RST_STREAM 1 CANCEL", "outcome ResourceExhausted"),
        client("trailers_above_the_limit", "10.5.1", HalfLocal, {
            let mut block = TRAILERS_OK.to_vec();
            literal(&mut block, 0, b"x", &[b'v'; 16_350]);
            split(&block, END_STREAM)
        })
        .does("", "outcome ResourceExhausted")
        .over(),
        client("response_list_far_above_the_limit", "10.5.1", Sent, {
            let mut block = RESPONSE.to_vec();
            literal(&mut block, 0x40, b"x", &[b'v'; 4_000]);
            block.extend([0xbe; 20]);
            headers(1, 0, &block)
        })
        .conn(E::ENHANCE_YOUR_CALM),
    ]
}
