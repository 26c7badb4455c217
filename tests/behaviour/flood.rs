//! Tests of a flood of hosts with one contact each, which is the traffic that fills cells fastest. The tests model
//! 20 million and 60 million pairs per window in a detector that has the default sizes (2^18 cells). The scale is 1:64:
//! the numbers of cells, lines and pairs are divided by 64. The sender does not know the seed of the hashes.

use srlg::config::{HashFamily, Scheme};
use srlg::report::Overload;
use srlg::{Config, Device, Ipv4Pair, SliceReport, SlidingDetector};
use srlg_traffic::family::number;
use srlg_traffic::synthetic::mix;

const WINDOW: u32 = 30;
/// Number of hosts with many contacts, in addition to the flood.
const HOSTS: u32 = 60;
const CONTACTS: u32 = 2500;

fn config() -> Config {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 461_600 / 64, tags: 64 };
    let (hash, seed) = (HashFamily::HalfSip13, 0x1405_0b5e_1bad_5eed);
    Config { scheme, window: WINDOW, hash, seed, ..Config::default() }
}

/// Returns the pairs of a slice. In each window, `HOSTS` hosts have many contacts and `flood` hosts have one contact
/// each.
fn pairs(slice: u32, flood: u32) -> Vec<Ipv4Pair> {
    let each = CONTACTS / WINDOW + 1;
    let contact = |host: u32| {
        move |number: u32| Ipv4Pair {
            inside: host,
            peer: (slice % WINDOW * each + number) << 8 | host,
        }
    };
    let hosts = (0..HOSTS).flat_map(|host| (0..each).map(contact(host)));
    let one = |number: u32| {
        let random = mix(u64::from(slice) << 32 | u64::from(number));
        Ipv4Pair { inside: 1 << 31 | random as u32, peer: (random >> 32) as u32 }
    };
    hosts.chain((0..flood / WINDOW).map(one)).collect()
}

/// Runs traffic for two windows. Returns the reports on all full windows.
fn reports(flood: u32) -> Vec<SliceReport> {
    let mut detector = SlidingDetector::new(config(), Device::Cpu).unwrap();
    let mut reports = Vec::new();
    for slice in 0..2 * WINDOW {
        detector.ingest(&pairs(slice, flood)).unwrap();
        if slice + 1 < WINDOW {
            detector.skip_to(u64::from(slice) + 1).unwrap();
        } else {
            reports.push(detector.close_slice().unwrap());
        }
    }
    reports
}

/// Returns the number of missed hosts and the number of hosts of the flood that were falsely reported.
fn errors(report: &SliceReport) -> (u32, usize) {
    let found = report.super_points.iter().filter(|point| number(point.host) < HOSTS).count();
    (HOSTS - found as u32, report.super_points.len() - found)
}

// With 20 million pairs, the finder finds 99 % of hosts of less than half this size. It therefore finds all hosts of
// this size.
#[test]
fn a_flood_of_20_million_pairs_hides_no_host() {
    let reports = reports(20_000_000 / 64);
    for report in &reports {
        assert!(report.health.finder.found_from < f64::from(CONTACTS) / 2.0, "{:?}", report.health);
        assert_eq!(errors(report), (0, 0), "{:?}", report.health);
    }
}

// With 60 million pairs, hosts with θ peers are missed, which the report states. Hosts with 2.5 θ peers are found.
#[test]
fn a_flood_of_60_million_pairs_is_reported_and_hides_hosts_only_as_reported() {
    let reports = reports(60_000_000 / 64);
    let first = &reports[0];
    assert_eq!(first.health.finder.overload, Some(Overload::Crowded));
    assert!((0.01..0.2).contains(&first.health.finder.miss_probability), "{:?}", first.health);
    assert!(first.health.finder.found_from < f64::from(CONTACTS), "{:?}", first.health);
    // At most 1 % of hosts of this size are missed. Four of 60 would exceed five standard deviations.
    assert!(errors(first).0 <= 3, "{:?}", errors(first));
    // Found hosts stay candidates. Missed hosts are found later, because their contacts touch new slots.
    assert!(reports[5..].iter().all(|report| errors(report).0 <= errors(first).0));
}
