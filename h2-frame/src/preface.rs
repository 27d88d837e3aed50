use crate::{Error, Status};

/// The first octets of every client connection (RFC 9113 §3.4). A SETTINGS frame follows.
pub const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Looks for the [`PREFACE`] at the front of `input`; gives its size.
///
/// # Errors
///
/// PROTOCOL_ERROR at the first octet that differs, however few there are: the peer does not speak HTTP/2. An answer in HTTP/1.1, or
/// just closing the connection, tells it more than a GOAWAY.
pub fn parse_preface(input: &[u8]) -> Result<Status<usize>, Error> {
    let given = input.len().min(PREFACE.len());
    if input[..given] != PREFACE[..given] {
        return Err(Error::protocol("not the HTTP/2 connection preface"));
    }
    Ok(if given == PREFACE.len() { Status::Complete(given) } else { Status::Partial })
}
