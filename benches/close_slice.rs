//! Benchmark of the time to close a slice with one thread. The window contains two million distinct pairs: either
//! uniform pairs (few candidates), or pairs of the backbone model (many candidates).

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::{Backbone, distinct_pairs};

fn close_after(detector: &mut SlidingDetector, pairs: &[Ipv4Pair]) -> Duration {
    detector.ingest(pairs).expect("the CPU takes all pairs");
    let start = Instant::now();
    detector.close_slice().expect("the CPU closes every slice");
    start.elapsed()
}

fn close_slice(criterion: &mut Criterion) {
    let uniform: Vec<Ipv4Pair> = distinct_pairs(1, 200_000, 2_000_000).collect();
    let backbone = Backbone { pairs: 2_000_000, packets_per_pair: 1, ..Backbone::default() };
    let backbone: Vec<Ipv4Pair> = backbone.slices().flatten().collect();
    let mut group = criterion.benchmark_group("close_slice");
    group.sample_size(20);
    for (preset, config) in [("paper", Config::paper()), ("default", Config::default())] {
        for (traffic, pairs) in [("uniform", &uniform), ("backbone", &backbone)] {
            let mut detector =
                SlidingDetector::new(config, Device::Cpu).expect("a preset is valid");
            group.bench_function(format!("{preset}/{traffic}"), |bencher| {
                bencher.iter_custom(|rounds| {
                    (0..rounds).map(|_| close_after(&mut detector, pairs)).sum::<Duration>()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, close_slice);
criterion_main!(benches);
