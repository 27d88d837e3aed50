//! The Huffman code (RFC 7541 Appendix B) and the tables made from it when this crate is compiled.
//!
//! The code is canonical: codes of one length are consecutive, in the order of their symbols, and longer codes follow shorter ones. So the lengths
//! say everything.

/// The octets and EOS, which ends nothing but padding, and may never appear itself (RFC 7541 §5.2).
const SYMBOLS: usize = 257;

/// The code of EOS: [`LONGEST`] ones.
pub(super) const EOS: u64 = (1 << LONGEST) - 1;

/// The longest code, in bits.
pub(super) const LONGEST: u32 = 30;

/// A look-up in [`PAIRS`] sees this many bits: one symbol of up to 11 bits, or two.
pub(super) const WIDTH: u32 = 11;

/// Length of the code of each symbol, in bits.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The code of a symbol, in its low `len` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) len: u8,
}

/// What the next [`WIDTH`] bits hold: one symbol or two, or nothing if they begin a longer code. Packed, with the length lowest, because the next look-up waits
/// for a shift by it and for nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair(u32);

impl Pair {
    const NONE: Self = Self(0);

    const fn one(symbol: u8, len: u8) -> Self {
        Self(len as u32 | 1 << 8 | (symbol as u32) << 16)
    }

    const fn and(self, second: Self) -> Self {
        Self((self.len() + second.len()) as u32 | 2 << 8 | self.0 & 0xff_0000 | (second.0 & 0xff_0000) << 8)
    }

    /// Bits of the codes together; 0 if there is none.
    #[inline]
    pub(super) const fn len(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// How many symbols: 0, 1 or 2.
    #[inline]
    pub(super) const fn count(self) -> usize {
        (self.0 >> 8 & 0xff) as usize
    }

    /// The symbols; zeros where there are less.
    #[inline]
    pub(super) const fn symbols(self) -> [u8; 2] {
        [(self.0 >> 16) as u8, (self.0 >> 24) as u8]
    }

    /// The bits behind these codes.
    #[inline]
    pub(super) const fn skip(self, window: u64) -> u64 {
        // Shifts by the low six bits, as processors do.
        window.wrapping_shl(self.0)
    }
}

/// All codes of one length.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The first code of this length.
    first: u32,
    /// The first bit pattern, in 32 bits from the left, that belongs to a longer code.
    end: u64,
    /// Where the symbols of this length begin in [`BY_CODE`].
    start: u16,
}

pub(super) static CODES: [Code; SYMBOLS] = codes();
pub(super) static PAIRS: [Pair; 1 << WIDTH] = pairs();
static ROWS: [Row; LONGEST as usize + 1] = rows();
static BY_CODE: [u16; SYMBOLS] = by_code();

/// The symbol with a code of more than [`WIDTH`] bits that `window` begins with, and the length of that code. The code is complete, so there is one; it is not
/// EOS, for which the caller has looked.
#[inline(never)]
pub(super) fn symbol(window: u64) -> (u8, usize) {
    let window = (window >> 32) as u32;
    let mut len = WIDTH as usize + 1;
    while len < LONGEST as usize && u64::from(window) >= ROWS[len].end {
        len += 1;
    }
    let row = ROWS[len];
    let rank = (window >> (32 - len)) - row.first;
    (BY_CODE[usize::from(row.start) + rank as usize] as u8, len)
}

const fn codes() -> [Code; SYMBOLS] {
    let rows = rows();
    let mut codes = [Code { bits: 0, len: 0 }; SYMBOLS];
    let mut used = [0; LONGEST as usize + 1];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        let len = LENGTHS[symbol] as usize;
        codes[symbol] = Code { bits: rows[len].first + used[len], len: len as u8 };
        used[len] += 1;
        symbol += 1;
    }
    codes
}

const fn rows() -> [Row; LONGEST as usize + 1] {
    let mut rows = [Row { first: 0, end: 0, start: 0 }; LONGEST as usize + 1];
    let (mut len, mut code, mut start) = (1, 0u32, 0);
    while len <= LONGEST as usize {
        let count = count(len);
        rows[len] = Row { first: code, end: ((code + count) as u64) << (32 - len), start };
        code = (code + count) << 1;
        start += count as u16;
        len += 1;
    }
    rows
}

/// How many codes have this length.
const fn count(len: usize) -> u32 {
    let (mut symbol, mut count) = (0, 0);
    while symbol < SYMBOLS {
        if LENGTHS[symbol] as usize == len {
            count += 1;
        }
        symbol += 1;
    }
    count
}

const fn by_code() -> [u16; SYMBOLS] {
    let (codes, rows) = (codes(), rows());
    let mut symbols = [0; SYMBOLS];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        let row = rows[codes[symbol].len as usize];
        symbols[row.start as usize + (codes[symbol].bits - row.first) as usize] = symbol as u16;
        symbol += 1;
    }
    symbols
}

const fn pairs() -> [Pair; 1 << WIDTH] {
    let singles = singles();
    let mut pairs = singles;
    let mut window = 0;
    while window < pairs.len() {
        let first = singles[window];
        let second = singles[(window << first.len()) & (pairs.len() - 1)];
        if second.len() != 0 && first.len() + second.len() <= WIDTH as usize {
            pairs[window] = first.and(second);
        }
        window += 1;
    }
    pairs
}

const fn singles() -> [Pair; 1 << WIDTH] {
    let codes = codes();
    let mut singles = [Pair::NONE; 1 << WIDTH];
    let mut symbol = 0;
    while symbol < SYMBOLS - 1 {
        let Code { bits, len } = codes[symbol];
        if len as u32 <= WIDTH {
            let spare = WIDTH - len as u32;
            let mut low = 0;
            while low < 1 << spare {
                singles[(bits << spare) as usize | low] = Pair::one(symbol as u8, len);
                low += 1;
            }
        }
        symbol += 1;
    }
    singles
}
