//! The task of a client's connection: connects when a call needs it, then owns the connection until it ends.

use super::{ChannelOptions, Connecting, Shared, lost};
use crate::{
    cell::{CallCell, Served, local},
    driver::{App, Driver},
    queue::{Command, Queue, Starting, abandoned},
    runtime::{Io, Runtime, Timer},
};
use pintle_core::{
    CallId, CallOptions, CloseReason, Code, Connection, Endpoint, Event, Metadata, RequestHead, StartError, Status, Timestamp,
};
use std::{
    future::poll_fn,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

/// What every connection of a channel needs.
pub(super) struct Site<R, C> {
    pub(super) runtime: R,
    pub(super) options: ChannelOptions,
    pub(super) connector: C,
}

/// Serves `queue` over `io`.
pub(super) fn spawn_now<R: Runtime, S: Io + Send, C>(site: &Arc<Site<R, C>>, channel: Weak<Shared>, queue: Arc<Queue>, io: S)
where
    C: Fn() -> Connecting<S> + Send + Sync + 'static,
{
    let connection = Connection::client(&site.options.config, R::now());
    match &site.options.layer {
        None => spawn_once(&site.runtime, channel, queue, io, connection),
        Some(layer) => spawn_once(&site.runtime, channel, queue, io, layer.wrap(connection)),
    }
}

/// Serves `queue` over the stream that the connector makes when the first call comes.
pub(super) fn spawn_later<R: Runtime, S: Io + Send, C>(site: &Arc<Site<R, C>>, channel: Weak<Shared>, queue: Arc<Queue>)
where
    C: Fn() -> Connecting<S> + Send + Sync + 'static,
{
    let site = Arc::clone(site);
    let fate = Fate(queue);
    site.runtime.clone().spawn(async move {
        let mut waiting = Waiting { calls: Vec::new(), batch: Vec::new(), leaving: false };
        if let Some(io) = waiting.connect(&site, &fate.0).await {
            let connection = Connection::client(&site.options.config, R::now());
            match &site.options.layer {
                None => run(&site.runtime, channel, &fate, io, connection, waiting.calls).await,
                Some(layer) => run(&site.runtime, channel, &fate, io, layer.wrap(connection), waiting.calls).await,
            }
        }
    });
}

/// Serves `queue` over `io` by an endpoint of the user's.
pub(super) fn spawn_once<R: Runtime, S: Io + Send, E: Endpoint + Send + 'static>(
    runtime: &R,
    channel: Weak<Shared>,
    queue: Arc<Queue>,
    io: S,
    endpoint: E,
) {
    let task_runtime = runtime.clone();
    let fate = Fate(queue);
    runtime.spawn(async move { run(&task_runtime, channel, &fate, io, endpoint, Vec::new()).await });
}

/// Held by a connection's task, from before its first poll on. A task that is dropped or panics leaves a queue that nobody
/// serves: calls must not wait in it, for their deadlines are gone with the connection.
struct Fate(Arc<Queue>);

impl Drop for Fate {
    fn drop(&mut self) {
        // The calls in there end as they are dropped.
        drop(self.0.die(abandoned()));
    }
}

async fn run<R: Runtime, S: Io, E: Endpoint>(
    runtime: &R,
    channel: Weak<Shared>,
    Fate(queue): &Fate,
    io: S,
    endpoint: E,
    first: Vec<Starting>,
) {
    let app = ClientApp { channel, queue: Arc::clone(queue), entries: Vec::new(), successor: None };
    let mut driver = Driver::new(runtime, io, endpoint, app, Arc::clone(queue));
    first.into_iter().for_each(|call| queue.push(Command::Start(call)));
    poll_fn(|cx| driver.poll(cx)).await;
    let status = lost("the connection is closed");
    for command in queue.die(status.clone()) {
        if let Command::Start(call) = command {
            driver.app.forward(call.take(), &status);
        }
    }
}

/// Calls that wait for a connection.
struct Waiting {
    calls: Vec<Starting>,
    batch: Vec<Command>,
    /// Nobody will start more calls.
    leaving: bool,
}

impl Waiting {
    /// Connects as soon as there is a call. A failure ends the calls that wait; the next call tries again.
    /// `None`: nobody needs the connection any more.
    async fn connect<R: Runtime, S: Io, C: Fn() -> Connecting<S>>(&mut self, site: &Site<R, C>, queue: &Arc<Queue>) -> Option<S> {
        let mut timer = site.runtime.timer();
        loop {
            let needed = poll_fn(|cx| {
                self.collect(R::now(), queue, cx);
                if self.calls.is_empty() && !self.leaving { Poll::Pending } else { Poll::Ready(!self.calls.is_empty()) }
            });
            if !needed.await {
                return None;
            }
            let mut attempt = (site.connector)();
            let give_up = R::now().saturating_add(site.options.connect_timeout);
            let io = poll_fn(|cx| {
                let now = R::now();
                let next = self.collect(now, queue, cx);
                match attempt.as_mut().poll(cx) {
                    Poll::Ready(Ok(io)) => return Poll::Ready(Ok(io)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(format!("cannot connect: {error}"))),
                    Poll::Pending if now >= give_up => return Poll::Ready(Err("cannot connect: timed out".to_owned())),
                    Poll::Pending => {}
                }
                let at = next.map_or(give_up, |next| next.min(give_up));
                if timer.poll_until(at, cx).is_ready() {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            });
            match io.await {
                Ok(io) => return Some(io),
                Err(why) => self.calls.drain(..).for_each(|call| call.take().end(lost(&why), Metadata::new())),
            }
        }
    }

    /// Takes what came in and drops what nobody waits for any more; says when the next deadline passes.
    fn collect(&mut self, now: Timestamp, queue: &Queue, cx: &Context<'_>) -> Option<Timestamp> {
        queue.register(cx.waker());
        queue.take(&mut self.batch);
        for command in self.batch.drain(..) {
            match command {
                Command::Start(call) => self.calls.push(call),
                Command::Drain(_) => self.leaving = true,
                Command::Call(_) | Command::Wake(_) => {}
            }
        }
        let mut next = None;
        self.calls.retain(|call| {
            let cell = call.cell();
            let (wanted, deadline) = cell.waits();
            if deadline.is_some_and(|at| at <= now) {
                cell.end(local(Code::DeadlineExceeded, "the deadline passed while connecting"), Metadata::new());
                return false;
            }
            next = [next, deadline].into_iter().flatten().min();
            wanted
        });
        next
    }
}

/// The client's side of a connection: calls out, replies in.
struct ClientApp {
    channel: Weak<Shared>,
    queue: Arc<Queue>,
    /// By the core's slot.
    entries: Vec<Option<(CallId, Arc<CallCell>)>>,
    /// Takes the calls that this connection does not take any more.
    successor: Option<Arc<Queue>>,
}

impl ClientApp {
    fn start(&mut self, now: Timestamp, conn: &mut Connection, call: Starting) {
        let started = call.cell().start(|start| {
            let mut head = RequestHead::new(bytes::Bytes::from_static(start.path.as_bytes()), start.shape);
            if !start.metadata.is_empty() {
                head = head.with_metadata(&start.metadata);
            }
            conn.start(now, head, CallOptions::default().deadline(start.deadline)).map(|id| (id.slot() as u32, id))
        });
        let cell = call.take();
        match started {
            None => {}
            Some(Ok(id)) => {
                if self.entries.len() <= id.slot() {
                    self.entries.resize_with(id.slot() + 1, || None);
                }
                self.entries[id.slot()] = Some((id, cell));
                self.serve(conn, id.slot());
            }
            Some(Err(StartError::Draining | StartError::Closed)) => self.forward(cell, &lost(&why(conn))),
            Some(Err(error)) => cell.end(refused(error), Metadata::new()),
        }
    }

    /// Gives a call that did not start to the connection after this one; without one it ends with `status`.
    fn forward(&mut self, cell: Arc<CallCell>, status: &Status) {
        let Some(successor) = self.successor() else { return cell.end(status.clone(), Metadata::new()) };
        cell.move_to(&successor);
        if let Err(status) = successor.start(Arc::clone(&cell)) {
            cell.end(status, Metadata::new());
        }
    }

    fn successor(&mut self) -> Option<Arc<Queue>> {
        if self.successor.is_none() {
            self.successor = self.channel.upgrade()?.replace(&self.queue);
        }
        self.successor.clone()
    }

    /// Does for the call in `slot` whatever its cell and the connection allow now.
    fn serve(&mut self, conn: &mut Connection, slot: usize) {
        let Some(Some((id, cell))) = self.entries.get(slot) else { return };
        let Ok(call) = conn.call(*id) else { return };
        if cell.serve(call) == Served::Finished {
            self.entries[slot] = None;
        }
    }

    fn headers(&mut self, conn: &mut Connection, id: CallId) {
        let Ok(mut call) = conn.call(id) else { return };
        let Some(Some((_, cell))) = self.entries.get(id.slot()) else { return };
        let metadata = if call.metadata().is_empty() { Metadata::new() } else { call.take_metadata() };
        cell.head(metadata);
    }
}

impl App for ClientApp {
    const LINGERS: bool = false;

    fn command(&mut self, now: Timestamp, conn: &mut Connection, command: Command) {
        match command {
            Command::Start(call) => self.start(now, conn, call),
            Command::Call(slot) => self.serve(conn, slot as usize),
            Command::Wake(_) | Command::Drain(_) => {}
        }
    }

    fn event(&mut self, _now: Timestamp, conn: &mut Connection, event: Event) {
        match event {
            Event::Headers { call, .. } => self.headers(conn, call),
            Event::Readable { call, .. } | Event::Writable { call, .. } | Event::Finished { call, .. } => self.serve(conn, call.slot()),
            Event::Draining | Event::Closed => {
                // New calls go elsewhere from now on, without waiting for the end of the old ones.
                let _ = self.successor();
            }
            _ => {}
        }
    }

    fn lost(&mut self, conn: &mut Connection) {
        let status = lost(&why(conn));
        while let Some(event) = conn.poll_event() {
            if let Event::Headers { call, .. } = event {
                self.headers(conn, call);
            }
        }
        for (id, cell) in std::mem::take(&mut self.entries).into_iter().flatten() {
            match conn.call(id) {
                Ok(call) => cell.bequeath(call, &status),
                Err(_) => cell.end(status.clone(), Metadata::new()),
            }
        }
        let _ = self.successor();
    }
}

/// The task was dropped, or it panicked: see [`Fate`].
impl Drop for ClientApp {
    fn drop(&mut self) {
        self.entries.drain(..).flatten().for_each(|(_, cell)| cell.end(abandoned(), Metadata::new()));
    }
}

fn refused(error: StartError) -> Status {
    let code = match error {
        StartError::AtCapacity | StartError::HeadTooLarge => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    local(code, &error.to_string())
}

fn why(conn: &Connection) -> String {
    conn.close_reason().map_or_else(|| "the connection takes no more calls".to_owned(), CloseReason::to_string)
}
