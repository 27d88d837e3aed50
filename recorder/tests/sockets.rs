//! Connections over real sockets, recorded on both sides by the adapters' own layers, play to the same octet.

use bytes::Bytes;
use pintle_mio::{Caller, Incoming, Method, Receiver, Replies, Request, Unary, codec::Raw, kind};
use pintle_recorder::{Detail, Options, Tapes, Verdict, replay, timeline};
use pintle_tokio::{
    Channel, Config, Peer, Server, Status, Tokio,
    glue::{Methods, Service, SpawnCall},
};
use std::{fs, path::PathBuf, time::Duration};

const PATHS: [(&str, pintle_mio::Shape); 4] = [
    ("/test.Test/Unary", pintle_mio::Shape::Unary),
    ("/test.Test/Many", pintle_mio::Shape::ServerStreaming),
    ("/test.Test/Collect", pintle_mio::Shape::ClientStreaming),
    ("/test.Test/Both", pintle_mio::Shape::Bidi),
];
const LARGE: usize = 1_500_000;

/// An empty directory of this test's own, and its tapes.
struct Place {
    path: PathBuf,
    tapes: Tapes,
}

impl Place {
    fn new(name: &str, detail: Detail) -> Self {
        let path = std::env::temp_dir().join(format!("pintle-tapes-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let tapes = Tapes::new(&path).expect("a directory").detail(detail);
        Self { path, tapes }
    }

    /// All tapes play; each carried `octets` at least.
    fn check(self, tapes: usize, octets: u64) {
        let files = self.tapes.files().expect("the directory is there");
        assert_eq!(files.len(), tapes, "{files:?}");
        for file in files {
            let tape = fs::read(&file).expect("readable");
            let played = replay(&tape).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(played.octets_in > octets && played.octets_out > octets, "{}: {played:?}", file.display());
            assert_eq!((played.cut, played.stopped), (0, false));
            let mut text = String::new();
            assert_eq!(timeline(&tape, Options { all: true, ..Options::default() }, &mut text), Ok(Verdict::Same));
            assert_eq!(text.lines().count(), played.records + 1, "a line per record, and the verdict");
            let mut short = String::new();
            assert_eq!(timeline(&tape, Options::default(), &mut short), Ok(Verdict::Same));
            let told = |line: &&str| !line.ends_with("asks for a read target") && !line.ends_with("poll_event: nothing");
            assert!(short.lines().eq(text.lines().filter(told)), "without the questions that nothing came of:\n{short}");
            // A tape that the process did not finish plays as far as it goes.
            for cut in (0..tape.len()).step_by(tape.len() / 7 + 1) {
                replay(&tape[..cut]).unwrap_or_else(|error| panic!("{} cut at {cut}: {error}", file.display()));
            }
        }
        fs::remove_dir_all(self.path).expect("nobody else wants it");
    }
}

// -- tokio ----------------------------------------------------------------------------------------------------

struct Echo;

impl Methods for Echo {
    fn methods(&self) -> &'static [pintle_tokio::glue::Method] {
        const METHODS: [pintle_tokio::glue::Method; 4] = {
            let [a, b, c, d] = PATHS;
            let method = pintle_tokio::glue::Method::new;
            [method(a.0, a.1), method(b.0, b.1), method(c.0, c.1), method(d.0, d.1)]
        };
        &METHODS
    }
}

impl Service<Tokio> for Echo {
    fn dispatch(&self, method: usize, call: SpawnCall<'_, Tokio>) {
        match method {
            0 => call.unary::<Raw, Raw, _, _>(|_, request| async move { Ok(request) }),
            1 => call.server_streaming::<Raw, Raw, _, _>(|_, request, mut out| async move {
                for _ in 0..20 {
                    out.send(request.clone()).await?;
                }
                Ok(())
            }),
            2 => call.client_streaming::<Raw, Raw, _, _>(|_, mut input| async move {
                let mut octets = 0;
                while let Some(message) = input.next().await? {
                    octets += message.len();
                }
                Ok(octets.to_string().into())
            }),
            3 => call.bidi::<Raw, Raw, _, _>(|_, mut input, mut out| async move {
                while let Some(message) = input.next().await? {
                    out.send(message).await?;
                }
                Err(Status::data_loss("after the last"))
            }),
            _ => call.unimplemented(),
        }
    }
}

async fn tokio_calls(channel: Channel, seed: u8) {
    for n in 0..10_u8 {
        let request = Bytes::from(vec![seed ^ n; usize::from(n) * 100]);
        let reply = channel.unary::<Raw, Raw>(PATHS[0].0, &request).deadline(Duration::from_secs(20)).metadata("tenant", "a").await;
        assert_eq!(reply.unwrap(), request);
    }
    let large = Bytes::from(vec![seed; LARGE]);
    assert!(channel.unary::<Raw, Raw>(PATHS[0].0, &large).await.unwrap() == large);
    let mut replies = channel.server_streaming::<Raw, Raw>(PATHS[1].0, &large.slice(..40_000)).await.unwrap();
    let mut got = 0;
    while replies.next().await.unwrap().is_some() {
        got += 1;
    }
    assert_eq!(got, 20);
    let (mut out, reply) = channel.client_streaming::<Raw, Raw>(PATHS[2].0).open().await.unwrap();
    for _ in 0..30 {
        out.send(large.slice(..9_999)).await.unwrap();
    }
    drop(out);
    assert_eq!(reply.await.unwrap(), "299970");
    let (mut out, mut input) = channel.bidi::<Raw, Raw>(PATHS[3].0).open().await.unwrap();
    for n in 0..10 {
        out.send(large.slice(..n)).await.unwrap();
        assert_eq!(input.next().await.unwrap().unwrap().len(), n);
    }
    drop(out);
    assert_eq!(input.next().await.unwrap_err().code(), pintle_tokio::Code::DataLoss);
    // One that nobody waits for.
    let mut dropped = channel.server_streaming::<Raw, Raw>(PATHS[1].0, &large.slice(..90_000)).await.unwrap();
    assert!(dropped.next().await.unwrap().is_some());
}

fn on_tokio(name: &str, detail: Detail, connections: usize) {
    let place = Place::new(name, detail);
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut ends = Vec::new();
        for n in 0..connections {
            let (theirs, ours) = (listener.accept(), tokio::net::TcpStream::connect(address));
            let client = tokio::spawn(ours);
            let (socket, from) = theirs.await.expect("somebody connects");
            let (tapes, server) = (place.tapes.clone(), Server::new().add(Echo).connections().expect("it fits"));
            ends.push(tokio::spawn(async move {
                server.serve_layered(socket, Peer::Tcp(from), |connection| tapes.record(connection)).await;
            }));
            let ours = client.await.expect("no panic").expect("connected");
            let channel = pintle_tokio::connect_layered(ours, &Config::default(), |connection| place.tapes.record(connection));
            ends.push(tokio::spawn(tokio_calls(channel, n as u8)));
        }
        for end in ends {
            end.await.expect("no panic");
        }
    });
    // The runtime is gone, and with it every recorder: the files are whole.
    place.check(2 * connections, 1 << 20);
}

#[test]
fn tokio_on_both_sides() {
    on_tokio("tokio", Detail::Octets, 2);
    on_tokio("tokio-hash", Detail::Hash, 1);
}

#[test]
fn tokio_by_one_word_on_each_side() {
    let place = Place::new("tokio-layer", Detail::Octets);
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
        let server = Server::new().add(Echo).layer(place.tapes.layer()).listen("127.0.0.1:0").expect("a port");
        let connect = pintle_tokio::Connect::new(&server.local_addresses()[0].to_string()).expect("an address");
        tokio::spawn(server.serve());
        tokio_calls(connect.layer(place.tapes.layer()).connect().await.expect("it listens"), 3).await;
    });
    place.check(2, 1 << 20);
}

// -- mio ------------------------------------------------------------------------------------------------------

struct Back;

impl pintle_mio::Service for Back {
    fn methods(&self) -> &'static [Method] {
        const METHODS: [Method; 4] = {
            let [a, b, c, d] = PATHS;
            [Method::new(a.0, a.1), Method::new(b.0, b.1), Method::new(c.0, c.1), Method::new(d.0, d.1)]
        };
        &METHODS
    }

    fn call(&mut self, method: usize, call: Incoming) {
        match method {
            0 => call.unary::<Raw, Raw>(|request, call| call.reply(request)),
            1 => call.server_streaming::<Raw, Raw>(|request, out: Replies<Bytes, Raw>| {
                let mut left = 20;
                out.produce(move |out| {
                    while left > 0 && out.send(request.clone()).is_ok() {
                        left -= 1;
                    }
                    if left == 0 {
                        out.finish(Status::ok());
                    }
                });
            }),
            2 => call.client_streaming::<Raw, Raw>(|call| Box::new(Sum(Some(call), 0))),
            _ => call.bidi::<Raw, Raw>(|out| {
                out.answer_each(|message: Bytes, replies| {
                    replies.push(message);
                    Ok(())
                })
            }),
        }
    }
}

struct Sum(Option<Unary<Bytes, Raw>>, usize);

impl Receiver<Bytes> for Sum {
    fn on_message(&mut self, message: Bytes) {
        self.1 += message.len();
    }
    fn on_end(&mut self) {
        if let Some(call) = self.0.take() {
            // Late, from another thread.
            let octets = self.1;
            std::thread::spawn(move || call.reply(octets.to_string().into()));
        }
    }
}

fn mio_calls<C: Caller>(client: &C, seed: u8) {
    let unary = |request: Bytes| Request::<_, Raw, Raw, kind::Unary>::unary(client, PATHS[0].0, request);
    for n in 0..10_u8 {
        let request = Bytes::from(vec![seed ^ n; usize::from(n) * 100]);
        assert_eq!(unary(request.clone()).deadline(Duration::from_secs(20)).metadata("tenant", "a").wait().unwrap(), request);
    }
    let large = Bytes::from(vec![seed; LARGE]);
    assert!(unary(large.clone()).wait().unwrap() == large);
    let many = |octets| Request::<_, Raw, Raw, kind::ServerStreaming>::server_streaming(client, PATHS[1].0, large.slice(..octets));
    let mut replies = many(40_000).open().unwrap();
    let mut got = 0;
    while replies.next().unwrap().is_some() {
        got += 1;
    }
    assert_eq!(got, 20);
    let mut upload = Request::<_, Raw, Raw, kind::ClientStreaming>::client_streaming(client, PATHS[2].0).open().unwrap();
    for _ in 0..30 {
        upload.send(large.slice(..9_999)).unwrap();
    }
    assert_eq!(upload.finish().unwrap(), "299970");
    let (mut out, mut input) = Request::<_, Raw, Raw, kind::Bidi>::bidi(client, PATHS[3].0).open().unwrap();
    for n in 0..10 {
        out.send(large.slice(..n)).unwrap();
        assert_eq!(input.next().unwrap().unwrap().len(), n);
    }
    out.close();
    assert!(input.next().unwrap().is_none());
    let mut dropped = many(90_000).open().unwrap();
    assert!(dropped.next().unwrap().is_some());
}

#[test]
fn mio_on_both_sides() {
    let place = Place::new("mio", Detail::Octets);
    let server = pintle_mio::Server::new().add(|| Back).layer(place.tapes.layer()).listen("127.0.0.1:0").unwrap().spawn().unwrap();
    let address = server.local_addresses()[0].to_string();
    let shared = pintle_mio::Connect::new().layer(place.tapes.layer()).client(&address).unwrap();
    mio_calls(&shared, 1);
    // Its thread ends with its last clone, and closes the tape before the loop of the server sees the end of the connection.
    drop(shared);
    let local = pintle_mio::Connect::new().layer(place.tapes.layer()).local(&address).unwrap();
    mio_calls(&local, 2);
    local.close();
    server.shutdown(Duration::from_secs(10)).unwrap();
    place.check(4, 1 << 20);
}

/// The same without a socket: the layer is on the server's end.
#[test]
fn mio_in_one_process() {
    let place = Place::new("mio-in-process", Detail::Octets);
    let client = pintle_mio::Server::new().add(|| Back).layer(place.tapes.layer()).in_process_local().unwrap();
    mio_calls(&client, 3);
    drop(client);
    place.check(1, 1 << 20);
}
