use crate::{Continuation, Data, Error, GoAway, Head, Headers, Ping, Priority, PushPromise, Reset, Settings, WindowUpdate, flag, kind};

/// A frame with its values; the octets are borrowed from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is documented at the type that it holds")]
pub enum Frame<'a> {
    Data(Data<'a>),
    Headers(Headers<'a>),
    Priority(Priority),
    Reset(Reset),
    Settings(Settings<'a>),
    PushPromise(PushPromise<'a>),
    Ping(Ping),
    GoAway(GoAway<'a>),
    WindowUpdate(WindowUpdate),
    Continuation(Continuation<'a>),
    Unknown(Unknown<'a>),
}

/// A frame of a kind that RFC 9113 does not define. Ignore it, whatever the state of its stream (§4.1, §5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown<'a> {
    /// As it was on the wire.
    pub head: Head,
    /// As it was on the wire.
    pub payload: &'a [u8],
}

/// What came of an attempt to parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status<T> {
    /// All octets were there.
    Complete(T),
    /// Good so far, but octets are missing. Try again with the same octets and more after them.
    Partial,
}

/// Parses the frame at the front of `input`; gives it and its size in octets, head included.
///
/// `max_frame` is the SETTINGS_MAX_FRAME_SIZE that the receiver announced, 16,384 if it announced none. An error in the head is
/// reported as soon as its nine octets are there. Each frame is looked at alone: that a field block was not interrupted
/// (RFC 9113 §6.10) is the caller's to check; [`Scanner`](crate::Scanner) does.
///
/// # Errors
///
/// The rule that was broken. After an error with [`Scope::Stream`](crate::Scope::Stream) go on behind the frame, [`Head::LEN`] and its
/// payload's octets further (the payload may not have arrived yet).
pub fn parse(input: &[u8], max_frame: u32) -> Result<Status<(Frame<'_>, usize)>, Error> {
    let Some((octets, rest)) = input.split_first_chunk() else { return Ok(Status::Partial) };
    let head = Head::parse(octets);
    head.check(max_frame)?;
    let len = head.len as usize;
    let Some(payload) = rest.get(..len) else { return Ok(Status::Partial) };
    Ok(Status::Complete((parse_payload(head, payload)?, Head::LEN + len)))
}

/// Parses the payload of a frame, of which the head is known and was [checked](Head::check).
///
/// `payload` is the whole payload. If its length is not `head.len`, its own length counts.
///
/// # Errors
///
/// Padding and values that RFC 9113 forbids. Lengths are looked at again where a payload without them makes no sense, so a head that was
/// not checked is no danger.
pub fn parse_payload<'a>(head: Head, payload: &'a [u8]) -> Result<Frame<'a>, Error> {
    Ok(match head.kind {
        kind::DATA => Frame::Data(Data::parse(head, payload)?),
        kind::HEADERS => Frame::Headers(Headers::parse(head, payload)?),
        kind::PRIORITY => Frame::Priority(Priority::parse(head, payload)?),
        kind::RST_STREAM => Frame::Reset(Reset::parse(head, payload)?),
        kind::SETTINGS => Frame::Settings(Settings::parse(head, payload)?),
        kind::PUSH_PROMISE => Frame::PushPromise(PushPromise::parse(head, payload)?),
        kind::PING => Frame::Ping(Ping::parse(head, payload)?),
        kind::GOAWAY => Frame::GoAway(GoAway::parse(payload)?),
        kind::WINDOW_UPDATE => Frame::WindowUpdate(WindowUpdate::parse(head, payload)?),
        kind::CONTINUATION => Frame::Continuation(Continuation::parse(head, payload)),
        _ => Frame::Unknown(Unknown { head, payload }),
    })
}

/// Takes the pad length off the front; `None` without the PADDED flag.
#[inline]
pub(crate) fn pad_len(head: Head, payload: &[u8]) -> Result<(Option<u8>, &[u8]), Error> {
    if !head.has(flag::PADDED) {
        return Ok((None, payload));
    }
    let (&pad, rest) = payload.split_first().ok_or(Error::size("padded frame without a pad length"))?;
    Ok((Some(pad), rest))
}

/// Takes the padding off the end. What stays may be empty: padding may fill all the room that is left, not more (RFC 9113 §6.1, §6.2).
#[inline]
pub(crate) fn unpad(octets: &[u8], pad: Option<u8>) -> Result<&[u8], Error> {
    let len = octets.len().checked_sub(usize::from(pad.unwrap_or(0))).ok_or(PADDING)?;
    Ok(&octets[..len])
}

pub(crate) const PADDING: Error = Error::protocol("more padding than the frame has room for");

// A frame's length (24 bits) is used as a `usize` all over the crate.
const _: () = assert!(usize::BITS >= 32);
