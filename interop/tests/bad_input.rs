//! What is not gRPC, not HTTP/2, or not possible gets a clear error, and the server serves on. On the real programs, over real sockets.

use pintle_tokio::{Code, glue::Raw};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

const RUNTIMES: [&str; 3] = ["tokio", "smol", "mio"];
/// Nothing here takes long; what takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn an_http_1_request_is_told_so() {
    for server in RUNTIMES.map(Server::start) {
        let answer = server.answer_to(b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let text = String::from_utf8_lossy(&answer);
        assert!(text.starts_with("HTTP/1.1 ") && text.to_ascii_uppercase().contains("HTTP/2"), "{}: answered {text:?}", server.runtime);
        server.must_serve();
    }
}

#[test]
fn tls_on_a_clear_port_is_closed() {
    // A ClientHello's record and handshake header, its version and the beginning of its random.
    let mut hello = vec![0x16, 3, 1, 0x02, 0, 1, 0, 0x01, 0xfc, 3, 3];
    hello.resize(517, 0x5a);
    for server in RUNTIMES.map(Server::start) {
        server.answer_to(&hello);
        server.must_serve();
    }
}

#[test]
fn random_octets_are_closed() {
    for server in RUNTIMES.map(Server::start) {
        for seed in 1..=20 {
            server.answer_to(&random(seed, 400));
            let after_the_preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), random(seed, 70_000)].concat();
            server.answer_to(&after_the_preface);
        }
        server.must_serve();
    }
}

#[test]
fn an_unknown_method_is_unimplemented() {
    for server in RUNTIMES.map(Server::start) {
        let status = call(&server.tcp, "/pintle.interop.Interop/Absent", b"");
        assert_eq!(status.code(), Code::Unimplemented, "{}: {status}", server.runtime);
        assert!(!status.message().is_empty(), "{}: it does not say what is missing", server.runtime);
        server.must_serve();
    }
}

#[test]
fn a_message_over_the_limit_names_limit_and_size() {
    for server in RUNTIMES.map(Server::start) {
        let status = call(&server.tcp, "/pintle.interop.Interop/Echo", &vec![0; 5_000_000]);
        assert_eq!(status.code(), Code::ResourceExhausted, "{}: {status}", server.runtime);
        let message = status.message();
        assert!(message.contains("5000000") && message.contains("4194304"), "{}: {message:?}", server.runtime);
        server.must_serve();
    }
}

#[test]
fn a_message_that_is_no_protobuf_is_internal() {
    for server in RUNTIMES.map(Server::start) {
        // Field 1, text, of 9 octets, of which one follows.
        let status = call(&server.tcp, "/pintle.interop.Interop/Echo", b"\x0a\x09x");
        assert_eq!(status.code(), Code::Internal, "{}: {status}", server.runtime);
        server.must_serve();
    }
}

#[test]
fn a_file_at_the_socket_path_stays_and_is_named() {
    for runtime in RUNTIMES {
        let file = scratch("file");
        fs::write(&file, "not a socket").expect("the scratch directory can be written to");
        let refused = refused(runtime, &format!("unix:{}", file.display()));
        assert!(refused.contains(&*file.to_string_lossy()), "{runtime}: {refused}");
        assert_eq!(fs::read_to_string(&file).expect("it is still there"), "not a socket");
        fs::remove_file(&file).expect("it is ours");
    }
}

#[test]
fn a_socket_in_use_is_named() {
    for server in RUNTIMES.map(Server::start) {
        for address in [&server.tcp, &server.uds] {
            let refused = refused(server.runtime, address);
            assert!(refused.contains(address.trim_start_matches("unix:")), "{}: {refused}", server.runtime);
        }
        server.must_serve();
    }
}

#[test]
fn a_client_says_what_it_met() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").to_string();
    for client in ["tokio", "mio", "mio-local"] {
        let (ok, refused) = run_client(client, &nobody);
        assert!(!ok && refused.contains(&nobody), "{client}, nobody there: {refused}");

        let http_1 = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let (ok, met) = run_client(client, &http_1);
        assert!(!ok && met.contains("UNAVAILABLE") && met.contains("HTTP/1"), "{client}, an HTTP/1.1 server: {met}");

        // A TLS alert, as a TLS port answers what is not TLS.
        let tls = answering(&[0x15, 3, 3, 0, 2, 2, 80]);
        let (ok, met) = run_client(client, &tls);
        assert!(!ok && met.contains("UNAVAILABLE") && met.contains("TLS"), "{client}, a TLS server: {met}");

        let silent = answering(b"");
        let (ok, met) = run_client(client, &silent);
        assert!(!ok && met.contains("UNAVAILABLE"), "{client}, a server that hangs up: {met}");
    }
}

/// A running `interop-server`; killed when dropped.
struct Server {
    runtime: &'static str,
    process: Child,
    tcp: String,
    uds: String,
}

impl Server {
    fn start(runtime: &'static str) -> Self {
        let socket = format!("unix:{}", scratch("socket").display());
        let mut process = Command::new(env!("CARGO_BIN_EXE_interop-server"))
            .args(["--runtime", runtime, "--listen", "127.0.0.1:0", "--listen", &socket])
            .stdout(Stdio::piped())
            .spawn()
            .expect("interop-server can be started");
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let mut address = || {
            let line = lines.next().expect("interop-server says where it listens").expect("its output is text");
            line.strip_prefix("listening ").expect("a line `listening ADDRESS`").to_owned()
        };
        let (tcp, uds) = (address(), address());
        Self { runtime, process, tcp, uds }
    }

    /// What the server sends back until it closes the connection.
    fn answer_to(&self, octets: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.tcp).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
        // It may have closed before all was written.
        let _ = stream.write_all(octets);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return answer,
                Ok(n) => answer.extend(&piece[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return answer,
                Err(error) => panic!("{}: the server does not close the connection: {error}", self.runtime),
            }
        }
    }

    fn must_serve(&self) {
        for address in [&self.tcp, &self.uds] {
            let (ok, output) = run_client("tokio", address);
            assert!(ok, "{} does not serve on: {output}", self.runtime);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is ours, and it may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(self.uds.trim_start_matches("unix:"));
    }
}

/// Starts a server that cannot listen at `address` and answers what it says.
fn refused(runtime: &str, address: &str) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_interop-server"))
        .args(["--runtime", runtime, "--listen", address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("interop-server can be started");
    // If it listens after all, its first line comes; if not, the end of its output.
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("its output is text");
    if !line.is_empty() {
        let _ = process.kill();
    }
    let Output { status, stderr, .. } = process.wait_with_output().expect("interop-server can be waited for");
    assert!(line.is_empty() && !status.success(), "{runtime} listens at {address}, which was taken");
    String::from_utf8_lossy(&stderr).into_owned()
}

fn run_client(runtime: &str, target: &str) -> (bool, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_interop-client"))
        .args(["--runtime", runtime, "--target", target, "--case", "unary"])
        .output()
        .expect("interop-client can be started");
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// How a call with these octets as its message ends, which must not be OK.
fn call(address: &str, method: &'static str, message: &[u8]) -> pintle_tokio::Status {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = runtime.block_on(async {
        let channel = pintle_tokio::connect(address).await.expect("the server accepts");
        channel.unary::<Raw, Raw>(method, &message.to_vec().into()).deadline(PATIENCE).await
    });
    outcome.expect_err("this call cannot succeed")
}

/// A server that answers these octets to whatever comes first, and closes. Its address.
fn answering(octets: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut first = [0; 1024];
            // The client's preface; a client that is gone already needs no answer.
            let _ = stream.read(&mut first);
            let _ = stream.write_all(octets);
        }
    });
    address
}

/// A path of its own for each use, in the directory that cargo provides for this.
fn scratch(what: &str) -> PathBuf {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    // Short: the path of a Unix socket has at most 107 octets.
    std::env::temp_dir().join(format!("pintle-{}-{next}-{what}", std::process::id()))
}

/// Octets from a small generator (xorshift64), the same for the same seed.
fn random(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}
