//! HPACK: one block per iteration, so the figures are times per block (`cargo bench --bench hpack`).
//!
//! The ten fields are those of a typical gRPC request. `decode/indexed` is what a connection sees after its first call, `decode/huffman literals` what
//! a peer without a table sends, `decode/path literal` what tonic and grpc-go send: `:path` as a literal each time, the rest indexed.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use pintle_core::hpack::{Decoder, Encoder, Fields, Indexing, Tag, huffman};

const REQUEST: [(&[u8], &[u8]); 10] = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/helloworld.Greeter/SayHello"),
    (b":authority", b"localhost:50051"),
    (b"te", b"trailers"),
    (b"content-type", b"application/grpc"),
    (b"user-agent", b"grpc-rust/0.1.0 pintle"),
    (b"grpc-accept-encoding", b"identity,gzip"),
    (b"x-request-id", b"7f3a1c9e-52d0-4b1a"),
    (b"grpc-timeout", b"999500u"),
];

/// Looks at what a server does of a field that it knows by its tag.
struct Look;

impl Fields for Look {
    fn static_tag(&self, index: u8) -> Tag {
        Tag(u32::from(index))
    }

    fn classify(&mut self, name: &[u8], value: &[u8]) -> Tag {
        Tag((name.len() + value.len()) as u32)
    }

    fn field(&mut self, tag: Tag, name: &[u8], value: &[u8]) {
        black_box(tag.0 as usize + name.len() + value.len());
    }
}

fn encoded(encoder: &mut Encoder, indexing: impl Fn(&[u8]) -> Indexing) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in REQUEST {
        encoder.field(&mut block, name, value, indexing(name));
    }
    block
}

/// Names and values in full, without indexing.
fn literals(coded: bool) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in REQUEST {
        block.push(0x00);
        for text in [name, value] {
            let mut octets = text.to_vec();
            if coded {
                octets.clear();
                huffman::encode(text, &mut octets);
            }
            block.push(octets.len() as u8 | if coded { 0x80 } else { 0 });
            block.extend(octets);
        }
    }
    block
}

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode");
    let mut run = |name: &str, blocks: &[Vec<u8>]| {
        let (last, before) = blocks.split_last().expect("a block");
        let mut decoder = Decoder::new(4096);
        let mut look = Look;
        for block in before {
            decoder.decode(block, &mut look).expect("a good block");
        }
        group.bench_function(format!("{name} ({} B)", last.len()), |b| {
            b.iter(|| decoder.decode(black_box(last), &mut look).expect("a good block"));
        });
    };

    let mut encoder = Encoder::new(4096);
    let first = encoded(&mut encoder, |_| Indexing::Add);
    let indexed = encoded(&mut encoder, |_| Indexing::Add);
    run("indexed", &[first.clone(), indexed]);

    let path_apart = |name: &[u8]| if name == b":path" { Indexing::Without } else { Indexing::Add };
    let mut encoder = Encoder::new(4096);
    run("path literal", &[encoded(&mut encoder, path_apart), encoded(&mut encoder, path_apart)]);
    run("huffman literals", &[literals(true)]);
    run("plain literals", &[literals(false)]);

    group.bench_function(format!("first block ({} B)", first.len()), |b| {
        b.iter_batched_ref(
            || Decoder::new(4096),
            |decoder| decoder.decode(black_box(&first), &mut Look).expect("a good block"),
            BatchSize::SmallInput,
        );
    });
}

fn encode(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode");
    let mut block = Vec::with_capacity(1024);

    let mut encoder = Encoder::new(4096);
    encoded(&mut encoder, |_| Indexing::Add);
    group.bench_function("indexed, 8 fields", |b| {
        b.iter(|| {
            block.clear();
            encoder.begin(&mut block);
            for (name, value) in &black_box(REQUEST)[..8] {
                encoder.field(&mut block, name, value, Indexing::Add);
            }
            black_box(&block);
        });
    });

    group.bench_function("literals, 10 fields", |b| {
        b.iter(|| {
            block.clear();
            for (name, value) in black_box(REQUEST) {
                encoder.field(&mut block, name, value, Indexing::Never);
            }
            black_box(&block);
        });
    });

    // Always another value: each block inserts one entry and evicts one.
    let mut number = 0u32;
    group.bench_function("one new value", |b| {
        b.iter(|| {
            number = number.wrapping_add(1);
            block.clear();
            encoder.field(&mut block, b"x-request-id", &number.to_be_bytes(), Indexing::Add);
            black_box(&block);
        });
    });
}

fn coding(c: &mut Criterion) {
    let text: Vec<u8> = b"/helloworld.Greeter/SayHello".repeat(36);
    let mut coded = Vec::new();
    huffman::encode(&text, &mut coded);
    let mut group = c.benchmark_group("huffman");
    let mut out = Vec::with_capacity(2048);
    group.bench_function(format!("decode {} B", coded.len()), |b| {
        b.iter(|| {
            out.clear();
            huffman::decode(black_box(&coded), &mut out).expect("a good string");
        });
    });
    group.bench_function(format!("encode {} B", text.len()), |b| {
        b.iter(|| {
            out.clear();
            huffman::encode(black_box(&text), &mut out);
        });
    });
}

criterion_group!(benches, decode, encode, coding);
criterion_main!(benches);
