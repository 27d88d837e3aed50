//! Properties of one connection that is given octets: cuts do not matter, and nothing that comes can hurt.

#[path = "support/bodies.rs"]
mod bodies;
mod support;

use pintle_core::{
    Config, Connection, Timestamp,
    testing::{
        Cut, Place, Places, Rng, SERVER, Shuttle, World,
        echo::{self, EchoClient, EchoServer, Request},
    },
};
use proptest::{collection::vec, prelude::*};
use support::{check, none};

const START: Timestamp = Timestamp::from_micros(1_000_000);

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![Just(Cut::Octet), (2..40_usize).prop_map(Cut::Random), (100..30_000_usize).prop_map(Cut::Random)]
}

/// Calls of every shape, with messages from empty to larger than a window.
fn requests() -> impl Strategy<Value = Vec<(usize, Vec<usize>)>> {
    let lengths = vec(prop_oneof![Just(0_usize), 0..300_usize, 0..20_000_usize, 60_000..150_000_usize], 1..4);
    vec((0..4_usize, lengths), 1..6)
}

fn build(calls: &[(usize, Vec<usize>)]) -> Vec<Request> {
    calls
        .iter()
        .enumerate()
        .map(|(index, (method, lengths))| {
            let mut messages: Vec<_> = lengths.iter().map(|&len| echo::pattern(len as u64, len)).collect();
            match method {
                0 => messages.truncate(1),
                2 => messages = Vec::from([echo::expand_request(lengths.len() as u32, lengths[0] as u32)]),
                _ => {}
            }
            let mut request = Request::new(echo::METHODS[*method].1, messages);
            let text = "v".repeat(index * 2_000 % 9_000);
            request.metadata.append("x-padding", &text).expect("a valid field");
            request
        })
        .collect()
}

fn run(seed: u64, calls: &[(usize, Vec<usize>)], input: Cut, output: Cut) -> (Shuttle, EchoClient) {
    let mut rng = Rng::new(seed);
    let mut configs = [World::config(&mut rng), World::config(&mut rng)];
    // Large enough that no call is refused before the client knows the limit.
    configs[SERVER].max_concurrent_streams = 100;
    configs[SERVER].recv_budget = 100 * u64::from(configs[SERVER].initial_window) + (4 << 20);
    let mut client = Connection::client(&configs[0], START);
    let server = Connection::server(&configs[1], echo::routes(), START);
    let mut caller = EchoClient::start(&mut client, START, build(calls));
    let mut shuttle = Shuttle::new(client, server, START, input, output, seed);
    shuttle.run(&mut EchoServer::default(), &mut caller, 2_000);
    (shuttle, caller)
}

/// How input was cut into reads, and output into writes, changes neither events nor octets (design rule 4).
#[test]
fn cuts_do_not_matter() {
    let required = [Place::FrameCut, Place::ShortWrite, Place::ReadTarget];
    let strategy = (any::<u64>(), requests(), cut(), cut());
    check("cuts_do_not_matter", &strategy, &required, |(seed, calls, input, output), places| {
        let (whole, answers) = run(seed, &calls, Cut::Whole, Cut::Whole);
        none(&answers.wrong_answers())?;
        let (cut, answers) = run(seed, &calls, input, output);
        none(&answers.wrong_answers())?;
        places.add(&cut.places);
        prop_assert_eq!(whole.phases.len(), cut.phases.len(), "another number of phases");
        for (number, (a, b)) in whole.phases.iter().zip(&cut.phases).enumerate() {
            prop_assert_eq!(&a.events, &b.events, "phase {}: other events", number);
            let same = a.octets == b.octets;
            let at = a.octets.iter().zip(&b.octets).position(|(a, b)| a != b);
            prop_assert!(same, "phase {}: other octets from {:?} on ({} and {})", number, at, a.octets.len(), b.octets.len());
        }
        Ok(())
    });
}

/// Any octets, any order of operations: no panic, no broken rule. The bodies are those of the fuzz targets.
#[test]
fn nothing_that_comes_can_hurt() {
    let octets = || vec(any::<u8>(), 0..600);
    for (name, target) in bodies::TARGETS {
        check(name, &octets(), &[], |octets, _: &mut Places| {
            target(&octets);
            Ok(())
        });
    }
}

/// The defaults are valid, and so is everything that the properties use.
#[test]
fn the_configurations_are_valid() {
    assert_eq!(Config::default().validate(), Ok(()));
    let mut rng = Rng::new(1);
    for _ in 0..1_000 {
        assert_eq!(World::config(&mut rng).validate(), Ok(()));
    }
}
