//! Whether a server answers right, by tonic's client: `check ADDRESS most=OCTETS streams=0|1`. Silent when all is well.

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use pintle_peers::{
    echo::{Msg, StreamReq},
    load::Args,
    on_tonic::echo_client::EchoClient,
};
use std::{error::Error, time::Duration};
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

type Client = EchoClient<Channel>;

async fn connect(address: &str) -> Result<Client, tonic::transport::Error> {
    let channel = match address.strip_prefix("unix:") {
        None => Endpoint::from_shared(format!("http://{address}"))?.connect().await?,
        Some(path) => {
            let path = path.to_owned();
            let connector = tower::service_fn(move |_| {
                let path = path.clone();
                async move { UnixStream::connect(path).await.map(TokioIo::new) }
            });
            Endpoint::from_static("http://localhost").connect_with_connector(connector).await?
        }
    };
    Ok(EchoClient::new(channel))
}

/// A message that no other is equal to.
fn message(size: usize) -> Msg {
    Msg { payload: Bytes::from_iter((0..size).map(|at| (at * 7 + size) as u8)) }
}

async fn unary(client: &mut Client, size: usize) -> Result<(), Box<dyn Error>> {
    let wanted = message(size);
    let answer = client.unary(wanted.clone()).await.map_err(|status| format!("{size} octets: {status}"))?;
    if answer.get_ref() == &wanted { Ok(()) } else { Err(format!("{size} octets: another message came back").into()) }
}

async fn streams(client: &mut Client) -> Result<(), Box<dyn Error>> {
    let sent: Vec<Msg> = (0..10).map(|number| message(number * 1_000)).collect();
    let wish = StreamReq { count: 10, payload: message(8).payload };
    let mut answers = client.server_stream(wish).await?.into_inner();
    for _ in 0..10 {
        assert_eq!(answers.message().await?, Some(message(8)), "server streaming");
    }
    assert_eq!(answers.message().await?, None, "server streaming");
    let sum = client.client_stream(tokio_stream::iter(sent.clone())).await?.into_inner();
    assert_eq!((sum.messages, sum.bytes), (10, 45_000), "client streaming");
    let mut answers = client.bidi(tokio_stream::iter(sent.clone())).await?.into_inner();
    for message in sent {
        assert_eq!(answers.message().await?, Some(message), "bidi");
    }
    assert_eq!(answers.message().await?, None, "bidi");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::take();
    let all = async {
        let mut client = connect(&args.address).await?;
        for size in [0, 1, 8, 1_024, 65_536] {
            if size <= args.number("most", 65_536) {
                unary(&mut client, size).await?;
            }
        }
        if args.number("streams", 1) == 1 {
            streams(&mut client).await?;
        }
        Ok(())
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.map_err(|_| "no answer within 20 s")?
}
