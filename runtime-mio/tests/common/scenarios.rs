//! Calls of the greeter that look the same with either client.

use super::{Fixture, HelloRequest, LATE, LONG, Note, Told, glue::GreeterClient, request};
use pintle_mio::{Caller, Code, Status};
use std::time::Duration;

/// Each shape once, with messages that cross windows and buffers.
pub fn four_shapes(client: &dyn AnyGreeter) {
    assert_eq!(client.unary(request("you")).unwrap(), "hello you");
    assert_eq!(client.unary(blob("big", 0, 1 << 20)).unwrap(), "hello big");
    assert_eq!(client.unary(request("fail")).unwrap_err().code(), Code::NotFound);
    assert_eq!(client.replies(blob("produce", 20, 30 << 10)), (vec![30 << 10; 20], Ok(())));
    let requests = (0..20).map(|_| blob("x", 0, 30 << 10)).collect();
    assert!(client.upload(requests).unwrap().ends_with("and 614400 octets"));
    assert_eq!(client.chat(10, 10 << 10), (0..10).collect::<Vec<_>>());
    client.metadata();
}

/// A greeter client of either kind, as the scenarios see it.
pub trait AnyGreeter {
    fn unary(&self, request: HelloRequest) -> Result<String, Status>;
    fn replies(&self, request: HelloRequest) -> (Vec<usize>, Result<(), Status>);
    fn upload(&self, requests: Vec<HelloRequest>) -> Result<String, Status>;
    fn chat(&self, notes: u32, size: usize) -> Vec<u32>;
    fn metadata(&self);
    fn deadline(&self, request: HelloRequest, after: Duration) -> Status;
}

impl<C: Caller> AnyGreeter for GreeterClient<C> {
    fn unary(&self, request: HelloRequest) -> Result<String, Status> {
        self.say_hello(request).wait().map(|reply| reply.message)
    }
    fn replies(&self, request: HelloRequest) -> (Vec<usize>, Result<(), Status>) {
        let mut replies = self.lots_of_replies(request).open().unwrap();
        let mut sizes = Vec::new();
        loop {
            match replies.next() {
                Ok(Some(reply)) => sizes.push(reply.blob.len()),
                Ok(None) => return (sizes, Ok(())),
                Err(status) => return (sizes, Err(status)),
            }
        }
    }
    fn upload(&self, requests: Vec<HelloRequest>) -> Result<String, Status> {
        let mut upload = self.lots_of_greetings().open()?;
        for request in requests {
            if upload.send(request).is_err() {
                break;
            }
        }
        upload.finish().map(|reply| reply.message)
    }
    fn chat(&self, notes: u32, size: usize) -> Vec<u32> {
        let (mut out, mut input) = self.chat().open().unwrap();
        let mut numbers = Vec::new();
        for number in 0..notes {
            out.send(Note { number, blob: vec![7; size].into() }).unwrap();
            // Who only sends gets stuck once all buffers between are full.
            if number > 2 {
                numbers.extend(input.next().unwrap().map(|note| note.number));
            }
        }
        out.close();
        while let Some(note) = input.next().unwrap() {
            assert_eq!(note.blob.len(), size);
            numbers.push(note.number);
        }
        assert!(input.trailers().is_some());
        numbers
    }
    fn metadata(&self) {
        let call = self.say_hello(request("metadata")).metadata("tenant", "a").metadata_bin("key-bin", &[0, 255]);
        let response = call.wait_response().unwrap();
        assert_eq!(response.headers.get("echo"), Some("a"));
        assert_eq!(response.trailers.get("cost"), Some("7"));
        assert_eq!(response.headers.get_bin("echo-bin").as_deref(), Some(&[0, 255][..]));
        let status = self.say_hello(request("fail")).wait().unwrap_err();
        assert_eq!(status.metadata().get("why"), Some("because"));
        let status = self.say_hello(request("x")).metadata("not a key", "v").wait().unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("this side"), "{status}");
        let status = self.say_hello(request("x")).metadata("key-bin", "v").wait().unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("use metadata_bin"), "{status}");
    }
    fn deadline(&self, request: HelloRequest, after: Duration) -> Status {
        self.say_hello(request).deadline(after).wait().unwrap_err()
    }
}

/// A call that reaches the service, which keeps it, and that its deadline ends on the client.
pub fn too_late<C: Caller>(fixture: &Fixture, client: &GreeterClient<C>) {
    for after in LATE {
        assert_eq!(client.deadline(request("never"), after).code(), Code::DeadlineExceeded);
        // Answered behind it on its connection: by now the service has seen the call, or never will.
        assert_eq!(client.say_hello(request("fail")).deadline(LONG).wait().unwrap_err().code(), Code::NotFound);
        if let Ok(told) = fixture.told.try_recv() {
            return assert_eq!(told, Told::Seen("never".into()));
        }
    }
    panic!("no call arrives within {LATE:?}");
}

pub fn blob(name: &str, count: u32, size: usize) -> HelloRequest {
    HelloRequest { name: name.into(), count, blob: vec![42; size].into() }
}
