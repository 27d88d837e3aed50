//! What loops of one's own get: wires that move octets, acceptors that survive, bells. Every wait here is bounded.

use pintle_core::{CallOptions, Config, Connection, Event, Recv, RequestHead, Routes, Shape, Status, Token, bytes::Bytes};
use pintle_net::{Acceptor, Address, BindOptions, Listener, Peer, Stream, Wire, bell, now};
use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

/// More than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);
const PATH: &str = "/test.Test/Echo";

fn server() -> Connection {
    Connection::server(&Config::default(), Routes::new([(PATH, Shape::Unary)]).unwrap(), now())
}

/// Calls `step` until it answers true.
fn until(what: &str, mut step: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !step() {
        assert!(begin.elapsed() < LONG, "no end: {what}");
        thread::yield_now();
    }
}

/// One turn of a connection. True: drop it.
fn turn(wire: &mut Wire, conn: &mut Connection, scratch: &mut [u8]) -> bool {
    wire.read(conn, now(), scratch);
    while wire.write(conn, now()) {}
    wire.is_over(conn, now())
}

#[test]
fn a_large_message_crosses_a_small_scratch_both_ways() {
    let (here, there) = UnixStream::pair().unwrap();
    let (mut near, mut far) = (Wire::new(Stream::Unix(here)).unwrap(), Wire::new(Stream::Unix(there)).unwrap());
    let (mut client, mut server) = (Connection::client(&Config::default(), now()), server());
    let message = Bytes::from((0..1_000_000u32).map(|n| n as u8).collect::<Vec<u8>>());
    let id = client.start(now(), RequestHead::new(PATH, Shape::Unary), CallOptions::default()).unwrap();
    let mut call = client.call(id).unwrap();
    call.send(message.clone().into()).unwrap();
    call.close_send().unwrap();

    let mut scratch = [0; 100];
    let mut reply = None;
    until("the reply", || {
        assert!(!turn(&mut near, &mut client, &mut scratch) && !turn(&mut far, &mut server, &mut scratch));
        while let Some(event) = server.poll_event() {
            if let Event::Incoming { call } = event {
                server.accept(call, Token::default()).unwrap();
                let mut call = server.call(call).unwrap();
                let Recv::Message(request) = call.recv() else { panic!("it is complete when it is announced") };
                call.send(request.payload).unwrap();
                call.finish(&Status::ok(), None);
            }
        }
        while client.poll_event().is_some() {}
        if let Recv::Message(message) = client.call(id).unwrap().recv() {
            reply = Some(message.payload);
        }
        reply.is_some()
    });
    assert_eq!(reply.unwrap().into_bytes(), message);

    // Both say goodbye, one after the other.
    client.close(now());
    until("the end", || turn(&mut near, &mut client, &mut scratch) | turn(&mut far, &mut server, &mut scratch));
}

#[test]
fn last_words_arrive_although_octets_wait_unread() {
    let listener = Listener::bind(&Address::parse("127.0.0.1:0").unwrap(), &BindOptions::default()).unwrap();
    let address = listener.local_address().unwrap().to_string();
    let mut acceptor = Acceptor::new(listener);
    assert!(acceptor.accept(now()).unwrap().is_none(), "nobody is there");
    let mut peer = TcpStream::connect(&address).unwrap();
    let mut accepted = None;
    until("a connection", || {
        accepted = acceptor.accept(now()).unwrap();
        accepted.is_some()
    });
    let (mut wire, from) = accepted.unwrap();
    assert_eq!(from, Peer::Tcp(peer.local_addr().unwrap()));
    assert_eq!(acceptor.rests(now()), None, "nothing failed");

    // The preface, then a frame that must not be the first: PING (RFC 9113 section 3.4), and much that nobody will read.
    peer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0").unwrap();
    peer.write_all(&[0; 100_000]).unwrap();
    let mut conn = server();
    let mut scratch = [0; 64];
    until("a fatal error", || {
        assert!(!turn(&mut wire, &mut conn, &mut scratch), "it waits for the peer");
        conn.is_finished()
    });
    assert!(!turn(&mut wire, &mut conn, &mut scratch), "it waits for the peer");
    assert!(wire.wants(&conn).deadline.is_some(), "but not for ever");
    peer.set_read_timeout(Some(LONG)).unwrap();
    let mut words = Vec::new();
    peer.read_to_end(&mut words).expect("an end, not a reset");
    assert_eq!(kinds(&words).last(), Some(&7), "a GOAWAY at the end of {words:?}");
    drop(peer);
    until("the end", || turn(&mut wire, &mut conn, &mut scratch));
}

/// The kinds of whole frames (RFC 9113 section 4.1).
fn kinds(mut octets: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = octets {
        kinds.push(*kind);
        octets = &rest[u32::from_be_bytes([0, *a, *b, *c]) as usize..];
    }
    kinds
}

#[test]
fn a_socket_that_breaks_ends_the_connection() {
    let (here, there) = UnixStream::pair().unwrap();
    let mut wire = Wire::new(Stream::Unix(here)).unwrap();
    let mut client = Connection::client(&Config::default(), now());
    drop(there);
    assert!(!wire.write(&mut client, now()), "nobody takes the preface");
    assert!(wire.is_over(&client, now()));
    assert!(client.close_reason().is_some(), "the connection knows");

    let (here, _there) = UnixStream::pair().unwrap();
    let mut wire = Wire::new(Stream::Unix(here)).unwrap();
    let mut client = Connection::client(&Config::default(), now());
    wire.hang_up(&mut client, now());
    assert!(wire.is_over(&client, now()) && client.close_reason().is_some());
    let wants = wire.wants(&client);
    assert!(!wants.read && !wants.write && wants.deadline.is_none(), "there is nothing to wait for");
}

#[test]
fn a_bell_rings_from_any_thread_as_often_as_one_likes() {
    let (mut heard, ring) = bell().unwrap();
    let mut rings = [0; 4_096];
    assert!(heard.read(&mut rings).is_err(), "it is silent");
    // More than its socket holds: nobody waits.
    thread::spawn(move || (0..1_000_000).for_each(|_| ring())).join().unwrap();
    assert!(heard.read(&mut rings).unwrap() > 0);
}
