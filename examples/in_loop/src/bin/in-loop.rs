//! A gRPC server, a client and a UDP socket in one loop of your own, on one thread: `cargo run --bin in-loop`
//!
//! The UDP socket is a gateway: for each name that comes in a datagram, the client posts a letter at the post office, which lives in the
//! same loop, but could be anywhere. After three receipts everything is shut down.

use mio::{Events, Interest, Poll, Token, net::UdpSocket};
use pintle_example_poll_loop::{
    post_office::PostOffice,
    tour::{Letter, Receipt, Subscription, TourClient, TourServer},
};
use pintle_mio::{Connect, Server, Status};
use std::{error::Error, io::ErrorKind, sync::mpsc, time::Duration};

/// The tokens of this loop: one for the gateway, two for the client, and all from 100 on for the server and its connections.
const GATEWAY: Token = Token(0);
const CLIENT: std::ops::Range<usize> = 10..12;
const SERVER: std::ops::RangeFrom<usize> = 100..;

type Answer = Result<Receipt, Status>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(128);

    let mut server = Server::new().add(|| TourServer::new(PostOffice)).listen("127.0.0.1:0")?.embed(poll.registry(), SERVER)?;
    let address = server.local_addresses()[0].to_string();
    let (client, mut connection) = Connect::new().embed(&address, poll.registry(), CLIENT)?;
    let client = TourClient::new(client);
    let mut gateway = UdpSocket::bind("127.0.0.1:0".parse()?)?;
    poll.registry().register(&mut gateway, GATEWAY, Interest::READABLE)?;

    // Whoever it is that sends datagrams.
    let somebody = std::net::UdpSocket::bind("127.0.0.1:0")?;
    for name in ["Ada", "Grace", "Edsger"] {
        somebody.send_to(name.as_bytes(), gateway.local_addr()?)?;
    }

    let mut letters = client.subscribe(Subscription { to: "the gateway".into(), letters: 3, octets: 5 }).open()?;
    // Callbacks may not borrow from the loop: they leave what they have where the loop finds it.
    let (desk, answers) = mpsc::channel();
    let mut receipts = 0;

    while !(server.is_finished() && connection.is_finished()) {
        let timeout = server.timeout().into_iter().chain(connection.timeout()).min();
        match poll.poll(&mut events, timeout) {
            Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
            _ => {}
        }
        for event in &events {
            if !server.handle(event) && !connection.handle(event) {
                receive(&gateway, &client, &desk)?; // the only other source
            }
        }
        server.turn();
        connection.turn();

        // What the turns have brought: answers by callbacks, messages of streams by asking.
        for answer in answers.try_iter() {
            println!("a receipt for {}", answer?.last_to);
            receipts += 1;
            if receipts == 3 {
                println!("that is all: shutting down");
                server.shutdown(Duration::from_secs(1));
            }
        }
        while let Some(Some(letter)) = letters.try_next()? {
            println!("letter {} for {}: {} octets", letter.number, letter.to, letter.content.len());
        }
    }
    println!("closed");
    Ok(())
}

/// Posts a letter for every datagram that is there.
fn receive(gateway: &UdpSocket, client: &TourClient, desk: &mpsc::Sender<Answer>) -> Result<(), Box<dyn Error>> {
    let mut datagram = [0; 64];
    loop {
        match gateway.recv_from(&mut datagram) {
            Ok((n, _)) => {
                let to = String::from_utf8_lossy(&datagram[..n]).into_owned();
                println!("a datagram from {to}");
                let letter = Letter { to, ..Letter::default() };
                let desk = desk.clone();
                client.post(letter).deadline(Duration::from_secs(5)).on_done(move |answer| drop(desk.send(answer)));
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e.into()),
        }
    }
}
