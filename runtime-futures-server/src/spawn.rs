//! The spawning executor: every handler is a task of its own, so a slow one holds up nobody.

use crate::{
    Context, Executor, Service, Shared,
    app::{Arrival, Execute, Progress},
};
use pintle_core::{Code, Connection, Payload, Status, codec::Codec};
use pintle_futures::{
    Runtime, Sender, Streaming,
    owner::{self, CallCell},
};
use std::{
    fmt,
    future::{Future, poll_fn},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{self, Poll, ready},
};

/// Handlers run as tasks of their own; their futures are `Send`. The default.
#[derive(Debug)]
pub struct Spawn<R>(PhantomData<fn(R)>);

impl<R: Runtime> Executor for Spawn<R> {
    type Service = dyn Service<R>;
}

pub(super) struct Spawner<R: Runtime> {
    pub(super) runtime: R,
    pub(super) shared: Arc<Shared<Spawn<R>>>,
}

impl<R: Runtime> Execute for Spawner<R> {
    fn path(&self, route: usize) -> &'static str {
        self.shared.targets[route].2
    }

    fn start(&mut self, route: usize, arrival: Arrival<'_>) -> Progress {
        let (service, method, _) = self.shared.targets[route];
        self.shared.services[service].dispatch(method, SpawnCall { arrival, runtime: &self.runtime });
        Progress::Running
    }

    fn wake(&mut self, _conn: &mut Connection, _slot: u32) -> Progress {
        Progress::Running
    }

    fn stop(&mut self, _conn: &mut Connection, _slot: u32) -> Progress {
        // The handler's task was woken by its cell.
        Progress::Running
    }
}

/// A call that waits for its handler: generated code says which.
pub struct SpawnCall<'a, R> {
    arrival: Arrival<'a>,
    runtime: &'a R,
}

impl<R: Runtime> SpawnCall<'_, R> {
    /// One message in, one out.
    pub fn unary<Q, P, H, F>(mut self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Q::Item) -> F + Send + 'static,
        F: Future<Output = Result<P::Item, Status>> + Send,
    {
        let request = self.arrival.take_request();
        self.spawn(move |cx| Ok(handler(cx, owner::decode::<Q>(request?)?)), CallCell::encode_reply::<P>);
    }

    /// One message in, many out.
    pub fn server_streaming<Q, P, H, F>(mut self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Q::Item, Sender<P::Item>) -> F + Send + 'static,
        F: Future<Output = Result<(), Status>> + Send,
    {
        let request = self.arrival.take_request();
        let start = move |cx: Context| {
            let out = Sender::of::<P>(&cx.cell);
            Ok(handler(cx, owner::decode::<Q>(request?)?, out))
        };
        self.spawn(start, |_, ()| None);
    }

    /// Many messages in, one out.
    pub fn client_streaming<Q, P, H, F>(self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Streaming<Q::Item>) -> F + Send + 'static,
        F: Future<Output = Result<P::Item, Status>> + Send,
    {
        let start = move |cx: Context| {
            let input = Streaming::of::<Q>(&cx.cell);
            Ok(handler(cx, input))
        };
        self.spawn(start, CallCell::encode_reply::<P>);
    }

    /// Many messages each way.
    pub fn bidi<Q, P, H, F>(self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Streaming<Q::Item>, Sender<P::Item>) -> F + Send + 'static,
        F: Future<Output = Result<(), Status>> + Send,
    {
        let start = move |cx: Context| {
            let input = Streaming::of::<Q>(&cx.cell);
            let out = Sender::of::<P>(&cx.cell);
            Ok(handler(cx, input, out))
        };
        self.spawn(start, |_, ()| None);
    }

    /// Answers UNIMPLEMENTED.
    pub fn unimplemented(self) {
        let status = unimplemented(self.arrival.cell);
        self.arrival.cell.end_handler(Err(status));
    }

    /// Runs the handler that `start` makes in a task; it ends with OK and what `finish` makes of its result, or with a status.
    fn spawn<F, T>(self, start: impl FnOnce(Context) -> Result<F, Status> + Send + 'static, finish: fn(&CallCell, &T) -> Option<Payload>)
    where
        F: Future<Output = Result<T, Status>> + Send,
        T: 'static,
    {
        let cx = self.arrival.context();
        let cell = Arc::clone(self.arrival.cell);
        cell.handler_started();
        let mut task = HandlerTask { cell, ended: false };
        // One future for all of it: of each in another what moves in is kept twice, and a task's future is copied some six times.
        self.runtime.spawn(async move {
            let result = match guarded(|| start(cx)) {
                Ok(handler) => {
                    let mut handler = pin!(handler);
                    poll_fn(|cx| task.poll(handler.as_mut(), cx)).await
                }
                Err(status) => Err(status),
            };
            // The handler is dropped before the end is reported: a slot is free only when its work has ended.
            let result = result.and_then(|item| guarded(|| Ok(finish(&task.cell, &item))));
            task.end(result);
        });
    }
}

/// What surrounds a handler in its task: reports its end, whatever that is.
struct HandlerTask {
    cell: Arc<CallCell>,
    ended: bool,
}

impl HandlerTask {
    fn poll<F, T>(&mut self, handler: Pin<&mut F>, cx: &mut task::Context<'_>) -> Poll<Result<T, Status>>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let polled = catch_unwind(AssertUnwindSafe(|| handler.poll(cx)));
        match polled {
            Ok(Poll::Ready(result)) => Poll::Ready(result),
            Err(_) => Poll::Ready(Err(panicked())),
            Ok(Poll::Pending) => {
                let status = ready!(self.cell.poll_stop(cx));
                Poll::Ready(Err(status))
            }
        }
    }

    fn end(&mut self, result: Result<Option<Payload>, Status>) {
        self.ended = true;
        self.cell.end_handler(result);
    }
}

impl Drop for HandlerTask {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Err(Status::new(Code::Unavailable, "the server is shutting down")));
        }
    }
}

impl<R> fmt::Debug for SpawnCall<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnCall").field("method", &self.arrival.cell.request().method).finish_non_exhaustive()
    }
}

pub(super) fn unimplemented(cell: &CallCell) -> Status {
    Status::new(Code::Unimplemented, format!("{} has no handler", cell.request().method))
}

/// Runs a part of the application's; a panic in it is a status.
fn guarded<T>(part: impl FnOnce() -> Result<T, Status>) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|_| Err(panicked()))
}

/// statuscodes.md: a server whose application throws answers UNKNOWN. What the panic said is not the client's affair.
pub(super) fn panicked() -> Status {
    Status::new(Code::Unknown, "the handler panicked")
}
