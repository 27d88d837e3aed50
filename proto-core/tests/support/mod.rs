//! Runs a property over many cases and says which hard places it reached.
#![allow(dead_code, reason = "each test program uses its part")]

use pintle_core::testing::{Place, Places};
use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use std::{cell::RefCell, fmt::Debug, time::Duration};

/// Cases per property: 256, more by `PINTLE_CASES`.
pub(crate) fn cases() -> u32 {
    number("PINTLE_CASES").unwrap_or(0).max(256) as u32
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs `property` over [`cases`] values, prints the hard places it reached, and fails if one of `required` is not
/// among them. The values are the same in every run; `PINTLE_SEED` chooses others. A failure is made smaller for
/// `PINTLE_SHRINK` milliseconds (40,000 if not given).
pub(crate) fn check<S: Strategy>(
    name: &str,
    strategy: &S,
    required: &[Place],
    property: impl Fn(S::Value, &mut Places) -> Result<(), TestCaseError>,
) where
    S::Value: Debug,
{
    let shrink = number("PINTLE_SHRINK").unwrap_or(40_000) as u32;
    let config = Config {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: shrink.saturating_mul(2),
        max_shrink_time: shrink,
        ..Config::default()
    };
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&number("PINTLE_SEED").unwrap_or(1).to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let places = RefCell::new(Places::default());
    let result = runner.run(strategy, |value| {
        let mut reached = Places::default();
        let result = property(value, &mut reached);
        places.borrow_mut().add(&reached);
        result
    });
    let places = places.into_inner();
    println!("{name}: {} cases, hard places reached:\n{}", cases(), places.report());
    if let Err(error) = result {
        panic!("{name}: {error}");
    }
    let missing = places.missing(required);
    assert!(missing.is_empty(), "{name} never reached {missing:?}");
}

/// Fails the case with every fault, in words.
pub(crate) fn none(faults: &[String]) -> Result<(), TestCaseError> {
    match faults {
        [] => Ok(()),
        _ => Err(TestCaseError::fail(faults.join("\n"))),
    }
}

/// Shorthand.
pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
