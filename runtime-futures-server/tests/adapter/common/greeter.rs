//! What codegen makes of a service with one method per shape (by hand, so that this crate's tests do not need codegen).

#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloRequest {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub count: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloReply {
    #[prost(string, tag = "1")]
    pub message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Note {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: bytes::Bytes,
}

// ------------------------------------------------------------------------------------------------ traits

/// Greets people.
///
/// Implement it with plain `async fn`s. Futures are `Send`: handlers run as tasks of their own.
/// For handlers that are not `Send`, implement [`LocalGreeter`] and serve it inline.
pub trait Greeter: ::core::marker::Send + ::core::marker::Sync + 'static {
    /// Says hello.
    fn say_hello(
        &self,
        cx: &::pintle::Context,
        request: HelloRequest,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<HelloReply, ::pintle::Status>> + ::core::marker::Send;
    /// `/helloworld.Greeter/LotsOfReplies`        (methods without a comment get their path)
    fn lots_of_replies(
        &self,
        cx: &::pintle::Context,
        request: HelloRequest,
        out: &mut ::pintle::Sender<HelloReply>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<(), ::pintle::Status>> + ::core::marker::Send;
    /// `/helloworld.Greeter/LotsOfGreetings`
    fn lots_of_greetings(
        &self,
        cx: &::pintle::Context,
        input: &mut ::pintle::Streaming<HelloRequest>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<HelloReply, ::pintle::Status>> + ::core::marker::Send;
    /// `/helloworld.Greeter/Chat`
    fn chat(
        &self,
        cx: &::pintle::Context,
        input: &mut ::pintle::Streaming<Note>,
        out: &mut ::pintle::Sender<Note>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<(), ::pintle::Status>> + ::core::marker::Send;
}

/// [`Greeter`] without `Send`: for the inline executor, where handlers run in the task of their connection.
/// Every `Greeter` is one.
pub trait LocalGreeter: 'static {
    /// Says hello.
    fn say_hello(
        &self,
        cx: &::pintle::Context,
        request: HelloRequest,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<HelloReply, ::pintle::Status>>;
    /// `/helloworld.Greeter/LotsOfReplies`
    fn lots_of_replies(
        &self,
        cx: &::pintle::Context,
        request: HelloRequest,
        out: &mut ::pintle::Sender<HelloReply>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<(), ::pintle::Status>>;
    /// `/helloworld.Greeter/LotsOfGreetings`
    fn lots_of_greetings(
        &self,
        cx: &::pintle::Context,
        input: &mut ::pintle::Streaming<HelloRequest>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<HelloReply, ::pintle::Status>>;
    /// `/helloworld.Greeter/Chat`
    fn chat(
        &self,
        cx: &::pintle::Context,
        input: &mut ::pintle::Streaming<Note>,
        out: &mut ::pintle::Sender<Note>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<(), ::pintle::Status>>;
}

impl<T: Greeter> LocalGreeter for T {
    fn say_hello(
        &self,
        cx: &::pintle::Context,
        request: HelloRequest,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<HelloReply, ::pintle::Status>> {
        <T as Greeter>::say_hello(self, cx, request)
    }
    fn lots_of_replies(
        &self,
        cx: &::pintle::Context,
        request: HelloRequest,
        out: &mut ::pintle::Sender<HelloReply>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<(), ::pintle::Status>> {
        <T as Greeter>::lots_of_replies(self, cx, request, out)
    }
    fn lots_of_greetings(
        &self,
        cx: &::pintle::Context,
        input: &mut ::pintle::Streaming<HelloRequest>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<HelloReply, ::pintle::Status>> {
        <T as Greeter>::lots_of_greetings(self, cx, input)
    }
    fn chat(
        &self,
        cx: &::pintle::Context,
        input: &mut ::pintle::Streaming<Note>,
        out: &mut ::pintle::Sender<Note>,
    ) -> impl ::core::future::Future<Output = ::core::result::Result<(), ::pintle::Status>> {
        <T as Greeter>::chat(self, cx, input, out)
    }
}

// ------------------------------------------------------------------------------------------------ server

/// Serves a [`Greeter`] (or, inline, a [`LocalGreeter`]): give it to `Server::add`.
#[derive(Debug)]
pub struct GreeterServer<T> {
    service: ::std::sync::Arc<T>,
}

impl<T> GreeterServer<T> {
    /// The service's full name.
    pub const NAME: &'static str = "helloworld.Greeter";

    /// Serves `service`.
    #[must_use]
    pub fn new(service: T) -> Self {
        Self::from_arc(::std::sync::Arc::new(service))
    }

    /// Serves a service that others hold too.
    #[must_use]
    pub fn from_arc(service: ::std::sync::Arc<T>) -> Self {
        Self { service }
    }
}

impl<T> ::core::clone::Clone for GreeterServer<T> {
    fn clone(&self) -> Self {
        Self { service: ::std::sync::Arc::clone(&self.service) }
    }
}

impl<T: 'static> ::pintle::glue::Methods for GreeterServer<T> {
    fn methods(&self) -> &'static [::pintle::glue::Method] {
        const METHODS: &[::pintle::glue::Method] = &[
            ::pintle::glue::Method::new("/helloworld.Greeter/SayHello", ::pintle::glue::Shape::Unary),
            ::pintle::glue::Method::new("/helloworld.Greeter/LotsOfReplies", ::pintle::glue::Shape::ServerStreaming),
            ::pintle::glue::Method::new("/helloworld.Greeter/LotsOfGreetings", ::pintle::glue::Shape::ClientStreaming),
            ::pintle::glue::Method::new("/helloworld.Greeter/Chat", ::pintle::glue::Shape::Bidi),
        ];
        METHODS
    }
}

// The two `dispatch` functions differ in the trait they call and in the type of `call`.
impl<R: ::pintle::glue::Runtime, T: Greeter> ::pintle::glue::Service<R> for GreeterServer<T> {
    fn dispatch(&self, method: usize, call: ::pintle::glue::SpawnCall<'_, R>) {
        let service = ::std::sync::Arc::clone(&self.service);
        match method {
            0 => {
                call.unary::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>, _, _>(move |cx, request| async move {
                    <T as Greeter>::say_hello(&service, &cx, request).await
                })
            }
            1 => call.server_streaming::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>, _, _>(
                move |cx, request, mut out| async move { <T as Greeter>::lots_of_replies(&service, &cx, request, &mut out).await },
            ),
            2 => call.client_streaming::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>, _, _>(
                move |cx, mut input| async move { <T as Greeter>::lots_of_greetings(&service, &cx, &mut input).await },
            ),
            3 => call.bidi::<::pintle::glue::Prost<Note>, ::pintle::glue::Prost<Note>, _, _>(move |cx, mut input, mut out| async move {
                <T as Greeter>::chat(&service, &cx, &mut input, &mut out).await
            }),
            _ => call.unimplemented(),
        }
    }
}

impl<T: LocalGreeter> ::pintle::glue::LocalService for GreeterServer<T> {
    fn dispatch(&self, method: usize, call: ::pintle::glue::InlineCall<'_>) {
        let service = ::std::sync::Arc::clone(&self.service);
        match method {
            0 => {
                call.unary::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>, _, _>(move |cx, request| async move {
                    <T as LocalGreeter>::say_hello(&service, &cx, request).await
                })
            }
            1 => call.server_streaming::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>, _, _>(
                move |cx, request, mut out| async move { <T as LocalGreeter>::lots_of_replies(&service, &cx, request, &mut out).await },
            ),
            2 => call.client_streaming::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>, _, _>(
                move |cx, mut input| async move { <T as LocalGreeter>::lots_of_greetings(&service, &cx, &mut input).await },
            ),
            3 => call.bidi::<::pintle::glue::Prost<Note>, ::pintle::glue::Prost<Note>, _, _>(move |cx, mut input, mut out| async move {
                <T as LocalGreeter>::chat(&service, &cx, &mut input, &mut out).await
            }),
            _ => call.unimplemented(),
        }
    }
}

// ------------------------------------------------------------------------------------------------ client

/// A client of `helloworld.Greeter`. Greets people.
///
/// Cheap to clone; clones share one connection.
#[derive(Debug, Clone)]
pub struct GreeterClient {
    channel: ::pintle::Channel,
}

impl GreeterClient {
    /// Connects to `host:port` or `unix:/path`.
    ///
    /// # Errors
    /// The address cannot be understood, or nobody answers there.
    pub async fn connect(address: &str) -> ::core::result::Result<Self, ::pintle::ConnectError> {
        ::core::result::Result::Ok(Self::new(::pintle::connect(address).await?))
    }

    /// Makes its calls on `channel`.
    #[must_use]
    pub fn new(channel: ::pintle::Channel) -> Self {
        Self { channel }
    }

    /// Says hello.
    pub fn say_hello(&self, request: HelloRequest) -> ::pintle::UnaryCall<HelloReply> {
        self.channel
            .unary::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>>("/helloworld.Greeter/SayHello", &request)
    }

    /// `/helloworld.Greeter/LotsOfReplies`
    pub fn lots_of_replies(&self, request: HelloRequest) -> ::pintle::ServerStreamingCall<HelloReply> {
        self.channel.server_streaming::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>>(
            "/helloworld.Greeter/LotsOfReplies",
            &request,
        )
    }

    /// `/helloworld.Greeter/LotsOfGreetings`
    pub fn lots_of_greetings(&self) -> ::pintle::ClientStreamingCall<HelloRequest, HelloReply> {
        self.channel.client_streaming::<::pintle::glue::Prost<HelloRequest>, ::pintle::glue::Prost<HelloReply>>(
            "/helloworld.Greeter/LotsOfGreetings",
        )
    }

    /// `/helloworld.Greeter/Chat`
    pub fn chat(&self) -> ::pintle::BidiCall<Note, Note> {
        self.channel.bidi::<::pintle::glue::Prost<Note>, ::pintle::glue::Prost<Note>>("/helloworld.Greeter/Chat")
    }
}
