//! Every header block that went over the wire, decoded by somebody else's HPACK (loona-hpack) and judged by the rules of
//! RFC 9113 §8.2, §8.3 and PROTOCOL-HTTP2.

use pintle_core::testing::{CLIENT, HeaderBlock, Run};
use std::collections::BTreeMap;

type Fields = Vec<(String, String)>;

/// What is wrong with a run's header blocks, in words.
pub(crate) fn faults(run: &Run) -> Vec<String> {
    let mut decoders = [loona_hpack::Decoder::new(), loona_hpack::Decoder::new()];
    // Sizes are the referee's affair; what is larger than any that our SETTINGS announce is not decoded.
    decoders.iter_mut().for_each(|decoder| decoder.set_max_allowed_table_size(4_096));
    let mut streams: BTreeMap<u32, Stream> = BTreeMap::new();
    let mut faults = Vec::new();
    for block in &run.blocks {
        let fields = match decode(&mut decoders[block.end], &block.octets) {
            Ok(fields) => fields,
            Err(what) => return vec![format!("end {}, stream {}: {what}", block.end, block.stream)],
        };
        let stream = streams.entry(block.stream).or_default();
        let found = if block.end == CLIENT { request(stream, block, &fields) } else { response(stream, block, &fields, run) };
        let bad = found.into_iter().chain(field_fault(&fields));
        faults.extend(bad.map(|what| format!("end {}, stream {}: {what}: {fields:?}", block.end, block.stream)));
    }
    faults
}

#[derive(Default)]
struct Stream {
    /// The call's serial number, by the request's metadata.
    serial: Option<usize>,
    responses: u32,
}

fn decode(decoder: &mut loona_hpack::Decoder<'_>, octets: &[u8]) -> Result<Fields, String> {
    let fields = decoder.decode(octets).map_err(|error| format!("another decoder says {error:?}"))?;
    let text = |octets: Vec<u8>| String::from_utf8(octets).map_err(|_| "a field is not ASCII".to_owned());
    fields.into_iter().map(|(name, value)| Ok((text(name)?, text(value)?))).collect()
}

/// All values of a field.
fn values<'a>(fields: &'a Fields, name: &str) -> Vec<&'a str> {
    fields.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str()).collect()
}

/// RFC 9113 §8.2, §8.3: names, values, and where pseudo-header fields stand.
fn field_fault(fields: &Fields) -> Option<String> {
    let regular = fields.iter().position(|(name, _)| !name.starts_with(':')).unwrap_or(fields.len());
    if fields[regular..].iter().any(|(name, _)| name.starts_with(':')) {
        return Some("a pseudo-header field behind another".into());
    }
    let name_is_bad =
        |name: &str| name.is_empty() || name.bytes().any(|octet| octet <= b' ' || octet >= 0x7f || octet.is_ascii_uppercase());
    let connection = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
    let bad = fields.iter().find(|(name, value)| {
        name_is_bad(name) || connection.contains(&name.as_str()) || value.contains(['\0', '\r', '\n']) || value.trim() != value
    });
    bad.map(|field| format!("{field:?} is malformed"))
}

fn request(stream: &mut Stream, block: &HeaderBlock, fields: &Fields) -> Option<String> {
    if stream.serial.is_some() {
        return Some("a second header block in a request".into());
    }
    let Some(serial) = values(fields, "x-call").first().and_then(|text| text.parse().ok()) else {
        return Some("the call's own metadata is missing".into());
    };
    stream.serial = Some(serial);
    let pseudo: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).take_while(|name| name.starts_with(':')).collect();
    let mut sorted = pseudo.clone();
    sorted.sort_unstable();
    let timeouts = values(fields, "grpc-timeout");
    let rules = [
        (sorted == [":authority", ":method", ":path", ":scheme"], "not the four pseudo-header fields"),
        (values(fields, ":method") == ["POST"], ":method"),
        (values(fields, "te") == ["trailers"], "te"),
        (values(fields, "content-type") == ["application/grpc"], "content-type"),
        (timeouts.len() <= 1 && timeouts.iter().all(|text| is_timeout(text)), "grpc-timeout"),
        (!block.ends_stream, "a request without DATA"),
    ];
    rules.iter().find(|(holds, _)| !holds).map(|(_, what)| (*what).to_owned())
}

/// `TimeoutValue TimeoutUnit`: at most eight digits, and one letter.
fn is_timeout(text: &str) -> bool {
    let Some((digits, unit)) = text.split_at_checked(text.len().saturating_sub(1)) else { return false };
    (1..=8).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit()) && "HMSmun".contains(unit)
}

fn response(stream: &mut Stream, block: &HeaderBlock, fields: &Fields, run: &Run) -> Option<String> {
    stream.responses += 1;
    let (first, status) = (stream.responses == 1, values(fields, "grpc-status"));
    let rules = [
        (stream.responses <= 2, "a third header block in a response"),
        (!first || values(fields, ":status") == ["200"], ":status"),
        (!first || values(fields, "content-type") == ["application/grpc"], "content-type"),
        (first || values(fields, ":status").is_empty(), "a pseudo-header field in trailers"),
        (status.len() == usize::from(block.ends_stream), "grpc-status must be in the last block, once"),
    ];
    if let Some((_, what)) = rules.iter().find(|(holds, _)| !holds) {
        return Some((*what).to_owned());
    }
    if !block.ends_stream {
        return None;
    }
    let serial = stream.serial?;
    let told = run.told.get(serial).copied().flatten().map(|code| code.as_u32());
    let sent = status[0].parse::<u32>().ok().filter(|code| code.to_string() == status[0]);
    let explained = match (told, sent) {
        // A method that returns one message cannot be OK without it (UNIMPLEMENTED or INTERNAL, statuscodes.md).
        (Some(0), Some(0 | 12 | 13)) => true,
        (Some(told), Some(sent)) => told == sent,
        // The service said nothing: the deadline, a message too large, a wrong number of messages.
        (None, Some(4 | 8 | 12 | 13)) => true,
        _ => false,
    };
    let served = values(fields, "x-served");
    if !explained {
        return Some(format!("the service said {told:?}"));
    }
    (told.is_some() && served != [serial.to_string()]).then(|| "the service's trailing metadata is missing".to_owned())
}
