//! The four shapes, over TCP and Unix sockets, with both clients.

mod common;

use common::{
    Fixture, Note, Told, bounded,
    glue::GreeterClient,
    request,
    scenarios::{AnyGreeter, blob, too_late},
};
use pintle_mio::{Code, connect, connect_local};
use std::time::Duration;

/// Runs a scenario with both clients over both kinds of socket.
fn everywhere(scenario: fn(&dyn AnyGreeter)) {
    let fixture = Fixture::new();
    for address in fixture.addresses() {
        let address = address.to_owned();
        bounded(move || {
            scenario(&GreeterClient::new(connect(&address).unwrap()));
            scenario(&GreeterClient::new(connect_local(&address).unwrap()));
        });
    }
}

#[test]
fn unary() {
    everywhere(|client| {
        assert_eq!(client.unary(request("you")).unwrap(), "hello you");
        assert_eq!(client.unary(request("later")).unwrap(), "hello later");
        assert_eq!(client.unary(request("")).unwrap(), "hello ");
        // Beyond the stream's window, both ways.
        assert_eq!(client.unary(blob("big", 0, 3 << 20)).unwrap(), "hello big");
    });
}

#[test]
fn many_unary_calls_one_after_the_other() {
    everywhere(|client| {
        for n in 0..500 {
            assert_eq!(client.unary(request(&n.to_string())).unwrap(), format!("hello {n}"));
        }
    });
}

#[test]
fn statuses_arrive_whole() {
    everywhere(|client| {
        let status = client.unary(request("fail")).unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::NotFound, "no such name, 100% sure"));
        assert_eq!(client.unary(request("fail later")).unwrap_err().code(), Code::Aborted);
        let status = client.unary(request("drop")).unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Internal, "the handler dropped the call without an answer"));
    });
}

#[test]
fn a_panic_ends_its_call_and_nothing_else() {
    everywhere(|client| {
        let status = client.unary(request("panic")).unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Unknown, "the handler panicked"));
        let (got, end) = client.replies(blob("panic", 1, 1));
        assert_eq!((got.len(), end.unwrap_err().code()), (0, Code::Unknown));
        assert_eq!(client.upload(vec![request("panic")]).unwrap_err().code(), Code::Unknown);
        assert_eq!(client.unary(request("you")).unwrap(), "hello you");
    });
}

#[test]
fn server_streaming() {
    everywhere(|client| {
        for name in ["produce", "thread", "produce elsewhere"] {
            let (got, end) = client.replies(blob(name, 100, 10));
            assert_eq!((got, end), (vec![10; 100], Ok(())), "{name}");
            // More than every buffer on the way holds.
            let (got, end) = client.replies(blob(name, 64, 100 << 10));
            assert_eq!((got, end), (vec![100 << 10; 64], Ok(())), "{name}");
            assert_eq!(client.replies(blob(name, 0, 10)), (vec![], Ok(())), "{name}");
        }
        let (got, end) = client.replies(blob("fail midway", 0, 3));
        assert_eq!((got, end.unwrap_err().code()), (vec![3], Code::DataLoss));
    });
}

#[test]
fn client_streaming() {
    everywhere(|client| {
        assert_eq!(client.upload(vec![request("a"), request("b")]).unwrap(), "a, b and 0 octets");
        assert_eq!(client.upload(vec![]).unwrap(), " and 0 octets");
        let big = (0..64).map(|_| blob("x", 0, 100 << 10)).collect();
        assert!(client.upload(big).unwrap().ends_with("and 6553600 octets"));
    });
}

#[test]
fn an_answer_before_the_last_request_wins() {
    everywhere(|client| {
        let mut requests = vec![request("a"), request("enough")];
        requests.extend((0..100).map(|_| blob("x", 0, 100 << 10)));
        let status = client.upload(requests).unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::OutOfRange, "enough"));
    });
}

#[test]
fn bidi() {
    everywhere(|client| {
        assert_eq!(client.chat(10, 10), (0..10).collect::<Vec<_>>());
        assert_eq!(client.chat(0, 0), Vec::<u32>::new());
        assert_eq!(client.chat(30, 50 << 10), (0..30).collect::<Vec<_>>());
    });
}

#[test]
fn a_slow_reader_holds_the_writer_and_loses_nothing() {
    let fixture = Fixture::new();
    let client = GreeterClient::connect(&fixture.unix).unwrap();
    bounded(move || {
        let (mut out, mut input) = client.chat().open().unwrap();
        let writer = std::thread::spawn(move || {
            for number in 0..200 {
                out.send(Note { number, blob: vec![1; 50 << 10].into() }).unwrap();
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!writer.is_finished(), "10 MB do not fit the buffers");
        for number in 0..200 {
            assert_eq!(input.next().unwrap().unwrap().number, number);
        }
        assert_eq!(input.next().unwrap(), None);
        writer.join().unwrap();
    });
}

#[test]
fn metadata_travels_both_ways() {
    everywhere(|client| client.metadata());
}

#[test]
fn deadlines_end_calls_on_both_sides() {
    let fixture = Fixture::new();
    for address in fixture.addresses() {
        too_late(&fixture, &GreeterClient::new(connect(address).unwrap()));
        // Whichever is first: the deadline on the server, or the client's reset.
        assert!(matches!(fixture.told(), Told::Cancelled(Code::DeadlineExceeded | Code::Cancelled)));
        too_late(&fixture, &GreeterClient::new(connect_local(address).unwrap()));
        assert!(matches!(fixture.told(), Told::Cancelled(_)));
    }
}

#[test]
fn callbacks_on_the_clients_thread() {
    let fixture = Fixture::new();
    let client = GreeterClient::new(connect(&fixture.tcp).unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    for name in ["a", "later", "fail", "panic"] {
        let tell = tell.clone();
        let inner = client.clone();
        client.say_hello(request(name)).on_done(move |result| {
            // Waiting here would wait for itself: it fails instead.
            let nested = inner.say_hello(request("nested")).wait();
            tell.send((name, result.map(|reply| reply.message), nested.unwrap_err().code())).unwrap();
        });
    }
    let mut got: Vec<_> = (0..4).map(|_| told.recv_timeout(common::LONG).unwrap()).collect();
    got.sort_by_key(|(name, ..)| *name);
    assert_eq!(got[0].1.as_deref(), Ok("hello a"));
    assert_eq!(got[1].1.as_ref().unwrap_err().code(), Code::NotFound);
    assert_eq!(got[2].1.as_deref(), Ok("hello later"));
    assert_eq!(got[3].1.as_ref().unwrap_err().code(), Code::Unknown);
    assert!(got.iter().all(|(.., nested)| *nested == Code::Internal));
}

#[test]
fn a_handle_kept_by_the_service_answers_with_a_later_call() {
    let fixture = Fixture::new();
    let client = GreeterClient::new(connect(&fixture.tcp).unwrap());
    let waiting = client.clone();
    let kept = std::thread::spawn(move || waiting.say_hello(request("keep")).deadline(common::LONG).wait());
    // From the same connection, and from another one: its handle then goes by way of the loop.
    let mut other = 0;
    let other_client = GreeterClient::new(connect_local(&fixture.unix).unwrap());
    while !kept.is_finished() {
        other_client.say_hello(request("x")).wait().unwrap();
        other += 1;
        assert!(other < 100_000, "never answered");
    }
    assert_eq!(kept.join().unwrap().unwrap().message, "kept");
}

#[test]
fn many_threads_share_a_client() {
    let fixture = Fixture::with(|server| server.loops(2));
    let client = GreeterClient::new(connect(&fixture.tcp).unwrap());
    bounded(move || {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let client = client.clone();
                std::thread::spawn(move || {
                    for n in 0..100 {
                        let name = if n % 10 == 0 { "later".into() } else { format!("{thread}.{n}") };
                        assert_eq!(client.say_hello(request(&name)).wait().unwrap().message, format!("hello {name}"));
                    }
                    assert_eq!(client.replies(blob("thread", 50, 2_000)), (vec![2_000; 50], Ok(())));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn loops_share_the_work() {
    let fixture = Fixture::with(|server| server.loops(3));
    for address in fixture.addresses() {
        let address = address.to_owned();
        bounded(move || {
            let clients: Vec<_> = (0..24).map(|_| GreeterClient::new(connect_local(&address).unwrap())).collect();
            for client in &clients {
                assert_eq!(client.say_hello(request("you")).wait().unwrap().message, "hello you");
            }
        });
    }
    assert!(fixture.stop(common::LONG) < common::LONG, "idle connections close at once");
}
