//! Under tokio's paused clock deadlines pass on that clock: an hour takes no time.

use pintle_tokio as pintle;
include!("../../runtime-futures-server/tests/doc/hello.rs");

use hello::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest};
use pintle_futures::{Runtime, Timer};
use pintle_tokio::{Code, Context, Server, Status, Timestamp, Tokio};
use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{self, Wake, Waker},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

const HOUR: Duration = Duration::from_secs(3_600);
/// Of the paused clock: what waits this long waits for ever.
const FOR_EVER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Answers after as many hours as the name says; "never" never.
struct Slow;

impl Greeter for Slow {
    async fn say_hello(&self, cx: &Context, request: HelloRequest) -> Result<HelloReply, Status> {
        let Ok(hours) = request.name.parse() else { return pending().await };
        sleep(HOUR * hours).await;
        Ok(HelloReply { text: format!("{:?}", cx.time_left().map(|left| left.as_secs().div_ceil(3_600))) })
    }
}

async fn call(client: &GreeterClient, name: &str, hours: u32) -> Result<String, Status> {
    let call = client.say_hello(HelloRequest { name: name.into() }).deadline(HOUR * hours);
    timeout(FOR_EVER, call).await.expect("it ends").map(|reply| reply.text)
}

#[tokio::test(start_paused = true)]
async fn deadlines_pass_on_the_paused_clock() {
    let server = Server::new().add(GreeterServer::new(Slow)).connections().expect("a server").in_process();
    let client = GreeterClient::new(server.channel());

    let began = Instant::now();
    assert_eq!(call(&client, "never", 2).await.expect_err("too late").code(), Code::DeadlineExceeded);
    let took = began.elapsed();
    assert!((HOUR * 2..HOUR * 3).contains(&took), "{took:?}");

    assert_eq!(call(&client, "4", 3).await.expect_err("too late").code(), Code::DeadlineExceeded);
    assert_eq!(call(&client, "4", 6).await.expect("in time"), "Some(2)");
}

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_is_put_away_wakes_nobody() {
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let cx = &mut task::Context::from_waker(&waker);
    let mut timer = Tokio.timer();
    let at = |after| Tokio::now().saturating_add(after);

    assert!(timer.poll_until(at(HOUR), cx).is_pending());
    assert!(timer.poll_until(Timestamp::MAX, cx).is_pending());
    sleep(HOUR * 2).await;
    assert_eq!(count.0.load(Ordering::Relaxed), 0);

    // And it may be armed again, for the same instant or another.
    assert!(timer.poll_until(at(HOUR), cx).is_pending());
    sleep(HOUR * 2).await;
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
}
