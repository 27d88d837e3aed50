//! Real calls through generated code: every method of `Names` and `Greeter`, on tokio and on mio.

use pintle_build_generated::{on_mio, on_tokio};
use std::{future::poll_fn, path::PathBuf, pin::pin, task::Poll, time::Duration};

/// A Unix socket's address in a directory that goes away.
struct Socket(PathBuf);

impl Socket {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pintle-generated-{}-{name}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    fn address(&self) -> String {
        format!("unix:{}", self.0.display())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

mod tokio_side {
    use super::on_tokio::helloworld::{self, Greeter, HelloReply, HelloRequest, LocalNames, Note, note::Inner};
    use pintle_tokio::{Context, Sender, Status, Streaming};
    use prost::bytes::Bytes;
    use prost_types::Timestamp;
    use std::{cell::Cell, rc::Rc};

    pub(crate) struct MyGreeter;

    impl Greeter for MyGreeter {
        async fn say_hello(&self, _: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
            Ok(HelloReply { message: format!("Hello, {}", request.name) })
        }

        async fn lots_of_replies(&self, _: &Context, request: HelloRequest, out: &mut Sender<HelloReply>) -> Result<(), Status> {
            for n in 0..request.count {
                out.send(HelloReply { message: n.to_string() }).await?;
            }
            Ok(())
        }

        async fn lots_of_greetings(&self, _: &Context, input: &mut Streaming<HelloRequest>) -> Result<HelloReply, Status> {
            let mut names = Vec::new();
            while let Some(request) = input.next().await? {
                names.push(request.name);
            }
            Ok(HelloReply { message: names.join("+") })
        }

        async fn chat(&self, _: &Context, input: &mut Streaming<Note>, out: &mut Sender<Note>) -> Result<(), Status> {
            while let Some(note) = input.next().await? {
                out.send(note).await?;
            }
            Ok(())
        }
    }

    /// Not `Send`: served inline.
    pub(crate) struct MyNames(pub(crate) Rc<Cell<u32>>);

    impl MyNames {
        fn named(&self, name: &str) -> Note {
            self.0.set(self.0.get() + 1);
            Note { r#type: name.to_owned(), ..Note::default() }
        }
    }

    impl LocalNames for MyNames {
        async fn r#type(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(self.named("type"))
        }
        async fn self_(&self, _: &Context, _: Note, out: &mut Sender<Note>) -> Result<(), Status> {
            out.send(self.named("self")).await
        }
        async fn new(&self, _: &Context, _: &mut Streaming<Note>) -> Result<Note, Status> {
            Ok(self.named("new"))
        }
        async fn connect(&self, _: &Context, _: &mut Streaming<Note>, out: &mut Sender<Note>) -> Result<(), Status> {
            out.send(self.named("connect")).await
        }
        async fn r#async(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(self.named("async"))
        }
        async fn clone(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(self.named("clone"))
        }
        async fn dispatch(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(self.named("dispatch"))
        }
        async fn methods(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(self.named("methods"))
        }
        async fn call(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(self.named("call"))
        }
        async fn well_known(&self, _: &Context, (): ()) -> Result<Timestamp, Status> {
            Ok(Timestamp { seconds: 1, nanos: 2 })
        }
        async fn wrapped(&self, _: &Context, input: &mut Streaming<String>, out: &mut Sender<Vec<u8>>) -> Result<(), Status> {
            while let Some(text) = input.next().await? {
                out.send(text.into_bytes()).await?;
            }
            Ok(())
        }
        async fn nested(&self, _: &Context, _: Inner) -> Result<helloworld::Status, Status> {
            Ok(helloworld::Status {})
        }
        async fn old(&self, _: &Context, _: Note) -> Result<Note, Status> {
            Ok(Note { body: Bytes::from_static(b"old"), ..Note::default() })
        }
    }
}

mod mio_side {
    use super::on_mio::helloworld::{self, GreeterService, HelloReply, HelloRequest, NamesService, Note, note::Inner};
    use pintle_mio::{Receiver, Replies, Status, Unary};
    use prost::bytes::Bytes;
    use prost_types::Timestamp;

    pub(crate) struct MyGreeter;

    impl GreeterService for MyGreeter {
        fn say_hello(&mut self, request: HelloRequest, call: Unary<HelloReply>) {
            call.reply(HelloReply { message: format!("Hello, {}", request.name) });
        }

        fn lots_of_replies(&mut self, request: HelloRequest, mut out: Replies<HelloReply>) {
            for n in 0..request.count {
                let _ = out.send(HelloReply { message: n.to_string() });
            }
            out.finish(Status::ok());
        }

        fn lots_of_greetings(&mut self, call: Unary<HelloReply>) -> Box<dyn Receiver<HelloRequest>> {
            Box::new(Names { call: Some(call), names: Vec::new() })
        }

        fn chat(&mut self, out: Replies<Note>) -> Box<dyn Receiver<Note>> {
            Box::new(Echo(out))
        }
    }

    struct Names {
        call: Option<Unary<HelloReply>>,
        names: Vec<String>,
    }

    impl Receiver<HelloRequest> for Names {
        fn on_message(&mut self, request: HelloRequest) {
            self.names.push(request.name);
        }
        fn on_end(&mut self) {
            if let Some(call) = self.call.take() {
                call.reply(HelloReply { message: self.names.join("+") });
            }
        }
    }

    struct Echo(Replies<Note>);

    impl Receiver<Note> for Echo {
        fn on_message(&mut self, note: Note) {
            let _ = self.0.send(note);
        }
        fn on_end(&mut self) {
            self.0.finish(Status::ok());
        }
    }

    /// Answers when the input has ended.
    struct Then<F: FnMut()>(F);

    impl<F: FnMut() + 'static> Receiver<Note> for Then<F> {
        fn on_message(&mut self, _: Note) {}
        fn on_end(&mut self) {
            (self.0)();
        }
    }

    #[derive(Default)]
    pub(crate) struct MyNames;

    fn named(name: &str) -> Note {
        Note { r#type: name.to_owned(), ..Note::default() }
    }

    impl NamesService for MyNames {
        fn r#type(&mut self, _: Note, call: Unary<Note>) {
            call.reply(named("type"));
        }
        fn self_(&mut self, _: Note, mut out: Replies<Note>) {
            let _ = out.send(named("self"));
            out.finish(Status::ok());
        }
        fn new(&mut self, call: Unary<Note>) -> Box<dyn Receiver<Note>> {
            let mut call = Some(call);
            Box::new(Then(move || call.take().into_iter().for_each(|call| call.reply(named("new")))))
        }
        fn connect(&mut self, mut out: Replies<Note>) -> Box<dyn Receiver<Note>> {
            Box::new(Then(move || {
                let _ = out.send(named("connect"));
                out.finish(Status::ok());
            }))
        }
        fn r#async(&mut self, _: Note, call: Unary<Note>) {
            call.reply(named("async"));
        }
        fn clone(&mut self, _: Note, call: Unary<Note>) {
            call.reply(named("clone"));
        }
        fn dispatch(&mut self, _: Note, call: Unary<Note>) {
            call.reply(named("dispatch"));
        }
        fn methods(&mut self, _: Note, call: Unary<Note>) {
            call.reply(named("methods"));
        }
        fn call(&mut self, _: Note, call: Unary<Note>) {
            call.reply(named("call"));
        }
        fn well_known(&mut self, (): (), call: Unary<Timestamp>) {
            call.reply(Timestamp { seconds: 1, nanos: 2 });
        }
        fn wrapped(&mut self, out: Replies<Vec<u8>>) -> Box<dyn Receiver<String>> {
            struct Octets(Replies<Vec<u8>>);
            impl Receiver<String> for Octets {
                fn on_message(&mut self, text: String) {
                    let _ = self.0.send(text.into_bytes());
                }
                fn on_end(&mut self) {
                    self.0.finish(Status::ok());
                }
            }
            Box::new(Octets(out))
        }
        fn nested(&mut self, _: Inner, call: Unary<helloworld::Status>) {
            call.reply(helloworld::Status {});
        }
        fn old(&mut self, _: Note, call: Unary<Note>) {
            call.reply(Note { body: Bytes::from_static(b"old"), ..Note::default() });
        }
    }
}

/// Runs `calls` against `serve`, which never ends by itself. Nothing here takes long: a minute means that something hangs.
fn on_tokio<S: Future, C: Future>(serve: S, calls: C) -> C::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (mut serve, mut calls) = (pin!(serve), pin!(calls));
        let both = poll_fn(move |cx| {
            assert!(serve.as_mut().poll(cx).is_pending(), "the server goes on");
            match calls.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(output),
                Poll::Pending => Poll::Pending,
            }
        });
        tokio::time::timeout(Duration::from_secs(60), both).await.expect("nothing hangs")
    })
}

#[test]
fn the_four_shapes_on_tokio() {
    use on_tokio::helloworld::{GreeterClient, GreeterServer, HelloRequest, Note};
    let socket = Socket::new("tokio-greeter");
    let server =
        pintle_tokio::Server::new().add(GreeterServer::new(tokio_side::MyGreeter)).listen(&socket.address()).expect("the path is free");
    let request = |name: &str, count| HelloRequest { name: name.to_owned(), count };
    on_tokio(server.serve(), async {
        let client = GreeterClient::connect(&socket.address()).await.expect("the server listens");
        assert_eq!(client.say_hello(request("Ada", 0)).await.expect("it answers").message, "Hello, Ada");

        let mut replies = client.lots_of_replies(request("", 3)).await.expect("it answers");
        let mut got = Vec::new();
        while let Some(reply) = replies.next().await.expect("it goes on") {
            got.push(reply.message);
        }
        assert_eq!(got, ["0", "1", "2"]);

        let (mut out, reply) = client.lots_of_greetings().open().await.expect("it opens");
        for name in ["a", "b"] {
            out.send(request(name, 0)).await.expect("it takes it");
        }
        out.close();
        assert_eq!(reply.await.expect("it answers").message, "a+b");

        let (mut out, mut input) = client.clone().chat().open().await.expect("it opens");
        for name in ["x", "y"] {
            let note = Note { r#type: name.to_owned(), ..Note::default() };
            out.send(note.clone()).await.expect("it takes it");
            assert_eq!(input.next().await.expect("it goes on"), Some(note));
        }
        out.close();
        assert_eq!(input.next().await.expect("it ends well"), None);
    });
}

#[test]
fn every_name_on_tokio() {
    use on_tokio::helloworld::{NamesClient, NamesServer, Note, Status, note::Inner};
    let socket = Socket::new("tokio-names");
    let count = std::rc::Rc::default();
    let names = tokio_side::MyNames(std::rc::Rc::clone(&count));
    let server = pintle_tokio::Server::inline().add(NamesServer::new(names)).listen(&socket.address()).expect("the path is free");
    on_tokio(server.serve(), async {
        let client = NamesClient::connect(&socket.address()).await.expect("the server listens");
        let note = Note::default;
        assert_eq!(client.r#type(note()).await.expect("it answers").r#type, "type");
        let mut notes = client.self_(note()).await.expect("it answers");
        assert_eq!(notes.next().await.expect("it goes on").expect("there is one").r#type, "self");
        let (out, reply) = client.new_().open().await.expect("it opens");
        out.close();
        assert_eq!(reply.await.expect("it answers").r#type, "new");
        let (out, mut notes) = client.connect_().open().await.expect("it opens");
        out.close();
        assert_eq!(notes.next().await.expect("it goes on").expect("there is one").r#type, "connect");
        assert_eq!(client.r#async(note()).await.expect("it answers").r#type, "async");
        assert_eq!(client.clone_(note()).await.expect("it answers").r#type, "clone");
        assert_eq!(client.dispatch(note()).await.expect("it answers").r#type, "dispatch");
        assert_eq!(client.methods(note()).await.expect("it answers").r#type, "methods");
        assert_eq!(client.call(note()).await.expect("it answers").r#type, "call");
        assert_eq!(client.well_known(()).await.expect("it answers").nanos, 2);
        let (mut out, mut octets) = client.wrapped().open().await.expect("it opens");
        out.send("text".to_owned()).await.expect("it takes it");
        assert_eq!(octets.next().await.expect("it goes on").as_deref(), Some(&b"text"[..]));
        assert_eq!(client.nested(Inner::default()).await.expect("it answers"), Status {});
        #[expect(deprecated, reason = "the .proto says so")]
        let old = client.old(note()).await.expect("it answers");
        assert_eq!(&old.body[..], b"old");
    });
    assert_eq!(count.get(), 9, "the service's state is its own");
}

#[test]
fn the_four_shapes_on_mio() {
    use on_mio::helloworld::{GreeterClient, GreeterServer, HelloRequest, Note};
    let socket = Socket::new("mio-greeter");
    let server =
        pintle_mio::Server::new().add(|| GreeterServer::new(mio_side::MyGreeter)).listen(&socket.address()).expect("the path is free");
    let running = server.spawn().expect("a thread can be made");
    let minute = Duration::from_secs(60);
    let request = |name: &str, count| HelloRequest { name: name.to_owned(), count };
    let client = GreeterClient::connect(&socket.address()).expect("the server listens");
    assert_eq!(client.say_hello(request("Ada", 0)).deadline(minute).wait().expect("it answers").message, "Hello, Ada");

    let local = GreeterClient::new(pintle_mio::connect_local(&socket.address()).expect("the server listens"));
    let mut replies = local.lots_of_replies(request("", 3)).deadline(minute).open().expect("it opens");
    let mut got = Vec::new();
    while let Some(reply) = replies.next().expect("it goes on") {
        got.push(reply.message);
    }
    assert_eq!(got, ["0", "1", "2"]);

    let mut upload = client.lots_of_greetings().deadline(minute).open().expect("it opens");
    for name in ["a", "b"] {
        upload.send(request(name, 0)).expect("it takes it");
    }
    assert_eq!(upload.finish().expect("it answers").message, "a+b");

    let (mut out, mut input) = client.clone().chat().deadline(minute).open().expect("it opens");
    for name in ["x", "y"] {
        let note = Note { r#type: name.to_owned(), ..Note::default() };
        out.send(note.clone()).expect("it takes it");
        assert_eq!(input.next().expect("it goes on"), Some(note));
    }
    out.close();
    assert_eq!(input.next().expect("it ends well"), None);
    running.shutdown(Duration::ZERO).expect("it ends");
}

#[test]
fn every_name_on_mio() {
    use on_mio::helloworld::{NamesClient, NamesServer, Note, Status, note::Inner};
    let socket = Socket::new("mio-names");
    let server = pintle_mio::Server::new().add(|| NamesServer::new(mio_side::MyNames)).listen(&socket.address()).expect("the path is free");
    let running = server.spawn().expect("a thread can be made");
    let minute = Duration::from_secs(60);
    let client = NamesClient::connect(&socket.address()).expect("the server listens");
    let note = Note::default;
    assert_eq!(client.r#type(note()).deadline(minute).wait().expect("it answers").r#type, "type");
    let mut notes = client.self_(note()).deadline(minute).open().expect("it opens");
    assert_eq!(notes.next().expect("it goes on").expect("there is one").r#type, "self");
    let upload = client.new_().deadline(minute).open().expect("it opens");
    assert_eq!(upload.finish().expect("it answers").r#type, "new");
    let (out, mut notes) = client.connect_().deadline(minute).open().expect("it opens");
    out.close();
    assert_eq!(notes.next().expect("it goes on").expect("there is one").r#type, "connect");
    assert_eq!(client.r#async(note()).deadline(minute).wait().expect("it answers").r#type, "async");
    assert_eq!(client.clone_(note()).deadline(minute).wait().expect("it answers").r#type, "clone");
    assert_eq!(client.dispatch(note()).deadline(minute).wait().expect("it answers").r#type, "dispatch");
    assert_eq!(client.methods(note()).deadline(minute).wait().expect("it answers").r#type, "methods");
    assert_eq!(client.call(note()).deadline(minute).wait().expect("it answers").r#type, "call");
    assert_eq!(client.well_known(()).deadline(minute).wait().expect("it answers").nanos, 2);
    let (mut out, mut octets) = client.wrapped().deadline(minute).open().expect("it opens");
    out.send("text".to_owned()).expect("it takes it");
    assert_eq!(octets.next().expect("it goes on").as_deref(), Some(&b"text"[..]));
    assert_eq!(client.nested(Inner::default()).deadline(minute).wait().expect("it answers"), Status {});
    #[expect(deprecated, reason = "the .proto says so")]
    let old = client.old(note()).deadline(minute).wait().expect("it answers");
    assert_eq!(&old.body[..], b"old");
    running.shutdown(Duration::ZERO).expect("it ends");
}
