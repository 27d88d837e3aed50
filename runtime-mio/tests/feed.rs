//! Many calls and many messages on their way at once: `open`, `feed` and `try_feed`, over both kinds of socket, with both clients.

mod common;

use common::{Fixture, Note, bounded, glue::GreeterClient, request, scenarios::blob};
use pintle_mio::{Caller, Code, SendError, connect, connect_local};

macro_rules! everywhere {
    ($scenario:ident) => {
        let fixture = Fixture::new();
        for address in fixture.addresses() {
            let address = address.to_owned();
            bounded(move || {
                $scenario(&GreeterClient::new(connect(&address).unwrap()));
                $scenario(&GreeterClient::new(connect_local(&address).unwrap()));
            });
        }
    };
}

/// More than the server's stream limit, waited for from the last to the first; some are given up, some fail.
#[test]
fn unary_calls_in_flight_together() {
    fn scenario<C: Caller>(client: &GreeterClient<C>) {
        let mut pending: Vec<_> = (0..250).map(|n| Some(client.say_hello(request(&n.to_string())).open().unwrap())).collect();
        let failing = client.say_hello(request("fail")).open().unwrap();
        for given_up in pending.iter_mut().step_by(7) {
            *given_up = None;
        }
        for (n, call) in pending.into_iter().enumerate().rev() {
            if let Some(call) = call {
                assert_eq!(call.wait().unwrap().message, format!("hello {n}"));
            }
        }
        assert_eq!(failing.wait().unwrap_err().code(), Code::NotFound);
        let mut last = client.say_hello(request("asked")).open().unwrap();
        // Another call makes this thread wait, and brings the first one's answer with it; a client with a thread of its own needs a moment.
        let reply = loop {
            assert_eq!(client.say_hello(request("between")).wait().unwrap().message, "hello between");
            if let Some(reply) = last.try_wait() {
                break reply;
            }
        };
        assert_eq!(reply.unwrap().message, "hello asked");
    }
    everywhere!(scenario);
}

/// Small ones, none, and large ones; what is fed and never followed by anything goes with the end.
#[test]
fn requests_that_are_fed_all_come() {
    fn scenario<C: Caller>(client: &GreeterClient<C>) {
        for (messages, size) in [(0, 0), (1, 8), (5_000, 8), (5_000, 0), (300, 1_000), (40, 100_000)] {
            let mut upload = client.lots_of_greetings().open().unwrap();
            for _ in 0..messages {
                upload.feed(blob("x", 0, size)).unwrap();
            }
            let told = upload.finish().unwrap().message;
            assert!(told.ends_with(&format!("and {} octets", messages * size)), "{messages} of {size}: {told}");
        }
    }
    everywhere!(scenario);
}

/// Both ways, in bursts: what was fed is written when this thread waits for an answer to it.
#[test]
fn notes_that_are_fed_are_answered() {
    fn scenario<C: Caller>(client: &GreeterClient<C>) {
        let (mut out, mut input) = client.chat().open().unwrap();
        let (mut fed, mut got) = (0, 0);
        for burst in [1_u32, 2, 50, 7, 300, 1] {
            for n in 0..burst {
                let note = Note { number: fed, blob: vec![n as u8; n as usize % 40].into() };
                out.feed(note).unwrap();
                fed += 1;
            }
            for n in 0..burst {
                let note = input.next().unwrap().expect("as many as were fed");
                assert_eq!((note.number, note.blob.len()), (got, n as usize % 40));
                got += 1;
            }
        }
        out.close();
        assert_eq!(input.next().unwrap(), None);
    }
    everywhere!(scenario);
}

/// Without waiting: a full queue gives the message back, and nothing is lost or sent twice.
#[test]
fn a_full_queue_gives_the_message_back() {
    fn scenario<C: Caller>(client: &GreeterClient<C>) {
        let (mut out, mut input) = client.chat().open().unwrap();
        let (mut number, mut back, mut got) = (0, 0, 0);
        while number < 400 {
            match out.try_feed(Note { number, blob: vec![1; 2_000].into() }) {
                Ok(()) => number += 1,
                Err(SendError::Blocked(note)) => {
                    assert_eq!(note.number, number);
                    back += 1;
                    assert_eq!(input.next().unwrap().map(|note| note.number), Some(got));
                    got += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        out.close();
        while let Some(note) = input.next().unwrap() {
            assert_eq!(note.number, got);
            got += 1;
        }
        assert!((got, back > 0) == (400, true), "{got} came, {back} were given back");
    }
    everywhere!(scenario);
}

/// Thirty streams that nobody reads fill the socket long before their windows. Then they are read, one after the other and in turns: all is there.
#[test]
fn a_socket_that_is_full_goes_on_when_it_is_read() {
    fn scenario<C: Caller>(client: &GreeterClient<C>) {
        for in_turns in [true, false] {
            let mut streams: Vec<_> = (0..30).map(|_| client.lots_of_replies(blob("produce", 40, 15_000)).open().unwrap()).collect();
            // Reads what the socket holds, and no more: on a client that this thread drives nothing else does.
            assert_eq!(client.say_hello(request("beside")).wait().unwrap().message, "hello beside");
            let mut got = [0; 30];
            let rounds = if in_turns { 40 } else { 1 };
            for _ in 0..rounds {
                for (n, stream) in streams.iter_mut().enumerate() {
                    for _ in 0..40 / rounds {
                        assert_eq!(stream.next().unwrap().expect("forty of them").blob.len(), 15_000);
                        got[n] += 1;
                    }
                }
            }
            assert_eq!(got, [40; 30]);
            assert!(streams.iter_mut().all(|stream| stream.next().unwrap().is_none()));
        }
    }
    everywhere!(scenario);
}
