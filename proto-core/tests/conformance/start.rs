//! How a connection begins (RFC 9113 §3).

use super::{
    case::{Given::*, *},
    lab::{data, headers, line},
    peer::{fresh_to_client, routes},
};
use pintle_core::{
    CloseReason, Config, ErrorCode as E, Shape,
    testing::{
        Cut,
        raw::{REQUEST, RawPeer},
        wire::*,
    },
};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        // 3.4: a server's octets follow the client's preface here; nothing forces it to speak first.
        server("server_answers_the_preface_with_settings", "3.4", Nothing, &PREFACE[..])
            .does("SETTINGS; WINDOW_UPDATE 0 4128769", "")
            .unproved(),
        server("server_acknowledges_behind_its_own_settings", "3.4", Nothing, [PREFACE.to_vec(), settings(&[])])
            .does("SETTINGS; WINDOW_UPDATE 0 4128769; SETTINGS ACK", ""),
        server(
            "request_behind_the_preface_is_served",
            "3.4",
            Nothing,
            [PREFACE.to_vec(), settings(&[]), headers(1, 0, REQUEST), data(1, END_STREAM, &message(b"now"))],
        )
        .does("SETTINGS; WINDOW_UPDATE 0 4128769; SETTINGS ACK", "incoming; message now; end"),
        client("empty_server_preface_is_acknowledged", "3.4", Nothing, settings(&[])).does("SETTINGS ACK", ""),
        client("server_preface_with_values_is_acknowledged", "3.4", Nothing, settings(&[(3, 100), (4, 70_000), (6, 8_192)]))
            .does("SETTINGS ACK", ""),
        server("second_preface_is_a_frame_too_long", "4.2", Ready, &PREFACE[..]).conn(E::FRAME_SIZE_ERROR),
        // The GOAWAY may be left out (§3.4); ours tells what the port speaks.
        server("preface_of_another_version", "3.4", Nothing, &b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n"[..]).conn(E::PROTOCOL_ERROR),
        server("preface_with_a_wrong_last_octet", "3.4", Nothing, &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r"[..]).conn(E::PROTOCOL_ERROR),
        server("preface_that_is_noise", "3.4", Nothing, &[0xff; 24][..]).conn(E::PROTOCOL_ERROR),
        server("preface_left_out", "3.4", Nothing, settings(&[])).conn(E::PROTOCOL_ERROR),
        server("preface_cut_off", "3.4", Nothing, [Step::In(PREFACE[..20].to_vec()), Step::Eof]).does("", "closed"),
        server("preface_never_sent", "3.4", Nothing, [Step::Wait(LIMIT)]).does("", "closed"),
        server("client_settings_never_sent", "3.4", Preface, [Step::Wait(LIMIT)]).conn(E::SETTINGS_TIMEOUT),
        client("server_settings_never_sent", "3.4", Nothing, [Step::Wait(LIMIT)]).conn(E::SETTINGS_TIMEOUT),
        both("settings_never_acknowledged", "6.5.3", Unacked, [Step::Wait(LIMIT)]).conn(E::SETTINGS_TIMEOUT),
        both(
            "settings_acknowledged_in_time",
            "6.5.3",
            Unacked,
            [Step::Wait(LIMIT - Duration::from_millis(1)), Step::In(settings_ack()), Step::Wait(LIMIT)],
        )
        .ignored(),
        server("first_settings_with_a_bad_value", "6.5.2", Preface, settings(&[(5, 16_383)])).conn(E::PROTOCOL_ERROR),
        client("first_server_settings_with_a_bad_value", "6.5.2", Nothing, settings(&[(4, 1 << 31)])).conn(E::FLOW_CONTROL_ERROR),
        server("first_settings_of_a_bad_length", "6.5", Preface, frame(SETTINGS, 0, 0, &[0; 5])).conn(E::FRAME_SIZE_ERROR),
        client("transport_ends_inside_a_frame", "5.4.1", Open, [Step::In(data(1, 0, &message(b"abc"))[..11].to_vec()), Step::Eof])
            .does("", "outcome Unavailable; closed"),
        server("transport_of_a_server_ends", "5.4.1", Open, [Step::Eof]).does("", "finished Cancelled; closed"),
        code("http1_request_gets_an_http1_answer", "3.1", Role::Server, an_http1_request),
        code("upgrade_to_h2c_is_gone", "3.1", Role::Server, an_upgrade),
        code("tls_hello_on_a_cleartext_port", "3.3", Role::Server, a_tls_hello),
        code("client_speaks_first_with_preface_and_settings", "3.4", Role::Client, the_client_speaks_first),
        code("client_reads_settings_before_it_wrote_its_own", "3.4", Role::Client, settings_before_the_preface),
    ];
    let firsts: [(&str, Vec<u8>); 8] = [
        ("settings_ack", settings_ack()),
        ("ping", frame(PING, 0, 0, &[0; 8])),
        ("window_update", window_update(0, 1)),
        ("goaway", goaway(0, 0, b"")),
        ("headers", headers(1, 0, REQUEST)),
        ("priority", frame(PRIORITY, 0, 1, &[0; 5])),
        ("data", data(1, 0, b"x")),
        ("unknown", frame(0xbe, 0, 0, b"grease")),
    ];
    for (what, octets) in firsts {
        cases.push(server(format!("{what}_before_the_first_settings"), "3.4", Preface, octets.clone()).conn(E::PROTOCOL_ERROR));
        cases.push(client(format!("{what}_before_the_servers_settings"), "3.4", Nothing, octets).conn(E::PROTOCOL_ERROR));
    }
    cases
}

fn answer_to(octets: &[u8], cut: Cut) -> (Vec<u8>, RawPeer) {
    let mut peer = RawPeer::client(&Config::default(), routes(), cut, 1);
    peer.send(octets);
    let said = peer.output_octets();
    assert!(peer.conn.is_finished());
    (said, peer)
}

fn an_http1_request(cut: Cut) {
    let (said, peer) = answer_to(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n", cut);
    assert!(said.starts_with(b"HTTP/1.1 505 "), "{}", String::from_utf8_lossy(&said));
    assert!(matches!(peer.conn.close_reason(), Some(CloseReason::Foreign { .. })));
}

fn an_upgrade(cut: Cut) {
    let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n";
    let (said, _) = answer_to(request, cut);
    assert!(said.starts_with(b"HTTP/1.1 505 "), "not 101: {}", String::from_utf8_lossy(&said));
}

fn a_tls_hello(cut: Cut) {
    let (said, _) = answer_to(&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3], cut);
    assert_eq!(said[..3], [21, 3, 1], "a TLS alert");
}

fn the_client_speaks_first(cut: Cut) {
    let mut peer = RawPeer::server(&Config::default(), cut, 1);
    let octets = peer.output_octets();
    assert_eq!(octets[..24], PREFACE[..]);
    let head = Head::parse(octets[24..33].try_into().expect("nine octets"));
    assert_eq!((head.kind, head.flags, head.stream), (SETTINGS, 0, 0));
    let entries: Vec<_> = octets[33..33 + head.len as usize].chunks_exact(6).map(|entry| (entry[1], entry[5])).collect();
    assert!(entries.contains(&(2, 0)), "ENABLE_PUSH = 0 (RFC 9113 §6.5.2)");
}

/// Both may speak at once; the acknowledgement waits behind the client's own preface.
fn settings_before_the_preface(cut: Cut) {
    let mut peer = fresh_to_client(&Config::default(), cut);
    peer.send(&settings(&[(3, 1)]));
    peer.start(Shape::Bidi);
    let said: Vec<_> = peer.said().iter().map(line).collect();
    assert_eq!(said, ["SETTINGS", "WINDOW_UPDATE 0 4128769", "SETTINGS ACK", "HEADERS 1"]);
}
