//! Streams through Pintle's client on tokio: `stream_tokio ADDRESS what=server|client|bidi size=8 n=1000000 [pid=SERVER]`.

use pintle_peers::{
    echo::{Msg, StreamReq, Sum, on_tokio::EchoClient},
    load::{Args, Check, Clocks},
};
use pintle_tokio::{Sender, Status, Streaming};

async fn run(client: &EchoClient, what: &str, message: &Msg, count: usize) -> Result<(), Status> {
    match what {
        "server" => {
            let wish = StreamReq { count: count as u32, payload: message.payload.clone() };
            receive(client.server_stream(wish).await?, message, count).await
        }
        "client" => {
            let (out, reply) = client.client_stream().open().await?;
            send(out, message, count).await?;
            assert_eq!(reply.await?, Sum { messages: count as u64, bytes: (count * message.payload.len()) as u64 });
            Ok(())
        }
        "bidi" => {
            let (out, replies) = client.bidi().open().await?;
            let (sent, received) = tokio::join!(send(out, message, count), receive(replies, message, count));
            sent.and(received)
        }
        other => panic!("what={other}?"),
    }
}

async fn send(mut out: Sender<Msg>, message: &Msg, count: usize) -> Result<(), Status> {
    for _ in 0..count {
        out.send(message.clone()).await?;
    }
    Ok(())
}

async fn receive(mut replies: Streaming<Msg>, message: &Msg, count: usize) -> Result<(), Status> {
    let mut check = Check::new(message);
    while let Some(reply) = replies.next().await? {
        check.one(&reply);
    }
    check.all(count);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::take();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = EchoClient::connect(&args.address).await?;
        let (what, message, count) = (args.word("what", "server"), args.message(), args.number("n", 1_000_000));
        run(&client, &what, &message, count / 10).await?;
        let clocks = Clocks::start(&args);
        run(&client, &what, &message, count).await?;
        clocks.report(&what, &args, count);
        Ok(())
    })
}
