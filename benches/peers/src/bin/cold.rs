//! From the start of a process to its first answer: `cold ADDRESS n=5 -- SERVER WORDS...`, each time a new process. Milliseconds, one a line.

use pintle_peers::raw::{Client, body};
use std::{
    error::Error,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let (address, count) = (&words[1], words[2].strip_prefix("n=").ok_or("n=?")?.parse::<usize>()?);
    let body = body(8);
    for _ in 0..count {
        if let Some(path) = address.strip_prefix("unix:") {
            let _ = std::fs::remove_file(path);
        }
        let began = Instant::now();
        let mut server = Command::new(&words[4]).args(&words[5..]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let answered = first_answer(address, &body, began);
        server.kill()?;
        server.wait()?;
        println!("{:.3}", answered?.as_secs_f64() * 1e3);
        // The port must be free again.
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn first_answer(address: &str, body: &[u8], began: Instant) -> Result<Duration, Box<dyn Error>> {
    while began.elapsed() < Duration::from_secs(20) {
        if let Ok(mut client) = Client::connect(address) {
            client.call(body)?;
            return Ok(began.elapsed());
        }
        sleep(Duration::from_micros(20));
    }
    Err("nobody listens".into())
}
