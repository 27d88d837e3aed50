//! The superloop on a line in memory: fast, slow, cut, full of noise.

#[path = "support/mod.rs"]
mod support;

use pintle_core::{CloseReason, Code, Config, Endpoint};
use std::time::Duration;
use superloop::{
    line,
    tour::{Letter, Subscription, TourMethod},
};
use support::*;

/// However few octets the line carries at a time: four calls of four shapes at once.
#[test]
fn four_shapes_at_any_speed() {
    for at_once in [1, 2, 3, 16, 100, 256, 5_000] {
        let mut world = World::new(at_once);
        world.connect();
        world.must_serve();
        world.must_serve();
    }
}

/// The memory is bounded by small windows; a message and a stream that are larger than them come through all the same.
#[test]
fn long_streams_and_the_largest_message() {
    let mut world = World::new(64);
    world.connect();
    let large = Letter { to: "Ada".into(), content: vec![line::ESCAPE; 1_000].into(), number: 7 };
    let calls = world.call(vec![
        Call::new(TourMethod::Correspond, &vec![large.clone(); 50]),
        Call::new(TourMethod::Subscribe, &[Subscription { to: "Ada".into(), letters: 2_000, octets: 100 }]),
    ]);
    assert_eq!(calls[0].answers::<Letter>(), vec![Letter { to: "re: Ada".into(), ..large }; 50]);
    assert_eq!(calls[1].answers::<Letter>().len(), 2_000);
}

#[test]
fn what_is_too_large_is_refused_and_the_rest_goes_on() {
    let mut world = World::new(64);
    world.connect();
    let calls = world.call(vec![
        Call::new(TourMethod::Post, &[Letter { to: "Ada".into(), content: vec![0; 1_100].into(), number: 0 }]),
        Call::new(TourMethod::Subscribe, &[Subscription { to: "Ada".into(), letters: 1, octets: 100_000 }]),
        Call::new(TourMethod::Post, &[Letter::default()]),
    ]);
    let codes: Vec<_> = calls.iter().map(|call| call.outcome.as_ref().map(|outcome| outcome.status.code())).collect();
    assert_eq!(codes, [Some(Code::ResourceExhausted), Some(Code::InvalidArgument), Some(Code::InvalidArgument)]);
    world.must_serve();
}

/// Calls beyond the device's four wait at the client.
#[test]
fn more_calls_than_the_device_runs_at_once() {
    let mut world = World::new(64);
    world.connect();
    for call in world.call((0..40).map(|n| Call::new(TourMethod::Correspond, &[letter(n)])).collect()) {
        assert_eq!(call.answers::<Letter>().len(), 1);
    }
}

/// The line is cut after any number of octets, also in the middle of a mark, and nobody says so. The next client is served.
#[test]
fn a_client_that_vanishes_at_any_octet() {
    let mut whole = World::new(64);
    whole.connect();
    whole.step_host();
    let mut call = Call::new(TourMethod::Correspond, &[letter(1), letter(2)]);
    call.start(&mut whole);
    call.go_on(&mut whole);
    whole.step_host();
    let said: Vec<u8> = whole.uart.to_device.into_iter().collect();
    assert!(said.len() > 700 && said[2..].contains(&line::ESCAPE), "all that a client says at once");
    for cut in (0..=said.len()).step_by(3) {
        let mut world = World::new(64);
        world.connect();
        world.uart.to_device.truncate(0);
        world.uart.to_device.extend(&said[..cut]);
        // Nobody listens at the host: what the device says is still in the line when the next client comes.
        while world.step_device() {}
        world.connect();
        world.must_serve();
    }
}

/// A client that hangs up is gone for the device; what it had running is dropped.
#[test]
fn a_client_that_hangs_up_in_the_middle_of_a_call() {
    let mut world = World::new(16);
    world.connect();
    let mut call = Call::new(TourMethod::Subscribe, &[Subscription { to: "Ada".into(), letters: u32::MAX, octets: 100 }]);
    call.start(&mut world);
    assert!(world.run(|world| {
        call.go_on(world);
        call.received() > 10
    }));
    assert!(world.device.is_connected());
    world.uart.to_device.extend(line::close());
    assert!(world.run(|world| world.closed), "the device says that it is over");
    assert!(!world.device.is_connected());
    world.connect();
    world.must_serve();
}

/// Noise, with and without a mark among it.
#[test]
fn noise_does_no_lasting_harm() {
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    for round in 0..300 {
        let mut world = World::new(64);
        world.connect();
        if round % 3 > 0 {
            world.step_host();
        }
        let noise: Vec<u8> = (0..500).map(|_| if round % 2 == 0 && random() < 8 { line::ESCAPE } else { random() }).collect();
        world.uart.to_device.extend(noise);
        world.run(|_| false);
        world.connect();
        world.must_serve();
    }
}

/// Who is no gRPC client is told so, and cut off.
#[test]
fn a_foreign_client_is_cut_off() {
    let mut world = World::new(16);
    world.connect();
    world.say(b"GET / HTTP/1.1\r\nHost: device\r\n\r\n");
    while world.step_device() {
        let read: Vec<u8> = world.uart.to_host.drain(..).collect();
        world.closed |= read.ends_with(&line::close());
    }
    assert!(world.closed && !world.device.is_connected());
    world.connect();
    world.must_serve();
}

/// Time: a call that is not finished ends by its deadline, a client that says nothing by the handshake's.
#[test]
fn what_takes_too_long_ends() {
    let mut world = World::new(16);
    world.connect();
    let mut call = Call::new(TourMethod::Correspond, &[letter(1)]);
    (call.deadline, call.open_ended) = (Some(world.now.saturating_add(Duration::from_millis(200))), true);
    call.start(&mut world);
    assert!(!world.run(|world| {
        call.go_on(world);
        call.outcome.is_some()
    }));
    while call.outcome.is_none() {
        world.sleep();
        world.run(|world| {
            call.go_on(world);
            call.outcome.is_some()
        });
    }
    assert_eq!(call.outcome.map(|outcome| outcome.status.code()), Some(Code::DeadlineExceeded));
    assert!(world.now >= superloop::Timestamp::from_micros(200_000));
    world.must_serve();

    // Only the mark, no octet of HTTP/2.
    let began = world.now;
    world.uart.to_device.extend(line::open(63));
    while world.step_device() {}
    while world.device.is_connected() {
        world.now = world.wait.until.expect("the handshake has a limit");
        while world.step_device() {}
    }
    assert_eq!(world.now.saturating_since(began), Config::default().handshake_timeout);
}

/// A client that closes in order: GOAWAY, and the end of the connection.
#[test]
fn a_client_that_says_goodbye() {
    let mut world = World::new(16);
    world.connect();
    world.must_serve();
    let now = world.now;
    world.client.close(now);
    world.run(|_| false);
    assert_eq!(world.client.close_reason(), Some(&CloseReason::Local));
    world.uart.to_device.extend(line::close());
    assert!(world.run(|world| world.closed));
    world.connect();
    world.must_serve();
}

/// The settings are valid for the core, so that it keeps its promises.
#[test]
fn the_configuration_is_valid() {
    assert_eq!(superloop::config().validate(), Ok(()));
    assert!(World::new(1).client.wants().write);
}
