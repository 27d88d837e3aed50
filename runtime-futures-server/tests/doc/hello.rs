// What `pintle_build` makes of this for an async runtime, shortened; the examples in the adapters' documentation are compiled with it, and
// say which of them is `pintle`.
//
//     package hello;
//     message HelloRequest { string name = 1; }
//     message HelloReply { string text = 1; }
//     service Greeter { rpc SayHello(HelloRequest) returns (HelloReply); }
#[allow(dead_code, unreachable_pub, reason = "not every user needs all of it")]
mod hello {
    use super::pintle::{
        Channel, ConnectError, Context, Status, UnaryCall,
        glue::{Method, Methods, Prost, Runtime, Service, Shape, SpawnCall},
    };
    use std::{future::Future, sync::Arc};

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct HelloRequest {
        #[prost(string, tag = "1")]
        pub name: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct HelloReply {
        #[prost(string, tag = "1")]
        pub text: String,
    }

    pub trait Greeter: Send + Sync + 'static {
        fn say_hello(&self, cx: &Context, request: HelloRequest) -> impl Future<Output = Result<HelloReply, Status>> + Send;
    }

    #[derive(Clone)]
    pub struct GreeterServer<T>(Arc<T>);

    impl<T: Greeter> GreeterServer<T> {
        pub fn new(service: T) -> Self {
            Self(Arc::new(service))
        }
    }

    impl<T: Greeter> Methods for GreeterServer<T> {
        fn methods(&self) -> &'static [Method] {
            const { &[Method::new("/hello.Greeter/SayHello", Shape::Unary)] }
        }
    }

    impl<R: Runtime, T: Greeter> Service<R> for GreeterServer<T> {
        fn dispatch(&self, method: usize, call: SpawnCall<'_, R>) {
            let service = Arc::clone(&self.0);
            match method {
                0 => call.unary::<Prost<HelloRequest>, Prost<HelloReply>, _, _>(move |cx, request| async move {
                    service.say_hello(&cx, request).await
                }),
                _ => call.unimplemented(),
            }
        }
    }

    pub struct GreeterClient(Channel);

    impl GreeterClient {
        pub fn new(channel: Channel) -> Self {
            Self(channel)
        }
        pub async fn connect(address: &str) -> Result<Self, ConnectError> {
            Ok(Self(super::pintle::connect(address).await?))
        }
        pub fn say_hello(&self, request: HelloRequest) -> UnaryCall<HelloReply> {
            self.0.unary::<Prost<HelloRequest>, Prost<HelloReply>>("/hello.Greeter/SayHello", &request)
        }
    }
}
