use crate::parse::PADDING;
use crate::{Error, ErrorCode, Head, Scope, flag, kind};

/// Reads the frames of one direction of a connection from octets that were cut anywhere.
///
/// Fixed size, no alloc; each octet is looked at once. What comes out does not depend on the cuts, but for how payloads are split into
/// pieces. The client's [preface](crate::PREFACE) must have been taken off before.
///
/// Call [`next`](Self::next) until it gives `None`, then come back with the octets that follow. Small frames are handier whole: after an
/// [`Item::Head`] of any kind but DATA, try [`take_payload`](Self::take_payload) first.
///
/// ```
/// use h2_frame::{Frame, Item, Scanner, kind, parse_payload, ping, window_update};
///
/// let wire = [&window_update(0, 1000)[..], &ping(false, [7; 8])].concat();
/// let mut input = &wire[..];
/// let mut scanner = Scanner::new();
/// while let Some(item) = scanner.next(&mut input)? {
///     let Item::Head(head) = item else { unreachable!("both payloads were taken") };
///     // Had it been cut by the end of a read, this would be `None`, and the caller would keep the pieces until the last one.
///     let payload = scanner.take_payload(&mut input).expect("all of it is there");
///     match parse_payload(head, payload)? {
///         Frame::WindowUpdate(update) => assert_eq!(update.increment, 1000),
///         Frame::Ping(ping) => assert_eq!(ping.data, [7; 8]),
///         other => unreachable!("{other:?}"),
///     }
/// }
/// # Ok::<(), h2_frame::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    state: State,
    max_frame: u32,
    /// The stream whose field block is open: nothing but its CONTINUATION may follow. 0 when none is.
    block: u32,
    /// Octets of payload to hand out (`Pad`, `Fresh`, `Body`, `Padded`) or to drop (`Skip`).
    left: u32,
    /// The front of a head that was cut; `State::Cut` knows how much of it.
    cut: [u8; Head::LEN],
    /// The last error; before there was one it says nothing.
    error: Error,
}

/// What a [`Scanner`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A frame begins. The head was [checked](Head::check), and the order of HEADERS, PUSH_PROMISE and CONTINUATION too (RFC 9113 §6.10).
    Head(Head),
    /// The next octets of the payload. Of DATA only the data: its pad length and padding are taken off (and checked). Of
    /// every other kind all octets, to be put together for [`parse_payload`](crate::parse_payload).
    Piece {
        /// Not empty, unless `last`.
        octets: &'a [u8],
        /// Nothing more of this frame. Every frame, an empty one too, ends with exactly one such piece, unless
        /// [`Scanner::take_payload`] took the payload, or its padding was an error.
        last: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a head.
    Head,
    /// Inside a payload.
    Body,
    /// Not DATA: after the head, nothing of the payload was handed out yet.
    Fresh,
    /// Inside a head, after so many octets (1 to 8).
    Cut(u8),
    /// DATA: before the pad length.
    Pad,
    /// Inside the payload of DATA, with so many octets of padding to drop behind it.
    Padded(u8),
    /// Inside padding, or the payload of a frame that was an error.
    Skip,
    /// After an error that ends the connection.
    Failed,
}

/// What came of `Scanner::step`: an [`Item`] or [`Error`] in small. Were they themselves returned from there, through memory, the compiler
/// would build them in memory for the frames that never get there, too.
enum Step {
    /// The input is exhausted.
    Dry,
    Head(Head),
    /// A piece of so many octets, which are still at the front of the input.
    Piece {
        len: u32,
        last: bool,
    },
    /// See `Scanner::error`.
    Error,
}

impl Scanner {
    /// At the first frame, with a SETTINGS_MAX_FRAME_SIZE of 16,384.
    pub const fn new() -> Self {
        let error = Error { code: ErrorCode::NO_ERROR, scope: Scope::Connection, what: "" };
        Self { state: State::Head, max_frame: 16_384, block: 0, left: 0, cut: [0; Head::LEN], error }
    }

    /// Sets the longest payload to accept, from the next head on: the SETTINGS_MAX_FRAME_SIZE that this side announced. A smaller value
    /// counts only once the peer has acknowledged it (RFC 9113 §6.5.3).
    pub const fn set_max_frame(&mut self, max: u32) {
        self.max_frame = max;
    }

    /// Takes octets off the front of `input` up to the end of the next item. `None`: all were taken, and the item is not complete.
    ///
    /// # Errors
    ///
    /// The rule that was broken. After an error that ends the connection every call gives it again. After one that ends a
    /// stream (PRIORITY of a wrong length) the next call goes on behind the frame.
    #[inline]
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Item<'a>>, Error> {
        match self.state {
            State::Head => {
                if let Some((octets, rest)) = input.split_first_chunk()
                    && let head = Head::parse(octets)
                    && self.is_plain(head)
                {
                    *input = rest;
                    self.begin_plain(head);
                    return Ok(Some(Item::Head(head)));
                }
                if input.is_empty() {
                    return Ok(None);
                }
            }
            State::Body | State::Fresh => {
                if let Some((octets, rest)) = input.split_at_checked(self.left as usize) {
                    *input = rest;
                    self.state = State::Head;
                    return Ok(Some(Item::Piece { octets, last: true }));
                }
            }
            _ => {}
        }
        match self.step(input) {
            Step::Dry => Ok(None),
            Step::Head(head) => Ok(Some(Item::Head(head))),
            Step::Piece { len, last } => {
                let (octets, rest) = input.split_at(input.len().min(len as usize));
                *input = rest;
                Ok(Some(Item::Piece { octets, last }))
            }
            Step::Error => Err(self.error),
        }
    }

    /// Takes a whole frame off the front of `input`, if that is simple: DATA or HEADERS, all there, without padding and priority, with
    /// nothing wrong. `None` with nothing taken otherwise; [`next`](Self::next) then says more.
    ///
    /// Never needed, but cheaper than a head and a piece, and most frames of small calls are like that.
    ///
    /// ```
    /// use h2_frame::{Scanner, data_head, kind};
    ///
    /// let wire = [&data_head(2, 1, true)[..], b"hi"].concat();
    /// let mut input = &wire[..];
    /// let (head, payload) = Scanner::new().take_frame(&mut input).expect("a simple frame");
    /// assert_eq!((head.kind, payload), (kind::DATA, &b"hi"[..]));
    /// assert!(input.is_empty());
    /// ```
    #[inline]
    pub fn take_frame<'a>(&mut self, input: &mut &'a [u8]) -> Option<(Head, &'a [u8])> {
        if !matches!(self.state, State::Head) {
            return None;
        }
        let (octets, rest) = input.split_first_chunk()?;
        let head = Head::parse(octets);
        if !self.is_plain(head) {
            return None;
        }
        let (payload, rest) = rest.split_at_checked(head.len as usize)?;
        if head.kind == kind::HEADERS && !head.has(flag::END_HEADERS) {
            self.block = head.stream;
        }
        *input = rest;
        Some((head, payload))
    }

    /// Takes the whole payload off the front of `input`, directly after an [`Item::Head`] of a frame that is not DATA.
    ///
    /// `None`, with nothing taken: it is not all there, or this is not such a place. It will then come as [`Item::Piece`].
    #[inline]
    pub fn take_payload<'a>(&mut self, input: &mut &'a [u8]) -> Option<&'a [u8]> {
        if !matches!(self.state, State::Fresh) {
            return None;
        }
        let (payload, rest) = input.split_at_checked(self.left as usize)?;
        *input = rest;
        self.state = State::Head;
        Some(payload)
    }

    /// Whether the octets so far end inside a frame, its head and padding included: if the transport ends here, a frame was cut off.
    pub const fn mid_frame(&self) -> bool {
        !matches!(self.state, State::Head | State::Failed)
    }

    /// Most heads: DATA and HEADERS on a stream, neither padded nor with priority. There is nothing more to check for them.
    #[inline]
    const fn is_plain(&self, head: Head) -> bool {
        let plain = head.kind <= kind::HEADERS && head.flags & (flag::PADDED | flag::PRIORITY) == 0 && head.stream != 0;
        plain && head.len <= self.max_frame && self.block == 0
    }

    #[inline]
    const fn begin_plain(&mut self, head: Head) {
        self.left = head.len;
        if head.kind == kind::DATA {
            self.state = State::Body;
        } else {
            self.state = State::Fresh;
            self.block = if head.has(flag::END_HEADERS) { 0 } else { head.stream };
        }
    }

    /// One item by the long way, which knows all states.
    #[inline(never)]
    fn step(&mut self, input: &mut &[u8]) -> Step {
        loop {
            match self.state {
                State::Failed => return Step::Error,
                State::Body | State::Fresh => return self.piece(input.len()),
                State::Padded(pad) => return self.padded_piece(pad, input.len()),
                _ if input.is_empty() => return Step::Dry,
                State::Head => match input.split_first_chunk() {
                    Some((octets, rest)) => {
                        *input = rest;
                        return self.begin(Head::parse(octets));
                    }
                    None => self.state = State::Cut(0),
                },
                State::Cut(have) => match self.gather(usize::from(have), input) {
                    Some(head) => return self.begin(head),
                    None => return Step::Dry,
                },
                State::Pad => self.read_pad(input),
                State::Skip => {
                    let octets = (self.left as usize).min(input.len());
                    *input = &input[octets..];
                    self.skip(self.left - octets as u32);
                }
            }
        }
    }

    fn gather(&mut self, have: usize, input: &mut &[u8]) -> Option<Head> {
        let room = &mut self.cut[have..];
        let octets = room.len().min(input.len());
        room[..octets].copy_from_slice(&input[..octets]);
        *input = &input[octets..];
        let have = have + octets;
        self.state = State::Cut(have as u8);
        (have == Head::LEN).then(|| Head::parse(&self.cut))
    }

    fn begin(&mut self, head: Head) -> Step {
        if let Err(error) = self.check(head) {
            match error.scope {
                Scope::Connection => self.state = State::Failed,
                Scope::Stream(_) => self.skip(head.len),
            }
            self.error = error;
            return Step::Error;
        }
        self.left = head.len;
        self.state = match head.kind {
            kind::DATA if head.has(flag::PADDED) => State::Pad,
            kind::DATA => State::Body,
            _ => State::Fresh,
        };
        if matches!(head.kind, kind::HEADERS | kind::PUSH_PROMISE | kind::CONTINUATION) {
            self.block = if head.has(flag::END_HEADERS) { 0 } else { head.stream };
        }
        Step::Head(head)
    }

    /// A stream error comes last, so that it never hides an error of the connection (RFC 9113 §5.4).
    fn check(&self, head: Head) -> Result<(), Error> {
        head.check_max(self.max_frame)?;
        self.check_block(head)?;
        head.check_shape()
    }

    /// RFC 9113 §6.10: the frames of a field block follow each other, with nothing in between, not even an unknown frame (§5.5).
    fn check_block(&self, head: Head) -> Result<(), Error> {
        match (self.block, head.kind) {
            (0, kind::CONTINUATION) => Err(Error::protocol("CONTINUATION without an open field block")),
            (1.., kind::CONTINUATION) if head.stream != self.block => {
                Err(Error::protocol("CONTINUATION on another stream than its field block"))
            }
            (0, _) | (_, kind::CONTINUATION) => Ok(()),
            _ => Err(Error::protocol("frame inside a field block")),
        }
    }

    /// The input is not empty, nor is the payload (`Head::check`).
    fn read_pad(&mut self, input: &mut &[u8]) {
        let Some((&pad, rest)) = input.split_first() else { return };
        *input = rest;
        match self.left.checked_sub(1 + u32::from(pad)) {
            Some(data) => (self.left, self.state) = (data, State::Padded(pad)),
            None => (self.error, self.state) = (PADDING, State::Failed),
        }
    }

    fn piece(&mut self, at_hand: usize) -> Step {
        let last = self.left as usize <= at_hand;
        let len = if last { self.left } else { at_hand as u32 };
        if len == 0 && !last {
            return Step::Dry;
        }
        self.left -= len;
        self.state = if last { State::Head } else { State::Body };
        Step::Piece { len, last }
    }

    fn padded_piece(&mut self, pad: u8, at_hand: usize) -> Step {
        let piece = self.piece(at_hand);
        match piece {
            Step::Piece { last: true, .. } => self.skip(u32::from(pad)),
            _ => self.state = State::Padded(pad),
        }
        piece
    }

    const fn skip(&mut self, octets: u32) {
        self.left = octets;
        self.state = if octets == 0 { State::Head } else { State::Skip };
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}
