//! A server and a client in one program. `cargo run --bin smol-hello`

use pintle_smol::{Context, Sender, Server, Status};

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));
use hello::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest};

struct Polite;

impl Greeter for Polite {
    async fn say_hello(&self, _: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
        Ok(HelloReply { text: format!("Hello, {}!", request.name) })
    }

    async fn lots_of_replies(&self, _: &Context, request: HelloRequest, out: &mut Sender<HelloReply>) -> Result<(), Status> {
        for nth in 1..=3 {
            out.send(HelloReply { text: format!("{nth}: hello, {}!", request.name) }).await?; // waits while the peer is slow
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    smol::spawn(Server::new().add(GreeterServer::new(Polite)).listen("127.0.0.1:50051")?.serve()).detach();

    let client = GreeterClient::connect("127.0.0.1:50051").await?;
    let reply = client.say_hello(HelloRequest { name: "Ada".into() }).deadline(std::time::Duration::from_secs(1)).await?;
    println!("{}", reply.text);
    let mut replies = client.lots_of_replies(HelloRequest { name: "Ada".into() }).await?;
    while let Some(reply) = replies.next().await? {
        println!("{}", reply.text);
    }
    Ok(())
}
