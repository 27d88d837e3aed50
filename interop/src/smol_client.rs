//! The cases on smol's client.

#[allow(clippy::duplicate_mod, reason = "one source for both runtimes")]
#[path = "futures_client.rs"]
mod cases;

pub use cases::run;

use crate::pb::on_smol::{AbsentClient, InteropClient};
use pintle_smol::{Code, Status};
use smol::{Timer, future, spawn};
use std::time::Duration;

pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let over = async {
        Timer::after(limit).await;
        None
    };
    future::or(async { Some(future.await) }, over).await
}
