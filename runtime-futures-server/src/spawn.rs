//! The spawning executor: every handler is a task of its own, so a slow one holds up nobody.

use crate::{
    Context, Executor, Service, Shared,
    app::{Arrival, Execute, Progress},
};
use pintle_core::{Code, Connection, Message, Payload, Recv, Status, codec::Codec};
use pintle_futures::{
    Runtime, Sender, Streaming,
    owner::{self, CallCell, Queue},
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
        let request = take_request(&mut self.arrival);
        self.spawn(move |cx| async move {
            let request = owner::decode::<Q>(request?)?;
            let reply = handler(cx, request).await?;
            Ok(Some(owner::encode::<P>(&reply)))
        });
    }

    /// One message in, many out.
    pub fn server_streaming<Q, P, H, F>(mut self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Q::Item, Sender<P::Item>) -> F + Send + 'static,
        F: Future<Output = Result<(), Status>> + Send,
    {
        let request = take_request(&mut self.arrival);
        self.spawn(move |cx| async move {
            let out = Sender::of::<P>(&cx.cell);
            let request = owner::decode::<Q>(request?)?;
            handler(cx, request, out).await?;
            Ok(None)
        });
    }

    /// Many messages in, one out.
    pub fn client_streaming<Q, P, H, F>(self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Streaming<Q::Item>) -> F + Send + 'static,
        F: Future<Output = Result<P::Item, Status>> + Send,
    {
        self.spawn(move |cx| async move {
            let input = Streaming::of::<Q>(&cx.cell);
            let reply = handler(cx, input).await?;
            Ok(Some(owner::encode::<P>(&reply)))
        });
    }

    /// Many messages each way.
    pub fn bidi<Q, P, H, F>(self, handler: H)
    where
        Q: Codec + 'static,
        P: Codec + 'static,
        H: FnOnce(Context, Streaming<Q::Item>, Sender<P::Item>) -> F + Send + 'static,
        F: Future<Output = Result<(), Status>> + Send,
    {
        self.spawn(move |cx| async move {
            let input = Streaming::of::<Q>(&cx.cell);
            let out = Sender::of::<P>(&cx.cell);
            handler(cx, input, out).await?;
            Ok(None)
        });
    }

    /// Answers UNIMPLEMENTED.
    pub fn unimplemented(self) {
        let status = unimplemented(&self.arrival.cx);
        self.arrival.cx.cell.end_handler(Err(status));
    }

    /// Runs the handler that `make` makes in a task; it ends with its last message and OK, or with a status.
    fn spawn<F>(self, make: impl FnOnce(Context) -> F + Send + 'static)
    where
        F: Future<Output = Result<Option<Payload>, Status>> + Send,
    {
        let cx = self.arrival.cx;
        let cell = Arc::clone(&cx.cell);
        let queue = cell.queue();
        queue.handler_started();
        let mut task = HandlerTask { cell, queue, first: true, ended: false };
        self.runtime.spawn(async move {
            // The handler is dropped before the end is reported: a slot is free only when its work has ended.
            let result = {
                let mut handler = pin!(make(cx));
                poll_fn(|cx| task.poll(handler.as_mut(), cx)).await
            };
            task.end(result);
        });
    }
}

/// What surrounds a handler in its task: reports its end, whatever that is.
struct HandlerTask {
    cell: Arc<CallCell>,
    queue: Arc<Queue>,
    first: bool,
    ended: bool,
}

impl HandlerTask {
    fn poll<F>(&mut self, handler: Pin<&mut F>, cx: &mut task::Context<'_>) -> Poll<Result<Option<Payload>, Status>>
    where
        F: Future<Output = Result<Option<Payload>, Status>>,
    {
        let polled = catch_unwind(AssertUnwindSafe(|| handler.poll(cx)));
        match polled {
            Ok(Poll::Ready(result)) => Poll::Ready(result),
            Err(_) => Poll::Ready(Err(panicked())),
            Ok(Poll::Pending) => {
                self.rested();
                let status = ready!(self.cell.poll_stop(cx));
                Poll::Ready(Err(status))
            }
        }
    }

    /// The first poll is over: the connection need not wait for this handler any more.
    fn rested(&mut self) {
        if std::mem::take(&mut self.first) {
            self.queue.handler_rested();
        }
    }

    fn end(&mut self, result: Result<Option<Payload>, Status>) {
        self.ended = true;
        self.cell.end_handler(result);
        self.rested();
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
        f.debug_struct("SpawnCall").field("cx", &self.arrival.cx).finish_non_exhaustive()
    }
}

/// The one request of a call: the connection reports such a call when its message is complete.
pub(super) fn take_request(arrival: &mut Arrival<'_>) -> Result<Message, Status> {
    let Ok(mut call) = arrival.conn.call(arrival.id) else { return Err(Status::new(Code::Cancelled, "the call is over")) };
    match call.recv() {
        Recv::Message(message) => Ok(message),
        Recv::Pending | Recv::End => Err(Status::internal("the request has no message")),
    }
}

pub(super) fn unimplemented(cx: &Context) -> Status {
    Status::new(Code::Unimplemented, format!("{} has no handler", cx.method))
}

/// statuscodes.md: a server whose application throws answers UNKNOWN. What the panic said is not the client's affair.
pub(super) fn panicked() -> Status {
    Status::new(Code::Unknown, "the handler panicked")
}
