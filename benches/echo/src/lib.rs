//! The echo service's messages and glue, for the servers in `src/bin`, and their command line.
#![allow(missing_docs)]

use std::{error::Error, num::NonZeroUsize};

include!(concat!(env!("OUT_DIR"), "/pintle.rs"));

/// `[streams=N] [connections=N] ADDRESS...`: limits above the defaults, for measurements of more than they allow.
#[derive(Debug, Default)]
pub struct Options {
    pub streams: Option<u32>,
    pub connections: Option<NonZeroUsize>,
    pub addresses: Vec<String>,
}

impl Options {
    /// # Errors
    /// What should be a number is none.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self::default();
        for word in words {
            match word.split_once('=') {
                Some(("streams", number)) => options.streams = Some(number.parse()?),
                Some(("connections", number)) => options.connections = Some(number.parse()?),
                _ => options.addresses.push(word),
            }
        }
        Ok(options)
    }
}

/// Applies [`Options`] to a server; every runtime's has the same methods.
#[macro_export]
macro_rules! configured {
    ($server:expr, $options:expr) => {{
        let mut server = $server;
        if let Some(streams) = $options.streams {
            server = server.configure(|config| {
                config.max_concurrent_streams = streams;
                // The budget holds a window for each stream.
                config.recv_budget = config.recv_budget.max(u64::from(streams + 64) * u64::from(config.initial_window));
            });
        }
        if let Some(connections) = $options.connections {
            server = server.max_connections(connections);
        }
        for address in &$options.addresses {
            server = server.listen(address)?;
        }
        server
    }};
}

/// The service for a runtime with `async`: what it does is the same on all of them.
#[macro_export]
macro_rules! async_service {
    ($glue:ident, $runtime:ident) => {
        use $crate::echo::{Msg, StreamReq, Sum, $glue::*};
        use $runtime::{Context, Sender, Server, Status, Streaming};

        struct Service;

        impl Echo for Service {
            async fn unary(&self, _: &Context, message: Msg) -> Result<Msg, Status> {
                Ok(message)
            }

            async fn server_stream(&self, _: &Context, wish: StreamReq, out: &mut Sender<Msg>) -> Result<(), Status> {
                let payload = $crate::still(&wish.payload);
                for _ in 0..wish.count {
                    out.send(Msg { payload: payload.clone() }).await?;
                }
                Ok(())
            }

            async fn client_stream(&self, _: &Context, messages: &mut Streaming<Msg>) -> Result<Sum, Status> {
                let mut sum = Sum::default();
                while let Some(message) = messages.next().await? {
                    sum.messages += 1;
                    sum.bytes += message.payload.len() as u64;
                }
                Ok(sum)
            }

            async fn bidi(&self, _: &Context, messages: &mut Streaming<Msg>, out: &mut Sender<Msg>) -> Result<(), Status> {
                while let Some(message) = messages.next().await? {
                    out.send(message).await?;
                }
                Ok(())
            }
        }
    };
}

/// The same octets for as long as the process lives. What is sent again and again should not cost a reference count each time: in a burst that
/// is half of what a message costs, and it says nothing about gRPC.
pub fn still(payload: &bytes::Bytes) -> bytes::Bytes {
    bytes::Bytes::from_static(payload.to_vec().leak())
}
