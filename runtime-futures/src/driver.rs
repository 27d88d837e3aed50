//! The task that owns a connection: octets, time and commands in, octets out. It decides nothing about HTTP/2 or gRPC.

use crate::{
    queue::{Command, Queue},
    runtime::{Io, Runtime, Timer},
};
use pintle_core::{Connection, Endpoint, Event, Timestamp, Wants};
use std::{
    cell::RefCell,
    fmt,
    io::{ErrorKind, IoSlice},
    marker::PhantomData,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

/// Reads of all connections of a thread go here first: it holds nothing between two reads.
const SCRATCH: usize = 128 << 10;
/// Octets framed and lent per write.
const WRITE_BUDGET: usize = 256 << 10;
/// Slices per gathering write.
const SLICES: usize = 64;
/// Reads before what was read is dealt with.
const READS: u32 = 4;
/// Rounds of commands and events before what they caused is written.
const ROUNDS: u32 = 16;
/// Turns before other tasks get the thread.
const TURNS: u32 = 16;
/// Octets read before other tasks get the thread: small messages cost more time than their octets say.
const SHARE: usize = 512 << 10;
/// How long a server discards input after its last octet: closing a socket with unread input makes the kernel
/// reset it, and the peer may lose our last words.
const LINGER: Duration = Duration::from_secs(1);

/// Times in a row that a connection sleeps without a deadline before its timer is put away.
const TIMELESS: u8 = 16;

/// How long the peer's last words are awaited once writing has failed: a reactor may hear of them later than the write does.
const LAST_WORDS: Duration = Duration::from_millis(100);

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// What the driver serves: the server's dispatcher or the client's calls.
pub trait App {
    /// A command other than `Drain`.
    fn command(&mut self, now: Timestamp, conn: &mut Connection, command: Command);
    /// An event of the connection.
    fn event(&mut self, now: Timestamp, conn: &mut Connection, event: Event);
    /// The connection is gone: end everything.
    fn lost(&mut self, conn: &mut Connection);
    /// Whether to read on for a while after the last octet was written, so that the peer gets to read it.
    const LINGERS: bool;
}

/// See the module's head. Poll it until it is ready.
pub struct Driver<R: Runtime, E, S, A> {
    io: S,
    endpoint: E,
    pub(crate) app: A,
    queue: Arc<Queue>,
    batch: Vec<Command>,
    timer: R::Timer,
    /// What `timer` waits for; never later than the endpoint's deadline.
    armed: Option<Timestamp>,
    /// Times in a row that it slept with a timer that nobody needs.
    timeless: u8,
    owner: Option<Waker>,
    /// Has waited a turn for runnable handlers since the last flush.
    waited: bool,
    /// Octets read since other tasks had the thread.
    taken: usize,
    /// What the endpoint wants: asked for once after each thing that may change it.
    wants: Wants,
    input: Half,
    output: Half,
    /// The stream wakes the task when it can be read.
    reading: bool,
    /// When to give up on reading: writing has failed.
    deaf_at: Option<Timestamp>,
    /// When to end whatever the state: the deadline of a drain.
    stop_at: Option<Timestamp>,
    phase: Phase,
    runtime: PhantomData<R>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Open,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Closing,
    Lingering { until: Timestamp },
    Gone,
}

impl<R: Runtime, E, S, A> Unpin for Driver<R, E, S, A> {}

impl<R: Runtime, E: Endpoint, S: Io, A: App> Driver<R, E, S, A> {
    /// The owner of `endpoint`, which `queue` reaches.
    #[must_use]
    pub fn new(runtime: &R, io: S, endpoint: E, app: A, queue: Arc<Queue>) -> Self {
        Self {
            io,
            app,
            queue,
            batch: Vec::new(),
            timer: runtime.timer(),
            armed: None,
            timeless: 0,
            owner: None,
            waited: false,
            taken: 0,
            wants: endpoint.wants(),
            endpoint,
            input: Half::Open,
            output: Half::Open,
            reading: false,
            deaf_at: None,
            stop_at: None,
            phase: Phase::Running,
            runtime: PhantomData,
        }
    }

    /// Ready when the connection is over and the stream closed. Poll it in one task until then.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.register(cx);
        self.taken = 0;
        for _ in 0..TURNS {
            if self.taken >= SHARE {
                break;
            }
            let progress = match self.phase {
                Phase::Running => self.turn(cx),
                Phase::Closing | Phase::Lingering { .. } => self.close(cx),
                Phase::Gone => return Poll::Ready(()),
            };
            if progress.is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn register(&mut self, cx: &Context<'_>) {
        if self.owner.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            return;
        }
        self.owner = Some(cx.waker().clone());
        self.queue.register(cx.waker());
        // The timer knows the old waker.
        self.armed = None;
    }

    /// One turn. Pending: everything that can wake the task is armed.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = R::now();
        let mut again = self.read(now, cx);
        if self.wants.deadline.is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        again |= self.settle(now);
        self.wants = self.endpoint.wants();
        if self.wants.write {
            if !self.waited && self.queue.expects_handlers() {
                // Replies of handlers that are about to run go out in the same write.
                self.waited = true;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            again |= self.flush(now, cx);
        }
        self.waited = false;
        let broken = self.input == Half::Ended && self.output == Half::Ended;
        if broken || self.endpoint.conn().is_finished() || self.stop_at.is_some_and(|at| at <= now) {
            self.app.lost(self.endpoint.conn_mut());
            self.phase = Phase::Closing;
            return Poll::Ready(());
        }
        again |= self.wants.event || (self.wants.read && self.input == Half::Open && !self.reading);
        if again { Poll::Ready(()) } else { self.sleep(now, cx) }
    }

    /// Commands and events until neither is left, for each may cause the other. True: a handler that wakes itself all
    /// the time keeps it from ending; reads and writes shall not wait for that.
    fn settle(&mut self, now: Timestamp) -> bool {
        for _ in 0..ROUNDS {
            let mut quiet = true;
            if self.queue.take(&mut self.batch) {
                quiet = false;
                let mut batch = std::mem::take(&mut self.batch);
                for command in batch.drain(..) {
                    self.command(now, command);
                }
                self.batch = batch;
            }
            let conn = self.endpoint.conn_mut();
            while let Some(event) = conn.poll_event() {
                quiet = false;
                self.app.event(now, conn, event);
            }
            if quiet {
                return false;
            }
        }
        true
    }

    fn command(&mut self, now: Timestamp, command: Command) {
        let conn = self.endpoint.conn_mut();
        match command {
            Command::Drain(grace) => {
                conn.drain(now, grace);
                self.stop_at = grace.map(|grace| now.saturating_add(grace));
            }
            command => self.app.command(now, conn, command),
        }
    }

    /// Reads until the stream has no more, but leaves after some. True: there may be more.
    fn read(&mut self, now: Timestamp, cx: &mut Context<'_>) -> bool {
        self.reading = false;
        let mut emptied = false;
        for _ in 0..READS {
            // Once writing has failed, what the peer said before is read to its end even so (its answers may be there).
            if self.input == Half::Ended || !(self.wants.read || self.output == Half::Ended) {
                return false;
            }
            let (got, room) = self.read_once(now, cx, emptied);
            match got {
                Poll::Ready(Ok(n)) if n > 0 => {
                    emptied = n < room;
                    self.taken += n;
                    self.wants = self.endpoint.wants();
                    continue;
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Poll::Pending if self.output == Half::Open || self.deaf_at.is_some_and(|at| now < at) => {
                    self.reading = true;
                    return false;
                }
                // A peer that neither reads nor writes any more leaves the stream without an end: this is it.
                Poll::Ready(_) | Poll::Pending => {}
            }
            self.input = Half::Ended;
            self.endpoint.recv_eof(now);
            self.wants = self.endpoint.wants();
        }
        true
    }

    /// Also says how much it would have read. `on`: the last read found less than that.
    fn read_once(&mut self, now: Timestamp, cx: &mut Context<'_>, on: bool) -> (Poll<std::io::Result<usize>>, usize) {
        let read = if on { S::poll_read_on } else { S::poll_read };
        if let Some(target) = self.endpoint.read_target().filter(|target| !target.is_empty()) {
            let room = target.len();
            let got = read(&mut self.io, cx, target);
            if let Poll::Ready(Ok(n)) = got {
                self.endpoint.filled(now, n);
            }
            return (got, room);
        }
        BUFFER.with_borrow_mut(|buffer| {
            let got = read(&mut self.io, cx, buffer);
            if let Poll::Ready(Ok(n)) = got
                && n > 0
            {
                self.endpoint.recv_slice(now, &buffer[..n]);
            }
            (got, SCRATCH)
        })
    }

    /// Writes until nothing is left or the stream takes no more. True: the stream broke, and a last read is due.
    fn flush(&mut self, now: Timestamp, cx: &mut Context<'_>) -> bool {
        while self.output == Half::Open && self.wants.write {
            let written = self.write_once(now, cx);
            // Also if nothing was taken: what is staged now has a deadline.
            self.wants = self.endpoint.wants();
            match written {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(_)) => {
                    self.output = Half::Ended;
                    self.deaf_at = Some(now.saturating_add(LAST_WORDS));
                    return true;
                }
                Poll::Pending => return false,
            }
        }
        false
    }

    fn write_once(&mut self, now: Timestamp, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let mut lent = self.endpoint.transmit(now, WRITE_BUDGET);
        if lent.is_empty() {
            // A layer that promised octets and has none: it will say when it has some.
            return Poll::Pending;
        }
        let written = match lent.single() {
            Some(run) => self.io.poll_write(cx, &[IoSlice::new(run)]),
            None => {
                let mut runs: [&[u8]; SLICES] = [&[]; SLICES];
                let n = lent.chunks(&mut runs);
                let slices: [IoSlice<'_>; SLICES] = std::array::from_fn(|i| IoSlice::new(runs[i]));
                self.io.poll_write(cx, &slices[..n])
            }
        };
        written.map(|written| match written? {
            0 => Err(ErrorKind::WriteZero.into()),
            n => {
                lent.advance(n);
                Ok(())
            }
        })
    }

    /// Arms the timer. Ready: it is due already.
    fn sleep(&mut self, now: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = [self.wants.deadline, self.stop_at, self.deaf_at].into_iter().flatten().min() else {
            if self.armed.is_some() {
                self.put_timer_away(cx);
            }
            return Poll::Pending;
        };
        self.timeless = 0;
        self.wait_until(now, at, cx)
    }

    /// A timer that waits for nothing any more costs something each time that the thread sleeps. It is kept for a while: with deadlines that
    /// come and go, arming it for each would cost more.
    #[cold]
    fn put_timer_away(&mut self, cx: &mut Context<'_>) {
        self.timeless += 1;
        if self.timeless == TIMELESS {
            (self.timeless, self.armed) = (0, None);
            let _ = self.timer.poll_until(Timestamp::MAX, cx);
        }
    }

    /// A timer that is armed for an earlier instant is left alone: deadlines move with every call, and waking once
    /// too often costs less than arming for each.
    fn wait_until(&mut self, now: Timestamp, at: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        if self.armed.is_some_and(|armed| now < armed && armed <= at) {
            return Poll::Pending;
        }
        self.armed = Some(at);
        let due = self.timer.poll_until(at, cx);
        if due.is_ready() {
            self.armed = None;
        }
        due
    }

    /// Ends the output, then discards input for a while where that is due.
    fn close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = R::now();
        if self.phase == Phase::Closing {
            // A stream that cannot even be closed at once is dropped: dropping closes it too.
            let closed = self.io.poll_close(cx);
            let linger = A::LINGERS && self.input == Half::Open && matches!(closed, Poll::Ready(Ok(())));
            self.phase = if linger { Phase::Lingering { until: now.saturating_add(LINGER) } } else { Phase::Gone };
            return Poll::Ready(());
        }
        let Phase::Lingering { until } = self.phase else { return Poll::Ready(()) };
        let read = BUFFER.with_borrow_mut(|buffer| self.io.poll_read(cx, buffer));
        match read {
            Poll::Ready(Ok(n)) if n > 0 && now < until => return Poll::Ready(()),
            Poll::Pending if now < until => return self.wait_until(now, until, cx),
            Poll::Ready(_) | Poll::Pending => {}
        }
        self.phase = Phase::Gone;
        Poll::Ready(())
    }
}

impl<R: Runtime, E, S, A> fmt::Debug for Driver<R, E, S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("phase", &self.phase)
            .field("input", &self.input)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
