//! Time is a number: small, ordered, and it never overflows.

use core::time::Duration;
use pintle_core::Timestamp;

#[test]
fn no_timestamp_costs_nothing() {
    assert_eq!(size_of::<Option<Timestamp>>(), 8);
}

#[test]
fn microseconds_come_back_and_keep_their_order() {
    let instants = [0, 1, 1_000_000, u64::MAX - 1].map(Timestamp::from_micros);
    assert_eq!(instants.map(Timestamp::as_micros), [0, 1, 1_000_000, u64::MAX - 1]);
    assert!(instants.is_sorted());
    assert_eq!(Timestamp::from_micros(u64::MAX), Timestamp::MAX, "the very last instant saturates");
    assert_eq!(Timestamp::from_micros(u64::MAX - 1), Timestamp::MAX);
}

#[test]
fn arithmetic_saturates() {
    let start = Timestamp::from_micros(10);
    assert_eq!(start.saturating_add(Duration::from_nanos(1_999)).as_micros(), 11, "whole microseconds");
    assert_eq!(start.saturating_since(Timestamp::from_micros(4)), Duration::from_micros(6));
    assert_eq!(start.saturating_since(Timestamp::MAX), Duration::ZERO);
    for long in [Duration::MAX, Duration::from_micros(u64::MAX), Duration::from_secs(u64::MAX / 1_000_000 + 1)] {
        assert_eq!(start.saturating_add(long), Timestamp::MAX, "{long:?}");
    }
    assert_eq!(Timestamp::MAX.saturating_add(Duration::from_micros(1)), Timestamp::MAX);
    assert_eq!(Timestamp::from_micros(0).saturating_add(Duration::ZERO), Timestamp::from_micros(0));
}
