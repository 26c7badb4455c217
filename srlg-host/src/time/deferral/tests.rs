//! Comparisons of a detector whose pairs are deferred with a detector that closes every slice.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use srlg_core::finder::cells::chance::AgeHistogram;
use srlg_core::{Config, Scheme};

use super::*;
use crate::Device;

fn config(window: u32) -> Config {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 2304, tags: 64 };
    Config { threshold: 64, window, scheme, ..Config::default() }
}

/// A detector that closes every slice, and one whose pairs are deferred.
struct Both {
    plain: SlidingDetector,
    deferred: SlidingDetector,
    deferral: Deferral,
    running: u64,
    quiet: usize,
    found: usize,
}

impl Both {
    fn new(window: u32) -> Self {
        let detector = || SlidingDetector::new(config(window), Device::Cpu).unwrap();
        let (plain, deferred) = (detector(), detector());
        let deferral = Deferral::new(&deferred).unwrap();
        Self { plain, deferred, deferral, running: 0, quiet: 0, found: 0 }
    }

    fn ingest(&mut self, pairs: &PairBatch, late: u32) {
        pairs.ingest_late(&self.plain, late).unwrap();
        self.deferral.ingest(&mut self.deferred, pairs, self.running, late).unwrap();
    }

    /// Closes the running slice of both detectors and compares the reports.
    fn close(&mut self) {
        let expected = self.plain.close_slice().unwrap();
        self.found += expected.super_points.len();
        if let Some(report) = self.deferral.quiet_report(&self.deferred, self.running) {
            self.quiet += 1;
            let slice = self.running;
            assert_eq!((report.slice, report.candidates), (slice, expected.candidates), "{slice}");
            assert_eq!((report.is_silent(), expected.super_points), (true, vec![]), "{slice}");
        } else {
            self.deferral.settle(&mut self.deferred, self.running).unwrap();
            assert_eq!(self.deferred.close_slice().unwrap(), expected);
        }
        self.running += 1;
    }

    /// Ingests the waiting pairs, and compares all bits of both detectors.
    fn settle(&mut self) {
        self.deferral.settle(&mut self.deferred, self.running).unwrap();
        assert!(self.plain.snapshot().unwrap() == self.deferred.snapshot().unwrap());
    }
}

/// Returns pairs of the host with the number `host`: IPv4 if it is even, else IPv6.
fn pairs(host: u8, peers: std::ops::Range<u32>) -> PairBatch {
    let mut pairs = PairBatch::new();
    let inside: IpAddr = match host % 2 {
        0 => Ipv4Addr::new(10, 0, 0, host).into(),
        _ => Ipv6Addr::new(0x2001, 0xdb8, 0, host.into(), 0, 0, 0, 1).into(),
    };
    peers.for_each(|peer| pairs.push((inside, Ipv4Addr::from_bits(peer).into())));
    pairs
}

#[test]
fn a_flood_between_two_silences_has_the_reports_of_a_detector_that_closes_every_slice() {
    let mut both = Both::new(30);
    for slice in 0..2_000_u32 {
        match slice {
            300..320 => both.ingest(&pairs(2, slice * 40..slice * 40 + 40), 0),
            700..710 => both.ingest(&pairs(3, slice * 40..slice * 40 + 40), 1),
            900..1_500 => {}
            _ if slice % 4 == 0 => both.ingest(&pairs(slice as u8, slice..slice + 1), slice % 3),
            _ => {}
        }
        both.close();
        if slice % 333 == 0 {
            both.settle();
        }
    }
    both.settle();
    assert!(both.found >= 40, "{}", both.found);
    assert!(both.quiet >= 1_800, "{}", both.quiet);
}

#[test]
fn a_cell_has_one_entry_however_often_it_is_touched() {
    for window in [8, 40, 600] {
        let mut both = Both::new(window);
        let mut ingest = |late| {
            (0..6).for_each(|host| both.ingest(&pairs(host, 0..4), late));
            both.close();
            let Deferral { touched, by_slice, .. } = &both.deferral;
            let entries: usize = by_slice.values().map(Vec::len).sum();
            assert_eq!(entries, touched.len(), "window {window}");
            entries
        };
        let touched = ingest(0);
        assert!((6..=24).contains(&touched), "{touched}");
        for slice in 1..300 {
            assert_eq!(ingest(slice % 3), touched, "window {window}, slice {slice}");
        }
        assert_eq!(both.quiet, 300, "window {window}");
        (0..=both.deferral.reach).for_each(|_| both.close());
        let Deferral { touched, by_slice, held, .. } = &both.deferral;
        assert_eq!((touched.len(), by_slice.len(), held.len()), (0, 0, 0), "window {window}");
    }
}

/// Asserts that every slice is closed until a window has been tracked again. The window has 16 slices, and tracking pauses
/// for two more.
fn assert_pause(mut both: Both) {
    (0..18).for_each(|_| both.close());
    assert_eq!(both.quiet, 0);
    (0..50).for_each(|_| both.close());
    assert!(both.quiet > 30, "{}", both.quiet);
    both.settle();
}

#[test]
fn a_slice_of_many_pairs_closes_every_slice_until_a_window_is_tracked_again() {
    let mut both = Both::new(16);
    (0..20).for_each(|_| both.ingest(&pairs(0, 0..500), 0));
    assert_pause(both);
}

#[test]
fn too_many_touched_cells_close_every_slice_until_a_window_is_tracked_again() {
    let mut both = Both::new(16);
    let mut hosts = PairBatch::new();
    (0..4_000_u32).for_each(|host| {
        hosts.push((Ipv4Addr::from_bits(host), Ipv4Addr::from_bits(!host)));
    });
    both.ingest(&hosts, 0);
    assert_pause(both);
}

#[test]
fn a_detector_of_unknown_contents_closes_every_slice_for_a_window() {
    let mut both = Both::new(16);
    both.ingest(&pairs(2, 0..500), 0);
    both.settle();
    let detector = SlidingDetector::new(config(16), Device::Cpu).unwrap();
    let mut restored = Both { deferral: Deferral::new(&detector).unwrap(), ..both };
    restored.deferral.distrust(1);
    (0..40).for_each(|_| restored.close());
    assert!(restored.found > 0);
    assert!((10..=24).contains(&restored.quiet), "{}", restored.quiet);
}

#[test]
fn the_papers_scheme_is_not_deferred() {
    let detector = SlidingDetector::new(Config::paper(), Device::Cpu).unwrap();
    assert!(Deferral::new(&detector).is_none());
}

proptest! {
    // A case closes hundreds of slices of two detectors.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn deferred_pairs_change_no_report_and_no_bit(
        window in prop_oneof![Just(1u32), Just(7), Just(40), Just(600)],
        slices in prop::collection::vec((0u8..6, 0u32..60, 0u32..3, 1usize..40), 1..60),
    ) {
        let mut both = Both::new(window);
        for (number, (host, peers, late, gap)) in slices.into_iter().enumerate() {
            let first = number as u32 * 50;
            both.ingest(&pairs(host, first..first + peers), late.min(both.running as u32));
            (0..gap).for_each(|_| both.close());
        }
        both.settle();
    }
}

proptest! {
    #[test]
    fn no_window_with_few_touched_cells_asks_for_fewer_cells(
        threshold in 8u32..65_536,
        touched in prop::collection::vec(0u32..20, 1..20),
    ) {
        let config = Config { threshold, window: touched.len() as u32, ..config(1) };
        let params = config.validate().unwrap();
        let cells = params.finder().cells().unwrap();
        let span = params.span(touched.len() as u64 - 1, config.window);
        prop_assume!(span.finder_ages as usize == touched.len());
        let most = touched.iter().sum();
        let c_min = AgeHistogram::new(cells, &touched, span).c_min();
        prop_assert!(least_c_min(cells, most) <= c_min, "{c_min}");
    }
}
