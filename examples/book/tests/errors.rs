//! The two pages of errors say what the code says: errors are made here, as a reader would meet them, and their texts must be on the
//! pages; and every text on the pages is somewhere in the code.

use pintle_book::{
    page::{Page, repository},
    shop::{Item, Price, on_mio, on_tokio},
};
use pintle_tokio::{Code, Connect, Context, Sender, Server, Status};
use std::{
    fs,
    future::pending,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
    time::Duration,
};

/// Does badly whatever can be done badly.
struct Bad;

impl on_tokio::Prices for Bad {
    async fn ask(&self, _: &Context, item: Item) -> Result<Price, Status> {
        match item.name.as_str() {
            "panic" => panic!("a handler that panics, as it should"),
            "never" => pending().await,
            _ => Err(Status::bare(Code::NotFound)),
        }
    }
}

impl on_mio::PricesService for Bad {
    fn ask(&mut self, _: Item, _: pintle_mio::Unary<Price>) {}
}

impl on_tokio::Ticker for Bad {
    async fn watch(&self, _: &Context, _: Item, _: &mut Sender<Price>) -> Result<(), Status> {
        Ok(())
    }
}

fn item(name: &str) -> Item {
    Item { name: name.into() }
}

/// Accepts one connection, reads what its peer says first, sends `octets`, and closes.
fn foreign(octets: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one").to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let _ = stream.read(&mut [0; 1_000])?;
        stream.write_all(octets)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        stream.read_to_end(&mut Vec::new())
    });
    address
}

/// A port that nobody listens on.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it has one").to_string()
}

async fn serve(server: Server) -> (String, tokio::task::JoinHandle<()>) {
    let server = server.listen("127.0.0.1:0").expect("a free port");
    let address = server.local_addresses()[0].to_string();
    (address, tokio::spawn(async move { drop(server.serve().await) }))
}

async fn errors_of_calls() -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let (address, serving) =
        serve(Server::new().add(on_tokio::PricesServer::new(Bad)).configure(|config| config.max_recv_message = 1_000)).await;
    let client = on_tokio::PricesClient::connect(&address).await.expect("it listens");
    let mut see = |result: Result<Price, Status>| seen.push(result.expect_err("this fails").to_string());

    see(client.ask(item("tea")).await);
    see(client.ask(item("panic")).await);
    see(client.ask(item("never")).deadline(Duration::from_millis(20)).await);
    see(client.ask(item(&"x".repeat(2_000))).await);
    see(client.ask(item("tea")).metadata("x-bin", "not base64").await);
    see(client.ask(item("tea")).metadata("grpc-status", "0").await);
    let mut prices = on_tokio::TickerClient::connect(&address).await.expect("it listens").watch(item("tea")).await.expect("it opens");
    see(prices.next().await.map(|_| Price::default()));

    let small = Connect::new(&address).expect("an address").configure(|config| config.max_send_message = 10).connect().await;
    let small = on_tokio::PricesClient::new(small.expect("it listens"));
    see(small.ask(item("a long name for a little limit")).await);

    let running = tokio::spawn(client.ask(item("never")).into_future());
    see(client.ask(item("tea")).await);
    serving.abort();
    let _ = serving.await;
    see(running.await.expect("it ends"));
    see(client.ask(item("never")).await);

    let ping_first = b"\0\0\x08\x06\0\0\0\0\0notfirst";
    for octets in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\x15\x03\x03\x00\x02\x02\x0a", b"hello, hello", ping_first] {
        let client = on_tokio::PricesClient::connect(&foreign(octets)).await.expect("it listens");
        see(client.ask(item("tea")).await);
    }
    seen
}

async fn errors_of_connecting() -> Vec<String> {
    let long = format!("unix:/{}", "x".repeat(200));
    let addresses = [
        "localhost",
        "50051",
        "",
        ":50051",
        "localhost:http",
        "::1:50051",
        "https://localhost:50051",
        "http://localhost:50051",
        "/run/shop.sock",
        "unix:",
        &long,
        "local host:50051",
        "unix:/nowhere/shop.sock",
        &nobody(),
    ];
    let mut seen = Vec::new();
    for address in addresses {
        seen.push(pintle_tokio::connect(address).await.expect_err("nobody is there").to_string());
        seen.push(pintle_mio::connect(address).expect_err("nobody is there").to_string());
    }
    seen
}

/// The texts in the first columns of a page's tables.
fn rows(page: &Page) -> Vec<&str> {
    let cells = page.text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    cells.map(|(text, _)| text).collect()
}

/// Whether `text` is what a row says; "…" stands for anything.
fn is(text: &str, row: &str) -> bool {
    let mut pieces = row.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Whether a row says this, perhaps without the code and without who says so.
fn says(row: &str, text: &str) -> bool {
    if is(text, row) {
        return true;
    }
    let text = text.split_once(": ").map_or(text, |(_, text)| text);
    ["", " (the connection failed)", " (from the peer)"].iter().any(|end| text.strip_suffix(end).is_some_and(|text| is(text, row)))
}

/// The source code of every crate that a user meets.
fn code() -> String {
    fn read(directory: &Path, into: &mut String) {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                read(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                *into += &fs::read_to_string(&path).expect("text");
            }
        }
    }
    let mut code = String::new();
    for entry in fs::read_dir(repository()).expect("the repository").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("runtime-") || ["proto-core", "h2-frame", "codegen"].contains(&name.as_str()) {
            read(&entry.path().join("src"), &mut code);
        }
    }
    code
}

/// Pieces of texts that the system says, or that are put together of names.
const NOT_OURS: [&str; 2] = ["(os error", "failed to lookup address information"];

/// A directory of its own, gone with the test.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pintle-book-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn errors_of_serving() -> Vec<String> {
    let mut seen = Vec::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let scratch = Scratch::new("serving");
    let file = scratch.0.join("file");
    fs::write(&file, "precious").expect("it can be written");
    let nowhere = scratch.0.join("nowhere/shop.sock");
    let addresses = [
        taken.local_addr().expect("it has one").to_string(),
        format!("unix:{}", file.display()),
        format!("unix:{}", nowhere.display()),
        "192.0.2.1:50051".to_owned(),
        "127.0.0.1".to_owned(),
    ];
    for address in &addresses {
        seen.push(Server::new().listen(address).expect_err("it cannot").to_string());
        seen.push(pintle_mio::Server::new().listen(address).expect_err("it cannot").to_string());
    }
    seen.push(Server::new().serve().await.expect_err("it listens nowhere").to_string());
    seen.push(pintle_mio::Server::new().run().expect_err("it listens nowhere").to_string());

    let prices = || on_tokio::PricesServer::new(Bad);
    let twice = Server::new().add(prices()).add(prices()).listen("127.0.0.1:0").expect("a free port");
    seen.push(twice.serve().await.expect_err("a service is there twice").to_string());
    let prices = || on_mio::PricesServer::new(Bad);
    let twice = pintle_mio::Server::new().add(prices).add(prices).listen("127.0.0.1:0").expect("a free port");
    seen.push(twice.run().expect_err("a service is there twice").to_string());

    let greedy = Server::new().configure(|config| config.max_recv_message = 64 << 20).listen("127.0.0.1:0").expect("a free port");
    seen.push(greedy.serve().await.expect_err("over the budget").to_string());
    let greedy = pintle_mio::Server::new().configure(|config| config.max_recv_message = 64 << 20).listen("127.0.0.1:0");
    seen.push(greedy.expect("a free port").run().expect_err("over the budget").to_string());
    seen
}

/// Broken .proto files.
const PROTOS: [&str; 9] = [
    "syntax = \"proto3\"\nmessage A {}\n",
    "message A {\n  string a = 1;\n}\n",
    "edition = \"2023\";\nmessage A {}\n",
    "syntax = \"proto3\";\nmessage Request {}\nservice S { rpc Call(Requst) returns (Request); }\n",
    "syntax = \"proto3\";\nimport \"other.proto\";\n",
    "syntax = \"proto3\";\nmessage A {\n  string a = 1;\n  string b = 1;\n}\n",
    "syntax = \"proto3\";\nmessage A {}\nmessage A {}\n",
    "syntax = \"proto3\";\nmessage A { int a = 1; }\n",
    "syntax = \"proto3\";\nenum E { ONE = 1; }\n",
];

fn errors_of_building() -> Vec<String> {
    let scratch = Scratch::new("building");
    let generate = |proto: &Path| pintle_build::tokio().generate(&[proto]).expect_err("it is broken").to_string();
    let mut seen = vec![generate(&scratch.0.join("greter.proto"))];
    for (number, text) in PROTOS.iter().enumerate() {
        let file = scratch.0.join(format!("{number}.proto"));
        fs::write(&file, text).expect("it can be written");
        seen.push(generate(&file));
    }
    seen
}

/// Every text of `seen` is on the page, and every text on the page is in `seen` or in the code.
fn compare(page: &str, seen: &[String]) {
    let page = Page::read(page);
    let missing: Vec<&String> = seen.iter().filter(|text| !rows(&page).iter().any(|row| says(row, text))).collect();
    assert!(missing.is_empty(), "{} does not have {missing:#?}", page.name);
    let code = code();
    for row in rows(&page).into_iter().filter(|row| row.contains(' ') && !seen.iter().any(|text| says(row, text))) {
        let (first, rest) = row.split_once(": ").unwrap_or(("", row));
        let is_code = !first.is_empty() && first.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let text = if is_code { rest } else { row };
        let text = text.strip_suffix(" (from the peer)").unwrap_or(text);
        for piece in text.split('…').filter(|piece| !NOT_OURS.iter().any(|it| piece.contains(it))) {
            // What is between ": " and in brackets is often put in at run time.
            let words = piece.split(": ").flat_map(|words| words.split(['(', ')'])).map(|words| words.trim_matches([' ', ':', ';', '"']));
            for words in words.filter(|words| words.len() > 3) {
                assert!(code.contains(words), "{}: nobody says {words:?} of {row:?}", page.name);
            }
        }
    }
}

#[tokio::test]
async fn what_a_client_sees() {
    let (own, mut seen): (Vec<String>, Vec<String>) = errors_of_calls().await.into_iter().partition(|text| text.starts_with("NOT_FOUND"));
    assert_eq!(own.len(), 2, "what the service says itself");
    seen.extend(errors_of_connecting().await);
    compare("errors-client.md", &seen);
}

#[tokio::test]
async fn what_a_server_and_a_build_script_see() {
    let mut seen = errors_of_serving().await;
    // The rest of what is said of a .proto shows the place.
    seen.extend(errors_of_building().iter().filter_map(|text| text.lines().next()).map(str::to_owned));
    compare("errors-server.md", &seen);
}
