//! A loop of one's own: gRPC with `pintle-core` and `std` alone, a thread per connection. `cargo run --bin own-loop`
//!
//! [`drive`] is all that a driver must do; adapters do the same for thousands of connections at once. The contract is in
//! `docs/architecture.md`.

use pintle_core::{
    CallOptions, Config, Connection, Endpoint, Event, Recv, RequestHead, RouteId, Routes, Status, Timestamp, Token,
    codec::{self, Codec, Prost},
};
use std::{
    error::Error,
    io::{self, ErrorKind, IoSlice, Read, Write},
    net::{TcpListener, TcpStream},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use hello::{GreeterMethod, HelloReply, HelloRequest};

/// Moves octets between a connection and its socket until `on_event` answers false or the connection is over.
fn drive(conn: &mut Connection, mut stream: &TcpStream, mut on_event: impl FnMut(&mut Connection, Event) -> bool) -> io::Result<()> {
    let mut octets = [0; 16 << 10];
    loop {
        while let Some(event) = conn.poll_event() {
            if !on_event(conn, event) {
                return Ok(());
            }
        }
        while conn.wants().write {
            let mut out = conn.transmit(now(), 64 << 10);
            let mut slices = [&[][..]; 16];
            let used = out.chunks(&mut slices);
            let written = stream.write_vectored(&slices.map(IoSlice::new)[..used])?;
            out.advance(written);
        }
        if conn.is_finished() {
            return Ok(());
        }
        // Waits for octets, but not beyond the next deadline. Zero would mean for ever.
        let patience = conn.wants().deadline.map(|at| at.saturating_since(now()).max(Duration::from_millis(1)));
        stream.set_read_timeout(patience)?;
        match stream.read(&mut octets) {
            Ok(0) => conn.recv_eof(now()),
            Ok(n) => conn.recv_slice(now(), &octets[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => conn.recv_eof(now()),
        }
        conn.handle_timeout(now());
    }
}

/// The core knows no clock: any one that never runs backwards will do.
fn now() -> Timestamp {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    Timestamp::from_micros(START.elapsed().as_micros() as u64)
}

/// Serves one connection.
fn serve(stream: &TcpStream, routes: Routes) -> io::Result<()> {
    let mut conn = Connection::server(&Config::default(), routes, now());
    drive(&mut conn, stream, |conn, event| {
        // Both methods take one message: when the call is announced, its message is there.
        if let Event::Incoming { call } = event
            && let Some(accepted) = conn.accept(call, Token::default())
            && let Ok(mut call) = conn.call(call)
        {
            let status = match (accepted.route.map(RouteId::index), call.recv()) {
                (Some(index), Recv::Message(message)) => match Prost::<HelloRequest>::decode(message.payload) {
                    Ok(request) => {
                        greet(GreeterMethod::ALL[index], &request, |reply| codec::send::<Prost<HelloReply>>(&mut call, &reply).is_ok())
                    }
                    Err(status) => status,
                },
                _ => Status::internal("a request without a message"),
            };
            call.finish(&status, None);
        }
        true
    })
}

/// The service. A greeting that finds no room says so: a server that sends much keeps the rest until `Event::Writable`.
fn greet(method: GreeterMethod, request: &HelloRequest, mut send: impl FnMut(HelloReply) -> bool) -> Status {
    let greetings = match method {
        GreeterMethod::SayHello => 1,
        GreeterMethod::LotsOfReplies => 3,
    };
    for nth in 1..=greetings {
        if !send(HelloReply { text: format!("{nth}: hello, {}!", request.name) }) {
            return Status::resource_exhausted("you do not read what I say");
        }
    }
    Status::ok()
}

/// Calls a method and answers all its replies.
fn call(address: &str, method: GreeterMethod, request: &HelloRequest) -> Result<Vec<HelloReply>, Box<dyn Error>> {
    let stream = TcpStream::connect(address)?;
    let mut conn = Connection::client(&Config::default(), now());
    let deadline = now().saturating_add(Duration::from_secs(1));
    let id = conn.start(now(), RequestHead::new(method.path(), method.shape()), CallOptions::default().deadline(Some(deadline)))?;
    codec::send::<Prost<HelloRequest>>(&mut conn.call(id)?, request)?;

    let mut replies = Vec::new();
    let mut outcome = None;
    drive(&mut conn, &stream, |conn, _| {
        let Ok(mut call) = conn.call(id) else { return false };
        loop {
            match call.recv() {
                Recv::Message(message) => replies.push(Prost::<HelloReply>::decode(message.payload)),
                Recv::Pending => return true,
                Recv::End => break,
            }
        }
        outcome = call.take_outcome();
        outcome.is_none()
    })?;
    match outcome {
        Some(outcome) if outcome.status.is_ok() => Ok(replies.into_iter().collect::<Result<_, _>>()?),
        Some(outcome) => Err(outcome.status.into()),
        None => Err("the connection ended before the call".into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let routes = Routes::new(GreeterMethod::ALL.map(|method| (method.path(), method.shape())))?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let routes = routes.clone();
            thread::spawn(move || serve(&stream, routes));
        }
    });
    for method in GreeterMethod::ALL {
        for reply in call(&address, method, &HelloRequest { name: "Ada".into() })? {
            println!("{}: {}", method.name(), reply.text);
        }
    }
    Ok(())
}
