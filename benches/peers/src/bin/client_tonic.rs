//! Unary calls through tonic's client, so many at once: `client_tonic ADDRESS flight=1|10|100 size=8 n=100000 [pid=SERVER]`.

use http::uri::PathAndQuery;
use pintle_peers::{
    echo::Msg,
    load::{Args, Check, Clocks},
};
use tonic::{
    Request, Status,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

/// What generated code does.
async fn call(client: &mut Grpc<Channel>, message: &Msg) -> Result<Msg, Status> {
    client.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
    let path = PathAndQuery::from_static("/echo.Echo/Unary");
    let reply = client.unary(Request::new(message.clone()), path, ProstCodec::<Msg, Msg>::default()).await?;
    Ok(reply.into_inner())
}

async fn run(client: &Grpc<Channel>, flight: usize, message: &Msg, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let each = count / flight;
    let mut tasks = Vec::new();
    for _ in 0..flight {
        let (mut client, message) = (client.clone(), message.clone());
        tasks.push(tokio::spawn(async move {
            let mut check = Check::new(&message);
            for _ in 0..each {
                check.one(&call(&mut client, &message).await?);
            }
            Ok::<(), Status>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::take();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let channel = Endpoint::from_shared(format!("http://{}", args.address))?.tcp_nodelay(true).connect().await?;
        let client = Grpc::new(channel);
        let (flight, message) = (args.number("flight", 1), args.message());
        let count = args.number("n", 100_000) / flight * flight;
        run(&client, flight, &message, count / 10).await?;
        let clocks = Clocks::start(&args);
        run(&client, flight, &message, count).await?;
        clocks.report(&format!("unary-{flight}"), &args, count);
        Ok(())
    })
}
