//! What no other test says: the words of errors and of tapes, which people read when something is wrong.

use pintle_core::{
    Code, Config, ErrorCode, Limits, Metadata, Misuse, Routes, SendError, Shape, StartError, Timestamp, Token, UnknownCall,
    codec::Prost,
    hpack::{DecodeError, Decoder, Fields, Tag},
    tape::{CallOp, Got, NotFresh, Record, SinkFailed, StreamOp, TapeError},
};
use std::{borrow::Cow, time::Duration};

#[test]
fn errors_say_what_to_do_and_keep_the_message_to_themselves() {
    let texts = [
        (UnknownCall.to_string(), "released"),
        (StartError::AtCapacity.to_string(), "too many calls"),
        (StartError::Draining.to_string(), "draining"),
        (StartError::Closed.to_string(), "closed"),
        (StartError::NotAClient.to_string(), "server"),
        (StartError::HeadTooLarge.to_string(), "metadata"),
        (SendError::Blocked("secret").to_string(), "writable"),
        (SendError::Ended("secret").to_string(), "outcome"),
        (SendError::Refused("secret", Misuse("no more after the end")).to_string(), "no more after the end"),
        (format!("{:?}", SendError::Blocked("secret")), "Blocked"),
        (format!("{:?}", SendError::Ended("secret")), "Ended"),
        (format!("{:?}", SendError::Refused("secret", Misuse("why"))), "why"),
        (SinkFailed.to_string(), "takes no more"),
        (NotFresh.to_string(), "fresh"),
        (TapeError::NotATape.to_string(), "not a tape"),
        (TapeError::Version(200).to_string(), "version 200"),
    ];
    for (text, part) in texts {
        assert!(text.contains(part) && !text.contains("secret"), "{text:?} has no {part:?}");
    }
    assert_eq!(SendError::Ended(7).into_message() + SendError::Blocked(8).into_message(), 15);
    let mut config = Config::default();
    config.max_header_fields = 0;
    let invalid = config.validate().expect_err("none would fit");
    assert!(invalid.to_string().starts_with("max_header_fields"), "{invalid}");
    assert_eq!(format!("{:?}", None::<Prost<String>>), "None");
    assert_eq!(Limits::default(), Config::default().limits);
    let too_many = Routes::new(std::iter::repeat_n(("/a/B", Shape::Unary), Routes::MAX + 1)).expect_err("more than fit");
    assert!(too_many.to_string().contains(&(Routes::MAX + 1).to_string()), "{too_many}");
    let invalid = Metadata::from_pairs([("te nant", "secret")]).expect_err("a space");
    let status = invalid.call_status();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("te nant") && !status.message().contains("secret"), "{status}");
}

/// Takes everything, keeps nothing.
struct Nobody;

impl Fields for Nobody {
    fn static_tag(&self, _: u8) -> Tag {
        Tag(0)
    }

    fn classify(&mut self, _: &[u8], _: &[u8]) -> Tag {
        Tag(0)
    }

    fn field(&mut self, _: Tag, _: &[u8], _: &[u8]) {}
}

/// Blocks that RFC 7541 does not allow, each with the words of its section.
#[test]
fn header_blocks_that_cannot_be_read_say_why() {
    use DecodeError as E;
    let rows: [(&[u8], E, &str); 8] = [
        // A literal whose name of 5 octets has one (§5.2).
        (&[0x40, 5, b'a'], E::Truncated, "inside a field"),
        // An index in more than five octets (§5.1: implementations set limits).
        (&[0xFF, 0x80, 0x80, 0x80, 0x80, 0x80, 1], E::IntegerTooLong, "integer"),
        // Index 0 (§6.1), and one beyond the static table while the dynamic one is empty (§2.3.3).
        (&[0x80], E::InvalidIndex, "index"),
        (&[0x80 | 62], E::InvalidIndex, "index"),
        // 'a' is 00011; padding is the beginning of EOS, ones (§5.2).
        (&[0x00, 0x81, 0b0001_1000, 0], E::HuffmanPadding, "padding"),
        // EOS is thirty ones (§5.2).
        (&[0x00, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0], E::HuffmanEos, "EOS"),
        // 31 + 0x62 + 0x1F * 128 = 4,097 (§6.3).
        (&[0x3F, 0xE2, 0x1F], E::SizeUpdateTooLarge, "SETTINGS_HEADER_TABLE_SIZE"),
        // A change of the size behind a field (§4.2).
        (&[0x82, 0x20], E::SizeUpdateMisplaced, "after the first field"),
    ];
    for (block, error, words) in rows {
        assert_eq!(Decoder::new(4_096).decode(block, &mut Nobody), Err(error), "{block:02x?}");
        assert!(error.to_string().contains(words), "{error}");
    }
    for (error, words) in [(E::Enough, "larger"), (E::SizeUpdateMissing, "lowered")] {
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn records_are_lines_for_people() {
    let fields = || Cow::Owned(Metadata::from_pairs([("tenant", "secret")]).expect("valid"));
    let stream = |op| Record::Stream { slot: 3, op }.to_string();
    let lines = [
        (stream(StreamOp::SetToken(Token(9))), "set_token 9 on stream 3"),
        (stream(StreamOp::Limit(Some(Duration::from_micros(1_500)))), "limit 1.500ms on stream 3"),
        (stream(StreamOp::Limit(None)), "limit none on stream 3"),
        (stream(StreamOp::RecvBytes(Got::Reset)), "recv_bytes: a reset on stream 3"),
        (stream(StreamOp::SendHeaders { status: 204, end: true, metadata: fields() }), "send_headers 204, 1 fields, no body on stream 3"),
        (stream(StreamOp::SendHeaders { status: 200, end: false, metadata: fields() }), "send_headers 200, 1 fields on stream 3"),
        (stream(StreamOp::SendTrailers(fields())), "send_trailers, 1 fields on stream 3"),
        (stream(StreamOp::Reset(ErrorCode::CANCEL.0)), "reset CANCEL on stream 3"),
        (stream(StreamOp::Release), "release on stream 3"),
        (Record::Call { slot: 1, op: CallOp::TakeOutcome(None) }.to_string(), "take_outcome: none yet on call 1"),
        (Record::Stopped.to_string(), "recording stopped; the connection went on"),
    ];
    for (line, wanted) in lines {
        assert_eq!(line, wanted);
    }
}

#[test]
fn records_know_when_they_were() {
    let now = Timestamp::from_micros(5);
    let timed = [
        Record::In { now, octets: Cow::Borrowed(b"x") },
        Record::Eof { now },
        Record::Timeout { now },
        Record::Drain { now, within: None },
        Record::Close { now },
    ];
    assert!(timed.iter().all(|record| record.now() == Some(now)));
    assert_eq!((Record::Target.now(), Record::Advance { n: 1 }.now()), (None, None));
}
