//! The frame vectors of http2-frame-test-case, where `PINTLE_VECTORS` names a directory that has them as `frames.json`.

mod common;

use std::io::Write;

use common::{MAX, hex};
use h2_frame::*;
use serde_json::Value;

#[test]
fn frames() {
    let Some(folder) = std::env::var_os("PINTLE_VECTORS") else {
        // Straight to the terminal: what a test prints is shown only when it fails.
        writeln!(std::io::stderr(), "PINTLE_VECTORS not set: frame vectors skipped").expect("stderr takes a line");
        return;
    };
    let path = std::path::Path::new(&folder).join("frames.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let vectors: Vec<Value> = serde_json::from_str(&text).expect("the vectors are JSON");
    let (mut good, mut bad) = (0, 0);
    for vector in &vectors {
        let name = vector["name"].as_str().expect("each vector has a name");
        let wire = hex(vector["wire"].as_str().expect("each vector has octets"));
        match vector["error"].as_array() {
            Some(codes) => {
                bad += 1;
                for error in [parse(&wire, MAX).unwrap_err(), scan(&wire).unwrap_err()] {
                    assert!(codes.contains(&error.code.0.into()), "{name}: {error}, but one of the codes {codes:?} is right");
                }
            }
            None => {
                good += 1;
                check_frame(name, &vector["frame"], &wire);
            }
        }
    }
    println!("{good} frames and {bad} errors agree");
    assert!(good >= 10 && bad >= 20, "only {good} frames and {bad} errors in {}", path.display());
}

/// The error that a scanner finds, with `parse_payload` for what is not DATA.
fn scan(wire: &[u8]) -> Result<(), Error> {
    let (mut scanner, mut input) = (Scanner::new(), wire);
    while let Some(item) = scanner.next(&mut input)? {
        if let (Item::Head(head), Some(payload)) = (item, scanner.take_payload(&mut input)) {
            parse_payload(head, payload)?;
        }
    }
    Ok(())
}

fn check_frame(name: &str, expected: &Value, wire: &[u8]) {
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap_or_else(|| panic!("{name}: a number"))).expect("32 bits");
    let head = Head::parse(wire.first_chunk().expect("a whole frame"));
    assert_eq!(head.len, number(&expected["length"]), "{name}");
    assert_eq!(u32::from(head.kind), number(&expected["type"]), "{name}");
    assert_eq!(u32::from(head.flags), number(&expected["flags"]), "{name}");
    assert_eq!(head.stream, number(&expected["stream_identifier"]), "{name}");
    let (frame, size) = match parse(wire, MAX) {
        Ok(Status::Complete(complete)) => complete,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(size, wire.len(), "{name}");

    let payload = &expected["frame_payload"];
    let text = |key: &str| payload[key].as_str().unwrap_or_else(|| panic!("{name}: {key}")).as_bytes();
    match frame {
        Frame::Data(data) => {
            assert_eq!((data.data, data.flow_len), (text("data"), head.len), "{name}");
            assert_eq!(data.pad_len.map(u64::from), payload["padding_length"].as_u64(), "{name}");
        }
        Frame::Headers(headers) => {
            assert_eq!(headers.fragment, text("header_block_fragment"), "{name}");
            let fields = payload["stream_dependency"].as_u64().map(|_| PriorityFields {
                exclusive: payload["exclusive"].as_bool().expect("yes or no"),
                dependency: number(&payload["stream_dependency"]),
                weight: (number(&payload["weight"]) - 1) as u8,
            });
            assert_eq!(headers.priority, fields, "{name}");
        }
        Frame::Priority(Priority { stream, fields }) => {
            assert_eq!(stream, head.stream, "{name}");
            assert_eq!(fields.dependency, number(&payload["stream_dependency"]), "{name}");
            assert_eq!(u32::from(fields.weight) + 1, number(&payload["weight"]), "{name}: the vectors count from 1");
            assert_eq!(Some(fields.exclusive), payload["exclusive"].as_bool(), "{name}");
        }
        Frame::Reset(reset) => assert_eq!(reset.code.0, number(&payload["error_code"]), "{name}"),
        Frame::Settings(settings) => {
            let entries = payload["settings"].as_array().expect("a list");
            assert_eq!(entries.len(), settings.iter().len(), "{name}");
            for (entry, (id, value)) in entries.iter().zip(settings.iter()) {
                assert_eq!((number(&entry[0]), number(&entry[1])), (id.into(), value), "{name}");
            }
        }
        Frame::PushPromise(promise) => {
            assert_eq!(promise.promised, number(&payload["promised_stream_id"]), "{name}");
            assert_eq!(promise.fragment, text("header_block_fragment"), "{name}");
        }
        Frame::Ping(ping) => assert_eq!(ping.data, text("opaque_data"), "{name}"),
        Frame::GoAway(goaway) => {
            assert_eq!(goaway.last_stream, number(&payload["last_stream_id"]), "{name}");
            assert_eq!(goaway.code.0, number(&payload["error_code"]), "{name}");
            assert_eq!(goaway.debug, text("additional_debug_data"), "{name}");
        }
        Frame::WindowUpdate(update) => assert_eq!(update.increment, number(&payload["window_size_increment"]), "{name}"),
        Frame::Continuation(continuation) => assert_eq!(continuation.fragment, text("header_block_fragment"), "{name}"),
        Frame::Unknown(unknown) => panic!("{name}: {unknown:?}"),
    }
}
