//! `grpc-timeout`: 1 to 8 digits and a unit (PH2 "Timeout").

/// The longest time that fits: 99,999,999 hours, in microseconds.
pub const MAX_MICROS: u64 = MAX_DIGITS * 3_600_000_000;

const MAX_DIGITS: u64 = 99_999_999;

/// The value of a `grpc-timeout` field, ready to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeoutText {
    octets: [u8; 9],
    start: u8,
}

impl TimeoutText {
    /// The octets: 2 to 9 of them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.octets[usize::from(self.start)..]
    }
}

/// Writes a time that remains, in microseconds: in the finest unit in which it has 8 digits at most, rounded up, so that
/// a server never gives up before its client (grpc-go's rule; nanoseconds are finer than the clock of this crate).
///
/// Zero is written as `1u`, since 0 is no time that remains: a call whose deadline has passed fails without being sent.
/// More than [`MAX_MICROS`] is written as that.
///
/// ```
/// use pintle_core::grpc::timeout::encode;
/// assert_eq!(encode(1_000_000).as_bytes(), b"1000000u");
/// assert_eq!(encode(100_000_001).as_bytes(), b"100001m");
/// ```
#[must_use]
pub fn encode(micros: u64) -> TimeoutText {
    const UNITS: [(u64, u8); 5] = [(1, b'u'), (1_000, b'm'), (1_000_000, b'S'), (60_000_000, b'M'), (3_600_000_000, b'H')];
    let micros = micros.clamp(1, MAX_MICROS);
    for (size, unit) in UNITS {
        let value = micros.div_ceil(size);
        if value <= MAX_DIGITS {
            return text(value as u32, unit);
        }
    }
    text(MAX_DIGITS as u32, b'H')
}

fn text(mut value: u32, unit: u8) -> TimeoutText {
    let mut octets = [0; 9];
    octets[8] = unit;
    let mut start = 8;
    loop {
        start -= 1;
        octets[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 || start == 0 {
            return TimeoutText { octets, start: start as u8 };
        }
    }
}

/// Reads a received value to microseconds, rounded up, so that only zero is zero. `None`: not 1 to 8 digits and one of
/// `H`, `M`, `S`, `m`, `u`, `n`. Zero is valid: the deadline has passed already.
///
/// ```
/// use pintle_core::grpc::timeout::decode;
/// assert_eq!(decode(b"5S"), Some(5_000_000));
/// assert_eq!(decode(b"5s"), None);
/// ```
#[must_use]
pub fn decode(value: &[u8]) -> Option<u64> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let mut number = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(digit - b'0');
    }
    // The largest product, 99,999,999 hours, is 3.6e17 microseconds: no overflow.
    Some(match unit {
        b'n' => number.div_ceil(1_000),
        b'u' => number,
        b'm' => number * 1_000,
        b'S' => number * 1_000_000,
        b'M' => number * 60_000_000,
        b'H' => number * 3_600_000_000,
        _ => return None,
    })
}
