//! Client and server in one process, without a socket: a thread for the services, or none.

mod common;

use common::{
    Greeter, Told, bounded,
    glue::{GreeterClient, GreeterServer},
    request,
    scenarios::{AnyGreeter, blob, four_shapes},
};
use pintle_mio::{Code, Server, ShutdownHandle};
use std::{sync::mpsc, time::Duration};

fn server() -> (Server, mpsc::Receiver<Told>) {
    let (tell, told) = mpsc::channel();
    (Server::new().add(move || GreeterServer::new(Greeter::new(tell.clone()))), told)
}

/// Runs a scenario with both clients.
fn on_both(scenario: fn(&dyn AnyGreeter)) {
    bounded(move || {
        let (server, _told) = server();
        scenario(&GreeterClient::new(server.in_process().unwrap()));
    });
    bounded(move || {
        let (server, _told) = server();
        scenario(&GreeterClient::new(server.in_process_local().unwrap()));
    });
}

#[test]
fn all_shapes() {
    on_both(four_shapes);
}

#[test]
fn a_message_of_three_megabytes() {
    on_both(|client| assert_eq!(client.unary(blob("big", 0, 3 << 20)).unwrap(), "hello big"));
}

#[test]
fn answers_come_later_and_from_elsewhere() {
    on_both(|client| {
        assert_eq!(client.unary(request("later")).unwrap(), "hello later");
        let (got, end) = client.replies(blob("thread", 64, 100 << 10));
        assert_eq!((got, end), (vec![100 << 10; 64], Ok(())));
    });
}

#[test]
fn deadlines_pass() {
    on_both(|client| {
        assert_eq!(client.deadline(request("much later"), Duration::from_millis(20)).code(), Code::DeadlineExceeded);
        assert_eq!(client.unary(request("you")).unwrap(), "hello you");
    });
}

#[test]
fn a_shutdown_ends_it() {
    bounded(|| {
        let (server, _told) = server();
        let stop: ShutdownHandle = server.shutdown_handle();
        let client = server.in_process().unwrap();
        let greeter = GreeterClient::new(client.clone());
        assert_eq!(AnyGreeter::unary(&greeter, request("you")).unwrap(), "hello you");
        stop.shutdown(Duration::from_millis(10));
        while client.is_connected() {
            std::thread::yield_now();
        }
        let status = AnyGreeter::unary(&greeter, request("you")).unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    });
}
