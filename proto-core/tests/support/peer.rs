//! A peer by hand, with an HPACK decoder for what the connection under test says.
#![allow(dead_code, reason = "each test program uses its part")]

use bytes::Bytes;
use pintle_core::{
    Call, CallId, CallOptions, CloseReason, Code, Config, Endpoint, ErrorCode, Event, Metadata, Outcome, Payload, Recv, RequestHead,
    Routes, SendError, Shape, Token,
    hpack::{Decoder, Fields, Tag},
    testing::{
        Cut,
        raw::{Frame, REQUEST, RawPeer},
        wire::*,
    },
};
use std::ops::{Deref, DerefMut};

/// What the connection under test said.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) frame: Frame,
    /// The fields of a header block, on its last frame.
    pub(crate) fields: Vec<(String, String)>,
}

impl Said {
    pub(crate) fn kind(&self) -> u8 {
        self.frame.head.kind
    }

    pub(crate) fn stream(&self) -> u32 {
        self.frame.head.stream
    }

    pub(crate) fn ends(&self) -> bool {
        self.frame.head.ends_stream()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str())
    }

    /// RST_STREAM on this stream, with which code.
    pub(crate) fn reset_of(&self, stream: u32) -> Option<ErrorCode> {
        (self.kind() == RST_STREAM && self.stream() == stream).then(|| ErrorCode(self.frame.word(0)))
    }
}

/// The fields of a block.
#[derive(Default)]
pub(crate) struct List(pub(crate) Vec<(String, String)>);

impl Fields for List {
    fn static_tag(&self, _: u8) -> Tag {
        Tag(0)
    }

    fn classify(&mut self, _: &[u8], _: &[u8]) -> Tag {
        Tag(0)
    }

    fn field(&mut self, _: Tag, name: &[u8], value: &[u8]) {
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        self.0.push((text(name), text(value)));
    }
}

/// Decodes one block with a fresh table.
pub(crate) fn decode(block: &[u8]) -> Vec<(String, String)> {
    let mut list = List::default();
    Decoder::new(4_096).decode(block, &mut list).expect("a valid block");
    list.0
}

/// A [`RawPeer`] that understands the answers.
pub(crate) struct Peer {
    raw: RawPeer,
    hpack: Decoder,
    block: Vec<u8>,
    is_client: bool,
    /// Every call that was accepted or started here.
    pub(crate) calls: Vec<CallId>,
}

impl Deref for Peer {
    type Target = RawPeer;

    fn deref(&self) -> &RawPeer {
        &self.raw
    }
}

impl DerefMut for Peer {
    fn deref_mut(&mut self) -> &mut RawPeer {
        &mut self.raw
    }
}

/// `/S/M` is bidirectional, so that a test decides what happens; the other shapes have their own letter.
pub(crate) fn routes() -> Routes {
    let methods = [("/S/M", Shape::Bidi), ("/S/U", Shape::Unary), ("/S/C", Shape::ClientStreaming), ("/S/R", Shape::ServerStreaming)];
    Routes::new(methods).expect("valid paths")
}

/// Every way to cut what the connection reads: whole, octet by octet, and by chance.
pub(crate) fn each_cut(test: impl Fn(Cut)) {
    for cut in [Cut::Whole, Cut::Octet, Cut::Random(3), Cut::Random(40), Cut::Random(5_000)] {
        test(cut);
    }
}

/// A client by hand against our server, after the handshake.
pub(crate) fn to_server(cut: Cut) -> Peer {
    to_server_with(&Config::default(), cut)
}

/// The same with another configuration of the server.
pub(crate) fn to_server_with(config: &Config, cut: Cut) -> Peer {
    let mut peer = fresh_to_server(config, cut);
    peer.handshake(&[]);
    peer
}

/// Before any octet.
pub(crate) fn fresh_to_server(config: &Config, cut: Cut) -> Peer {
    seeded_to_server(config, cut, 5)
}

/// The same with a seed for random cuts.
pub(crate) fn seeded_to_server(config: &Config, cut: Cut, seed: u64) -> Peer {
    assert_eq!(config.validate(), Ok(()));
    Peer::new(RawPeer::client(config, routes(), cut, seed), true)
}

/// A server by hand against our client, after the handshake.
pub(crate) fn to_client(cut: Cut) -> Peer {
    to_client_with(&Config::default(), cut, &[])
}

/// The same with another configuration of the client and other SETTINGS of the server.
pub(crate) fn to_client_with(config: &Config, cut: Cut, settings: &[(u16, u32)]) -> Peer {
    let mut peer = fresh_to_client(config, cut);
    peer.handshake(settings);
    peer
}

/// Before any octet.
pub(crate) fn fresh_to_client(config: &Config, cut: Cut) -> Peer {
    seeded_to_client(config, cut, 5)
}

/// The same with a seed for random cuts.
pub(crate) fn seeded_to_client(config: &Config, cut: Cut, seed: u64) -> Peer {
    assert_eq!(config.validate(), Ok(()));
    Peer::new(RawPeer::server(config, cut, seed), false)
}

impl Peer {
    fn new(raw: RawPeer, is_client: bool) -> Self {
        Self { raw, hpack: Decoder::new(4_096), block: Vec::new(), is_client, calls: Vec::new() }
    }

    /// This is a client by hand, the connection under test a server.
    pub(crate) fn is_client(&self) -> bool {
        self.is_client
    }

    /// Everything that the connection says now.
    pub(crate) fn said(&mut self) -> Vec<Said> {
        let frames = self.raw.output();
        frames.into_iter().map(|frame| self.understand(frame)).collect()
    }

    fn understand(&mut self, frame: Frame) -> Said {
        let mut list = List::default();
        if matches!(frame.head.kind, HEADERS | CONTINUATION) {
            self.block.extend_from_slice(&frame.payload);
            if frame.head.has(END_HEADERS) {
                let block = std::mem::take(&mut self.block);
                self.hpack.decode(&block, &mut list).expect("the connection's own block decodes");
            }
        }
        Said { frame, fields: list.0 }
    }

    /// A request for this path: REQUEST with another `:path`.
    pub(crate) fn request(&mut self, stream: u32, path: &str, end: bool, more: &[(&str, &[u8])]) -> &mut Self {
        let block = request_block(path, more);
        self.raw.headers(stream, end, &block);
        self
    }

    /// Takes over the next request.
    pub(crate) fn accept(&mut self) -> CallId {
        self.try_accept().expect("a request for the application")
    }

    /// The same, where there may be none.
    pub(crate) fn try_accept(&mut self) -> Option<CallId> {
        while let Some(event) = self.raw.event() {
            // One that was answered meanwhile is not the application's any more.
            if let Event::Incoming { call } = event
                && self.raw.conn.accept(call, Token(1)).is_some()
            {
                self.calls.push(call);
                return Some(call);
            }
        }
        None
    }

    pub(crate) fn call(&mut self, id: CallId) -> Call<'_> {
        self.raw.conn.call(id).expect("a live call")
    }

    /// Starts a call of our client to `/S/M` and the like.
    pub(crate) fn start(&mut self, shape: Shape) -> CallId {
        self.start_with(shape, None, CallOptions::default())
    }

    pub(crate) fn start_with(&mut self, shape: Shape, metadata: Option<&Metadata>, options: CallOptions) -> CallId {
        let mut head = RequestHead::new("/S/M", shape);
        head.metadata = metadata;
        let now = self.raw.now;
        let id = self.raw.conn.start(now, head, options).expect("the client takes calls");
        self.calls.push(id);
        id
    }

    /// A unary call with this message, closed.
    pub(crate) fn unary(&mut self, payload: &'static [u8]) -> CallId {
        let id = self.start(Shape::Unary);
        self.put(id, payload);
        id
    }

    /// Sends a message and, for methods that take one, the end.
    pub(crate) fn put(&mut self, id: CallId, payload: impl Into<Bytes>) {
        let mut call = self.call(id);
        assert_eq!(call.send(Payload::from(payload.into())), Ok(()));
        if matches!(call.shape(), Shape::Unary | Shape::ServerStreaming) {
            // It may have closed by itself.
            let _ = call.close_send();
        }
    }

    /// Every message that has come, and whether that is all.
    pub(crate) fn messages(&mut self, id: CallId) -> (Vec<Bytes>, bool) {
        let mut messages = Vec::new();
        loop {
            match self.call(id).recv() {
                Recv::Message(message) => messages.push(message.payload.into_bytes()),
                Recv::Pending => return (messages, false),
                Recv::End => return (messages, true),
            }
        }
    }

    /// How a client's call ended, its messages dropped.
    pub(crate) fn outcome(&mut self, id: CallId) -> Outcome {
        let (_, ended) = self.messages(id);
        assert!(ended, "the call has not ended");
        self.call(id).take_outcome().expect("an outcome after the end")
    }

    /// Finishes a server's call with OK.
    pub(crate) fn finish_ok(&mut self, id: CallId) {
        self.call(id).finish(&pintle_core::Status::ok(), None);
    }

    /// The connection ended with GOAWAY and one of these codes, and its transport may be dropped.
    pub(crate) fn assert_closed(&mut self, codes: &[ErrorCode]) {
        let said = self.said();
        let goaway = said.iter().rfind(|said| said.kind() == GOAWAY);
        let code = goaway.map(|said| ErrorCode(said.frame.word(4)));
        assert!(code.is_some_and(|code| codes.contains(&code)), "GOAWAY with one of {codes:?} expected, said {said:?}");
        match self.conn.close_reason() {
            Some(CloseReason::Protocol { code, .. }) => assert!(codes.contains(code), "{code:?}"),
            Some(CloseReason::Timeout { .. }) => {}
            other => panic!("closed by the peer's fault expected, but {other:?}"),
        }
        assert!(self.conn.is_finished(), "the transport may be dropped");
        assert!(!self.conn.wants().read && !self.conn.wants().write);
    }

    /// This stream was reset with one of these codes, and the connection lives.
    pub(crate) fn assert_reset(&mut self, stream: u32, codes: &[ErrorCode]) -> Vec<Said> {
        let said = self.said();
        let code = said.iter().find_map(|said| said.reset_of(stream));
        assert!(code.is_some_and(|code| codes.contains(&code)), "RST_STREAM({stream}) with one of {codes:?} expected, said {said:?}");
        self.assert_open();
        said
    }

    pub(crate) fn assert_open(&mut self) {
        assert_eq!(self.conn.close_reason(), None);
        assert!(self.conn.wants().read);
    }

    /// A new call on this stream works from end to end.
    pub(crate) fn assert_usable(&mut self, stream: u32) {
        if self.is_client { self.assert_serves(stream) } else { self.assert_calls() }
    }

    fn assert_serves(&mut self, stream: u32) {
        self.raw.headers(stream, false, REQUEST).data(stream, true, &message(b"ping"));
        let id = self.accept();
        assert_eq!(self.messages(id), (vec![Bytes::from_static(b"ping")], true));
        self.put(id, &b"pong"[..]);
        self.finish_ok(id);
        let said = self.said();
        let mine: Vec<_> = said.iter().filter(|said| said.stream() == stream && said.kind() != WINDOW_UPDATE).collect();
        assert_eq!(mine.first().and_then(|said| said.field(":status")), Some("200"), "{said:?}");
        assert_eq!(mine.last().and_then(|said| said.field("grpc-status")), Some("0"), "{said:?}");
        self.assert_whole();
    }

    fn assert_calls(&mut self) {
        let id = self.unary(b"ping");
        let said = self.said();
        let stream = said.iter().find(|said| said.kind() == HEADERS).expect("a new request").stream();
        self.raw.headers(stream, false, pintle_core::testing::raw::RESPONSE).data(stream, false, &message(b"pong"));
        self.raw.headers(stream, true, pintle_core::testing::raw::TRAILERS_OK);
        assert_eq!(self.messages(id), (vec![Bytes::from_static(b"pong")], true));
        assert_eq!(self.outcome(id).status.code(), Code::Ok);
        self.said();
        self.assert_whole();
    }

    /// Nothing of an ended call is left, and the connection's window is whole.
    pub(crate) fn assert_whole(&mut self) {
        let probe = self.conn.probe();
        assert_eq!((probe.open_streams, probe.slots, probe.queued_calls), (0, 0, 0), "{probe:?}");
        assert_eq!((probe.recv_held, probe.recv_window + probe.recv_pending), (0, probe.recv_target), "{probe:?}");
    }
}

/// REQUEST with another `:path` and more fields; it neither reads nor changes a dynamic table.
pub(crate) fn request_block(path: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = vec![0x83, 0x86];
    block.extend(literal_block(&[
        (":path", path.as_bytes()),
        (":authority", b"x"),
        ("content-type", b"application/grpc"),
        ("te", b"trailers"),
    ]));
    block.extend(literal_block(more));
    block
}

/// A response head or trailers, as literals.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    literal_block(&fields)
}

/// `Err(Blocked)` and nothing else.
pub(crate) fn is_blocked<T>(result: &Result<(), SendError<T>>) -> bool {
    matches!(result, Err(SendError::Blocked(_)))
}
