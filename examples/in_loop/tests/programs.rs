//! The programs, run. Every wait is bounded.

use pintle_example_poll_loop::tour::{Letter, Subscription, TourClient};
use pintle_mio::Code;
use std::{
    env,
    io::{BufRead, BufReader, Lines, Read},
    net::UdpSocket,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// More than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// A program, until it is dropped.
struct Program(Child);

impl Program {
    fn start(path: &str, arguments: &[&str]) -> (Self, ChildStdout) {
        let mut process = Command::new(path).args(arguments).stdout(Stdio::piped()).spawn().expect("it was built");
        let said = process.stdout.take().expect("it is piped");
        (Self(process), said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself, as it should or with a test that has failed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_a_client_and_a_gateway_in_one_loop() {
    let (mut program, mut said) = Program::start(env!("CARGO_BIN_EXE_in-loop"), &[]);
    let begin = Instant::now();
    let status = loop {
        match program.0.try_wait().expect("it is ours") {
            Some(status) => break status,
            None => assert!(begin.elapsed() < LONG, "it does not end"),
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut text = String::new();
    said.read_to_string(&mut text).expect("text");
    assert!(status.success(), "{status}:\n{text}");
    // Receipts and letters are of different calls, which may overtake each other.
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("closed"), "{text}");
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "a datagram from Ada",
            "a datagram from Edsger",
            "a datagram from Grace",
            "a receipt for Ada",
            "a receipt for Edsger",
            "a receipt for Grace",
            "letter 0 for the gateway: 5 octets",
            "letter 1 for the gateway: 5 octets",
            "letter 2 for the gateway: 5 octets",
            "that is all: shutting down",
        ],
        "{text}"
    );
}

fn address(lines: &mut Lines<BufReader<ChildStdout>>, word: &str) -> String {
    let line = lines.next().expect("it says where it listens").expect("text");
    line.strip_prefix(word).unwrap_or_else(|| panic!("{word} in {line}")).to_owned()
}

#[test]
fn calls_and_datagrams_are_answered_by_the_same_loop() {
    let socket = env::temp_dir().join(format!("pintle-in-loop-{}.sock", std::process::id()));
    let unix = format!("unix:{}", socket.display());
    let (_program, said) = Program::start(env!("CARGO_BIN_EXE_in-loop-server"), &["--listen", "127.0.0.1:0", "--listen", &unix]);
    let mut lines = BufReader::new(said).lines();
    let echo = address(&mut lines, "echo ");
    let addresses = [address(&mut lines, "listening "), address(&mut lines, "listening ")];
    assert_eq!(addresses[1], unix);

    let udp = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    udp.set_read_timeout(Some(LONG)).expect("not zero");
    for address in &addresses {
        let client = TourClient::new(pintle_mio::connect_local(address).expect("it listens"));
        four_shapes(&client);
        udp.send_to(b"hello", &echo).expect("it listens");
        let mut datagram = [0; 16];
        let n = udp.recv(&mut datagram).expect("it sends back");
        assert_eq!(&datagram[..n], b"hello");
        // Answered by another thread, when nothing else happens in the loop.
        let receipt = client.post(letter(0)).metadata("x-delay-ms", "20").deadline(LONG).wait().expect("a receipt");
        assert_eq!(receipt.last_to, "Ada");
    }
}

fn letter(number: u32) -> Letter {
    Letter { to: "Ada".into(), content: vec![7; 100_000].into(), number }
}

fn four_shapes(client: &TourClient<pintle_mio::LocalClient>) {
    let receipt = client.post(letter(0)).deadline(LONG).wait().expect("a receipt");
    assert_eq!((receipt.letters, receipt.octets), (1, 100_000));
    let status = client.post(Letter::default()).deadline(LONG).wait().expect_err("a letter without a name");
    assert_eq!(status.code(), Code::InvalidArgument);

    let mut out = client.post_all().deadline(LONG).open().expect("it starts");
    (0..10).for_each(|number| out.send(letter(number)).expect("it is taken"));
    let receipt = out.finish().expect("a receipt");
    assert_eq!((receipt.letters, receipt.octets), (10, 1_000_000));

    let mut letters =
        client.subscribe(Subscription { to: "Ada".into(), letters: 10, octets: 100_000 }).deadline(LONG).open().expect("it starts");
    for number in 0..10 {
        let letter = letters.next().expect("no error").expect("ten of them");
        assert_eq!((letter.number, letter.content.len()), (number, 100_000));
    }
    assert!(matches!(letters.next(), Ok(None)));

    let (mut out, mut answers) = client.correspond().deadline(LONG).open().expect("it starts");
    for number in 0..10 {
        out.send(letter(number)).expect("it is taken");
        let answer = answers.next().expect("no error").expect("one for each");
        assert_eq!((answer.to.as_str(), answer.number), ("re: Ada", number));
    }
    out.close();
    assert!(matches!(answers.next(), Ok(None)));
}
