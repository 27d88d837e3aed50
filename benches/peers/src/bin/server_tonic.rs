//! The echo service on tonic: `server_tonic ct|mt1|mt2 [streams=N] ADDRESS`.

use pintle_peers::{
    echo::{Msg, StreamReq, Sum},
    load::still,
    on_tonic::echo_server::{Echo, EchoServer},
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
};
use tokio_stream::{Stream, wrappers::UnixListenerStream};
use tonic::{Request, Response, Status, Streaming, transport::Server};

struct Service;

/// The same message, so many times, always ready: `tokio_stream::iter` gives way every 32 messages, which is no fault of tonic's.
struct Repeated {
    message: Msg,
    left: u32,
}

impl Stream for Repeated {
    type Item = Result<Msg, Status>;
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(self.message.clone())))
    }
}

#[tonic::async_trait]
impl Echo for Service {
    async fn unary(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    type ServerStreamStream = Repeated;
    async fn server_stream(&self, request: Request<StreamReq>) -> Result<Response<Repeated>, Status> {
        let wish = request.into_inner();
        Ok(Response::new(Repeated { message: still(&Msg { payload: wish.payload }), left: wish.count }))
    }

    async fn client_stream(&self, request: Request<Streaming<Msg>>) -> Result<Response<Sum>, Status> {
        let mut messages = request.into_inner();
        let mut sum = Sum::default();
        while let Some(message) = messages.message().await? {
            sum.messages += 1;
            sum.bytes += message.payload.len() as u64;
        }
        Ok(Response::new(sum))
    }

    // What comes is what goes back: nothing in between.
    type BidiStream = Streaming<Msg>;
    async fn bidi(&self, request: Request<Streaming<Msg>>) -> Result<Response<Streaming<Msg>>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

fn runtime(kind: &str) -> std::io::Result<Runtime> {
    match kind {
        "ct" => Builder::new_current_thread().enable_all().build(),
        "mt1" => Builder::new_multi_thread().worker_threads(1).enable_all().build(),
        "mt2" => Builder::new_multi_thread().worker_threads(2).enable_all().build(),
        _ => Err(std::io::Error::other("ct, mt1 or mt2?")),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let runtime = runtime(&words.next().unwrap_or_default())?;
    let (settings, addresses): (Vec<String>, Vec<String>) = words.partition(|word| word.contains('='));
    let streams = settings.iter().find_map(|word| word.strip_prefix("streams=")).map(str::parse).transpose()?;
    let address = addresses.into_iter().next().ok_or("an address?")?;
    runtime.block_on(async move {
        let mut server = Server::builder();
        if let Some(streams) = streams {
            server = server.max_concurrent_streams(Some(streams));
        }
        let server = server.add_service(EchoServer::new(Service));
        if let Some(path) = address.strip_prefix("unix:") {
            server.serve_with_incoming(UnixListenerStream::new(UnixListener::bind(path)?)).await?;
        } else {
            server.serve(address.parse()?).await?;
        }
        Ok(())
    })
}
