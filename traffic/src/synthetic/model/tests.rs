//! Tests of the traffic models.

use super::super::tests::{cardinalities, checksum};
use super::metro::CLASSES;
use super::*;
use approx::{abs_diff_eq, assert_abs_diff_eq};
use rustc_hash::{FxHashMap, FxHashSet};
use srlg_core::Ipv4Pair;

fn all_slices(model: Model, load: u32, slices: u32) -> Vec<Vec<Ipv4Pair>> {
    model.slices(1, slices, load).collect()
}

/// Maps each peer of `host` to the slices in which it exchanges packets with `host`.
fn visits(slices: &[Vec<Ipv4Pair>], host: Address) -> FxHashMap<Address, Vec<usize>> {
    let mut visits: FxHashMap<Address, Vec<usize>> = FxHashMap::default();
    for (slice, packets) in slices.iter().enumerate() {
        for pair in packets.iter().filter(|pair| pair.inside == host) {
            visits.entry(pair.peer).or_default().push(slice);
        }
    }
    visits
}

#[test]
fn names_are_read_back_and_others_are_refused() {
    for model in Model::ALL {
        assert_eq!(model.name().parse(), Ok(model));
    }
    let refused = "Backbone".parse::<Model>().unwrap_err();
    insta::assert_snapshot!(refused);
}

#[test]
fn equal_arguments_give_equal_packets() {
    // The values are pinned, because recorded results depend on them. A model may only be changed on purpose.
    let pinned: [u64; 6] = [
        1_361_660_030_148_708_908,
        2_281_360_073_130_958_280,
        11_741_561_519_555_565_122,
        8_886_896_727_946_256_632,
        6_675_487_434_169_338_931,
        2_894_837_918_821_372_758,
    ];
    let checksum =
        |model: Model, seed| checksum(model.slices(seed, 310, 50_000).flatten().take(100_000));
    assert_eq!(Model::ALL.map(|model| checksum(model, 1)), pinned);
    assert!(Model::ALL.iter().zip(pinned).all(|(&model, sum)| checksum(model, 2) != sum));
}

#[test]
fn distinct_pairs_of_a_window_are_the_load_within_5_percent() {
    let load = 200_000;
    // All windows of Persistent are alike and take long to generate, so few slices are enough.
    let streams =
        Model::ALL.map(|model| (model, if model == Model::Persistent { 10 } else { 600 }));
    for (model, slices) in streams {
        let all = all_slices(model, load, slices);
        for start in (0..=all.len().saturating_sub(300)).step_by(75) {
            let window = &all[start..all.len().min(start + 300)];
            let distinct: FxHashSet<Ipv4Pair> = window.iter().flatten().copied().collect();
            let ratio = distinct.len() as f64 / f64::from(load);
            assert!(abs_diff_eq!(ratio, 1.0, epsilon = 0.05), "{model}: {ratio} from {start}");
        }
    }
}

#[test]
fn packets_join_an_inside_host_and_a_peer() {
    use super::super::network::{is_inside, is_peer};
    for model in Model::ALL {
        let mut packets = model.slices(3, 20, 20_000).flatten();
        assert!(packets.all(|pair| is_inside(pair.inside) && is_peer(pair.peer)), "{model}");
    }
}

/// Returns the expected number of super points per million pairs in model B, at a threshold of 1024.
fn metro_super_points_per_million() -> f64 {
    let of_class = |class: &metro::Class| {
        let mean = class.median * libm::exp(class.sigma * class.sigma / 2.0);
        // Contacts are rounded, so 1023.5 is enough. The tail probability is Q(x) = erfc(x / sqrt 2) / 2.
        let sigmas = libm::log(1023.5 / class.median) / class.sigma;
        1e6 * class.share / mean * libm::erfc(sigmas / std::f64::consts::SQRT_2) / 2.0
    };
    CLASSES.iter().map(of_class).sum()
}

#[test]
fn metro_has_100_super_points_per_million_pairs() {
    assert_abs_diff_eq!(metro_super_points_per_million(), 100.0, epsilon = 0.5);
    // The sum has five rounding errors.
    let shares = CLASSES.iter().map(|class| class.share).sum::<f64>();
    assert_abs_diff_eq!(shares, 1.0, epsilon = 5.0 * f64::EPSILON);
    // Four streams of half a million pairs have 200 super points. A class draws hosts until its pairs are used up, so
    // that many large hosts leave room for few other hosts. The number therefore varies less than a Poisson number,
    // whose standard deviation is 14.1. The bound is four standard deviations, plus 5 % for flows that reach into the
    // next period.
    let super_points = |seed| {
        let all = Model::Metro.slices(seed, 300, 500_000).flatten();
        cardinalities(all).values().filter(|&&count| count >= 1024).count()
    };
    let found: usize = (1..=4).map(super_points).sum();
    assert!((134..=266).contains(&found), "{found}");
}

#[test]
fn flood_victims_have_a_fifth_of_the_pairs() {
    let counts = cardinalities(Model::Flood.slices(1, 300, 200_000).flatten());
    let victims = own_hosts(4).into_iter().map(|victim| counts[&victim]);
    assert!(victims.eq([10_000; 4]));
}

#[test]
fn slow_scanners_touch_each_target_once_at_a_constant_rate() {
    let all = all_slices(Model::SlowScan, 100_000, 400);
    let scan = SlowScan::new(1, 10_000);
    assert_eq!(scan.hosts().len(), 8);
    for start in [0, 37, 100] {
        let counts = cardinalities(all[start..start + 300].iter().flatten().copied());
        assert_eq!(scan.hosts().iter().map(|host| counts[host]).sum::<u32>(), scan.pairs());
        assert!(scan.hosts().iter().all(|host| (800..1600).contains(&counts[host])));
    }
    for host in scan.hosts() {
        let visits = visits(&all, host);
        assert!(visits.values().all(|slices| slices.len() == 1));
        // 800 to 1600 targets in 300 slices are 2.7 to 5.3 targets per slice, rounded up or down.
        let of_slice = |slice| visits.values().filter(|slices| slices[0] == slice).count();
        assert!((0..400).all(|slice| (2..=6).contains(&of_slice(slice))));
    }
}

#[test]
fn crowds_arrive_within_six_slices_and_come_back() {
    let all = all_slices(Model::FlashCrowd, 100_000, 400);
    let crowd = FlashCrowd::new(1, 20_000);
    let mut seen = 0;
    for server in crowd.hosts() {
        let visits = visits(&all, server);
        let first = visits.values().map(|slices| slices[0]);
        // Crowds at both ends of the stream are only partly visible, so they are skipped.
        let Some(begin) = first.clone().min().filter(|begin| (1..370).contains(begin)) else {
            continue;
        };
        seen += 1;
        // The five slices of arrivals may start within a slice.
        assert!(first.max().unwrap() <= begin + 5);
        assert!(visits.values().all(|slices| slices.len() == 6));
        assert!((1000..3000).contains(&visits.len()));
    }
    // Nine crowds per 300 slices are eleven in 369 slices. One more or one less is allowed.
    assert!((10..=12).contains(&seen), "{seen}");
}

#[test]
fn persistent_pairs_are_in_every_slice_of_a_stream_longer_than_a_period() {
    let all = all_slices(Model::Persistent, 5_000, 700);
    let distinct = |slice: &[Ipv4Pair]| slice.iter().copied().collect::<FxHashSet<Ipv4Pair>>();
    let first = distinct(&all[0]);
    assert_eq!(first.len(), 5_000);
    assert!(all.iter().all(|slice| slice.len() == 5_000 && distinct(slice) == first));
}
