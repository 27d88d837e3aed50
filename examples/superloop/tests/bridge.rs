//! The host program: real clients, through a socket and a pseudo-terminal.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

#[allow(dead_code, unused_imports, unreachable_pub, reason = "generated")]
mod client {
    include!(concat!(env!("OUT_DIR"), "/mio/pintle.rs"));
}
use client::tour::{Letter, Receipt, Subscription, TourClient};

/// Nothing here takes long; what takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program, ended with the test.
struct Host {
    process: Child,
    address: String,
}

impl Host {
    fn start() -> Self {
        Self::on(&[])
    }

    /// On the line that `args` name.
    fn on(args: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_superloop-host"))
            .args(["--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().expect("it was piped")).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening ").unwrap_or_else(|| panic!("it said {line:?}")).to_owned();
        Self { process, address }
    }

    /// One client after the other: each makes a call of each shape.
    fn must_serve(&self) {
        let client = TourClient::new(pintle_mio::connect_local(&self.address).expect("it listens"));
        let receipt = client.post(letter(0)).deadline(PATIENCE).wait().expect("unary");
        assert_eq!(receipt, Receipt { letters: 1, octets: 256, last_to: "reader 0".into() });

        let mut out = client.post_all().deadline(PATIENCE).open().expect("client streaming");
        for number in 0..50 {
            out.send(letter(number)).expect("a letter goes out");
        }
        assert_eq!(out.finish().expect("client streaming"), Receipt { letters: 50, octets: 50 * 256, last_to: "reader 49".into() });

        let wish = Subscription { to: "Ada".into(), letters: 100, octets: 245 };
        let mut letters = client.subscribe(wish).deadline(PATIENCE).open().expect("server streaming");
        for number in 0..100 {
            let expected = Letter { to: "Ada".into(), content: vec![b'.'; 245].into(), number };
            assert_eq!(letters.next().expect("server streaming"), Some(expected));
        }
        assert_eq!(letters.next().expect("server streaming"), None);

        let (mut out, mut answers) = client.correspond().deadline(PATIENCE).open().expect("bidirectional");
        for number in 0..20 {
            out.send(letter(number)).expect("a letter goes out");
            let expected = Letter { to: format!("re: reader {number}"), ..letter(number) };
            assert_eq!(answers.next().expect("bidirectional"), Some(expected));
        }
        out.close();
        assert_eq!(answers.next().expect("bidirectional"), None);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It has no end of its own. One that is gone already was missed by the test.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Every octet there is, the line's escape among them.
fn letter(number: u32) -> Letter {
    Letter { to: format!("reader {number}"), content: (0..=255).collect::<Vec<u8>>().into(), number }
}

#[test]
fn four_shapes_for_one_client_after_the_other() {
    let host = Host::start();
    for _ in 0..3 {
        host.must_serve();
    }
}

#[test]
fn clients_that_vanish_do_not_stand_in_the_way() {
    let host = Host::start();
    // Nothing said; half of the preface; the beginning of a frame.
    for said in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x40\x01"] {
        let mut client = TcpStream::connect(&host.address).expect("it listens");
        client.write_all(said).expect("it is taken");
        drop(client);
        host.must_serve();
    }
    // In the middle of a stream that goes on for ever and that nobody reads.
    let client = TourClient::new(pintle_mio::connect_local(&host.address).expect("it listens"));
    let wish = Subscription { to: "Ada".into(), letters: u32::MAX, octets: 900 };
    let mut letters = client.subscribe(wish).deadline(PATIENCE).open().expect("server streaming");
    for _ in 0..10 {
        assert!(letters.next().expect("server streaming").is_some());
    }
    drop((letters, client));
    host.must_serve();
}

#[test]
fn who_is_no_grpc_client_is_cut_off() {
    let host = Host::start();
    let mut client = TcpStream::connect(&host.address).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    client.write_all(b"GET / HTTP/1.1\r\nHost: device\r\n\r\n").expect("it is taken");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the connection ends");
    // The next one may wait while the last one is still there.
    let mut silent = TcpStream::connect(&host.address).expect("it listens");
    silent.shutdown(Shutdown::Write).expect("it is connected");
    silent.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    assert_eq!(silent.read(&mut [0]).expect("the connection ends"), 0);
    host.must_serve();
}

/// Noise can make a mark on the way to the device, which then begins something else: the client must not wait for it.
#[test]
fn a_client_that_the_device_forgot_is_sent_away() {
    let path = std::env::temp_dir().join(format!("superloop-bridge-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).expect("a socket");
    let host = Host::on(&[&format!("unix:{}", path.display())]);
    let (mut device, _) = listener.accept().expect("the line");
    std::fs::remove_file(&path).expect("it was bound");

    let mut client = TcpStream::connect(&host.address).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).expect("a socket has one");
    let mut mark = [0; 2];
    device.read_exact(&mut mark).expect("a client begins");
    device.write_all(&[&mark[..], b"hello"].concat()).expect("the line");
    let mut hello = [0; 5];
    client.read_exact(&mut hello).expect("the device answered");

    let [escape, number] = mark;
    device.write_all(&[escape, if number == 0xBF { 0x80 } else { number + 1 }]).expect("the line");
    assert_eq!(client.read(&mut [0]).expect("no wait without end"), 0);
}
