//! The letter box between threads and a loop, on its own: nothing is lost, nothing comes twice, and who is asleep is woken.

use pintle_callback::Mailbox;
use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

const THREADS: u32 = 4;
const COMMANDS: u32 = 20_000;
const LONG: Duration = Duration::from_secs(30);

/// What a loop sleeps on.
#[derive(Default)]
struct Alarm {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Alarm {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.bell.notify_one();
    }

    fn sleep(&self) {
        let (mut rung, late) = self.bell.wait_timeout_while(self.rung.lock().unwrap(), LONG, |rung| !*rung).unwrap();
        assert!(!late.timed_out(), "a wake was lost");
        *rung = false;
    }
}

fn mailbox() -> (Arc<Mailbox<(u32, u32)>>, Arc<Alarm>) {
    let alarm = Arc::new(Alarm::default());
    let rings = Arc::clone(&alarm);
    (Arc::new(Mailbox::new(move || rings.ring())), alarm)
}

#[test]
fn every_command_comes_once_and_in_order() {
    let (mailbox, alarm) = mailbox();
    thread::scope(|scope| {
        for from in 0..THREADS {
            let mailbox = &mailbox;
            scope.spawn(move || (0..COMMANDS).for_each(|number| mailbox.post((from, number))));
        }
        let (mut next, mut taken) = ([0; THREADS as usize], Vec::new());
        while next.iter().sum::<u32>() < THREADS * COMMANDS {
            alarm.sleep();
            mailbox.swap(&mut taken);
            for (from, number) in taken.drain(..) {
                assert_eq!(next[from as usize], number);
                next[from as usize] += 1;
            }
        }
    });
}

#[test]
fn what_is_posted_at_the_end_comes_back() {
    for round in 0..50 {
        let (mailbox, _alarm) = mailbox();
        let (refused, mut taken) = (AtomicU32::new(0), 0);
        thread::scope(|scope| {
            for from in 0..THREADS {
                let (mailbox, refused) = (&mailbox, &refused);
                scope.spawn(move || {
                    let refuse = |number| mailbox.post_bounded((from, number), 64).is_err();
                    refused.fetch_add((0..500).filter(|number| refuse(*number)).count() as u32, Ordering::Relaxed);
                });
            }
            let mut commands = Vec::new();
            for _ in 0..round {
                mailbox.swap(&mut commands);
                assert!(commands.len() <= 64, "{} at once", commands.len());
                taken += commands.drain(..).count() as u32;
                thread::yield_now();
            }
            taken += mailbox.close().len() as u32;
        });
        assert!(mailbox.is_closed());
        assert_eq!(taken + refused.into_inner(), THREADS * 500);
    }
}
