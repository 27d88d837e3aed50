//! Unary calls through Pintle's client on tokio, so many at once: `client_tokio ADDRESS flight=1|10|100 size=8 n=100000 [pid=SERVER]`.

use pintle_peers::{
    echo::{Msg, on_tokio::EchoClient},
    load::{Args, Check, Clocks},
};
use pintle_tokio::Status;

async fn run(client: &EchoClient, flight: usize, message: &Msg, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let each = count / flight;
    let mut tasks = Vec::new();
    for _ in 0..flight {
        let (client, message) = (client.clone(), message.clone());
        tasks.push(tokio::spawn(async move {
            let mut check = Check::new(&message);
            for _ in 0..each {
                check.one(&client.unary(message.clone()).await?);
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
        let client = EchoClient::connect(&args.address).await?;
        let (flight, message) = (args.number("flight", 1), args.message());
        let count = args.number("n", 100_000) / flight * flight;
        run(&client, flight, &message, count / 10).await?;
        let clocks = Clocks::start(&args);
        run(&client, flight, &message, count).await?;
        clocks.report(&format!("unary-{flight}"), &args, count);
        Ok(())
    })
}
