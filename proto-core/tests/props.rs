//! Properties of two connections on a simulated link (see `pintle_core::testing`).

mod support;

use pintle_core::{
    Config, Endpoint,
    testing::{CLIENT, LinkConfig, Op, Pair, Place, Places, Rng, SERVER, Step, World, echo},
};
use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};
use support::{check, ms, none};

/// A link, two configurations and the order of everything random, from one number.
fn world(seed: u64) -> World {
    let mut rng = Rng::new(seed);
    let link = LinkConfig::random(&mut rng);
    let configs = [World::config(&mut rng), World::config(&mut rng)];
    World::new(configs, link, rng.next_u64())
}

/// A seed and operations; they shrink to zeros, which are the simplest.
fn ops(most: usize) -> impl Strategy<Value = (u64, Vec<Op>)> {
    let op = any::<[u8; Op::OCTETS]>().prop_map(|octets| Op::decode(&octets));
    (any::<u64>(), vec(op, 1..most))
}

fn gentle(ops: &[Op]) -> impl Iterator<Item = Op> + '_ {
    ops.iter().copied().filter(Op::is_gentle)
}

fn finish(world: &World, places: &mut Places) -> Result<(), TestCaseError> {
    places.add(&world.places());
    none(&world.faults())
}

fn end_calls(world: &mut World) -> Result<(), TestCaseError> {
    let (steps, ended) = world.wind_down();
    prop_assert!(ended, "calls had not ended after {} steps: {}", steps, world.summary());
    Ok(())
}

/// Whatever both applications do, and whatever happens to the link: messages arrive as they were sent, in order; every
/// call ends, with a status that something explains; OK comes only with every message.
#[test]
fn calls_behave_as_the_model_says() {
    let required = [
        Place::ResetInFlight,
        Place::GoawayRace,
        Place::DeadlinePassed,
        Place::CancelledOnWire,
        Place::CancelledBeforeWire,
        Place::EarlyAnswer,
        Place::TrailersOnly,
        Place::ClosedMidCall,
        Place::DrainedWithCalls,
        Place::StaleId,
        Place::EmptyMessage,
        Place::QueuedAboveStreamLimit,
        Place::StreamWindowBlocked,
        Place::NegativeWindow,
        Place::Continuation,
    ];
    check("calls_behave_as_the_model_says", &ops(160), &required, |(seed, ops), places| {
        let mut world = world(seed);
        ops.iter().for_each(|op| world.apply(*op));
        end_calls(&mut world)?;
        finish(&world, places)
    });
}

/// When nothing moves, both ends and the wire between them have the same windows; when every call has ended, nothing is left.
#[test]
fn at_rest_both_ends_agree() {
    let required = [
        Place::NegativeWindow,
        Place::StreamWindowBlocked,
        Place::ConnectionWindowBlocked,
        Place::MessageAboveWindow,
        Place::UnreadHeld,
        Place::ReadTarget,
        Place::TransportFull,
        Place::ShortWrite,
        Place::FrameCut,
    ];
    check("at_rest_both_ends_agree", &ops(120), &required, |(seed, ops), places| {
        let mut world = world(seed);
        for (index, op) in gentle(&ops).enumerate() {
            world.apply(op);
            if index % 40 == 39 {
                world.pause();
            }
        }
        world.pause();
        end_calls(&mut world)?;
        world.check_rest();
        finish(&world, places)
    });
}

/// With applications that read and answer, every message arrives and every call ends well, in a bounded number of steps.
#[test]
fn with_demand_every_message_arrives() {
    let required = [
        Place::SendBlocked,
        Place::WritableAfterBlocked,
        Place::StreamWindowBlocked,
        Place::ConnectionWindowBlocked,
        Place::MessageAboveWindow,
        Place::QueuedAboveStreamLimit,
        Place::ManyFramesInOneRead,
    ];
    check("with_demand_every_message_arrives", &ops(100), &required, |(seed, ops), places| {
        let mut world = world(seed);
        // Nobody reads until the end, when everybody does: whatever was forgotten on the way is missed then.
        let sends = gentle(&ops).filter(|op| !matches!(op, Op::Recv { .. } | Op::Finish { .. }));
        sends.for_each(|op| world.apply(op));
        end_calls(&mut world)?;
        finish(&world, places)
    });
}

/// Senders that do not stop and readers that do not read: what a connection holds stays within its configuration.
/// `World` compares with the bounds after every operation.
#[test]
fn memory_is_bounded() {
    let required = [Place::SendBlocked, Place::UnreadHeld, Place::StreamWindowBlocked, Place::ConnectionWindowBlocked];
    check("memory_is_bounded", &ops(120), &required, |(seed, ops), places| {
        let mut world = world(seed);
        for op in gentle(&ops) {
            match op {
                Op::Recv { .. } | Op::Finish { .. } | Op::CloseSend { .. } | Op::Slip { .. } => {}
                op => world.apply(op),
            }
            world.apply(Op::Step { n: 20 });
        }
        end_calls(&mut world)?;
        finish(&world, places)
    });
}

/// Deadlines, drains and silence: a timer that is due is over after `handle_timeout`, and time alone wakes a connection seldom.
#[test]
fn timers_advance() {
    let required = [Place::TimerFired, Place::DeadlinePassed, Place::DrainedWithCalls];
    check("timers_advance", &ops(80), &required, |(seed, ops), places| {
        let mut world = world(seed);
        // The clock jumps, so what the peer owes may be late.
        world.model.disturbed = true;
        for (index, &op) in ops.iter().enumerate() {
            world.apply(op);
            let next = (0..2).filter_map(|end| world.pair.conn(end).wants().deadline).min();
            if let Some(at) = next.filter(|_| index % 8 == 7) {
                world.pair.advance_to(at);
                world.apply(Op::Step { n: 0 });
            }
        }
        // From here on nobody does anything: the waits that are left must come to an end.
        let mut waits = 0;
        while waits < 1_000 {
            match world.pair.step() {
                Step::Idle => break,
                Step::Waited => waits += 1,
                Step::Moved => {}
            }
            world.apply(Op::Step { n: 0 });
        }
        prop_assert!(waits < 1_000, "time alone woke the connections without end");
        end_calls(&mut world)?;
        finish(&world, places)
    });
}

/// HPACK's tables of both sides are equal, whatever their size does on the way.
#[test]
fn hpack_tables_agree() {
    let required = [Place::TableEviction, Place::TableResized, Place::Continuation];
    check("hpack_tables_agree", &ops(120), &required, |(seed, ops), places| {
        let mut world = world(seed);
        for op in gentle(&ops) {
            // Metadata of every kind, and no more octets of messages than needed.
            match op {
                Op::Start { shape, deadline_ms, .. } => {
                    world.apply(Op::Start { shape, metadata: (world.calls() % 4) as u8, deadline_ms });
                }
                Op::Send { end, call, len } => world.apply(Op::Send { end, call, len: len % 100 }),
                op => world.apply(op),
            }
        }
        end_calls(&mut world)?;
        world.check_rest();
        finish(&world, places)
    });
}

/// The same seed gives the same run, event for event and octet for octet.
#[test]
fn the_same_seed_gives_the_same_transcript() {
    let required = [Place::ShortWrite, Place::TimerFired];
    check("the_same_seed_gives_the_same_transcript", &ops(80), &required, |(seed, ops), places| {
        let run = |seed| {
            let mut world = world(seed);
            ops.iter().for_each(|op| world.apply(*op));
            world.wind_down();
            world
        };
        let (first, second) = (run(seed), run(seed));
        prop_assert_eq!(first.pair.transcript.hash(), second.pair.transcript.hash());
        finish(&first, places)
    });
}

/// The echo service answers right over any link, by nothing but the public API.
#[test]
fn the_echo_service_answers_right() {
    let required = [Place::ShortWrite, Place::FrameCut, Place::StreamWindowBlocked, Place::MessageAboveWindow];
    let calls = vec((0..4_usize, vec(prop_oneof![0..100_usize, 0..70_000_usize, Just(200_000)], 1..3)), 1..5);
    check("the_echo_service_answers_right", &(any::<u64>(), calls), &required, |(seed, calls), places| {
        let mut rng = Rng::new(seed);
        let (link, configs) = (LinkConfig::random(&mut rng), [World::config(&mut rng), World::config(&mut rng)]);
        let mut pair = Pair::new([&configs[CLIENT], &configs[SERVER]], echo::routes(), link, seed);
        // Wait for the server's limits, so that no stream is refused.
        pair.settle(ms(500));
        let requests = calls.iter().map(|(method, lengths)| request(*method, lengths)).collect();
        if calls.iter().flat_map(|call| &call.1).any(|&len| len > configs[SERVER].initial_window as usize) {
            pair.hit(Place::MessageAboveWindow);
        }
        let now = pair.now();
        let mut client = echo::EchoClient::start(pair.client(), now, requests);
        let steps = echo::drive(&mut pair, &mut echo::EchoServer::default(), &mut client, 1_000_000);
        prop_assert!(client.is_done(), "not done after {} steps over {:?}: {}", steps, link, pair.summary());
        places.add(&pair.places());
        none(&client.wrong_answers())?;
        none(&pair.violations())
    });
}

/// A call of the echo service: methods with one request message take the first length only.
fn request(method: usize, lengths: &[usize]) -> echo::Request {
    let shape = echo::METHODS[method].1;
    let mut messages: Vec<_> = lengths.iter().map(|&len| echo::pattern(len as u64, len)).collect();
    match method {
        0 => messages.truncate(1),
        2 => messages = Vec::from([echo::expand_request(lengths.len() as u32, lengths[0] as u32)]),
        _ => {}
    }
    echo::Request::new(shape, messages)
}

/// A connection that only waits costs no wake-ups: after the handshake, a silent pair has no deadline nearer than a minute.
#[test]
fn an_idle_pair_sleeps() {
    let config = Config::default();
    let mut pair = Pair::new([&config, &config], echo::routes(), LinkConfig::ideal(), 1);
    pair.settle(ms(100));
    for end in [CLIENT, SERVER] {
        let (now, wants) = (pair.now(), pair.conn(end).wants());
        assert!(wants.deadline.is_none_or(|at| at.saturating_since(now) >= ms(60_000)), "{wants:?} at {now:?}");
        assert!(wants.read && !wants.write && !wants.event, "{wants:?}");
    }
}
