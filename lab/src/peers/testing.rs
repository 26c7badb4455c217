//! Streams and reports for the tests of several alternatives. The expected reports come from the oracle.

use crate::system::System;
use proptest::prelude::*;
use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::synthetic::mix;

/// Returns a strategy for fewer than 20 slices, with so few hosts and peers that pairs repeat.
pub(crate) fn slices() -> impl Strategy<Value = Vec<Vec<Ipv4Pair>>> {
    let pair = (0..4_u32, 0..6_u32).prop_map(|(inside, peer)| Ipv4Pair { inside, peer });
    prop::collection::vec(prop::collection::vec(pair, 0..12), 0..20)
}

/// Returns the reports of `system` at the end of every slice, sorted by host.
pub(crate) fn reports(system: &mut dyn System, slices: &[Vec<Ipv4Pair>]) -> Vec<Vec<(u32, f64)>> {
    let mut report = |slice: &Vec<Ipv4Pair>| {
        system.ingest(slice);
        let mut report = system.close_slice();
        report.sort_unstable_by_key(|&(host, _)| host);
        report
    };
    slices.iter().map(&mut report).collect()
}

/// Returns the exact reports at the end of every slice, sorted by host.
pub(crate) fn true_reports(
    window: u32,
    threshold: u32,
    slices: &[Vec<Ipv4Pair>],
) -> Vec<Vec<(u32, f64)>> {
    let mut exact = ExactWindow::new(window);
    let mut report = |slice: &Vec<Ipv4Pair>| {
        slice.iter().for_each(|&pair| exact.touch(pair));
        let report = exact.close_slice(threshold);
        report.into_iter().map(|(host, cardinality)| (host, cardinality.into())).collect()
    };
    slices.iter().map(&mut report).collect()
}

/// Returns distinct pairs of `host`, with peers spread over all addresses.
pub(crate) fn pairs_of(host: Address, cardinality: u32) -> Vec<Ipv4Pair> {
    // The high half of a 64-bit bijection is not a bijection. The product with an odd number is one.
    let first = mix(host.into()) as u32;
    let peer = |index: u32| first.wrapping_add(index.wrapping_mul(0x9E37_79B1));
    (0..cardinality).map(|index| Ipv4Pair { inside: host, peer: peer(index) }).collect()
}

/// Returns the root mean square of the relative errors of `system`, for `hosts` hosts with 1024 peers or more. Asserts
/// that the system reports all these hosts.
pub(crate) fn rmse(mut system: impl System, hosts: u32) -> f64 {
    let cardinality = |host: u32| 1024 + 5 * host;
    (0..hosts).for_each(|host| system.ingest(&pairs_of(host, cardinality(host))));
    let report = system.close_slice();
    assert_eq!(report.len(), hosts as usize);
    let error = |(host, estimate)| estimate / f64::from(cardinality(host)) - 1.0;
    let squares: f64 = report.into_iter().map(error).map(|error| error * error).sum();
    (squares / f64::from(hosts)).sqrt()
}
