//! The host's end of the line: accepts clients on a socket and carries their octets, one client after the other.
//!
//! It knows marks (`superloop::line`) and nothing of HTTP/2 or gRPC. A client that comes while another is served waits in the
//! socket's backlog.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};
use superloop::line::{self, Item, Piece};

/// The client that is served, and its number on the line.
type Current = Arc<Mutex<Option<(u8, TcpStream)>>>;

/// How long a device is given to answer the mark of a new client. Then it is written again: it may have been switched off.
const PATIENCE: Duration = Duration::from_secs(1);

/// Serves clients of `listener` on `line`, until the line fails.
pub(crate) fn run(line: File, listener: TcpListener) -> io::Result<()> {
    let current = Current::default();
    let (answered, answers) = mpsc::channel();
    let (writer, shared) = (line.try_clone()?, current.clone());
    thread::spawn(move || {
        if let Err(error) = to_device(writer, &listener, &shared, &answers) {
            // Without this half the other is of no use.
            eprintln!("superloop-host: {error}");
            process::exit(1);
        }
    });
    from_device(line, &current, &answered)
}

/// Device to client: what comes behind the number of the client that is served.
fn from_device(mut line: File, current: &Current, answered: &mpsc::Sender<u8>) -> io::Result<()> {
    let (mut reader, mut octets) = (line::Reader::default(), [0; 4 << 10]);
    let mut client: Option<TcpStream> = None;
    loop {
        let n = line.read(&mut octets)?;
        if n == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the serial line was closed at the other end"));
        }
        let mut input = &octets[..n];
        while let Some(item) = reader.next(&mut input) {
            match item {
                Item::Open(number) => {
                    let current = current.lock().unwrap_or_else(PoisonError::into_inner);
                    let mine = current.as_ref().filter(|(served, _)| *served == number).and_then(|(_, client)| client.try_clone().ok());
                    if mine.is_none() {
                        // The device has begun something else, misled by noise: nobody will answer the one that was served.
                        let _ = client.take().map(|client| client.shutdown(Shutdown::Both));
                    }
                    client = mine;
                    // Nobody listens any more: the program ends.
                    let _ = answered.send(number);
                }
                Item::Octets(octets) => {
                    if client.as_mut().is_some_and(|client| client.write_all(octets).is_err()) {
                        client = None;
                    }
                }
                Item::Close => {
                    // Ends the reading in `to_device`. A client that is gone already is no news.
                    let _ = client.take().map(|client| client.shutdown(Shutdown::Both));
                }
            }
        }
    }
}

/// Client to device, one client after the other.
fn to_device(mut line: File, listener: &TcpListener, current: &Current, answers: &mpsc::Receiver<u8>) -> io::Result<()> {
    let set = |client| *current.lock().unwrap_or_else(PoisonError::into_inner) = client;
    for number in (0..line::NUMBERS).cycle() {
        let (client, _) = listener.accept()?;
        // Small answers are not to wait for large ones; where that cannot be had, all works, only slower.
        let _ = client.set_nodelay(true);
        set(client.try_clone().ok().map(|client| (number, client)));
        if is_answered(&mut line, number, &client, answers)? {
            copy(&client, &mut line)?;
        }
        line.write_all(&line::close())?;
        set(None);
        // Whoever is behind it may still be writing to it.
        let _ = client.shutdown(Shutdown::Both);
    }
    Ok(())
}

/// Writes the mark of a client until the device answers it. False: the client did not wait so long.
fn is_answered(line: &mut File, number: u8, client: &TcpStream, answers: &mpsc::Receiver<u8>) -> io::Result<bool> {
    loop {
        line.write_all(&line::open(number))?;
        loop {
            match answers.recv_timeout(PATIENCE) {
                Ok(answer) if answer == number => return Ok(true),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        eprintln!("the device does not answer; trying again");
        client.set_nonblocking(true)?;
        let gone = matches!(client.peek(&mut [0]), Ok(0));
        client.set_nonblocking(false)?;
        if gone {
            return Ok(false);
        }
    }
}

/// Until the client has no more, or is no more.
fn copy(mut client: &TcpStream, line: &mut File) -> io::Result<()> {
    let mut octets = [0; 4 << 10];
    loop {
        let mut rest = match client.read(&mut octets) {
            Ok(0) | Err(_) => return Ok(()),
            Ok(n) => &octets[..n],
        };
        while let Some(piece) = line::next_piece(rest) {
            let taken = match piece {
                Piece::Run(run) => {
                    line.write_all(run)?;
                    run.len()
                }
                Piece::Mark(mark) => {
                    line.write_all(&mark)?;
                    1
                }
            };
            rest = &rest[taken..];
        }
    }
}
