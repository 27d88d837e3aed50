//! The client's end: a program that is told line by line what to call, and says how it ended.
//!
//! `connect ADDRESS` makes a new channel and answers `connected`. `call SHAPE MILLIS OCTETS` makes one call with that deadline and a
//! message of so many octets. `again` makes unary calls until one succeeds or ten have failed: whoever lost a connection has to make
//! another. Both answer `CODE<TAB>MESSAGE`. The same is spoken by `python/hostile_client.py` and `go/hostile`.

use super::Shape;
use crate::Wrong;
use pintle_core::{Status, bytes::Bytes, codec::Raw};
use std::{
    fmt::Display,
    io::{BufRead, Write},
    thread,
    time::Duration,
};

const UNARY: &str = "/pintle.interop.Interop/Echo";
const STREAMING: &str = "/pintle.interop.Interop/Expand";
const BIDI: &str = "/pintle.interop.Interop/Chat";

/// One runtime's client.
pub trait Client {
    /// The next call makes a new channel to there, in place of the one that there was.
    fn connect(&mut self, address: &str);
    /// Makes one call and reads all of its answer.
    ///
    /// # Errors
    /// The call's status, if it is not OK.
    fn call(&mut self, shape: Shape, deadline: Duration, request: Bytes) -> Result<(), Status>;
}

/// Does as the lines of the standard input say.
///
/// # Errors
/// A line is not understood, or nobody reads the answers.
pub fn obey(client: &mut dyn Client) -> Result<(), Wrong> {
    // A panic in any thread must be seen, also where a runtime would catch it.
    std::panic::set_hook(Box::new(|panic| {
        println!("PANIC\t{}", panic.to_string().replace('\n', " "));
        std::process::abort();
    }));
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["connect", address] => {
                client.connect(address);
                "connected".to_owned()
            }
            ["call", shape, millis, octets] => {
                let shape = [Shape::Unary, Shape::Streaming, Shape::Bidi].into_iter().find(|known| known.name() == shape);
                let request = vec![0; octets.parse()?].into();
                told(client.call(shape.ok_or("no such shape")?, Duration::from_millis(millis.parse()?), request))
            }
            ["again"] => told(again(client)),
            _ => return Err(format!("what is {line:?}?").into()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn told(outcome: Result<(), Status>) -> String {
    match outcome {
        Ok(()) => "0\t".to_owned(),
        Err(status) => format!("{}\t{}", status.code().as_u32(), status.message().escape_debug()),
    }
}

fn again(client: &mut dyn Client) -> Result<(), Status> {
    let mut outcome = Ok(());
    for _ in 0..10 {
        outcome = client.call(Shape::Unary, Duration::from_secs(3), Bytes::new());
        if outcome.is_ok() {
            return outcome;
        }
        thread::sleep(Duration::from_millis(50));
    }
    outcome
}

/// On tokio, with threads of its own: the connection is served between calls too.
pub struct Tokio {
    runtime: tokio::runtime::Runtime,
    address: String,
    channel: Option<pintle_tokio::Channel>,
}

impl Tokio {
    /// A client without a channel.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub fn new() -> Result<Self, Wrong> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { runtime, address: String::new(), channel: None })
    }
}

impl Client for Tokio {
    fn connect(&mut self, address: &str) {
        (self.address, self.channel) = (address.to_owned(), None);
    }

    fn call(&mut self, shape: Shape, deadline: Duration, request: Bytes) -> Result<(), Status> {
        if self.channel.is_none() {
            self.channel = Some(self.runtime.block_on(pintle_tokio::connect(&self.address)).map_err(not_connected)?);
        }
        self.runtime.block_on(over_channel(self.channel.as_ref(), shape, deadline, request))
    }
}

/// On smol.
#[derive(Default)]
pub struct Smol {
    address: String,
    channel: Option<pintle_smol::Channel>,
}

impl Client for Smol {
    fn connect(&mut self, address: &str) {
        (self.address, self.channel) = (address.to_owned(), None);
    }

    fn call(&mut self, shape: Shape, deadline: Duration, request: Bytes) -> Result<(), Status> {
        smol::block_on(async {
            if self.channel.is_none() {
                self.channel = Some(pintle_smol::connect(&self.address).await.map_err(not_connected)?);
            }
            over_channel(self.channel.as_ref(), shape, deadline, request).await
        })
    }
}

fn not_connected(error: impl Display) -> Status {
    Status::unavailable(error.to_string())
}

async fn over_channel(channel: Option<&pintle_tokio::Channel>, shape: Shape, deadline: Duration, request: Bytes) -> Result<(), Status> {
    let channel = channel.ok_or_else(|| not_connected("not connected"))?;
    let mut input = match shape {
        Shape::Unary => return channel.unary::<Raw, Raw>(UNARY, &request).deadline(deadline).await.map(drop),
        Shape::Streaming => channel.server_streaming::<Raw, Raw>(STREAMING, &request).deadline(deadline).await?,
        Shape::Bidi => {
            let (mut out, mut input) = channel.bidi::<Raw, Raw>(BIDI).deadline(deadline).open().await?;
            // Why it cannot be sent is said by the other direction.
            let _ = out.send(request).await;
            while input.next().await?.is_some() {}
            return Ok(());
        }
    };
    while input.next().await?.is_some() {}
    Ok(())
}

/// On mio: the client that threads share.
#[derive(Default)]
pub struct Mio {
    address: String,
    client: Option<pintle_mio::Client>,
}

impl Client for Mio {
    fn connect(&mut self, address: &str) {
        (self.address, self.client) = (address.to_owned(), None);
    }

    fn call(&mut self, shape: Shape, deadline: Duration, request: Bytes) -> Result<(), Status> {
        // It leaves connecting again to its user.
        self.client = self.client.take().filter(pintle_mio::Client::is_connected);
        let client = match &self.client {
            Some(client) => client,
            None => &*self.client.insert(pintle_mio::connect(&self.address).map_err(not_connected)?),
        };
        let mut input = match shape {
            Shape::Unary => {
                let call: pintle_mio::UnaryRequest<'_, _, Raw, Raw> = pintle_mio::UnaryRequest::unary(client, UNARY, request);
                return call.deadline(deadline).wait().map(drop);
            }
            Shape::Streaming => {
                let call: pintle_mio::ServerStreamingRequest<'_, _, Raw, Raw> =
                    pintle_mio::ServerStreamingRequest::server_streaming(client, STREAMING, request);
                call.deadline(deadline).open()?
            }
            Shape::Bidi => {
                let call: pintle_mio::BidiRequest<'_, _, Raw, Raw> = pintle_mio::BidiRequest::bidi(client, BIDI);
                let (mut out, mut input) = call.deadline(deadline).open()?;
                // As above.
                let _ = out.send(request);
                while input.next()?.is_some() {}
                return Ok(());
            }
        };
        while input.next()?.is_some() {}
        Ok(())
    }
}
