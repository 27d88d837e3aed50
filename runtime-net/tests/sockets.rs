//! Addresses, listeners and accept errors against the real kernel.

use pintle_net::{AcceptError, Address, AddressProblem, BindError, BindOptions, Listener, Stream, accept_error, connect, instant, now};
use std::{
    fs, io,
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::PathBuf,
    time::Duration,
};

const WAIT: Duration = Duration::from_secs(5);

struct Dir(PathBuf);
impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pintle-net-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory is writable");
        Self(path)
    }
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    fn unix(&self, name: &str) -> Address {
        Address::Unix(self.at(name))
    }
}
impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn addresses_that_are_right() {
    for (text, want) in [
        ("localhost:50051", Address::Tcp("localhost:50051".into())),
        ("127.0.0.1:0", Address::Tcp("127.0.0.1:0".into())),
        ("[::1]:443", Address::Tcp("[::1]:443".into())),
        ("unix:/run/x.sock", Address::Unix("/run/x.sock".into())),
        ("unix:///run/x.sock", Address::Unix("/run/x.sock".into())),
        ("unix:x.sock", Address::Unix("x.sock".into())),
    ] {
        assert_eq!(Address::parse(text).as_ref(), Ok(&want), "{text}");
    }
    assert_eq!(Address::parse("unix:/run/x.sock").unwrap().authority(), "localhost");
    assert_eq!(Address::parse("[::1]:443").unwrap().authority(), "[::1]:443");
    assert!(Address::parse(&format!("unix:/{}", "a".repeat(106))).is_ok());
}

#[test]
fn addresses_that_are_wrong_say_what_to_write() {
    use AddressProblem as P;
    for (text, want, hint) in [
        ("", P::Empty, "localhost:50051"),
        (" ", P::Empty, "localhost:50051"),
        ("localhost", P::NoPort, "localhost:50051"),
        ("[::1]", P::NoPort, "[::1]:50051"),
        (":50051", P::NoHost, "localhost:50051"),
        ("50051", P::PortOnly, "write 127.0.0.1:50051 "),
        (":", P::Port, "0 to 65535"),
        ("localhost:", P::Port, "0 to 65535"),
        ("localhost:65536", P::Port, "0 to 65535"),
        ("localhost:+80", P::Port, "0 to 65535"),
        ("localhost:http", P::Port, "0 to 65535"),
        ("me@host:80", P::Host, "`@`"),
        ("[localhost]:80", P::Host, "IPv6 address in brackets"),
        (" localhost:80", P::Host, "without spaces"),
        ("::1", P::Brackets, "write [::1]:50051"),
        ("::1:50051", P::Brackets, "write [::1]:50051"),
        ("fe80::1:443", P::Brackets, "write [fe80::1]:443, or [fe80::1:443]:50051"),
        ("localhost:80:80", P::Brackets, "more than one `:`"),
        ("https://a.example:443", P::Https, "TLS, which Pintle does not speak yet"),
        ("http://a.example:80", P::Url, "here a.example:80"),
        ("http://a.example/path", P::Url, "here a.example:50051"),
        ("http://", P::Url, "here localhost:50051"),
        ("dns:///a.example:80", P::Url, "here a.example:80"),
        ("ipv4:127.0.0.1:80", P::Url, "here 127.0.0.1:80"),
        ("ipv6:[::1]:80", P::Url, "here [::1]:80"),
        ("localhost:50051/", P::Url, "here localhost:50051"),
        ("/run/x.sock", P::BarePath, "unix:/run/x.sock"),
        ("./x", P::BarePath, "unix:./x"),
        ("x.sock", P::BarePath, "unix:x.sock"),
        ("unix:", P::NoPath, "unix:/path"),
        ("unix://", P::NoPath, "unix:/path"),
        ("unix://run/x.sock", P::UnixHost, "write unix:///run/x.sock (from the root) or unix:run/x.sock "),
        ("unix:\0name", P::Abstract, "not supported"),
        ("unix-abstract:name", P::Abstract, "not supported"),
    ] {
        let error = Address::parse(text).expect_err(text);
        assert_eq!(error.problem, want, "{text}");
        assert!(error.to_string().contains(hint), "{text}: {error}");
        assert!(error.to_string().contains(&format!("`{}`", text.escape_debug())) || want == P::Empty, "{text}: {error}");
        assert_eq!(format!("{error:?}"), error.to_string(), "main() shows the same text");
    }
    let error = Address::parse(&format!("unix:/{}", "a".repeat(107))).expect_err("108 octets");
    assert_eq!(error.problem, P::PathTooLong { octets: 108 });
    assert!(error.to_string().contains("a path of 108 octets: a Unix socket's path may have 107"), "{error}");
    // A host may be called as a scheme is.
    assert!(Address::parse("dns:50051").is_ok());
}

/// What is suggested works: an address that is taken from the message is a valid one.
#[test]
fn what_is_suggested_is_valid() {
    for text in
        ["", "localhost", ":80", "80", "::1", "::1:80", "fe80::1:443", "http://a.example", "dns:///b:1", "/run/x", "unix://run/x", "unix:"]
    {
        let shown = Address::parse(text).expect_err(text).to_string();
        let mut words = shown.split_whitespace().map(|word| word.trim_end_matches([',', ';']));
        assert!(words.any(|word| Address::parse(word).is_ok()), "{shown}");
    }
}

#[test]
fn errors_read_the_same_from_main() {
    let address = Address::parse("127.0.0.1:0").unwrap();
    let listener = Listener::bind(&address, &BindOptions::default()).unwrap();
    let taken = Listener::bind(&listener.local_address().unwrap(), &BindOptions::default()).unwrap_err();
    assert_eq!(format!("{taken:?}"), taken.to_string());
    let nobody = connect(&Address::Unix("/nowhere/to/be.sock".into()), WAIT).unwrap_err();
    assert_eq!(format!("{nobody:?}"), nobody.to_string());
    assert!(nobody.to_string().starts_with("cannot connect to unix:/nowhere/to/be.sock: "), "{nobody}");
}

#[test]
fn a_port_in_use_is_an_error_with_the_address() {
    let any = Address::parse("127.0.0.1:0").unwrap();
    for reuse_port in [false, true] {
        let mut options = BindOptions::default();
        options.reuse_port = reuse_port;
        let first = Listener::bind(&any, &options).unwrap();
        let address = first.local_address().unwrap();
        let error = Listener::bind(&address, &options).expect_err("two servers on one port");
        assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
}

#[test]
fn siblings_share_a_port_and_every_connection_is_accepted_once() {
    let mut options = BindOptions::default();
    options.reuse_port = true;
    let first = Listener::bind(&Address::parse("127.0.0.1:0").unwrap(), &options).unwrap();
    let second = first.sibling(&options).unwrap();
    let address = first.local_address().unwrap();
    assert_eq!(second.local_address().unwrap(), address);
    let streams: Vec<Stream> = (0..32).map(|_| connect(&address, WAIT).unwrap()).collect();
    let accepted = [&first, &second].map(|l| {
        let Listener::Tcp(l) = l else { panic!("not TCP") };
        std::iter::from_fn(|| l.accept().ok()).count()
    });
    assert_eq!(accepted.iter().sum::<usize>(), streams.len());
}

#[test]
fn a_unix_socket_lives_as_long_as_its_listener() {
    let dir = Dir::new("life");
    let mut options = BindOptions::default();
    options.unix_mode = Some(0o600);
    let listener = Listener::bind(&dir.unix("s"), &options).unwrap();
    assert_eq!(fs::metadata(dir.at("s")).unwrap().permissions().mode() & 0o777, 0o600);
    let sibling = listener.sibling(&options).unwrap();
    drop(sibling);
    let Stream::Unix(mut client) = connect(&dir.unix("s"), WAIT).unwrap() else { panic!("not Unix") };
    let Listener::Unix(accepting, file) = listener else { panic!("not Unix") };
    let (mut server, _) = accepting.accept().unwrap();
    client.write_all(b"x").unwrap();
    let mut octet = [0];
    server.read_exact(&mut octet).unwrap();
    drop((accepting, file));
    assert!(!dir.at("s").exists());
}

#[test]
fn nobody_finds_the_file_dead_while_it_is_there() {
    let dir = Dir::new("order");
    let listener = Listener::bind(&dir.unix("s"), &BindOptions::default()).unwrap();
    let Listener::Unix(accepting, file) = listener else { panic!("not Unix") };
    drop(accepting);
    let error = Listener::bind(&dir.unix("s"), &BindOptions::default()).expect_err("its file has yet to go");
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    drop(file);
    assert!(!dir.at("s").exists());
    Listener::bind(&dir.unix("s"), &BindOptions::default()).expect("nobody listens there any more");
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let dir = Dir::new("stale");
    drop(UnixListener::bind(dir.at("s")).unwrap());
    assert!(dir.at("s").exists(), "std leaves the file behind");
    let listener = Listener::bind(&dir.unix("s"), &BindOptions::default()).unwrap();
    let error = Listener::bind(&dir.unix("s"), &BindOptions::default()).expect_err("two servers on one path");
    assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
    connect(&dir.unix("s"), WAIT).expect("the first server is untouched");
    drop(listener);
}

#[test]
fn what_is_no_socket_is_never_removed() {
    let dir = Dir::new("file");
    fs::write(dir.at("notes.txt"), "precious").unwrap();
    fs::create_dir(dir.at("sub")).unwrap();
    std::os::unix::fs::symlink(dir.at("notes.txt"), dir.at("link")).unwrap();
    for name in ["notes.txt", "sub", "link"] {
        let error = Listener::bind(&dir.unix(name), &BindOptions::default()).expect_err(name);
        assert!(matches!(error, BindError::NotASocket { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
    assert_eq!(fs::read_to_string(dir.at("notes.txt")).unwrap(), "precious");
}

#[test]
fn a_file_that_took_the_sockets_place_stays() {
    let dir = Dir::new("replaced");
    let listener = Listener::bind(&dir.unix("s"), &BindOptions::default()).unwrap();
    fs::remove_file(dir.at("s")).unwrap();
    fs::write(dir.at("s"), "other").unwrap();
    drop(listener);
    assert_eq!(fs::read_to_string(dir.at("s")).unwrap(), "other");
}

#[test]
fn accept_errors_end_nothing_but_a_broken_listener() {
    let retry = [io::ErrorKind::ConnectionAborted, io::ErrorKind::Interrupted];
    for kind in retry {
        assert_eq!(accept_error(&kind.into(), 0), AcceptError::Retry);
    }
    // EMFILE, ENFILE and ENOMEM have the same numbers on every Unix; errno(3).
    for errno in [24, 23, 12] {
        let error = io::Error::from_raw_os_error(errno);
        assert_eq!(accept_error(&error, 0), AcceptError::BackOff(Duration::from_millis(50)), "{error}");
        assert_eq!(accept_error(&error, 1), AcceptError::BackOff(Duration::from_millis(100)), "{error}");
        assert_eq!(accept_error(&error, u32::MAX), AcceptError::BackOff(Duration::from_secs(1)), "{error}");
    }
    // Whatever else the system may say (errno(3)), the listener listens on; EBADF and EINVAL are no news of a connection.
    for errno in 1..=133 {
        let error = io::Error::from_raw_os_error(errno);
        assert_eq!(accept_error(&error, 0) == AcceptError::Fatal, [9, 22].contains(&errno), "{errno}: {error}");
    }
}

#[test]
fn connect_errors_name_the_address() {
    let dir = Dir::new("none");
    let error = connect(&dir.unix("nobody"), WAIT).expect_err("nobody listens");
    assert!(error.to_string().contains("nobody"), "{error}");
    let closed = {
        let l = Listener::bind(&Address::parse("127.0.0.1:0").unwrap(), &BindOptions::default()).unwrap();
        l.local_address().unwrap()
    };
    let error = connect(&closed, WAIT).expect_err("nobody listens");
    assert!(error.to_string().contains(&closed.to_string()), "{error}");
    assert_eq!(error.source.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn connecting_to_a_full_unix_queue_ends_in_time() {
    let dir = Dir::new("full");
    let mut options = BindOptions::default();
    options.backlog = 1;
    let _listener = Listener::bind(&dir.unix("s"), &options).unwrap();
    let mut held = Vec::new();
    let error = loop {
        match connect(&dir.unix("s"), Duration::from_millis(50)) {
            Ok(stream) => held.push(stream),
            Err(e) => break e,
        }
        assert!(held.len() < 100, "the queue never fills");
    };
    assert_eq!(error.source.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn tcp_is_set_for_small_messages() {
    let l = Listener::bind(&Address::parse("127.0.0.1:0").unwrap(), &BindOptions::default()).unwrap();
    let Stream::Tcp(stream) = connect(&l.local_address().unwrap(), WAIT).unwrap() else { panic!("not TCP") };
    assert!(stream.nodelay().unwrap());
    #[cfg(target_os = "linux")]
    assert_eq!(socket2::SockRef::from(&stream).tcp_notsent_lowat().unwrap(), 128 << 10);
}

#[test]
fn the_clock_advances_and_agrees_with_std() {
    let (a, before) = (now(), std::time::Instant::now());
    std::thread::sleep(Duration::from_millis(2));
    let b = now();
    assert!(b > a);
    assert!(instant(b).unwrap() >= before);
    assert!(instant(pintle_core::Timestamp::MAX).is_none_or(|at| at > before));
}
