//! Tests that the super points of the last report stay candidates, so that hosts in crowded cells are still reported.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use srlg::report::Overload;
use srlg::state::{FormatError, Snapshot};
use srlg::{Config, Error, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::{Model, distinct_pairs};

use crate::fixture::{contacts, detector, hosts, with_cells};
use crate::hostile_bytes::with_body;
use crate::small;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const WINDOW: u32 = 10;

fn config() -> Config {
    Config { threshold: 256, window: WINDOW, scheme: with_cells(12), ..Config::default() }
}

/// Returns the background traffic of a slice, which touches the 4,096 cells 12,500 times.
fn crowd(slice: u64) -> Vec<Ipv4Pair> {
    distinct_pairs(slice, 50_000, 100_000).collect()
}

// All contacts of the host are in slice 0. Later, the crowd takes its cells, but its recorders in the counter stay.
#[test]
fn a_super_point_of_a_flash_crowd_stays_reported_after_its_cells_are_lost() {
    let (mut reports_always, mut never_reported) = (detector(config()), detector(config()));
    for slice in 0..u64::from(WINDOW) + 3 {
        for detector in [&reports_always, &never_reported] {
            let own = if slice == 0 { contacts(HOST, 0..2000) } else { Vec::new() };
            detector.ingest(&own).unwrap();
            if slice > 0 {
                detector.ingest(&crowd(slice)).unwrap();
            }
        }
        let mut forgetful = detector(config());
        forgetful.restore(&never_reported.snapshot().unwrap()).unwrap();
        let (report, forgetful) =
            (reports_always.close_slice().unwrap(), forgetful.close_slice().unwrap());
        let is_in_window = slice < WINDOW.into();
        assert_eq!(
            hosts(&report) == [IpAddr::from(HOST)],
            is_in_window,
            "slice {slice}: {:?}",
            hosts(&report)
        );
        // Without a report, the host is forgotten once all its cells have been touched by others.
        assert_eq!(hosts(&forgetful) == [IpAddr::from(HOST)], slice == 0, "slice {slice}");
        assert_eq!(report.health, forgetful.health);
        if slice > 1 {
            assert_eq!(report.health.finder.overload, Some(Overload::Crowded), "slice {slice}");
        }
        let asked = never_reported.cardinality(HOST.into()).unwrap();
        if is_in_window {
            let point = &report.super_points[0];
            assert_eq!((point.cardinality, point.range), (asked.cardinality, asked.range));
        }
        // The host is estimated once more after it has left the window.
        let kept = usize::from((1..=WINDOW.into()).contains(&slice));
        assert_eq!(report.candidates, forgetful.candidates + kept, "slice {slice}");
        never_reported.skip_to(slice + 1).unwrap();
    }
}

/// Returns a detector that reported `host` in its first slice. In the second slice, background traffic has taken the
/// cells of `host`.
fn reported(host: Ipv4Addr) -> SlidingDetector {
    let mut detector = detector(config());
    detector.ingest(&contacts(host, 0..2000)).unwrap();
    assert_eq!(hosts(&detector.close_slice().unwrap()), [host]);
    detector.ingest(&crowd(1)).unwrap();
    detector
}

// A delta contains only touched recorders, because a node that follows another one makes its own reports.
#[test]
fn kept_hosts_do_not_travel_with_deltas() {
    let (mut first, mut follower) = (reported(HOST), detector(config()));
    follower.skip_to(1).unwrap();
    follower.merge_delta(&first.delta(2).unwrap()).unwrap();
    assert!(hosts(&follower.close_slice().unwrap()).is_empty());
    assert_eq!(follower.cardinality(HOST.into()).unwrap(), {
        first.skip_to(2).unwrap();
        first.cardinality(HOST.into()).unwrap()
    });
}

#[test]
fn merges_unite_kept_hosts_in_any_order() {
    let other = Ipv4Addr::new(10, 0, 0, 2);
    let [mut left, mut right] = [reported(HOST), reported(other)];
    let [of_left, of_right] = [left.snapshot().unwrap(), right.snapshot().unwrap()];
    left.merge_snapshot(&of_right).unwrap();
    right.merge_snapshot(&of_left).unwrap();
    assert!(left.snapshot().unwrap() == right.snapshot().unwrap());
    right.merge_snapshot(&of_left).unwrap(); // Merging is idempotent.
    assert!(left.snapshot().unwrap() == right.snapshot().unwrap());
    let report = left.close_slice().unwrap();
    assert_eq!(report, right.close_slice().unwrap());
    let mut found = hosts(&report);
    found.sort_unstable();
    assert_eq!(found, [HOST, other].map(IpAddr::from));
}

// Four nodes keep three hosts each. After the merge, at most three hosts are kept.
#[test]
fn of_more_hosts_than_the_limit_the_same_stay_in_any_order() {
    let config = Config { candidate_limit: 3, ..small::tagged() };
    let node = |number: u32| {
        let mut node = detector(config);
        for host in 0..3 {
            node.ingest(&contacts((host * 4 + number).into(), 0..100)).unwrap();
        }
        assert_eq!(node.close_slice().unwrap().super_points.len(), 3);
        node.snapshot().unwrap()
    };
    let nodes = [0, 1, 2, 3].map(node);
    let merged = |order: [usize; 4]| {
        let mut all = detector(config);
        all.skip_to(1).unwrap();
        order.iter().for_each(|&node| all.merge_snapshot(&nodes[node]).unwrap());
        all.snapshot().unwrap()
    };
    let expected = merged([0, 1, 2, 3]);
    for order in [[3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        assert!(merged(order) == expected, "{order:?}");
    }
    let mut of_two = detector(config);
    of_two.restore(&nodes[3]).unwrap();
    of_two.merge_snapshot(&nodes[2]).unwrap();
    let mut all = detector(config);
    all.restore(&merged([0, 1, 0, 1])).unwrap();
    all.merge_snapshot(&of_two.snapshot().unwrap()).unwrap();
    assert!(all.snapshot().unwrap() == expected, "however they are grouped");
    // Kept hosts are added to the candidates of the finder, and their number is limited too.
    assert!((3..=6).contains(&all.close_slice().unwrap().candidates));
}

/// Returns the bytes of `snapshot`, with `kept` in place of the bytes after both sections.
fn with_kept(snapshot: &[u8], kept: &[u8]) -> Vec<u8> {
    // The original snapshot contains two kept hosts.
    with_body(snapshot, 144, |body| {
        body.truncate(body.len() - 4 - 2 * 16);
        body.extend_from_slice(kept);
    })
}

fn mapped(host: u32) -> [u8; 16] {
    Ipv4Addr::from_bits(host).to_ipv6_mapped().octets()
}

fn list(count: u32, hosts: &[[u8; 16]]) -> Vec<u8> {
    [&count.to_le_bytes()[..], hosts.as_flattened()].concat()
}

#[test]
fn bytes_with_bad_kept_hosts_are_refused() {
    let config = Config { candidate_limit: 3, ..small::tagged() };
    let mut detector = detector(config);
    detector.ingest(&contacts(1.into(), 0..100)).unwrap();
    detector.ingest(&contacts(2.into(), 0..100)).unwrap();
    assert_eq!(detector.close_slice().unwrap().super_points.len(), 2);
    let bytes = detector.snapshot().unwrap().to_bytes().unwrap();
    let read = |kept: &[u8]| Snapshot::from_bytes(&with_kept(&bytes, kept), detector.params());
    let [one, two, three] = [1, 2, 3].map(mapped);
    let expected = Snapshot::from_bytes(&bytes, detector.params()).unwrap();
    assert!(read(&list(2, &[one, two])).unwrap() == expected);
    for good in [list(0, &[]), list(1, &[two]), list(3, &[one, two, three])] {
        assert!(read(&good).unwrap() != expected);
    }
    // Another detector may have kept more hosts than this one accepts. This detector keeps only as many as its own
    // limit allows.
    let many = read(&list(4, &[mapped(0), one, two, three])).unwrap();
    let mut fewer = self::detector(config);
    fewer.restore(&many).unwrap();
    let kept = fewer.snapshot().unwrap().to_bytes().unwrap();
    assert!(Snapshot::from_bytes(&kept, fewer.params()).is_ok());
    assert_eq!(fewer.close_slice().unwrap().candidates, 3);
    // IPv4 hosts come first, whatever their bytes are.
    let v6 = [0x20; 16];
    for good in [list(2, &[one, v6]), list(3, &[two, [0; 16], v6])] {
        assert!(read(&good).unwrap() != expected);
    }
    let refused = |bad: Vec<u8>| match read(&bad).unwrap_err() {
        Error::Format(FormatError::Contents { what, .. }) => what,
        error => panic!("{error}"),
    };
    let cut = [Vec::new(), vec![2, 0, 0]].map(refused);
    let miscounted = [
        list(2, &[one]),
        list(1, &[one, two]),
        list(u32::MAX, &[one, two]),
        [list(2, &[one, two]), vec![0]].concat(),
    ];
    let unsorted = [[two, one], [one, one], [v6, one], [[0; 16], one], [v6, v6]];
    let miscounted = miscounted.map(refused);
    let unsorted = unsorted.map(|hosts| refused(list(2, &hosts)));
    insta::assert_debug_snapshot!((cut, miscounted, unsorted));
}

// A body of the tagged scheme may contain IPv6 hosts. A body of the paper's scheme must not, because this scheme does
// not support IPv6.
#[test]
fn kept_hosts_of_ipv6_are_refused_in_the_paper_s_scheme() {
    let mut detector = detector(small::paper());
    detector.ingest(&contacts(1.into(), 0..100)).unwrap();
    detector.ingest(&contacts(2.into(), 0..100)).unwrap();
    assert_eq!(detector.close_slice().unwrap().super_points.len(), 2);
    let bytes = detector.snapshot().unwrap().to_bytes().unwrap();
    let read = |kept: &[u8]| Snapshot::from_bytes(&with_kept(&bytes, kept), detector.params());
    let (one, v6) = (mapped(1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7));
    assert!(read(&list(2, &[one, mapped(3)])).is_ok());
    for bad in [list(1, &[v6.octets()]), list(2, &[one, v6.octets()])] {
        let error = read(&bad).unwrap_err();
        let named =
            matches!(error, Error::Format(FormatError::Ipv6InPaper { host, .. }) if host == v6);
        assert!(named, "{error}");
    }
}

// A crowd gathers within seconds, and later traffic takes its cells. The test represents 64 million pairs per window
// with 2^18 cells. All sizes are divided by 64.
#[test]
fn reports_of_every_slice_find_what_crowded_cells_alone_lose() {
    let config = Config { scheme: with_cells(12), ..Config::default() };
    let new = || detector(config);
    let (mut reporting, mut silent, mut alone) = (new(), new(), new());
    let (mut all, mut lost_by_cells, mut lost_by_reports) = (0, 0, 0);
    for (slice, packets) in (1..).zip(Model::FlashCrowd.slices(1, config.window + 40, 1_000_000)) {
        reporting.ingest(&packets).unwrap();
        silent.ingest(&packets).unwrap();
        let report = reporting.close_slice().unwrap();
        if slice >= config.window && slice % 10 == 0 {
            // The second detector has the same recorders, but no earlier report.
            alone.restore(&silent.snapshot().unwrap()).unwrap();
            let reports = [report, alone.close_slice().unwrap()];
            let [found, by_cells] = reports.map(|it| HashSet::<_>::from_iter(hosts(&it)));
            all += found.union(&by_cells).count();
            lost_by_cells += found.difference(&by_cells).count();
            lost_by_reports += by_cells.difference(&found).count();
        }
        silent.skip_to(u64::from(slice)).unwrap();
    }
    assert!(all > 300, "{all}");
    assert!(lost_by_cells * 10 > all, "{lost_by_cells} of {all}");
    assert_eq!(lost_by_reports, 0, "all hosts that the cells show are also reported");
}
