//! A tour of Pintle: every client with every server, over TCP and Unix sockets, in the four call shapes, by real calls through
//! real sockets; and each runtime's client with its own server in one process, without a socket. Prints one table; exits 1 if any answer was wrong.
//!
//! `cargo run --release --bin tour`. The same .proto for all: `examples/proto/tour.proto`. Another runtime is another line in
//! [`RUNTIMES`] and a file like `on_mio.rs`.

mod on_mio;
mod on_smol;
mod on_tokio;
mod table;

// Made from the .proto by build.rs: the module `tour`.
include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

use bytes::Bytes;
use std::{
    error::Error,
    fmt::Debug,
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};
use tour::{Letter, Receipt, Subscription};

/// Whatever can go wrong in a cell.
type Wrong = Box<dyn Error>;

/// One of Pintle's runtimes.
struct Runtime {
    name: &'static str,
    /// Starts a server on these addresses in a thread of its own; answers the addresses that it can be called at.
    serve: fn(&[String]) -> Result<Vec<String>, Wrong>,
    connect: fn(&str) -> Result<Box<dyn Client>, Wrong>,
    /// A client of a server in this process: no socket between them.
    in_process: fn() -> Result<Box<dyn Client>, Wrong>,
}

const RUNTIMES: [Runtime; 3] = [
    Runtime { name: "tokio", serve: on_tokio::serve, connect: on_tokio::connect, in_process: on_tokio::in_process },
    Runtime { name: "smol", serve: on_smol::serve, connect: on_smol::connect, in_process: on_smol::in_process },
    Runtime { name: "mio", serve: on_mio::serve, connect: on_mio::connect, in_process: on_mio::in_process },
];

/// The four methods of the tour's service, as blocking calls on one connection.
trait Client {
    fn post(&mut self, letter: Letter) -> Result<Receipt, Wrong>;
    fn post_all(&mut self, letters: Vec<Letter>) -> Result<Receipt, Wrong>;
    fn subscribe(&mut self, wish: Subscription) -> Result<Vec<Letter>, Wrong>;
    /// Writes each letter after the answer to the one before it.
    fn correspond(&mut self, letters: Vec<Letter>) -> Result<Vec<Letter>, Wrong>;
}

/// Makes call number `n` of its shape and compares the answer with what it must be.
type Try = fn(&mut dyn Client, u32) -> Result<(), Wrong>;
const SHAPES: [(&str, Try); 4] =
    [("unary", try_post), ("client streaming", try_post_all), ("server streaming", try_subscribe), ("bidirectional", try_correspond)];

const CALLS: u32 = 200;
const LETTERS: u32 = 8;
/// A call that takes longer does not work.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let sockets = SocketDirectory::new();
    let mut tour = Journey::new();
    for server in &RUNTIMES {
        let addresses = ["127.0.0.1:0".to_owned(), format!("unix:{}", sockets.0.join(server.name).display())];
        let started = (server.serve)(&addresses);
        for client in &RUNTIMES {
            for (nth, over) in ["TCP", "UDS"].into_iter().enumerate() {
                let connection = match &started {
                    Ok(bound) => (client.connect)(&bound[nth]),
                    Err(error) => Err(format!("the server did not start: {error}").into()),
                };
                tour.visit(client, server, over, connection);
            }
        }
        tour.visit(server, server, "in-process", (server.in_process)());
    }
    tour.end()
}

/// What was seen so far.
struct Journey {
    progress: Progress,
    table: table::Table,
    wrong: Vec<String>,
}

impl Journey {
    fn new() -> Self {
        let rows = RUNTIMES.len() * RUNTIMES.len() * 2 + RUNTIMES.len();
        let head = ["client", "server", "over"].into_iter().chain(SHAPES.map(|(name, _)| name));
        Self { progress: Progress::new(rows * SHAPES.len()), table: table::Table::new(head), wrong: Vec::new() }
    }

    /// One row: the four shapes on one connection.
    fn visit(&mut self, client: &Runtime, server: &Runtime, over: &str, mut connection: Result<Box<dyn Client>, Wrong>) {
        let mut row = vec![client.name.to_owned(), server.name.to_owned(), over.to_owned()];
        for (shape, attempt) in SHAPES {
            let median = match &mut connection {
                Ok(connection) => measure(&mut **connection, attempt),
                Err(error) => Err(error.to_string().into()),
            };
            self.progress.step();
            row.push(match median {
                Ok(median) => format!("ok {:>6.1} µs", median.as_secs_f64() * 1e6),
                Err(error) => {
                    self.wrong.push(format!("{} client, {} server, {over}, {shape}: {error}", client.name, server.name));
                    "WRONG".to_owned()
                }
            });
        }
        self.table.row(row);
    }

    fn end(self) -> ExitCode {
        self.progress.end();
        println!("{}", self.table);
        let (cells, wrong) = (self.progress.total, self.wrong.len());
        println!("{cells} cells, {CALLS} calls each, the median time of a call (streams carry several letters); {wrong} wrong");
        for line in &self.wrong {
            println!("WRONG: {line}");
        }
        if self.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Makes [`CALLS`] calls and answers the median of their times.
fn measure(client: &mut dyn Client, attempt: Try) -> Result<Duration, Wrong> {
    let mut times = Vec::with_capacity(CALLS as usize);
    for n in 0..CALLS {
        let began = Instant::now();
        attempt(client, n)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn try_post(client: &mut dyn Client, n: u32) -> Result<(), Wrong> {
    let reply = client.post(letter(n))?;
    equal(&reply, &Receipt { letters: 1, octets: 100, last_to: format!("reader {n}") })
}

fn try_post_all(client: &mut dyn Client, n: u32) -> Result<(), Wrong> {
    let reply = client.post_all((n..n + LETTERS).map(letter).collect())?;
    equal(&reply, &Receipt { letters: LETTERS, octets: u64::from(LETTERS) * 100, last_to: format!("reader {}", n + LETTERS - 1) })
}

fn try_subscribe(client: &mut dyn Client, n: u32) -> Result<(), Wrong> {
    let name = format!("reader {n}");
    let reply = client.subscribe(Subscription { to: name.clone(), letters: LETTERS, octets: 3 })?;
    let expected: Vec<_> = (0..LETTERS).map(|number| Letter { to: name.clone(), content: Bytes::from_static(b"..."), number }).collect();
    equal(&reply, &expected)
}

fn try_correspond(client: &mut dyn Client, n: u32) -> Result<(), Wrong> {
    let letters: Vec<_> = (n..n + LETTERS).map(letter).collect();
    let expected: Vec<_> = letters.iter().map(|letter| Letter { to: format!("re: {}", letter.to), ..letter.clone() }).collect();
    let reply = client.correspond(letters)?;
    equal(&reply, &expected)
}

fn letter(number: u32) -> Letter {
    Letter { to: format!("reader {number}"), content: Bytes::from(vec![b'a' + (number % 26) as u8; 100]), number }
}

fn equal<T: PartialEq + Debug>(got: &T, expected: &T) -> Result<(), Wrong> {
    if got == expected {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(200).collect::<String>();
    Err(format!("expected {}, got {}", short(expected), short(got)).into())
}

/// A directory for Unix sockets, gone at the end.
struct SocketDirectory(PathBuf);

impl SocketDirectory {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("pintle-tour-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("cannot make a directory for sockets at {}: {error}", path.display()));
        Self(path)
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        // Nothing depends on it: what stays is an empty directory in the system's place for such.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A counter on a terminal, nothing elsewhere.
struct Progress {
    done: usize,
    total: usize,
    shown: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { done: 0, total, shown: std::io::stderr().is_terminal() }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.shown {
            eprint!("\r{} of {} cells", self.done, self.total);
            // A terminal that cannot be written to shows no progress; the table does not depend on it.
            let _ = std::io::stderr().flush();
        }
    }

    fn end(&self) {
        if self.shown {
            eprint!("\r{:30}\r", "");
        }
    }
}
