//! Lets gRPC clients call a device on a serial line.
//!
//! ```text
//! superloop-host [--listen 127.0.0.1:50051] [LINE]
//! ```
//!
//! `LINE` is a serial device (`/dev/ttyUSB0`; set its speed with `stty`) or `unix:PATH`, the socket of an emulated one. Without it the
//! program plays the device, too: the same superloop behind a pseudo-terminal. Prints `listening ADDRESS`.

mod bridge;

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{OptionalActions, tcgetattr, tcsetattr},
};
use std::{
    env,
    error::Error,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    net::TcpListener,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::ExitCode,
    thread,
    time::Instant,
};
use superloop::{Pipe, Superloop, Timestamp};

const USAGE: &str = "superloop-host [--listen 127.0.0.1:50051] [/dev/ttyUSB0 | unix:PATH]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("superloop-host: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let (mut address, mut path) = ("127.0.0.1:50051".to_owned(), None);
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--listen" => address = args.next().ok_or(USAGE)?,
            _ if arg.starts_with('-') || path.is_some() => return Err(USAGE.into()),
            _ => path = Some(arg),
        }
    }
    let line = match path {
        Some(path) => open(&path).map_err(|error| format!("cannot open {path}: {error}"))?,
        None => play_device().map_err(|error| format!("cannot make a pseudo-terminal: {error}"))?,
    };
    let listener = TcpListener::bind(&address).map_err(|error| format!("cannot listen on {address}: {error}"))?;
    println!("listening {}", listener.local_addr()?);
    Ok(bridge::run(line, listener)?)
}

fn open(path: &str) -> io::Result<File> {
    if let Some(socket) = path.strip_prefix("unix:") {
        return Ok(File::from(OwnedFd::from(UnixStream::connect(socket)?)));
    }
    open_terminal(Path::new(path))
}

/// A terminal as a line of octets: no echo, no line editing, no signals.
fn open_terminal(path: &Path) -> io::Result<File> {
    let terminal = OpenOptions::new().read(true).write(true).open(path)?;
    let mut settings = tcgetattr(&terminal)?;
    settings.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &settings)?;
    Ok(terminal)
}

/// Runs a superloop at one end of a pseudo-terminal, answers the other end.
fn play_device() -> io::Result<File> {
    let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&host)?;
    unlockpt(&host)?;
    let name = ptsname(&host, Vec::new())?;
    let device = open_terminal(Path::new(name.to_str().map_err(io::Error::other)?))?;
    fcntl_setfl(&device, fcntl_getfl(&device)? | OFlags::NONBLOCK)?;
    thread::spawn(move || firmware(device));
    Ok(File::from(host))
}

/// What would be `main` on a microcontroller.
fn firmware(terminal: File) {
    let began = Instant::now();
    let mut uart = Uart(terminal);
    let mut superloop = Superloop::new();
    loop {
        let now = Timestamp::from_micros(began.elapsed().as_micros() as u64);
        let wait = superloop.step(now, &mut uart);
        let mut what = PollFlags::empty();
        what.set(PollFlags::IN, wait.read);
        what.set(PollFlags::OUT, wait.write);
        let until =
            wait.until.map(|until| until.saturating_since(now).try_into().expect("a deadline is no more than 2^64 microseconds away"));
        // A signal may wake it early, which is harmless.
        let _ = poll(&mut [PollFd::new(&uart.0, what)], until.as_ref());
    }
}

/// A terminal that does not wait. What fails is as good as silence: the superloop has its timeouts.
struct Uart(File);

impl Pipe for Uart {
    fn read(&mut self, into: &mut [u8]) -> usize {
        self.0.read(into).unwrap_or(0)
    }

    fn write(&mut self, octets: &[u8]) -> usize {
        self.0.write(octets).unwrap_or(0)
    }
}
