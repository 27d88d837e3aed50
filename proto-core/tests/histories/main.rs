//! Random histories of a client and a server over any link, against a model of HTTP/2 and gRPC (`pintle_core::testing::History`).
//!
//! `cargo test` runs 2,000 with a fresh seed, which it prints. `PINTLE_SEED` repeats it; `PINTLE_HISTORIES` is another number
//! of them, `PINTLE_THREADS` another number of threads (one if not given):
//!
//! ```text
//! PINTLE_HISTORIES=100000 PINTLE_THREADS=2 cargo test --release --package pintle-core --test histories -- --nocapture
//! ```

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the runner has threads and a clock; what it runs has none")]

mod heads;

use pintle_core::testing::{History, Place, Places, Run};
use std::{
    io::{Write, stderr},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// What 2,000 histories must have come to.
const REQUIRED: &[Place] = &[
    Place::StreamWindowBlocked,
    Place::ConnectionWindowBlocked,
    Place::NegativeWindow,
    Place::Continuation,
    Place::ResetInFlight,
    Place::GoawayRace,
    Place::TableEviction,
    Place::TableResized,
    Place::QueuedAboveStreamLimit,
    Place::StreamRefused,
    Place::MessageAboveWindow,
    Place::ReadTarget,
    Place::ShortWrite,
    Place::TransportFull,
    Place::SendBlocked,
    Place::WritableAfterBlocked,
    Place::DeadlinePassed,
    Place::CancelledOnWire,
    Place::CancelledBeforeWire,
    Place::EarlyAnswer,
    Place::TrailersOnly,
    Place::EmptyMessage,
    Place::ClosedMidCall,
    Place::DrainedWithCalls,
    Place::StaleId,
    Place::UnreadHeld,
    Place::TimerFired,
    Place::ManyFramesInOneRead,
    Place::FrameCut,
    Place::PingAnswered,
    Place::SecondGoaway,
    Place::ResetByServer,
    Place::ResetByClient,
    Place::ConnectionFailed,
    Place::HalfClosed,
    Place::OctetsLost,
    Place::JustBeforeDeadline,
    Place::AtDeadline,
    Place::FarJump,
    Place::LongStall,
    Place::NoStreamsForAWhile,
    Place::WindowZero,
    Place::FrameLimitChanged,
    Place::SettingTwice,
    Place::MessageTooLarge,
    Place::FrameForClosedStream,
    Place::RestCompared,
    Place::EndCompared,
];

/// Attempts to make a failure smaller.
const SHRINK: usize = 3_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What one history did wrong; a panic is a fault, too.
fn run(history: &History) -> Result<Run, Vec<String>> {
    // That decoder is slow, so not all of them.
    let look_inside = history.seed.is_multiple_of(8);
    let run = catch_unwind(AssertUnwindSafe(|| history.run(look_inside)));
    match run {
        Ok(run) => {
            let faults = run.faults.iter().cloned().chain(heads::faults(&run)).collect::<Vec<_>>();
            if faults.is_empty() { Ok(run) } else { Err(faults) }
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(vec![format!("panicked: {}", text.unwrap_or_default())])
        }
    }
}

/// What all threads share.
#[derive(Default)]
struct Machine {
    next: AtomicU64,
    stop: AtomicBool,
    places: Mutex<Places>,
    calls: AtomicU64,
    failures: Mutex<Vec<History>>,
}

impl Machine {
    /// Histories `first + next`, until there are `count` of them or one fails.
    fn work(&self, first: u64, count: u64, began: Instant) {
        let mut places = Places::default();
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            if number > 0 && number.is_multiple_of(10_000) {
                println!("{number} histories in {:.0} s", began.elapsed().as_secs_f64());
            }
            let history = History::random(first.wrapping_add(number));
            match run(&history) {
                Ok(run) => {
                    places.add(&run.places);
                    self.calls.fetch_add(run.calls as u64, Ordering::Relaxed);
                }
                Err(_) => {
                    self.stop.store(true, Ordering::Relaxed);
                    self.failures.lock().expect("no thread panics with it").push(history);
                }
            }
        }
        self.places.lock().expect("no thread panics with it").add(&places);
    }
}

/// The first failure, made smaller, with the test to paste.
fn report(history: &History) -> String {
    let shrink = number("PINTLE_SHRINK").map_or(SHRINK, |tries| tries as usize);
    std::panic::set_hook(Box::new(|_| {}));
    let small = history.shrink(shrink, |candidate| run(candidate).is_err());
    let _ = std::panic::take_hook();
    let faults = run(&small).err().unwrap_or_default();
    format!("{}\n\nPaste this into tests/props_found.rs:\n\n{}", faults.join("\n"), small.source())
}

#[test]
fn random_histories_keep_every_rule() {
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let first = number("PINTLE_SEED").unwrap_or(fresh);
    let count = number("PINTLE_HISTORIES").unwrap_or(2_000);
    let threads = number("PINTLE_THREADS").unwrap_or(1);
    let (machine, began) = (Machine::default(), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| machine.work(first, count, began));
        }
    });
    let places = machine.places.into_inner().expect("no thread panics with it");
    let calls = machine.calls.into_inner();
    // Not by `println!`, which is kept back where the test passes.
    let _ = writeln!(
        stderr(),
        "PINTLE_SEED={first}: {count} histories, {calls} calls, {:.1} s on {threads} threads",
        began.elapsed().as_secs_f64()
    );
    println!("hard places:\n{}", places.report());
    if let Some(history) = machine.failures.into_inner().expect("no thread panics with it").first() {
        panic!("PINTLE_SEED={} PINTLE_HISTORIES=1 fails: {}", history.seed, report(history));
    }
    let missing = places.missing(REQUIRED);
    assert!(count < 1_000 || missing.is_empty(), "{count} histories from PINTLE_SEED={first} never reached {missing:?}");
}
