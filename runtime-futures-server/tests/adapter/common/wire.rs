//! HTTP/2 by hand, for peers that misbehave or that are no gRPC peers.

/// RFC 9113 §3.4.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// Appends a frame, RFC 9113 §4.1.
pub fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

/// Appends a field as a literal without indexing with a new name, RFC 7541 §6.2.2; both shorter than 127 octets.
pub fn field(block: &mut Vec<u8>, name: &str, value: &str) {
    block.extend([0, name.len() as u8]);
    block.extend(name.as_bytes());
    block.push(value.len() as u8);
    block.extend(value.as_bytes());
}

/// A client's first octets: preface, stream windows of `window`, and 2^30 more for the connection.
pub fn hello(window: u32) -> Vec<u8> {
    let mut octets = PREFACE.to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE is number 4, RFC 9113 §6.5.2.
    let [a, b, c, d] = window.to_be_bytes();
    frame(&mut octets, SETTINGS, 0, 0, &[0, 4, a, b, c, d]);
    frame(&mut octets, WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
    octets
}

/// Length, type, flags and stream of a frame's head.
pub fn head(octets: &[u8]) -> (usize, u8, u8, u32) {
    let len = usize::from(octets[0]) << 16 | usize::from(octets[1]) << 8 | usize::from(octets[2]);
    (len, octets[3], octets[4], u32::from_be_bytes([octets[5], octets[6], octets[7], octets[8]]))
}
