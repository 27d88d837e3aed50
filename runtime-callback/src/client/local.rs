//! The client of one thread: whoever waits for an answer drives the connection.

use super::{Caller, Calling, Head, Next, lost, not_started};
use pintle_core::{
    CallId, CallOptions, Connection, Event, Metadata, Recv, SendError, Shape, Status, Token,
    codec::{self, Codec},
};
use pintle_net::now;
use std::{cell::RefCell, fmt, rc::Rc, time::Duration};

/// The token of calls whose response has begun.
const BEGUN: Token = Token(1);

/// A loop of one connection, as a [`LocalClient`] drives it.
pub trait Drive {
    /// The connection, which the driver made with [`Connection::client`].
    fn core(&mut self) -> &mut Connection;
    /// Writes what waits, as far as the transport takes it without waiting.
    fn flush(&mut self);
    /// Writes what waits; sleeps until something can be read or written, the connection's deadline has come, or `most` is over
    /// (`None`: without limit); moves what can be moved. A transport that fails is the end of input: [`is_over`](Self::is_over).
    fn turn(&mut self, most: Option<Duration>);
    /// Nothing will happen any more: the connection is finished and has nothing left to write, or its transport is broken.
    fn is_over(&self) -> bool;
}

/// A client without a thread: whoever waits for an answer drives the connection. Clones share it.
///
/// Nothing happens between calls: a server's PING or GOAWAY is met by the next call, or by [`poll`](Self::poll). Programs that
/// call from time to time want [`Client`](crate::Client) instead.
pub struct LocalClient<D>(Rc<RefCell<D>>);

/// A call of a [`LocalClient`].
pub struct LocalCall<D> {
    driver: Rc<RefCell<D>>,
    id: CallId,
}

impl<D: Drive> LocalClient<D> {
    /// A client that makes its calls on `driver`.
    pub fn new(driver: D) -> Self {
        Self(Rc::new(RefCell::new(driver)))
    }

    /// Serves the connection for so long (zero: only what is there): answers the server's PINGs, notices its end, lets started
    /// calls go on. `false`: the connection is closed, connect again.
    pub fn poll(&self, timeout: Duration) -> bool {
        let end = now().saturating_add(timeout);
        loop {
            let left = end.saturating_since(now());
            step(&mut *self.0.borrow_mut(), Some(left));
            if self.0.borrow().is_over() {
                return false;
            }
            if left.is_zero() {
                return true;
            }
        }
    }

    /// Ends the connection: running calls are cancelled, and the server is told. It happens anyway when the last clone is dropped,
    /// but without a word to the server.
    pub fn close(self) {
        let mut driver = self.0.borrow_mut();
        driver.core().close(now());
        step(&mut *driver, Some(Duration::ZERO));
    }
}

impl<D> Clone for LocalClient<D> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<D> fmt::Debug for LocalClient<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalClient")
    }
}

/// A turn. Whoever waits asks the core itself; of the events only the first of each call is of interest.
fn step(driver: &mut impl Drive, most: Option<Duration>) {
    driver.turn(most);
    while let Some(event) = driver.core().poll_event() {
        if let Event::Headers { call, .. } | Event::Readable { call, .. } = event
            && let Ok(mut call) = driver.core().call(call)
        {
            call.set_token(BEGUN);
        }
    }
}

impl<D: Drive> Caller for LocalClient<D> {
    type Call = LocalCall<D>;

    fn start<Q: Codec>(&self, head: Head, only: Option<&Q::Item>) -> Result<LocalCall<D>, Status> {
        let mut driver = self.0.borrow_mut();
        let options = CallOptions::default().deadline(head.deadline);
        let started = driver.core().start(now(), head.request(), options);
        let id = started.map_err(|e| not_started(e, driver.core()))?;
        if let (Some(message), Ok(mut call)) = (only, driver.core().call(id)) {
            if let Err(SendError::Refused((), why)) = codec::send::<Q>(&mut call, message) {
                call.cancel();
                return Err(Status::resource_exhausted(why.0));
            }
            // If it cannot, the call has ended, and its outcome says why.
            let _ = call.close_send();
        }
        if head.shape != Shape::Unary {
            // Nobody knows when this thread will wait for an answer; with unary calls it does at once, or when it has started them all.
            driver.flush();
        }
        Ok(LocalCall { driver: Rc::clone(&self.0), id })
    }
}

impl<D> Clone for LocalCall<D> {
    fn clone(&self) -> Self {
        Self { driver: Rc::clone(&self.driver), id: self.id }
    }
}

impl<D> fmt::Debug for LocalCall<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalCall({:?})", self.id)
    }
}

impl<D: Drive> Calling for LocalCall<D> {
    fn send<Q: Codec>(&self, message: &Q::Item, wait: bool, more: bool) -> Result<(), SendError<()>> {
        let mut driver = self.driver.borrow_mut();
        let mut tried = false;
        loop {
            let mut call = driver.core().call(self.id).map_err(|_| SendError::Ended(()))?;
            let sent = codec::send::<Q>(&mut call, message);
            let blocked = sent == Err(SendError::Blocked(()));
            if !blocked || driver.is_over() || ((tried || more) && !wait) {
                if !more {
                    // Nobody knows when this thread will come back.
                    driver.flush();
                }
                return sent;
            }
            step(&mut *driver, (!wait).then_some(Duration::ZERO));
            tried = true;
        }
    }

    fn close_send(&self) {
        let mut driver = self.driver.borrow_mut();
        if let Ok(mut call) = driver.core().call(self.id) {
            // Closed already is as good.
            let _ = call.close_send();
            driver.flush();
        }
    }

    fn next(&self, wait: bool) -> Next {
        let mut driver = self.driver.borrow_mut();
        let mut last = false;
        loop {
            let Ok(mut call) = driver.core().call(self.id) else {
                return Next::End(Status::cancelled("the call was cancelled on this side").into());
            };
            match call.recv() {
                Recv::Message(message) => return Next::Message(message),
                Recv::Pending => {}
                Recv::End => {
                    if let Some(outcome) = call.take_outcome() {
                        return Next::End(outcome.into());
                    }
                }
            }
            if last {
                return if driver.is_over() { Next::End(lost(driver.core()).into()) } else { Next::Pending };
            }
            step(&mut *driver, (!wait).then_some(Duration::ZERO));
            last = !wait || driver.is_over();
        }
    }

    fn headers(&self) -> Metadata {
        let mut driver = self.driver.borrow_mut();
        loop {
            let Ok(call) = driver.core().call(self.id) else { return Metadata::new() };
            if call.token() == BEGUN || driver.is_over() {
                return driver.core().call(self.id).map_or_else(|_| Metadata::new(), |mut call| call.take_metadata());
            }
            step(&mut *driver, None);
        }
    }

    fn cancel(&self) {
        let mut driver = self.driver.borrow_mut();
        if let Ok(call) = driver.core().call(self.id) {
            call.cancel();
            step(&mut *driver, Some(Duration::ZERO));
        }
    }
}
