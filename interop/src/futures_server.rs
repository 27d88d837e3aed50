//! The service on the async servers. `tokio_server.rs` and `smol_server.rs` include this, each with the names of its runtime.

use super::{Code, Context, HttpResponse, Interop, InteropServer, Sender, Server, Status, Streaming, sleep, within};
use crate::{
    Wrong, configure,
    expect::{self, DEADLINE_KEY},
    hello,
    pb::{Empty, EndedReply, ExpandRequest, FailRequest, GatherRequest, HangRequest, Item, Summary, WaitRequest},
};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
// It asks nothing of tokio but its name: it serves on smol too.
use tokio::sync::watch;

/// Serves until it is killed. Prints `listening ADDRESS` for each address once it can be called.
///
/// # Errors
/// An address cannot be listened at.
pub async fn serve(addresses: &[String]) -> Result<(), Wrong> {
    let mut server = Server::new().configure(configure).add(InteropServer::new(Service(watch::Sender::default())));
    server = server.http(|request| {
        matches!(request.method.as_str(), "GET" | "HEAD").then(|| HttpResponse::text(hello(&request.method, &request.path)))
    });
    for address in addresses {
        server = server.listen(address)?;
    }
    for address in server.local_addresses() {
        println!("listening {address}");
    }
    Ok(server.serve().await?)
}

/// What calls tell each other by key.
#[derive(Default)]
struct Board {
    ended: HashSet<String>,
    gathered: HashMap<String, u32>,
}

struct Service(watch::Sender<Board>);

impl Interop for Service {
    async fn echo(&self, cx: &Context, item: Item) -> Result<Item, Status> {
        let invalid = |error| Status::internal(format!("{error:?}"));
        let (initial, trailing) = expect::echo(cx.metadata());
        for (key, value) in initial {
            match std::str::from_utf8(&value) {
                Ok(text) if !key.ends_with("-bin") => cx.add_header(key, text).map_err(invalid)?,
                _ => cx.add_header_bin(key, &value).map_err(invalid)?,
            }
        }
        for (key, value) in trailing {
            match std::str::from_utf8(&value) {
                Ok(text) if !key.ends_with("-bin") => cx.add_trailer(key, text).map_err(invalid)?,
                _ => cx.add_trailer_bin(key, &value).map_err(invalid)?,
            }
        }
        if let Some(left) = cx.time_left() {
            cx.add_trailer(DEADLINE_KEY, &left.as_millis().to_string()).map_err(invalid)?;
        }
        Ok(item)
    }

    async fn collect(&self, _: &Context, items: &mut Streaming<Item>) -> Result<Summary, Status> {
        let mut summary = Summary::default();
        while let Some(item) = items.next().await? {
            expect::add(&mut summary, &item);
        }
        Ok(summary)
    }

    async fn expand(&self, _: &Context, request: ExpandRequest, out: &mut Sender<Item>) -> Result<(), Status> {
        let body = expect::body(request.size as usize);
        for number in 0..request.count {
            out.send(Item { body: body.clone(), number: number.into(), ..Item::default() }).await?;
        }
        Ok(())
    }

    async fn chat(&self, _: &Context, items: &mut Streaming<Item>, out: &mut Sender<Item>) -> Result<(), Status> {
        while let Some(item) = items.next().await? {
            out.send(expect::answer(item)).await?;
        }
        Ok(())
    }

    async fn nothing(&self, _: &Context, _: Empty) -> Result<Empty, Status> {
        Ok(Empty {})
    }

    async fn fail(&self, _: &Context, request: FailRequest) -> Result<Empty, Status> {
        if request.code == 0 {
            return Ok(Empty {});
        }
        Err(Status::new(Code::from_u32(request.code), request.message).with_details(request.details))
    }

    async fn wait(&self, _: &Context, request: WaitRequest) -> Result<Empty, Status> {
        sleep(Duration::from_millis(request.millis.into())).await;
        Ok(Empty {})
    }

    async fn hang(&self, _: &Context, request: HangRequest, out: &mut Sender<Item>) -> Result<(), Status> {
        // A handler whose call has ended is dropped where it waits.
        let _ended = Ended { board: &self.0, key: request.key.clone() };
        out.send(Item { text: request.key, ..Item::default() }).await?;
        std::future::pending().await
    }

    async fn ended(&self, _: &Context, request: HangRequest) -> Result<EndedReply, Status> {
        let mut board = self.0.subscribe();
        let ended = within(Duration::from_secs(10), board.wait_for(|board| board.ended.contains(&request.key))).await;
        Ok(EndedReply { ended: ended.is_some() })
    }

    async fn gather(&self, _: &Context, request: GatherRequest) -> Result<Summary, Status> {
        self.0.send_modify(|board| *board.gathered.entry(request.key.clone()).or_default() += 1);
        let mut board = self.0.subscribe();
        let all = board.wait_for(|board| board.gathered.get(&request.key) >= Some(&request.count));
        match within(Duration::from_secs(30), all).await {
            Some(_) => Ok(Summary { count: request.count.into(), ..Summary::default() }),
            None => Err(Status::failed_precondition("the other calls did not come within 30 s")),
        }
    }
}

/// Notes the end of a `Hang` call when its handler is dropped.
struct Ended<'a> {
    board: &'a watch::Sender<Board>,
    key: String,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let key = std::mem::take(&mut self.key);
        self.board.send_modify(|board| {
            board.ended.insert(key);
        });
    }
}
