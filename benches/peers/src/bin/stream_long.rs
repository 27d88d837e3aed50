//! One large message over a long link, beside TCP itself: `stream_long serve ADDRESS [KiB of connection window]` at one end, `stream_long ADDRESS [n=7] [size=10000000]`
//! at the other. TCP's port is the next one. Prints the time of each, in turn, and their medians' ratio.

use bytes::Bytes;
use pintle_mio::{Connect, Receiver, Replies, Server, Status, Unary};
use pintle_peers::{
    echo::{
        Msg, StreamReq, Sum,
        on_mio::{EchoClient, EchoServer, EchoService},
    },
    load::Args,
};
use std::{
    error::Error,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

const LIMIT: u32 = 16 << 20;

struct Service;

impl EchoService for Service {
    fn unary(&mut self, message: Msg, call: Unary<Msg>) {
        call.reply(message);
    }
    fn server_stream(&mut self, _: StreamReq, mut out: Replies<Msg>) {
        out.finish(Status::ok());
    }
    fn client_stream(&mut self, call: Unary<Sum>) -> Box<dyn Receiver<Msg>> {
        Box::new(Summing(Sum::default(), Some(call)))
    }
    fn bidi(&mut self, _: Replies<Msg>) -> Box<dyn Receiver<Msg>> {
        Box::new(Summing(Sum::default(), None))
    }
}

struct Summing(Sum, Option<Unary<Sum>>);

impl Receiver<Msg> for Summing {
    fn on_message(&mut self, message: Msg) {
        self.0.messages += 1;
        self.0.bytes += message.payload.len() as u64;
    }
    fn on_end(&mut self) {
        if let Some(call) = self.1.take() {
            call.reply(self.0);
        }
    }
}

fn beside(address: &str) -> Result<String, Box<dyn Error>> {
    let (host, port) = address.rsplit_once(':').ok_or("host:port")?;
    Ok(format!("{host}:{}", port.parse::<u16>()? + 1))
}

/// Reads messages of eight octets of length and so many octets, and answers each with one.
fn serve_tcp(listener: TcpListener) {
    for stream in listener.incoming().flatten() {
        thread::spawn(move || -> std::io::Result<()> {
            let mut stream = stream;
            stream.set_nodelay(true)?;
            let mut buffer = vec![0; 128 << 10];
            loop {
                let mut head = [0; 8];
                stream.read_exact(&mut head)?;
                let mut left = u64::from_be_bytes(head) as usize;
                while left > 0 {
                    let most = left.min(buffer.len());
                    left -= stream.read(&mut buffer[..most])?;
                }
                stream.write_all(&[1])?;
            }
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == "serve") {
        let address = words.get(2).ok_or("an address")?;
        let listener = TcpListener::bind(beside(address)?)?;
        thread::spawn(move || serve_tcp(listener));
        let window = words.get(3).map(|kib| kib.parse::<u32>()).transpose()?;
        let server = Server::new().configure(|config| config.max_recv_message = LIMIT).configure(room);
        let server = server.configure(|config| config.connection_window = window.map_or(config.connection_window, |kib| kib << 10));
        return Ok(server.add(|| EchoServer::new(Service)).listen(address)?.run()?);
    }
    let args = Args::take();
    let payload = Bytes::from(vec![b'x'; args.number("size", 10_000_000)]);
    let client = EchoClient::new(Connect::new().configure(|config| config.max_recv_message = LIMIT).configure(room).local(&args.address)?);
    let mut tcp = TcpStream::connect(beside(&args.address)?)?;
    tcp.set_nodelay(true)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..args.number("n", 7) {
        let began = Instant::now();
        tcp.write_all(&(payload.len() as u64).to_be_bytes())?;
        tcp.write_all(&payload)?;
        tcp.read_exact(&mut [0])?;
        let raw = began.elapsed();
        let began = Instant::now();
        let mut upload = client.client_stream().open()?;
        upload.send(Msg { payload: payload.clone() }).map_err(|e| e.to_string())?;
        let sum = upload.finish()?;
        let pintle = began.elapsed();
        assert_eq!(sum.bytes, payload.len() as u64);
        eprintln!("round {round}: tcp {raw:?} pintle {pintle:?}");
        if round > 1 {
            // The first two only warm both up.
            theirs.push(raw);
            ours.push(pintle);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    let (raw, pintle) = (median(&mut theirs), median(&mut ours));
    println!("what=long tcp_ms={:.1} pintle_ms={:.1} ratio={:.2}", raw * 1e3, pintle * 1e3, pintle / raw);
    Ok(())
}

/// The budget has to hold the windows and one such message.
fn room(config: &mut pintle_mio::Config) {
    config.recv_budget =
        config.recv_budget.max(u64::from(config.max_concurrent_streams) * u64::from(config.initial_window) + u64::from(LIMIT));
}
