//! What no other test says: the words of errors and of tapes, which people read when something is wrong.

use pintle_core::{
    Config, ErrorCode, Metadata, Misuse, SendError, StartError, Timestamp, Token, UnknownCall,
    codec::Prost,
    tape::{CallOp, Got, Record, StreamOp},
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
