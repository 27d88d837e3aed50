//! X27: a server that runs out of descriptors neither ends nor spins, and serves on once there are some again.
use crate::common::{
    LIMIT, Mode, TestServer,
    greeter::{GreeterClient, HelloRequest},
    soon,
};
use crate::rt;
use std::{
    fs,
    future::IntoFuture,
    io::{BufRead, BufReader},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Set in the process that serves with few descriptors.
const SERVING: &str = "PINTLE_STARVED";

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    /// Processor time used so far, in ticks of 10 ms: fields 14 and 15 of proc_pid_stat(5).
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let after_name = stat.rsplit_once(") ").unwrap().1;
        after_name.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.0.id())).unwrap().count()
    }
}

#[test]
fn out_of_descriptors() {
    rt::run(async {
        if std::env::var_os(SERVING).is_some() {
            let server = TestServer::start(Mode::Spawn);
            println!("\nlistening {}", server.address());
            std::thread::sleep(4 * LIMIT);
            return;
        }
        let again = format!("ulimit -n 32 && {SERVING}=1 exec \"$0\" --exact starved::out_of_descriptors --nocapture");
        let exe = std::env::current_exe().unwrap();
        let mut server = Killed(Command::new("sh").args(["-c", &again]).arg(exe).stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("listening ").map(str::to_owned)).unwrap();

        // What a runtime opens with its first connection stays.
        let request = || HelloRequest { name: "x".to_owned(), count: 0 };
        let first = soon("connect", GreeterClient::connect(&address)).await.unwrap();
        soon("the first call", first.say_hello(request()).into_future()).await.unwrap();
        let before = server.descriptors();
        let clients: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(&address).unwrap()).collect();
        rt::sleep(Duration::from_millis(300)).await;
        // Who was there before is served on.
        for _ in 0..10 {
            soon("a call while it is starved", first.say_hello(request()).into_future()).await.unwrap();
        }
        let used = server.ticks();
        rt::sleep(Duration::from_secs(1)).await;
        let used = server.ticks() - used;
        assert!(used <= 50, "{used} ticks of 10 ms in a second: it spins");

        drop(clients);
        let client = soon("connect", GreeterClient::connect(&address)).await.unwrap();
        assert_eq!(soon("a call", client.say_hello(request()).into_future()).await.unwrap().message, "Hello x");
        drop(client);
        soon("its descriptors are back", async {
            while server.descriptors() > before {
                rt::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        drop(first);
    });
}
