//! What goes wrong: cancelled calls, peers that vanish, do not read or never say anything, servers that are killed, shutdown.

mod common;

use common::{
    Fixture, HelloRequest, LONG, Note, Told, bounded,
    glue::GreeterClient,
    request,
    scenarios::{blob, too_late},
};
use pintle_mio::{Caller, Code, Config, Connect, connect, connect_local};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

fn endless(size: usize) -> HelloRequest {
    HelloRequest { name: "forever".into(), count: 0, blob: vec![5; size].into() }
}

fn cancel_three_ways<C: Caller>(fixture: &Fixture, client: &GreeterClient<C>) {
    let mut replies = client.lots_of_replies(endless(100)).open().unwrap();
    assert_eq!(replies.next().unwrap().unwrap().blob.len(), 100);
    drop(replies);
    loop {
        match fixture.told() {
            Told::Sent(_) => {}
            told => break assert_eq!(told, Told::Cancelled(Code::Cancelled)),
        }
    }
    let mut upload = client.lots_of_greetings().open().unwrap();
    upload.send(request("a")).unwrap();
    assert_eq!(fixture.told(), Told::Seen("a".into()));
    drop(upload);
    assert_eq!(fixture.told(), Told::Cancelled(Code::Cancelled));
    let (mut out, mut input) = client.chat().open().unwrap();
    out.send(Note::default()).unwrap();
    input.next().unwrap().unwrap();
    drop(input);
    assert_eq!(fixture.told(), Told::Cancelled(Code::Cancelled));
    // The connection is as good as before.
    assert_eq!(client.say_hello(request("you")).wait().unwrap().message, "hello you");
}

#[test]
fn dropping_a_call_cancels_it_on_the_server() {
    let fixture = Fixture::new();
    cancel_three_ways(&fixture, &GreeterClient::new(connect(&fixture.tcp).unwrap()));
    cancel_three_ways(&fixture, &GreeterClient::new(connect_local(&fixture.unix).unwrap()));
    assert!(fixture.stop(LONG) < LONG, "nothing is left that holds the server");
}

#[test]
fn a_client_that_vanishes_cancels_its_calls() {
    let fixture = Fixture::new();
    let stream = TcpStream::connect(&fixture.tcp).unwrap();
    let plug = stream.try_clone().unwrap();
    let client = GreeterClient::new(Connect::new().local_over(stream).unwrap());
    let mut replies = client.lots_of_replies(endless(10)).open().unwrap();
    replies.next().unwrap();
    plug.shutdown(Shutdown::Both).unwrap();
    loop {
        match fixture.told() {
            Told::Sent(_) => {}
            told => break assert_eq!(told, Told::Cancelled(Code::Cancelled)),
        }
    }
    let status = bounded_local(move || {
        loop {
            if let Err(status) = replies.next() {
                return status;
            }
        }
    });
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("connection"), "{status}");
}

/// `LocalClient` stays on its thread: this only names what the deadline of the test harness would do otherwise.
fn bounded_local<R>(f: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = f();
    assert!(begin.elapsed() < LONG);
    result
}

#[test]
fn who_does_not_read_costs_no_memory_and_is_closed_in_time() {
    let fixture = Fixture::with(|server| server.configure(|config| config.write_timeout = Duration::from_millis(500)));
    // The client's flow control lets everything through: only the sockets and the server's own buffers are in the way.
    let generous = |config: &mut Config| {
        (config.initial_window, config.connection_window) = (i32::MAX as u32, i32::MAX as u32);
        (config.max_concurrent_streams, config.recv_budget) = (1, 4 << 30);
    };
    let client = GreeterClient::new(Connect::new().configure(generous).local(&fixture.tcp).unwrap());
    let mut replies = client.lots_of_replies(endless(64 << 10)).open().unwrap();
    replies.next().unwrap();
    // From here on it reads nothing. The service is stopped, time after time, until nothing moves any more.
    let mut sent = 0;
    let code = loop {
        match fixture.told() {
            Told::Sent(n) => sent = n,
            Told::Cancelled(code) => break code,
            Told::Seen(_) => {}
        }
    };
    assert_eq!(code, Code::Cancelled);
    assert!(sent * (64 << 10) < 32 << 20, "{sent} messages of 64 KiB were taken from a service whose client does not read");
}

#[test]
fn messages_that_nobody_takes_stop_coming_even_empty_ones() {
    let fixture = Fixture::new();
    let client = GreeterClient::new(connect(&fixture.unix).unwrap());
    let mut replies = client.lots_of_replies(endless(0)).open().unwrap();
    assert_eq!(replies.next().unwrap().unwrap().blob.len(), 0);
    let begin = Instant::now();
    while let Ok(told) = fixture.told.recv_timeout(Duration::from_millis(500)) {
        assert!(matches!(told, Told::Sent(_)), "{told:?}");
        assert!(begin.elapsed() < LONG, "they never stop");
    }
    // Taking them makes more come.
    while fixture.told.try_recv().is_err() {
        replies.next().unwrap().unwrap();
        assert!(begin.elapsed() < LONG, "no more come");
    }
}

#[test]
fn answers_that_come_too_late_let_go_of_their_calls() {
    // If slots of calls that are over were not given back, the second or third round could not start.
    let fixture = Fixture::with(|server| server.configure(|config| config.max_concurrent_streams = 2));
    let client = GreeterClient::new(connect(&fixture.tcp).unwrap());
    for _ in 0..4 {
        too_late(&fixture, &client);
        while !matches!(fixture.told(), Told::Cancelled(_)) {}
        // The service has kept the handle. A call on another connection makes it answer: by way of the loop.
        let other = GreeterClient::new(connect_local(&fixture.unix).unwrap());
        other.say_hello(request("x")).deadline(LONG).wait().unwrap();

        let replies = client.lots_of_replies(request("keep")).open().unwrap();
        assert_eq!(fixture.told(), Told::Seen("keep".into()));
        drop(replies);
        assert_eq!(fixture.told(), Told::Cancelled(Code::Cancelled));
        // A call on the same connection makes it produce: at once.
        assert_eq!(client.say_hello(request("x")).deadline(LONG).wait().unwrap().message, "hello x");
    }
}

fn assert_unavailable<C: Caller>(client: &GreeterClient<C>) {
    for _ in 0..2 {
        let status = client.say_hello(request("x")).wait().unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.message().contains("closed") || status.message().contains("lost"), "{status}");
        let status = client.lots_of_replies(request("x")).open().and_then(|mut replies| replies.next()).unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        let status = client.lots_of_greetings().open().and_then(|upload| upload.finish()).unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        let status = client.chat().open().and_then(|(_out, mut input)| input.next()).unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    }
}

#[test]
fn a_server_that_closes_at_once_makes_every_call_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        // It reads the preface first, so that it closes with FIN, not with a reset. Who is gone before has sent none.
        for stream in listener.incoming() {
            let mut some = [0; 16];
            let _ = stream.unwrap().read_exact(&mut some);
        }
    });
    bounded(move || {
        assert_unavailable(&GreeterClient::new(connect(&address).unwrap()));
        assert_unavailable(&GreeterClient::new(connect_local(&address).unwrap()));
    });
}

#[test]
fn a_killed_server_ends_every_running_call() {
    let fixture = Fixture::new();
    let client = GreeterClient::new(connect(&fixture.tcp).unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    let on_done = tell.clone();
    client.say_hello(request("never")).on_done(move |result| on_done.send(("callback", result.unwrap_err())).unwrap());
    let streaming = client.clone();
    let waiting = client.clone();
    let receive = tell.clone();
    thread::spawn(move || {
        let mut replies = streaming.lots_of_replies(endless(1)).open().unwrap();
        let status = loop {
            if let Err(status) = replies.next() {
                break status;
            }
        };
        receive.send(("streaming", status)).unwrap();
    });
    thread::spawn(move || tell.send(("waiting", waiting.say_hello(request("never")).wait().unwrap_err())).unwrap());
    let mut seen = 0;
    while seen < 2 {
        seen += usize::from(matches!(fixture.told(), Told::Seen(_)));
    }
    fixture.stop(Duration::ZERO);
    for _ in 0..3 {
        let (who, status) = told.recv_timeout(LONG).expect("no call hangs");
        assert_eq!(status.code(), Code::Unavailable, "{who}: {status}");
        assert!(!status.message().is_empty(), "{who}");
    }
    bounded(move || assert_unavailable(&client));
}

#[test]
fn shutdown_lets_running_calls_finish_and_takes_no_new_ones() {
    let fixture = Fixture::new();
    let client = GreeterClient::new(connect(&fixture.tcp).unwrap());
    let (tell, reply) = std::sync::mpsc::channel();
    client.say_hello(request("much later")).on_done(move |end| tell.send(end).unwrap());
    // It is certain to have begun once a later call of the same connection is answered.
    client.say_hello(request("x")).wait().unwrap();
    let (address, unix) = (fixture.tcp.clone(), fixture.unix.clone());
    assert!(fixture.stop(LONG) < LONG);
    assert_eq!(reply.recv_timeout(LONG).unwrap().unwrap().message, "hello much later");
    assert!(connect(&address).is_err(), "nobody listens any more");
    assert!(connect(&unix).is_err(), "nobody listens any more");
    assert_eq!(client.say_hello(request("x")).wait().unwrap_err().code(), Code::Unavailable);
}

#[test]
fn shutdown_does_not_wait_for_those_who_say_nothing() {
    let fixture = Fixture::new();
    let silent = TcpStream::connect(&fixture.tcp).unwrap();
    let mut half = TcpStream::connect(&fixture.tcp).unwrap();
    half.write_all(b"PRI * HT").unwrap();
    let unix = UnixStream::connect(fixture.unix.strip_prefix("unix:").unwrap()).unwrap();
    let idle = GreeterClient::new(connect(&fixture.tcp).unwrap());
    idle.say_hello(request("x")).wait().unwrap();
    let took = fixture.stop(Duration::from_secs(600));
    assert!(took < Duration::from_secs(20), "it took {took:?}");
    drop((silent, half, unix));
}

#[test]
fn shutdown_ends_at_its_limit_whatever_peers_do() {
    let fixture = Fixture::with(|server| server.loops(2));
    let silent = TcpStream::connect(&fixture.tcp).unwrap();
    let client = GreeterClient::new(connect_local(&fixture.tcp).unwrap());
    let mut stuck = client.lots_of_replies(endless(64 << 10)).open().unwrap();
    stuck.next().unwrap();
    let never = GreeterClient::new(connect(&fixture.unix).unwrap());
    let waiting = thread::spawn(move || never.say_hello(request("never")).wait());
    while !matches!(fixture.told(), Told::Seen(_)) {}
    let grace = Duration::from_millis(300);
    let took = fixture.stop(grace);
    assert!(took >= grace, "a call was running");
    assert!(took < LONG, "it took {took:?}");
    assert_eq!(waiting.join().unwrap().unwrap_err().code(), Code::Unavailable);
    drop(silent);
}

#[test]
fn a_slow_reader_gets_all_that_came_before_the_server_went() {
    let fixture = Fixture::new();
    let client = connect(&fixture.tcp).unwrap();
    let local = connect_local(&fixture.unix).unwrap();
    let (greeter, local_greeter) = (GreeterClient::new(client.clone()), GreeterClient::new(local.clone()));
    // More than a client takes before it is asked for, less than the window.
    let mut background = greeter.lots_of_replies(blob("produce", 100, 1_000)).open().unwrap();
    let mut driven = local_greeter.lots_of_replies(blob("produce", 100, 1_000)).open().unwrap();
    assert_eq!(background.next().unwrap().unwrap().blob.len(), 1_000);
    assert_eq!(driven.next().unwrap().unwrap().blob.len(), 1_000);
    fixture.stop(LONG);
    bounded(move || {
        while client.is_connected() {
            thread::sleep(Duration::from_millis(1))
        }
    });
    while local.poll(LONG) {}
    for _ in 1..100 {
        assert_eq!(background.next().unwrap().unwrap().blob.len(), 1_000);
        assert_eq!(driven.next().unwrap().unwrap().blob.len(), 1_000);
    }
    assert_eq!(background.next().unwrap(), None, "with its status");
    assert_eq!(driven.next().unwrap(), None, "with its status");
}

#[test]
fn shutdown_before_it_runs_counts() {
    let server = pintle_mio::Server::new().listen("127.0.0.1:0").unwrap();
    server.shutdown_handle().shutdown(Duration::ZERO);
    bounded(move || server.run()).unwrap();
}

#[test]
fn a_connection_limit_makes_others_wait() {
    let fixture = Fixture::with(|server| server.max_connections(std::num::NonZeroUsize::MIN));
    let first = GreeterClient::new(connect_local(&fixture.tcp).unwrap());
    first.say_hello(request("x")).wait().unwrap();
    let second = GreeterClient::new(connect_local(&fixture.tcp).unwrap());
    let early = second.say_hello(request("x")).deadline(Duration::from_millis(50)).wait();
    assert_eq!(early.unwrap_err().code(), Code::DeadlineExceeded);
    drop(first);
    assert_eq!(second.say_hello(request("you")).deadline(LONG).wait().unwrap().message, "hello you");
}

#[test]
fn a_connection_limit_is_the_servers_not_a_loops() {
    // The kernel spreads connections by chance: a limit of two for each loop would leave most of these groups waiting.
    let fixture = Fixture::with(|server| server.loops(2).max_connections(std::num::NonZeroUsize::new(4).unwrap()));
    for _ in 0..5 {
        for address in fixture.addresses() {
            let clients: Vec<_> = (0..4).map(|_| GreeterClient::new(connect_local(address).unwrap())).collect();
            for client in clients {
                assert_eq!(client.say_hello(request("you")).deadline(LONG).wait().unwrap().message, "hello you");
            }
        }
    }
}

#[test]
fn the_last_clone_ends_the_clients_thread_and_connection() {
    let fixture = Fixture::new();
    let client = connect(&fixture.tcp).unwrap();
    let greeter = GreeterClient::new(client.clone());
    greeter.say_hello(request("x")).wait().unwrap();
    assert!(client.is_connected());
    let (mut out, mut input) = greeter.chat().open().unwrap();
    drop((client, greeter));
    // A call that runs goes on.
    out.send(Note { number: 7, ..Default::default() }).unwrap();
    assert_eq!(input.next().unwrap().unwrap().number, 7);
    out.close();
    assert_eq!(input.next().unwrap(), None);
    assert!(fixture.stop(LONG) < LONG);
}

#[test]
fn a_local_client_that_is_polled_notices_the_end() {
    let fixture = Fixture::new();
    let client = connect_local(&fixture.tcp).unwrap();
    assert!(client.poll(Duration::from_millis(10)));
    fixture.stop(Duration::from_secs(1));
    assert!(!client.poll(LONG));
}
