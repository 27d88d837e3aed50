//! What every load generator does alike: arguments, CPU clocks, what comes back is checked, one line of figures.

use crate::echo::Msg;
use bytes::Bytes;
use std::{collections::HashMap, fs, time::Instant};

/// `ADDRESS key=value ...` of a generator's command line.
#[derive(Debug)]
pub struct Args {
    /// `host:port` or `unix:path`.
    pub address: String,
    values: HashMap<String, String>,
}

impl Args {
    /// Of this process.
    ///
    /// # Panics
    /// There is no address, or a word that is not `key=value`.
    #[must_use]
    pub fn take() -> Self {
        let mut words = std::env::args().skip(1);
        let address = words.next().expect("usage: ADDRESS key=value ...");
        let values = words.map(|word| word.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())).expect("key=value")).collect();
        Self { address, values }
    }

    /// A word, or what it is if nothing was said.
    #[must_use]
    pub fn word(&self, key: &str, default: &str) -> String {
        self.values.get(key).map_or_else(|| default.to_owned(), Clone::clone)
    }

    /// A number, or what it is if nothing was said.
    ///
    /// # Panics
    /// It is none.
    #[must_use]
    pub fn number(&self, key: &str, default: usize) -> usize {
        self.values.get(key).map_or(default, |value| value.parse().expect("a number"))
    }

    /// The message that is sent: `size` octets of payload.
    #[must_use]
    pub fn message(&self) -> Msg {
        still(&Msg { payload: Bytes::from(vec![b'x'; self.number("size", 8)]) })
    }
}

/// The same message, of octets that stay for as long as the process lives. What is sent again and again should not cost a reference count
/// each time: in a burst that is half of what a small message costs, and it says nothing about gRPC.
#[must_use]
pub fn still(message: &Msg) -> Msg {
    Msg { payload: Bytes::from_static(message.payload.to_vec().leak()) }
}

/// Every message is counted, every hundredth compared.
#[derive(Debug)]
pub struct Check {
    wanted: Bytes,
    /// So many came.
    pub came: usize,
}

impl Check {
    /// For messages that all equal this one.
    #[must_use]
    pub fn new(message: &Msg) -> Self {
        Self { wanted: message.payload.clone(), came: 0 }
    }

    /// One came.
    ///
    /// # Panics
    /// It is not what was sent.
    pub fn one(&mut self, message: &Msg) {
        if self.came.is_multiple_of(100) {
            assert_eq!(message.payload, self.wanted, "message {} is not what was sent", self.came);
        }
        self.came += 1;
    }

    /// All must be here.
    ///
    /// # Panics
    /// They are not.
    pub fn all(&self, count: usize) {
        assert_eq!(self.came, count, "messages went missing, or came twice");
    }
}

/// Nanoseconds of CPU that the threads of a process have used.
#[must_use]
pub fn cpu_of(pid: &str) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok();
    threads.filter_map(|thread| of(thread.ok()?)).sum()
}

/// Clocks that run while something is measured.
#[derive(Debug)]
pub struct Clocks {
    server: String,
    began: Instant,
    client_ns: u64,
    server_ns: u64,
}

impl Clocks {
    /// Now. The server is the process `pid=` of the arguments.
    #[must_use]
    pub fn start(args: &Args) -> Self {
        let server = args.word("pid", "0");
        let server_ns = cpu_of(&server);
        Self { server_ns, server, client_ns: cpu_of("self"), began: Instant::now() }
    }

    /// One line: how many a second, and the CPU of both ends for each, in nanoseconds.
    pub fn report(&self, what: &str, args: &Args, count: usize) {
        let seconds = self.began.elapsed().as_secs_f64();
        let each = |from: u64, pid: &str| (cpu_of(pid) - from) as f64 / count as f64;
        let (client, server) = (each(self.client_ns, "self"), each(self.server_ns, &self.server));
        let (size, rate) = (args.number("size", 8), count as f64 / seconds);
        println!("what={what} size={size} n={count} per_s={rate:.0} client_ns={client:.1} server_ns={server:.1}");
    }
}
