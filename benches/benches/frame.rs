//! Frames: scanning, parsing, encoding (`cargo bench -p pintle-benches --bench frame`). Times are for the whole input that the name says.
#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use h2_frame::{Item, Scanner, Status, data_head, headers_head, parse, ping, window_update};
use std::hint::black_box;

/// What a client sends for one small unary call: HEADERS of 40 octets and DATA of 13.
fn call() -> Vec<u8> {
    let mut wire = headers_head(40, 1, false, true).to_vec();
    wire.extend([0x82; 40]);
    wire.extend(data_head(13, 1, true));
    wire.extend([0; 13]);
    wire
}

/// A hundred calls with what goes on around them.
fn traffic() -> Vec<u8> {
    let mut wire = Vec::new();
    for _ in 0..100 {
        wire.extend(call());
        wire.extend(window_update(0, 13));
    }
    wire.extend(ping(false, *b"12345678"));
    wire
}

fn scan(scanner: &mut Scanner, mut input: &[u8]) -> usize {
    let mut frames = 0;
    while let Ok(Some(item)) = scanner.next(&mut input) {
        match item {
            Item::Head(head) => {
                frames += 1;
                black_box(head);
                if let Some(payload) = scanner.take_payload(&mut input) {
                    black_box(payload);
                }
            }
            Item::Piece { octets, .. } => _ = black_box(octets),
        }
    }
    frames
}

fn frames(criterion: &mut Criterion) {
    let (traffic, large) = (traffic(), [&data_head(16_384, 1, false)[..], &[7; 16_384]].concat());
    let mut group = criterion.benchmark_group("frame");
    group.throughput(Throughput::Bytes(traffic.len() as u64));
    group.bench_function("scan/100 calls in one read", |bench| bench.iter(|| scan(&mut Scanner::new(), black_box(&traffic))));
    group.bench_function("scan/100 calls in reads of 50 octets", |bench| {
        bench.iter(|| {
            let mut scanner = Scanner::new();
            black_box(&traffic).chunks(50).map(|piece| scan(&mut scanner, piece)).sum::<usize>()
        });
    });
    group.bench_function("parse/100 calls", |bench| {
        bench.iter(|| {
            let (mut rest, mut frames) = (black_box(&traffic[..]), 0);
            while let Ok(Status::Complete((frame, size))) = parse(rest, 16_384) {
                black_box(frame);
                rest = &rest[size..];
                frames += 1;
            }
            frames
        });
    });
    group.throughput(Throughput::Bytes(large.len() as u64));
    group.bench_function("scan/one DATA frame of 16 KiB", |bench| bench.iter(|| scan(&mut Scanner::new(), black_box(&large))));
    group.throughput(Throughput::Elements(1));
    group.bench_function("encode/the head of DATA", |bench| bench.iter(|| data_head(black_box(13), black_box(1), true)));
    group.bench_function("encode/WINDOW_UPDATE", |bench| bench.iter(|| window_update(black_box(0), black_box(13))));
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
