//! The cases on mio's two clients: plain blocking calls.

use crate::{
    Wrong, between, equal,
    expect::{self, BIG, DEADLINE_KEY, IN_FLIGHT, SIZES, STATUS_DETAILS, STATUS_MESSAGE, TOO_BIG},
    fails,
    pb::{
        Empty, ExpandRequest, FailRequest, GatherRequest, HangRequest, Item, Summary, WaitRequest,
        on_mio::{AbsentClient, InteropClient},
    },
    unique,
};
use pintle_mio::{Caller, Client, Code, Status, connect, connect_local};
use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// No call of a case may hang; cases about deadlines bring their own.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs one case on a `Client`, whose connection lives in a background thread.
///
/// # Errors
/// What was expected and what came instead.
pub fn run(target: &str, case: &str) -> Result<(), Wrong> {
    let connection = connect(target)?;
    let client = InteropClient::new(connection.clone());
    match case {
        "in_flight" => in_flight(&client),
        "many_calls" => many_calls(&client),
        "bidi_burst" => bidi_burst(&client),
        _ => run_any(connection, case),
    }
}

/// Runs one case on a `LocalClient`, which the calling thread drives.
///
/// # Errors
/// As [`run`].
pub fn run_local(target: &str, case: &str) -> Result<(), Wrong> {
    run_any(connect_local(target)?, case)
}

/// Cases that one thread can run, which `LocalClient` is for.
#[must_use]
pub fn is_local(case: &str) -> bool {
    !matches!(case, "in_flight" | "many_calls" | "bidi_burst")
}

fn run_any<C: Caller + Clone>(connection: C, case: &str) -> Result<(), Wrong> {
    let client = &InteropClient::new(connection.clone());
    match case {
        "unary" => unary(client),
        "unary_without_deadline" => unary_without_deadline(client),
        "empty_message" => empty_message(client),
        "client_streaming" => collect(client, &SIZES, Summary { count: 4, octets: 74_922, total: 6 }),
        "client_streaming_none" => collect(client, &[], Summary::default()),
        "client_streaming_much" => collect(client, &[60_000; 100], Summary { count: 100, octets: 6_000_000, total: 4_950 }),
        "server_streaming" => expand(client, 5, 31_415),
        "server_streaming_none" => expand(client, 0, 0),
        "server_streaming_much" => expand(client, 100, 60_000),
        "bidi_ping_pong" => bidi_ping_pong(client),
        "bidi_none" => bidi_none(client),
        "metadata" => metadata(client),
        "status_message" => status_message(client),
        "status_codes" => status_codes(client),
        "status_details" => status_details(client),
        "unimplemented" => fails(AbsentClient::new(connection).call(Empty {}).deadline(PATIENCE).wait(), Code::Unimplemented).map(drop),
        "deadline_passes" => deadline_passes(client),
        "deadline_ends_stream" => deadline_ends_stream(client),
        "deadline_not_reached" => deadline_not_reached(client),
        "deadline_seen" => deadline_seen(client),
        "cancel_before_reply" => cancel_before_reply(client),
        "cancel_stream" => cancel_stream(client),
        "big_messages" => big_messages(client),
        "too_big" => too_big(client),
        _ => Err(format!("no case is called `{case}`").into()),
    }
}

fn unary<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    equal("reply", &client.echo(expect::item()).deadline(PATIENCE).wait()?, &expect::item())
}

fn unary_without_deadline<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let reply = client.echo(Item::default()).wait_response()?;
    equal("reply", &reply.message, &Item::default())?;
    equal("deadline seen by the server", &reply.trailers.get(DEADLINE_KEY), &None)
}

fn empty_message<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    equal("reply", &client.nothing(Empty {}).deadline(PATIENCE).wait()?, &Empty {})
}

fn collect<C: Caller>(client: &InteropClient<C>, sizes: &[usize], expected: Summary) -> Result<(), Wrong> {
    let mut out = client.collect().deadline(PATIENCE).open()?;
    for (number, size) in sizes.iter().enumerate() {
        out.send(expect::numbered(number, *size))?;
    }
    equal("summary", &out.finish()?, &expected)
}

fn expand<C: Caller>(client: &InteropClient<C>, count: u32, size: u32) -> Result<(), Wrong> {
    let mut input = client.expand(ExpandRequest { count, size }).deadline(PATIENCE).open()?;
    for number in 0..count as usize {
        equal("item", &input.next()?, &Some(expect::numbered(number, size as usize)))?;
    }
    equal("end", &input.next()?, &None)
}

fn bidi_ping_pong<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let (mut out, mut input) = client.chat().deadline(PATIENCE).open()?;
    for (number, size) in SIZES.into_iter().enumerate() {
        let item = Item { text: format!("ping {number}"), ..expect::numbered(number, size) };
        out.send(item.clone())?;
        equal("answer", &input.next()?, &Some(expect::answer(item)))?;
    }
    out.close();
    equal("end", &input.next()?, &None)
}

fn bidi_none<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let (out, mut input) = client.chat().deadline(PATIENCE).open()?;
    out.close();
    equal("end", &input.next()?, &None)
}

/// The two halves of a call in two threads.
fn bidi_burst(client: &InteropClient<Client>) -> Result<(), Wrong> {
    let (mut out, mut input) = client.chat().deadline(PATIENCE).open()?;
    let sender = thread::spawn(move || {
        let sent = (0..500).try_for_each(|number| out.send(expect::numbered(number, 0)));
        out.close();
        sent
    });
    for number in 1..=500 {
        equal("number", &input.next()?.map(|item| item.number), &Some(number))?;
    }
    equal("end", &input.next()?, &None)?;
    equal("the sending half", &sender.join().map_err(|_| "the sending thread panicked")?, &Ok(()))
}

fn metadata<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let mut call = client.echo(Item::default()).deadline(PATIENCE);
    for (key, value) in expect::initial().into_iter().chain(expect::trailing()) {
        call = match std::str::from_utf8(&value) {
            Ok(text) if !key.ends_with("-bin") => call.metadata(key, text),
            _ => call.metadata_bin(key, &value),
        };
    }
    let reply = call.wait_response()?;
    equal("initial metadata", &expect::fields(&reply.headers), &expect::sorted(expect::initial()))?;
    equal("trailing metadata", &expect::fields(&reply.trailers), &expect::sorted(expect::trailing()))
}

fn fail<C: Caller>(client: &InteropClient<C>, code: u32, message: &str, details: &'static [u8]) -> Result<Status, Wrong> {
    let request = FailRequest { code, message: message.into(), details: details.into() };
    fails(client.fail(request).deadline(PATIENCE).wait(), Code::from_u32(code))
}

fn status_message<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    equal("message", &fail(client, 2, STATUS_MESSAGE, b"")?.message(), &STATUS_MESSAGE)
}

fn status_codes<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    for code in 1..=16 {
        let message = format!("code {code}");
        equal("message", &fail(client, code, &message, b"")?.message(), &message.as_str())?;
    }
    Ok(())
}

fn status_details<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    equal("details", &fail(client, 8, "quota", STATUS_DETAILS)?.details(), &STATUS_DETAILS)
}

fn deadline_passes<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let began = Instant::now();
    fails(client.wait(WaitRequest { millis: 60_000 }).deadline(Duration::from_millis(200)).wait(), Code::DeadlineExceeded)?;
    between("time until the deadline", began.elapsed(), Duration::from_millis(200), Duration::from_secs(10))
}

fn deadline_ends_stream<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let key = unique();
    let mut input = client.hang(HangRequest { key: key.clone() }).deadline(Duration::from_millis(300)).open()?;
    input.next()?;
    fails(input.next(), Code::DeadlineExceeded)?;
    ended(client, key)
}

/// The server's handler of `Hang` has seen its call end.
fn ended<C: Caller>(client: &InteropClient<C>, key: String) -> Result<(), Wrong> {
    equal("the handler has seen the end", &client.ended(HangRequest { key }).deadline(PATIENCE).wait()?.ended, &true)
}

fn deadline_not_reached<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    client.wait(WaitRequest { millis: 30 }).deadline(PATIENCE).wait()?;
    Ok(())
}

fn deadline_seen<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let reply = client.echo(Item::default()).deadline(Duration::from_secs(25)).wait_response()?;
    let millis = reply.trailers.get(DEADLINE_KEY).ok_or("the server saw no deadline")?.parse()?;
    between("deadline of 25 s as the server saw it", Duration::from_millis(millis), Duration::from_secs(10), Duration::from_secs(25))
}

fn cancel_before_reply<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let mut out = client.collect().deadline(PATIENCE).open()?;
    out.send(expect::item())?;
    drop(out); // unfinished: cancels the call
    empty_message(client)
}

fn cancel_stream<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let key = unique();
    let mut input = client.hang(HangRequest { key: key.clone() }).deadline(PATIENCE).open()?;
    equal("first item", &input.next()?.map(|item| item.text), &Some(key.clone()))?;
    drop(input);
    ended(client, key)
}

fn big_messages<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    let item = expect::numbered(3, BIG);
    equal("the reply of 3 MB is what was sent", &(client.echo(item.clone()).deadline(PATIENCE).wait()? == item), &true)
}

fn too_big<C: Caller>(client: &InteropClient<C>) -> Result<(), Wrong> {
    fails(client.echo(expect::numbered(0, TOO_BIG)).deadline(PATIENCE).wait(), Code::ResourceExhausted)?;
    unary(client)
}

fn in_flight(client: &InteropClient<Client>) -> Result<(), Wrong> {
    let key = unique();
    let (done, replies) = mpsc::channel();
    for _ in 0..IN_FLIGHT {
        let done = done.clone();
        // Who waits below has gone only if it found something wrong.
        let report = move |reply: Result<Summary, Status>| drop(done.send(reply));
        client.gather(GatherRequest { key: key.clone(), count: IN_FLIGHT }).deadline(PATIENCE).on_done(report);
    }
    for _ in 0..IN_FLIGHT {
        equal("answer", &replies.recv_timeout(PATIENCE)??.count, &i64::from(IN_FLIGHT))?;
    }
    Ok(())
}

fn many_calls(client: &InteropClient<Client>) -> Result<(), Wrong> {
    let (done, replies) = mpsc::channel();
    for number in 0..IN_FLIGHT as usize {
        let done = done.clone();
        let report = move |reply: Result<Item, Status>| drop(done.send((number, reply)));
        client.echo(expect::numbered(number, 0)).deadline(PATIENCE).on_done(report);
    }
    for _ in 0..IN_FLIGHT {
        let (number, reply) = replies.recv_timeout(PATIENCE)?;
        equal("answer", &reply?.number, &(number as i64))?;
    }
    Ok(())
}
