//! What we must never send, and what we must: rules for senders. They are judged on two busy connections, one for each role.

use super::{
    case::{Act, Given::*, *},
    lab::{Lab, data, headers},
    peer::Said,
};
use pintle_core::{
    Metadata, RequestHead, Shape, Status,
    testing::{Cut, raw::*, wire::*},
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn cases() -> Vec<Case> {
    use Role::{Both, Client, Server};
    vec![
        code("client_ids_are_odd_and_grow", "5.1.1", Client, |cut| client_ids(&client_said(cut))),
        code("server_opens_no_stream", "5.1.1", Server, |cut| opens_nothing(&server_said(cut))),
        code("no_frame_is_longer_than_the_peer_takes", "4.2", Both, |cut| each(cut, lengths)),
        code("reserved_bits_and_undefined_flags_are_0", "4.1", Both, |cut| each(cut, flags)),
        code("nothing_is_padded", "6.1", Both, |cut| each(cut, unpadded)),
        code("no_priority_is_signalled", "5.3.2", Both, |cut| each(cut, unprioritized)),
        code("connection_frames_are_on_stream_0", "6.5", Both, |cut| each(cut, right_streams)),
        code("continuations_follow_their_headers", "6.10", Both, |cut| each(cut, contiguous)),
        code("a_large_block_is_split", "6.10", Both, |cut| each(cut, splits)),
        code("nothing_follows_the_end_of_a_stream", "5.1", Both, |cut| each(cut, ends_once)),
        code("a_stream_begins_with_headers", "8.1", Both, |cut| each(cut, headers_first)),
        code("no_stream_is_reset_twice", "5.4.2", Both, |cut| each(cut, one_reset)),
        code("no_push_promise", "8.4", Both, |cut| each(cut, no_push)),
        code("increments_are_1_to_2_31", "6.9", Both, |cut| each(cut, increments)),
        code("windows_are_kept", "6.9.1", Both, |cut| each(cut, windows)),
        code("pseudo_fields_come_first_and_once", "8.3", Both, |cut| each(cut, pseudo_fields)),
        code("request_has_its_pseudo_fields_in_grpcs_order", "8.3.1", Client, |cut| request_order(&client_said(cut))),
        code("response_has_a_status_and_nothing_else_with_a_colon", "8.3.2", Server, |cut| response_pseudo(&server_said(cut))),
        code("no_field_of_http1_connections", "8.2.2", Both, |cut| each(cut, no_connection_fields)),
        code("te_is_trailers_in_requests_only", "8.2.2", Both, te),
        code("names_are_lower_case_tokens", "8.2.1", Both, |cut| each(cut, names)),
        code("values_have_no_forbidden_octets", "8.2.1", Both, |cut| each(cut, values)),
        code("trailers_have_no_pseudo_fields", "8.1", Server, |cut| trailers(&server_said(cut))),
        code("stream_limit_is_kept", "5.1.2", Client, stream_limit),
        code("requests_go_out_before_the_servers_settings", "3.4", Client, early_requests),
        code("before_settings_a_hundred_streams", "5.1.2", Client, streams_before_settings),
        code("settings_of_a_client", "6.5.2", Client, |cut| settings_of(false, cut)),
        code("settings_of_a_server", "6.5.2", Server, |cut| settings_of(true, cut)),
        code("a_lowered_table_size_begins_the_next_block", "4.3.1", Client, |cut| table_size(&[(1, 0)], &[0x20], cut)),
        code("table_size_there_and_back_is_told_twice", "H4.2", Client, |cut| {
            table_size(&[(1, 0), (1, 4_096)], &[0x20, 0x3f, 0xe1, 0x1f], cut)
        }),
        // The encoder has a cap of its own, so a larger offer changes nothing.
        code("a_raised_table_size_need_not_be_used", "4.3.1", Client, |cut| table_size(&[(1, 65_536)], &[0x83], cut)),
        code("a_lowered_table_size_begins_the_next_answer", "4.3.1", Server, |cut| answers_size(&[(1, 0)], &[0x20], cut)),
        code("a_table_size_there_and_back_begins_the_next_answer", "H4.2", Server, |cut| {
            answers_size(&[(1, 0), (1, 4_096)], &[0x20, 0x3f, 0xe1, 0x1f], cut);
        }),
        code("blocks_are_split_at_the_peers_maximum", "4.2", Client, splits_at_the_maximum),
        code("trailers_are_split_at_the_peers_maximum", "4.2", Server, trailers_split),
        code("answers_keep_to_the_windows_when_they_repeat", "6.9.1", Server, repeated_answers),
        code("secrets_are_never_indexed", "H7.1.3", Client, secrets),
        code("a_call_that_was_never_framed_leaves_no_trace", "5.1", Client, no_trace),
        code("reset_is_not_answered_by_a_reset", "5.4.2", Both, no_answer_to_a_reset),
        code("metadata_above_the_peers_list_limit_is_not_sent", "6.5.2", Client, list_limit),
        code("no_stream_is_opened_behind_a_goaway", "6.8", Client, draining),
        code("connection_fields_of_the_application_are_refused", "8.2.2", Both, refused_metadata),
    ]
}

fn metadata(pairs: &[(&str, &str)]) -> Metadata {
    let mut metadata = Metadata::new();
    pairs.iter().for_each(|(name, value)| metadata.append(name, value).expect("a valid field"));
    metadata
}

fn large() -> String {
    "v".repeat(20_000)
}

/// A client with much to do: metadata large and small, messages, cancels, resets, windows, SETTINGS, a GOAWAY.
fn client_said(cut: Cut) -> Vec<Said> {
    let mut lab = Lab::new(false, Nothing, &[], |_| {}, cut);
    let mut said = std::mem::take(&mut lab.said);
    lab.step(&Step::In([settings(&[(3, 50), (4, 30_000), (5, 16_384)]), settings_ack()].concat()));
    for round in 0..4 {
        lab.act(Act::Start(Shape::Bidi));
        lab.act(Act::Send(50_000));
        let custom = metadata(&[("x-large", &large()), ("authorization", "secret"), ("x-round", &round.to_string())]);
        let id = lab.peer.start_with(Shape::Unary, Some(&custom), pintle_core::CallOptions::default());
        lab.calls.push(id);
        lab.act(Act::Send(100));
        lab.observe();
    }
    lab.step(&Step::In([settings(&[(4, 10)]), window_update(0, 1_000_000), window_update(1, 60_000), frame(PING, 0, 0, &[1; 8])].concat()));
    lab.step(&Step::In([headers(1, 0, RESPONSE), rst_stream(1, 8), rst_stream(1, 8), headers(3, END_STREAM, RESPONSE)].concat()));
    lab.step(&Step::In([headers(5, 0, RESPONSE), data(5, 0, &message(&[b'x'; 16_000])).repeat(5), data(1, 0, b"late")].concat()));
    lab.step(&Step::Do(Act::Cancel));
    lab.step(&Step::In([settings(&[(4, 65_535), (1, 0)]), headers(7, 0, b"\x00\x01A\x01v")].concat()));
    lab.act(Act::Start(Shape::Bidi));
    lab.step(&Step::Do(Act::Close));
    lab.step(&Step::In(goaway(9, 0, b"")));
    said.append(&mut lab.said);
    assert_eq!(lab.peer.conn.close_reason(), None);
    said
}

/// A server with much to do.
fn server_said(cut: Cut) -> Vec<Said> {
    let mut lab = Lab::new(true, Preface, &[], |_| {}, cut);
    lab.step(&Step::In([settings(&[(4, 1_000)]), settings_ack()].concat()));
    for stream in [1, 3, 5, 7] {
        lab.step(&Step::In([headers(stream, 0, REQUEST), data(stream, 0, &message(&[b'x'; 10_000])).repeat(8)].concat()));
        let id = *lab.calls.last().expect("a call");
        let custom = metadata(&[("x-large", &large()), ("x-stream", &stream.to_string())]);
        lab.peer.call(id).send_headers(&custom, false).expect("the first head");
        lab.act(Act::Send(5_000));
        lab.observe();
    }
    let id = *lab.calls.last().expect("a call");
    lab.step(&Step::In([settings(&[(4, 100)]), window_update(7, 10_000), rst_stream(5, 8), rst_stream(5, 8)].concat()));
    lab.peer.call(id).finish(&Status::new(pintle_core::Code::NotFound, "grün\n"), Some(&metadata(&[("x-trailer", &large())])));
    lab.calls.pop();
    lab.observe();
    lab.step(&Step::In([headers(9, END_STREAM, b"\x83"), headers(11, END_STREAM, &[REQUEST, b"\x00\x01a\x01v"].concat())].concat()));
    lab.step(&Step::Do(Act::Finish));
    lab.step(&Step::In(
        [headers(13, 0, b"\x82\x86\x84"), data(1, END_STREAM, b""), data(1, 0, b"x"), settings(&[(1, 0), (4, 70_000)])].concat(),
    ));
    lab.step(&Step::In([headers(15, 0, REQUEST), window_update(0, 100_000), frame(PING, 0, 0, &[2; 8])].concat()));
    lab.step(&Step::Do(Act::Cancel));
    lab.step(&Step::Do(Act::Drain));
    assert_eq!(lab.peer.conn.close_reason(), None);
    lab.said
}

fn each(cut: Cut, rule: fn(&[Said])) {
    rule(&client_said(cut));
    rule(&server_said(cut));
}

fn client_ids(said: &[Said]) {
    let mut opened = BTreeSet::new();
    for said in said.iter().filter(|said| said.kind() == HEADERS) {
        if !opened.contains(&said.stream()) {
            assert_eq!(said.stream() & 1, 1);
            assert!(opened.iter().all(|before| *before < said.stream()), "{} behind {opened:?}", said.stream());
            opened.insert(said.stream());
        }
    }
    assert!(opened.len() >= 9, "{opened:?}");
}

fn opens_nothing(said: &[Said]) {
    assert!(said.len() > 20 && said.iter().all(|said| said.stream() & 1 == 1 || said.stream() == 0));
}

fn lengths(said: &[Said]) {
    assert!(said.iter().all(|said| said.frame.head.len <= 16_384));
    assert!(said.iter().any(|said| said.frame.head.len == 16_384), "something was at the limit");
}

fn flags(said: &[Said]) {
    for said in said {
        let defined = match said.kind() {
            DATA => END_STREAM,
            HEADERS => END_STREAM | END_HEADERS,
            SETTINGS | PING => ACK,
            CONTINUATION => END_HEADERS,
            _ => 0,
        };
        assert_eq!(said.frame.head.flags & !defined, 0, "{said:?}");
        if matches!(said.kind(), WINDOW_UPDATE | GOAWAY) {
            assert_eq!(said.frame.word(0) >> 31, 0, "{said:?}");
        }
    }
}

fn unpadded(said: &[Said]) {
    assert!(!said.iter().any(|said| matches!(said.kind(), DATA | HEADERS) && said.frame.head.has(PADDED)));
    assert!(said.iter().any(|said| said.kind() == DATA));
}

fn unprioritized(said: &[Said]) {
    assert!(!said.iter().any(|said| said.kind() == PRIORITY || (said.kind() == HEADERS && said.frame.head.has(PRIORITIZED))));
}

fn right_streams(said: &[Said]) {
    for said in said {
        match said.kind() {
            SETTINGS | PING | GOAWAY => assert_eq!(said.stream(), 0, "{said:?}"),
            WINDOW_UPDATE => {}
            _ => assert_ne!(said.stream(), 0, "{said:?}"),
        }
    }
}

fn contiguous(said: &[Said]) {
    let mut open = None;
    for said in said {
        match open {
            Some(stream) => assert_eq!((said.kind(), said.stream()), (CONTINUATION, stream)),
            None => assert_ne!(said.kind(), CONTINUATION),
        }
        if matches!(said.kind(), HEADERS | CONTINUATION) {
            open = (!said.frame.head.has(END_HEADERS)).then(|| said.stream());
        }
    }
    assert_eq!(open, None);
}

fn splits(said: &[Said]) {
    let first = said.iter().position(|said| said.kind() == CONTINUATION).expect("20,000 octets of metadata need one");
    assert_eq!((said[first - 1].kind(), said[first - 1].frame.head.len), (HEADERS, 16_384), "split where it must be");
}

fn ends_once(said: &[Said]) {
    let (mut ended, mut reset) = (BTreeSet::new(), BTreeSet::new());
    for said in said {
        let stream = said.stream();
        match said.kind() {
            DATA | HEADERS | CONTINUATION => {
                let block = said.kind() == CONTINUATION;
                assert!(!reset.contains(&stream) && (block || !ended.contains(&stream)), "{said:?}");
            }
            WINDOW_UPDATE => assert!(!reset.contains(&stream), "{said:?}"),
            RST_STREAM => {
                reset.insert(stream);
            }
            _ => {}
        }
        if said.ends() {
            ended.insert(stream);
        }
    }
    assert!(ended.len() >= 2 && reset.len() >= 2, "{ended:?} {reset:?}");
}

fn headers_first(said: &[Said]) {
    let mut begun = BTreeSet::new();
    for said in said {
        match said.kind() {
            HEADERS => {
                begun.insert(said.stream());
            }
            DATA => assert!(begun.contains(&said.stream()), "{said:?}"),
            _ => {}
        }
    }
}

fn one_reset(said: &[Said]) {
    let mut reset = BTreeSet::new();
    for said in said.iter().filter(|said| said.kind() == RST_STREAM) {
        assert!(reset.insert(said.stream()), "{said:?}");
        assert_eq!(said.frame.head.len, 4);
    }
}

fn no_push(said: &[Said]) {
    assert!(!said.iter().any(|said| said.kind() == PUSH_PROMISE));
}

fn increments(said: &[Said]) {
    let mut seen = 0;
    for said in said.iter().filter(|said| said.kind() == WINDOW_UPDATE) {
        assert_eq!(said.frame.head.len, 4);
        assert!((1..=(1 << 31) - 1).contains(&said.frame.word(0)), "{said:?}");
        seen += 1;
    }
    assert!(seen > 0);
}

/// Counts DATA against what the scripts above granted: the most that a stream and the connection ever had.
fn windows(said: &[Said]) {
    let client = said.iter().any(|said| said.field(":path").is_some());
    let (connection, initial, extra) =
        if client { (1_065_535, 30_000, BTreeMap::from([(1, 60_000)])) } else { (165_535, 1_000, BTreeMap::from([(7, 10_000)])) };
    let mut sent: BTreeMap<u32, i64> = BTreeMap::new();
    for said in said.iter().filter(|said| said.kind() == DATA) {
        *sent.entry(said.stream()).or_default() += i64::from(said.frame.head.len);
    }
    assert!(sent.values().sum::<i64>() <= connection, "{sent:?}");
    for (stream, octets) in &sent {
        // The last SETTINGS raise the initial window; what was queued may then go.
        let raised = if client { 65_535 } else { 70_000 };
        let most = initial.max(raised) + extra.get(stream).copied().unwrap_or(0);
        assert!(*octets <= most, "stream {stream}: {octets}");
    }
    assert!(sent.len() > 1);
}

fn heads(said: &[Said]) -> impl Iterator<Item = &Said> {
    said.iter().filter(|said| !said.fields.is_empty())
}

fn pseudo_fields(said: &[Said]) {
    for said in heads(said) {
        let names: Vec<_> = said.fields.iter().map(|field| field.0.as_str()).collect();
        let pseudo = names.iter().take_while(|name| name.starts_with(':')).count();
        assert!(names[pseudo..].iter().all(|name| !name.starts_with(':')), "{names:?}");
        let distinct: BTreeSet<_> = names[..pseudo].iter().collect();
        assert_eq!(distinct.len(), pseudo, "{names:?}");
    }
}

fn request_order(said: &[Said]) {
    for said in heads(said) {
        let names: Vec<_> = said.fields.iter().take(4).map(|field| field.0.as_str()).collect();
        assert_eq!(names, [":method", ":scheme", ":path", ":authority"]);
        assert_eq!((said.field(":method"), said.field(":path")), (Some("POST"), Some("/S/M")));
        // PH2: te comes before the rest of the gRPC fields.
        assert_eq!((said.field("te"), said.field("content-type")), (Some("trailers"), Some("application/grpc")));
    }
}

fn response_pseudo(said: &[Said]) {
    let mut answered = BTreeSet::new();
    for said in heads(said) {
        let pseudo: Vec<_> = said.fields.iter().filter(|field| field.0.starts_with(':')).collect();
        if answered.insert(said.stream()) {
            assert_eq!(pseudo.len(), 1);
            assert!(pseudo[0].0 == ":status" && pseudo[0].1.len() == 3, "{pseudo:?}");
        } else {
            assert!(pseudo.is_empty(), "{pseudo:?}");
        }
    }
    assert!(answered.len() > 3);
}

fn no_connection_fields(said: &[Said]) {
    let forbidden = ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"];
    assert!(heads(said).flat_map(|said| &said.fields).all(|field| !forbidden.contains(&field.0.as_str())));
}

fn te(cut: Cut) {
    assert!(heads(&client_said(cut)).all(|said| said.field("te") == Some("trailers")));
    assert!(heads(&server_said(cut)).all(|said| said.field("te").is_none()));
}

fn names(said: &[Said]) {
    let token = |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&octet);
    for (name, _) in heads(said).flat_map(|said| &said.fields) {
        let name = name.strip_prefix(':').unwrap_or(name);
        assert!(!name.is_empty() && name.bytes().all(token), "{name:?}");
    }
}

fn values(said: &[Said]) {
    for (name, value) in heads(said).flat_map(|said| &said.fields) {
        assert!(!value.contains(['\0', '\r', '\n']), "{name}: {value:?}");
        assert_eq!(value.trim_matches([' ', '\t']), value, "{name}");
    }
}

fn trailers(said: &[Said]) {
    let mut answered = BTreeSet::new();
    let mut seen = 0;
    for said in heads(said) {
        if !answered.insert(said.stream()) {
            seen += 1;
            assert!(said.fields.iter().all(|field| !field.0.starts_with(':')), "{said:?}");
        }
    }
    assert!(seen > 0);
}

fn stream_limit(cut: Cut) {
    let mut lab = Lab::new(false, Ready, &[(3, 2)], |_| {}, cut);
    for _ in 0..5 {
        lab.act(Act::Start(Shape::Bidi));
    }
    lab.observe();
    assert_eq!(lab.wire(), "HEADERS 1; HEADERS 3");
    lab.said.clear();
    // Half-closed counts: only the end of a stream makes room.
    lab.step(&Step::In(headers(1, 0, RESPONSE)));
    assert_eq!(lab.wire(), "");
    lab.step(&Step::In(rst_stream(1, 8)));
    assert_eq!(lab.wire(), "HEADERS 5");
    lab.said.clear();
    lab.step(&Step::In(settings(&[(3, 1)])));
    lab.step(&Step::In(rst_stream(3, 8)));
    assert_eq!(lab.wire(), "SETTINGS ACK", "one is open, one is the limit");
}

fn early_requests(cut: Cut) {
    let mut lab = Lab::new(false, Nothing, &[], |_| {}, cut);
    lab.act(Act::Start(Shape::Unary));
    lab.act(Act::Send(70_000));
    lab.observe();
    // The defaults hold: frames of 16,384, windows of 65,535.
    assert_eq!(lab.summed(), "HEADERS 1; DATA 1 65535");
    lengths(&lab.said);
}

/// No limit is known, but servers are asked to allow a hundred (§6.5.2); more would be refused by most.
fn streams_before_settings(cut: Cut) {
    let mut lab = Lab::new(false, Nothing, &[], |_| {}, cut);
    for _ in 0..150 {
        lab.act(Act::Start(Shape::Bidi));
    }
    lab.observe();
    assert_eq!(lab.said.len(), 100);
    lab.said.clear();
    lab.step(&Step::In(settings(&[])));
    assert_eq!(lab.said.iter().filter(|said| said.kind() == HEADERS).count(), 50, "without a limit all go");
}

fn settings_of(server: bool, cut: Cut) {
    use super::peer::{fresh_to_client, fresh_to_server};
    let config = pintle_core::Config::default();
    let mut peer = if server { fresh_to_server(&config, cut) } else { fresh_to_client(&config, cut) };
    if server {
        peer.send(PREFACE);
    }
    let said = peer.said();
    assert_eq!((said[0].kind(), said[0].frame.head.flags), (SETTINGS, 0));
    let entries: BTreeMap<u16, u32> = said[0]
        .frame
        .payload
        .chunks_exact(6)
        .map(|e| (u16::from_be_bytes([e[0], e[1]]), u32::from_be_bytes([e[2], e[3], e[4], e[5]])))
        .collect();
    assert_eq!(entries.len() * 6, said[0].frame.payload.len(), "none is there twice");
    // Push is off at a client; a server says nothing about it (§6.5.2: it may only send 0). At least 100 streams.
    assert_eq!(entries.get(&2), if server { None } else { Some(&0) });
    assert_eq!(entries.get(&3), if server { Some(&100) } else { None });
    assert_eq!(entries.get(&4), Some(&131_072));
    assert_eq!(entries.get(&6), Some(&16_384));
    assert!(entries.get(&5).is_none_or(|max| (16_384..=16_777_215).contains(max)));
}

fn table_size(entries: &'static [(u16, u32)], begins: &[u8], cut: Cut) {
    let mut lab = Lab::new(false, Ready, &[], |_| {}, cut);
    for _ in 0..2 {
        lab.act(Act::Start(Shape::Bidi));
    }
    lab.observe();
    lab.said.clear();
    lab.step(&Step::In(settings(entries)));
    lab.step(&Step::Do(Act::Start(Shape::Bidi)));
    assert_eq!(lab.wire(), "SETTINGS ACK; HEADERS 5");
    let block = &lab.said[1].frame.payload;
    assert!(block.starts_with(begins), "{block:02x?}");
    lab.said.clear();
    lab.step(&Step::Do(Act::Start(Shape::Bidi)));
    assert_eq!(lab.said[0].frame.payload[0], 0x83, "told once");
}

/// Answers that are alike are framed from memory; a change of the table's size must come before the next of them all the same.
fn answers_size(entries: &'static [(u16, u32)], begins: &[u8], cut: Cut) {
    let mut lab = Lab::new(true, Ready, &[], |_| {}, cut);
    for stream in [1, 3, 5, 7] {
        serve(&mut lab, stream);
    }
    lab.said.clear();
    lab.step(&Step::In(settings(entries)));
    serve(&mut lab, 9);
    assert_eq!(lab.wire(), "SETTINGS ACK; HEADERS 9 200; DATA 9 7; HEADERS 9 ES grpc=0");
    let block = &lab.said[1].frame.payload;
    assert!(block.starts_with(begins), "{block:02x?}");
    lab.said.clear();
    serve(&mut lab, 11);
    assert_eq!(lab.said[0].frame.payload[0], 0x88, "told once");
}

/// One call from its request to its answer of two octets.
fn serve(lab: &mut Lab, stream: u32) {
    lab.step(&Step::In(headers(stream, END_STREAM, REQUEST)));
    let id = *lab.calls.last().expect("a call");
    assert_eq!(lab.peer.call(id).send_with(2, |out| out.extend_from_slice(b"ok")), Ok(()));
    lab.step(&Step::Do(Act::Finish));
}

fn repeated_answers(cut: Cut) {
    let mut lab = Lab::new(true, Ready, &[], |_| {}, cut);
    for stream in [1, 3, 5] {
        serve(&mut lab, stream);
    }
    lab.said.clear();
    lab.step(&Step::In(settings(&[(4, 6)])));
    serve(&mut lab, 7);
    assert_eq!(lab.wire(), "SETTINGS ACK; HEADERS 7 200; DATA 7 6");
    lab.step(&Step::In(window_update(7, 1)));
    assert_eq!(lab.wire(), "SETTINGS ACK; HEADERS 7 200; DATA 7 6; DATA 7 1; HEADERS 7 ES grpc=0");
    lab.said.clear();
    lab.step(&Step::In(settings(&[(4, 0)])));
    serve(&mut lab, 9);
    assert_eq!(lab.wire(), "SETTINGS ACK; HEADERS 9 200");
}

fn splits_at_the_maximum(cut: Cut) {
    let mut lab = Lab::new(false, Ready, &[(5, 18_000)], |_| {}, cut);
    let custom = metadata(&[("x-large", &large()), ("x-larger", &large())]);
    let id = lab.peer.start_with(Shape::Bidi, Some(&custom), pintle_core::CallOptions::default());
    lab.calls.push(id);
    lab.observe();
    let lengths: Vec<_> = lab.said.iter().map(|said| said.frame.head.len).collect();
    assert!(lengths.len() > 1 && lengths[..lengths.len() - 1].iter().all(|len| *len == 18_000), "{lengths:?}");
    contiguous(&lab.said);
}

fn trailers_split(cut: Cut) {
    let mut lab = Lab::new(true, Answered, &[], |_| {}, cut);
    let id = lab.calls.pop().expect("a call");
    lab.peer.call(id).finish(&Status::ok(), Some(&metadata(&[("x", &"~".repeat(30_000))])));
    lab.observe();
    let (first, rest) = lab.said.split_first().expect("trailers");
    assert_eq!((first.kind(), first.frame.head.len, first.ends()), (HEADERS, 16_384, true), "END_STREAM is with HEADERS");
    assert!(rest[..rest.len() - 1].iter().all(|said| said.kind() == CONTINUATION) && rest.len() > 1);
    assert_eq!(rest.last().map(Said::kind), Some(RST_STREAM), "NO_ERROR: the rest of the request is not wanted");
    contiguous(&lab.said);
}

fn secrets(cut: Cut) {
    let mut lab = Lab::new(false, Ready, &[], |_| {}, cut);
    let custom = metadata(&[("authorization", "Bearer 1"), ("cookie", "a=b")]);
    for _ in 0..3 {
        let id = lab.peer.start_with(Shape::Bidi, Some(&custom), pintle_core::CallOptions::default());
        lab.calls.push(id);
    }
    lab.observe();
    for said in &lab.said {
        // 0x1f 0x08 is "never indexed, name 23", 0x1f 0x11 name 32 (static table).
        let block = &said.frame.payload;
        for form in [[0x1f, 0x08], [0x1f, 0x11]] {
            assert!(block.windows(2).any(|octets| octets == form), "{block:02x?}");
        }
    }
    assert_eq!(lab.said.len(), 3);
}

fn no_trace(cut: Cut) {
    let mut lab = Lab::new(false, Open, &[], |_| {}, cut);
    lab.act(Act::Start(Shape::Bidi));
    lab.step(&Step::Do(Act::Cancel));
    assert_eq!(lab.wire(), "", "neither HEADERS nor RST_STREAM: the stream is idle (§6.4)");
    lab.step(&Step::Do(Act::Start(Shape::Bidi)));
    assert_eq!(lab.wire(), "HEADERS 3");
}

fn no_answer_to_a_reset(cut: Cut) {
    for server in [false, true] {
        for given in [Open, ClosedBoth, PeerReset, OurReset, Forgotten] {
            let mut lab = Lab::new(server, given, &[], |_| {}, cut);
            lab.step(&Step::In(rst_stream(1, 1)));
            lab.step(&Step::In(rst_stream(1, 0)));
            if server && given == Open {
                lab.step(&Step::Do(Act::Finish));
            }
            assert_eq!(lab.wire(), "", "{given:?}");
        }
    }
}

fn list_limit(cut: Cut) {
    let mut lab = Lab::new(false, Ready, &[(6, 2_000)], |_| {}, cut);
    let now = lab.peer.now;
    let value = "v".repeat(2_000);
    let custom = metadata(&[("x", &value)]);
    let head = RequestHead::new("/S/M", Shape::Unary).with_metadata(&custom);
    assert!(lab.peer.conn.start(now, head, pintle_core::CallOptions::default()).is_err());
    lab.observe();
    assert_eq!(lab.wire(), "");
}

/// Whoever received GOAWAY opens no stream (§6.8).
fn draining(cut: Cut) {
    let mut lab = Lab::new(false, GoneAway, &[], |_| {}, cut);
    let now = lab.peer.now;
    let refused = lab.peer.conn.start(now, RequestHead::new("/S/M", Shape::Unary), pintle_core::CallOptions::default());
    assert_eq!(refused, Err(pintle_core::StartError::Draining));
    lab.observe();
    assert_eq!(lab.wire(), "");
}

fn refused_metadata(_: Cut) {
    for name in ["connection", "te", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", ":path", "a b", "", "grpc-status"] {
        assert!(Metadata::new().append(name, "v").is_err(), "{name:?}");
    }
    // Upper case cannot be sent (§8.2.1), so it is not kept.
    assert_eq!(metadata(&[("X-Upper", "v")]).iter().next().map(|field| field.0), Some("x-upper"));
    for value in ["a\nb", "a\rb", "a\0b"] {
        assert!(Metadata::new().append("x", value).is_err(), "{value:?}");
    }
}
