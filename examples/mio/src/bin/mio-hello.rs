//! The example in README.md: a server and a client in one program, without any async. `cargo run --bin mio-hello`

use pintle_mio::{Replies, Server, Status, Unary};

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use hello::{GreeterClient, GreeterServer, GreeterService, HelloReply, HelloRequest};

struct Polite;

impl GreeterService for Polite {
    fn say_hello(&mut self, request: HelloRequest, call: Unary<HelloReply>) {
        call.reply(HelloReply { text: format!("Hello, {}!", request.name) }); // now, or later from any thread
    }

    fn lots_of_replies(&mut self, request: HelloRequest, out: Replies<HelloReply>) {
        let mut sent = 0;
        out.produce(move |out| {
            // Runs now, and again whenever a slow peer has made room.
            while sent < 3 && out.send(HelloReply { text: format!("{}: hello, {}!", sent + 1, request.name) }).is_ok() {
                sent += 1;
            }
            if sent == 3 {
                out.finish(Status::ok());
            }
        });
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The closure makes a service for each loop. `spawn` runs the loops on threads of their own, `run` the first on this one.
    let _server = Server::new().add(|| GreeterServer::new(Polite)).listen("127.0.0.1:50052")?.spawn()?;

    let client = GreeterClient::connect("127.0.0.1:50052")?;
    let reply = client.say_hello(HelloRequest { name: "Ada".into() }).deadline(std::time::Duration::from_secs(1)).wait()?;
    println!("{}", reply.text);
    let mut replies = client.lots_of_replies(HelloRequest { name: "Ada".into() }).open()?;
    while let Some(reply) = replies.next()? {
        println!("{}", reply.text);
    }
    Ok(())
}
