//! A gRPC server in a loop of your own, beside a UDP socket that sends back what it gets:
//! `cargo run --bin in-loop-server -- --listen 127.0.0.1:50051 --listen unix:/tmp/tour.sock`

use mio::{Events, Interest, Poll, Token, net::UdpSocket};
use pintle_example_poll_loop::{post_office::PostOffice, tour::TourServer};
use pintle_mio::Server;
use std::{env, error::Error, io::ErrorKind};

const ECHO: Token = Token(0);
const SERVER: std::ops::RangeFrom<usize> = 1..;

fn main() -> Result<(), Box<dyn Error>> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(1_024);

    let mut server = Server::new().add(|| TourServer::new(PostOffice));
    for address in env::args().skip(1).filter(|word| word != "--listen") {
        server = server.listen(&address)?;
    }
    let mut server = server.embed(poll.registry(), SERVER)?;
    let mut echo = UdpSocket::bind("127.0.0.1:0".parse()?)?;
    poll.registry().register(&mut echo, ECHO, Interest::READABLE)?;
    println!("echo {}", echo.local_addr()?);
    for address in server.local_addresses() {
        println!("listening {address}");
    }

    loop {
        match poll.poll(&mut events, server.timeout()) {
            Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e.into()),
            _ => {}
        }
        for event in &events {
            if !server.handle(event) {
                send_back(&echo)?;
            }
        }
        server.turn();
    }
}

fn send_back(echo: &UdpSocket) -> Result<(), Box<dyn Error>> {
    let mut datagram = [0; 1_500];
    loop {
        match echo.recv_from(&mut datagram) {
            Ok((n, sender)) => drop(echo.send_to(&datagram[..n], sender)), // what cannot be sent is lost, as datagrams are
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e.into()),
        }
    }
}
