//! The two programs, run against each other. Every wait is bounded.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// More than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// The server, until it is dropped.
struct Server {
    process: Child,
    /// Where it listens: over TCP and on a Unix socket.
    addresses: Vec<String>,
}

impl Server {
    /// `name` keeps the sockets of tests apart. `files`: how many descriptors it may have.
    fn start(name: &str, files: u32) -> Self {
        let socket = env::temp_dir().join(format!("pintle-{name}-{}.sock", std::process::id()));
        let mut process = Command::new("sh")
            .args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_poll-server")])
            .args(["--listen", "127.0.0.1:0", "--listen", &format!("unix:{}", socket.display())])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh is there");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let addresses = lines.take(2).map(|line| line.expect("text").strip_prefix("listening ").expect("an address").to_owned()).collect();
        Self { process, addresses }
    }

    fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).expect("it runs").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself: then a test has failed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the client says of a call of each shape.
fn call(address: &str) -> String {
    let mut client = Command::new(env!("CARGO_BIN_EXE_poll-client")).arg(address).stdout(Stdio::piped()).spawn().expect("it was built");
    let begin = Instant::now();
    let status = loop {
        match client.try_wait().expect("it is ours") {
            Some(status) => break status,
            None if begin.elapsed() < LONG => thread::sleep(Duration::from_millis(5)),
            None => {
                client.kill().expect("it is ours");
                panic!("the client does not end");
            }
        }
    };
    let mut said = String::new();
    client.stdout.take().expect("it is piped").read_to_string(&mut said).expect("text");
    assert!(status.success(), "{status}, after it said:\n{said}");
    said
}

const SAID: &str = r#"unary:            Receipt { letters: 1, octets: 5, last_to: "Ada" }, postmark Some("today")
client streaming: Receipt { letters: 3, octets: 15, last_to: "Ada" }
server streaming: Letter { to: "Ada", content: b"..........", number: 0 }
server streaming: Letter { to: "Ada", content: b"..........", number: 1 }
server streaming: Letter { to: "Ada", content: b"..........", number: 2 }
bidirectional:    Some(Letter { to: "re: Ada", content: b"hello", number: 0 })
bidirectional:    Some(Letter { to: "re: Ada", content: b"hello", number: 1 })
bidirectional:    Some(Letter { to: "re: Ada", content: b"hello", number: 2 })
an error:         INVALID_ARGUMENT: a letter needs a name on it (from the peer)
a deadline:       DEADLINE_EXCEEDED: the deadline passed
"#;

#[test]
fn four_shapes_over_tcp_and_a_unix_socket_by_many_at_once() {
    let server = Server::start("poll-loop-shapes", 1_024);
    thread::scope(|scope| {
        for address in server.addresses.iter().cycle().take(8) {
            scope.spawn(move || assert_eq!(call(address), SAID));
        }
    });
}

#[test]
fn a_server_short_of_descriptors_serves_again_when_it_has_some() {
    const FILES: u32 = 20;
    let server = Server::start("poll-loop-files", FILES);
    let crowd: Vec<TcpStream> = (0..2 * FILES).map(|_| TcpStream::connect(&server.addresses[0]).expect("it queues")).collect();
    let begin = Instant::now();
    while server.open_files() < FILES as usize {
        assert!(begin.elapsed() < LONG, "the server takes no more than {} of {FILES} files", server.open_files());
        thread::sleep(Duration::from_millis(5));
    }
    drop(crowd);
    for address in &server.addresses {
        assert_eq!(call(address), SAID);
    }
}
