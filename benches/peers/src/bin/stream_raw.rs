//! What TCP itself costs one way: `stream_raw ADDRESS n=100000 write=16384` listens, sends to a process of its own, and says the CPU of
//! both ends for each KiB. With `role=receive` it is that process.

use pintle_peers::load::{Args, cpu_of};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    time::Instant,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::take();
    if args.word("role", "send") == "receive" { receive(&args) } else { send(&args) }
}

/// Reads as an eager receiver does, and tells its CPU in the end.
fn receive(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let mut stream = TcpStream::connect(&args.address)?;
    let mut buffer = vec![0; args.number("read", 128 << 10)];
    let mut total = 0;
    let before = cpu_of("self");
    loop {
        match stream.read(&mut buffer)? {
            0 => break,
            n => total += n,
        }
    }
    println!("{} {total}", cpu_of("self") - before);
    Ok(())
}

fn send(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind(&args.address)?;
    let peer = std::env::current_exe()?;
    // The other core, as with every other subject.
    let words = [args.address.clone(), "role=receive".to_owned()];
    let child = Command::new("taskset")
        .arg("-c")
        .arg(args.word("peer_core", "0"))
        .arg(peer)
        .args(words)
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let (mut stream, _) = listener.accept()?;
    let octets = vec![b'x'; args.number("write", 16 << 10)];
    let count = args.number("n", 100_000);
    let (before, began) = (cpu_of("self"), Instant::now());
    for _ in 0..count {
        stream.write_all(&octets)?;
    }
    let (sender, seconds) = (cpu_of("self") - before, began.elapsed().as_secs_f64());
    drop(stream);
    let said = String::from_utf8(child.wait_with_output()?.stdout)?;
    let (receiver, total) = said.trim().split_once(' ').ok_or("the receiver said nothing")?;
    let kib = (octets.len() * count) as f64 / 1024.0;
    assert_eq!(total.parse::<usize>()?, octets.len() * count, "octets went missing");
    let receiver: f64 = receiver.parse()?;
    println!(
        "what=raw size={} n={count} per_s={:.0} sender_ns={:.1} receiver_ns={:.1}",
        octets.len(),
        kib / seconds,
        sender as f64 / kib,
        receiver / kib
    );
    Ok(())
}
