//! The cases on tokio's client.

#[allow(clippy::duplicate_mod, reason = "one source for both runtimes")]
#[path = "futures_client.rs"]
mod cases;

pub use cases::run;

use crate::pb::on_tokio::{AbsentClient, InteropClient};
use pintle_tokio::{Code, Status};
use std::time::Duration;

fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> impl Future<Output = T> {
    let task = tokio::spawn(task);
    async { task.await.expect("no case panics") }
}

pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, future).await.ok()
}
