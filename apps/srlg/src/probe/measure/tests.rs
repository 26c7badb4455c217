//! Slices as they go out: which, in which order, and that together they are what was seen.

use std::path::Path;

use srlg_host::state::{Delta, Snapshot};
use srlg_host::{Config, IpPair};
use srlg_input::contact::Role;
use srlg_traffic::family::Family;

use super::super::spool::{Spool, SpoolLock};
use super::*;
use crate::network::Network;

const SECOND: u64 = 1_000_000_000;
const VERSION: VersionId = VersionId { number: 1, tag: 7 };

/// Of one view, in which hosts are those that contacts go to.
pub(in crate::probe) fn network(part_bytes: usize) -> Network {
    let sizes = Config {
        window: 20,
        linear_width: 1024,
        scheme: srlg_host::config::Scheme::Tagged { cell_bits: 12, lines: 4096, tags: 64 },
        ..Config::default()
    };
    let view = srlg_input::ViewOptions { role: Role::Destination, ..Default::default() };
    let view = NetworkView { name: "in".to_owned(), view, allows: Vec::new(), sizes };
    Network { slice_ms: 1000, grace_ms: 0, part_bytes, views: vec![view] }
}

fn measurement(network: &Network, folder: &Path) -> (Measurement, Arc<Outbox>) {
    let (spool, _) = Spool::open(SpoolLock::take(folder).unwrap(), VERSION).unwrap();
    let version = NetworkVersion { id: VERSION, first_slice: 0, network: network.clone() };
    let outbox = Arc::new(Outbox::new(spool, &version, Some(1000), false));
    let to = Arc::clone(&outbox);
    let exporters = WitnessTable::new(&[], None, version.network.slice_ms, 0);
    (Measurement::new(&version, false, None, Device::Cpu, to, exporters).unwrap(), outbox)
}

/// 300 pairs per slice, in which those of each seventh are up to 3 slices late.
fn contacts(slices: std::ops::Range<u64>) -> impl Iterator<Item = (u64, IpPair)> {
    slices.flat_map(|slice| {
        (0..300_u32).map(move |index| {
            let late = if index % 7 == 0 { u64::from(index % 4) } else { 0 };
            let pair = IpPair { inside: index % 5, opposite: index * 1000 + slice as u32 };
            ((slice - late) * SECOND + u64::from(index), pair)
        })
    })
}

fn take(measurement: &mut Measurement, contacts: impl Iterator<Item = (u64, IpPair)>) {
    contacts.for_each(|(time, pair)| {
        let (inside, opposite) = Family::Mixed.hosts(pair);
        measurement.take(&Contact::new(time, opposite.into(), inside.into())).unwrap();
    });
}

/// What a detector has seen that merges all parts in the spool, at `slice`.
fn merged(network: &Network, outbox: &Outbox, slice: u64) -> Snapshot {
    let mut detector = SlidingDetector::new(network.views[0].sizes, Device::Cpu).unwrap();
    detector.skip_to(slice).unwrap();
    for slice in outbox.from(0, usize::MAX) {
        for part in outbox.read(slice).unwrap().parts {
            for ViewDelta { view, bytes } in payload::unpack(part).unwrap().deltas {
                let delta = Delta::from_bytes(&bytes, detector.params()).unwrap();
                assert_eq!((view, delta.slice()), (0, slice));
                detector.merge_delta(&delta).unwrap();
            }
        }
    }
    detector.snapshot().unwrap()
}

/// What a detector has seen that was told everything in its slice.
fn told(network: &Network, contacts: impl Iterator<Item = (u64, IpPair)>, slice: u64) -> Snapshot {
    let mut detector = SlidingDetector::new(network.views[0].sizes, Device::Cpu).unwrap();
    let (mut batch, mut contacts) = (PairBatch::new(), contacts.collect::<Vec<_>>());
    contacts.sort_by_key(|&(time, _)| time);
    for (time, pair) in contacts {
        detector.skip_to(time / SECOND).unwrap();
        batch.clear();
        batch.extend([Family::Mixed.hosts(pair)]);
        batch.ingest(&detector).unwrap();
    }
    detector.skip_to(slice).unwrap();
    detector.snapshot().unwrap()
}

#[test]
fn the_slices_together_are_what_was_seen_late_pairs_and_parts_included() {
    for part_bytes in [1024, 1 << 20] {
        let (folder, network) = (tempfile::tempdir().unwrap(), network(part_bytes));
        let (mut measurement, outbox) = measurement(&network, folder.path());
        take(&mut measurement, contacts(100..110));
        let totals = measurement.finish().unwrap();
        assert_eq!((totals.slices, totals.pairs, totals.too_late), (10, 3000, 0));
        assert_eq!(outbox.from(0, 99), (100..110).collect::<Vec<_>>());
        let seen = told(&network, contacts(100..110), 109);
        assert_eq!(merged(&network, &outbox, 109), seen, "parts of {part_bytes} bytes");
    }
}

#[test]
fn a_probe_that_was_killed_goes_on_with_the_same_input_as_if_it_had_not_been() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut first, outbox) = measurement(&network, folder.path());
    take(&mut first, contacts(100..106));
    // Slice 105 was running: it is nowhere.
    drop((first, outbox));
    let (mut second, outbox) = measurement(&network, folder.path());
    assert_eq!(outbox.mark(VERSION), Some(104));
    take(&mut second, contacts(100..110));
    let totals = second.finish().unwrap();
    assert_eq!((totals.passed_over, totals.slices), (5, 5));
    assert_eq!(merged(&network, &outbox, 109), told(&network, contacts(100..110), 109));
}

#[test]
fn silent_slices_go_out_too_and_a_silence_longer_than_the_window_is_cut_short() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut measurement, outbox) = measurement(&network, folder.path());
    take(&mut measurement, contacts(100..101));
    measurement.pass(103 * SECOND + 1).unwrap();
    assert_eq!(outbox.from(0, 99), [100, 101, 102]);
    measurement.pass(203 * SECOND).unwrap();
    assert_eq!(outbox.from(103, 99), std::iter::once(103).chain(183..203).collect::<Vec<_>>());
    assert_eq!(measurement.finish().unwrap().silent, 79);
}

#[test]
fn time_begins_with_the_first_call_and_never_goes_backwards() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut measurement, outbox) = measurement(&network, folder.path());
    measurement.pass(100 * SECOND).unwrap();
    // Up to three slices late, the first ones too.
    take(&mut measurement, contacts(100..101));
    measurement.pass(98 * SECOND).unwrap();
    measurement.pass(50 * SECOND).unwrap();
    assert_eq!(outbox.len(), 0);
    assert_eq!(measurement.finish().unwrap().too_late, 0, "no contact was");
    assert_eq!(outbox.from(0, 99), [100]);
    assert_eq!(merged(&network, &outbox, 100), told(&network, contacts(100..101), 100));
}

#[test]
fn a_broken_time_stamp_is_counted_and_moves_nothing() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut measurement, outbox) = measurement(&network, folder.path());
    take(&mut measurement, contacts(100..101));
    take(&mut measurement, [(u64::MAX, IpPair { inside: 1, opposite: 2 })].into_iter());
    take(&mut measurement, contacts(101..102));
    let totals = measurement.finish().unwrap();
    assert_eq!((totals.future, totals.too_late, totals.pairs), (1, 0, 600));
    assert_eq!(outbox.from(0, 99), [100, 101]);
}

/// A network of two equal views.
fn two_views() -> Network {
    let mut network = network(1 << 20);
    network.views.push(NetworkView { name: "again".to_owned(), ..network.views[0].clone() });
    network
}

fn host(number: u32) -> IpAddr {
    std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into()
}

fn ask(outbox: &Outbox, version: VersionId, hosts: std::ops::Range<u32>) {
    let view = WatchedView { windows: vec![1, 3, 21], hosts: hosts.map(host).collect() };
    let watchlist = Watchlist { version, views: vec![view.clone(), view] };
    outbox.watchlist.send_replace(Some(Arc::new(watchlist)));
}

#[test]
fn hosts_are_reported_with_their_counts_after_the_newest_slice_that_has_ended() {
    let (folder, network) = (tempfile::tempdir().unwrap(), two_views());
    let (mut measurement, outbox) = measurement(&network, folder.path());
    ask(&outbox, VERSION, 1..2);
    // 40 new peers in each of five slices, each twice.
    let mut take = |slice: u64| {
        for index in 0..80 {
            let peer = host(1_000 + slice as u32 * 40 + index % 40);
            measurement.take(&Contact::new(slice * SECOND, peer.into(), host(1).into())).unwrap();
        }
    };
    (100..105).for_each(&mut take);
    measurement.pass(105 * SECOND).unwrap();
    let reports = outbox.reports.borrow().clone();
    let [SiteReport { version: VERSION, slice: 104, hosts, .. }] = &reports[..] else {
        panic!("{reports:?}")
    };
    assert_eq!(
        hosts.iter().map(|it| (it.view, it.host)).collect::<Vec<_>>(),
        [(0, host(1)), (1, host(1))]
    );
    for HostReport { counts, .. } in hosts {
        // No window is longer than that of the detector.
        let [(1, one), (3, three)] = counts[..] else { panic!("{counts:?}") };
        // Counts of so few peers have standard errors of less than 2 %.
        assert!((one / 40.0 - 1.0).abs() < 0.1 && (three / 120.0 - 1.0).abs() < 0.1, "{counts:?}");
    }
    // Several slices that end together are reported once, by all views.
    measurement.pass(109 * SECOND).unwrap();
    let reports = outbox.reports.borrow().clone();
    let [SiteReport { slice: 108, hosts, spool, .. }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(
        hosts.iter().map(|it| it.counts.clone()).collect::<Vec<_>>(),
        [vec![(1, 0.0), (3, 0.0)], vec![(1, 0.0), (3, 0.0)]]
    );
    assert_eq!((spool.slices, spool.unsent), (8, 8), "without the slice itself");
}

#[test]
fn many_hosts_take_several_reports_and_those_of_another_version_none() {
    let (folder, network) = (tempfile::tempdir().unwrap(), two_views());
    let (mut measurement, outbox) = measurement(&network, folder.path());
    let mut lengths = |version, hosts, until: u64| {
        ask(&outbox, version, hosts);
        measurement.pass(until * SECOND).unwrap();
        let reports = outbox.reports.borrow().clone();
        reports.iter().map(|report| report.hosts.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(VERSION, 0..1, 100), [] as [usize; 0], "no slice has ended");
    assert_eq!(lengths(VERSION, 0..70, 101), [64, 64, 12]);
    assert_eq!(lengths(VersionId { tag: 8, ..VERSION }, 0..70, 102), [0]);
    assert_eq!(lengths(VERSION, 3..4, 103), [2]);
}
