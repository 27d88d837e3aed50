//! The driver on a runtime made by hand, with a clock that stands until it is moved and streams that do as they are told.

mod hand;

use hand::{Door, Echo, Hand, HandTimer, Script, Take, World, build, call, calls, frame, messages, response, serve_script};
use pintle_core::{Code, Config, codec::Raw};
use pintle_futures::{Channel, Runtime, Timer};
use pintle_futures_server::{Inline, Spawn, serve};
use std::{
    collections::VecDeque,
    future::{IntoFuture, pending},
    io,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};

/// B77: a read of one octet, an interrupted call, a short write: none of it changes what is said.
#[test]
fn cuts_do_not_matter() {
    for inline in [false, true] {
        let mut said = Vec::new();
        for (cut, take) in [(usize::MAX, usize::MAX), (1, 1), (7, 1), (50, 7), (1, 1_000)] {
            let mut world = World::default();
            let io = Script::new(Take::AtMost(take));
            let task = serve_script(&mut world, inline, &io);
            io.feed(&calls(&[b"one", b"two", &[3; 16_000]]), cut);
            world.settle();
            assert!(!world.is_done(task), "cut {cut}, {:?}", io.with(|state| state.output.clone()));
            said.push(io.with(|state| messages(&state.output)));
        }
        for messages in said {
            assert_eq!(messages, [(1, b"one".to_vec()), (3, b"two".to_vec()), (5, vec![3; 16_000])]);
        }
    }
}

/// Replies of handlers that became runnable together go out in one write, though the owner runs before the second of them.
#[test]
fn replies_are_batched() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        serve_script(&mut world, inline, &io);
        world.settle();
        let requests: Vec<&[u8]> = vec![b"x"; 50];
        let before = io.with(|state| state.writes);
        io.feed(&calls(&requests), usize::MAX);
        world.settle();
        let (writes, replies) = io.with(|state| (state.writes - before, messages(&state.output).len()));
        assert_eq!(replies, 50);
        // Every second write is interrupted.
        assert!(writes <= 4, "{writes} writes for 50 replies that were ready together");
    }
}

/// A handler that is always runnable does not keep the connection from reading and writing.
#[test]
fn a_busy_handler_does_not_starve_its_connection() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        serve_script(&mut world, inline, &io);
        io.feed(&calls(&[b"busy", b"two"]), usize::MAX);
        world.settle();
        let said = io.with(|state| messages(&state.output));
        assert_eq!(said, [(3, b"two".to_vec()), (1, b"others went on".to_vec())]);
    }
}

/// B77: a write that takes nothing is an error, not a reason to try for ever.
#[test]
fn a_stream_that_takes_nothing_ends() {
    for take in [Take::Zero, Take::Broken] {
        for inline in [false, true] {
            let mut world = World::default();
            let io = Script::new(take);
            let task = serve_script(&mut world, inline, &io);
            io.feed(&calls(&[b"one", b"hang"]), usize::MAX);
            world.settle();
            world.pass(Duration::from_millis(110));
            assert!(world.is_done(task));
            assert!(io.with(|state| state.closed));
        }
    }
}

/// A hanging handler is dropped when its peer is gone, and nothing is left running.
#[test]
fn the_end_of_the_input_ends_everything() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        let task = serve_script(&mut world, inline, &io);
        io.feed(&calls(&[b"hang", b"two"]), usize::MAX);
        world.settle();
        assert_eq!(io.with(|state| messages(&state.output)), [(3, b"two".to_vec())]);
        io.end();
        world.settle();
        assert!(world.is_done(task));
        assert!((0..world.tasks.len()).all(|task| world.is_done(task)), "a handler's task lives on");
    }
}

/// B36: a whole response followed at once by the end is a success, also when our own writes fail already; a call that
/// was not answered is UNAVAILABLE.
#[test]
fn a_response_just_before_the_end_counts() {
    for broken in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        let channel = Channel::over(&Hand, io.clone(), &Config::default());
        let (answered, unanswered) = (call(&mut world, &channel), call(&mut world, &channel));
        world.settle();
        if broken {
            io.with(|state| state.take = Take::Broken);
        }
        let mut octets = Vec::new();
        frame(&mut octets, 4, 0, 0, &[]);
        octets.extend(response(1, b"hello"));
        io.feed(&octets, usize::MAX);
        io.end();
        world.settle();
        assert_eq!(answered.lock().unwrap().take().unwrap().unwrap(), "hello");
        assert_eq!(unanswered.lock().unwrap().take().unwrap().unwrap_err().code(), Code::Unavailable);

        // A channel over a given stream cannot connect again, and says so at once.
        let later = call(&mut world, &channel);
        world.settle();
        assert_eq!(later.lock().unwrap().take().unwrap().unwrap_err().code(), Code::Unavailable);
    }
}

/// A write may fail before a reactor has heard of what the peer said last: it is awaited for a moment.
#[test]
fn last_words_that_are_heard_late_count() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let channel = Channel::over(&Hand, io.clone(), &Config::default());
    let answered = call(&mut world, &channel);
    world.settle();
    io.with(|state| state.take = Take::Broken);
    let unsent = call(&mut world, &channel);
    world.settle();
    let mut octets = Vec::new();
    frame(&mut octets, 4, 0, 0, &[]);
    octets.extend(response(1, b"hello"));
    io.feed(&octets, usize::MAX);
    world.settle();
    assert_eq!(answered.lock().unwrap().take().unwrap().unwrap(), "hello");
    assert!(unsent.lock().unwrap().is_none());
    // And not for longer.
    world.pass(Duration::from_millis(110));
    assert_eq!(unsent.lock().unwrap().take().unwrap().unwrap_err().code(), Code::Unavailable);
}

/// A deadline passes by the clock alone.
#[test]
fn a_deadline_needs_no_octets() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    let channel = Channel::over(&Hand, io.clone(), &Config::default());
    let reply = channel.unary::<Raw, Raw>("/test.Echo/Echo", &"hi".into()).deadline(Duration::from_millis(250)).into_future();
    let result = Arc::new(Mutex::new(None));
    let place = Arc::clone(&result);
    world.spawn(async move {
        let outcome = reply.await;
        *place.lock().unwrap() = Some((Hand::now(), outcome));
    });
    world.settle();
    let start = Hand::now();
    world.pass(Duration::from_secs(1));
    let (at, outcome) = result.lock().unwrap().take().expect("it passed");
    assert_eq!(outcome.unwrap_err().code(), Code::DeadlineExceeded);
    let took = at.saturating_since(start);
    assert!((250..=252).contains(&took.as_millis()), "{took:?}");
}

/// B51, X27: a shortage is a pause, a thousand of them are a thousand pauses, which double from 50 ms to a second and begin
/// anew after a success; what one connection brings about is none; only a broken listener ends the server.
#[test]
fn accept_errors_pause_and_do_not_end_the_server() {
    let mut world = World::default();
    let io = Script::new(Take::AtMost(usize::MAX));
    // EMFILE has the number 24 on every Unix.
    let short = || Err(io::Error::from_raw_os_error(24));
    let mut script: VecDeque<_> = (0..1_000).map(|_| short()).collect();
    script.push_back(Err(io::ErrorKind::ConnectionAborted.into()));
    script.push_back(Ok(io.clone()));
    let second = Script::new(Take::AtMost(usize::MAX));
    script.extend([short(), Ok(second.clone())]);
    let acceptor = build::<Spawn<Hand>>(Box::new(Echo));
    let task = world.spawn(async move { serve(acceptor, vec![Door(script)], NonZeroUsize::MAX, pending(), Duration::ZERO).await.unwrap() });
    io.feed(&calls(&[b"one"]), usize::MAX);
    second.feed(&calls(&[b"two"]), usize::MAX);
    let first_pauses = Duration::from_millis(50 + 100 + 200 + 400 + 800);
    world.pass(first_pauses + Duration::from_secs(995) - Duration::from_millis(1));
    assert!(io.with(|state| state.output.is_empty()), "a pause was cut short");
    world.pass(Duration::from_millis(2));
    assert_eq!(io.with(|state| messages(&state.output)), [(1, b"one".to_vec())]);
    assert!(second.with(|state| state.output.is_empty()), "there was no pause");
    world.pass(Duration::from_millis(50));
    assert_eq!(second.with(|state| messages(&state.output)), [(1, b"two".to_vec())]);
    assert!(!world.is_done(task));
    assert!(world.polls < 5_000, "{} polls for 1,000 pauses", world.polls);

    let broken = VecDeque::from([Err(io::ErrorKind::InvalidInput.into())]);
    let acceptor = build::<Inline>(Box::new(Echo));
    let task = world.spawn(async move {
        let error = serve(acceptor, vec![Door(broken)], NonZeroUsize::MAX, pending(), Duration::ZERO).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    });
    world.settle();
    assert!(world.is_done(task));
}

/// B50 on a clock of its own: at the end of the grace everything is over, exactly then.
#[test]
fn the_grace_ends_a_handler_that_hangs() {
    for inline in [false, true] {
        let mut world = World::default();
        let io = Script::new(Take::AtMost(usize::MAX));
        let grace = Duration::from_secs(3);
        let stop = async {
            let mut timer = HandTimer;
            let at = Hand::now().saturating_add(Duration::from_secs(1));
            std::future::poll_fn(|cx| timer.poll_until(at, cx)).await;
        };
        let door = vec![Door(VecDeque::from([Ok(io.clone())]))];
        let task = if inline {
            let acceptor = build::<Inline>(Box::new(Echo));
            world.spawn(async move { serve(acceptor, door, NonZeroUsize::MAX, stop, grace).await.unwrap() })
        } else {
            let acceptor = build::<Spawn<Hand>>(Box::new(Echo));
            world.spawn(async move { serve(acceptor, door, NonZeroUsize::MAX, stop, grace).await.unwrap() })
        };
        io.feed(&calls(&[b"hang"]), usize::MAX);
        world.pass(Duration::from_millis(3_900));
        assert!(!world.is_done(task), "the grace was cut short");
        // The peer goes on sending nothing; the server's last words are written, and it lingers for their sake.
        world.pass(Duration::from_millis(1_200));
        assert!(world.is_done(task));
        assert!(io.with(|state| state.closed));
    }
}
