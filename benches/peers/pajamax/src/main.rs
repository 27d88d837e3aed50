//! The echo service on pajamax: `server_pajamax ADDRESS`. Unary calls over TCP only: it has nothing else.
//!
//! Its code generator makes glue for the version before, so the glue is by hand: find the method, decode, call, answer.

use pajamax::{Config, PajamaxService, Response, error::Error, local_build_response};
use prost::Message;
use std::time::Duration;

/// As the others' `Msg`, in the prost (0.13) that pajamax knows.
#[derive(Clone, PartialEq, Message)]
struct Msg {
    #[prost(bytes = "vec", tag = "1")]
    payload: Vec<u8>,
}

struct Service;

impl Service {
    fn unary(&self, message: Msg) -> Response<Msg> {
        Ok(message)
    }
}

impl PajamaxService for Service {
    fn is_dispatch_mode(&self) -> bool {
        false
    }

    fn route(&self, path: &[u8]) -> Option<usize> {
        (path == b"/echo.Echo/Unary").then_some(0)
    }

    fn handle(&self, _: usize, octets: &[u8], stream: u32) -> Result<(), Error> {
        let answer = self.unary(Msg::decode(octets)?);
        local_build_response(stream, answer)
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).ok_or_else(|| std::io::Error::other("an address?"))?;
    Config::new().max_concurrent_connections(20_000).idle_timeout(Duration::from_secs(3_600)).add_service(Service).serve(address)
}
