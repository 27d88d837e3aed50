//! Header blocks out: request heads, response heads, trailers, and the frames that carry them.
//!
//! HPACK runs when a block is framed, so a call that is cancelled before never touches the table. Blocks
//! that are the same in every call are kept encoded for as long as the table does not change.

use super::{Connection, Role, answer::Answer};
use crate::{
    Code, Metadata, Status,
    grpc::{encode_message, timeout},
    hpack::{Encoder, Indexing},
    stream::flag,
};
use alloc::{string::String, vec::Vec};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use bytes::Bytes;

/// Longest `grpc-message` that we send, octets; peers limit whole header lists to 8 KiB.
const MESSAGE: u64 = 4 << 10;
/// Encoded blocks up to this are kept.
const KEEP: usize = 64;
/// Request heads that are kept.
const REQUESTS: usize = 4;
/// Fields of custom metadata that were sent of late: one that comes again goes to the table, one that changes every time does not.
const SEEN: usize = 16;

/// A block, good as long as the encoder's table stays as it was.
#[derive(Debug, Default)]
struct Memo {
    generation: u32,
    octets: Vec<u8>,
}

impl Memo {
    #[inline]
    fn get(&self, encoder: &Encoder) -> Option<&[u8]> {
        if (self.generation == encoder.generation() || fault!("memo_stale")) && !self.octets.is_empty() { Some(&self.octets) } else { None }
    }

    fn keep(&mut self, before: u32, encoder: &Encoder, block: &[u8]) {
        if before == encoder.generation() && block.len() <= KEEP {
            self.generation = before;
            self.octets.clear();
            self.octets.extend_from_slice(block);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct HeadMemos {
    response: Memo,
    ok: Memo,
    answer: Answer,
    /// A client's; at most `REQUESTS`.
    requests: Vec<(Bytes, Memo)>,
    next_request: usize,
    seen: [u32; SEEN],
    next_seen: usize,
}

impl HeadMemos {
    /// The frames around the one message of an answer that is OK and has no metadata, if both are known for the table as it is.
    #[inline(always)]
    pub(super) fn answer(&self, encoder: &Encoder) -> Option<&Answer> {
        self.answer.good_for(encoder.generation())
    }

    /// Frames them, once both blocks are known.
    fn frame_answer(&mut self, encoder: &Encoder) {
        if let (Some(head), Some(trailers)) = (self.response.get(encoder), self.ok.get(encoder))
            && let Some(answer) = Answer::new(encoder.generation(), head, trailers)
        {
            self.answer = answer;
        }
    }

    fn request(&self, path: &Bytes, encoder: &Encoder) -> Option<&[u8]> {
        self.requests.iter().find(|(kept, _)| kept == path).and_then(|(_, memo)| memo.get(encoder))
    }

    fn keep_request(&mut self, path: &Bytes, before: u32, encoder: &Encoder, block: &[u8]) {
        let place = self.requests.iter().position(|(kept, _)| kept == path).unwrap_or_else(|| {
            if self.requests.len() < REQUESTS {
                self.requests.push(Default::default());
                return self.requests.len() - 1;
            }
            self.next_request = (self.next_request + 1) % REQUESTS;
            self.next_request
        });
        let (kept, memo) = &mut self.requests[place];
        *kept = path.clone();
        memo.octets.clear();
        memo.keep(before, encoder, block);
    }

    fn indexing(&mut self, name: &[u8], value: &[u8]) -> Indexing {
        if matches!(name, b"authorization" | b"cookie" | b"set-cookie" | b"proxy-authorization") {
            return Indexing::Never;
        }
        let hash = name.iter().chain(value).fold(0x811c_9dc5_u32, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193)) | 1;
        if self.seen.contains(&hash) {
            return Indexing::Add;
        }
        self.next_seen = (self.next_seen + 1) % SEEN;
        self.seen[self.next_seen] = hash;
        Indexing::Without
    }
}

/// Size of a header list by the name + value + 32 rule (RFC 9113 §6.5.2).
pub(crate) fn list_size(metadata: &Metadata) -> u64 {
    metadata.raw().map(|(name, value)| (name.len() + value.len() + 32) as u64).sum()
}

impl Connection {
    /// Frames the head of a call or stream that has not sent one; a server's answer without messages is one block.
    pub(super) fn stage_head(&mut self, s: u32) {
        self.slots[s].set(flag::HEAD_SENT);
        let slot = &self.slots[s];
        if self.role == Role::Client {
            self.stage_request(s);
        } else if slot.has(flag::HTTP) {
            self.stage_http_head(s);
        } else if slot.has(flag::SEND_ENDED) && slot.out.is_empty() && !slot.has(flag::HEAD_DUE) {
            // Trailers-Only: metadata that was to go ahead of a message goes with the trailers.
            self.slots[s].set(flag::END_SENT);
            self.stage_trailers_only(s);
        } else {
            self.stage_response(s);
        }
        self.slots[s].unset(flag::HEAD_DUE);
        self.guard.sent();
    }

    fn stage_request(&mut self, s: u32) {
        let mut block = core::mem::take(&mut self.block_out);
        block.clear();
        let slot = &self.slots[s];
        let plain = slot.out_head.is_empty() && slot.deadline.is_none();
        match self.heads.request(&slot.path, &self.encoder) {
            Some(kept) if plain => block.extend_from_slice(kept),
            _ => {
                let before = self.encoder.generation();
                self.encode_request(s, &mut block);
                if plain {
                    self.heads.keep_request(&self.slots[s].path, before, &self.encoder, &block);
                }
            }
        }
        let id = self.slots[s].id;
        self.write_block(id, false, &block);
        self.block_out = block;
    }

    fn encode_request(&mut self, s: u32, block: &mut Vec<u8>) {
        let (slot, cfg, encoder) = (&self.slots[s], &self.cfg, &mut self.encoder);
        encoder.begin(block);
        let mut add = |name: &[u8], value: &[u8], indexing| encoder.field(block, name, value, indexing);
        add(b":method", b"POST", Indexing::Add);
        add(b":scheme", if cfg.secure { b"https" } else { b"http" }, Indexing::Add);
        add(b":path", &slot.path, Indexing::Add);
        add(b":authority", cfg.authority.as_bytes(), Indexing::Add);
        if let Some(deadline) = slot.deadline {
            // From what remains now: time spent in the queue is the call's own (PROTOCOL-HTTP2, "Timeout").
            let left = deadline.saturating_since(self.now).as_micros() as u64;
            add(b"grpc-timeout", timeout::encode(left.max(1)).as_bytes(), Indexing::Without);
        }
        add(b"te", b"trailers", Indexing::Add);
        add(b"content-type", b"application/grpc", Indexing::Add);
        add(b"user-agent", cfg.user_agent.as_bytes(), Indexing::Add);
        for (name, value) in slot.out_head.raw() {
            add(name, value, self.heads.indexing(name, value));
        }
    }

    fn stage_response(&mut self, s: u32) {
        let mut block = core::mem::take(&mut self.block_out);
        block.clear();
        let plain = self.slots[s].out_head.is_empty();
        match self.heads.response.get(&self.encoder) {
            Some(kept) if plain => block.extend_from_slice(kept),
            _ => {
                let before = self.encoder.generation();
                self.encoder.begin(&mut block);
                self.encode_response(200, &mut block);
                self.encode_metadata(&self.slots[s].out_head.clone(), &mut block);
                if plain {
                    self.heads.response.keep(before, &self.encoder, &block);
                    self.heads.frame_answer(&self.encoder);
                }
            }
        }
        let id = self.slots[s].id;
        self.write_block(id, false, &block);
        self.block_out = block;
    }

    fn encode_response(&mut self, status: u16, block: &mut Vec<u8>) {
        self.encoder.field(block, b":status", &digits(status), Indexing::Add);
        self.encoder.field(block, b"content-type", b"application/grpc", Indexing::Add);
    }

    fn encode_metadata(&mut self, metadata: &Metadata, block: &mut Vec<u8>) {
        for (name, value) in metadata.raw() {
            let indexing = self.heads.indexing(name, value);
            self.encoder.field(block, name, value, indexing);
        }
    }

    fn stage_trailers_only(&mut self, s: u32) {
        let mut block = core::mem::take(&mut self.block_out);
        block.clear();
        let http_status = self.slots[s].ending.as_ref().map_or(200, |ending| ending.http_status);
        self.encoder.begin(&mut block);
        self.encode_response(http_status, &mut block);
        let early = core::mem::take(&mut self.slots[s].out_head);
        self.encode_metadata(&early, &mut block);
        self.encode_end(s, HEAD_SIZE + list_size(&early), &mut block);
        let id = self.slots[s].id;
        self.write_block(id, true, &block);
        self.block_out = block;
    }

    pub(super) fn stage_trailers(&mut self, s: u32) {
        let mut block = core::mem::take(&mut self.block_out);
        block.clear();
        let plain = self.slots[s].ending.is_none() && !self.slots[s].has(flag::HTTP);
        match self.heads.ok.get(&self.encoder) {
            Some(kept) if plain => block.extend_from_slice(kept),
            _ => {
                let before = self.encoder.generation();
                self.encoder.begin(&mut block);
                self.encode_end(s, 0, &mut block);
                if plain {
                    self.heads.ok.keep(before, &self.encoder, &block);
                    self.heads.frame_answer(&self.encoder);
                }
            }
        }
        let id = self.slots[s].id;
        self.write_block(id, !fault!("trailers_keep_open"), &block);
        self.block_out = block;
    }

    /// Status and trailing metadata, as far as the peer takes a list that has `used` octets already; raw streams have trailers only.
    fn encode_end(&mut self, s: u32, used: u64, block: &mut Vec<u8>) {
        let mut room = u64::from(self.peer.max_header_list).saturating_sub(used);
        let Some(ending) = self.slots[s].ending.take() else {
            self.encode_status(&Status::ok(), room, block);
            return;
        };
        if !self.slots[s].has(flag::HTTP) {
            room = self.encode_status(&ending.status, room, block);
        }
        if list_size(&ending.trailers) <= room {
            self.encode_metadata(&ending.trailers, block);
        }
    }

    /// The code goes out whatever the peer's limit; the message is cut to it, and details are whole or not there. What room is left?
    fn encode_status(&mut self, status: &Status, room: u64, block: &mut Vec<u8>) -> u64 {
        let code = status.code().as_u32() as u8;
        let text = [b'0' + code / 10, b'0' + code % 10];
        self.encoder.field(block, b"grpc-status", if code < 10 { &text[1..] } else { &text }, Indexing::Add);
        let mut room = room.saturating_sub(field_size(b"grpc-status", text.len()));
        if status.code() == Code::Ok {
            return room;
        }
        let most = room.saturating_sub(field_size(b"grpc-message", 0)).min(MESSAGE);
        if !status.message().is_empty() && most > 0 {
            let mut message = Vec::new();
            encode_message(status.message(), most as usize, &mut message);
            self.encoder.field(block, b"grpc-message", &message, Indexing::Without);
            room -= field_size(b"grpc-message", message.len());
        }
        if !status.details().is_empty() {
            let details: String = STANDARD_NO_PAD.encode(status.details());
            let size = field_size(b"grpc-status-details-bin", details.len());
            if size <= room {
                self.encoder.field(block, b"grpc-status-details-bin", details.as_bytes(), Indexing::Without);
                room -= size;
            }
        }
        room
    }

    fn stage_http_head(&mut self, s: u32) {
        let mut block = core::mem::take(&mut self.block_out);
        block.clear();
        let head = core::mem::take(&mut self.slots[s].out_head);
        self.encoder.begin(&mut block);
        self.encoder.field(&mut block, b":status", &digits(self.slots[s].http_status), Indexing::Add);
        self.encode_metadata(&head, &mut block);
        let slot = &mut self.slots[s];
        let end = slot.has(flag::SEND_ENDED) && slot.out.is_empty() && !slot.has(flag::TRAILERS);
        if end {
            slot.set(flag::END_SENT);
        }
        let id = slot.id;
        self.write_block(id, end, &block);
        self.block_out = block;
    }

    /// HEADERS, and CONTINUATIONs for what does not fit (RFC 9113 §4.3).
    fn write_block(&mut self, id: u32, end_stream: bool, block: &[u8]) {
        let max = self.peer.max_frame as usize;
        let (first, mut rest) = block.split_at(block.len().min(max));
        self.outbox.extend(&h2_frame::headers_head(first.len() as u32, id, end_stream, rest.is_empty()));
        self.outbox.extend(first);
        while !rest.is_empty() {
            let (next, more) = rest.split_at(rest.len().min(max));
            self.outbox.extend(&h2_frame::continuation_head(next.len() as u32, id, more.is_empty() && !fault!("continuation_endless")));
            self.outbox.extend(next);
            rest = more;
        }
    }
}

/// What `:status` and `content-type` of a Trailers-Only block cost.
const HEAD_SIZE: u64 = field_size(b":status", 3) + field_size(b"content-type", 16);

/// A field's part of a header list (RFC 9113 §6.5.2).
const fn field_size(name: &[u8], value: usize) -> u64 {
    (name.len() + value + 32) as u64
}

/// A status of three digits.
fn digits(status: u16) -> [u8; 3] {
    let status = status % 1000;
    [b'0' + (status / 100) as u8, b'0' + (status / 10 % 10) as u8, b'0' + (status % 10) as u8]
}
