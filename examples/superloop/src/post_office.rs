//! The service: put yours in its place.
//!
//! Without threads and without `async`, a handler is a value that remembers how far its call is, and a function that goes on from there
//! until it would have to wait. `Poll` and `ready!` are those of `core`, but only as words: nobody is woken, the loop comes back
//! when the call can go on. So the code reads like the straight one.

use crate::{
    LONGEST_LETTER,
    tour::{Letter, Receipt, Subscription, TourMethod},
};
use alloc::format;
use bytes::Bytes;
use core::task::{Poll, ready};
use pintle_core::{
    Call, Recv, SendError, Status,
    codec::{self, Codec, Prost},
};
use prost::Message;

/// How far a call is.
#[derive(Debug)]
pub(crate) enum Handler {
    /// `Post` and `PostAll`: letters come, and one receipt for them goes back.
    Collect(Receipt),
    /// `Subscribe`: so many letters of the subscription were sent.
    Subscribe(Option<Subscription>, u32),
    /// `Correspond`: the answer that is to go out next.
    Correspond(Option<Letter>),
}

/// `Ready`: the call ends, with OK or another status. `Pending`: call again when the call is readable or writable.
pub(crate) type Progress = Poll<Result<(), Status>>;

impl Handler {
    pub(crate) fn new(method: TourMethod) -> Self {
        match method {
            TourMethod::Post | TourMethod::PostAll => Self::Collect(Receipt::default()),
            TourMethod::Subscribe => Self::Subscribe(None, 0),
            TourMethod::Correspond => Self::Correspond(None),
        }
    }

    /// Goes on as far as is possible now.
    pub(crate) fn go_on(&mut self, call: &mut Call<'_>) -> Progress {
        match self {
            Self::Collect(receipt) => collect(receipt, call),
            Self::Subscribe(wish, sent) => subscribe(wish, sent, call),
            Self::Correspond(answer) => correspond(answer, call),
        }
    }
}

fn collect(receipt: &mut Receipt, call: &mut Call<'_>) -> Progress {
    while let Some(letter) = ready!(next::<Letter>(call))? {
        if letter.to.is_empty() {
            return Poll::Ready(Err(Status::invalid_argument("a letter needs a name on it")));
        }
        receipt.letters += 1;
        receipt.octets += letter.content.len() as u64;
        receipt.last_to = letter.to;
    }
    send(call, receipt)
}

fn subscribe(wish: &mut Option<Subscription>, sent: &mut u32, call: &mut Call<'_>) -> Progress {
    let wish = match wish {
        Some(wish) => wish,
        None => wish.insert(ready!(next(call))?.unwrap_or_default()),
    };
    // From flash: these octets take no RAM.
    static DOTS: [u8; LONGEST_LETTER] = [b'.'; LONGEST_LETTER];
    let Some(content) = DOTS.get(..wish.octets as usize) else {
        return Poll::Ready(Err(Status::invalid_argument(format!("a letter holds at most {LONGEST_LETTER} octets"))));
    };
    while *sent < wish.letters {
        let letter = Letter { to: wish.to.clone(), content: Bytes::from_static(content), number: *sent };
        ready!(send(call, &letter))?;
        *sent += 1;
    }
    Poll::Ready(Ok(()))
}

fn correspond(answer: &mut Option<Letter>, call: &mut Call<'_>) -> Progress {
    loop {
        if let Some(letter) = answer {
            // While an answer finds no room, no letter is taken; then the client's window closes, and it waits, too.
            ready!(send(call, letter))?;
            *answer = None;
        }
        match ready!(next::<Letter>(call))? {
            Some(letter) => *answer = Some(Letter { to: format!("re: {}", letter.to), ..letter }),
            None => return Poll::Ready(Ok(())),
        }
    }
}

/// The client's next message, or `None` at their end.
fn next<T: Message + Default>(call: &mut Call<'_>) -> Poll<Result<Option<T>, Status>> {
    match call.recv() {
        Recv::Message(message) => Poll::Ready(Prost::<T>::decode(message.payload).map(Some)),
        Recv::End => Poll::Ready(Ok(None)),
        Recv::Pending => Poll::Pending,
    }
}

/// Sends a message, or waits for room.
fn send<T: Message + Default>(call: &mut Call<'_>, message: &T) -> Progress {
    match codec::send::<Prost<T>>(call, message) {
        Ok(()) => Poll::Ready(Ok(())),
        Err(SendError::Blocked(())) => Poll::Pending,
        Err(error) => Poll::Ready(Err(Status::resource_exhausted(format!("cannot send: {error}")))),
    }
}
