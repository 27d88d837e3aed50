//! The inline executor: handlers are polled in the task of their connection. Nothing crosses a thread and a handler
//! that is ready at once allocates nothing; one that computes for long holds up its connection.

use crate::{
    Context, Executor, LocalService, Shared,
    app::{Arrival, Execute, Progress},
    spawn::{panicked, take_request, unimplemented},
};
use pintle_core::{
    CallId, Code, Connection, SendError, Status,
    codec::{self, Codec},
};
use pintle_futures::{
    Sender, Streaming,
    owner::{self, CallCell, Command, Queue},
};
use std::{
    any::{Any, TypeId},
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
    pools: Pools,
    /// By the core's slot.
    slots: Vec<Slot>,
}

struct Slot {
    flag: Arc<HandlerWaker>,
    waker: Waker,
    running: Option<Running>,
}

struct Running {
    pool: usize,
    index: usize,
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
        let pools = Pools { kinds: Vec::new(), by_route: vec![0; shared.targets.len()] };
        Self { shared, queue, pools, slots: Vec::new() }
    }

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

    fn start(&mut self, route: usize, arrival: Arrival<'_>) -> Progress {
        let slot = arrival.id.slot();
        self.grow(slot);
        let (service, method, _) = self.shared.targets[route];
        let mut progress = Progress::Running;
        let call = InlineCall { arrival, route, pools: &mut self.pools, slot: &mut self.slots[slot], progress: &mut progress };
        self.shared.services[service].dispatch(method, call);
        progress
    }

    fn wake(&mut self, conn: &mut Connection, slot: u32) -> Progress {
        let Some(slot) = self.slots.get_mut(slot as usize) else { return Progress::Running };
        // Before the poll: what wakes the handler from now on counts.
        slot.flag.queued.store(false, Ordering::Release);
        let Some(running) = &slot.running else { return Progress::Running };
        let place = Place { conn, id: running.id, cell: &running.cell };
        let polled = self.pools.kinds[running.pool].1.resume(running.index, &mut task::Context::from_waker(&slot.waker), place);
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
            self.pools.kinds[running.pool].1.cancel(running.index);
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
        match take_request(&mut self.arrival).and_then(owner::decode::<Q>) {
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
        match take_request(&mut self.arrival).and_then(owner::decode::<Q>) {
            Ok(request) => {
                let out = Sender::of::<P>(&self.arrival.cx.cell);
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
        let input = Streaming::of::<Q>(&self.arrival.cx.cell);
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
        let input = Streaming::of::<Q>(&self.arrival.cx.cell);
        let out = Sender::of::<P>(&self.arrival.cx.cell);
        self.run(|cx| handler(cx, input, out), ended);
    }

    /// Answers UNIMPLEMENTED.
    pub fn unimplemented(self) {
        let status = unimplemented(&self.arrival.cx);
        self.refuse(status);
    }

    fn refuse(self, status: Status) {
        self.arrival.cx.cell.end_handler(Err(status));
    }

    fn run<F, T>(self, make: impl FnOnce(Context) -> F, reply: Reply<T>)
    where
        F: Future<Output = Result<T, Status>> + 'static,
        T: 'static,
    {
        let Arrival { conn, id, cx } = self.arrival;
        let cell = Arc::clone(&cx.cell);
        let kind = self.pools.kind::<F, T>(self.route, reply);
        let mut woken = task::Context::from_waker(&self.slot.waker);
        let Some(pool) = self.pools.pool::<F, T>(kind) else { return };
        match pool.start(make(cx), &mut woken, Place { conn, id, cell: &cell }) {
            Ok(progress) => *self.progress = progress,
            Err(index) => self.slot.running = Some(Running { pool: kind, index, id, cell }),
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
fn reply<P: Codec>(place: Place<'_>, item: P::Item) -> Progress {
    if place.cell.is_plain()
        && let Ok(mut call) = place.conn.call(place.id)
    {
        match codec::send::<P>(&mut call, &item) {
            Ok(()) | Err(SendError::Ended(())) => {
                call.finish(&Status::ok(), None);
                return Progress::Done;
            }
            // By the cell then, as other executors do.
            Err(_) => {}
        }
    }
    place.cell.end_handler(Ok(Some(owner::encode::<P>(&item))));
    Progress::Running
}

/// The handler of a streaming method returned.
fn ended(place: Place<'_>, (): ()) -> Progress {
    place.cell.end_handler(Ok(None));
    Progress::Running
}

/// Handlers by the type of their future, so that their boxes are used again.
struct Pools {
    kinds: Vec<(TypeId, Box<dyn Handlers>)>,
    /// By route: where its kind is, probably.
    by_route: Vec<usize>,
}

impl Pools {
    fn kind<F, T>(&mut self, route: usize, reply: Reply<T>) -> usize
    where
        F: Future<Output = Result<T, Status>> + 'static,
        T: 'static,
    {
        let wanted = TypeId::of::<Pool<F, T>>();
        let likely = self.by_route[route];
        if self.kinds.get(likely).is_some_and(|(kind, _)| *kind == wanted) {
            return likely;
        }
        let found = self.kinds.iter().position(|(kind, _)| *kind == wanted);
        let index = found.unwrap_or_else(|| {
            self.kinds.push((wanted, Box::new(Pool::<F, T> { busy: Vec::new(), free: Vec::new(), spare: Vec::new(), reply })));
            self.kinds.len() - 1
        });
        self.by_route[route] = index;
        index
    }

    fn pool<F, T>(&mut self, kind: usize) -> Option<&mut Pool<F, T>>
    where
        F: Future<Output = Result<T, Status>> + 'static,
        T: 'static,
    {
        let pool: &mut dyn Any = &mut *self.kinds[kind].1;
        pool.downcast_mut()
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
    fn start(&mut self, future: F, cx: &mut task::Context<'_>, place: Place<'_>) -> Result<Progress, usize> {
        let mut handler = self.spare.pop().unwrap_or_else(|| Box::pin(None));
        handler.as_mut().set(Some(future));
        match poll(&mut handler, cx) {
            Poll::Ready(result) => {
                self.keep(handler);
                Ok(self.deliver(place, result))
            }
            Poll::Pending => {
                let index = self.free.pop().unwrap_or(self.busy.len());
                match self.busy.get_mut(index) {
                    Some(free) => *free = Some(handler),
                    None => self.busy.push(Some(handler)),
                }
                Err(index)
            }
        }
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
fn poll<F: Future<Output = Result<T, Status>>, T>(
    handler: &mut Pin<Box<Option<F>>>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<T, Status>> {
    let polled = catch_unwind(AssertUnwindSafe(|| match handler.as_mut().as_pin_mut() {
        Some(future) => future.poll(cx),
        None => Poll::Ready(Err(panicked())),
    }));
    let result = match polled {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(result)) => result,
        Err(_) => Err(panicked()),
    };
    clear(handler);
    Poll::Ready(result)
}

/// Drops a handler; its destructors may panic, which ends nothing else.
fn clear<F>(handler: &mut Pin<Box<Option<F>>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| handler.as_mut().set(None)));
}

impl fmt::Debug for InlineCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineCall").field("cx", &self.arrival.cx).finish_non_exhaustive()
    }
}
