//! Connecting.

#[cfg(not(feature = "smol"))]
use crate::{Channel, ConnectError};
use crate::{Global, Smol, Socket, Spawner};
use async_io::Async;
use pintle_futures::Sockets;
use pintle_net::{Address, prepare_tcp};
use std::{
    future::poll_fn,
    io,
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, PoisonError},
    task::{Poll, Waker},
    thread,
};

/// Where and how to connect.
pub type Connect<E = Global> = pintle_futures::Connect<Smol<E>>;

/// Without the feature `smol` this always fails, and says so: it is here because generated code calls it.
///
/// # Errors
/// See above; [`Connect::on`] connects.
#[cfg(not(feature = "smol"))]
pub async fn connect(address: &str) -> Result<Channel, ConnectError> {
    let address = Address::parse(address).map_err(ConnectError::Address)?;
    let why = "no executor: enable the feature `smol` of pintle-smol, or connect with `Connect::on` and give the channel to the client";
    Err(ConnectError::Connect(pintle_net::ConnectError { address, source: io::Error::new(io::ErrorKind::Unsupported, why) }))
}

impl<E: Spawner> Sockets for Smol<E> {
    type Socket = Socket;

    async fn open(address: &Address) -> io::Result<Socket> {
        let Address::Unix(path) = address else { return Ok(Socket::Tcp(open_tcp(resolve(address).await?).await?)) };
        Ok(Socket::Unix(Async::<UnixStream>::connect(path).await?))
    }
}

async fn open_tcp(found: Vec<SocketAddr>) -> io::Result<Async<TcpStream>> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for at in found {
        match Async::<TcpStream>::connect(at).await {
            Ok(stream) => {
                prepare_tcp(&stream)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

type Found = io::Result<Vec<SocketAddr>>;

/// The system's resolver blocks: it gets a thread for as long as it takes, once per connection.
async fn resolve(address: &Address) -> Found {
    if let Address::Tcp(host) = address
        && let Ok(at) = host.parse()
    {
        return Ok(vec![at]);
    }
    let slot: Arc<Mutex<(Option<Found>, Option<Waker>)>> = Arc::default();
    let (theirs, address) = (Arc::clone(&slot), address.clone());
    thread::Builder::new().name("pintle-resolve".to_owned()).spawn(move || {
        let found = address.resolve();
        let mut slot = theirs.lock().unwrap_or_else(PoisonError::into_inner);
        slot.0 = Some(found);
        slot.1.take().map(Waker::wake)
    })?;
    poll_fn(|cx| {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.1 = Some(cx.waker().clone());
        slot.0.take().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
