//! The static table (RFC 7541 Appendix A), and how the encoder finds a name in it.

use super::lookup::hash;

/// Entries of the static table; dynamic entries have the indices above.
pub(super) const LEN: u8 = 61;

/// Slots of [`BY_NAME`]: about five for each name, so a miss mostly ends at the first.
const SLOTS: usize = 256;

pub(super) type Field = (&'static [u8], &'static [u8]);

/// Name and value of the entry `index` (1..=61) of the static table, `None` for any other index.
#[must_use]
#[inline]
pub const fn static_entry(index: u8) -> Option<(&'static [u8], &'static [u8])> {
    if index == 0 || index > LEN { None } else { Some(TABLE[index as usize - 1]) }
}

/// A name's entries are neighbours: where they are.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// Index of the first.
    pub(super) first: u8,
    count: u8,
}

impl Named {
    /// The index of the entry that has this value, too.
    #[inline]
    pub(super) fn with_value(self, value: &[u8]) -> Option<u8> {
        (self.first..self.first + self.count).find(|&index| TABLE[usize::from(index) - 1].1 == value)
    }
}

/// The entries with this name, whose hash is `hash(0, name)`.
#[inline]
pub(super) fn find(hash: u64, name: &[u8]) -> Option<Named> {
    let mut slot = slot(hash);
    loop {
        let named = BY_NAME[slot];
        if named.first == 0 {
            return None;
        }
        if TABLE[usize::from(named.first) - 1].0 == name {
            return Some(named);
        }
        slot = (slot + 1) % SLOTS;
    }
}

const fn slot(hash: u64) -> usize {
    (hash >> 32) as usize % SLOTS
}

/// Open addressing by the name's hash; `first` is 0 where there is nothing.
static BY_NAME: [Named; SLOTS] = {
    let mut slots = [Named { first: 0, count: 0 }; SLOTS];
    let mut index = 1;
    while index <= LEN {
        let name = TABLE[index as usize - 1].0;
        let mut count = 1;
        while index + count <= LEN && equal(name, TABLE[(index + count) as usize - 1].0) {
            count += 1;
        }
        let mut slot = slot(hash(0, name));
        while slots[slot].first != 0 {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = Named { first: index, count };
        index += count;
    }
    slots
};

/// `a == b`, for constants.
const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Entry 1 comes first.
#[rustfmt::skip]
pub(super) static TABLE: [Field; LEN as usize] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_field_is_found() {
        for index in 1..=LEN {
            let (name, value) = static_entry(index).expect("index is within the table");
            let named = find(hash(0, name), name).expect("the name is in the table");
            assert!(named.first <= index);
            assert_eq!(named.with_value(value), Some(index), "{} {}", name.escape_ascii(), value.escape_ascii());
            assert_eq!(named.with_value(b"no such value"), None);
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [&b""[..], b"te", b":Path", b"content-typ", b"content-types", b"grpc-status"] {
            assert!(find(hash(0, name), name).is_none(), "{}", name.escape_ascii());
        }
        assert_eq!(static_entry(0), None);
        assert_eq!(static_entry(62), None);
    }
}
