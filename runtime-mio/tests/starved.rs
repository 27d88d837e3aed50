//! A server that runs out of descriptors neither ends nor spins, and serves on once there are some again.
#![cfg(target_os = "linux")]

mod common;

use common::{Fixture, LONG, glue::GreeterClient, request};
use pintle_mio::connect_local;
use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const AGAIN: &str = r#"ulimit -n 32 && PINTLE_STARVED=1 exec "$0" --exact out_of_descriptors --nocapture"#;

struct Killed(Child);
impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Clock ticks (10 ms) of processor time that a process has used: fields 14 and 15 of proc_pid_stat(5).
fn ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn out_of_descriptors() {
    if std::env::var_os("PINTLE_STARVED").is_some() {
        // The server, with its few descriptors. It lives until the other process has seen enough.
        let fixture = Fixture::new();
        println!("\nlistening {}", fixture.tcp);
        thread::sleep(2 * LONG);
        return;
    }
    let exe = std::env::current_exe().unwrap();
    let spawned = Command::new("sh").args(["-c", AGAIN]).arg(exe).stdout(Stdio::piped()).spawn().unwrap();
    let mut server = Killed(spawned);
    let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let address = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("listening ").map(str::to_owned)).unwrap();

    let first = GreeterClient::new(connect_local(&address).unwrap());
    let mut clients: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(&address).unwrap()).collect();
    thread::sleep(Duration::from_millis(200));
    // Who was there before is served on.
    for _ in 0..10 {
        assert_eq!(first.say_hello(request("you")).deadline(LONG).wait().unwrap().message, "hello you");
    }
    let before = ticks(server.0.id());
    thread::sleep(Duration::from_millis(1_000));
    let used = ticks(server.0.id()) - before;
    assert!(used <= 50, "{used} ticks of 10 ms in a second: it spins");
    clients.truncate(4);
    for _ in 0..3 {
        let client = GreeterClient::new(connect_local(&address).unwrap());
        assert_eq!(client.say_hello(request("you")).deadline(LONG).wait().unwrap().message, "hello you");
    }
    let open = || fs::read_dir(format!("/proc/{}/fd", server.0.id())).unwrap().count();
    drop((clients, first));
    // The process's own, the listeners, epoll and eventfd.
    for _ in 0..LONG.as_millis() / 10 {
        if open() < 16 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{} descriptors are still open", open());
}
