//! The inline executor: handlers are polled in the task of their connection. Nothing crosses a thread and a handler
//! that is ready at once allocates nothing; one that computes for long holds up its connection.

use crate::{
    Context, Executor, LocalService, Shared,
    app::{Arrival, Execute, Progress},
    spawn::{panicked, unimplemented},
};
use pintle_core::{
    CallId, Code, Connection, Status,
    codec::{self, Codec},
};
use pintle_futures::{
    Sender, Streaming,
    owner::{self, CallCell, Command, Queue},
};
use std::{
    any::Any,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{self, Poll, Wake, Waker},
};

/// Boxes kept per kind of handler for later calls of a connection.
const SPARE_BOXES: usize = 16;

/// Handlers run in the task of their connection and need not be `Send`. Serve it on a `LocalSet` or on single-threaded
/// loops, one per core.
#[derive(Debug)]
pub struct Inline;

impl Executor for Inline {
    type Service = dyn LocalService;
}

pub(super) struct Inliner {
    shared: Arc<Shared<Inline>>,
    queue: Arc<Queue>,
    /// By route: one kind of handler each, unless a service's `dispatch` is of an unusual kind itself.
    pools: Vec<Pools>,
    /// By the core's slot.
    slots: Vec<Slot>,
}

struct Slot {
    flag: Arc<HandlerWaker>,
    waker: Waker,
    running: Option<Running>,
}

struct Running {
    /// Its route, its kind among that route's, and its place there.
    place: (usize, usize, usize),
    id: CallId,
    cell: Arc<CallCell>,
}

/// Wakes one handler by way of the owner's queue, where it is at most once.
struct HandlerWaker {
    queue: Arc<Queue>,
    slot: u32,
    queued: AtomicBool,
}

impl Wake for HandlerWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.queue.push(Command::Wake(self.slot));
        }
    }
}

impl Inliner {
    pub(super) fn new(shared: Arc<Shared<Inline>>, queue: Arc<Queue>) -> Self {
        let pools = shared.targets.iter().map(|_| Pools::default()).collect();
        Self { shared, queue, pools, slots: Vec::new() }
    }

    #[cold]
    fn grow(&mut self, slot: usize) {
        while self.slots.len() <= slot {
            let slot = self.slots.len() as u32;
            let flag = Arc::new(HandlerWaker { queue: Arc::clone(&self.queue), slot, queued: AtomicBool::new(false) });
            let waker = Waker::from(Arc::clone(&flag));
            self.slots.push(Slot { flag, waker, running: None });
        }
    }
}

impl Execute for Inliner {
    fn path(&self, route: usize) -> &'static str {
        self.shared.targets[route].2
    }

    #[inline]
    fn start(&mut self, route: usize, arrival: Arrival<'_>) -> Progress {
        let slot = arrival.id.slot();
        if slot >= self.slots.len() {
            self.grow(slot);
        }
        let (service, method, _) = self.shared.targets[route];
        let mut progress = Progress::Running;
        let (pools, slot) = (&mut self.pools[route], &mut self.slots[slot]);
        let call = InlineCall { arrival, route, pools, slot, progress: &mut progress };
        self.shared.services[service].dispatch(method, call);
        progress
    }

    fn wake(&mut self, conn: &mut Connection, slot: u32) -> Progress {
        let Some(slot) = self.slots.get_mut(slot as usize) else { return Progress::Running };
        // Before the poll: what wakes the handler from now on counts.
        slot.flag.queued.store(false, Ordering::Release);
        let Some(running) = &slot.running else { return Progress::Running };
        let place = Place { conn, id: running.id, cell: &running.cell };
        let (route, kind, index) = running.place;
        let polled = self.pools[route].0[kind].resume(index, &mut task::Context::from_waker(&slot.waker), place);
        match polled {
            Poll::Ready(progress) => {
                slot.running = None;
                progress
            }
            Poll::Pending => Progress::Running,
        }
    }

    fn stop(&mut self, conn: &mut Connection, slot: u32) -> Progress {
        // What it waits for says now that the call is over, as it does for a handler that has a task.
        let progress = self.wake(conn, slot);
        if let Some(running) = self.slots.get_mut(slot as usize).and_then(|slot| slot.running.take()) {
            let (route, kind, index) = running.place;
            self.pools[route].0[kind].cancel(index);
            let status = running.cell.over().unwrap_or_else(|| Status::new(Code::Cancelled, "the call is over"));
            running.cell.end_handler(Err(status));
        }
        progress
    }
}

/// A call that waits for its handler: generated code says which.
pub struct InlineCall<'a> {
    arrival: Arrival<'a>,
    route: usize,
    pools: &'a mut Pools,
    slot: &'a mut Slot,
    progress: &'a mut Progress,
}

impl InlineCall<'_> {
    /// One message in, one out.
    pub fn unary<Q, P, H, F>(mut self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Q::Item) -> F,
        F: Future<Output = Result<P::Item, Status>> + 'static,
    {
        match self.arrival.take_request().and_then(owner::decode::<Q>) {
            Ok(request) => self.run(|cx| handler(cx, request), reply::<P>),
            Err(status) => self.refuse(status),
        }
    }

    /// One message in, many out.
    pub fn server_streaming<Q, P, H, F>(mut self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Q::Item, Sender<P::Item>) -> F,
        F: Future<Output = Result<(), Status>> + 'static,
    {
        match self.arrival.take_request().and_then(owner::decode::<Q>) {
            Ok(request) => {
                let out = Sender::of::<P>(self.arrival.cell);
                self.run(|cx| handler(cx, request, out), ended);
            }
            Err(status) => self.refuse(status),
        }
    }

    /// Many messages in, one out.
    pub fn client_streaming<Q, P, H, F>(self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Streaming<Q::Item>) -> F,
        F: Future<Output = Result<P::Item, Status>> + 'static,
    {
        let input = Streaming::of::<Q>(self.arrival.cell);
        self.run(|cx| handler(cx, input), reply::<P>);
    }

    /// Many messages each way.
    pub fn bidi<Q, P, H, F>(self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Streaming<Q::Item>, Sender<P::Item>) -> F,
        F: Future<Output = Result<(), Status>> + 'static,
    {
        let input = Streaming::of::<Q>(self.arrival.cell);
        let out = Sender::of::<P>(self.arrival.cell);
        self.run(|cx| handler(cx, input, out), ended);
    }

    /// Answers UNIMPLEMENTED.
    pub fn unimplemented(self) {
        let status = unimplemented(self.arrival.cell);
        self.refuse(status);
    }

    fn refuse(self, status: Status) {
        self.arrival.cell.end_handler(Err(status));
    }

    // `always`, here and below: the handler's future is large, and each call that it passes through copies it.
    #[inline(always)]
    fn run<F, T>(self, make: impl FnOnce(Context) -> F, reply: Reply<T>)
    where
        F: Future<Output = Result<T, Status>> + 'static,
        T: 'static,
    {
        let cx = self.arrival.context();
        let Arrival { conn, id, cell, .. } = self.arrival;
        let (kind, pool) = self.pools.of::<F, T>(reply);
        let mut woken = task::Context::from_waker(&self.slot.waker);
        match pool.start(|| make(cx), &mut woken) {
            Ok(Ok(item)) => *self.progress = reply(Place { conn, id, cell }, item),
            Ok(Err(status)) => cell.end_handler(Err(status)),
            Err(index) => self.slot.running = Some(Running { place: (self.route, kind, index), id, cell: Arc::clone(cell) }),
        }
    }
}

/// Where a handler that is ready puts its result.
struct Place<'a> {
    conn: &'a mut Connection,
    id: CallId,
    cell: &'a CallCell,
}

type Reply<T> = fn(Place<'_>, T) -> Progress;

/// The handler returned its one message: it goes straight into the connection's buffer.
#[inline(always)]
fn reply<P: Codec>(place: Place<'_>, item: P::Item) -> Progress {
    if place.cell.answers_plainly()
        && let Ok(call) = place.conn.call(place.id)
    {
        codec::reply::<P>(call, &item);
        return Progress::Done;
    }
    place.cell.end_handler(Ok(Some(owner::encode::<P>(&item))));
    Progress::Running
}

/// The handler of a streaming method returned.
fn ended(place: Place<'_>, (): ()) -> Progress {
    place.cell.end_handler(Ok(None));
    Progress::Running
}

/// The handlers of one method, by the type of their future, so that their boxes are used again.
#[derive(Default)]
struct Pools(Vec<Box<dyn Handlers>>);

impl Pools {
    /// The pool of this type and where it is.
    #[inline(always)]
    fn of<F, T>(&mut self, reply: Reply<T>) -> (usize, &mut Pool<F, T>)
    where
        F: Future<Output = Result<T, Status>> + 'static,
        T: 'static,
    {
        let found = self.0.iter().position(|kind| (&**kind as &dyn Any).is::<Pool<F, T>>());
        let index = found.unwrap_or_else(|| {
            self.0.push(Box::new(Pool::<F, T> { busy: Vec::new(), free: Vec::new(), spare: Vec::new(), reply }));
            self.0.len() - 1
        });
        let kind: &mut dyn Any = &mut *self.0[index];
        (index, kind.downcast_mut().expect("found, or made, with this type"))
    }
}

trait Handlers: Any {
    fn resume(&mut self, index: usize, cx: &mut task::Context<'_>, place: Place<'_>) -> Poll<Progress>;
    fn cancel(&mut self, index: usize);
}

struct Pool<F, T> {
    busy: Vec<Option<Pin<Box<Option<F>>>>>,
    free: Vec<usize>,
    spare: Vec<Pin<Box<Option<F>>>>,
    reply: Reply<T>,
}

impl<F: Future<Output = Result<T, Status>> + 'static, T: 'static> Pool<F, T> {
    /// Polls a new handler once. `Err`: it is not ready and has this index.
    #[inline(always)]
    fn start(&mut self, make: impl FnOnce() -> F, cx: &mut task::Context<'_>) -> Result<Result<T, Status>, usize> {
        if self.spare.is_empty() {
            self.spare.push(Box::pin(None));
        }
        let handler = self.spare.last_mut().expect("one is there");
        handler.as_mut().set(Some(make()));
        if let Poll::Ready(result) = poll(handler, cx) {
            return Ok(result);
        }
        let handler = self.spare.pop();
        let index = self.free.pop().unwrap_or(self.busy.len());
        match self.busy.get_mut(index) {
            Some(free) => *free = handler,
            None => self.busy.push(handler),
        }
        Err(index)
    }

    fn deliver(&self, place: Place<'_>, result: Result<T, Status>) -> Progress {
        match result {
            Ok(item) => (self.reply)(place, item),
            Err(status) => {
                place.cell.end_handler(Err(status));
                Progress::Running
            }
        }
    }

    fn keep(&mut self, handler: Pin<Box<Option<F>>>) {
        if self.spare.len() < SPARE_BOXES {
            self.spare.push(handler);
        }
    }
}

impl<F: Future<Output = Result<T, Status>> + 'static, T: 'static> Handlers for Pool<F, T> {
    fn resume(&mut self, index: usize, cx: &mut task::Context<'_>, place: Place<'_>) -> Poll<Progress> {
        let Some(handler) = &mut self.busy[index] else { return Poll::Pending };
        let Poll::Ready(result) = poll(handler, cx) else { return Poll::Pending };
        if let Some(handler) = self.busy[index].take() {
            self.free.push(index);
            self.keep(handler);
        }
        Poll::Ready(self.deliver(place, result))
    }

    fn cancel(&mut self, index: usize) {
        if let Some(mut handler) = self.busy[index].take() {
            clear(&mut handler);
            self.free.push(index);
            self.keep(handler);
        }
    }
}

/// Polls a handler; one that is ready, or that panicked, is dropped. A panic ends the call, not the connection.
#[inline(always)]
fn poll<F: Future<Output = Result<T, Status>>, T>(
    handler: &mut Pin<Box<Option<F>>>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<T, Status>> {
    let mut polled = Poll::Pending;
    let whole = catch_unwind(AssertUnwindSafe(|| {
        polled = match handler.as_mut().as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Ready(Err(panicked())),
        };
        if polled.is_ready() {
            // Its destructors may panic, too: the result is there by then.
            handler.as_mut().set(None);
        }
    }));
    if whole.is_err() && polled.is_pending() {
        clear(handler);
        return Poll::Ready(Err(panicked()));
    }
    polled
}

/// Drops a handler; its destructors may panic, which ends nothing else.
fn clear<F>(handler: &mut Pin<Box<Option<F>>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| handler.as_mut().set(None)));
}

impl fmt::Debug for InlineCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineCall").field("method", &self.arrival.cell.request().method).finish_non_exhaustive()
    }
}
