//! The client that any number of threads share, and the engine that its loop runs.

use super::{Caller, Calling, End, Head, Next, lost, not_started};
use crate::{
    mailbox::{Mailbox, lock},
    outflow::{Backlog, COST, NoPermit, Outflow, Permit, Sent},
};
use pintle_core::{
    CallId, CallOptions, Connection, Event, Message, Metadata, Payload, Recv, SendError, Status, Timestamp,
    codec::{Codec, to_payload},
};
use std::{
    collections::VecDeque,
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
    thread::{self, ThreadId},
};

/// Calls that may wait to be started by the background thread.
const MOST_STARTS: usize = 10_000;
/// Octets of messages of one call that wait to be taken; one message may always.
const PREFETCH: usize = 64 << 10;

/// A client for any number of threads: all clones share one connection and one background thread, which ends when the last
/// clone is dropped and running calls are done. A blocking call costs two thread switches.
#[derive(Debug, Clone)]
pub struct Client(Arc<Owner>);

/// Tells the thread when the last clone goes.
#[derive(Debug)]
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.mailbox.post(ClientCommand::Close);
    }
}

#[derive(Debug)]
struct Shared {
    mailbox: Mailbox<ClientCommand>,
    /// Why calls cannot start any more.
    gone: OnceLock<Status>,
    thread: ThreadId,
}

impl Shared {
    /// Waiting here would wait for itself.
    fn is_own_thread(&self) -> bool {
        self.thread == thread::current().id()
    }

    fn refusal(&self) -> Status {
        self.gone.get().cloned().unwrap_or_else(|| Status::resource_exhausted("too many calls wait to be started"))
    }
}

impl Client {
    /// A client and the engine that its loop runs. To be called on the loop's thread, where callbacks will run; `wake` makes
    /// the loop turn.
    #[must_use]
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> (Self, Engine) {
        let shared = Arc::new(Shared { mailbox: Mailbox::new(wake), gone: OnceLock::new(), thread: thread::current().id() });
        (Self(Arc::new(Owner(Arc::clone(&shared)))), Engine { shared, calls: Vec::new(), commands: Vec::new() })
    }

    /// False: the connection is closed and calls end with UNAVAILABLE; connect again.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        !self.0.0.mailbox.is_closed()
    }

    /// Starts a unary call whose end is told to `done`.
    pub(crate) fn start_with_callback<Q: Codec>(
        &self,
        head: Head,
        message: &Q::Item,
        done: impl FnOnce(Option<Message>, End) + Send + 'static,
    ) {
        let call = Arc::new(State::new(Some(Box::new(done))));
        if let Err(status) = self.post(head, Some(to_payload::<Q>(message)), &call) {
            call.finish(status.into());
        }
    }

    fn post(&self, head: Head, only: Option<Payload>, call: &Arc<State>) -> Result<(), Status> {
        let start = ClientCommand::Start(Box::new(Start { head, only, fate: Fate(Arc::clone(call)) }));
        self.0.0.mailbox.post_bounded(start, MOST_STARTS).map_err(|refused| {
            let status = self.0.0.refusal();
            // Before it is dropped, which would give it a less telling end.
            call.finish(status.clone().into());
            drop(refused);
            status
        })
    }
}

impl Caller for Client {
    type Call = RemoteCall;

    fn start<Q: Codec>(&self, head: Head, only: Option<&Q::Item>) -> Result<RemoteCall, Status> {
        let state = Arc::new(State::new(None));
        self.post(head, only.map(to_payload::<Q>), &state)?;
        Ok(RemoteCall { shared: Arc::clone(&self.0.0), state })
    }
}

/// A call of a [`Client`].
#[derive(Debug, Clone)]
pub struct RemoteCall {
    shared: Arc<Shared>,
    state: Arc<State>,
}

type Done = Box<dyn FnOnce(Option<Message>, End) + Send>;

/// What caller and thread share of one call.
struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
    flow: Arc<Outflow>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("State")
    }
}

struct Inner {
    /// Once it has started.
    id: Option<CallId>,
    headers: Option<Metadata>,
    inbox: VecDeque<Message>,
    octets: usize,
    /// The thread has stopped taking messages from the core.
    stalled: bool,
    end: Option<End>,
    done: Option<Done>,
}

impl State {
    fn new(done: Option<Done>) -> Self {
        let inner = Inner { id: None, headers: None, inbox: VecDeque::new(), octets: 0, stalled: false, end: None, done };
        Self { inner: Mutex::new(inner), changed: Condvar::new(), flow: Arc::default() }
    }

    fn id(&self) -> Option<CallId> {
        lock(&self.inner).id
    }

    /// The call is over; the first end counts.
    fn finish(&self, end: End) {
        let mut inner = lock(&self.inner);
        if inner.end.is_some() {
            return;
        }
        inner.end = Some(end.clone());
        let (done, message) = match inner.done.take() {
            Some(done) => (Some(done), inner.inbox.pop_front()),
            None => (None, None),
        };
        drop(inner);
        self.flow.end();
        self.changed.notify_all();
        if let Some(done) = done {
            // A panic in the callback is the application's, and no other call's.
            let _ = catch_unwind(AssertUnwindSafe(|| done(message, end)));
        }
    }
}

/// The thread's hold on a call: if it lets go without an end, the call is lost, and nobody waits for ever.
#[derive(Debug)]
struct Fate(Arc<State>);

impl Drop for Fate {
    fn drop(&mut self) {
        self.0.finish(thread_ended().into());
    }
}

fn thread_ended() -> Status {
    Status::unavailable("the client's background thread has ended; connect again")
}

impl Calling for RemoteCall {
    fn send<Q: Codec>(&self, message: &Q::Item, wait: bool, _more: bool) -> Result<(), SendError<()>> {
        let wait = wait && !self.shared.is_own_thread();
        let permit = self.state.flow.permit(Q::encoded_len(message), wait).map_err(|why| match why {
            NoPermit::Full => SendError::Blocked(()),
            NoPermit::Ended => SendError::Ended(()),
        })?;
        self.shared.mailbox.post(ClientCommand::Send(Arc::clone(&self.state), to_payload::<Q>(message), permit));
        Ok(())
    }

    fn close_send(&self) {
        self.shared.mailbox.post(ClientCommand::CloseSend(Arc::clone(&self.state)));
    }

    fn next(&self, wait: bool) -> Next {
        let mut inner = lock(&self.state.inner);
        loop {
            if let Some(message) = inner.inbox.pop_front() {
                inner.octets -= message.payload.len() + COST;
                if inner.octets < PREFETCH && mem::replace(&mut inner.stalled, false) {
                    drop(inner);
                    self.shared.mailbox.post(ClientCommand::Pull(Arc::clone(&self.state)));
                }
                return Next::Message(message);
            }
            if let Some(end) = &inner.end {
                return Next::End(end.clone());
            }
            if !wait {
                return Next::Pending;
            }
            if self.shared.is_own_thread() {
                drop(inner);
                self.cancel();
                return Next::End(
                    Status::internal("waiting on the thread that drives the client (in a callback, or in its loop) would never end").into(),
                );
            }
            inner = self.state.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn headers(&self) -> Metadata {
        let mut inner = lock(&self.state.inner);
        while inner.headers.is_none() && inner.end.is_none() && !self.shared.is_own_thread() {
            inner = self.state.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.headers.take().unwrap_or_default()
    }

    fn cancel(&self) {
        if lock(&self.state.inner).end.is_none() {
            self.shared.mailbox.post(ClientCommand::Cancel(Arc::clone(&self.state)));
        }
    }
}

/// What callers want of the engine.
#[derive(Debug)]
enum ClientCommand {
    /// A call starts.
    Start(Box<Start>),
    /// A message goes out.
    Send(Arc<State>, Payload, Permit),
    /// No more messages.
    CloseSend(Arc<State>),
    /// There is room for messages again.
    Pull(Arc<State>),
    /// Nobody waits for the call any more.
    Cancel(Arc<State>),
    /// Nobody will start calls any more.
    Close,
}

#[derive(Debug)]
struct Start {
    head: Head,
    only: Option<Payload>,
    fate: Fate,
}

/// What the loop of a [`Client`] runs.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    /// By slot of the call.
    calls: Vec<Option<Box<Live>>>,
    /// The memory of the mailbox's other half.
    commands: Vec<ClientCommand>,
}

/// However the loop ends, a panic included: nobody waits for a thread that is gone.
impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.gone.get_or_init(thread_ended);
        drop(self.shared.mailbox.close());
    }
}

/// A call as the thread sees it.
#[derive(Debug)]
struct Live {
    id: CallId,
    fate: Fate,
    backlog: Backlog,
    /// No more will come.
    last: bool,
}

impl Engine {
    /// Does what callers want: call it when the loop was woken.
    pub fn execute(&mut self, core: &mut Connection, now: Timestamp) {
        let mut commands = mem::take(&mut self.commands);
        self.shared.mailbox.swap(&mut commands);
        commands.drain(..).for_each(|command| self.obey(core, now, command));
        self.commands = commands;
    }

    /// Tells what happened: call it after each read, write and timeout.
    pub fn dispatch(&mut self, core: &mut Connection) {
        while let Some(event) = core.poll_event() {
            self.event(core, event);
        }
    }

    /// The connection is over: calls get what had come for them, those without an outcome end with UNAVAILABLE, and so will every
    /// other that is tried.
    pub fn end(mut self, core: &mut Connection) {
        self.dispatch(core);
        let running: Vec<CallId> = self.calls.iter().flatten().map(|live| live.id).collect();
        // The core's budget bounds what is left.
        running.into_iter().for_each(|id| self.pull(core, id, usize::MAX));
        let status = lost(core);
        self.shared.gone.get_or_init(|| status.clone());
        let waiting = self.shared.mailbox.close().into_iter().filter_map(|command| match command {
            ClientCommand::Start(start) => Some(start.fate),
            _ => None,
        });
        let running = self.calls.drain(..).flatten().map(|live| live.fate);
        running.chain(waiting).for_each(|fate| fate.0.finish(status.clone().into()));
    }

    fn obey(&mut self, core: &mut Connection, now: Timestamp, command: ClientCommand) {
        match command {
            ClientCommand::Start(start) => self.start(core, now, *start),
            ClientCommand::Send(state, payload, permit) => {
                if let Some(live) = self.live_of(&state) {
                    live.backlog.push(payload, Some(permit));
                    let id = live.id;
                    self.send_queued(core, id);
                }
            }
            ClientCommand::CloseSend(state) => {
                if let Some(live) = self.live_of(&state) {
                    live.last = true;
                    let id = live.id;
                    self.send_queued(core, id);
                }
            }
            ClientCommand::Pull(state) => {
                if let Some(id) = state.id() {
                    self.pull(core, id, PREFETCH);
                }
            }
            ClientCommand::Cancel(state) => {
                if let Some(id) = self.live_of(&state).map(|live| live.id) {
                    self.finish(core, id, Status::cancelled("the call was cancelled on this side").into());
                }
            }
            ClientCommand::Close => core.drain(now, None),
        }
    }

    fn start(&mut self, core: &mut Connection, now: Timestamp, start: Start) {
        let id = match core.start(now, start.head.request(), CallOptions::default().deadline(start.head.deadline)) {
            Ok(id) => id,
            Err(e) => return start.fate.0.finish(not_started(e, core).into()),
        };
        lock(&start.fate.0.inner).id = Some(id);
        let last = start.only.is_some();
        let mut backlog = Backlog::default();
        start.only.into_iter().for_each(|payload| backlog.push(payload, None));
        if self.calls.len() <= id.slot() {
            self.calls.resize_with(id.slot() + 1, || None);
        }
        self.calls[id.slot()] = Some(Box::new(Live { id, fate: start.fate, backlog, last }));
        self.send_queued(core, id);
    }

    fn event(&mut self, core: &mut Connection, event: Event) {
        match event {
            Event::Headers { call, .. } => {
                let headers = core.call(call).map(|mut call| call.take_metadata());
                if let (Ok(headers), Some(live)) = (headers, self.live(call)) {
                    lock(&live.fate.0.inner).headers = Some(headers);
                    live.fate.0.changed.notify_all();
                }
            }
            Event::Readable { call, .. } => self.pull(core, call, PREFETCH),
            Event::Writable { call, .. } => self.send_queued(core, call),
            _ => {}
        }
    }

    fn live(&mut self, id: CallId) -> Option<&mut Live> {
        self.calls.get_mut(id.slot())?.as_deref_mut().filter(|live| live.id == id)
    }

    fn live_of(&mut self, state: &State) -> Option<&mut Live> {
        self.live(state.id()?)
    }

    /// Moves messages from the core to whoever waits for them, while fewer than `most` octets wait to be taken.
    fn pull(&mut self, core: &mut Connection, id: CallId, most: usize) {
        loop {
            let Some(live) = self.live(id) else { return };
            let mut inner = lock(&live.fate.0.inner);
            // A callback does not take messages: it gets its only one with the end, which must not wait behind it.
            if inner.octets >= most && inner.done.is_none() {
                inner.stalled = true;
                return;
            }
            drop(inner);
            let Ok(mut call) = core.call(id) else { return };
            match call.recv() {
                Recv::Message(message) => self.deliver(id, message),
                Recv::Pending => return,
                Recv::End => match call.take_outcome() {
                    Some(outcome) => return self.finish(core, id, outcome.into()),
                    None => return,
                },
            }
        }
    }

    fn deliver(&mut self, id: CallId, message: Message) {
        let Some(live) = self.live(id) else { return };
        let mut inner = lock(&live.fate.0.inner);
        inner.octets += message.payload.len() + COST;
        inner.inbox.push_back(message);
        drop(inner);
        live.fate.0.changed.notify_all();
    }

    fn finish(&mut self, core: &mut Connection, id: CallId, end: End) {
        if let Ok(call) = core.call(id) {
            call.cancel();
        }
        if self.live(id).is_some()
            && let Some(live) = self.calls[id.slot()].take()
        {
            live.fate.0.finish(end);
        }
    }

    /// Hands on what was sent, as far as the core takes it, and then the end.
    fn send_queued(&mut self, core: &mut Connection, id: CallId) {
        let Some(live) = self.live(id) else { return };
        match (live.backlog.send(core, id), live.last) {
            (Sent::Refused(why), _) => self.finish(core, id, Status::resource_exhausted(why.0).into()),
            (Sent::All, true) => {
                if let Ok(mut call) = core.call(id) {
                    // Closed already is as good.
                    let _ = call.close_send();
                }
            }
            // There is room later, or its outcome is on the way.
            _ => {}
        }
    }
}
