//! What `pintle_build::mio()` makes of the service of these tests, written by hand.

use super::{HelloReply, HelloRequest, Note};

/// Path and shape of each method of `hello.Greeter`, in the order of the .proto.
const GREETER_METHODS: [::pintle_mio::Method; 4] = [
    ::pintle_mio::Method::new("/hello.Greeter/SayHello", ::pintle_mio::Shape::Unary),
    ::pintle_mio::Method::new("/hello.Greeter/LotsOfReplies", ::pintle_mio::Shape::ServerStreaming),
    ::pintle_mio::Method::new("/hello.Greeter/LotsOfGreetings", ::pintle_mio::Shape::ClientStreaming),
    ::pintle_mio::Method::new("/hello.Greeter/Chat", ::pintle_mio::Shape::Bidi),
];

/// The service `hello.Greeter`: callbacks on the loop's thread, which answer now or keep the handle and answer later.
pub trait GreeterService: 'static {
    /// (docs of the rpc)
    fn say_hello(&mut self, request: HelloRequest, call: ::pintle_mio::Unary<HelloReply>);
    /// (docs of the rpc)
    fn lots_of_replies(&mut self, request: HelloRequest, out: ::pintle_mio::Replies<HelloReply>);
    /// (docs of the rpc)
    fn lots_of_greetings(&mut self, call: ::pintle_mio::Unary<HelloReply>) -> Box<dyn ::pintle_mio::Receiver<HelloRequest>>;
    /// (docs of the rpc)
    fn chat(&mut self, out: ::pintle_mio::Replies<Note>) -> Box<dyn ::pintle_mio::Receiver<Note>>;
}

/// Serves a [`GreeterService`]: give it to `pintle_mio::Server::add`.
#[derive(Debug)]
pub struct GreeterServer<T>(T);

impl<T: GreeterService> GreeterServer<T> {
    /// Wraps an implementation.
    pub fn new(service: T) -> Self {
        Self(service)
    }
}

impl<T: GreeterService> ::pintle_mio::Service for GreeterServer<T> {
    fn methods(&self) -> &'static [::pintle_mio::Method] {
        &GREETER_METHODS
    }
    fn call(&mut self, method: usize, call: ::pintle_mio::Incoming) {
        use ::pintle_mio::codec::Prost;
        match method {
            0 => call.unary::<Prost<HelloRequest>, Prost<HelloReply>>(|request, call| self.0.say_hello(request, call)),
            1 => call.server_streaming::<Prost<HelloRequest>, Prost<HelloReply>>(|request, out| self.0.lots_of_replies(request, out)),
            2 => call.client_streaming::<Prost<HelloRequest>, Prost<HelloReply>>(|call| self.0.lots_of_greetings(call)),
            3 => call.bidi::<Prost<Note>, Prost<Note>>(|out| self.0.chat(out)),
            _ => call.unimplemented(),
        }
    }
}

/// Calls `hello.Greeter`, over a `pintle_mio::Client` (from any thread) or a `pintle_mio::LocalClient`.
#[derive(Debug, Clone)]
pub struct GreeterClient<C = ::pintle_mio::Client>(C);

impl GreeterClient {
    /// Connects to `host:port` or `unix:/path`, with a background thread that all clones share.
    pub fn connect(address: &str) -> Result<Self, ::pintle_mio::ConnectError> {
        Ok(Self::new(::pintle_mio::connect(address)?))
    }
}

impl<C: ::pintle_mio::Caller> GreeterClient<C> {
    /// A client on a connection.
    pub fn new(caller: C) -> Self {
        Self(caller)
    }
    /// (docs of the rpc)
    pub fn say_hello(
        &self,
        request: HelloRequest,
    ) -> ::pintle_mio::UnaryRequest<'_, C, ::pintle_mio::codec::Prost<HelloRequest>, ::pintle_mio::codec::Prost<HelloReply>> {
        ::pintle_mio::Request::unary(&self.0, "/hello.Greeter/SayHello", request)
    }
    /// (docs of the rpc)
    pub fn lots_of_replies(
        &self,
        request: HelloRequest,
    ) -> ::pintle_mio::ServerStreamingRequest<'_, C, ::pintle_mio::codec::Prost<HelloRequest>, ::pintle_mio::codec::Prost<HelloReply>> {
        ::pintle_mio::Request::server_streaming(&self.0, "/hello.Greeter/LotsOfReplies", request)
    }
    /// (docs of the rpc)
    pub fn lots_of_greetings(
        &self,
    ) -> ::pintle_mio::ClientStreamingRequest<'_, C, ::pintle_mio::codec::Prost<HelloRequest>, ::pintle_mio::codec::Prost<HelloReply>> {
        ::pintle_mio::Request::client_streaming(&self.0, "/hello.Greeter/LotsOfGreetings")
    }
    /// (docs of the rpc)
    pub fn chat(&self) -> ::pintle_mio::BidiRequest<'_, C, ::pintle_mio::codec::Prost<Note>, ::pintle_mio::codec::Prost<Note>> {
        ::pintle_mio::Request::bidi(&self.0, "/hello.Greeter/Chat")
    }
}
