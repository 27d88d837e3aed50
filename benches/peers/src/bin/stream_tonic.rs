//! Streams through tonic's client: `stream_tonic ADDRESS what=server|client|bidi size=8 n=1000000 [pid=SERVER]`.
//!
//! The source is always ready: `tokio_stream::iter` would give way every 32 messages, which costs tonic a factor of three.

use http::uri::PathAndQuery;
use pintle_peers::{
    echo::{Msg, StreamReq, Sum},
    load::{Args, Check, Clocks},
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio_stream::{Stream, StreamExt};
use tonic::{
    Request, Status,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

/// The same message, so many times.
struct Eager {
    message: Msg,
    left: usize,
}

impl Stream for Eager {
    type Item = Msg;
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Msg>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        Poll::Ready(Some(self.message.clone()))
    }
}

async fn ready(client: &mut Grpc<Channel>) -> Result<(), Status> {
    client.ready().await.map_err(|e| Status::unavailable(e.to_string()))
}

/// What generated code does.
async fn run(client: &mut Grpc<Channel>, what: &str, message: &Msg, count: usize) -> Result<(), Status> {
    ready(client).await?;
    let source = Eager { message: message.clone(), left: count };
    let mut replies = match what {
        "server" => {
            let wish = StreamReq { count: count as u32, payload: message.payload.clone() };
            let codec = ProstCodec::<StreamReq, Msg>::default();
            client.server_streaming(Request::new(wish), PathAndQuery::from_static("/echo.Echo/ServerStream"), codec).await?.into_inner()
        }
        "bidi" => {
            let codec = ProstCodec::<Msg, Msg>::default();
            client.streaming(Request::new(source), PathAndQuery::from_static("/echo.Echo/Bidi"), codec).await?.into_inner()
        }
        "client" => {
            let codec = ProstCodec::<Msg, Sum>::default();
            let path = PathAndQuery::from_static("/echo.Echo/ClientStream");
            let sum = client.client_streaming(Request::new(source), path, codec).await?.into_inner();
            assert_eq!(sum, Sum { messages: count as u64, bytes: (count * message.payload.len()) as u64 });
            return Ok(());
        }
        other => panic!("what={other}?"),
    };
    let mut check = Check::new(message);
    while let Some(reply) = replies.next().await {
        check.one(&reply?);
    }
    check.all(count);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::take();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let channel = Endpoint::from_shared(format!("http://{}", args.address))?.tcp_nodelay(true).connect().await?;
        let mut client = Grpc::new(channel);
        let (what, message, count) = (args.word("what", "server"), args.message(), args.number("n", 1_000_000));
        run(&mut client, &what, &message, count / 10).await?;
        let clocks = Clocks::start(&args);
        run(&mut client, &what, &message, count).await?;
        clocks.report(&what, &args, count);
        Ok(())
    })
}
