//! Many threads at one client, one client at many loops, and handlers that answer from threads of their own: what crosses threads is in
//! order, nothing is lost, and everything ends. Made to be run under ThreadSanitizer too (`fuzz/sanitize thread`).

mod common;

use common::{
    Fixture, Greeter, HelloRequest, LONG, Note, Told, bounded,
    glue::{GreeterClient, GreeterServer},
    request,
};
use pintle_mio::{Client, Code, Server, ShutdownHandle, Status, connect};
use std::{
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

const THREADS: u64 = 6;
const ROUNDS: u32 = 150;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % sides
    }
}

/// One call of some kind; whatever it is meant to be, it is, or it ends with an error.
fn some_call(client: &GreeterClient<Client>, dice: &mut Dice) -> Result<(), Status> {
    match dice.roll(8) {
        0 => assert_eq!(client.say_hello(request("you")).deadline(LONG).wait()?.message, "hello you"),
        1 => assert_eq!(client.say_hello(request("later")).deadline(LONG).wait()?.message, "hello later"),
        2 => {
            // Ours or the server's, whichever sees it first; or it was in time.
            let after = Duration::from_micros(u64::from(dice.roll(6_000)));
            match client.say_hello(request("later")).deadline(after).wait() {
                Ok(reply) => assert_eq!(reply.message, "hello later"),
                Err(status) if status.code() == Code::DeadlineExceeded => {}
                Err(status) => return Err(status),
            }
        }
        3 => {
            let (tell, told) = mpsc::channel();
            client.say_hello(request("later")).deadline(LONG).on_done(move |end| tell.send(end).unwrap());
            assert_eq!(told.recv_timeout(LONG).expect("a callback comes")?.message, "hello later");
        }
        // Sent from a thread of the handler's own; sometimes dropped halfway.
        kind @ (4 | 5) => {
            let name = if dice.roll(2) == 0 { "thread" } else { "produce elsewhere" };
            let wanted = HelloRequest { blob: vec![1; 20_000].into(), count: 30, ..request(name) };
            let mut replies = client.lots_of_replies(wanted).deadline(LONG).open()?;
            for _ in 0..if kind == 4 { 30 } else { dice.roll(30) } {
                assert_eq!(replies.next()?.map(|reply| reply.blob.len()), Some(20_000));
            }
            if kind == 4 {
                assert_eq!(replies.next()?, None);
            }
        }
        6 => {
            let mut upload = client.lots_of_greetings().deadline(LONG).open()?;
            for n in 0..10 {
                if upload.send(request(&n.to_string())).is_err() {
                    break;
                }
            }
            assert_eq!(upload.finish()?.message, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 0 octets");
        }
        _ => {
            let (mut out, mut input) = client.chat().deadline(LONG).open()?;
            for number in 0..dice.roll(10) {
                let note = Note { number, blob: vec![2; dice.roll(30_000) as usize].into() };
                if out.send(note.clone()).is_err() {
                    break;
                }
                assert_eq!(input.next()?, Some(note));
            }
        }
    }
    Ok(())
}

/// Threads that share clones of `clients`: `call` is made until it says no.
fn from_threads(clients: &[Client], call: impl Fn(&GreeterClient<Client>, &mut Dice, u32) -> bool + Sync) {
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (call, client) = (&call, clients[seed as usize % clients.len()].clone());
            scope.spawn(move || {
                let (client, mut dice) = (GreeterClient::new(client), Dice(seed));
                (0..).find(|round| !call(&client, &mut dice, *round));
            });
        }
    });
}

fn in_process() -> (Client, ShutdownHandle, mpsc::Receiver<Told>) {
    let (tell, told) = mpsc::channel();
    let server = Server::new().add(move || GreeterServer::new(Greeter::new(tell.clone())));
    let stop = server.shutdown_handle();
    (server.in_process().unwrap(), stop, told)
}

#[test]
fn calls_of_all_kinds_from_many_threads() {
    let fixture = Fixture::with(|server| server.loops(2));
    let (joined, _stop, _told) = in_process();
    let clients = vec![connect(&fixture.tcp).unwrap(), connect(&fixture.unix).unwrap(), joined];
    bounded(move || {
        from_threads(&clients, |client, dice, round| {
            some_call(client, dice).unwrap();
            round + 1 < ROUNDS
        });
    });
    assert!(fixture.stop(LONG) < LONG, "nothing is left that holds the server");
}

/// Nobody who calls while the server goes waits for ever or gets a wrong answer.
#[test]
fn calls_that_race_with_the_end_all_end() {
    for round in 0..6 {
        let fixture = Fixture::with(|server| server.loops(2));
        let (joined, stop, _told) = in_process();
        let clients = vec![connect(&fixture.tcp).unwrap(), connect(&fixture.unix).unwrap(), joined];
        let calls = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                from_threads(&clients, |client, dice, _| match some_call(client, dice) {
                    Ok(()) => calls.fetch_add(1, Ordering::SeqCst) < 100_000,
                    Err(status) => {
                        assert!(matches!(status.code(), Code::Unavailable | Code::Cancelled), "{status}");
                        false
                    }
                });
            });
            while calls.load(Ordering::SeqCst) < 5 * round {
                thread::yield_now();
            }
            stop.shutdown(Duration::ZERO);
            fixture.stop(Duration::from_millis(u64::from(round)));
        });
    }
}
