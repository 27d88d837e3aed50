//! A stream that exists in memory: two ends, each an [`Io`], on any runtime.

use crate::runtime::Io;
use std::{
    collections::VecDeque,
    fmt,
    io::{self, IoSlice},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// One end of a stream in memory, from [`pipe`].
///
/// Dropping an end is the end of the other's input, and breaks its output.
pub struct Pipe {
    input: Arc<Way>,
    output: Arc<Way>,
}

/// Two ends of a stream: what is written to one is read from the other. Each way holds at most `capacity` octets (at least 1);
/// a writer waits for room then.
#[must_use]
pub fn pipe(capacity: usize) -> (Pipe, Pipe) {
    let way = || Arc::new(Way { capacity: capacity.max(1), state: Mutex::default() });
    let (there, back) = (way(), way());
    (Pipe { input: Arc::clone(&back), output: Arc::clone(&there) }, Pipe { input: there, output: back })
}

/// One direction.
struct Way {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    octets: VecDeque<u8>,
    /// Nothing more will be written.
    ended: bool,
    /// Nobody will read.
    broken: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Way {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        wake(state, |state| &mut state.reader);
    }
}

/// Wakes without the lock: whoever is woken wants it.
fn wake(mut state: MutexGuard<'_, State>, whom: impl FnOnce(&mut State) -> &mut Option<Waker>) {
    let waker = whom(&mut state).take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Keeps the latest task; most are woken by the same one again and again.
fn keep(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

impl Io for Pipe {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.input.lock();
        if state.octets.is_empty() && !buffer.is_empty() {
            if state.ended {
                return Poll::Ready(Ok(0));
            }
            keep(&mut state.reader, cx);
            return Poll::Pending;
        }
        let n = buffer.len().min(state.octets.len());
        let (front, back) = state.octets.as_slices();
        let at = front.len().min(n);
        buffer[..at].copy_from_slice(&front[..at]);
        buffer[at..n].copy_from_slice(&back[..n - at]);
        state.octets.drain(..n);
        wake(state, |state| &mut state.writer);
        Poll::Ready(Ok(n))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let mut state = self.output.lock();
        if state.broken || state.ended {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = self.output.capacity - state.octets.len();
        if room == 0 {
            keep(&mut state.writer, cx);
            return Poll::Pending;
        }
        let mut left = room;
        for slice in octets {
            let n = slice.len().min(left);
            state.octets.extend(&slice[..n]);
            left -= n;
        }
        wake(state, |state| &mut state.reader);
        Poll::Ready(Ok(room - left))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.output.end();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.output.end();
        let mut state = self.input.lock();
        state.broken = true;
        state.octets = VecDeque::new();
        wake(state, |state| &mut state.writer);
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe").field("waiting", &self.input.lock().octets.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::atomic::AtomicUsize, sync::atomic::Ordering, task::Wake};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn write(end: &mut Pipe, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        end.poll_write(cx, &[IoSlice::new(octets)])
    }

    #[test]
    fn octets_pass_in_order_and_the_pipe_is_bounded() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let cx = &mut Context::from_waker(&waker);
        let (mut a, mut b) = pipe(10);
        let (mut sent, mut got) = (0_u8, Vec::new());
        let mut buffer = [0; 7];
        assert!(b.poll_read(cx, &mut buffer).is_pending());
        while got.len() < 200 {
            let octets: Vec<u8> = (sent..sent.saturating_add(4)).collect();
            match a.poll_write(cx, &[IoSlice::new(&octets[..2]), IoSlice::new(&octets[2..])]) {
                Poll::Ready(Ok(n)) => sent += n as u8,
                Poll::Pending => {
                    let Poll::Ready(Ok(n)) = b.poll_read(cx, &mut buffer) else { panic!("ten octets wait") };
                    got.extend_from_slice(&buffer[..n]);
                }
                Poll::Ready(Err(error)) => panic!("{error}"),
            }
        }
        assert!(got.iter().enumerate().all(|(at, octet)| at == usize::from(*octet)));
        assert!(count.0.load(Ordering::SeqCst) > 20, "reader and writer wake each other");
    }

    #[test]
    fn the_end_of_output_is_told_behind_the_last_octet() {
        let cx = &mut Context::from_waker(Waker::noop());
        let (mut a, mut b) = pipe(10);
        assert!(matches!(write(&mut a, cx, b"last"), Poll::Ready(Ok(4))));
        assert!(matches!(a.poll_close(cx), Poll::Ready(Ok(()))));
        let mut buffer = [0; 7];
        assert!(matches!(b.poll_read(cx, &mut buffer), Poll::Ready(Ok(4))));
        assert!(matches!(b.poll_read(cx, &mut buffer), Poll::Ready(Ok(0))));
        // The other way is open.
        assert!(matches!(write(&mut b, cx, b"still"), Poll::Ready(Ok(5))));
        assert!(matches!(a.poll_read(cx, &mut buffer), Poll::Ready(Ok(5))));
    }

    #[test]
    fn a_dropped_end_wakes_and_breaks_the_other() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let cx = &mut Context::from_waker(&waker);
        let (mut a, b) = pipe(4);
        assert!(matches!(write(&mut a, cx, b"12345"), Poll::Ready(Ok(4))));
        assert!(write(&mut a, cx, b"5").is_pending());
        assert!(a.poll_read(cx, &mut [0; 4]).is_pending());
        drop(b);
        assert_eq!(count.0.load(Ordering::SeqCst), 2);
        assert!(matches!(write(&mut a, cx, b"5"), Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe));
        assert!(matches!(a.poll_read(cx, &mut [0; 4]), Poll::Ready(Ok(0))));
    }
}
