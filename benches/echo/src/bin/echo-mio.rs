//! The echo service on the mio loop: `echo-mio [streams=N] [connections=N] ADDRESS...`

use pintle_bench_echo::{
    Options, configured,
    echo::{Msg, StreamReq, Sum, on_mio::*},
    still,
};
use pintle_mio::{Receiver, Replies, SendError, Server, Status, Unary};

struct Service;

impl EchoService for Service {
    fn unary(&mut self, message: Msg, call: Unary<Msg>) {
        call.reply(message);
    }

    fn server_stream(&mut self, wish: StreamReq, out: Replies<Msg>) {
        let (mut left, payload) = (wish.count, still(&wish.payload));
        out.produce(move |out| {
            while left > 0 {
                if out.send(Msg { payload: payload.clone() }).is_err() {
                    return;
                }
                left -= 1;
            }
            out.finish(Status::ok());
        });
    }

    fn client_stream(&mut self, call: Unary<Sum>) -> Box<dyn Receiver<Msg>> {
        Box::new(Summing { sum: Sum::default(), call: Some(call) })
    }

    fn bidi(&mut self, out: Replies<Msg>) -> Box<dyn Receiver<Msg>> {
        Box::new(Echoing { out, waiting: None })
    }
}

struct Summing {
    sum: Sum,
    call: Option<Unary<Sum>>,
}

impl Receiver<Msg> for Summing {
    fn on_message(&mut self, message: Msg) {
        self.sum.messages += 1;
        self.sum.bytes += message.payload.len() as u64;
    }

    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(self.sum);
        }
    }
}

struct Echoing {
    out: Replies<Msg>,
    waiting: Option<Msg>,
}

impl Receiver<Msg> for Echoing {
    fn on_message(&mut self, message: Msg) {
        if let Err(SendError::Blocked(message)) = self.out.send(message) {
            self.waiting = Some(message);
            self.out.pause();
        }
    }

    fn on_ready(&mut self) {
        if let Some(message) = self.waiting.take() {
            self.out.resume();
            self.on_message(message);
        }
    }

    fn on_end(&mut self) {
        self.out.finish(Status::ok());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    Ok(configured!(Server::new().add(|| EchoServer::new(Service)), options).run()?)
}
