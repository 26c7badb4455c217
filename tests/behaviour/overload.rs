//! Tests that overload of the search is reported, and that the search time stays bounded.

use srlg_traffic::family::{ip, v6_pairs};
use std::collections::HashSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use srlg::config::{HashFamily, RsraSizes, Scheme};
use srlg::report::{EstimateRange, FinderFill, Health, Overload};
use srlg::{Config, Ipv4Pair, SliceReport};
use srlg_traffic::synthetic::{distinct_pairs, mix};

use crate::fixture::{self, detector, hosts};

const SCANNER: u32 = 0x0a00_0001;

/// Returns the pairs of a scanner of 4,000 targets and of 50 hosts with 300 peers each, and `load` random pairs.
fn pairs(load: u64) -> Vec<Ipv4Pair> {
    let noise = distinct_pairs(1, 200_000, load);
    let hosts =
        (0..15_000).map(|i| Ipv4Pair { inside: 0x0b00_0000 + i % 50, peer: 0xc000_0000 + i });
    let scanner = (0..4000).map(|peer| Ipv4Pair { inside: SCANNER, peer });
    noise.chain(hosts).chain(scanner).collect()
}

/// Returns the report on a slice with [`pairs`].
fn report(config: Config, load: u64) -> SliceReport {
    timed_report(config, &pairs(load)).0
}

/// Returns the report on a slice with `pairs`, and how long it took to close the slice.
fn timed_report(config: Config, pairs: &[Ipv4Pair]) -> (SliceReport, Duration) {
    let mut detector = detector(config);
    detector.ingest(pairs).unwrap();
    let start = Instant::now();
    let report = detector.close_slice().unwrap();
    let took = start.elapsed();
    assert_eq!(detector.health(), &report.health);
    (report, took)
}

/// Returns the minimum number of cells of a candidate and the share of cells that are in use.
fn cells(health: &Health) -> (u32, f64) {
    match health.finder.fill {
        FinderFill::Cells { c_min, in_use, .. } => (c_min, in_use),
        ref other => panic!("{other:?}"),
    }
}

/// Returns the hot weight and the largest share of hot columns in a row.
fn hot(health: &Health) -> (u32, f64) {
    match &health.finder.fill {
        FinderFill::Rsra { hot_weight, hot_shares, .. } => {
            (*hot_weight, hot_shares.iter().copied().fold(0.0, f64::max))
        }
        other => panic!("{other:?}"),
    }
}

fn with_cells(cell_bits: u32) -> Config {
    Config { scheme: fixture::with_cells(cell_bits), ..Config::default() }
}

fn has_scanner(report: &SliceReport) -> bool {
    hosts(report).contains(&ip(SCANNER))
}

// A host with θ = 1024 peers has 32 samples. They fill 64 (1 - e^-1/2) = 25 of 64 slots, with a standard deviation of
// 3.9. The number 11 is 3.65 standard deviations below this.
#[test]
fn light_load_is_no_overload() {
    let health = report(Config::default(), 100_000).health;
    let (c_min, in_use) = cells(&health);
    assert_eq!(health.finder.overload, None);
    assert!((10..=13).contains(&c_min), "{c_min}");
    // One in 32 of 119,000 pairs touches a cell, and the scanner touches at most 64.
    assert!((0.01..0.015).contains(&in_use), "{in_use}");
    assert!(health.finder.miss_probability <= 1.3e-4);
    // All contacts are in the oldest slice. Therefore, if two hosts touched the same cell, the other host was always
    // later.
    assert!(
        (1.0..1.5)
            .contains(&(health.finder.burst_miss_probability / health.finder.miss_probability))
    );
    assert!(
        (1024.0 * 0.5..1024.0).contains(&health.finder.found_from),
        "{}",
        health.finder.found_from
    );
}

// In this test, 4,096 cells are touched 62,500 times.
#[test]
fn crowded_cells_are_an_overload_and_keep_the_large_super_points() {
    let report = report(with_cells(12), 2_000_000);
    let (c_min, in_use) = cells(&report.health);
    assert_eq!((report.health.finder.overload, c_min), (Some(Overload::Crowded), 2));
    assert!(in_use > 0.99, "{in_use}");
    assert!(
        report.health.finder.miss_probability > 1.3e-4,
        "{}",
        report.health.finder.miss_probability
    );
    assert!(report.health.finder.burst_miss_probability >= report.health.finder.miss_probability);
    assert!(report.health.finder.found_from > 1024.0, "{}", report.health.finder.found_from);
    assert!(has_scanner(&report));
}

// In this test, 4,096 cells are touched 12,500 times. An IPv4 host with θ peers is still found, because it needs only
// two cells. An IPv6 host needs four cells and is often missed.
#[test]
fn cells_that_are_too_full_for_ipv6_hosts_are_an_overload_once_there_are_some() {
    for has_v6 in [false, true] {
        let mut detector = detector(Config { window: 1, ..with_cells(12) });
        detector.ingest(&distinct_pairs(1, 200_000, 400_000).collect::<Vec<_>>()).unwrap();
        if has_v6 {
            let host = (0..500).map(|peer| Ipv4Pair { inside: SCANNER, peer });
            detector.ingest(&v6_pairs(&host.collect::<Vec<_>>())).unwrap();
        }
        let finder = detector.close_slice().unwrap().health.finder;
        assert_eq!(finder.overload, has_v6.then_some(Overload::Crowded), "{finder:?}");
        assert!(finder.miss_probability < 0.01 && finder.found_from < 1024.0, "{finder:?}");
        assert!(finder.miss_probability_v6.unwrap() > 0.01, "{finder:?}");
        assert!(finder.found_from_v6.unwrap() > 1024.0, "{finder:?}");
        let burst_v6 = finder.burst_miss_probability_v6.unwrap();
        assert!(burst_v6 > finder.burst_miss_probability, "{finder:?}");
    }
}

#[test]
fn the_fuller_the_cells_the_fewer_make_a_candidate_and_the_larger_hosts_are_found() {
    let reports = [18, 16, 15, 14].map(|cell_bits| report(with_cells(cell_bits), 1_000_000));
    for pair in reports.windows(2) {
        let [few, many] = [&pair[0].health, &pair[1].health];
        assert!(cells(few).0 >= cells(many).0 && cells(few).1 < cells(many).1, "{pair:?}");
        assert!(has_scanner(&pair[1]));
    }
    assert!(cells(&reports[0].health).0 > cells(&reports[3].health).0);
}

#[test]
fn too_many_hot_columns_raise_the_hot_weight_and_keep_the_large_super_points() {
    let config = Config::paper_with(RsraSizes { hot_limit: 30, ..RsraSizes::PAPER });
    let report = report(config, 2_000_000);
    assert_eq!(report.health.finder.overload, Some(Overload::Raised));
    assert!(hot(&report.health).0 > 3);
    assert!(report.health.finder.miss_probability > 0.035);
    assert!(has_scanner(&report));
}

#[test]
fn too_many_candidates_ask_more_of_each() {
    for config in [Config::default(), Config::paper()] {
        let calm = report(config, 2_000_000);
        assert!(calm.candidates > 1, "{}", calm.candidates);
        let one_less = calm.candidates as u32 - 1;
        let limited = |limit| report(Config { candidate_limit: limit, ..config }, 2_000_000);
        let few = limited(one_less);
        assert!(few.health.finder.miss_probability > calm.health.finder.miss_probability);
        assert!(few.candidates <= one_less as usize && has_scanner(&few));
        // With cells, it is not an overload if one host with the fewest cells is left out, because a miss probability
        // of 0.00013 is accepted.
        let is_accepted = few.health.finder.miss_probability <= 1.3e-4;
        let expected = (!is_accepted).then_some(Overload::Raised);
        assert_eq!(few.health.finder.overload, expected, "{:?}", few.health);
        assert_eq!(is_accepted, config == Config::default());
    }
    let one = report(Config { candidate_limit: 1, ..Config::default() }, 2_000_000);
    assert_eq!((one.candidates, one.health.finder.overload), (1, Some(Overload::Raised)));
    assert!(one.health.finder.miss_probability > 1.3e-4, "{:?}", one.health);
}

#[test]
fn a_lowered_candidate_limit_acts_like_a_configured_one_until_it_is_raised() {
    for config in [Config::default(), Config::paper()] {
        let (mut lowered, mut free) = (detector(config), detector(config));
        let mut configured = detector(Config { candidate_limit: 1, ..config });
        lowered.set_candidate_limit(0);
        let pairs = pairs(2_000_000);
        for slice in 0..2 {
            for detector in [&lowered, &configured, &free] {
                detector.ingest(&pairs).unwrap();
            }
            let report = lowered.close_slice().unwrap();
            assert_eq!(report, configured.close_slice().unwrap(), "slice {slice}");
            assert_eq!(report.health.finder.overload, Some(Overload::Raised), "slice {slice}");
            assert!(has_scanner(&report), "slice {slice}");
            free.close_slice().unwrap();
        }
        assert!(lowered.delta(2).unwrap() == free.delta(2).unwrap());
        lowered.set_candidate_limit(u32::MAX);
        assert_eq!(lowered.close_slice().unwrap(), free.close_slice().unwrap());
    }
}

// Host number n has 1,500 + 100 n peers. An estimate is off by about 3 %, and 3 % of 3,400 peers are one host.
#[test]
fn a_lowered_candidate_limit_keeps_the_largest_super_points_of_the_last_report() {
    let mut detector = detector(Config::default());
    let host = |number: u32| (0..1500 + 100 * number).map(move |peer| (number, peer));
    let pairs = (0..20).flat_map(host).map(|(inside, peer)| Ipv4Pair { inside, peer });
    detector.ingest(&pairs.collect::<Vec<_>>()).unwrap();
    let before = hosts(&detector.close_slice().unwrap());
    assert_eq!(before.len(), 20);
    detector.set_candidate_limit(5);
    let report = detector.close_slice().unwrap();
    assert!((5..=10).contains(&report.candidates), "{}", report.candidates);
    assert_eq!(hosts(&report)[..5], before[..5]);
}

/// Time after which a close hangs. A close that enumerates all tuples or cells takes hours, and one that does not takes
/// seconds, or a minute on a busy machine.
const HANG: Duration = Duration::from_secs(600);

// With θ = 8, every peer is sampled. 12 million peers fill nearly every recorder, and 2^34 tuples of hot columns give
// about 2^32 addresses.
#[test]
fn saturated_arrays_are_reported_and_do_not_hang() {
    let config = Config { threshold: 8, ..Config::paper() };
    let (report, took) = timed_report(config, &pairs(12_000_000));
    assert_eq!(report.health.finder.overload, Some(Overload::Saturated));
    assert_eq!((report.super_points.len(), report.health.finder.miss_probability), (0, 1.0));
    // After 200,000 hosts, a share of e^(-200000/131072) = 0.22 of the columns in row 0 is still empty.
    assert!(hot(&report.health).1 > 0.75);
    assert!(took < HANG, "{took:?}");
}

// In one slice, 200,000 hosts touch each cell 46 times. A third of the hosts have two cells or more, which are more
// candidates than the limit accepts.
#[test]
fn cells_that_everybody_touches_are_reported_and_do_not_hang() {
    let config = Config { threshold: 8, ..Config::default() };
    let (report, took) = timed_report(config, &pairs(12_000_000));
    assert_eq!(report.health.finder.overload, Some(Overload::Raised));
    assert!(cells(&report.health).0 > 2 && report.health.finder.miss_probability > 0.1);
    assert!(report.candidates <= config.candidate_limit as usize);
    assert!(took < HANG, "{took:?}");
}

/// Returns the pairs of the scanner and of hosts with three contacts each. The three peers are chosen for the seed so
/// that every host makes its columns hot. The row with the most hot columns has `columns` hot columns.
fn crowd(config: Config, columns: usize) -> Vec<Ipv4Pair> {
    let params = config.validate().unwrap();
    let rsra = params.finder().rsra().unwrap();
    let peer = |slot| (0..).find(|&peer| rsra.slot(peer) == Some(slot)).unwrap();
    let peers = [0, 1, 2].map(peer);
    let mut hot = vec![HashSet::new(); rsra.rows() as usize];
    let mut pairs: Vec<Ipv4Pair> =
        (0..4000).map(|peer| Ipv4Pair { inside: SCANNER, peer }).collect();
    for inside in std::iter::once(SCANNER).chain(0x1400_0000..) {
        let base = rsra.base_column(inside);
        for (row, hot) in (0..).zip(&mut hot) {
            hot.insert(rsra.column(row, base, inside));
        }
        pairs.extend(peers.map(|peer| Ipv4Pair { inside, peer }));
        if hot.iter().any(|hot| hot.len() == columns) {
            break;
        }
    }
    pairs
}

// Of 2^17 columns, 16,384 may be hot. If all of them have the same mask, 2^32 / 8^5 = 131,072 addresses match hot
// columns in five rows. These are too many candidates, so the hot weight is also raised.
#[test]
fn crowd_of_three_contacts_each_is_reported_and_keeps_the_large_super_points() {
    let config = Config::paper();
    let calm = (None, 3);
    let raised = (Some(Overload::Raised), 4);
    for (columns, expected) in [(8000, calm), (16_384, raised), (16_385, raised)] {
        let pairs = crowd(config, columns);
        let (report, took) = timed_report(config, &pairs);
        assert_eq!((report.health.finder.overload, hot(&report.health).0), expected, "{columns}");
        assert!(report.candidates <= config.candidate_limit as usize);
        assert_eq!(hosts(&report), [ip(SCANNER)]);
        assert_eq!(hot(&report.health).1 * f64::from(1 << 17), columns as f64);
        assert!(took < HANG, "{took:?}");
    }
}

// One contact in 128 is sampled. With this seed, no host of the crowd has all three contacts sampled.
#[test]
fn a_crowd_chosen_for_another_seed_is_harmless() {
    let pairs = crowd(Config::paper(), 16_384);
    let secret = Config { hash: HashFamily::HalfSip13, seed: 0x5eed, ..Config::paper() };
    let (report, _) = timed_report(secret, &pairs);
    assert_eq!((report.health.finder.overload, report.candidates), (None, 1));
    assert_eq!(hosts(&report), [ip(SCANNER)]);
}

// The 49,000 pairs touch 1.125 positions each. With 9,600 recorders, the load is 5.7 if all hosts are small, and some
// 10 % lower with 50 hosts of 300 peers. Four standard deviations of the estimate are 0.6. With the default number of
// recorders, the load is 0.0034.
#[test]
fn a_crowded_counter_reports_that_its_errors_no_longer_hold() {
    let scheme = Scheme::Tagged { cell_bits: 18, lines: 300, tags: 64 };
    let covered = Config { scheme, linear_width: 512, threshold: 512, ..Config::default() };
    let health = report(covered, 30_000).health;
    assert!((4.5..6.2).contains(&health.load) && !health.errors_hold, "{}", health.load);
    let health = report(Config::default(), 30_000).health;
    assert!((0.0032..0.0035).contains(&health.load) && health.errors_hold, "{}", health.load);
}

/// Returns the report of a window of four slices, in which each of `background` hosts has ten peers, and `SCANNER` has
/// `peers` peers in the first slice. The traffic of each slice is new, and the window before was like this one.
fn report_of_crowd(config: Config, background: u32, peers: u32) -> SliceReport {
    let mut detector = detector(Config { window: 4, ..config });
    for slice in 0..8u32 {
        detector.skip_to(slice.into()).unwrap();
        let hosts = (0..background).filter(|host| host % 4 == slice % 4);
        let pairs = hosts.flat_map(|host| {
            let inside = 0x0b00_0000 | (slice / 4) << 20 | host;
            (0..10).map(move |peer| Ipv4Pair {
                inside,
                peer: mix(u64::from(inside) << 8 | peer) as u32,
            })
        });
        detector.ingest(&pairs.collect::<Vec<_>>()).unwrap();
        if slice == 4 {
            let pairs = (0..peers).map(|peer| Ipv4Pair { inside: SCANNER, peer });
            detector.ingest(&pairs.collect::<Vec<_>>()).unwrap();
        }
    }
    detector.close_slice().unwrap()
}

// Without the rule for crowded counters, hosts with ten peers are reported.
#[test]
fn a_crowded_counter_reports_no_host_with_few_peers() {
    for (linear_width, share) in [(32_768, 1), (32_768, 8), (448, 1)] {
        let scheme = Scheme::Tagged { cell_bits: 20, lines: 2_304, tags: 64 };
        let threshold = if linear_width == 448 { 128 } else { 1024 };
        let config = Config { scheme, linear_width, share, threshold, ..Config::default() };
        // The load is 8 in each case.
        let background = 59_000 * share;
        let report = report_of_crowd(config, background, 0);
        assert!(report.health.load > 6.0, "{}", report.health.load);
        assert_eq!(report.health.finder.overload, Some(Overload::Crowded));
        assert_eq!(hosts(&report), Vec::<IpAddr>::new(), "{linear_width} {share}");
    }
}

// The touches of a giant fill its positions, and later touches of other hosts hide a part of them. A hint of this host
// alone would then suggest a crowded counter.
#[test]
fn a_burst_of_a_giant_beyond_the_range_is_reported_under_ordinary_load() {
    for (linear_width, threshold) in [(1024, 2048), (1024, 512)] {
        let scheme = Scheme::Tagged { cell_bits: 14, lines: 20_000, tags: 64 };
        let config = Config { scheme, linear_width, threshold, ..Config::default() };
        let report = report_of_crowd(config, 45_000, 8_000_000);
        assert!(report.health.load < 1.2, "{}", report.health.load);
        assert_eq!(hosts(&report), [ip(SCANNER)]);
        assert_eq!(report.super_points[0].range, EstimateRange::Beyond);
    }
}
