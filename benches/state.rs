//! Benchmarks of snapshots and deltas on one thread: taking them, converting them to bytes, and restoring or merging
//! them. The detector uses the default preset and has 5 million distinct pairs in its window. The benchmark names
//! include the sizes.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use srlg::state::{Delta, Snapshot};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::distinct_pairs;

const WINDOW: u64 = 300;

/// Numbers of pairs in the running slice. The deltas of this slice contain about 50,000 and about a million recorders.
const DELTAS: [usize; 2] = [28_300, 590_000];

/// Returns a detector with 5 million distinct pairs in its window, and `pairs` more pairs in its running slice.
fn filled(pairs: usize) -> SlidingDetector {
    let mut detector =
        SlidingDetector::new(Config::default(), Device::Cpu).expect("a preset is valid");
    let window: Vec<Ipv4Pair> = distinct_pairs(1, 200_000, 5_000_000).collect();
    for (slice, pairs) in (1..).zip(window.chunks(window.len() / WINDOW as usize)) {
        detector.ingest(pairs).expect("the CPU takes all pairs");
        detector.skip_to(slice).expect("time moves forward");
    }
    let slice: Vec<Ipv4Pair> = distinct_pairs(2, 200_000, pairs as u64).collect();
    detector.ingest(&slice).expect("the CPU takes all pairs");
    detector
}

fn deltas(criterion: &mut Criterion) {
    for pairs in DELTAS {
        let mut detector = filled(pairs);
        let delta = detector.delta(1).expect("a window has a slice");
        let bytes = delta.to_bytes().expect("a delta is compressed");
        let what = format!("delta of {} recorders, {} bytes", delta.recorders(), bytes.len());
        let mut group = criterion.benchmark_group(what);
        group.bench_function("take", |bencher| {
            bencher.iter(|| detector.delta(1).expect("a window has a slice"));
        });
        group.bench_function("take and to_bytes", |bencher| {
            bencher.iter(|| {
                let delta = detector.delta(1).expect("a window has a slice");
                delta.to_bytes().expect("a delta is compressed")
            });
        });
        group.bench_function("from_bytes and merge", |bencher| {
            let params = *detector.params();
            bencher.iter(|| {
                let delta = Delta::from_bytes(black_box(&bytes), &params).expect("as written");
                detector.merge_delta(&delta).expect("of the running slice");
            });
        });
        group.finish();
    }
}

fn snapshots(criterion: &mut Criterion) {
    let mut detector = filled(0);
    let take = || detector.snapshot().expect("the CPU copies");
    let bytes = take().to_bytes().expect("a snapshot is compressed");
    let mut group = criterion.benchmark_group(format!("snapshot of {} bytes", bytes.len()));
    group.sample_size(20);
    group.bench_function("take", |bencher| bencher.iter(take));
    group.bench_function("take and to_bytes", |bencher| {
        bencher.iter(|| take().to_bytes().expect("a snapshot is compressed"));
    });
    group.bench_function("from_bytes and restore", |bencher| {
        let params = *detector.params();
        bencher.iter(|| {
            let snapshot = Snapshot::from_bytes(black_box(&bytes), &params).expect("as written");
            detector.restore(&snapshot).expect("of the same detector");
        });
    });
    group.finish();
}

criterion_group!(benches, deltas, snapshots);
criterion_main!(benches);
