//! The cases on the async clients. `tokio_client.rs` and `smol_client.rs` include this, each with the names of its runtime.

use super::{AbsentClient, Code, InteropClient, Status, spawn, within};
use crate::{
    Wrong, between, equal,
    expect::{self, BIG, DEADLINE_KEY, IN_FLIGHT, SIZES, STATUS_DETAILS, STATUS_MESSAGE, TOO_BIG},
    fails,
    pb::{Empty, ExpandRequest, FailRequest, GatherRequest, HangRequest, Item, Summary, WaitRequest},
    unique,
};
use std::time::{Duration, Instant};

/// No call of a case may hang; cases about deadlines bring their own.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs one case against the server at `target`.
///
/// # Errors
/// What was expected and what came instead.
pub async fn run(target: &str, case: &str) -> Result<(), Wrong> {
    let client = &InteropClient::connect(target).await?;
    match case {
        "unary" => unary(client).await,
        "unary_without_deadline" => unary_without_deadline(client).await,
        "empty_message" => empty_message(client).await,
        "client_streaming" => collect(client, &SIZES, Summary { count: 4, octets: 74_922, total: 6 }).await,
        "client_streaming_none" => collect(client, &[], Summary::default()).await,
        "client_streaming_much" => collect(client, &[60_000; 100], Summary { count: 100, octets: 6_000_000, total: 4_950 }).await,
        "server_streaming" => expand(client, 5, 31_415).await,
        "server_streaming_none" => expand(client, 0, 0).await,
        "server_streaming_much" => expand(client, 100, 60_000).await,
        "bidi_ping_pong" => bidi_ping_pong(client).await,
        "bidi_none" => bidi_none(client).await,
        "bidi_burst" => bidi_burst(client).await,
        "metadata" => metadata(client).await,
        "status_message" => status_message(client).await,
        "status_codes" => status_codes(client).await,
        "status_details" => status_details(client).await,
        "unimplemented" => unimplemented(target).await,
        "deadline_passes" => deadline_passes(client).await,
        "deadline_ends_stream" => deadline_ends_stream(client).await,
        "deadline_not_reached" => deadline_not_reached(client).await,
        "deadline_seen" => deadline_seen(client).await,
        "cancel_before_reply" => cancel_before_reply(client).await,
        "cancel_stream" => cancel_stream(client).await,
        "big_messages" => big_messages(client).await,
        "too_big" => too_big(client).await,
        "in_flight" => in_flight(client).await,
        "many_calls" => many_calls(client).await,
        _ => Err(format!("no case is called `{case}`").into()),
    }
}

async fn unary(client: &InteropClient) -> Result<(), Wrong> {
    equal("reply", &client.echo(expect::item()).deadline(PATIENCE).await?, &expect::item())
}

async fn unary_without_deadline(client: &InteropClient) -> Result<(), Wrong> {
    let reply = client.echo(Item::default()).response().await?;
    equal("reply", &reply.message, &Item::default())?;
    equal("deadline seen by the server", &reply.trailers.get(DEADLINE_KEY), &None)
}

async fn empty_message(client: &InteropClient) -> Result<(), Wrong> {
    equal("reply", &client.nothing(Empty {}).deadline(PATIENCE).await?, &Empty {})
}

async fn collect(client: &InteropClient, sizes: &[usize], expected: Summary) -> Result<(), Wrong> {
    let (mut out, reply) = client.collect().deadline(PATIENCE).open().await?;
    for (number, size) in sizes.iter().enumerate() {
        out.send(expect::numbered(number, *size)).await?;
    }
    out.close();
    equal("summary", &reply.await?, &expected)
}

async fn expand(client: &InteropClient, count: u32, size: u32) -> Result<(), Wrong> {
    let mut input = client.expand(ExpandRequest { count, size }).deadline(PATIENCE).await?;
    for number in 0..count as usize {
        equal("item", &input.next().await?, &Some(expect::numbered(number, size as usize)))?;
    }
    equal("end", &input.next().await?, &None)
}

async fn bidi_ping_pong(client: &InteropClient) -> Result<(), Wrong> {
    let (mut out, mut input) = client.chat().deadline(PATIENCE).open().await?;
    for (number, size) in SIZES.into_iter().enumerate() {
        let item = Item { text: format!("ping {number}"), ..expect::numbered(number, size) };
        out.send(item.clone()).await?;
        equal("answer", &input.next().await?, &Some(expect::answer(item)))?;
    }
    out.close();
    equal("end", &input.next().await?, &None)
}

async fn bidi_none(client: &InteropClient) -> Result<(), Wrong> {
    let (out, mut input) = client.chat().deadline(PATIENCE).open().await?;
    out.close();
    equal("end", &input.next().await?, &None)
}

async fn bidi_burst(client: &InteropClient) -> Result<(), Wrong> {
    let (mut out, mut input) = client.chat().deadline(PATIENCE).open().await?;
    let sender = spawn(async move {
        for number in 0..500 {
            out.send(expect::numbered(number, 0)).await?;
        }
        out.close();
        Ok::<_, Status>(())
    });
    for number in 1..=500 {
        equal("number", &input.next().await?.map(|item| item.number), &Some(number))?;
    }
    equal("end", &input.next().await?, &None)?;
    Ok(sender.await?)
}

async fn metadata(client: &InteropClient) -> Result<(), Wrong> {
    let mut call = client.echo(Item::default()).deadline(PATIENCE);
    for (key, value) in expect::initial().into_iter().chain(expect::trailing()) {
        call = match std::str::from_utf8(&value) {
            Ok(text) if !key.ends_with("-bin") => call.metadata(key, text),
            _ => call.metadata_bin(key, &value),
        };
    }
    let reply = call.response().await?;
    equal("initial metadata", &expect::fields(&reply.headers), &expect::sorted(expect::initial()))?;
    equal("trailing metadata", &expect::fields(&reply.trailers), &expect::sorted(expect::trailing()))
}

async fn fail(client: &InteropClient, code: u32, message: &str, details: &'static [u8]) -> Result<Status, Wrong> {
    let request = FailRequest { code, message: message.into(), details: details.into() };
    fails(client.fail(request).deadline(PATIENCE).await, Code::from_u32(code))
}

async fn status_message(client: &InteropClient) -> Result<(), Wrong> {
    equal("message", &fail(client, 2, STATUS_MESSAGE, b"").await?.message(), &STATUS_MESSAGE)
}

async fn status_codes(client: &InteropClient) -> Result<(), Wrong> {
    for code in 1..=16 {
        let message = format!("code {code}");
        equal("message", &fail(client, code, &message, b"").await?.message(), &message.as_str())?;
    }
    Ok(())
}

async fn status_details(client: &InteropClient) -> Result<(), Wrong> {
    equal("details", &fail(client, 8, "quota", STATUS_DETAILS).await?.details(), &STATUS_DETAILS)
}

async fn unimplemented(target: &str) -> Result<(), Wrong> {
    let client = AbsentClient::connect(target).await?;
    fails(client.call(Empty {}).deadline(PATIENCE).await, Code::Unimplemented).map(drop)
}

async fn deadline_passes(client: &InteropClient) -> Result<(), Wrong> {
    let began = Instant::now();
    fails(client.wait(WaitRequest { millis: 60_000 }).deadline(Duration::from_millis(200)).await, Code::DeadlineExceeded)?;
    between("time until the deadline", began.elapsed(), Duration::from_millis(200), Duration::from_secs(10))
}

async fn deadline_ends_stream(client: &InteropClient) -> Result<(), Wrong> {
    let key = unique();
    let mut input = client.hang(HangRequest { key: key.clone() }).deadline(Duration::from_millis(300)).await?;
    input.next().await?;
    fails(input.next().await, Code::DeadlineExceeded)?;
    ended(client, key).await
}

/// The server's handler of `Hang` has seen its call end.
async fn ended(client: &InteropClient, key: String) -> Result<(), Wrong> {
    equal("the handler has seen the end", &client.ended(HangRequest { key }).deadline(PATIENCE).await?.ended, &true)
}

async fn deadline_not_reached(client: &InteropClient) -> Result<(), Wrong> {
    client.wait(WaitRequest { millis: 30 }).deadline(PATIENCE).await?;
    Ok(())
}

async fn deadline_seen(client: &InteropClient) -> Result<(), Wrong> {
    let reply = client.echo(Item::default()).deadline(Duration::from_secs(25)).response().await?;
    let millis = reply.trailers.get(DEADLINE_KEY).ok_or("the server saw no deadline")?.parse()?;
    between("deadline of 25 s as the server saw it", Duration::from_millis(millis), Duration::from_secs(10), Duration::from_secs(25))
}

async fn cancel_before_reply(client: &InteropClient) -> Result<(), Wrong> {
    let call = client.wait(WaitRequest { millis: 60_000 }).deadline(PATIENCE);
    // Dropping the future cancels the call.
    let answered = within(Duration::from_millis(50), async { call.await }).await;
    equal("answered before it was cancelled", &answered.is_some(), &false)?;
    empty_message(client).await
}

async fn cancel_stream(client: &InteropClient) -> Result<(), Wrong> {
    let key = unique();
    let mut input = client.hang(HangRequest { key: key.clone() }).deadline(PATIENCE).await?;
    equal("first item", &input.next().await?.map(|item| item.text), &Some(key.clone()))?;
    drop(input);
    ended(client, key).await
}

async fn big_messages(client: &InteropClient) -> Result<(), Wrong> {
    let item = expect::numbered(3, BIG);
    equal("the reply of 3 MB is what was sent", &(client.echo(item.clone()).deadline(PATIENCE).await? == item), &true)
}

async fn too_big(client: &InteropClient) -> Result<(), Wrong> {
    fails(client.echo(expect::numbered(0, TOO_BIG)).deadline(PATIENCE).await, Code::ResourceExhausted)?;
    unary(client).await
}

async fn in_flight(client: &InteropClient) -> Result<(), Wrong> {
    let key = unique();
    let calls: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let call = client.gather(GatherRequest { key: key.clone(), count: IN_FLIGHT }).deadline(PATIENCE);
            spawn(async move { call.await })
        })
        .collect();
    for call in calls {
        equal("answer", &call.await?.count, &i64::from(IN_FLIGHT))?;
    }
    Ok(())
}

async fn many_calls(client: &InteropClient) -> Result<(), Wrong> {
    let calls: Vec<_> = (0..IN_FLIGHT as usize)
        .map(|number| {
            let call = client.echo(expect::numbered(number, 0)).deadline(PATIENCE);
            spawn(async move { call.await })
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        equal("answer", &call.await?.number, &(number as i64))?;
    }
    Ok(())
}
