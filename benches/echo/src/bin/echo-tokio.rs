//! The echo service on tokio, single-threaded: `echo-tokio inline|spawn ADDRESS...`

use pintle_bench_echo::echo::{Msg, StreamReq, Sum, on_tokio::*};
use pintle_tokio::{Context, Sender, Server, Status, Streaming};

struct Service;

impl Echo for Service {
    async fn unary(&self, _: &Context, message: Msg) -> Result<Msg, Status> {
        Ok(message)
    }

    async fn server_stream(&self, _: &Context, wish: StreamReq, out: &mut Sender<Msg>) -> Result<(), Status> {
        for _ in 0..wish.count {
            out.send(Msg { payload: wish.payload.clone() }).await?;
        }
        Ok(())
    }

    async fn client_stream(&self, _: &Context, messages: &mut Streaming<Msg>) -> Result<Sum, Status> {
        let mut sum = Sum::default();
        while let Some(message) = messages.next().await? {
            sum.messages += 1;
            sum.bytes += message.payload.len() as u64;
        }
        Ok(sum)
    }

    async fn bidi(&self, _: &Context, messages: &mut Streaming<Msg>, out: &mut Sender<Msg>) -> Result<(), Status> {
        while let Some(message) = messages.next().await? {
            out.send(message).await?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let executor = args.next().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        if executor == "inline" {
            let mut server = Server::inline().add(EchoServer::new(Service));
            for address in args {
                server = server.listen(&address)?;
            }
            Ok(server.serve().await?)
        } else {
            let mut server = Server::new().add(EchoServer::new(Service));
            for address in args {
                server = server.listen(&address)?;
            }
            Ok(server.serve().await?)
        }
    })
}
