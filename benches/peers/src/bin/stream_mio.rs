//! Streams through Pintle's client on mio that drives its own connection: `stream_mio ADDRESS what=server|client|bidi size=8
//! n=1000000 [pid=SERVER]`.

use pintle_mio::{LocalClient, SendError, Status};
use pintle_peers::{
    echo::{Msg, StreamReq, Sum, on_mio::EchoClient},
    load::{Args, Check, Clocks},
};

fn run(client: &EchoClient<LocalClient>, what: &str, message: &Msg, count: usize) -> Result<(), Status> {
    match what {
        "server" => server(client, message, count),
        "client" => upload(client, message, count),
        "bidi" => bidi(client, message, count),
        other => panic!("what={other}?"),
    }
}

fn server(client: &EchoClient<LocalClient>, message: &Msg, count: usize) -> Result<(), Status> {
    let mut check = Check::new(message);
    let mut replies = client.server_stream(StreamReq { count: count as u32, payload: message.payload.clone() }).open()?;
    while let Some(reply) = replies.next()? {
        check.one(&reply);
    }
    check.all(count);
    Ok(())
}

fn upload(client: &EchoClient<LocalClient>, message: &Msg, count: usize) -> Result<(), Status> {
    let mut upload = client.client_stream().open()?;
    for _ in 0..count {
        upload.feed(message.clone()).map_err(|e| Status::internal(e.to_string()))?;
    }
    assert_eq!(upload.finish()?, Sum { messages: count as u64, bytes: (count * message.payload.len()) as u64 });
    Ok(())
}

fn bidi(client: &EchoClient<LocalClient>, message: &Msg, count: usize) -> Result<(), Status> {
    let mut check = Check::new(message);
    let (out, mut replies) = client.bidi().open()?;
    let (mut out, mut left) = (Some(out), count);
    loop {
        if let Some(requests) = &mut out {
            while left > 0 {
                match requests.try_feed(message.clone()) {
                    Ok(()) => left -= 1,
                    Err(SendError::Blocked(_)) => break,
                    Err(e) => return Err(Status::internal(e.to_string())),
                }
            }
        }
        if left == 0
            && let Some(requests) = out.take()
        {
            requests.close();
        }
        let Some(reply) = replies.next()? else { break };
        check.one(&reply);
        while let Some(Some(reply)) = replies.try_next()? {
            check.one(&reply);
        }
    }
    check.all(count);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::take();
    let client = EchoClient::new(pintle_mio::connect_local(&args.address)?);
    let (what, message, count) = (args.word("what", "server"), args.message(), args.number("n", 1_000_000));
    run(&client, &what, &message, count / 10)?;
    let clocks = Clocks::start(&args);
    run(&client, &what, &message, count)?;
    clocks.report(&what, &args, count);
    Ok(())
}
