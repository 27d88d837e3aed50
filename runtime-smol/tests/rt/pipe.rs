//! A two-way pipe in memory, whose buffers hold so many octets and no more.

use futures_lite::{AsyncRead, AsyncWrite};
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

pub fn pipe(capacity: usize) -> (Pipe, Pipe) {
    let way = || Arc::new(Mutex::new(Way { octets: VecDeque::new(), capacity, closed: false, waiting: Vec::new() }));
    let (there, back) = (way(), way());
    (Pipe { input: Arc::clone(&back), output: Arc::clone(&there) }, Pipe { input: there, output: back })
}

/// One end.
pub struct Pipe {
    input: Arc<Mutex<Way>>,
    output: Arc<Mutex<Way>>,
}

struct Way {
    octets: VecDeque<u8>,
    capacity: usize,
    closed: bool,
    waiting: Vec<Waker>,
}

impl Way {
    fn wait<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        self.waiting.push(cx.waker().clone());
        Poll::Pending
    }

    fn changed(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut way = self.input.lock().unwrap();
        if way.octets.is_empty() && !way.closed {
            return way.wait(cx);
        }
        let n = buffer.len().min(way.octets.len());
        buffer.iter_mut().zip(way.octets.drain(..n)).for_each(|(to, octet)| *to = octet);
        way.changed();
        Poll::Ready(Ok(n))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let mut way = self.output.lock().unwrap();
        if way.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let n = octets.len().min(way.capacity - way.octets.len());
        if n == 0 {
            return way.wait(cx);
        }
        way.octets.extend(&octets[..n]);
        way.changed();
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut way = self.output.lock().unwrap();
        way.closed = true;
        way.changed();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        for way in [&self.input, &self.output] {
            let mut way = way.lock().unwrap();
            way.closed = true;
            way.changed();
        }
    }
}
