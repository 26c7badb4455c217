//! Tests of short windows, windows with epochs of several slices, and queries over a part of the window.

use srlg::config::Scheme;
use srlg::{Config, Device, Ipv4Pair};
use srlg_traffic::family::ip;

use crate::device::detector;
use crate::feed::{
    assert_equal_recorders, assert_equals_one_at_a_time, expected, one_at_a_time, whole,
};
use crate::traffic::{backbone, presets, small, small_paper, with_late};

on_every_device!(
    short_windows,
    hosts_leave_after_exactly_k_slices,
    windows_of_epochs,
    queries_of_shorter_windows,
    questions_while_a_slice_closes,
    long_silences,
);

// Pairs are up to four slices late, so most of them are lost in a window of one or two slices.
fn short_windows(device: Device) {
    let traffic = with_late(backbone(11, 8, 150_000));
    for window in [1, 2, 3] {
        for config in presets(window) {
            let config = Config { threshold: 128, ..config };
            assert_equals_one_at_a_time(device, config, &traffic, whole);
        }
    }
}

// Queries between the search and the ageing must not change either of them.
fn questions_while_a_slice_closes(device: Device) {
    for config in presets(5) {
        let config = Config { threshold: 128, ..config };
        let (mut tested, mut reference) = (detector(device, config), detector(Device::Cpu, config));
        for slice in with_late(backbone(14, 8, 100_000)) {
            whole(&tested, &slice);
            whole(&reference, &slice);
            let report = tested.report().unwrap();
            let [mut closing, mut expected] =
                [&mut tested, &mut reference].map(|detector| detector.begin_close().unwrap());
            assert_eq!(closing.super_points(), expected.super_points());
            for window in 1..=5 {
                let within = closing.super_points_within(window, 128.0).unwrap();
                assert_eq!(within, expected.super_points_within(window, 128.0).unwrap());
            }
            for point in closing.super_points().iter().take(3) {
                assert_eq!(closing.sample_peers(point.host).unwrap(), point.peers);
            }
            let closed = closing.end().unwrap();
            assert_eq!(closed, expected.end().unwrap());
            assert_eq!(closed, report);
        }
        assert_equal_recorders(&mut tested, &mut reference);
    }
}

fn hosts_leave_after_exactly_k_slices(device: Device) {
    for config in [small(), small_paper()] {
        for window in [1, 2, 5, 7] {
            let mut tested = detector(device, Config { window, ..config });
            let host = 0x0a00_0001;
            let pairs: Vec<Ipv4Pair> =
                (0..200).map(|peer| Ipv4Pair { inside: host, peer }).collect();
            tested.ingest(&pairs).unwrap();
            for slice in 0..window + 3 {
                let report = tested.close_slice().unwrap();
                assert_eq!(report.slice, u64::from(slice));
                let hosts: Vec<_> = report.super_points.iter().map(|point| point.host).collect();
                let expected = if slice < window { vec![ip(host)] } else { vec![] };
                assert_eq!(hosts, expected, "window {window} slice {slice}");
            }
        }
    }
}

// 1200 slices exceed the number of ages in a word of the counter, and 5000 slices exceed the number of ages in a cell.
// The window of 300 slices is tested with 200 tags.
fn windows_of_epochs(device: Device) {
    let default = Config::default().scheme;
    let tagged = Scheme::Tagged { cell_bits: 18, lines: 412_500, tags: 200 };
    for (window, scheme) in [(1200, default), (5000, default), (300, tagged)] {
        let config = Config { window, scheme, threshold: 256, ..Config::default() };
        let (mut tested, mut reference) = (detector(device, config), detector(Device::Cpu, config));
        assert!(reference.params().counter_sizes().epoch_slices > 1);
        assert_eq!(reference.params().finder().epoch_slices() > 1, window == 5000);
        let mut super_points = 0;
        for (step, slice) in (1..).zip(with_late(backbone(12, 8, 100_000))) {
            whole(&tested, &slice);
            one_at_a_time(&reference, &slice);
            let report = reference.close_slice().unwrap();
            assert_eq!(tested.close_slice().unwrap(), report);
            super_points += report.super_points.len();
            // Because the step is prime, it ends at every position in an epoch.
            tested.skip_to(step * 67).unwrap();
            reference.skip_to(step * 67).unwrap();
        }
        assert!(super_points > 30, "{super_points}");
        assert_equal_recorders(&mut tested, &mut reference);
    }
}

fn queries_of_shorter_windows(device: Device) {
    for config in presets(6) {
        let traffic = with_late(backbone(13, 8, 100_000));
        let (reference, reports) = expected(config, &traffic);
        let mut tested = detector(device, config);
        crate::feed::reports(&mut tested, &traffic, whole);
        let points = &reports.last().unwrap().super_points;
        assert!(points.len() > 10);
        for window in 1..=6 {
            // The last host was never seen.
            let hosts = points.iter().map(|point| point.host).chain([[10, 1, 2, 3].into()]);
            for host in hosts {
                let expected = reference.cardinality_within(host, window).unwrap();
                assert_eq!(tested.cardinality_within(host, window).unwrap(), expected);
            }
        }
    }
}

fn long_silences(device: Device) {
    for config in [small(), small_paper()] {
        let (mut tested, mut reference) = (detector(device, config), detector(Device::Cpu, config));
        for jump in [1, 2, 3, 4, 5, 1000, 1 << 40] {
            for slice in with_late(backbone(jump, 3, 3000)) {
                whole(&tested, &slice);
                one_at_a_time(&reference, &slice);
                assert_eq!(tested.close_slice().unwrap(), reference.close_slice().unwrap());
            }
            tested.skip_to(tested.slice() + jump).unwrap();
            reference.skip_to(reference.slice() + jump).unwrap();
            assert_equal_recorders(&mut tested, &mut reference);
        }
    }
}
