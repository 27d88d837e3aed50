//! The receiver for the commonest conversation: each request message is answered as it comes.

use super::{Receiver, Replies};
use pintle_core::{SendError, Status, codec::Codec};
use std::{collections::VecDeque, mem};

impl<T: 'static, C: Codec<Item = T> + 'static> Replies<T, C> {
    /// Answers each message of the client as it comes, for calls with many messages each way: `answer` pushes any number of replies
    /// to a message, in order. While the client does not read its replies, no more of its messages are taken: it holds back
    /// itself, not memory.
    ///
    /// The call ends with OK after the client's last message, or with the status that `answer` returns as an error, when the
    /// replies before it are out. A conversation that goes otherwise is a [`Receiver`] of one's own.
    ///
    /// ```
    /// # use pintle_callback::{Receiver, Replies};
    /// # type Note = bytes::Bytes;
    /// # type Notes = Replies<Note, pintle_core::codec::Raw>;
    /// fn chat(out: Notes) -> Box<dyn Receiver<Note>> {
    ///     out.answer_each(|note, replies| {
    ///         replies.push(note);
    ///         Ok(())
    ///     })
    /// }
    /// ```
    pub fn answer_each<Q: 'static>(self, answer: impl FnMut(Q, &mut Vec<T>) -> Result<(), Status> + 'static) -> Box<dyn Receiver<Q>> {
        Box::new(Answering { out: self, answer, fresh: Vec::new(), waiting: VecDeque::new(), last: None, paused: false })
    }
}

struct Answering<T, C: Codec<Item = T>, F> {
    out: Replies<T, C>,
    answer: F,
    /// What `answer` has just pushed; kept for its capacity.
    fresh: Vec<T>,
    waiting: VecDeque<T>,
    /// How the call ends once nothing waits.
    last: Option<Status>,
    paused: bool,
}

impl<Q, T, C, F> Receiver<Q> for Answering<T, C, F>
where
    Q: 'static,
    T: 'static,
    C: Codec<Item = T> + 'static,
    F: FnMut(Q, &mut Vec<T>) -> Result<(), Status> + 'static,
{
    fn on_message(&mut self, message: Q) {
        self.last = (self.answer)(message, &mut self.fresh).err();
        self.waiting.extend(self.fresh.drain(..));
        self.send();
    }

    fn on_end(&mut self) {
        // The end is not told to who is paused, so nothing waits.
        self.last = Some(Status::ok());
        self.send();
    }

    fn on_ready(&mut self) {
        self.send();
    }
}

impl<T, C: Codec<Item = T>, F> Answering<T, C, F> {
    /// Sends what waits, as far as the client takes it.
    fn send(&mut self) {
        while let Some(reply) = self.waiting.pop_front() {
            match self.out.send(reply) {
                Ok(()) => {}
                Err(SendError::Blocked(reply)) => {
                    self.waiting.push_front(reply);
                    if !mem::replace(&mut self.paused, true) {
                        self.out.pause();
                    }
                    return;
                }
                Err(SendError::Refused(_, why)) => {
                    // A reply must not go missing in silence.
                    self.waiting.clear();
                    self.last = Some(Status::internal(why.0));
                }
                // Nobody listens any more.
                Err(_) => self.waiting.clear(),
            }
        }
        if let Some(status) = self.last.take() {
            self.out.finish(status);
        } else if mem::take(&mut self.paused) {
            self.out.resume();
        }
    }
}
