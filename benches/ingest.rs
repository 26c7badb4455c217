//! Benchmark of the ingest rate of a detector, in distinct pairs per second on one thread. It ingests pairs of IPv4
//! hosts, and the same pairs converted to IPv6. For comparison, it also measures the exact hash map that a detector
//! replaces.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use srlg::config::HashFamily;
use srlg::ingest::Pair;
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::family::v6_pairs;
use srlg_traffic::synthetic::distinct_pairs;

/// Ingests `pairs` in a new epoch, in which no recorder has been touched yet, and returns the duration.
fn ingest_anew<P: Pair>(detector: &mut SlidingDetector, pairs: &[P]) -> Duration {
    let next = detector.slice() + u64::from(detector.params().counter_sizes().epoch_slices);
    detector.skip_to(next).expect("time moves forward");
    let start = Instant::now();
    for batch in pairs.chunks(1 << 14) {
        detector.ingest(batch).expect("the CPU takes all pairs");
    }
    start.elapsed()
}

fn of_detector<P: Pair>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    config: Config,
    pairs: &[P],
) {
    let mut detector = SlidingDetector::new(config, Device::Cpu).expect("a preset is valid");
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            (0..rounds).map(|_| ingest_anew(&mut detector, pairs)).sum::<Duration>()
        });
    });
}

fn ingest(criterion: &mut Criterion) {
    let pairs: Vec<Ipv4Pair> = distinct_pairs(1, 200_000, 2_000_000).collect();
    let mut group = criterion.benchmark_group("ingest_distinct");
    group.throughput(Throughput::Elements(pairs.len() as u64)).sample_size(10);
    let hostile = Config { hash: HashFamily::HalfSip13, ..Config::default() };
    let configs =
        [("paper", Config::paper()), ("default", Config::default()), ("half-sip", hostile)];
    for (name, config) in configs {
        of_detector(&mut group, name, config, &pairs);
    }
    let v6 = v6_pairs(&pairs);
    // The paper's scheme does not support IPv6 pairs.
    for (name, config) in [("default, IPv6", Config::default()), ("half-sip, IPv6", hostile)] {
        of_detector(&mut group, name, config, &v6);
    }
    group.bench_function("HashMap<u32, HashSet<u32>>", |bencher| {
        bencher.iter(|| {
            let mut peers: HashMap<u32, HashSet<u32>> = HashMap::new();
            for pair in &pairs {
                peers.entry(pair.inside).or_default().insert(pair.peer);
            }
            peers.len()
        });
    });
    group.finish();
}

criterion_group!(benches, ingest);
criterion_main!(benches);
