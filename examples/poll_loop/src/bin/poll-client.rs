//! A call of each shape on `poll(2)`: `cargo run --bin poll-client -- 127.0.0.1:50051` (or `unix:/tmp/tour.sock`)
//!
//! The client has no thread: whoever waits for an answer drives the connection. All that `LocalClient` needs is [`Drive`].

use bytes::Bytes;
use pintle_callback::{Drive, LocalClient};
use pintle_core::{Config, Connection, Endpoint};
use pintle_example_poll_loop::tour::{Letter, Subscription, TourClient};
use pintle_example_poll_loop::{sleep, watch};
use pintle_net::{Address, Wire, now};
use std::{env, error::Error, time::Duration};

const SCRATCH: usize = 64 << 10;

/// A connection and its socket.
struct Line {
    conn: Connection,
    wire: Wire,
    over: bool,
    scratch: Vec<u8>,
}

impl Line {
    fn connect(address: &str) -> Result<Self, Box<dyn Error>> {
        let address = Address::parse(address)?;
        let wire = Wire::new(pintle_net::connect(&address, Duration::from_secs(10))?)?;
        let mut config = Config::default();
        config.authority = address.authority().to_owned();
        Ok(Self { conn: Connection::client(&config, now()), wire, over: false, scratch: vec![0; SCRATCH] })
    }
}

impl Drive for Line {
    fn core(&mut self) -> &mut Connection {
        &mut self.conn
    }

    fn flush(&mut self) {
        while self.wire.write(&mut self.conn, now()) {}
        self.over = self.wire.is_over(&self.conn, now());
    }

    fn turn(&mut self, most: Option<Duration>) {
        self.flush();
        if self.over {
            return;
        }
        let wants = self.wire.wants(&self.conn);
        let limit = most.map(|most| now().saturating_add(most));
        // Should `poll` fail, reading says what there is to say.
        let _ = sleep(vec![watch(&self.wire, wants)], wants.deadline.into_iter().chain(limit).min());
        self.conn.handle_timeout(now()); // early is harmless
        self.wire.read(&mut self.conn, now(), &mut self.scratch);
        self.flush();
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

fn letter(number: u32) -> Letter {
    Letter { to: "Ada".into(), content: Bytes::from_static(b"hello"), number }
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = TourClient::new(LocalClient::new(Line::connect(&address)?));

    let receipt = client.post(letter(0)).deadline(Duration::from_secs(5)).metadata("x-postmark", "today").wait_response()?;
    println!("unary:            {:?}, postmark {:?}", receipt.message, receipt.headers.get("x-postmark"));

    let mut out = client.post_all().open()?;
    for number in 0..3 {
        out.send(letter(number))?;
    }
    println!("client streaming: {:?}", out.finish()?);

    let mut letters = client.subscribe(Subscription { to: "Ada".into(), letters: 3, octets: 10 }).open()?;
    while let Some(letter) = letters.next()? {
        println!("server streaming: {letter:?}");
    }

    let (mut out, mut replies) = client.correspond().open()?;
    for number in 0..3 {
        out.send(letter(number))?;
        println!("bidirectional:    {:?}", replies.next()?);
    }
    out.close();

    let status = client.post(Letter::default()).wait().expect_err("a letter without a name");
    println!("an error:         {status}");
    let status = client.post(letter(0)).metadata("x-delay-ms", "60000").deadline(Duration::from_millis(50)).wait();
    println!("a deadline:       {}", status.expect_err("the answer takes a minute"));
    Ok(())
}
