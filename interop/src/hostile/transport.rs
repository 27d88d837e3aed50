//! What is not HTTP/2; and silence, the end and a reset of the TCP connection at every moment.

use super::{
    After::{Either, Stuck},
    GONE, Script, Shape, Step, TIME, When, code,
    wire::{HEAD, S, TRAILERS, block, data, frame, good, head, kind, message, prefixed, rest, settings, trailers},
};

pub(super) fn scripts() -> Vec<Script> {
    [foreign(), ends(), silence()].concat()
}

fn foreign() -> Vec<Script> {
    const FOREIGN: &[u32] = &[code::UNAVAILABLE, code::INTERNAL];
    let speaks = |name, says, octets: &[u8]| {
        let steps = vec![Step::Await(When::Preface), Step::Send(octets.to_vec()), Step::Pause(20), Step::Close];
        Script::new(name, "RFC 9113 §3.4", FOREIGN, Either, steps).rude().says(says)
    };
    // Who greets speaks first, and waits.
    let greets = |name, says, octets: &[u8]| {
        Script::new(name, "RFC 9113 §3.4", FOREIGN, Either, vec![Step::Send(octets.to_vec())]).rude().says(says)
    };
    let bad_request = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>hi</html>";
    let hello_retry = [&[0x16, 3, 3, 0, 0x7A, 2, 0, 0, 0x76, 3, 3][..], &[0x5A; 116]].concat();
    vec![
        speaks("foreign/http-1.1-bad-request", "HTTP/1", bad_request),
        speaks("foreign/http-1.1-page", "HTTP/1", page),
        speaks("foreign/http-1.0", "HTTP/1", b"HTTP/1.0 505 HTTP Version Not Supported\r\n\r\n"),
        greets("foreign/http-1.1-and-silence", "HTTP/1", bad_request),
        speaks("foreign/http-0.9-page", "HTML", b"<html><head><title>400 Bad Request</title></head><body>no</body></html>"),
        speaks("foreign/http-0.9-doctype", "HTML", b"<!DOCTYPE html>\n<html lang=en>\n<title>Error</title>\n"),
        speaks("foreign/xml", "XML", b"<?xml version=\"1.0\"?><Error><Code>BadRequest</Code></Error>"),
        speaks("foreign/json", "JSON", b"{\"error\": \"unexpected request\"}"),
        speaks("foreign/plain-words", "Bad reque", b"Bad request\r\n"),
        speaks("foreign/tls-alert", "TLS", &[0x15, 3, 1, 0, 2, 2, 70]),
        speaks("foreign/tls-alert-1.2", "TLS", &[0x15, 3, 3, 0, 2, 2, 10]),
        greets("foreign/tls-hello", "TLS", &hello_retry),
        greets("foreign/ssh", "SSH", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
        greets("foreign/smtp", "220 mail", b"220 mail.example.org ESMTP\r\n"),
        speaks("foreign/redis", "-ERR", b"-ERR unknown command 'PRI'\r\n"),
        greets("foreign/mysql", "", b"\x4a\0\0\0\x0a8.0.36\0\x08\0\0\0aaaaaaaa\0\xff\xf7\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0aaaaaaaaaaaa\0caching_sha2_password\0"),
        speaks("foreign/echo-of-the-preface", "", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        speaks("foreign/noise", "", &[0xE3, 0x7C, 0x11, 0x9A, 0xC4, 0x05, 0xB8, 0xEE, 0x42, 0x6D, 0xFA, 0x90]),
        speaks("foreign/zeros", "", &[0; 100]),
        speaks("foreign/one-octet", "", b"x"),
    ]
}

/// Moments of a call, and what has been said until then.
fn moments() -> Vec<(&'static str, Vec<Step>)> {
    let hello = || Step::Send([settings(&[]), super::wire::settings_ack()].concat());
    let answered = |octets: Vec<u8>| vec![hello(), Step::Await(When::End), Step::Send(octets)];
    let cut = |octets: Vec<u8>| answered(octets[..octets.len() - 3].to_vec());
    vec![
        ("on-accept", vec![]),
        ("after-preface", vec![Step::Await(When::Preface)]),
        ("inside-settings", vec![Step::Await(When::Preface), Step::Send(settings(&[(3, 100)])[..12].to_vec())]),
        ("after-settings", vec![hello(), Step::Await(When::Preface)]),
        ("after-request-head", vec![hello(), Step::Await(When::Head)]),
        ("after-request", vec![hello(), Step::Await(When::End)]),
        ("inside-frame-head", answered(head(HEAD)[..5].to_vec())),
        ("inside-head", cut(head(HEAD))),
        ("inside-block", answered(frame(kind::HEADERS, 0, S, &block(HEAD)))),
        ("after-head", answered(head(HEAD))),
        ("inside-message", answered([head(HEAD), data(&prefixed(0, 10, b"12345"))].concat())),
        ("inside-data", cut([head(HEAD), data(&message(b"12345"))].concat())),
        ("after-message", answered([head(HEAD), data(&message(b""))].concat())),
        ("inside-trailers", cut([head(HEAD), rest()].concat())),
    ]
}

/// `close/on-accept` and so on: names are made once and live as long as the program.
fn named(group: &str, moment: &str) -> &'static str {
    format!("{group}/{moment}").leak()
}

fn ends() -> Vec<Script> {
    const LOST: &[u32] = &[code::UNAVAILABLE, code::INTERNAL, code::UNKNOWN];
    const OK_OR_LOST: &[u32] = &[code::OK, code::UNAVAILABLE];
    let mut scripts = Vec::new();
    for (moment, steps) in moments() {
        for (group, end) in [("close", Step::Close), ("abort", Step::Abort), ("half-close", Step::HalfClose)] {
            let early = !moment.starts_with("inside") && !matches!(moment, "after-head" | "after-message");
            let steps = [steps.clone(), vec![end]].concat();
            scripts.push(Script::new(named(group, moment), "SC", if early { GONE } else { LOST }, Either, steps).rude());
        }
    }
    let whole = |name, allow, end| {
        let steps = vec![Step::Send(settings(&[])), Step::Await(When::End), Step::Send(good(S)), end];
        Script::new(name, "RFC 9113 §8.1", allow, Either, steps).rude()
    };
    scripts.extend([
        whole("close/after-trailers", &[code::OK], Step::Close),
        // A reset of the connection may throw away what was not read yet.
        whole("abort/after-trailers", OK_OR_LOST, Step::Abort),
        whole("half-close/after-trailers", &[code::OK], Step::HalfClose),
    ]);
    scripts
}

fn silence() -> Vec<Script> {
    let dripping = vec![Step::Send(settings(&[])), Step::Await(When::End), Step::Drip([head(HEAD), rest()].concat(), 40)];
    let messages: Vec<u8> = [head(HEAD), data(&message(b"")).repeat(1_000)].concat();
    let streaming = vec![Step::Await(When::End), Step::Drip(messages, 2)];
    let slow = vec![Step::Await(When::End), Step::Drip([head(HEAD), data(&message(b"")), trailers(TRAILERS)].concat(), 1)];
    let mut scripts: Vec<Script> =
        moments().into_iter().map(|(moment, steps)| Script::new(named("silence", moment), "SC", TIME, Stuck, steps).rude()).collect();
    scripts.extend([
        Script::new("silence/one-octet-in-40-ms", "SC", TIME, Stuck, dripping).rude(),
        Script::new("silence/in-a-stream-that-drips", "SC", TIME, Stuck, streaming).shape(Shape::Streaming),
        Script::new("silence/of-a-millisecond-per-octet", "RFC 9113 §8.1", super::OK, Either, slow),
        Script::new("silence/bidi", "SC", TIME, Stuck, vec![Step::Await(When::Head), Step::Send(head(HEAD))]).shape(Shape::Bidi),
    ]);
    scripts
}
