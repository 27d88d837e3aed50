//! The service on the mio loop: callbacks that answer at once, later in another callback, or later from another thread.

use crate::{
    Wrong, configure,
    expect::{self, DEADLINE_KEY},
    hello,
    pb::{
        Empty, EndedReply, ExpandRequest, FailRequest, GatherRequest, HangRequest, Item, Summary, WaitRequest,
        on_mio::{InteropServer, InteropService},
    },
};
use pintle_mio::{Code, HttpResponse, Metadata, Receiver, Replies, Server, Status, Unary};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// Serves until it is killed. Prints `listening ADDRESS` for each address once it can be called.
///
/// # Errors
/// An address cannot be listened at.
pub fn serve(addresses: &[String]) -> Result<(), Wrong> {
    let board = Board::default();
    let mut server =
        Server::new().configure(configure).add(move || InteropServer::new(Service { board: board.clone(), gathered: HashMap::new() }));
    server = server.http(|request| {
        matches!(request.method.as_str(), "GET" | "HEAD").then(|| HttpResponse::text(hello(&request.method, &request.path)))
    });
    for address in addresses {
        server = server.listen(address)?;
    }
    for address in server.local_addresses() {
        println!("listening {address}");
    }
    Ok(server.run()?)
}

/// Which `Hang` calls have ended, and who waits for that.
#[derive(Clone, Default)]
struct Board(Arc<Mutex<Hangs>>);

#[derive(Default)]
struct Hangs {
    running: HashMap<String, Replies<Item>>,
    ended: HashSet<String>,
    waiting: HashMap<String, Vec<Unary<EndedReply>>>,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Hangs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The `Hang` call of this key has ended, if `ended`, or whoever waits for it has waited long enough.
    fn answer(&self, key: &str, ended: bool) {
        let mut hangs = self.lock();
        if ended {
            hangs.ended.insert(key.to_owned());
        }
        let gone = hangs.running.remove(key).filter(|_| ended);
        let waiting = hangs.waiting.remove(key).unwrap_or_default();
        drop(hangs); // handles call back: not under the lock
        drop(gone);
        for call in waiting {
            call.reply(EndedReply { ended });
        }
    }
}

struct Service {
    board: Board,
    gathered: HashMap<String, Vec<Unary<Summary>>>,
}

impl InteropService for Service {
    fn echo(&mut self, item: Item, call: Unary<Item>) {
        let (initial, trailing) = expect::echo(call.metadata());
        let (mut headers, mut trailers) = (Metadata::new(), Metadata::new());
        let appended = expect::append(&mut headers, &initial).and_then(|()| expect::append(&mut trailers, &trailing));
        if let Err(error) = appended {
            return call.fail(Status::internal(error.to_string()));
        }
        if let Some(left) = call.time_left() {
            trailers.append(DEADLINE_KEY, &left.as_millis().to_string()).expect("a number is valid metadata");
        }
        if !headers.is_empty() {
            call.send_headers(&headers);
        }
        call.reply_with(item, Status::ok().with_metadata(trailers));
    }

    fn collect(&mut self, call: Unary<Summary>) -> Box<dyn Receiver<Item>> {
        Box::new(Collecting { summary: Summary::default(), call: Some(call) })
    }

    fn expand(&mut self, request: ExpandRequest, out: Replies<Item>) {
        let body = expect::body(request.size as usize);
        let mut number = 0;
        out.produce(move |out| {
            while number < request.count {
                if out.send(Item { body: body.clone(), number: number.into(), ..Item::default() }).is_err() {
                    return;
                }
                number += 1;
            }
            out.finish(Status::ok());
        });
    }

    fn chat(&mut self, out: Replies<Item>) -> Box<dyn Receiver<Item>> {
        out.answer_each(|item, answers| {
            answers.push(expect::answer(item));
            Ok(())
        })
    }

    fn nothing(&mut self, _: Empty, call: Unary<Empty>) {
        call.reply(Empty {});
    }

    fn fail(&mut self, request: FailRequest, call: Unary<Empty>) {
        if request.code == 0 {
            return call.reply(Empty {});
        }
        call.fail(Status::new(Code::from_u32(request.code), request.message).with_details(request.details));
    }

    fn wait(&mut self, request: WaitRequest, call: Unary<Empty>) {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(request.millis.into()));
            call.reply(Empty {});
        });
    }

    fn hang(&mut self, request: HangRequest, mut out: Replies<Item>) {
        let key = request.key;
        if out.send(Item { text: key.clone(), ..Item::default() }).is_err() {
            return self.board.answer(&key, true);
        }
        let (board, ended) = (self.board.clone(), key.clone());
        out.on_cancel(move |_| board.answer(&ended, true));
        let mut hangs = self.board.lock();
        if !hangs.ended.contains(&key) {
            hangs.running.insert(key, out);
        }
    }

    fn ended(&mut self, request: HangRequest, call: Unary<EndedReply>) {
        let mut hangs = self.board.lock();
        if hangs.ended.contains(&request.key) {
            drop(hangs);
            return call.reply(EndedReply { ended: true });
        }
        hangs.waiting.entry(request.key.clone()).or_default().push(call);
        drop(hangs);
        let board = self.board.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(10));
            board.answer(&request.key, false);
        });
    }

    fn gather(&mut self, request: GatherRequest, call: Unary<Summary>) {
        let calls = self.gathered.entry(request.key.clone()).or_default();
        calls.push(call);
        if calls.len() >= request.count as usize {
            for call in self.gathered.remove(&request.key).unwrap_or_default() {
                call.reply(Summary { count: request.count.into(), ..Summary::default() });
            }
        }
    }
}

struct Collecting {
    summary: Summary,
    call: Option<Unary<Summary>>,
}

impl Receiver<Item> for Collecting {
    fn on_message(&mut self, item: Item) {
        expect::add(&mut self.summary, &item);
    }

    fn on_end(&mut self) {
        if let Some(call) = self.call.take() {
            call.reply(std::mem::take(&mut self.summary));
        }
    }
}
