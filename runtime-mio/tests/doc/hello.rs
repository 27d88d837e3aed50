// What `pintle_build::mio()` makes of this, shortened; the examples in the crate's documentation are compiled with it.
//
//     package hello;
//     message HelloRequest { string name = 1; }
//     message HelloReply { string text = 1; }
//     service Greeter { rpc SayHello(HelloRequest) returns (HelloReply); }
mod hello {
    use pintle_mio::{Caller, ConnectError, Incoming, Method, Request, Shape, Unary, UnaryRequest, codec::Prost};

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

    pub trait GreeterService: 'static {
        fn say_hello(&mut self, request: HelloRequest, call: Unary<HelloReply>);
    }

    pub struct GreeterServer<T>(T);

    impl<T: GreeterService> GreeterServer<T> {
        pub fn new(service: T) -> Self {
            Self(service)
        }
    }

    impl<T: GreeterService> pintle_mio::Service for GreeterServer<T> {
        fn methods(&self) -> &'static [Method] {
            const { &[Method::new("/hello.Greeter/SayHello", Shape::Unary)] }
        }
        fn call(&mut self, method: usize, call: Incoming) {
            match method {
                0 => call.unary::<Prost<HelloRequest>, Prost<HelloReply>>(|request, call| self.0.say_hello(request, call)),
                _ => call.unimplemented(),
            }
        }
    }

    pub struct GreeterClient<C = pintle_mio::Client>(C);

    impl GreeterClient {
        pub fn connect(address: &str) -> Result<Self, ConnectError> {
            Ok(Self::new(pintle_mio::connect(address)?))
        }
    }

    impl<C: Caller> GreeterClient<C> {
        pub fn new(caller: C) -> Self {
            Self(caller)
        }
        pub fn say_hello(&self, request: HelloRequest) -> UnaryRequest<'_, C, Prost<HelloRequest>, Prost<HelloReply>> {
            Request::unary(&self.0, "/hello.Greeter/SayHello", request)
        }
    }
}
